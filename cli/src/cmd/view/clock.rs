//! When the calls of rows began, how long they took, and which exceptions ended them: from the marks of a thread alone.

use std::collections::HashMap;

use flow_codec::Error;
use flow_codec::read::{Bounds, CallTimes, ThreadFile};
use flow_query::reading::{CallClock, Extent};
use flow_query::tree::SelectedTree;

use super::tree::Row;

/// The times of more rows are forgotten.
const KEPT: usize = 1 << 12;
/// Self time is known of calls that made at most this many selected calls directly: their durations are subtracted.
const MOST_CALLEES: usize = 32;

/// What is known of the calls of a row.
#[derive(Clone, Debug)]
pub(super) struct RowTimes {
    /// From the start of the first call to the end of the last one.
    pub(super) all: CallTimes,
    /// The same without callees; `None` if it is not added up.
    pub(super) of_self: Option<Span>,
}

impl RowTimes {
    /// The duration with callees.
    pub(super) fn total(&self) -> Span {
        Span::of(&self.all)
    }
}

/// A duration: the estimate, and its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) ns: u64,
    pub(super) bounds: Bounds,
}

impl Span {
    fn of(times: &CallTimes) -> Self {
        Self { ns: times.duration_ns, bounds: times.duration }
    }
}

/// The times of rows, as far as they were read.
#[derive(Debug)]
pub(super) struct TimesOfRows {
    clock: CallClock,
    /// By the number of the first call of a row, and the number of its calls.
    known: HashMap<(u64, u64), RowTimes>,
}

impl TimesOfRows {
    pub(super) fn new(file: &ThreadFile) -> Self {
        Self { clock: CallClock::new(file), known: HashMap::new() }
    }

    /// The times of a row that was [read](Self::read).
    pub(super) fn get(&self, row: &Row) -> Option<&RowTimes> {
        self.known.get(&(row.number(), row.count))
    }

    /// Reads the times of rows, in one pass over the marks.
    pub(super) fn read<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r Row>,
        tree: &mut SelectedTree,
    ) -> Result<(), Error> {
        if self.known.len() > KEPT {
            self.known.clear();
        }
        let mut extents = Vec::new();
        let mut missing = Vec::new();
        for row in rows.filter(|row| self.get(row).is_none()) {
            let at = extents.len();
            extents.push(Extent::of(&row.node, row.left, tree.whole().end()));
            let callees = callees(row, tree)?;
            let is_known = callees.is_some();
            extents.extend(callees.into_iter().flatten());
            missing.push((row, at..extents.len(), is_known));
        }
        let times = self.clock.times(extents);
        for (row, of_row, is_known) in missing {
            let of_row = times.get(of_row).and_then(<[_]>::split_first);
            let Some((all, callees)) = of_row else { continue };
            let of_self = is_known.then(|| without(Span::of(all), callees.iter().map(Span::of)));
            let times = RowTimes { all: all.clone(), of_self };
            self.known.insert((row.number(), row.count), times);
        }
        Ok(())
    }
}

/// A duration without those of callees.
fn without(total: Span, callees: impl Iterator<Item = Span>) -> Span {
    callees.fold(total, |rest, callee| {
        let Bounds { from_ns, by_ns } = callee.bounds;
        let bounds = Bounds {
            from_ns: rest.bounds.from_ns.saturating_sub(by_ns),
            by_ns: match rest.bounds.by_ns {
                u64::MAX => u64::MAX,
                ns => ns.saturating_sub(from_ns),
            },
        };
        Span { ns: rest.ns.saturating_sub(callee.ns), bounds }
    })
}

/// Where the selected callees of a row begin and end; `None` if they are too many, or those of several calls.
fn callees(row: &Row, tree: &mut SelectedTree) -> Result<Option<Vec<Extent>>, Error> {
    if !row.has_callees() {
        return Ok(Some(Vec::new()));
    }
    if row.count > 1 {
        return Ok(None);
    }
    let callees = tree.children(Some(&row.node), MOST_CALLEES + 1)?;
    if callees.len() > MOST_CALLEES {
        return Ok(None);
    }
    let (end, mut extents) = (tree.whole().end(), Vec::with_capacity(callees.len()));
    for callee in callees {
        let left = tree.whole().subtree(&callee)?.left;
        extents.push(Extent::of(&callee, left, end));
    }
    Ok(Some(extents))
}
