//! A list on the screen: threads, tests, or callers and callees.

use flow_codec::{MethodId, Offset, ThreadId};

/// Where a row of a list leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// A thread, by its place among all of them.
    Thread(usize),
    /// The place in a thread at which a test began; by the place of the trace.
    Test(usize, ThreadId, Offset),
    /// The calls of a method.
    Method(MethodId),
    /// Nowhere: a heading.
    Nothing,
}

/// A list of which one row is chosen.
#[derive(Clone, Default, Debug)]
pub(super) struct List {
    /// The titles of the columns.
    pub(super) header: String,
    pub(super) rows: Vec<(String, Target)>,
    pub(super) chosen: usize,
}

impl List {
    pub(super) fn target(&self) -> Target {
        self.rows.get(self.chosen).map_or(Target::Nothing, |(_, target)| *target)
    }

    pub(super) fn move_by(&mut self, rows: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(rows).min(last);
    }

    /// The first row on a screen of this height.
    pub(super) fn top(&self, height: usize) -> usize {
        let last_top = self.rows.len().saturating_sub(height);
        self.chosen.saturating_sub(height / 2).min(last_top)
    }
}
