//! When the calls of rows began, how long they took, and which exceptions ended them: from the marks of a thread alone.

use std::collections::HashMap;

use flow_codec::Error;
use flow_codec::format::marks::Position;
use flow_codec::index::Place;
use flow_codec::read::{Bounds, Moments, ThreadFile, Unwound, When};
use flow_query::tree::{Node, SelectedTree};

use super::tree::Row;

/// The times of more rows are forgotten.
const KEPT: usize = 1 << 12;
/// Self time is known of calls that made at most this many selected calls directly: their durations are subtracted.
const MOST_CALLEES: usize = 32;

/// What is known of the calls of a row.
#[derive(Clone, Debug)]
pub(super) struct RowTimes {
    pub(super) start: When,
    /// From the start of the first call to the end of the last one.
    pub(super) total: Span,
    /// The same without callees; `None` if it is not added up.
    pub(super) of_self: Option<Span>,
    pub(super) unwound: Option<Unwound>,
}

/// A duration: the estimate, and its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) ns: u64,
    pub(super) bounds: Bounds,
}

/// The times of a thread.
#[derive(Debug)]
pub(super) struct RowClock {
    file: ThreadFile,
    moments: Moments,
    /// The position requested last.
    last: Position,
    /// By the number of the first call of a row, and the number of its calls.
    known: HashMap<(u64, u64), RowTimes>,
}

/// Where calls begin and end.
#[derive(Clone, Copy, Debug)]
struct Extent {
    start: Position,
    end: Position,
    /// Whether they are not left there, but the thread's events end.
    is_open: bool,
}

impl RowClock {
    pub(super) fn new(file: &ThreadFile) -> Self {
        let (moments, last) = (file.moments(), Position::default());
        Self { file: file.clone(), moments, last, known: HashMap::new() }
    }

    /// The times of a row that was [read](Self::read).
    pub(super) fn get(&self, row: &Row) -> Option<&RowTimes> {
        self.known.get(&(row.number(), row.count))
    }

    /// Reads the times of rows, in one pass over the marks.
    pub(super) fn read(&mut self, rows: &[Row], tree: &mut SelectedTree) -> Result<(), Error> {
        if self.known.len() > KEPT {
            self.known.clear();
        }
        let mut extents = Vec::new();
        let mut missing = Vec::new();
        for row in rows.iter().filter(|row| self.get(row).is_none()) {
            let at = extents.len();
            extents.push(Extent::new(&row.node, row.left, tree.whole().end()));
            let callees = callees(row, tree)?;
            let is_known = callees.is_some();
            extents.extend(callees.into_iter().flatten());
            missing.push((row, at..extents.len(), is_known));
        }
        let times = self.times(&extents);
        for (row, of_row, is_known) in missing {
            let of_row = times.get(of_row).and_then(<[_]>::split_first);
            let Some(((start, total, unwound), callees)) = of_row else { continue };
            let of_self =
                is_known.then(|| without(*total, callees.iter().map(|(_, span, _)| *span)));
            let (start, total, unwound) = (*start, *total, unwound.clone());
            let times = RowTimes { start, total, of_self, unwound };
            self.known.insert((row.number(), row.count), times);
        }
        Ok(())
    }

    /// The times of some calls.
    fn times(&mut self, extents: &[Extent]) -> Vec<(When, Span, Option<Unwound>)> {
        let mut found = vec![(When::UNKNOWN, When::UNKNOWN, None); extents.len()];
        let positions = extents.iter().enumerate();
        let positions =
            positions.flat_map(|(at, extent)| [(extent.start, at, false), (extent.end, at, true)]);
        let mut positions: Vec<_> = positions.collect();
        positions.sort_unstable();
        if positions.first().is_some_and(|(first, ..)| *first < self.last) {
            self.moments = self.file.moments();
        }
        for (position, at, is_end) in positions {
            self.last = position;
            let when = self.moments.when(position);
            let Some((start, end, unwound)) = found.get_mut(at) else { continue };
            match is_end {
                true => (*end, *unwound) = (when, self.moments.unwound(position)),
                false => *start = when,
            }
        }
        let times = extents.iter().zip(found).map(|(extent, (start, mut end, unwound))| {
            let (began, ended) = (start.estimate_ns.unwrap_or(0), end.estimate_ns.unwrap_or(0));
            if extent.is_open {
                end.bounds.by_ns = u64::MAX;
            }
            let bounds = start.bounds.until(end.bounds);
            (start, Span { ns: ended.saturating_sub(began), bounds }, unwound)
        });
        times.collect()
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

impl Extent {
    fn new(node: &Node, left: Option<Place>, end_of_thread: Place) -> Self {
        let start = Position::before(node.place.offset);
        let end = match left {
            None => Position::before(end_of_thread.offset),
            Some(place) => {
                // Exits that follow each other are one record: those of its callees come first.
                let exits = place.frames.saturating_sub(node.place.frames.saturating_add(1));
                Position { offset: place.offset, exits }
            }
        };
        Self { start, end, is_open: left.is_none() }
    }
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
        extents.push(Extent::new(&callee, left, end));
    }
    Ok(Some(extents))
}
