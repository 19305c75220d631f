//! Slots of memory for chunks. They outlive the process if a file is mapped for them.
//!
//! [`flow_codec::format::journal`] specifies the bytes. A slot belongs to one thread at a time, or is spare;
//! slots are never returned to the system, split or joined. Sizes are powers of two, so that a spare slot is
//! found quickly and fits.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use flow_codec::format::journal::{
    HEADER_BYTES, IDENTITY_WORD, MAGIC, MARKS_HEADER_BYTES, SAMPLE_WORDS, SLOT_HEADER_BYTES,
    SlotWord, VERSION, WORD_BYTES, closed, is_open, lengths, opened,
};
use flow_codec::{ThreadId, TraceId};
use parking_lot::Mutex;

use crate::certain::Certain as _;
use crate::sink::{JournalFile, SinkError};
use crate::sys::{OpenMemory, Region, allocator};

/// The smallest slot: a virtual thread typically records a few bytes, and there may be a million virtual
/// threads.
pub(in crate::recorder) const MIN_SLOT_BYTES: usize = 256;

/// The initial size of the memory, which then doubles. Small at first: disk space may be limited.
const FIRST_BYTES: usize = 4096;
/// It grows by at most this much at once, unless one slot needs more.
const MAX_STEP: usize = 4 * 1024 * 1024;

/// The share of a slot that is for marks, within bounds.
const AREA_SHARE: usize = 8;
/// The smallest slot has room for three samples: the thread's start, where it then waits, and one more.
pub(in crate::recorder) const MIN_AREA_BYTES: usize =
    MARKS_HEADER_BYTES + 3 * SAMPLE_WORDS * WORD_BYTES;
const MAX_AREA_BYTES: usize = 8 * 1024;

/// The memory of all chunks.
#[derive(Debug)]
pub struct Journal {
    region: Region,
    slots: Mutex<Slots>,
    needed: AtomicBool,
    zero_ns: u64,
}

#[derive(Debug, Default)]
struct Slots {
    /// The offset of the next slot.
    end: usize,
    /// Spare slots by size: those of `MIN_SLOT_BYTES << n` are in the `n`th list.
    spare: Vec<Vec<Slot>>,
}

/// Memory that belongs to the holder of this value. Its chunk is zero at first.
#[derive(Debug)]
pub(in crate::recorder) struct Slot {
    words: &'static [AtomicU64],
}

impl Journal {
    /// Creates a journal whose memory is a file, for the recording with this identity.
    ///
    /// # Errors
    /// The file cannot be mapped.
    pub fn in_file(file: JournalFile, id: Option<TraceId>) -> Result<Self, String> {
        Self::new(Region::of_file(file)?, id)
    }

    /// Creates a journal in memory of this process alone: its content is lost when the process is killed.
    ///
    /// # Errors
    /// There is no address space.
    pub fn private() -> Result<Self, String> {
        Self::new(Region::private()?, None)
    }

    fn new(region: Region, id: Option<TraceId>) -> Result<Self, String> {
        region.grow(FIRST_BYTES).map_err(|error| error.to_string())?;
        const { assert!(IDENTITY_WORD == 3) };
        let header = [u64::from_le_bytes(MAGIC), VERSION, 0, id.map_or(0, TraceId::get)];
        for (word, value) in region.words().iter().zip(header) {
            word.store(value.to_le(), Ordering::Relaxed);
        }
        let slots = Slots { end: HEADER_BYTES, spare: Vec::new() };
        Ok(Self { region, slots: Mutex::new(slots), needed: AtomicBool::new(false), zero_ns: 0 })
    }

    /// Makes times in chunks count from the instant `zero_ns`.
    #[must_use]
    pub fn with_zero(mut self, zero_ns: u64) -> Self {
        const ZERO_WORD: usize = 2;
        if let Some(word) = self.region.words().get(ZERO_WORD) {
            word.store(zero_ns.to_le(), Ordering::Relaxed);
        } else {
            debug_assert!(false, "no header");
        }
        self.zero_ns = zero_ns;
        self
    }

    /// The instant from which times in chunks count.
    #[must_use]
    pub fn zero_ns(&self) -> u64 {
        self.zero_ns
    }

    /// Whether its content outlives the process.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.region.is_shared()
    }

    /// Records that a slot holds something that no other file does.
    pub(in crate::recorder) fn keep(&self) {
        self.needed.store(true, Ordering::Relaxed);
    }

    /// Whether the file must be kept after the recording.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.needed.load(Ordering::Relaxed)
    }

    /// Detaches from the file. Later stores are discarded.
    pub fn leave_file(&self) {
        self.region.leave_file();
    }

    /// Closes the file and stops using it. No slots are added from now on.
    pub(in crate::recorder) fn close_file(&self) {
        // Every thread that adds a slot holds this lock.
        let _slots = self.slots.lock();
        self.region.close_file();
    }

    /// Frees the memory, except where threads may still store to it: see [`Region::release`].
    pub(in crate::recorder) fn release(&self, last: impl Iterator<Item = OpenMemory>) {
        self.region.release(last);
    }

    /// Returns all of the memory, for callers that know addresses in it.
    #[inline]
    pub(in crate::recorder) fn words(&self) -> &'static [AtomicU64] {
        self.region.words()
    }

    /// Returns a slot of at least this size that is not open.
    pub(in crate::recorder) fn claim(&self, bytes: usize) -> Result<Slot, SinkError> {
        let bytes = bytes.max(MIN_SLOT_BYTES).next_power_of_two();
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.spare.get_mut(class(bytes)).and_then(Vec::pop) {
            return Ok(slot);
        }
        self.carve(&mut slots, bytes)
            .map_err(|error| SinkError::whole_trace(format!("journal: {error}")))
    }

    /// Takes back a slot that is not open and whose chunk is zero. If there is no memory to keep track of it,
    /// it is not used again.
    pub(in crate::recorder) fn give_back(&self, slot: Slot) {
        let class = class(slot.bytes());
        let mut slots = self.slots.lock();
        if slots.spare.len() <= class {
            slots.spare.resize_with(class + 1, Vec::new);
        }
        if let Some(spare) = slots.spare.get_mut(class)
            && allocator::try_reserve(spare, 1).is_ok()
        {
            spare.push(slot);
        }
    }

    fn carve(&self, slots: &mut Slots, bytes: usize) -> io::Result<Slot> {
        let range = slots.end..slots.end + bytes;
        let ready = self.region.words().len() * WORD_BYTES;
        if ready < range.end {
            let missing = range.end - ready;
            let step = ready.min(MAX_STEP).max(missing);
            // Where there is no space for more, there may be for what is needed now.
            self.region.grow(step).or_else(|_| self.region.grow(missing))?;
        }
        let range = range.start / WORD_BYTES..range.end / WORD_BYTES;
        let words = self.region.words().get(range).ok_or(io::ErrorKind::OutOfMemory)?;
        let slot = Slot { words };
        slot.put(SlotWord::Size, bytes as u64);
        slots.end += bytes;
        Ok(slot)
    }
}

/// The state of a slot, for the code that closes it while the owner may be doing something else.
#[derive(Debug)]
pub(in crate::recorder) struct SlotState(Slot);

impl SlotState {
    /// Like [`Slot::close`].
    pub(in crate::recorder) fn close(&self) {
        self.0.close();
    }
}

/// How many bytes of a slot are for marks.
pub(in crate::recorder) fn area_bytes(slot_bytes: usize) -> usize {
    (slot_bytes / AREA_SHARE).clamp(MIN_AREA_BYTES, MAX_AREA_BYTES)
}

fn class(bytes: usize) -> usize {
    (bytes / MIN_SLOT_BYTES).trailing_zeros() as usize
}

impl Slot {
    pub(in crate::recorder) fn bytes(&self) -> usize {
        self.words.len() * WORD_BYTES
    }

    /// The state of the slot.
    pub(in crate::recorder) fn to_state(&self) -> SlotState {
        SlotState(Slot { words: self.words })
    }

    /// The address of its first byte.
    pub(in crate::recorder) fn address(&self) -> u64 {
        self.words.as_ptr().expose_provenance() as u64
    }

    pub(in crate::recorder) fn words(&self) -> &'static [AtomicU64] {
        self.words
    }

    /// Writes the header of the chunk that follows: its thread, its offset, the canonicalizer's state and, if there
    /// are marks, the length of their file and the marks that it still lacks.
    pub(in crate::recorder) fn prepare(
        &self,
        thread: ThreadId,
        offset: u64,
        resume: &[u8],
        marks: Option<(u64, &[u8])>,
    ) {
        let area = marks.map_or(0, |_| area_bytes(self.bytes()));
        let short = |bytes: usize| u32::try_from(bytes).certain();
        self.put(SlotWord::Thread, thread.get());
        self.put(SlotWord::Offset, offset);
        self.put(SlotWord::Lengths, lengths(short(resume.len()), short(area)));
        self.put_bytes(SLOT_HEADER_BYTES / WORD_BYTES, resume);
        if let Some((written, pending)) = marks {
            let first = self.words.len() - area / WORD_BYTES;
            self.put_bytes(first, &written.to_le_bytes());
            self.put_bytes(first + 1, &(pending.len() as u64).to_le_bytes());
            self.put_bytes(first + 2, pending);
        }
    }

    /// Stores events at the beginning of the chunk, before the slot is open.
    pub(in crate::recorder) fn put_events(&self, start: usize, raw: &[u8]) {
        debug_assert!(start + raw.len() <= self.bytes(), "{start} + {} bytes", raw.len());
        let words = self.words.iter().skip(start / WORD_BYTES);
        for (word, bytes) in words.zip(raw.chunks(WORD_BYTES)) {
            let mut padded = [0; WORD_BYTES];
            padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = !*from);
            word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
    }

    /// Stores bytes from a word on, and zeros after them up to a whole word.
    fn put_bytes(&self, first: usize, bytes: &[u8]) {
        debug_assert!(first * WORD_BYTES + bytes.len() <= self.bytes(), "{first}, {}", bytes.len());
        for (word, bytes) in self.words.iter().skip(first).zip(bytes.chunks(WORD_BYTES)) {
            let mut padded = [0; WORD_BYTES];
            padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
    }

    /// Opens the slot: from here on its content counts.
    pub(in crate::recorder) fn open(&self) {
        self.put(SlotWord::State, opened(self.state()));
        // No store to the chunk moves before this one.
        fence(Ordering::SeqCst);
    }

    /// Closes the slot: from here on its content no longer counts.
    pub(in crate::recorder) fn close(&self) {
        self.put(SlotWord::State, closed(self.state()));
        // No clearing moves before this store.
        fence(Ordering::SeqCst);
    }

    pub(in crate::recorder) fn is_open(&self) -> bool {
        is_open(self.state())
    }

    /// Clears what follows the header, up to a byte, and the last bytes.
    pub(in crate::recorder) fn clear(&self, end: usize, last: usize) {
        // `end` allows for the widest store at the last position, and may be beyond the slot.
        let words = self.words.get(..end.div_ceil(WORD_BYTES)).unwrap_or(self.words);
        let first = words.iter().skip(SLOT_HEADER_BYTES / WORD_BYTES);
        let last = self.words.iter().rev().take(last.div_ceil(WORD_BYTES));
        first.chain(last).for_each(|word| word.store(0, Ordering::Relaxed));
    }

    fn state(&self) -> u64 {
        let word = self.words.get(SlotWord::State.index());
        word.map(|word| u64::from_le(word.load(Ordering::Relaxed))).certain()
    }

    fn put(&self, word: SlotWord, value: u64) {
        debug_assert!(word.index() < self.words.len(), "no header");
        if let Some(word) = self.words.get(word.index()) {
            // A thread that sees this store sees those before it.
            word.store(value.to_le(), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again_by_size() {
        let journal = Journal::private().unwrap();
        let (small, large) = (journal.claim(1).unwrap(), journal.claim(300).unwrap());
        assert_eq!((small.bytes(), large.bytes()), (256, 512));
        let addresses = [small.address(), large.address()];
        assert_eq!(addresses[1] - addresses[0], 256);
        [small, large].into_iter().for_each(|slot| journal.give_back(slot));
        assert_eq!(journal.claim(512).unwrap().address(), addresses[1]);
        assert_eq!(journal.claim(256).unwrap().address(), addresses[0]);
        assert_eq!(journal.claim(256).unwrap().address(), addresses[1] + 512);
    }

    #[test]
    fn a_slot_larger_than_a_step_is_made() {
        let journal = Journal::private().unwrap();
        let slot = journal.claim(3 * MAX_STEP).unwrap();
        assert_eq!(slot.bytes(), 4 * MAX_STEP);
        assert!(slot.words().iter().skip(1).all(|word| word.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn a_slot_is_as_specified() {
        let journal = Journal::private().unwrap();
        let slot = journal.claim(256).unwrap();
        slot.open();
        slot.close();
        slot.prepare(ThreadId::new(1), 3, &[2, 2, 11], None);
        slot.open();
        let words = slot.words().iter().map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        let bytes: Vec<u8> = words.flatten().collect();
        let expected = [256_u64, 5, 1, 3, 3].map(u64::to_le_bytes);
        let resume = [2, 2, 11, 0, 0, 0, 0, 0];
        assert!(bytes.starts_with(&[&expected.concat(), &resume[..]].concat()));
        slot.clear(44, 0);
        assert!(slot.words().iter().skip(5).all(|word| word.load(Ordering::Relaxed) == 0));
        slot.prepare(ThreadId::new(1), 3, &[], Some((9, &[1, 2, 3])));
        let words: Vec<_> = slot.words().iter().map(|word| word.load(Ordering::Relaxed)).collect();
        assert_eq!(words.get(4..6), Some(&[88 << 32, 0][..]));
        assert_eq!(words.get(21..25), Some(&[9, 3, 0x03_02_01, 0][..]));
        slot.clear(40, 88);
        assert!(slot.words().iter().skip(5).all(|word| word.load(Ordering::Relaxed) == 0));
    }
}
