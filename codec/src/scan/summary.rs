//! What a stretch of records adds up to.

/// The events of some records in a row, and how far depth goes meanwhile. Nothing of it depends on what
/// came before: stretches are read apart, and put together with [`then`](Self::then).
///
/// Depths are relative to that before the first record, and go on below it as if there were frames
/// without end. Sums stop at the largest number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Summary {
    /// Bytes, those that were left out as damaged included.
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
    /// This stretch and the next one as one.
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

    /// Entries and exits.
    #[must_use]
    pub fn events(self) -> u64 {
        self.enters.saturating_add(self.exits)
    }

    /// The frames open after it, where so many were open before. A stack has no frames below its bottom:
    /// exits that find none are of frames entered before recording began.
    #[must_use]
    pub fn frames_after(self, frames: u64) -> u64 {
        // What is entered above the lowest point is there whatever was before.
        let above_lowest = self.end.saturating_sub(self.lowest).unsigned_abs();
        frames.saturating_add_signed(self.end).max(above_lowest)
    }

    /// Exits that found no frame, where so many were open before.
    #[must_use]
    pub fn unseen_exits(self, frames: u64) -> u64 {
        self.lowest.unsigned_abs().saturating_sub(frames)
    }

    /// The fewest frames open at once, where so many were before.
    #[must_use]
    pub fn fewest_frames(self, frames: u64) -> u64 {
        frames.saturating_sub(self.lowest.unsigned_abs())
    }

    /// The most frames open at once, where so many were before.
    #[must_use]
    pub fn most_frames(self, frames: u64) -> u64 {
        frames.saturating_add_signed(self.highest).max(self.rise.unsigned_abs())
    }

    /// An entry of so many bytes.
    pub(super) fn enter(&mut self) {
        self.enters = self.enters.saturating_add(1);
        self.end = self.end.saturating_add(1);
        self.highest = self.highest.max(self.end);
        self.rise = self.rise.max(self.end.saturating_sub(self.lowest));
    }

    /// So many exits.
    pub(super) fn exit(&mut self, count: u64) {
        self.exits = self.exits.saturating_add(count);
        self.end = self.end.saturating_sub_unsigned(count);
        self.lowest = self.lowest.min(self.end);
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
                0 => summary.enter(),
                exits => summary.exit(exits.unsigned_abs()),
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
        fn stretches_put_together_are_the_whole(
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
                    whole.fewest_frames(frames),
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
            summary.exit(1 << 63);
        }
        summary.enter();
        assert_eq!((summary.exits, summary.frames_after(1 << 40)), (u64::MAX, 1));
    }
}
