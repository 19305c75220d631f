//! The longest calls.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::read::{Call, EventKind, Timeline, TimelineEvent, Unwound, When};
use crate::{Depth, MethodId};

/// One of the longest calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowCall {
    /// The number of threads that ended before its own.
    pub thread: usize,
    /// The call.
    pub call: Call,
}

impl SlowCall {
    /// The estimate of how long it was, in nanoseconds.
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

/// Finds the longest calls of any number of threads. Memory: 48 bytes for each open frame, and the answer.
#[derive(Debug)]
pub struct Slowest {
    count: usize,
    thread: usize,
    open: Vec<(MethodId, u64, When)>,
    /// The shortest first; of equally long ones the last.
    longest: BinaryHeap<Reverse<SlowCall>>,
}

impl Slowest {
    /// The `count` longest calls.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self { count, thread: 0, open: Vec::new(), longest: BinaryHeap::new() }
    }

    /// Adds the next event of a thread.
    #[inline]
    pub fn add(&mut self, event: TimelineEvent) {
        let TimelineEvent { time, calls, kind, .. } = event;
        match kind {
            EventKind::Enter(method) => self.open.push((method, calls, time)),
            EventKind::Exit { count, unwound } => {
                self.leave(count.get(), time, calls, unwound.as_ref(), false);
            }
            EventKind::RangeEnd { frames } => self.leave(frames.get(), time, calls, None, false),
            _ => {}
        }
    }

    #[inline]
    fn leave(
        &mut self,
        frames: u64,
        end: When,
        calls: u64,
        unwound: Option<&Unwound>,
        is_open: bool,
    ) {
        for _ in 0..frames {
            let Some((method, number, start)) = self.open.pop() else { return };
            let duration_ns = end.estimate_ns.zip(start.estimate_ns);
            let duration_ns = duration_ns.map_or(0, |(end, start)| end.saturating_sub(start));
            let is_full = self.longest.len() >= self.count;
            if is_full
                && self.longest.peek().is_none_or(|least| duration_ns < least.0.duration_ns())
            {
                continue;
            }
            let depth = Depth::new(self.open.len() as u64);
            let (unwound, calls) = (unwound.cloned(), calls - number);
            self.keep(Call { number, method, depth, start, end, is_open, unwound, calls });
        }
    }

    #[cold]
    fn keep(&mut self, call: Call) {
        self.longest.push(Reverse(SlowCall { thread: self.thread, call }));
        if self.longest.len() > self.count {
            self.longest.pop();
        }
    }

    /// All events of a thread were added.
    pub fn end_thread(&mut self, timeline: &Timeline<'_>) {
        let (end, calls) = timeline.now();
        self.leave(u64::MAX, end, calls, None, true);
        self.thread += 1;
    }

    /// The calls, the longest first.
    #[must_use]
    pub fn into_calls(self) -> Vec<SlowCall> {
        self.longest.into_sorted_vec().into_iter().map(|Reverse(call)| call).collect()
    }
}
