//! HOT: the end of a slot, which holds marks and samples.
//!
//! The marks are those of earlier chunks that no file has yet. The samples are of this chunk: how far the
//! thread had come at some instants. [`flow_codec::format::journal`] specifies the bytes. Those of positions alone are
//! stored under a lock that readers hold too (`ThreadRecorder::samples`), so only a reader after a kill sees them half
//! done. That lock is not the one of the output: while a part of the chunk is encoded or written, its thread is sampled as
//! always. If stacks are sampled, the last places are for those: signal handlers store them (`sys/probes/control.rs`), their place
//! last, so that a reader sees whole ones.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use flow_codec::format::journal::{
    MARKS_HEADER_BYTES, Placed, SAMPLE_WORDS, WORD_BYTES, placed, sample_place,
};
use flow_codec::write::{Sample, SampleKind};

use super::journal::{MIN_AREA_BYTES, Slot, area_bytes};
use crate::certain::Certain as _;

/// The share of the places that is for stacks.
const STACKS_SHARE: usize = 4;

/// How many bytes of pending marks a slot takes at most: the rest is for samples.
pub(in crate::recorder) fn pending_room(slot_bytes: usize) -> usize {
    (area_bytes(slot_bytes) - MIN_AREA_BYTES) / 2
}

/// The samples of one chunk.
#[derive(Debug)]
pub(in crate::recorder) struct Samples {
    /// The words of the slot, and where in it the events begin, in bytes.
    words: &'static [AtomicU64],
    start: usize,
    /// Whether the last sample has been taken: the thread is about to leave the chunk.
    are_complete: bool,
    /// The word of the slot that holds the first sample.
    first: usize,
    count: usize,
    room: usize,
    /// How many places follow for stacks, if stacks are sampled.
    stacks: Option<usize>,
}

impl Samples {
    /// Begins the samples of a slot whose events begin at `start`, and that was prepared with `pending` bytes of pending marks,
    /// or without marks.
    pub(in crate::recorder) fn begin(
        slot: &Slot,
        start: usize,
        pending: Option<usize>,
        has_stacks: bool,
    ) -> Self {
        let (slot_words, words) = (slot.words(), slot.words().len());
        let none = Self {
            words: slot_words,
            start,
            are_complete: false,
            first: words,
            count: 0,
            room: 0,
            stacks: None,
        };
        let Some(pending) = pending else { return none };
        let area = area_bytes(slot.bytes()) - MARKS_HEADER_BYTES;
        let left = area.saturating_sub(pending.next_multiple_of(WORD_BYTES)) / WORD_BYTES;
        let room = left / SAMPLE_WORDS;
        let stacks = has_stacks.then_some(room / STACKS_SHARE);
        let room = room - stacks.unwrap_or_default();
        Self { first: words - left, room, stacks, ..none }
    }

    /// The first word of the places for stacks, and how many there are.
    pub(in crate::recorder) fn stacks(&self) -> (usize, usize) {
        (self.first + self.room * SAMPLE_WORDS, self.stacks.unwrap_or_default())
    }

    /// Returns whether there is no room for another position with a stack.
    pub(in crate::recorder) fn is_full_of_stacks(&self) -> bool {
        let last = self.stacks.map(|stacks| stacks.checked_sub(1));
        last.is_some_and(|last| last.is_none_or(|last| self.load(self.room + last, 0) != 0))
    }

    /// Adds a sample of the owner, which was at this position; `None` if that is not in this chunk. Returns whether there is
    /// room for another sample.
    pub(in crate::recorder) fn add(&mut self, position: u64, sample: Sample) -> Option<bool> {
        let slot = self.words.as_ptr().expose_provenance() as u64;
        let bytes = usize::try_from(position.checked_sub(slot + self.start as u64)?).ok()?;
        if bytes >= self.words.len() * WORD_BYTES {
            return None;
        }
        self.push(Sample { bytes, ..sample });
        Some(!self.is_full())
    }

    /// Records that the last sample has been taken.
    pub(in crate::recorder) fn complete(&mut self) {
        self.are_complete = true;
    }

    /// Returns whether the last sample has been taken.
    pub(in crate::recorder) fn are_complete(&self) -> bool {
        self.are_complete
    }

    /// Adds a sample. If there is no room, it replaces the last one: that of a thread which was called to
    /// hand over and has not come yet.
    fn push(&mut self, mut sample: Sample) {
        if self.room == 0 {
            return;
        }
        if self.count == self.room {
            self.count -= 1;
            let replaced = placed(self.load(self.count, 0));
            if let SampleKind::Time { ran_us: Some(us) } = &mut sample.kind {
                let replaced_us = replaced.and_then(|replaced| replaced.ran_us);
                *us = us.saturating_add(replaced_us.unwrap_or(0));
            }
            // A mixture of two samples would be wrong.
            self.store(self.count, 0, 0);
        }
        self.store(self.count, 2, sample.from_ns);
        self.store(self.count, 1, sample.by_ns);
        let ran_us = match sample.kind {
            SampleKind::Time { ran_us } => ran_us,
            SampleKind::Stacks => None,
        };
        self.store(self.count, 0, sample_place(sample.bytes, ran_us));
        self.count += 1;
    }

    /// Adds a sample of the same position as the last one: how long the thread ran there, up to the beginning of a time during
    /// which it was still there. Returns whether there is room for it and another one.
    pub(in crate::recorder) fn push_stay(&mut self, stayed_ns: Range<u64>, ran_us: u32) -> bool {
        let last = self.count.checked_sub(1).and_then(|last| self.at(last));
        let Some(last) = last.filter(|_| self.count + 2 < self.room) else { return false };
        let Range { start: by_ns, end } = stayed_ns;
        self.prolong(by_ns);
        let kind = SampleKind::Time { ran_us: Some(ran_us) };
        self.push(Sample { bytes: last.bytes, by_ns, from_ns: end.max(by_ns), kind });
        true
    }

    /// Records that the thread was still at the position of the last sample.
    pub(in crate::recorder) fn prolong(&self, from_ns: u64) {
        if let Some(last) = self.count.checked_sub(1)
            && self.load(last, 2) < from_ns
        {
            self.store(last, 2, from_ns);
        }
    }

    /// Returns whether the thread should hand over: there is room for at most one more sample.
    pub(in crate::recorder) fn is_full(&self) -> bool {
        self.count + 1 >= self.room
    }

    /// Returns whether the next sample may replace the last one.
    pub(in crate::recorder) fn replaces_last(&self) -> bool {
        self.room > 0 && self.is_full()
    }

    /// Copies all samples of positions alone, in order.
    pub(in crate::recorder) fn copy_to(&self, samples: &mut Vec<Sample>) {
        samples.clear();
        samples.extend((0..self.count).filter_map(|number| self.at(number)));
    }

    /// Adds the positions of stacks, in order.
    pub(in crate::recorder) fn add_stacks_to(&self, samples: &mut Vec<Sample>) {
        let Some(stacks) = self.stacks else { return };
        let numbers = self.room..self.room + stacks;
        samples.extend(numbers.map_while(|number| self.at(number)));
        samples.sort_unstable_by_key(|sample| (sample.bytes, sample.by_ns, sample.kind));
    }

    fn at(&self, number: usize) -> Option<Sample> {
        // Pairs with the store of the place, which comes last.
        let place = self.words.get(self.first + number * SAMPLE_WORDS)?;
        let place = u64::from_le(place.load(Ordering::Acquire));
        let Placed { bytes, is_stacks, ran_us } = placed(place)?;
        let (by_ns, from_ns) = (self.load(number, 1), self.load(number, 2));
        let kind = if is_stacks { SampleKind::Stacks } else { SampleKind::Time { ran_us } };
        Some(Sample { bytes, by_ns, from_ns, kind })
    }

    fn store(&self, number: usize, word: usize, value: u64) {
        let place = self.words.get(self.first + number * SAMPLE_WORDS + word);
        debug_assert!(place.is_some(), "{self:?}");
        if let Some(place) = place {
            // A reader that sees this store sees those before it.
            place.store(value.to_le(), Ordering::Release);
        }
    }

    fn load(&self, number: usize, word: usize) -> u64 {
        let place = self.words.get(self.first + number * SAMPLE_WORDS + word);
        place.map(|place| u64::from_le(place.load(Ordering::Relaxed))).certain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::memory::journal::Journal;
    use crate::sys::Control;

    fn sample(bytes: usize, at_ns: u64) -> Sample {
        let kind = SampleKind::Time { ran_us: Some(3) };
        Sample { bytes, by_ns: at_ns, from_ns: at_ns, kind }
    }

    fn all(samples: &Samples) -> Vec<Sample> {
        let mut copied = vec![sample(99, 99)];
        samples.copy_to(&mut copied);
        copied
    }

    #[test]
    fn without_room_a_sample_replaces_the_last_one() {
        let journal = Journal::private().unwrap();
        let slot = journal.claim(256).unwrap();
        let mut samples = Samples::begin(&slot, 40, Some(0), false);
        for number in 0..5 {
            assert_eq!(samples.is_full(), number >= 2);
            samples.push(sample(number, 10 + number as u64));
        }
        assert_eq!(
            all(&samples),
            [
                sample(0, 10),
                sample(1, 11),
                Sample { kind: SampleKind::Time { ran_us: Some(9) }, ..sample(4, 14) }
            ]
        );
        let last = slot.words().last().unwrap().load(Ordering::Relaxed);
        assert_eq!(last, 14, "up to the end of the slot");
    }

    #[test]
    fn what_a_thread_ran_where_it_stayed_is_a_sample_of_the_same_position() {
        let journal = Journal::private().unwrap();
        let slot = journal.claim(4096).unwrap();
        let mut samples = Samples::begin(&slot, 40, Some(0), false);
        assert!(!samples.push_stay(5..9, 7), "there is no position yet");
        samples.push(sample(1, 10));
        assert!(samples.push_stay(20..30, 7));
        let kind = SampleKind::Time { ran_us: Some(7) };
        let stay = Sample { bytes: 1, by_ns: 20, from_ns: 30, kind };
        assert_eq!(all(&samples), [Sample { from_ns: 20, ..sample(1, 10) }, stay]);

        let slot = journal.claim(256).unwrap();
        let mut samples = Samples::begin(&slot, 40, Some(0), false);
        samples.push(sample(1, 10));
        assert!(!samples.push_stay(20..30, 7), "there are places for other positions only");
        assert_eq!(all(&samples), [sample(1, 10)]);
    }

    #[test]
    fn a_thread_that_stays_prolongs_its_last_sample() {
        let journal = Journal::private().unwrap();
        let slot = journal.claim(256).unwrap();
        let mut samples = Samples::begin(&slot, 40, Some(0), false);
        samples.prolong(5);
        samples.push(sample(1, 10));
        samples.prolong(30);
        samples.prolong(20);
        assert_eq!(all(&samples), [Sample { from_ns: 30, ..sample(1, 10) }]);
    }

    #[test]
    fn pending_marks_leave_room_for_samples() {
        let journal = Journal::private().unwrap();
        for bytes in [256, 1024, 65536, 1 << 20] {
            let slot = journal.claim(bytes).unwrap();
            for has_stacks in [false, true] {
                let samples = Samples::begin(&slot, 40, Some(pending_room(bytes)), has_stacks);
                let (first, stacks) = samples.stacks();
                assert!(samples.room >= 3 && first * 8 + stacks * 24 <= bytes, "{samples:?}");
                assert_eq!(samples.is_full_of_stacks(), has_stacks && stacks == 0);
            }
        }
        let none = Samples::begin(&journal.claim(256).unwrap(), 40, None, true);
        assert_eq!((none.room, none.is_full(), none.stacks().1), (0, true, 0));
    }

    #[test]
    fn positions_of_stacks_are_between_the_others() {
        let (journal, control) = (Journal::private().unwrap(), Control::default());
        let slot = journal.claim(4096).unwrap();
        let mut samples = Samples::begin(&slot, 40, Some(0), true);
        let (first, room) = samples.stacks();
        assert!(room >= 3, "{room}");
        control.begin_stacks(0, slot.address() + (first * WORD_BYTES) as u64, room);
        let stacks =
            |bytes: usize, at_ns| Sample { kind: SampleKind::Stacks, ..sample(bytes, at_ns) };
        samples.push(sample(2, 10));
        samples.push(sample(9, 30));
        control.put_stacks(9, 20, 25);
        control.put_stacks(4, 12, 12);
        let mut copied = all(&samples);
        assert_eq!(copied, [sample(2, 10), sample(9, 30)]);
        samples.add_stacks_to(&mut copied);
        let long = Sample { from_ns: 25, ..stacks(9, 20) };
        assert_eq!(copied, [sample(2, 10), stacks(4, 12), long, sample(9, 30)]);
        assert!(!samples.is_full_of_stacks());
        (0..room as u64).for_each(|number| control.put_stacks(number + 20, 50, 50));
        assert!(samples.is_full_of_stacks());
    }
}
