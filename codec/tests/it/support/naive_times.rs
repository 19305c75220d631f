//! Times of calls as lists of intervals: what is added up while a clock is kept must be the same.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::analysis::{Edges, Graph, Side, TimeWeight, TimedReport};
use flow_codec::read::{Clock, Selection, ThreadFile, TimeLimits, Visit};

/// What a visitor was told, and when, in parts of a nanosecond.
#[derive(Clone, Copy, Debug)]
enum Heard {
    Enter(MethodId, u64),
    Exit(NonZeroU64, u64),
}

struct Listener<'c> {
    clock: &'c Clock,
    heard: Vec<Heard>,
}

impl Visit for Listener<'_> {
    fn enter(&mut self, method: MethodId) {
        self.heard.push(Heard::Enter(method, self.clock.now()));
    }

    fn exit(&mut self, count: NonZeroU64) {
        self.heard.push(Heard::Exit(count, self.clock.now()));
    }
}

/// A call: where its frame is, and from when to when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Call {
    method: MethodId,
    depth: usize,
    begin: u64,
    end: u64,
}

/// The calls, in the order in which they begin; those that are open end at the end.
fn calls(heard: &[Heard], end: u64) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for event in heard {
        match *event {
            Heard::Enter(method, begin) => {
                let depth = open.len();
                open.push(calls.len());
                calls.push(Call { method, depth, begin, end });
            }
            Heard::Exit(count, now) => {
                let left = usize::try_from(count.get()).unwrap_or(usize::MAX);
                for call in open.split_off(open.len().saturating_sub(left)) {
                    calls[call].end = now;
                }
            }
        }
    }
    calls
}

/// The calls that are within limits, as far as they are.
fn within(calls: &[Call], limits: TimeLimits) -> Vec<Call> {
    let limits = TimeLimits { to_ns: limits.to_ns.max(limits.from_ns), ..limits };
    let parts = |ns: u64| ns.min(u64::MAX >> 10) << 10;
    let (from, to, min) = (parts(limits.from_ns), parts(limits.to_ns), parts(limits.min_ns));
    let mut callers: Vec<usize> = Vec::new();
    let is_told =
        |call: &&Call| call.begin <= to && call.end >= from && call.end - call.begin >= min;
    let told = calls.iter().filter(is_told).map(|call| {
        callers.retain(|depth| *depth < call.depth);
        callers.push(call.depth);
        let (begin, end) = (call.begin.clamp(from, to), call.end.clamp(from, to));
        Call { depth: callers.len() - 1, begin, end, ..*call }
    });
    told.collect()
}

/// Calls, total and own of each method, and own of each path.
#[derive(Default, Debug)]
struct Sums {
    methods: BTreeMap<MethodId, (u64, u128, u128)>,
    paths: BTreeMap<Vec<MethodId>, u128>,
}

fn sums(calls: &[Call]) -> Sums {
    let mut sums = Sums::default();
    let mut stack: Vec<MethodId> = Vec::new();
    for call in calls {
        stack.truncate(call.depth);
        let took = u128::from(call.end - call.begin);
        if let Some(caller) = stack.last() {
            sums.methods.get_mut(caller).expect("it was entered").2 -= took;
            *sums.paths.get_mut(&stack).expect("it was entered") -= took;
        }
        let is_outermost = !stack.contains(&call.method);
        stack.push(call.method);
        let of_method = sums.methods.entry(call.method).or_default();
        of_method.0 += 1;
        of_method.1 += if is_outermost { took } else { 0 };
        of_method.2 += took;
        *sums.paths.entry(stack.clone()).or_default() += took;
    }
    sums
}

/// Hands on what is within limits, damage or not, and answers when the thread has ended.
fn visit(file: &ThreadFile, clock: &Clock, limits: TimeLimits, visitor: &mut impl Visit) -> u64 {
    let all = Selection::all();
    let mut pass = file.timed_pass(&all, limits, clock, visitor).expect("the file is there");
    while pass.visit_some().unwrap_or(true) {}
    pass.finish();
    clock.now()
}

/// Holds what is added up of a thread, within limits, against its calls one by one.
pub(crate) fn check_times(file: &ThreadFile, limits: TimeLimits) {
    let clock = Clock::default();
    let mut all = Listener { clock: &clock, heard: Vec::new() };
    let end = visit(file, &clock, TimeLimits::NONE, &mut all);
    let expected = within(&calls(&all.heard, end), limits);

    check_neighbours(file, limits, &expected);

    let clock = Clock::default();
    let mut told = (
        Listener { clock: &clock, heard: Vec::new() },
        (TimedReport::new(&clock), Graph::new(TimeWeight::new(&clock))),
    );
    let end = visit(file, &clock, limits, &mut told);
    let (listener, (mut report, mut graph)) = told;
    report.end_thread();
    graph.end_thread();
    assert_eq!(calls(&listener.heard, end), expected);

    let sums = sums(&expected);
    let rows = report.rows();
    assert_eq!(rows.len(), sums.methods.len());
    for row in rows {
        let (calls, total, own) = sums.methods[&row.method];
        let expected = (calls, Clock::to_ns(total), Clock::to_ns(own));
        assert_eq!((row.calls, row.total, row.self_weight), expected, "{row:?}");
        assert!(row.total_from <= row.total_by, "{row:?}");
    }
    let tree = graph.into_tree();
    assert_eq!(tree.rows().count(), sums.paths.len());
    for (path, row) in tree.rows() {
        assert_eq!(row.self_weight, Clock::to_ns(sums.paths[&tree.stack(path)]), "{row:?}");
    }
}

/// Holds what is said of callers and callees of a third of all methods against the same calls.
fn check_neighbours(file: &ThreadFile, limits: TimeLimits, calls: &[Call]) {
    let is_chosen = |method: MethodId| method.get() % 3 == 1;
    for side in [Side::Callers, Side::Callees] {
        let clock = Clock::default();
        let mut neighbours = Edges::new(TimedReport::new(&clock), side, is_chosen);
        visit(file, &clock, limits, &mut neighbours);
        neighbours.end_thread();

        // Each call with the neighbour it counts for.
        let mut stack: Vec<MethodId> = Vec::new();
        let mut labelled: Vec<(Call, Option<Option<MethodId>>)> = Vec::new();
        for call in calls {
            stack.truncate(call.depth);
            let caller = stack.last().copied();
            stack.push(call.method);
            labelled.push((
                *call,
                match side {
                    Side::Callers => is_chosen(call.method).then_some(caller),
                    Side::Callees => caller.is_some_and(is_chosen).then_some(Some(call.method)),
                },
            ));
        }
        let mut expected: BTreeMap<Option<MethodId>, (u64, u128, u128)> = BTreeMap::new();
        let (mut open, mut took) = (Vec::<(Call, Option<Option<MethodId>>)>::new(), 0_u128);
        for &(call, label) in &labelled {
            open.truncate(call.depth);
            let time = u128::from(call.end - call.begin);
            if let Some((_, Some(caller))) = open.last() {
                expected.get_mut(caller).expect("it was entered").2 -= time;
            }
            if let Some(label) = label {
                let is_outermost = !open.iter().any(|(_, other)| *other == Some(label));
                let sums = expected.entry(label).or_default();
                sums.0 += 1;
                sums.1 += if is_outermost { time } else { 0 };
                sums.2 += time;
            }
            if is_chosen(call.method) && !open.iter().any(|(outer, _)| is_chosen(outer.method)) {
                took += time;
            }
            open.push((call, label));
        }
        let rows = neighbours.rows();
        assert_eq!(rows.len(), expected.len());
        for row in rows {
            let (calls, total, own) = expected[&row.method];
            let expected = (calls, Clock::to_ns(total), Clock::to_ns(own));
            assert_eq!((row.calls, row.total, row.self_weight), expected, "{side:?} {row:?}");
        }
        assert_eq!(neighbours.total(), Clock::to_ns(took));
        let calls_of = |method| calls.iter().filter(|call| call.method == method).count() as u64;
        for (method, count) in neighbours.chosen() {
            assert!(is_chosen(method) && count == calls_of(method), "{method}");
        }
    }
}
