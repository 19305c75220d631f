//! HOT: what one thread has recorded since it last handed over.
//!
//! Only the owning thread appends and hands over: with [`append`], or with a probe, which does the same in
//! Java. Another thread may read at any instant: it sees the whole events before the position that it loads.
//! The owner takes another slot under the lock that every reader holds (`ThreadRecorder::out`).
//!
//! A probe that passed its limit just before the limit was removed still writes one event, and exits check no
//! limit at all. So the memory that a thread writes to belongs to it until the thread itself takes other
//! memory.
//!
//! ```text
//! slot      chunk         limit                                        last
//! ├─ header ─┼─ events ────┤─ exits, of all frames open when it is reached ─┤─ marks ─┤
//! ```
//!
//! The number of these exits has a bound that is known at each hand-over: the frames open then, plus the
//! frames that the next chunk can open.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use flow_codec::format::journal::{WORD_BYTES, chunk_start};

use super::journal::{Journal, MIN_SLOT_BYTES, Slot, area_bytes};
use super::samples::Samples;
use crate::certain::Certain as _;
use crate::sys::Control;
use crate::sys::settle_stores;

/// The widest store at a position below the limit: the steps of an access to an element of an array.
const STORE_BYTES: usize = 32;

/// Chunks are copied in pieces of this size.
const PIECE_WORDS: usize = 64;

/// Each slot that a thread fills is followed by one that is larger by this factor.
const GROWTH: usize = 4;

/// A raw chunk: whole events, see [`flow_codec::format::raw`].
#[derive(Debug)]
pub(in crate::recorder) struct Chunk {
    slot: Slot,
    /// Where the events begin in the slot.
    start: usize,
    /// Where the limit is, counted from there.
    fill_bytes: usize,
    /// Bytes of the slot that are reserved for marks.
    marks_bytes: usize,
    /// The position in the slot at which exits stop.
    end: usize,
}

/// The sizes of chunks and events.
#[derive(Clone, Copy, Debug)]
pub(in crate::recorder) struct Shape {
    /// How many bytes a chunk may hold.
    pub(in crate::recorder) max_fill: usize,
    /// Bytes of an exit.
    pub(in crate::recorder) exit_bytes: usize,
    /// Whether stacks are sampled.
    pub(in crate::recorder) has_stacks: bool,
}

/// What a slot is prepared with.
#[derive(Clone, Copy, Debug)]
pub(in crate::recorder) struct Prepared {
    /// Bytes of the canonicalizer's state.
    pub(in crate::recorder) resume_bytes: usize,
    /// Bytes of the pending marks, if there may be marks.
    pub(in crate::recorder) pending_bytes: Option<usize>,
    /// Open frames of the thread.
    pub(in crate::recorder) open_frames: usize,
    /// Bytes of events that the chunk begins with.
    pub(in crate::recorder) event_bytes: usize,
}

/// Who reads a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::recorder) enum ReadBy {
    /// The thread that records into it.
    Owner,
    /// Another thread, while the owner may be recording.
    Other,
}

impl Chunk {
    /// Points `control` to a slot that has been prepared. Returns where its samples go, too.
    pub(in crate::recorder) fn begin(
        slot: Slot,
        prepared: Prepared,
        Shape { max_fill, exit_bytes, has_stacks }: Shape,
        control: &Control,
    ) -> (Self, Samples) {
        let start = chunk_start(prepared.resume_bytes);
        let marks_bytes = prepared.pending_bytes.map_or(0, |_| area_bytes(slot.bytes()));
        let samples = Samples::begin(&slot, start, prepared.pending_bytes, has_stacks);
        let end = slot.bytes() - marks_bytes;
        // One for the entry that passes the limit, and one that is never recorded: without it, an area that
        // is exactly full would look like one that was too small.
        let for_exits = prepared.open_frames.saturating_add(2).saturating_mul(exit_bytes);
        let first_bytes = prepared.event_bytes;
        let for_events = end.saturating_sub(start + first_bytes + STORE_BYTES + for_exits);
        let fill_bytes = (for_events / 2).min(max_fill);
        let first = slot.address() + (start + first_bytes) as u64;
        // The last place where an exit can begin.
        let last = slot.address() + (end - exit_bytes) as u64;
        control.begin(first, first + fill_bytes as u64, last);
        let (first_place, places) = samples.stacks();
        if has_stacks && prepared.pending_bytes.is_some() {
            let place = slot.address() + (first_place * WORD_BYTES) as u64;
            control.begin_stacks(slot.address() + start as u64, place, places);
        }
        (Self { slot, start, fill_bytes, marks_bytes, end: end - exit_bytes }, samples)
    }

    /// How many bytes the events have so far. `reader` can read all of them.
    pub(in crate::recorder) fn recorded_bytes(&self, control: &Control, reader: ReadBy) -> usize {
        // Pairs with the store in `append`. A probe's stores are plain ones: `settle_stores` says why its
        // bytes are visible too. What the thread records meanwhile is after the position and is not read.
        let len = self.len(control.position(Ordering::Acquire));
        if reader == ReadBy::Other {
            settle_stores();
        }
        len
    }

    /// A copy of these bytes of events.
    pub(in crate::recorder) fn copy_to(&self, range: Range<usize>, bytes: &mut Vec<u8>) {
        let (first, skipped) = (range.start / WORD_BYTES, range.start % WORD_BYTES);
        let words = self.slot.words().get(self.start / WORD_BYTES + first..).certain();
        let words = words.get(..(skipped + range.len()).div_ceil(WORD_BYTES)).certain();
        let load = |word: &AtomicU64| (!word.load(Ordering::Relaxed)).to_ne_bytes();
        let (head, words) = words.split_at(usize::from(skipped > 0));
        bytes.clear();
        head.iter().for_each(|word| bytes.extend(load(word).into_iter().skip(skipped)));
        for words in words.chunks(PIECE_WORDS) {
            // Room for all of them would have to be cleared first.
            let mut piece = [0; PIECE_WORDS * WORD_BYTES];
            for (to, word) in piece.as_chunks_mut().0.iter_mut().zip(words) {
                *to = load(word);
            }
            bytes.extend_from_slice(piece.get(..words.len() * WORD_BYTES).unwrap_or(&piece));
        }
        bytes.truncate(range.len());
    }

    /// Whether exits may be missing because more followed each other than there was room for.
    pub(in crate::recorder) fn is_overrun(&self, control: &Control) -> bool {
        // An event is whole if the next one could begin after it.
        self.len(control.position(Ordering::Relaxed)) + self.start >= self.end
    }

    /// Removes what was recorded. For the owner, after handing it over.
    pub(in crate::recorder) fn rewind(&self, control: &Control) {
        control.place_no_stacks();
        control.call_for_attention();
        control.set_position(self.slot.address() + self.start as u64, Ordering::Release);
    }

    /// The slot. `position` says how long the chunk was, before the next one begins.
    pub(in crate::recorder) fn slot(&self) -> &Slot {
        &self.slot
    }

    /// Gives up the slot, cleared up to the thread's last position.
    pub(in crate::recorder) fn into_slot(self, position: u64) -> Slot {
        self.slot.clear(self.start + self.len(position) + STORE_BYTES, self.marks_bytes);
        self.slot
    }

    /// Closes the slot, whose content is elsewhere by now, and gives it back, cleared up to the last position of the thread.
    pub(in crate::recorder) fn give_back(self, position: u64, journal: &Journal) {
        self.slot.close();
        journal.give_back(self.into_slot(position));
    }

    /// Returns the size of the next slot: larger if the thread filled this one, with events or with samples.
    pub(in crate::recorder) fn wanted_bytes(&self, position: u64, samples: &Samples) -> usize {
        let now = self.slot.bytes();
        let is_full = self.len(position) >= self.fill_bytes
            || self.marks_bytes > 0 && (samples.is_full() || samples.is_full_of_stacks());
        if is_full { now.saturating_mul(GROWTH) } else { now }
    }

    /// The offset of a position from the start; 0 if it is not in this slot.
    #[inline]
    fn len(&self, position: u64) -> usize {
        let first = self.slot.address() + self.start as u64;
        let len = usize::try_from(position.wrapping_sub(first)).certain();
        if len < self.slot.bytes() { len } else { 0 }
    }
}

/// Returns the size of a slot for a thread that asks for `wanted` bytes. Exits of open frames and the
/// canonicalizer's state take a part of it.
pub(in crate::recorder) fn slot_bytes(
    wanted: usize,
    Shape { max_fill, exit_bytes, .. }: Shape,
    open_frames: usize,
    state_bytes: usize,
) -> usize {
    let taken = open_frames.saturating_mul(exit_bytes).saturating_add(state_bytes);
    let largest = (2 * max_fill).next_power_of_two().max(MIN_SLOT_BYTES);
    let bytes = wanted.clamp(MIN_SLOT_BYTES, largest);
    // Half of the slot remains for events, however much that is; marks get their share of the whole.
    let least = bytes / 2 + taken;
    bytes.max(least + (least / 4).max(area_bytes(MIN_SLOT_BYTES))).next_power_of_two()
}

/// Appends a whole event at the position in `control`. Returns `false` if there is no room, or if the thread
/// is to call the recorder. `words` is the memory of all chunks.
#[inline]
pub(in crate::recorder) fn append(words: &[AtomicU64], control: &Control, event: &[u8]) -> bool {
    if !control.has_room() {
        return false;
    }
    let position = control.position(Ordering::Relaxed);
    let first = words.as_ptr().expose_provenance() as u64;
    let at = usize::try_from(position.wrapping_sub(first)).unwrap_or(usize::MAX);
    for (at, bytes) in (at..).step_by(WORD_BYTES).zip(event.chunks(WORD_BYTES)) {
        put(words, at, bytes);
    }
    // Pairs with the load in `copy_to`: a reader that sees the position sees the event.
    control.set_position(position + event.len() as u64, Ordering::Release);
    true
}

/// Stores the complement of up to eight bytes. Only the owner writes, so nothing comes between a load and its store.
#[inline]
fn put(words: &[AtomicU64], at: usize, bytes: &[u8]) {
    debug_assert!(at / WORD_BYTES < words.len(), "an event outside of the memory of chunks");
    let mut padded = [u8::MAX; WORD_BYTES];
    padded.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
    let new = !u64::from_le_bytes(padded);
    let places = u64::MAX >> (u64::BITS - u8::BITS * u32::try_from(bytes.len()).certain().max(1));
    let shift = u8::BITS * u32::try_from(at % WORD_BYTES).certain();
    let store = |word: &AtomicU64, places: u64, new: u64| {
        let old = u64::from_le(word.load(Ordering::Relaxed));
        word.store((old & !places | new).to_le(), Ordering::Relaxed);
    };
    let mut words = words.get(at / WORD_BYTES..).unwrap_or_default().iter();
    words.next().into_iter().for_each(|word| store(word, places << shift, new << shift));
    let above = u64::BITS - shift;
    if let (Some(places @ 1..), Some(new)) = (places.checked_shr(above), new.checked_shr(above)) {
        words.next().into_iter().for_each(|word| store(word, places, new));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::memory::journal::Journal;

    struct Thread {
        journal: Journal,
        control: Box<Control>,
        chunk: Chunk,
        samples: Samples,
        exit_bytes: usize,
    }

    impl Thread {
        /// With room for this many bytes of events.
        fn new(fill: usize, open_frames: usize) -> Self {
            Self::with_exits_of(1, fill, open_frames)
        }

        fn with_exits_of(exit_bytes: usize, fill: usize, open_frames: usize) -> Self {
            let (journal, control) = (Journal::private().unwrap(), Box::<Control>::default());
            let shape = Shape { max_fill: fill, exit_bytes, has_stacks: false };
            let slot = journal.claim(slot_bytes(2 * fill, shape, open_frames, 0)).unwrap();
            let prepared =
                Prepared { resume_bytes: 0, pending_bytes: None, open_frames, event_bytes: 0 };
            let (chunk, samples) = Chunk::begin(slot, prepared, shape, &control);
            Self { journal, control, chunk, samples, exit_bytes }
        }

        fn append(&self, event: &[u8]) -> bool {
            append(self.journal.words(), &self.control, event)
        }

        /// What the exit probe does.
        fn exit(&self) {
            let at = self.control.position(Ordering::Relaxed);
            let words = self.chunk.slot.words();
            let first = usize::try_from(at - self.chunk.slot.address()).unwrap();
            (first..first + self.exit_bytes).for_each(|at| put(words, at, &[0]));
            let moves = u64::from(at < self.control.ends().1) * self.exit_bytes as u64;
            self.control.set_position(at + moves, Ordering::Relaxed);
        }

        fn wanted(&self) -> usize {
            self.chunk.wanted_bytes(self.control.position(Ordering::Relaxed), &self.samples)
        }

        fn recorded(&self) -> Vec<u8> {
            let mut bytes = vec![1, 2, 3];
            let len = self.chunk.recorded_bytes(&self.control, ReadBy::Other);
            self.chunk.copy_to(0..len, &mut bytes);
            bytes
        }
    }

    #[test]
    fn bytes_are_stored_where_they_belong_and_nowhere_else() {
        for len in 1..=WORD_BYTES {
            for at in 0..2 * WORD_BYTES {
                let words: [AtomicU64; 4] = std::array::from_fn(|_| AtomicU64::new(u64::MAX / 3));
                let bytes: Vec<u8> = (1..).take(len).collect();
                put(&words, at, &bytes);
                let found = words.each_ref().map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
                let mut expected = [0x55; 4 * WORD_BYTES];
                let places = expected.iter_mut().skip(at);
                places.zip(&bytes).for_each(|(to, byte)| *to = !byte);
                assert_eq!(found.concat(), expected, "{len} bytes at {at}");
            }
        }
    }

    #[test]
    fn an_event_that_does_not_fit_leaves_the_chunk_as_it_is() {
        let thread = Thread::new(16, 0);
        (0..6).for_each(|_| assert!(thread.append(&[0xC1, 0x82, 0x03])));
        assert!(!thread.append(&[0x81]));
        assert_eq!(thread.wanted(), 1024);
        assert_eq!(thread.recorded(), [0xC1, 0x82, 0x03].repeat(6));
        thread.chunk.rewind(&thread.control);
        assert!(thread.recorded().is_empty() && !thread.append(&[0x81]));
    }

    #[test]
    fn below_the_limit_there_is_room_for_the_widest_store() {
        for (fill, frames) in [(64, 0), (64, 1000), (65536, 0), (65536, 5000)] {
            let thread = Thread::new(fill, frames);
            let (limit, last) = thread.control.ends();
            assert!(limit - 1 + STORE_BYTES as u64 <= last + 1);
        }
    }

    #[test]
    fn all_frames_can_exit_after_the_limit() {
        for (entry, exit) in [(1, 1), (4, 1), (9, 9), (12, 9)] {
            for open_frames in [0, 1, 2, 3, 10, 5000, 1_000_000] {
                let thread = Thread::with_exits_of(exit, 64, open_frames);
                let mut entered = 0;
                while thread.append(&vec![0x81; entry]) {
                    entered += 1;
                }
                assert!(entered * entry >= 20, "{entered}");
                (0..open_frames + entered).for_each(|_| thread.exit());
                assert!(!thread.chunk.is_overrun(&thread.control), "{entry} {open_frames}");
                let recorded = thread.recorded();
                assert_eq!(recorded.len(), open_frames * exit + entered * (entry + exit));
                assert!(recorded.iter().skip(entered * entry).all(|byte| *byte == 0));
            }
        }
    }

    #[test]
    fn there_is_room_for_events_with_any_number_of_open_frames() {
        let journal = Journal::private().unwrap();
        for exit_bytes in [1, 9] {
            for open_frames in (0..2000).chain([10_000, 100_000]) {
                let shape = Shape { max_fill: 64, exit_bytes, has_stacks: false };
                let state = open_frames % 50;
                let slot = journal.claim(slot_bytes(256, shape, open_frames, state)).unwrap();
                let prepared = Prepared {
                    resume_bytes: state,
                    pending_bytes: Some(0),
                    open_frames,
                    event_bytes: 0,
                };
                let (chunk, _) = Chunk::begin(slot, prepared, shape, &Control::default());
                assert!(chunk.fill_bytes >= 16, "{open_frames}: {}", chunk.fill_bytes);
                journal.give_back(chunk.slot);
            }
        }
    }

    #[test]
    fn exits_without_frames_stop_at_the_last_byte() {
        let thread = Thread::new(64, 0);
        (0..100_000).for_each(|_| thread.exit());
        assert!(thread.chunk.is_overrun(&thread.control));
        assert!(thread.recorded().len() < thread.chunk.slot.bytes());
    }

    #[test]
    fn a_slot_is_zero_when_it_is_given_up() {
        let thread = Thread::new(256, 0);
        (0..50).for_each(|_| assert!(thread.append(&[0xC1, 0x82, 0x03])));
        let position = thread.control.position(Ordering::Relaxed);
        let slot = thread.chunk.into_slot(position);
        assert!(slot.words().iter().skip(5).all(|word| word.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn slots_grow_up_to_twice_a_chunk_and_with_the_stack() {
        let thread = Thread::new(100, 0);
        assert_eq!(thread.wanted(), 256);
        while thread.append(&[0x81]) {}
        assert_eq!(thread.wanted(), 1024);
        let shape = |exit_bytes| Shape { max_fill: 65536, exit_bytes, has_stacks: false };
        assert_eq!(slot_bytes(256, shape(1), 900, 100), 2048);
        assert_eq!(slot_bytes(256, shape(9), 900, 100), 16 * 1024);
        assert_eq!(slot_bytes(usize::MAX, shape(1), 0, 0), 128 * 1024);
    }

    #[test]
    fn a_reader_sees_whole_events_only() {
        let thread = Thread::new(29_976, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| while thread.append(&[0xC1, 0x82, 0x03]) {});
            loop {
                let seen = thread.recorded();
                assert_eq!(seen.len() % 3, 0);
                assert!(seen.chunks(3).all(|event| event == [0xC1, 0x82, 0x03]));
                if seen.len() == 29_976 {
                    break;
                }
            }
        });
    }
}
