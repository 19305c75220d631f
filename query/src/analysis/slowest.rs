//! The longest calls.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;

use flow_codec::read::{
    Call, Selection, Stamp, ThreadFile, Timeline, Unwound, VisitTimeline, When,
};
use flow_codec::{Depth, Error, MethodId, Result};

use crate::dag::{Dag, Kind, SampledCall, Target};

/// This many calls are held until their times are known.
const CALLS_AT_ONCE: usize = 1 << 16;

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
    pub(crate) fn duration_ns(&self) -> u64 {
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

/// The time from one moment to another; 0 if one is unknown.
#[inline(always)]
fn between(start: When, end: When) -> u64 {
    let times = end.estimate_ns.zip(start.estimate_ns);
    times.map_or(0, |(end, start)| end.saturating_sub(start))
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
    pub(crate) fn of(count: usize, methods: Selection) -> Self {
        let (open, longest) = (Vec::new(), BinaryHeap::new());
        Self { count, methods, thread: 0, open, longest, least_ns: 0 }
    }

    #[inline(always)]
    fn leave(&mut self, frames: u64, at: Stamp, unwound: Option<&Unwound>, is_open: bool) {
        let Stamp { time: end, calls, .. } = at;
        for _ in 0..frames {
            let Some((method, number, start)) = self.open.pop() else { return };
            let duration_ns = between(start, end);
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
                is_cut: false,
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

    /// Adds the calls of a whole thread, and ends it, from its shapes and its marks, which have the times of samples. Calls in
    /// which no sample was have no duration, so that only the others are read. `None` if events are needed; then nothing
    /// was added. Otherwise the error of the marks, if there is one.
    ///
    /// # Errors
    /// The marks cannot be opened.
    pub fn add_sampled(&mut self, dag: &Dag, file: &ThreadFile) -> Result<Option<Option<Error>>> {
        // The end of a frame that is never left is that of the events.
        if dag.bytes() != file.bytes() || dag.leaves_open(&self.methods) {
            return Ok(None);
        }
        let mut found = Self::of(self.count, self.methods.clone());
        (found.thread, found.least_ns) = (self.thread, self.least_ns);
        let (mut calls, mut count, mut longer) = (Vec::new(), 0_u64, 0);
        let damage = dag.calls_with_samples(file, |call| {
            if !self.methods.contains(call.method) {
                return;
            }
            count += 1;
            calls.push(call);
            if calls.len() == CALLS_AT_ONCE {
                longer += found.add_calls(dag, file, &calls);
                calls.clear();
            }
        })?;
        longer += found.add_calls(dag, file, &calls);
        let is_whole = longer >= self.count || self.least_ns > 0 || count == self.count_in(dag);
        if !is_whole {
            return Ok(None);
        }
        for Reverse(slow) in found.longest {
            self.keep(slow.call);
        }
        self.thread += 1;
        Ok(Some(damage))
    }

    /// How many calls of the methods a thread has.
    fn count_in(&self, dag: &Dag) -> u64 {
        let occurrences = dag.occurrences();
        let of_methods = dag.shapes().iter().filter(|shape| {
            matches!(dag.shapes().kind(*shape), Kind::Call(method, _) if self.methods.contains(method))
        });
        of_methods.map(|shape| occurrences.count(shape)).sum()
    }

    /// Adds calls in the order in which they begin. Returns how many took some time.
    fn add_calls(&mut self, dag: &Dag, file: &ThreadFile, calls: &[SampledCall]) -> usize {
        let mut moments = file.moments();
        let starts = calls.iter().map(|call| (*call, moments.when(call.entry)));
        let mut order: Vec<_> =
            starts.filter_map(|(call, at)| Some((call.exit?, call, at))).collect();
        order.sort_by_key(|(exit, ..)| *exit);
        let (mut moments, mut longer) = (file.moments(), 0);
        for (exit, call, start) in order {
            let end = moments.when(exit);
            let duration_ns = between(start, end);
            longer += usize::from(duration_ns > 0);
            let place = Target::Offset(call.entry.offset);
            if duration_ns < self.least_ns {
                continue;
            }
            let Some(at) = dag.find_place(place, |_| {}).and_then(|mut found| found.first()) else {
                continue;
            };
            self.keep(Call {
                number: at.place.enters,
                method: call.method,
                depth: Depth::new(at.place.frames),
                start,
                end,
                is_open: false,
                unwound: moments.unwound(exit),
                is_cut: false,
                calls: dag.extent_of(at).map_or(1, |(calls, _)| calls),
                values: Vec::new(),
            });
        }
        longer
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
