//! HOT: what one thread has recorded since it last handed over.
//!
//! Only the owning thread appends and hands over: by [`append`], or by a probe, which does the same in
//! Java. Another thread may read at any instant: it sees the whole events in front of the position it
//! loads. The owner takes another slot under the lock that every reader holds (`ThreadRecorder::out`).
//!
//! A probe that passed its limit just before that was taken away still writes one event, and exits ask
//! for no limit at all: memory that a thread knows stays its own until the thread itself takes other.
//!
//! ```text
//! slot      chunk         limit                                        last
//! ├─ header ─┼─ events ────┤─ exits, of all frames open when it is reached ─┤─ marks ─┤
//! ```
//!
//! How many these can be is known whenever a chunk is handed over: the frames open then, and as many as
//! the next chunk can open.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::atomic::{AtomicU64, Ordering};

use flow_codec::format::journal::{WORD_BYTES, chunk_start};
use flow_codec::write::Tick;

use super::control::Control;
use super::journal::{MIN_SLOT_BYTES, Slot};
use super::ticks::{Ticks, area_bytes};

/// The widest store at a position below the limit: the longest event.
const STORE_BYTES: usize = 16;

/// Each slot of a thread that fills it is followed by one so many times as large.
const GROWTH: usize = 4;

/// A raw chunk: whole events, see [`flow_codec::format::raw`].
#[derive(Debug)]
pub(super) struct Chunk {
    slot: Slot,
    /// Where the events begin in the slot.
    start: usize,
    /// Where the limit is, from there.
    fill_bytes: usize,
    /// Bytes of the slot that are for marks.
    marks_bytes: usize,
    ticks: Ticks,
}

/// What a slot is prepared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prepared {
    /// Bytes of the state of the fold.
    pub(super) resume_bytes: usize,
    /// Bytes of the marks that are pending, where there may be marks.
    pub(super) pending_bytes: Option<usize>,
    /// Frames of the thread that are open.
    pub(super) open_frames: usize,
}

impl Chunk {
    /// Makes `control` tell of a slot that has been prepared.
    pub(super) fn begin(
        slot: Slot,
        prepared: Prepared,
        max_fill: usize,
        control: &Control,
    ) -> Self {
        let start = chunk_start(prepared.resume_bytes);
        let marks_bytes = prepared.pending_bytes.map_or(0, |_| area_bytes(slot.bytes()));
        let ticks = Ticks::begin(&slot, prepared.pending_bytes);
        let end = slot.bytes() - marks_bytes;
        let for_events = end.saturating_sub(start + STORE_BYTES + prepared.open_frames);
        let fill_bytes = (for_events / 2).min(max_fill);
        let first = slot.address() + start as u64;
        let last = slot.address() + end as u64 - 1;
        control.last.store(last, Ordering::Relaxed);
        control.position.store(first, Ordering::Release);
        control.limit.store(first + fill_bytes as u64, Ordering::SeqCst);
        Self { slot, start, fill_bytes, marks_bytes, ticks }
    }

    /// Notes that the owner was seen where `control` says; `None` where that is not in this chunk. Answers
    /// whether there is room for more.
    pub(super) fn tick(&mut self, position: u64, by_ns: u64, from_ns: u64) -> Option<bool> {
        let first = self.slot.address() + self.start as u64;
        if !(first..first + self.slot.bytes() as u64).contains(&position) {
            return None;
        }
        let bytes = self.len(position);
        self.ticks.push(&self.slot, Tick { bytes, by_ns, from_ns });
        Some(!self.ticks.is_full())
    }

    /// Notes that the owner was still where the last tick saw it.
    pub(super) fn prolong_tick(&self, from_ns: u64) {
        self.ticks.prolong(&self.slot, from_ns);
    }

    /// The ticks so far.
    pub(super) fn copy_ticks(&self, ticks: &mut Vec<Tick>) {
        self.ticks.copy_to(&self.slot, ticks);
    }

    /// A copy of the events so far.
    pub(super) fn copy_to(&self, control: &Control, bytes: &mut Vec<u8>) {
        // Pairs with the store in `append`. A probe's stores are plain ones, which x86 keeps in order;
        // elsewhere the newest event may be read before its bytes are there.
        let len = self.len(control.position.load(Ordering::Acquire));
        let words = self.slot.words().get(self.start / WORD_BYTES..).unwrap_or_default();
        let words = words.get(..len.div_ceil(WORD_BYTES)).unwrap_or_default();
        bytes.clear();
        bytes.reserve(words.len() * WORD_BYTES);
        for word in words {
            bytes.extend_from_slice(&(!word.load(Ordering::Relaxed)).to_ne_bytes());
        }
        bytes.truncate(len);
    }

    /// Whether exits may be missing: more followed each other than there was space for.
    pub(super) fn is_overrun(&self, control: &Control) -> bool {
        let end = self.slot.bytes() - self.marks_bytes;
        self.len(control.position.load(Ordering::Relaxed)) + self.start + 1 == end
    }

    /// Takes back what was recorded. For the owner, which has handed it over.
    pub(super) fn rewind(&self, control: &Control) {
        control.limit.store(0, Ordering::SeqCst);
        control.position.store(self.slot.address() + self.start as u64, Ordering::Release);
    }

    /// The slot; how long the chunk is stands in `position`, from before the next one has begun.
    pub(super) fn slot(&self) -> &Slot {
        &self.slot
    }

    /// Gives up the slot, zero up to the position the thread was at.
    pub(super) fn into_slot(self, position: u64) -> Slot {
        self.slot.clear(self.start + self.len(position) + STORE_BYTES, self.marks_bytes);
        self.slot
    }

    /// How large the next slot should be: that of a thread which filled this one, larger.
    pub(super) fn wanted_bytes(&self, position: u64) -> usize {
        let now = self.slot.bytes();
        let is_full =
            self.len(position) >= self.fill_bytes || self.marks_bytes > 0 && self.ticks.is_full();
        if is_full { now.saturating_mul(GROWTH) } else { now }
    }

    /// How far a position is behind the start; 0 for one that is not in this slot.
    #[inline]
    fn len(&self, position: u64) -> usize {
        let first = self.slot.address() + self.start as u64;
        let len = usize::try_from(position.wrapping_sub(first)).unwrap_or_default();
        if len < self.slot.bytes() { len } else { 0 }
    }
}

/// The size of a slot for a thread which would like so many bytes, some of which are taken: for the exits
/// of frames that are open, and for the state of the fold.
pub(super) fn slot_bytes(wanted: usize, max_fill: usize, taken: usize) -> usize {
    let largest = (2 * max_fill).next_power_of_two().max(MIN_SLOT_BYTES);
    let bytes = wanted.clamp(MIN_SLOT_BYTES, largest);
    // They fit in, but where the stack is deep.
    (bytes + taken.saturating_sub(bytes / 4)).next_power_of_two()
}

/// Appends a whole event where `control` says; `false` when there is no room for it, or the owner's
/// attention is called. `words` is the memory of all chunks.
#[inline]
pub(super) fn append(words: &[AtomicU64], control: &Control, event: &[u8]) -> bool {
    let position = control.position.load(Ordering::Relaxed);
    if position >= control.limit.load(Ordering::Relaxed) {
        return false;
    }
    let first = words.as_ptr().expose_provenance() as u64;
    let at = usize::try_from(position.wrapping_sub(first)).unwrap_or(usize::MAX);
    for (at, byte) in (at..).zip(event) {
        put(words, at, *byte);
    }
    // Pairs with the load in `copy_to`: who sees the position sees the event.
    control.position.store(position + event.len() as u64, Ordering::Release);
    true
}

/// Stores the complement of a byte. Only the owner writes, so nothing comes between the load and the
/// store.
#[inline]
fn put(words: &[AtomicU64], at: usize, byte: u8) {
    if let Some(word) = words.get(at / WORD_BYTES) {
        let mut bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        if let Some(place) = bytes.get_mut(at % WORD_BYTES) {
            *place = !byte;
        }
        word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::journal::Journal;
    use super::*;

    struct Thread {
        journal: Journal,
        control: Control,
        chunk: Chunk,
    }

    impl Thread {
        /// With room for this many bytes of events.
        fn new(fill: usize, open_frames: usize) -> Self {
            let (journal, control) = (Journal::private().unwrap(), Control::default());
            let slot = journal.claim(slot_bytes(2 * fill, fill, open_frames)).unwrap();
            let prepared = Prepared { resume_bytes: 0, pending_bytes: None, open_frames };
            let chunk = Chunk::begin(slot, prepared, fill, &control);
            Self { journal, control, chunk }
        }

        fn append(&self, event: &[u8]) -> bool {
            append(self.journal.words(), &self.control, event)
        }

        /// What the exit probe does.
        fn exit(&self) {
            let Control { position, last, .. } = &self.control;
            let at = position.load(Ordering::Relaxed);
            let words = self.chunk.slot.words();
            put(words, usize::try_from(at - self.chunk.slot.address()).unwrap(), 0);
            let moves = u64::from(at < last.load(Ordering::Relaxed));
            position.store(at + moves, Ordering::Relaxed);
        }

        fn wanted(&self) -> usize {
            self.chunk.wanted_bytes(self.control.position.load(Ordering::Relaxed))
        }

        fn recorded(&self) -> Vec<u8> {
            let mut bytes = vec![1, 2, 3];
            self.chunk.copy_to(&self.control, &mut bytes);
            bytes
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
            let Control { limit, last, .. } = &thread.control;
            let (limit, last) = (limit.load(Ordering::Relaxed), last.load(Ordering::Relaxed));
            assert!(limit - 1 + STORE_BYTES as u64 <= last + 1);
        }
    }

    #[test]
    fn all_frames_can_exit_behind_the_limit() {
        for open_frames in [0, 10, 5000, 1_000_000] {
            let thread = Thread::new(64, open_frames);
            let mut entered = 0;
            while thread.append(&[0x81]) {
                entered += 1;
            }
            assert!(entered >= 48, "{entered}");
            (0..open_frames + entered).for_each(|_| thread.exit());
            assert!(!thread.chunk.is_overrun(&thread.control));
            let recorded = thread.recorded();
            assert_eq!(recorded.len(), open_frames + 2 * entered);
            assert!(recorded.iter().skip(entered).all(|byte| *byte == 0));
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
        let position = thread.control.position.load(Ordering::Relaxed);
        let slot = thread.chunk.into_slot(position);
        assert!(slot.words().iter().skip(5).all(|word| word.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn slots_grow_up_to_twice_a_chunk_and_with_the_stack() {
        let thread = Thread::new(100, 0);
        assert_eq!(thread.wanted(), 256);
        while thread.append(&[0x81]) {}
        assert_eq!(thread.wanted(), 1024);
        assert_eq!(slot_bytes(256, 65536, 1000), 2048);
        assert_eq!(slot_bytes(usize::MAX, 65536, 0), 128 * 1024);
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
