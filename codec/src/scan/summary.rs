//! The sums over a sequence of records.

use std::num::NonZeroU64;

use crate::MethodId;
use crate::read::Visit;

/// The sums of consecutive records, and how far the depth moves in them. Nothing here depends on what came
/// before: ranges are read separately, and joined with [`then`](Self::then).
///
/// Depths are relative to that before the first record, and continue below it as if there were infinitely
/// many frames. Sums stop at the largest number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Summary {
    /// Bytes, including those that were skipped as damaged.
    pub bytes: u64,
    /// Method entries.
    pub enters: u64,
    /// Method exits.
    pub exits: u64,
    /// The depth after the last record.
    pub end: i64,
    /// The lowest depth; 0 or less.
    pub lowest: i64,
    /// The highest depth; 0 or more.
    pub highest: i64,
    /// The most by which it rises above an earlier one.
    pub rise: i64,
}

impl Summary {
    /// The summary of this range and the next one together.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        let lifted = |depth: i64| self.end.saturating_add(depth);
        Self {
            bytes: self.bytes.saturating_add(next.bytes),
            enters: self.enters.saturating_add(next.enters),
            exits: self.exits.saturating_add(next.exits),
            end: lifted(next.end),
            lowest: self.lowest.min(lifted(next.lowest)),
            highest: self.highest.max(lifted(next.highest)),
            rise: self.rise.max(next.rise).max(lifted(next.highest).saturating_sub(self.lowest)),
        }
    }

    /// The number of open frames after it, given the number before. A stack has no frames below its bottom:
    /// exits that find none belong to frames entered before recording began.
    #[must_use]
    pub fn frames_after(self, frames: u64) -> u64 {
        // What is entered above the lowest point is open, whatever was open before.
        let above_lowest = self.end.saturating_sub(self.lowest).unsigned_abs();
        frames.saturating_add_signed(self.end).max(above_lowest)
    }

    /// The number of exits that found no frame, given the number of frames before.
    #[must_use]
    pub fn unseen_exits(self, frames: u64) -> u64 {
        self.lowest.unsigned_abs().saturating_sub(frames)
    }

    /// The most frames open at once, given the number before.
    #[must_use]
    pub fn most_frames(self, frames: u64) -> u64 {
        frames.saturating_add_signed(self.highest).max(self.rise.unsigned_abs())
    }

    /// An entry.
    pub(super) fn add_enter(&mut self) {
        self.enters = self.enters.saturating_add(1);
        self.end = self.end.saturating_add(1);
        self.highest = self.highest.max(self.end);
        self.rise = self.rise.max(self.end.saturating_sub(self.lowest));
    }

    /// This many exits.
    pub(super) fn add_exits(&mut self, count: u64) {
        self.exits = self.exits.saturating_add(count);
        self.end = self.end.saturating_sub_unsigned(count);
        self.lowest = self.lowest.min(self.end);
    }
}

/// Counts records that are read in another way, whose length is not known.
impl Visit for Summary {
    fn enter(&mut self, _: MethodId) {
        self.add_enter();
    }

    fn exit(&mut self, count: NonZeroU64) {
        self.add_exits(count.get());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn summary(events: &[i64]) -> Summary {
        let mut summary = Summary::default();
        for &event in events {
            summary.bytes += 1;
            match event {
                0 => summary.add_enter(),
                exits => summary.add_exits(exits.unsigned_abs()),
            }
        }
        summary
    }

    /// Frames after, the fewest, the most, and exits that find none.
    fn stack(events: &[i64], mut frames: u64) -> (u64, u64, u64, u64) {
        let (mut fewest, mut most, mut unseen) = (frames, frames, 0);
        for &event in events {
            if event == 0 {
                frames += 1;
            } else {
                unseen += event.unsigned_abs().saturating_sub(frames);
                frames = frames.saturating_sub(event.unsigned_abs());
            }
            (fewest, most) = (fewest.min(frames), most.max(frames));
        }
        (frames, fewest, most, unseen)
    }

    proptest! {
        #[test]
        fn ranges_joined_are_the_whole(
            events in prop::collection::vec(prop_oneof![3 => Just(0), 2 => 1..4_i64], 0..60),
            cut in 0..60_usize,
            frames in 0..10_u64,
        ) {
            let (one, other) = events.split_at(cut.min(events.len()));
            let whole = summary(&events);
            prop_assert_eq!(summary(one).then(summary(other)), whole);
            prop_assert_eq!(
                (
                    whole.frames_after(frames),
                    frames.saturating_sub(whole.lowest.unsigned_abs()),
                    whole.most_frames(frames),
                    whole.unseen_exits(frames),
                ),
                stack(&events, frames)
            );
        }
    }

    #[test]
    fn runs_without_end_stop_at_the_largest_number() {
        let mut summary = Summary::default();
        for _ in 0..3 {
            summary.add_exits(1 << 63);
        }
        summary.add_enter();
        assert_eq!((summary.exits, summary.frames_after(1 << 40)), (u64::MAX, 1));
    }
}
