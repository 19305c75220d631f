//! The times of calls that were found by their shapes.

use crate::dag::Occurrence;
use flow_codec::format::marks::Position;
use flow_codec::read::{Bounds, CallTimes, Moments, ThreadFile, When};

/// The times of calls of a thread that are found in order, from its marks alone.
#[derive(Debug)]
pub struct CallClock<'a> {
    file: &'a ThreadFile,
    entries: Moments,
    exits: Moments,
    last_exit: Position,
}

/// The times of a call of which none is known.
pub const UNKNOWN_TIMES: CallTimes = CallTimes {
    start: When::UNKNOWN,
    duration: When::UNKNOWN.bounds,
    duration_ns: 0,
    unwound: None,
};

impl<'a> CallClock<'a> {
    /// Begins at the first call of a thread.
    #[must_use]
    pub fn new(file: &'a ThreadFile) -> Self {
        Self {
            file,
            entries: file.moments(),
            exits: file.moments(),
            last_exit: Position::default(),
        }
    }

    /// The times of the next calls, in their order.
    pub fn times(&mut self, calls: &[Occurrence]) -> Vec<CallTimes> {
        let starts = calls.iter().map(|call| self.entries.when(call.entry));
        let mut times: Vec<_> = starts.map(|start| CallTimes { start, ..UNKNOWN_TIMES }).collect();
        // A call is left after those that it made.
        let mut order: Vec<_> = calls.iter().zip(&mut times).collect();
        order.sort_by_key(|(call, _)| call.exit);
        if order.first().is_some_and(|(first, _)| first.exit < self.last_exit) {
            self.exits = self.file.moments();
        }
        for (call, times) in order {
            self.last_exit = call.exit;
            let (start, end) = (times.start, self.exits.when(call.exit));
            times.duration = start.bounds.until(end.bounds);
            if let (Some(start), Some(end)) = (start.estimate_ns, end.estimate_ns) {
                times.duration_ns = end.saturating_sub(start);
            }
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
    /// The slowest: its estimated duration, a number of its thread, and its number there.
    pub slowest: (u64, usize, u64),
}

impl DurationSum {
    /// Adds a call of a thread, if its times are known.
    pub fn add(this: &mut Option<Self>, thread: usize, call: Occurrence, times: &CallTimes) {
        if times.start.estimate_ns.is_none() {
            return;
        }
        let Bounds { from_ns, by_ns } = times.duration;
        let sum = this.get_or_insert(Self { slowest: (0, thread, call.number), ..Self::default() });
        sum.ns = sum.ns.saturating_add(times.duration_ns);
        let (from, by) = sum.bounds;
        sum.bounds = (from.saturating_add(from_ns), by.saturating_add(by_ns));
        if times.duration_ns > sum.slowest.0 {
            sum.slowest = (times.duration_ns, thread, call.number);
        }
    }
}
