//! Which test made a call.

use std::ops::Range;

use flow_codec::ThreadId;
use flow_codec::format::marks::Position;

use super::Runs;
use crate::args::FindArgs;

/// The tests of a thread.
pub(super) struct TestsOf<'a> {
    args: &'a FindArgs,
    runs: &'a Runs,
    /// The ranges of its tests in order, each with the index of its test.
    ranges: Vec<(Range<Position>, usize)>,
    /// The test whose helper it is.
    helped: Option<usize>,
}

impl<'a> TestsOf<'a> {
    pub(super) fn new(args: &'a FindArgs, thread: ThreadId, runs: &'a Runs) -> Self {
        let mut ranges: Vec<_> = runs
            .iter()
            .enumerate()
            .filter(|(_, run)| run.thread == thread)
            .flat_map(|(index, run)| run.ranges.iter().map(move |range| (range.clone(), index)))
            .collect();
        ranges.sort_by_key(|(range, _)| range.start);
        let helped = runs.iter().position(|run| run.helpers.contains(&thread));
        Self { args, runs, ranges, helped }
    }

    /// The index of the test that made the call at a position.
    pub(super) fn at(&self, position: Position) -> Option<usize> {
        let after = self.ranges.partition_point(|(range, _)| range.start <= position);
        let before = after.checked_sub(1).and_then(|before| self.ranges.get(before));
        let found = before.filter(|(range, _)| position < range.end).map(|(_, index)| *index);
        found.or(self.helped)
    }

    /// Returns whether a test is selected.
    pub(super) fn is_selected(&self, test: usize) -> bool {
        self.runs.get(test).is_some_and(|run| self.args.tests.include(&run.name))
    }
}
