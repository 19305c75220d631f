//! The times of calls whose positions are known.

use crate::dag::Occurrence;
use crate::tree::Node;
use flow_codec::format::marks::Position;
use flow_codec::index::Place;
use flow_codec::read::{Bounds, CallTimes, Moments, ThreadFile, When};

/// Where a call begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Where its entry is.
    pub start: Position,
    /// Where it is left.
    pub end: Position,
    /// Whether it is not left there, but the events of the thread end.
    pub is_open: bool,
}

impl Extent {
    /// A call that is left at a place, or not left when the thread ends.
    #[must_use]
    pub fn of(node: &Node, left: Option<Place>, end_of_thread: Place) -> Self {
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

impl From<&Occurrence> for Extent {
    fn from(call: &Occurrence) -> Self {
        Self { start: call.entry, end: call.exit, is_open: false }
    }
}

/// The times of calls of a thread, from its marks alone. Calls in order are read in one pass over the marks.
#[derive(Debug)]
pub struct CallClock {
    file: ThreadFile,
    starts: Cursor,
    ends: Cursor,
}

/// Moments, and the position requested last.
#[derive(Debug)]
struct Cursor(Moments, Position);

/// The times of a call of which none is known.
pub const UNKNOWN_TIMES: CallTimes = CallTimes {
    start: When::UNKNOWN,
    duration: When::UNKNOWN.bounds,
    duration_ns: 0,
    unwound: None,
};

impl Cursor {
    /// The moments up to a position; from the start, if it is an earlier one.
    fn at(&mut self, position: Position, file: &ThreadFile) -> (&mut Moments, When) {
        if position < std::mem::replace(&mut self.1, position) {
            self.0 = file.moments();
        }
        let when = self.0.when(position);
        (&mut self.0, when)
    }
}

impl CallClock {
    /// Begins at the first call of a thread.
    #[must_use]
    pub fn new(file: &ThreadFile) -> Self {
        let cursor = || Cursor(file.moments(), Position::default());
        Self { file: file.clone(), starts: cursor(), ends: cursor() }
    }

    /// The times of calls.
    pub fn times(&mut self, calls: impl IntoIterator<Item = impl Into<Extent>>) -> Vec<CallTimes> {
        let calls: Vec<Extent> = calls.into_iter().map(Into::into).collect();
        let mut times = vec![UNKNOWN_TIMES; calls.len()];
        let mut order: Vec<_> = calls.iter().zip(&mut times).collect();
        order.sort_by_key(|(call, _)| call.start);
        for (call, times) in &mut order {
            (_, times.start) = self.starts.at(call.start, &self.file);
        }
        // A call is left after those that it made.
        order.sort_by_key(|(call, _)| call.end);
        for (call, times) in order {
            let (moments, mut end) = self.ends.at(call.end, &self.file);
            if call.is_open {
                end.bounds.by_ns = u64::MAX;
            }
            times.end(end, moments.unwound(call.end));
        }
        times
    }
}

/// How long several calls lasted together, and the slowest of them.
#[derive(Clone, Copy, Default, Debug)]
pub struct DurationSum {
    /// The estimate.
    pub ns: u64,
    /// The least and the most that it can be.
    pub bounds: (u64, u64),
    /// The slowest.
    pub slowest: SlowestCall,
}

/// The slowest of several calls; of equal ones, the first.
#[derive(Clone, Copy, Default, Debug)]
pub struct SlowestCall {
    /// The estimated duration.
    pub ns: u64,
    /// The bounds of that.
    pub bounds: Bounds,
    /// The number of its thread among those that are added up.
    pub thread: usize,
    /// The number of the call in this thread.
    pub number: u64,
}

impl DurationSum {
    /// Adds a call of a thread, if its times are known.
    pub(crate) fn add(this: &mut Option<Self>, thread: usize, number: u64, times: &CallTimes) {
        if times.start.estimate_ns.is_none() {
            return;
        }
        let Bounds { from_ns, by_ns } = times.duration;
        let (ns, bounds) = (times.duration_ns, times.duration);
        let slowest = SlowestCall { ns, bounds, thread, number };
        let sum = this.get_or_insert(Self { slowest, ..Self::default() });
        sum.ns = sum.ns.saturating_add(ns);
        let (from, by) = sum.bounds;
        sum.bounds = (from.saturating_add(from_ns), by.saturating_add(by_ns));
        if ns > sum.slowest.ns {
            sum.slowest = slowest;
        }
    }
}
