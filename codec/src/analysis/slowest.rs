//! The calls that took longest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;

use crate::MethodId;
use crate::read::{Bounds, Clock, Visit};

/// One of the calls that took longest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlowCall {
    /// How many threads ended before its own.
    pub thread: usize,
    /// Its number in the thread, those included that are left out.
    pub call: u64,
    /// The method.
    pub method: MethodId,
    /// When it is thought to have begun, in nanoseconds.
    pub start_ns: u64,
    /// When it began for sure.
    pub start: Bounds,
    /// How long it is thought to have taken.
    pub took_ns: u64,
    /// How long it took for sure.
    pub took: Bounds,
    /// Whether it was still open at the end of its thread.
    pub is_open: bool,
}

/// Finds the longest calls of any number of threads. Memory: 40 bytes an open frame, and the answer.
#[derive(Debug)]
pub struct Slowest<'c> {
    clock: &'c Clock,
    count: usize,
    thread: usize,
    stack: Vec<Frame>,
    /// The shortest first; of those that took as long the one that came last.
    longest: BinaryHeap<Reverse<Ranked>>,
    is_ending: bool,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    method: MethodId,
    call: u64,
    entered_at: u64,
    start: Bounds,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ranked(SlowCall);

impl Ranked {
    fn key(&self) -> (u64, Reverse<usize>, Reverse<u64>) {
        (self.0.took_ns, Reverse(self.0.thread), Reverse(self.0.call))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Visit for Slowest<'_> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        let (call, entered_at) = (self.clock.calls(), self.clock.now());
        self.stack.push(Frame { method, call, entered_at, start: self.clock.bounds() });
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        let (now, end) = (self.clock.now(), self.clock.bounds());
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        let rest = self.stack.len().saturating_sub(count);
        while self.stack.len() > rest {
            let Some(frame) = self.stack.pop() else { break };
            let took_ns = Clock::to_ns(now.saturating_sub(frame.entered_at).into());
            let is_full = self.longest.len() >= self.count;
            if is_full && self.longest.peek().is_none_or(|Reverse(least)| took_ns < least.0.took_ns)
            {
                continue;
            }
            self.keep(frame, took_ns, end);
        }
    }
}

impl<'c> Slowest<'c> {
    /// The `count` longest calls, by this clock.
    #[must_use]
    pub fn new(clock: &'c Clock, count: usize) -> Self {
        Self {
            clock,
            count,
            thread: 0,
            stack: Vec::new(),
            longest: BinaryHeap::new(),
            is_ending: false,
        }
    }

    #[cold]
    fn keep(&mut self, frame: Frame, took_ns: u64, end: Bounds) {
        let Frame { method, call, entered_at, start } = frame;
        self.longest.push(Reverse(Ranked(SlowCall {
            thread: self.thread,
            call,
            method,
            start_ns: Clock::to_ns(entered_at.into()),
            start,
            took_ns,
            took: start.until(end),
            is_open: self.is_ending,
        })));
        if self.longest.len() > self.count {
            self.longest.pop();
        }
    }

    /// A thread has ended: frames that are open took at least until then.
    pub fn end_thread(&mut self) {
        self.is_ending = true;
        self.exit(NonZeroU64::MAX);
        self.is_ending = false;
        self.thread += 1;
    }

    /// The calls, the longest first.
    #[must_use]
    pub fn into_calls(self) -> Vec<SlowCall> {
        self.longest.into_sorted_vec().into_iter().map(|Reverse(ranked)| ranked.0).collect()
    }
}
