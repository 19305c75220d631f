//! The table of control blocks: one for each possible thread id.
//!
//! Probes find the block of their thread by arithmetic alone, and do not check the result. The table is
//! reserved address space, in three zones:
//!
//! | ids | access | what a probe finds |
//! |---|---|---|
//! | of running threads, and ids close to them | read and write | a block with a position, which [`start`] or an entry has made |
//! | up to twice the largest id seen | read | zeros: no entry fits, so the probe calls the agent, which makes a block |
//! | larger ones | none | nothing: no thread with such an id runs |
//!
//! So unused parts neither count as data (`RLIMIT_DATA`, overcommit) nor are filled by `mlockall`.
//!
//! # What a thread finds
//!
//! - An entry needs a block that can be read, an exit a block with a position. A thread's start event comes
//!   before the thread runs code that has probes, and makes its block. Threads that are running when the
//!   agent is attached are listed, except for virtual ones: there the agent draws the next thread id, and
//!   makes all blocks up to it readable.
//! - The start event of a thread that native code attaches comes after its constructor, which may run
//!   entries: its block can be read unless twice as many ids as ever before were drawn without a thread being
//!   started.
//! - An entry without a block calls the agent, which makes one, so an exit always finds a block.
//!
//! # When a block is used again
//!
//! A part of the table is writable while one of its blocks is in use. Two kinds of users are counted: a
//! thread, until another one ends on the same OS thread, and each [`HeldBlock`], because other threads store
//! to its limit. When the next part loses its last user, a part without users becomes zeros again that can
//! only be read. Nothing is given back once threads may share blocks; nor in a copy of the process, where the
//! lock may be held by a thread that does not exist there.

#![expect(unsafe_code, reason = "a mapping that other code, compiled by the JVM, reads and writes")]

use std::cell::Cell;
use std::ops::{Deref, Range};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use flow_codec::ThreadId;
use hashbrown::HashMap;
use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect};
use rustix::process::{Resource, getrlimit};

use super::control::Control;
use crate::certain::Certain as _;

const BLOCK_BYTES: usize = size_of::<Control>();
/// The largest number of ids, 2^32, or fewer if the address space of the process is limited.
const MAX_IDS: usize = 1 << 32;
const MIN_IDS: usize = 1 << 18;
/// If it is limited, we take one part in this many.
const SHARE: u64 = 8;
/// The number of ids that can be read at first: `mlockall` needs 4 MiB of page tables for them.
const FIRST_IDS: usize = 1 << 25;
/// Access changes in parts of this size: a multiple of every page size in use.
const PART_BYTES: usize = 64 * 1024;
const PART_IDS: usize = PART_BYTES / BLOCK_BYTES;

const NO_TABLE: &str = "there is no table of threads";
const NO_MEMORY: &str = "no memory for one more thread";
const FULL: &str = "there is no room for more threads";

static TABLE: OnceCell<BlockTable> = OnceCell::new();

thread_local! {
    static ENDED: Ended = const { Ended(Cell::new(None)) };
}

/// The mapping, and which of its parts are in use.
#[derive(Debug)]
pub(crate) struct BlockTable {
    address: usize,
    ids: usize,
    /// Ids below can be read.
    readable: AtomicUsize,
    /// Held while access changes.
    writable: Mutex<Writable>,
    /// Whether parts are given back: no longer once threads may share blocks, nor in a copy of the process.
    gives_back: AtomicBool,
    /// A part that replaces each one that cannot be made writable.
    spare: usize,
    /// Whether it has replaced any.
    has_spares: AtomicBool,
}

/// The parts of the table that are writable.
#[derive(Debug, Default)]
struct Writable {
    parts: HashMap<usize, Part>,
    /// The part that lost its last user most recently. It stays for the next thread, because a change of
    /// access costs 10 % of what the start of a thread costs.
    idle: Option<usize>,
}

/// A part of the table that is writable.
#[derive(Debug)]
enum Part {
    /// The number of users of its blocks.
    Open(usize),
    /// There was no memory for it: [`BlockTable::spare`] replaces it.
    Spare,
}

/// The users of a block that [`BlockTable::take_for`] adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Users {
    /// The thread, if it is none yet.
    Thread,
    /// And a [`HeldBlock`].
    ThreadAndHolder,
}

/// The block of a thread, which stays writable as long as this value exists.
#[derive(Debug)]
pub struct HeldBlock {
    control: &'static Control,
    thread: ThreadId,
}

impl HeldBlock {
    /// Returns the block, which can always be read.
    pub(crate) fn control(&self) -> &'static Control {
        self.control
    }
}

impl Deref for HeldBlock {
    type Target = Control;

    #[inline]
    fn deref(&self) -> &Control {
        self.control
    }
}

impl Drop for HeldBlock {
    fn drop(&mut self) {
        if let Some(table) = TABLE.get() {
            table.give_back(self.thread);
        }
    }
}

/// The thread that ended last on an OS thread. It keeps its block until another one ends there: the code of
/// the JDK that ends a virtual thread may contain probes, and they must find that the thread has ended.
struct Ended(Cell<Option<ThreadId>>);

impl Ended {
    fn replace(&self, next: Option<ThreadId>) {
        if let Some(before) = self.0.replace(next)
            && Some(before) != next
            && let Some(table) = TABLE.get()
        {
            table.give_back(before);
        }
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.replace(None);
    }
}

/// Returns the table, which the first call creates.
///
/// # Errors
/// The system has no address space for it.
pub(crate) fn table() -> Result<&'static BlockTable, String> {
    TABLE.get_or_try_init(BlockTable::map)
}

/// Makes the block of a thread, unless it has one. To be called by the thread itself, or before it runs.
///
/// # Errors
/// There is no memory for it, or another thread may have the same block.
pub(crate) fn start(thread: ThreadId) -> Result<(), String> {
    let table = TABLE.get().ok_or(NO_TABLE)?;
    table.start(thread, Users::Thread).map(|_| ())
}

/// Returns the block of a thread, to record through. To be called by the thread itself.
///
/// # Errors
/// There is no memory for it, or another thread may have the same block.
pub fn control_block(thread: ThreadId) -> Result<HeldBlock, String> {
    let table = TABLE.get().ok_or(NO_TABLE)?;
    let control = table.start(thread, Users::ThreadAndHolder)?;
    Ok(HeldBlock { control, thread })
}

/// Makes sure that exits of the current thread can be stored.
pub(crate) fn leave_writable(thread: ThreadId) {
    if let Some(table) = TABLE.get()
        && table.block(thread).is_none_or(Control::is_new)
    {
        // If refused, the spare part is there.
        let _ = table.take(thread);
    }
}

/// Makes the blocks of all threads readable whose ids are at most `largest`; `None` if that is not known.
///
/// # Errors
/// The system refuses, or threads share blocks.
pub(crate) fn expect_threads(largest: Option<ThreadId>) -> Result<(), String> {
    let table = TABLE.get().ok_or(NO_TABLE)?;
    let largest = largest.map_or(table.last(), ThreadId::get);
    if largest > table.last() {
        return Err(FULL.to_owned());
    }
    table.make_readable(table.index(ThreadId::new(largest)));
    table.block(ThreadId::new(largest)).map(|_| ()).ok_or_else(|| NO_MEMORY.to_owned())
}

/// Discards the events of a thread from now on. To be called by the thread, when it ends.
pub(crate) fn end(thread: ThreadId) {
    let Some(table) = TABLE.get().filter(|table| thread.get() <= table.last()) else { return };
    // It may have no block yet: then code that ends it would begin to record.
    if let Ok(block) = table.take(thread) {
        block.end();
        // Refused if the OS thread itself is ending.
        let _ = ENDED.try_with(|ended| ended.replace(Some(thread)));
    }
}

/// Discards the exits of the current thread.
pub(crate) fn park(thread: ThreadId) {
    if let Some(block) = unshared_block(thread) {
        block.park();
    }
}

/// Stores where the current thread is while its stack is sampled. For a signal handler: it takes no lock.
pub(crate) fn place_stack(thread: ThreadId, at_ns: u64) {
    if let Some(block) = unshared_block(thread).filter(|_| !may_share_blocks()) {
        block.place_stack(at_ns);
    }
}

/// Returns whether more than one thread may have the same block.
pub(crate) fn may_share_blocks() -> bool {
    TABLE.get().is_some_and(|table| !table.gives_back.load(Ordering::Relaxed))
}

/// Discards the exits of the current thread in a copy of the process. Takes no lock.
pub(crate) fn park_in_copy(thread: ThreadId) {
    if let Some(table) = TABLE.get()
        && let Some(block) = table.block(thread)
        && (!block.is_new() || table.allow_writing(table.part(thread)).is_ok())
    {
        block.park();
    }
}

/// Stops giving back memory. To be called right after a fork: it only stores to an atomic.
pub(crate) fn abandon() {
    if let Some(table) = TABLE.get() {
        table.gives_back.store(false, Ordering::Relaxed);
    }
}

/// Returns the block of a thread, if it has one that no other thread can have.
fn unshared_block(thread: ThreadId) -> Option<&'static Control> {
    let table = TABLE.get().filter(|table| thread.get() <= table.last())?;
    table.block(thread).filter(|block| !block.is_new())
}

/// Returns the block that belongs to no thread: it holds the off switch of all probes.
#[must_use]
pub fn shared_block() -> Option<&'static Control> {
    TABLE.get().map(|table| table.block_at(0))
}

impl BlockTable {
    fn map() -> Result<Self, String> {
        let limit = getrlimit(Resource::As).current;
        let mut ids = limit.map_or(MAX_IDS, |limit| {
            let ids = usize::try_from(limit / SHARE).unwrap_or(usize::MAX) / BLOCK_BYTES;
            (1 << ids.max(1).ilog2()).clamp(MIN_IDS, MAX_IDS)
        });
        loop {
            match Self::map_for(ids) {
                // There are other limits: some systems have 39 bits of addresses.
                Err(_) if ids > MIN_IDS => ids /= 2,
                mapped => {
                    return mapped.map_err(|error| {
                        format!("no address space for the table of threads: {error}")
                    });
                }
            }
        }
    }

    fn map_for(ids: usize) -> Result<Self, Errno> {
        let bytes = ids * BLOCK_BYTES;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address the system chooses.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::empty(), flags) }?;
        for advice in [Advice::LinuxNoHugepage, Advice::LinuxDontDump] {
            // SAFETY: our own mapping, which is empty so far. If refused, pages or dumps are larger.
            let _ = unsafe { madvise(start, bytes, advice) };
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address the system chooses.
        let spare =
            unsafe { mmap_anonymous(ptr::null_mut(), PART_BYTES, access, MapFlags::SHARED) }?;
        let table = Self {
            address: start.expose_provenance(),
            ids,
            readable: AtomicUsize::new(0),
            writable: Mutex::default(),
            gives_back: AtomicBool::new(true),
            spare: spare.expose_provenance(),
            has_spares: AtomicBool::new(false),
        };
        // Threads that have no id yet share block 0.
        table.take(ThreadId::new(0))?;
        Ok(table)
    }

    /// The address of block 0.
    pub(crate) const fn address(&self) -> usize {
        self.address
    }

    /// The bits of a thread id that select a block.
    pub(crate) const fn mask(&self) -> u64 {
        self.ids as u64 - 1
    }

    /// The largest id of a thread that is recorded. The ids above it are kept back: the first thread with one
    /// of these ends the recording, before a new thread shares the block of an old one.
    const fn last(&self) -> u64 {
        self.mask() - self.mask() / 16
    }

    fn index(&self, thread: ThreadId) -> usize {
        usize::try_from(thread.get() & self.mask()).certain()
    }

    /// Returns the block of a thread, if it can be read.
    fn block(&self, thread: ThreadId) -> Option<&'static Control> {
        let index = self.index(thread);
        (index < self.readable.load(Ordering::Acquire)).then(|| self.block_at(index))
    }

    /// Makes all ids readable up to more than twice this one. Returns the number of ids that can be read.
    fn make_readable(&self, index: usize) -> usize {
        let readable = self.readable.load(Ordering::Acquire);
        if readable == self.ids || index < readable / 2 {
            return readable;
        }
        let _one_at_a_time = self.writable.lock();
        let readable = self.readable.load(Ordering::Acquire);
        let wanted = (2 * index + 2).next_power_of_two().max(FIRST_IDS).min(self.ids);
        if wanted > readable {
            let start = ptr::with_exposed_provenance_mut(self.address + readable * BLOCK_BYTES);
            let bytes = (wanted - readable) * BLOCK_BYTES;
            // SAFETY: a part of our own mapping, to which there is no access. If refused, the next thread
            // tries again.
            if unsafe { mprotect(start, bytes, MprotectFlags::READ) }.is_ok() {
                self.readable.store(wanted, Ordering::Release);
                return wanted;
            }
        }
        readable
    }

    /// Like [`start`].
    fn start(&self, thread: ThreadId, users: Users) -> Result<&'static Control, String> {
        let block = self.take_for(thread, users);
        if !(1..=self.last()).contains(&thread.get()) {
            return Err(FULL.to_owned());
        }
        block.map_err(|error| format!("{NO_MEMORY}: {error}"))
    }

    /// Gives a thread its block, with a position.
    fn take(&self, thread: ThreadId) -> Result<&'static Control, Errno> {
        self.take_for(thread, Users::Thread)
    }

    /// The same, and counts a holder of the block too, if there will be one.
    fn take_for(&self, thread: ThreadId, users: Users) -> Result<&'static Control, Errno> {
        self.make_readable(self.index(thread));
        let block = self.block(thread).ok_or(Errno::NOMEM)?;
        if thread.get() > self.last() {
            self.gives_back.store(false, Ordering::Relaxed);
        }
        // The thread has taken it, and is its user. Without a lock, because threads may start and end all the time.
        if users == Users::Thread && !block.is_new() && !self.has_spares.load(Ordering::Acquire) {
            return Ok(block);
        }
        let part = self.part(thread);
        let parts = &mut self.writable.lock().parts;
        let held = usize::from(users == Users::ThreadAndHolder);
        match parts.get_mut(&part) {
            Some(Part::Spare) => return Err(Errno::NOMEM),
            Some(Part::Open(users)) if !block.is_new() => {
                *users += held;
                return Ok(block);
            }
            None if !block.is_new() => {
                return if held == 0 { Ok(block) } else { Err(Errno::NOMEM) };
            }
            Some(Part::Open(users)) => *users += 1 + held,
            None => {
                let last_before = parts.keys().copied().filter(|before| *before < part).max();
                if let Err(error) = self.open(part, last_before) {
                    self.replace_by_spare(part)?;
                    parts.insert(part, Part::Spare);
                    return Err(error);
                }
                parts.insert(part, Part::Open(1 + held));
            }
        }
        block.park();
        Ok(block)
    }

    /// Records that a block has one user fewer.
    fn give_back(&self, thread: ThreadId) {
        if !self.gives_back.load(Ordering::Relaxed) {
            return;
        }
        let part = self.part(thread);
        let mut writable = self.writable.lock();
        // Checked again, because a thread that shares a block takes it with the lock.
        if !self.gives_back.load(Ordering::Relaxed) {
            return;
        }
        let Some(Part::Open(users)) = writable.parts.get_mut(&part) else { return };
        *users = users.saturating_sub(1);
        if *users == 0
            && let Some(before) = writable.idle.replace(part)
            && before != part
            && matches!(writable.parts.get(&before), Some(Part::Open(0)))
        {
            writable.parts.remove(&before);
            self.close(before);
        }
    }

    /// Makes a part writable.
    fn open(&self, part: usize, last_before: Option<usize>) -> Result<(), Errno> {
        let Err(error) = self.allow_writing(part) else {
            // All pages at once: a thread that reads its block and then stores to it would take two faults, of which the second
            // interrupts all processors. Refused by kernels before 5.14.
            // SAFETY: a part of our own mapping, which is only filled with zeros.
            let _ =
                unsafe { madvise(self.address_of(part), PART_BYTES, Advice::LinuxPopulateWrite) };
            return Ok(());
        };
        // The number of mappings of a process is limited. Enlarging one adds none.
        let larger = last_before.map(|before| self.allow_writing_to(before..part + 1));
        if matches!(larger, Some(Ok(()))) { Ok(()) } else { Err(error) }
    }

    /// Makes a part zeros that can only be read. If the system refuses, the part stays writable, with the
    /// blocks of threads that have ended.
    fn close(&self, part: usize) {
        let start = self.address_of(part);
        // SAFETY: a part of our own mapping. Its blocks have no users: their threads have ended, or never
        // called us.
        let is_zero = [Advice::LinuxDontneedLocked, Advice::LinuxDontNeed]
            .into_iter()
            .any(|advice| unsafe { madvise(start, PART_BYTES, advice) }.is_ok());
        if is_zero {
            // SAFETY: as above; `open` makes it writable again.
            let _ = unsafe { mprotect(start, PART_BYTES, MprotectFlags::READ) };
        }
    }

    fn part(&self, thread: ThreadId) -> usize {
        self.index(thread) / PART_IDS
    }

    fn address_of(&self, part: usize) -> *mut std::ffi::c_void {
        ptr::with_exposed_provenance_mut(self.address + part * PART_BYTES)
    }

    fn allow_writing(&self, part: usize) -> Result<(), Errno> {
        self.allow_writing_to(part..part + 1)
    }

    fn allow_writing_to(&self, parts: Range<usize>) -> Result<(), Errno> {
        let access = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: parts of our own mapping, which can always be read.
        unsafe { mprotect(self.address_of(parts.start), parts.len() * PART_BYTES, access) }
    }

    /// Maps the spare part in place of a part for which there is no memory, although its threads will store
    /// exits. All such parts share it. It is shared memory, so it counts towards no limit. Nothing is
    /// recorded there.
    fn replace_by_spare(&self, part: usize) -> Result<(), Errno> {
        self.has_spares.store(true, Ordering::Release);
        for number in 0..PART_IDS {
            let block: *const Control =
                ptr::with_exposed_provenance(self.spare + number * BLOCK_BYTES);
            // SAFETY: a block within the spare part, as in `block_at`.
            unsafe { &*block }.park();
        }
        let spare = ptr::with_exposed_provenance_mut(self.spare);
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: an old size of 0 creates another mapping of the same memory, in place of a part of ours, in
        // one step. That part held only zeros.
        let mapped = unsafe { libc::mremap(spare, 0, PART_BYTES, flags, self.address_of(part)) };
        if mapped == libc::MAP_FAILED { Err(Errno::NOMEM) } else { Ok(()) }
    }

    fn block_at(&self, index: usize) -> &'static Control {
        let block: *const Control =
            ptr::with_exposed_provenance(self.address + index * BLOCK_BYTES);
        // SAFETY: callers pass ids that can be read. The mapping is never unmapped; it is aligned, because
        // the size of a block is a power of two. A block consists of atomics, for which the zeros of fresh
        // memory are valid. Probes access the same words with plain stores of the JVM, each of a whole word.
        unsafe { &*block }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> BlockTable {
        BlockTable::map().unwrap()
    }

    fn id(id: usize) -> ThreadId {
        ThreadId::new(id as u64)
    }

    #[test]
    fn every_thread_has_a_block_of_its_own() {
        let table = table();
        let addresses =
            [1, 2, 1_000_000].map(|of| ptr::from_ref(table.take(id(of)).unwrap()).addr());
        assert_eq!(addresses, [64, 128, 64_000_000].map(|offset| table.address() + offset));
        assert_eq!(table.block_at(0).off_switch().load(Ordering::Relaxed), 0);
    }

    #[test]
    fn there_are_always_more_ids_that_can_be_read() {
        let table = table();
        assert!(
            table.block(id(FIRST_IDS - 1)).unwrap().is_new()
                && table.block(id(FIRST_IDS)).is_none()
        );
        for of in [FIRST_IDS / 2 - 1, FIRST_IDS / 2, FIRST_IDS, 5 * FIRST_IDS, 1 << 31] {
            table.take(id(of)).unwrap();
            assert!(table.block(id((2 * of).min(table.ids - 1))).unwrap().is_new());
        }
    }

    /// The parts that are writable.
    fn parts(table: &BlockTable) -> Vec<usize> {
        let mut parts: Vec<_> = table.writable.lock().parts.keys().copied().collect();
        parts.sort_unstable();
        parts
    }

    #[test]
    fn the_memory_of_ended_threads_is_given_back() {
        let table = table();
        let first = 100 * PART_IDS;
        for of in first..first + 100_000 {
            table.take(id(of)).unwrap().end();
            table.give_back(id(of));
        }
        assert!(table.block(id(first)).unwrap().is_new());
        assert_eq!(parts(&table), [0, (first + 100_000 - 1) / PART_IDS]);
        table.take(id(first + 1)).unwrap();
        // From now on threads may share blocks.
        table.take(ThreadId::new(table.last() + 1)).unwrap();
        table.give_back(id(first + 1));
        assert!(!table.block(id(first + 1)).unwrap().is_new());
    }

    #[test]
    fn a_block_stays_writable_while_it_is_held() {
        let table = table();
        let of = id(5 * PART_IDS + 7);
        table.take(of).unwrap();
        let block = table.take_for(of, Users::ThreadAndHolder).unwrap();
        block.end();
        table.give_back(of);
        assert_eq!(parts(&table), [0, 5]);
        // It also stays when nothing holds it, until another part loses its last user.
        table.take(id(9 * PART_IDS)).unwrap();
        block.end();
        table.give_back(of);
        assert_eq!((parts(&table), block.is_new()), (vec![0, 5, 9], false));
        table.give_back(id(9 * PART_IDS));
        assert_eq!((parts(&table), block.is_new()), (vec![0, 9], true));
    }

    #[test]
    fn threads_that_start_and_end_at_once_find_their_blocks_writable() {
        let table = table();
        std::thread::scope(|scope| {
            for first in 0..4 {
                let table = &table;
                scope.spawn(move || {
                    for of in (1000 + first..10_000).step_by(4) {
                        table.take(id(of)).unwrap().park();
                        let block = table.take_for(id(of), Users::ThreadAndHolder).unwrap();
                        table.give_back(id(of));
                        block.end();
                        assert!(!block.is_new());
                        table.give_back(id(of));
                    }
                });
            }
        });
        assert!(parts(&table).len() <= 2);
    }

    #[test]
    fn in_a_part_without_memory_nothing_is_recorded() {
        let table = table();
        table.replace_by_spare(700).unwrap();
        table.writable.lock().parts.insert(700, Part::Spare);
        let of = id(700 * PART_IDS + 5);
        let block = table.block(of).unwrap();
        assert!(!block.is_new() && table.take(of).is_err());
        block.end();
        table.give_back(of);
        assert!(block.has_ended());
    }

    #[test]
    fn a_part_is_opened_with_the_parts_before_it_if_there_are_too_many_mappings() {
        let table = table();
        table.allow_writing_to(0..12).unwrap();
        for part in [3, 11] {
            let of = id(part * PART_IDS);
            assert!(table.block(of).unwrap().is_new());
            table.take(of).unwrap();
            table.give_back(of);
        }
        assert!(table.block(id(3 * PART_IDS)).unwrap().is_new());
    }
}
