//! Times of calls as lists of intervals, to compare with the sums of the analyses.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::read::{Clock, Selection, ThreadFile, TimeAxis, TimeLimits, Visit};
use flow_query::analysis::{Graph, TimeWeight, TimedReport};

/// A call of a visitor, with its time in nanoseconds.
#[derive(Clone, Copy, Debug)]
enum Visited {
    Enter(MethodId, u64),
    Exit(NonZeroU64, u64),
}

struct Listener<'c> {
    clock: &'c Clock,
    visited: Vec<Visited>,
}

impl Visit for Listener<'_> {
    fn enter(&mut self, method: MethodId) {
        self.visited.push(Visited::Enter(method, self.clock.now(TimeAxis::Wall).ns));
    }

    fn exit(&mut self, count: NonZeroU64) {
        self.visited.push(Visited::Exit(count, self.clock.now(TimeAxis::Wall).ns));
    }
}

/// A call: its depth, its start and its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Call {
    method: MethodId,
    depth: usize,
    begin: u64,
    end: u64,
}

/// The calls, in the order in which they begin; those that are open end at the end.
fn calls(visited: &[Visited], end: u64) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for event in visited {
        match *event {
            Visited::Enter(method, begin) => {
                let depth = open.len();
                open.push(calls.len());
                calls.push(Call { method, depth, begin, end });
            }
            Visited::Exit(count, now) => {
                let left = usize::try_from(count.get()).unwrap_or(usize::MAX);
                for call in open.split_off(open.len().saturating_sub(left)) {
                    calls[call].end = now;
                }
            }
        }
    }
    calls
}

/// The calls within limits, each cut to them.
fn within(calls: &[Call], limits: TimeLimits) -> Vec<Call> {
    let limits = TimeLimits { to_ns: limits.to_ns.max(limits.from_ns), ..limits };
    let TimeLimits { from_ns: from, to_ns: to, min_ns: min } = limits;
    let mut callers: Vec<usize> = Vec::new();
    let is_within =
        |call: &&Call| call.begin <= to && call.end >= from && call.end - call.begin >= min;
    let kept = calls.iter().filter(is_within).map(|call| {
        callers.retain(|depth| *depth < call.depth);
        callers.push(call.depth);
        let (begin, end) = (call.begin.clamp(from, to), call.end.clamp(from, to));
        Call { depth: callers.len() - 1, begin, end, ..*call }
    });
    kept.collect()
}

/// Calls, total and self of each method, and self of each path.
#[derive(Default, Debug)]
struct Sums {
    methods: BTreeMap<MethodId, (u64, u64, u64)>,
    paths: BTreeMap<Vec<MethodId>, u64>,
}

fn sums(calls: &[Call]) -> Sums {
    let mut sums = Sums::default();
    let mut stack: Vec<MethodId> = Vec::new();
    for call in calls {
        stack.truncate(call.depth);
        let duration = call.end - call.begin;
        if let Some(caller) = stack.last() {
            sums.methods.get_mut(caller).expect("it was entered").2 -= duration;
            *sums.paths.get_mut(&stack).expect("it was entered") -= duration;
        }
        let is_outermost = !stack.contains(&call.method);
        stack.push(call.method);
        let of_method = sums.methods.entry(call.method).or_default();
        of_method.0 += 1;
        of_method.1 += if is_outermost { duration } else { 0 };
        of_method.2 += duration;
        *sums.paths.entry(stack.clone()).or_default() += duration;
    }
    sums
}

/// Passes what is within limits, damaged or not, to the visitor. Returns when the thread ended.
fn visit(file: &ThreadFile, clock: &Clock, limits: TimeLimits, visitor: &mut impl Visit) -> u64 {
    let all = Selection::all();
    let mut pass = file.timed_pass(&all, limits, clock, visitor).expect("the file is there");
    while pass.visit_some().unwrap_or(true) {}
    pass.finish();
    clock.now(TimeAxis::Wall).ns
}

/// Compares the sums of a thread, within limits, with its calls one by one.
pub(crate) fn check_times(file: &ThreadFile, limits: TimeLimits) {
    let clock = Clock::default();
    let mut all = Listener { clock: &clock, visited: Vec::new() };
    let end = visit(file, &clock, TimeLimits::NONE, &mut all);
    let expected = within(&calls(&all.visited, end), limits);

    let clock = Clock::default();
    let mut visitors = (
        Listener { clock: &clock, visited: Vec::new() },
        (TimedReport::<false>::new(&clock), Graph::new(TimeWeight::<false>::new(&clock))),
    );
    let end = visit(file, &clock, limits, &mut visitors);
    let (listener, (mut report, mut graph)) = visitors;
    report.end_thread();
    graph.end_thread();
    assert_eq!(calls(&listener.visited, end), expected);

    let sums = sums(&expected);
    let rows = report.rows();
    assert_eq!(rows.len(), sums.methods.len());
    for row in rows {
        let (calls, total, self_time) = sums.methods[&row.method];
        let expected = (calls, total, self_time);
        assert_eq!((row.calls, row.total, row.self_weight), expected, "{row:?}");
    }
    let tree = graph.into_tree();
    assert_eq!(tree.rows().count(), sums.paths.len());
    for (path, row) in tree.rows() {
        assert_eq!(row.self_weight, sums.paths[&tree.stack(path)], "{row:?}");
    }
}
