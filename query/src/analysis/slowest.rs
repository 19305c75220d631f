//! The longest calls.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;

use flow_codec::read::{Call, Selection, Stamp, Timeline, Unwound, VisitTimeline, When};
use flow_codec::{Depth, MethodId};

/// One of the longest calls.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SlowCall {
    /// The number of threads that ended before the call's own.
    pub thread: usize,
    /// The call.
    pub call: Call,
}

impl SlowCall {
    /// The estimated duration in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.call.duration_ns().unwrap_or(0)
    }

    fn key(&self) -> (u64, Reverse<usize>, Reverse<u64>) {
        (self.duration_ns(), Reverse(self.thread), Reverse(self.call.number))
    }
}

impl Ord for SlowCall {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for SlowCall {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Finds the longest calls of any number of threads. Memory: 48 bytes for each open frame, and the calls
/// found.
#[derive(Debug)]
pub struct Slowest {
    count: usize,
    methods: Selection,
    thread: usize,
    open: Vec<(MethodId, u64, When)>,
    /// The shortest first; of equally long ones, the last in the trace.
    longest: BinaryHeap<Reverse<SlowCall>>,
    /// Shorter calls are not kept.
    least_ns: u64,
}

impl VisitTimeline for Slowest {
    #[inline(always)]
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        self.open.push((method, at.calls, at.time));
        true
    }

    fn skips_instant(&self) -> bool {
        self.least_ns > 0
    }

    #[inline(always)]
    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        self.leave(count.get(), at, unwound, false);
        true
    }
}

impl Slowest {
    /// Keeps the `count` longest calls.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self::of(count, Selection::all())
    }

    /// Keeps the `count` longest calls of these methods.
    #[must_use]
    pub fn of(count: usize, methods: Selection) -> Self {
        let (open, longest) = (Vec::new(), BinaryHeap::new());
        Self { count, methods, thread: 0, open, longest, least_ns: 0 }
    }

    #[inline(always)]
    fn leave(&mut self, frames: u64, at: Stamp, unwound: Option<&Unwound>, is_open: bool) {
        let Stamp { time: end, calls, .. } = at;
        for _ in 0..frames {
            let Some((method, number, start)) = self.open.pop() else { return };
            let duration_ns = end.estimate_ns.zip(start.estimate_ns);
            let duration_ns = duration_ns.map_or(0, |(end, start)| end.saturating_sub(start));
            if duration_ns < self.least_ns || !self.methods.contains(method) {
                continue;
            }
            let depth = Depth::new(self.open.len() as u64);
            let (unwound, calls) = (unwound.cloned(), calls - number);
            self.keep(Call {
                number,
                method,
                depth,
                start,
                end,
                is_open,
                unwound,
                calls,
                values: Vec::new(),
            });
        }
    }

    #[cold]
    fn keep(&mut self, call: Call) {
        self.longest.push(Reverse(SlowCall { thread: self.thread, call }));
        if self.longest.len() > self.count {
            self.longest.pop();
        }
        if self.longest.len() == self.count {
            self.least_ns = self.longest.peek().map_or(u64::MAX, |least| least.0.duration_ns());
        }
    }

    /// Ends a thread, after all its events.
    pub fn end_thread(&mut self, timeline: &Timeline<'_>) {
        self.leave(u64::MAX, timeline.now(), None, true);
        self.thread += 1;
    }

    /// The calls, the longest first.
    #[must_use]
    pub fn into_calls(self) -> Vec<SlowCall> {
        self.longest.into_sorted_vec().into_iter().map(|Reverse(call)| call).collect()
    }
}
