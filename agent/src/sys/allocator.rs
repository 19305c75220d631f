//! The allocator of the library: the system's, and a reserve for when the system has no memory.
//!
//! Rust aborts the process when an allocation fails. The program must not end because of us, so a refused
//! allocation is served from a reserve of [`RESERVE_BYTES`], and [`is_short`] becomes true. The recording
//! stops at the next opportunity ([`Recorder::check_memory`](crate::recorder::Recorder)): at the end of the
//! callback in which memory was refused, or at the next sample. After that nothing is recorded, and the
//! reserve only has to last for what threads are doing and for writing the end of the trace.
//!
//! That is a bounded amount if no single allocation is large. So code whose memory grows with the program
//! (chunks on their way to the disk, tables of methods and threads, class files) first calls [`try_reserve`]
//! or [`check_room`], which can fail. A request that can fail uses at most half of the reserve.
//!
//! The reserve is part of the library's zero-initialized data: it exists before the first allocation,
//! and is not resident until it is used. It is an arena: blocks follow one another, and the space is used
//! again when the last block or all of them are freed.
//!
//! Two allocations are out of reach, and the C library ends the process if they fail: the thread-local
//! variables of the library (about 10 KiB), when a thread first uses one, and a few bytes when a thread first
//! waits for a lock. So every callback, above all that of the start of a thread, begins with
//! [`has_thread_locals`], and does nothing if it returns `false`. (The JVM has thread-local variables of its
//! own, so the message of the C library, "cannot allocate memory for thread-local data", can also come from
//! these.) musl allocates the variables when a thread starts, and when the library is loaded; what it lacks is in
//! `destructors.rs`.

#![expect(unsafe_code, reason = "a global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::process::{Resource, getrlimit};

/// Enough for the classes that a few dozen threads may be loading when memory runs out, and for the end
/// of the recording.
const RESERVE_BYTES: usize = 4 << 20;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

static RESERVE: Reserve = Reserve::new();

/// Whether the system has refused memory since the recording started.
static SHORT: AtomicBool = AtomicBool::new(false);

/// Whether the recorder knows.
static REPORTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Set while a request of the thread can fail.
    static CAN_FAIL: Cell<bool> = const { Cell::new(false) };
}

/// The system has no memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OutOfMemory;

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of memory")
    }
}

/// Prepares for a recording that is about to start.
///
/// # Errors
/// An earlier recording of this process has used up the reserve.
pub(crate) fn start() -> Result<(), OutOfMemory> {
    if RESERVE.used() > RESERVE_BYTES / 4 {
        return Err(OutOfMemory);
    }
    SHORT.store(false, Ordering::Relaxed);
    REPORTED.store(false, Ordering::Relaxed);
    if has_thread_locals() { Ok(()) } else { Err(OutOfMemory) }
}

/// Returns whether the system has refused memory since the recording started.
#[inline]
pub(crate) fn is_short() -> bool {
    SHORT.load(Ordering::Relaxed)
}

/// Notes that the system, or the JVM, has refused memory.
pub(crate) fn set_short() {
    SHORT.store(true, Ordering::Relaxed);
}

/// Returns `true` once after the system has refused memory.
#[inline]
pub(crate) fn has_become_short() -> bool {
    is_short() && !REPORTED.swap(true, Ordering::Relaxed)
}

/// Makes room for `additional` more elements.
///
/// # Errors
/// There is no memory; `vec` is unchanged.
pub(crate) fn try_reserve<T>(vec: &mut Vec<T>, additional: usize) -> Result<(), OutOfMemory> {
    try_to(|| vec.try_reserve(additional))
}

/// Runs a request for memory that can fail.
///
/// # Errors
/// It has failed.
pub(crate) fn try_to<E>(request: impl FnOnce() -> Result<(), E>) -> Result<(), OutOfMemory> {
    CAN_FAIL.set(true);
    let result = request();
    CAN_FAIL.set(false);
    result.map_err(|_| {
        set_short();
        OutOfMemory
    })
}

/// Checks that the system has this much memory now: for work that allocates in many places.
///
/// # Errors
/// It has not.
pub(crate) fn check_room(bytes: usize) -> Result<(), OutOfMemory> {
    let checked = try_to(|| Vec::<u8>::new().try_reserve_exact(bytes));
    if is_short() { Err(OutOfMemory) } else { checked }
}

/// More than the thread-local variables of the library take.
const THREAD_LOCAL_BYTES: usize = 16 << 10;

/// Whether a thread has its thread-local variables. The value is per thread, and reading it needs no memory.
static BEGUN: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

/// Returns whether the thread has its thread-local variables, which are created here if it has none. The C
/// library allocates all of them when the first one is used, and ends the process if it cannot. So this first
/// allocates and frees a block of that size.
#[inline]
#[must_use]
pub(crate) fn has_thread_locals() -> bool {
    // SAFETY: a key that exists, and stays for good.
    let has_begun = |key| !unsafe { libc::pthread_getspecific(key) }.is_null();
    BEGUN.get().copied().flatten().is_some_and(has_begun) || gets_thread_locals()
}

#[cold]
fn gets_thread_locals() -> bool {
    let key = *BEGUN.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place for the key; values of the key need no destructor.
        (unsafe { libc::pthread_key_create(&raw mut key, None) } == 0).then_some(key)
    });
    // A compiler may leave out a pair of calls of an allocator, that of the C library too, unless the address of the
    // block is used.
    // SAFETY: any size may be requested.
    let block = std::hint::black_box(unsafe { libc::malloc(THREAD_LOCAL_BYTES) });
    let has_room = !block.is_null();
    // SAFETY: the block of above, or null, which `free` ignores.
    unsafe { libc::free(block) };
    if !has_room {
        set_short();
        return false;
    }
    // Creates them now, while there is room.
    CAN_FAIL.with(|first| std::hint::black_box(first).get());
    if let Some(key) = key {
        // SAFETY: the key exists; the value is never used as an address. If there is no memory for it, the
        // next callback of this thread tries again.
        unsafe { libc::pthread_setspecific(key, ptr::without_provenance(1)) };
    }
    true
}

/// Bytes of address space that must stay free for the program where it is limited: a quarter.
pub(crate) fn share_of_program() -> usize {
    static SHARE: OnceLock<usize> = OnceLock::new();
    *SHARE.get_or_init(|| {
        let limit = getrlimit(Resource::As).current;
        limit.and_then(|limit| usize::try_from(limit / 4).ok()).unwrap_or_default()
    })
}

struct Allocator;

// SAFETY: blocks come from the system's allocator or from the reserve, whose blocks do not overlap, and go
// back to where they came from, which their addresses show. Nothing here unwinds.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's duty.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() { from_reserve(layout) } else { block }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's duty.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            return block;
        }
        let block = from_reserve(layout);
        if !block.is_null() {
            // SAFETY: a new block of this size, which earlier ones may have written to.
            unsafe { ptr::write_bytes(block, 0, layout.size()) };
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match RESERVE.offset_of(block) {
            None => {
                // SAFETY: the caller's duty, and a block that is not ours is the system's.
                unsafe { System.dealloc(block, layout) }
            }
            Some(offset) => RESERVE.give_back(offset, layout.size()),
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if RESERVE.offset_of(block).is_none() {
            // SAFETY: the caller's duty, and a block that is not ours is the system's.
            let moved = unsafe { System.realloc(block, layout, new_size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller's duty: the size, rounded up to the alignment, is a valid one.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: the size is not zero, the caller's duty.
        let moved = unsafe { self.alloc(new_layout) };
        if !moved.is_null() {
            // SAFETY: two different blocks, both of which are at least this long.
            unsafe { ptr::copy_nonoverlapping(block, moved, layout.size().min(new_size)) };
            // SAFETY: the caller's duty: a block of this layout, which is not used after this.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}

#[cold]
fn from_reserve(layout: Layout) -> *mut u8 {
    set_short();
    let limit = if CAN_FAIL.get() { RESERVE_BYTES / 2 } else { RESERVE_BYTES };
    RESERVE.take(layout, limit)
}

/// Aligned for any block.
#[repr(C, align(4096))]
struct Reserve {
    bytes: UnsafeCell<[u8; RESERVE_BYTES]>,
    /// How many blocks are in use, and, in the lower half, where the next one can begin.
    state: AtomicU64,
}

// SAFETY: the state is atomic, and the bytes are only touched by the owners of blocks.
unsafe impl Sync for Reserve {}

impl Reserve {
    const fn new() -> Self {
        Self { bytes: UnsafeCell::new([0; RESERVE_BYTES]), state: AtomicU64::new(0) }
    }

    /// A block that ends at `limit` at most, or null.
    fn take(&self, layout: Layout, limit: usize) -> *mut u8 {
        let mut begin = 0;
        let taken = self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, |state| {
            let (blocks, end) = parts(state);
            begin = end.checked_next_multiple_of(layout.align())?;
            let end = begin.checked_add(layout.size()).filter(|end| *end <= limit)?;
            // More than a page is not an alignment that occurs.
            (layout.align() <= align_of::<Self>()).then(|| state_of(blocks + 1, end))
        });
        match taken {
            // SAFETY: within the array.
            Ok(_) => unsafe { self.bytes.get().cast::<u8>().add(begin) },
            Err(_) => ptr::null_mut(),
        }
    }

    fn give_back(&self, offset: usize, size: usize) {
        let given = self.state.fetch_update(Ordering::Release, Ordering::Relaxed, |state| {
            let (blocks, end) = parts(state);
            Some(match blocks {
                0 | 1 => 0,
                _ if offset + size == end => state_of(blocks - 1, offset),
                _ => state_of(blocks - 1, end),
            })
        });
        debug_assert!(given.is_ok(), "never refused");
    }

    #[inline]
    fn offset_of(&self, block: *mut u8) -> Option<usize> {
        let offset = block.addr().wrapping_sub(self.bytes.get().addr());
        (offset < RESERVE_BYTES).then_some(offset)
    }

    fn used(&self) -> usize {
        parts(self.state.load(Ordering::Relaxed)).1
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half")]
fn parts(state: u64) -> (u64, usize) {
    (state >> u32::BITS, state as u32 as usize)
}

fn state_of(blocks: u64, end: usize) -> u64 {
    blocks << u32::BITS | end as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(reserve: &Reserve, bytes: usize, align: usize) -> Option<usize> {
        let block = reserve.take(Layout::from_size_align(bytes, align).unwrap(), RESERVE_BYTES);
        reserve.offset_of(block)
    }

    fn reserve() -> Box<Reserve> {
        // SAFETY: an array of bytes and an atomic, for which zeros are values.
        unsafe { Box::<Reserve>::new_zeroed().assume_init() }
    }

    #[test]
    fn blocks_follow_one_another_and_the_space_of_the_last_one_is_reused() {
        let reserve = reserve();
        assert_eq!(take(&reserve, 3, 1), Some(0));
        assert_eq!(take(&reserve, 8, 8), Some(8));
        assert_eq!(take(&reserve, 1, 1), Some(16));
        reserve.give_back(16, 1);
        assert_eq!(take(&reserve, 64, 64), Some(64));
        reserve.give_back(8, 8);
        assert_eq!(take(&reserve, 1, 1), Some(128), "not the last one, so not used again");
        for (at, bytes) in [(0, 3), (64, 64), (128, 1)] {
            reserve.give_back(at, bytes);
        }
        assert_eq!((take(&reserve, 1, 1), reserve.used()), (Some(0), 1), "all are free");
    }

    #[test]
    fn blocks_that_do_not_fit_are_refused() {
        let reserve = reserve();
        assert_eq!(take(&reserve, RESERVE_BYTES + 1, 1), None);
        assert_eq!(take(&reserve, RESERVE_BYTES - 1, 1), Some(0));
        assert_eq!(take(&reserve, 1, 2), None);
        assert_eq!(take(&reserve, 1, 1), Some(RESERVE_BYTES - 1));
        assert_eq!(take(&reserve, 1, 8192), None);
        let layout = Layout::new::<u8>();
        assert!(reserve.take(layout, RESERVE_BYTES / 2).is_null());
    }

    #[test]
    fn threads_get_different_blocks() {
        let reserve = reserve();
        let taken = std::thread::scope(|scope| {
            let thread = || {
                let offsets = (0..1000).map(|_| take(&reserve, 16, 16).unwrap());
                offsets
                    .filter(|offset| {
                        let frees = offset % 48 == 0;
                        if frees {
                            reserve.give_back(*offset, 16);
                        }
                        !frees
                    })
                    .collect::<Vec<_>>()
            };
            let threads = [scope.spawn(thread), scope.spawn(thread), scope.spawn(thread)];
            threads.map(|thread| thread.join().unwrap()).concat()
        });
        let mut different = taken.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), taken.len());
    }

    #[test]
    fn a_block_of_the_reserve_moves_with_its_content() {
        let layout = Layout::from_size_align(1000, 8).unwrap();
        let block = RESERVE.take(layout, RESERVE_BYTES);
        // SAFETY: a new block of this size.
        unsafe { ptr::write_bytes(block, 7, layout.size()) };
        // SAFETY: a block of this layout.
        let moved = unsafe { ALLOCATOR.realloc(block, layout, 2000) };
        assert!(RESERVE.offset_of(moved).is_none() && RESERVE.used() == 0);
        // SAFETY: a block of which this part has been written.
        let content = unsafe { std::slice::from_raw_parts(moved, layout.size()) };
        assert!(content.iter().all(|byte| *byte == 7));
        // SAFETY: a block of this layout.
        unsafe { ALLOCATOR.dealloc(moved, Layout::from_size_align(2000, 8).unwrap()) };
    }
}
