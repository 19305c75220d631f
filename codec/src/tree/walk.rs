//! One thread's records as steps with a depth.

use std::num::NonZeroU64;

use crate::format::flow::Record;
use crate::read::{ReadRecords, Tail};
use crate::{Depth, MethodId, Offset, Result};

/// One step of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A method was entered.
    Enter {
        /// Where the record begins.
        offset: Offset,
        /// Frames below the new one.
        depth: Depth,
        /// The method.
        method: MethodId,
    },
    /// The topmost frame was left.
    Exit {
        /// Where the record of the exit run begins.
        offset: Offset,
        /// Frames below the one that was left.
        depth: Depth,
        /// Its method.
        method: MethodId,
    },
    /// Frames were left that had been entered before recording began.
    ExitUnseen {
        /// Where the record of the exit run begins.
        offset: Offset,
        /// How many.
        count: NonZeroU64,
    },
}

/// What a walk has seen so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WalkTotals {
    /// Method entries.
    pub enters: u64,
    /// Method exits, those of unseen frames included.
    pub exits: u64,
    /// Exits of frames that had been entered before recording began.
    pub unseen_exits: u64,
    /// The most frames that were open at once.
    pub max_frames: u64,
}

/// Walks the calls of one thread in order. Memory: one id for each open frame.
#[derive(Debug)]
pub struct Walk<R> {
    records: R,
    open: Vec<MethodId>,
    /// What is left of the exit run being handed out, and where it stands.
    run: Option<(Offset, NonZeroU64)>,
    totals: WalkTotals,
}

impl<R: ReadRecords> Walk<R> {
    /// Starts before the first record.
    pub fn new(records: R) -> Self {
        Self { records, open: Vec::new(), run: None, totals: WalkTotals::default() }
    }

    /// Starts in the middle, where these frames are open, the outermost first. Totals count from there.
    pub fn going_on(records: R, open: Vec<MethodId>) -> Self {
        let totals = WalkTotals { max_frames: open.len() as u64, ..WalkTotals::default() };
        Self { records, open, run: None, totals }
    }

    /// The next step, or `None` at the end.
    ///
    /// # Errors
    /// The records cannot be read; the steps so far are sound.
    pub fn next_step(&mut self) -> Result<Option<Step>> {
        if let Some((offset, left)) = self.run.take() {
            return Ok(Some(self.exit(offset, left)));
        }
        Ok(match self.records.next_record()? {
            Some((offset, Record::Enter(method))) => {
                let depth = Depth::new(self.open.len() as u64);
                self.open.push(method);
                self.totals.enters += 1;
                self.totals.max_frames = self.totals.max_frames.max(self.open.len() as u64);
                Some(Step::Enter { offset, depth, method })
            }
            Some((offset, Record::Exit(count))) => Some(self.exit(offset, count)),
            None => None,
        })
    }

    /// Leaves one frame of the run, or all that is left of it when no frame is open.
    fn exit(&mut self, offset: Offset, left: NonZeroU64) -> Step {
        if let Some(method) = self.open.pop() {
            self.run = NonZeroU64::new(left.get() - 1).map(|left| (offset, left));
            self.totals.exits = self.totals.exits.saturating_add(1);
            return Step::Exit { offset, depth: Depth::new(self.open.len() as u64), method };
        }
        self.totals.exits = self.totals.exits.saturating_add(left.get());
        self.totals.unseen_exits = self.totals.unseen_exits.saturating_add(left.get());
        Step::ExitUnseen { offset, count: left }
    }

    /// The frames open now, the outermost first.
    pub fn open_frames(&self) -> &[MethodId] {
        &self.open
    }

    /// What has been seen so far.
    pub fn totals(&self) -> WalkTotals {
        self.totals
    }

    /// How the records ended, once [`next_step`](Self::next_step) has returned `None`.
    pub fn tail(&self) -> Tail {
        self.records.tail()
    }

    /// Records so far that flow would have written otherwise.
    pub fn non_canonical(&self) -> u64 {
        self.records.non_canonical()
    }

    /// How far the records have been read.
    pub fn position(&self) -> Offset {
        self.records.position()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::FlowReader;

    fn walk(bytes: &[u8]) -> (Vec<String>, WalkTotals, usize) {
        let mut walk = Walk::new(FlowReader::new(bytes));
        let mut lines = Vec::new();
        while let Some(step) = walk.next_step().unwrap() {
            lines.push(match step {
                Step::Enter { depth, method, .. } => format!("{}>{method}", depth.get()),
                Step::Exit { depth, method, .. } => format!("{}<{method}", depth.get()),
                Step::ExitUnseen { count, .. } => format!("?{count}"),
            });
        }
        (lines, walk.totals(), walk.open_frames().len())
    }

    #[test]
    fn exits_close_the_frames_above_first() {
        let (lines, totals, open) = walk(&[0x81, 0x82, 0x01, 0x83]);
        assert_eq!(lines, ["0>1", "1>2", "1<2", "0<1", "0>3"]);
        assert_eq!((totals.enters, totals.exits, totals.max_frames, open), (3, 2, 2, 1));
    }

    #[test]
    fn exits_without_enters_are_told_apart_and_cost_no_time() {
        let mut bytes = vec![0x81];
        bytes.extend_from_slice(
            crate::format::flow::Encoded::exits(NonZeroU64::new(1 << 62).unwrap()).as_bytes(),
        );
        let (lines, totals, _) = walk(&bytes);
        assert_eq!(lines, ["0>1".to_owned(), "0<1".to_owned(), format!("?{}", (1_u64 << 62) - 1)]);
        assert_eq!(totals.exits, 1 << 62);
    }
}
