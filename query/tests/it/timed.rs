//! Times of methods, paths and calls, compared with naive ones on arbitrary calls and marks.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;

use crate::support::times::check_times;
use flow_codec::format::flow::Encoded;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::parallel::BytesRead;
use flow_codec::read::{
    Bounds, Call, Clock, Content, EventKind, Lookahead, Methods, Selection, ThreadFile, TimeAxis,
    TimeLimits, Timeline, Times, Trace, When,
};
use flow_codec::scan::Summary;
use flow_codec::{Glob, MethodId, Offset};
use flow_query::analysis::{
    AddSampled, EdgeRow, Edges, Graph, PathTree, Report, ReportRow, Side, Slowest, TimeWeight,
    TimedReport,
};
use flow_query::dag::Dag;
use proptest::prelude::*;

/// A record, and the nanoseconds before each of its events.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    Enter(u64, u64),
    Exit(Vec<u64>),
}

pub(crate) fn records() -> impl Strategy<Value = Vec<Record>> {
    let gap = || prop_oneof![8 => 0_u64..50, 1 => 1_000_u64..1_000_000];
    let id = prop_oneof![8 => 0_u64..4, 1 => Just(70_u64), 1 => Just(9_000_u64)];
    let enter = (id, gap()).prop_map(|(id, gap)| Record::Enter(id, gap));
    let exit = prop::collection::vec(gap(), 1..4).prop_map(Record::Exit);
    prop::collection::vec(prop_oneof![3 => enter, 2 => exit], 0..80).prop_map(|mut records| {
        // Runs of exits are one record.
        records.dedup_by(|a, b| matches!((a, b), (Record::Exit(_), Record::Exit(_))));
        records
    })
}

/// An event with its position, its method if it is an entry, and its true time.
pub(crate) struct Event {
    position: Position,
    enters: Option<u64>,
    pub(crate) at_ns: u64,
}

pub(crate) struct Thread {
    bytes: Vec<u8>,
    pub(crate) events: Vec<Event>,
}

pub(crate) fn thread(records: &[Record]) -> Thread {
    let mut thread = Thread { bytes: Vec::new(), events: Vec::new() };
    let mut now = 1_000;
    for record in records {
        let offset = Offset::new(thread.bytes.len() as u64);
        match record {
            Record::Enter(id, gap) => {
                now += gap;
                let position = Position::before(offset);
                thread.events.push(Event { position, enters: Some(*id), at_ns: now });
                thread.bytes.extend(Encoded::enter(MethodId::new(*id).expect("small")).as_bytes());
            }
            Record::Exit(gaps) => {
                for (exits, gap) in (0..).zip(gaps) {
                    now += gap;
                    let position = Position { offset, exits };
                    thread.events.push(Event { position, enters: None, at_ns: now });
                }
                let count = NonZeroU64::new(gaps.len() as u64).expect("one at least");
                thread.bytes.extend(Encoded::exits(count).as_bytes());
            }
        }
    }
    thread
}

/// True marks: at some events, between the time of the previous event and its self_ns.
pub(crate) fn marks(
    thread: &Thread,
    picks: &[bool],
    lies: &[(u64, u64)],
    rans: &[Option<u64>],
) -> Vec<u8> {
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    let mut before = 1_000;
    for (number, event) in thread.events.iter().enumerate() {
        if picks.get(number % picks.len().max(1)).copied().unwrap_or(false) {
            let (mut by_ns, mut from_ns) = (before, event.at_ns);
            if let Some((by, from)) = lies.get(number % lies.len().max(1)) {
                (by_ns, from_ns) = (*by, *from);
            }
            let ran_us = rans.get(number % rans.len().max(1)).copied().flatten();
            encoder.encode(event.position, &Mark::Time { by_ns, from_ns, ran_us }, &mut bytes);
        }
        before = event.at_ns;
    }
    bytes
}

/// The estimate of each event, and of the end. In a run of exits, those up to a mark happen at once.
fn estimates(file: &ThreadFile, thread: &Thread, axis: TimeAxis) -> Vec<(u64, Bounds)> {
    let mut times = file.marks().expect("a file").map(|marks| Times::new(marks).by(axis));
    let mut at = Position::default();
    let mut estimates = Vec::new();
    for event in &thread.events {
        if event.position.offset != at.offset || at == Position::default() {
            at = Position::before(event.position.offset);
        }
        let Some(times) = &mut times else {
            estimates.push((0, Bounds::UNKNOWN));
            continue;
        };
        let _ = times.at(at);
        // Whether a mark is at this exit.
        while let Some(mark) = times.until()
            && mark <= event.position
        {
            at = mark;
            let _ = times.at(at);
        }
        let estimate = times.estimate(at).expect("sound").unwrap_or(0);
        estimates.push((estimate, times.at(at).expect("sound")));
    }
    let end = Position::before(Offset::new(thread.bytes.len() as u64));
    let end = times.and_then(|mut times| times.estimate(end).expect("sound"));
    estimates.push((end.unwrap_or(0), Bounds::UNKNOWN));
    estimates
}

/// Total and self of each method, self of each path, and the duration of each call that was left.
#[derive(Default, Debug)]
struct Naive {
    total: BTreeMap<u64, u64>,
    self_ns: BTreeMap<u64, u64>,
    paths: BTreeMap<Vec<u64>, u64>,
    calls: Vec<(u64, u64)>,
}

fn naive(thread: &Thread, estimates: &[(u64, Bounds)]) -> Naive {
    let mut naive = Naive::default();
    let mut stack: Vec<(u64, u64, usize)> = Vec::new();
    let mut last = 0;
    let end = estimates.last().map_or(0, |(at, _)| *at);
    let mut step = |naive: &mut Naive, stack: &[(u64, u64, usize)], now: u64| {
        let methods: Vec<_> = stack.iter().map(|(method, ..)| *method).collect();
        if let Some(method) = methods.last() {
            *naive.self_ns.entry(*method).or_default() += now - last;
            *naive.paths.entry(methods.clone()).or_default() += now - last;
        }
        let distinct: std::collections::BTreeSet<_> = methods.iter().collect();
        for method in distinct {
            *naive.total.entry(*method).or_default() += now - last;
        }
        last = now;
    };
    for (event, (now, _)) in thread.events.iter().zip(estimates) {
        step(&mut naive, &stack, *now);
        match event.enters {
            Some(method) => {
                stack.push((method, *now, naive.calls.len()));
                naive.calls.push((*now, end.saturating_sub(*now)));
            }
            None => {
                if let Some((_, entered, call)) = stack.pop() {
                    naive.calls[call].1 = now - entered;
                }
            }
        }
    }
    step(&mut naive, &stack, end);
    naive
}

/// Fractions of nanoseconds are dropped at each event.
fn is_about(a: u64, b: u64, events: usize) -> bool {
    a.abs_diff(b) <= 2 + events as u64
}

/// The files of a thread.
pub(crate) fn written(thread: &Thread, marks: &[u8]) -> (tempfile::TempDir, ThreadFile) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("thread-1.flow");
    fs::write(&path, &thread.bytes).expect("written");
    fs::write(path.with_extension("marks"), marks).expect("written");
    let file = Trace::open(dir.path()).expect("a trace").take_files().remove(0);
    (dir, file)
}

/// The sums by method and by path.
fn report_and_tree<const CPU: bool>(file: &ThreadFile) -> (Vec<ReportRow>, PathTree) {
    let clock = Clock::default();
    let weight = TimeWeight::<CPU>::new(&clock);
    let mut all = (TimedReport::<CPU>::new(&clock), Graph::new(weight));
    let mut pass = file.timed_pass(&ALL, TimeLimits::NONE, &clock, &mut all).expect("a file");
    while pass.visit_some().expect("sound") {}
    assert!(pass.finish().is_none());
    let (mut report, mut graph) = all;
    report.end_thread();
    graph.end_thread();
    (report.rows(), graph.into_tree())
}

/// For how long threads ran, in microseconds, where it is known.
pub(crate) fn rans() -> impl Strategy<Value = Vec<Option<u64>>> {
    let ran = prop_oneof![6 => 0_u64..4, 1 => 0_u64..2_000, 1 => Just(1 << 33)];
    prop::collection::vec(prop::option::weighted(0.8, ran), 1..5)
}

pub(crate) fn lies() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop_oneof![4 => Just(Vec::new()),
        1 => prop::collection::vec((0_u64..1 << 40, 0_u64..1 << 40), 1..4)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn limits_of_time_keep_the_calls_that_a_list_keeps(
        records in records(),
        picks in prop::collection::vec(any::<bool>(), 1..7),
        lies in lies(),
        from in 0_u64..120,
        to in 0_u64..120,
        min_ns in prop_oneof![1 => Just(0_u64), 1 => 1_u64..2_000_000],
    ) {
        let thread = thread(&records);
        let (_dir, file) = written(&thread, &marks(&thread, &picks, &lies, &[None]));
        // A part of the whole time.
        let last = thread.events.last().map_or(0, |event| event.at_ns);
        let part = |percent: u64| last * percent / 100;
        check_times(&file, TimeLimits { from_ns: part(from), to_ns: part(to), min_ns });
        check_times(&file, TimeLimits { from_ns: part(from), ..TimeLimits::NONE });
        check_times(&file, TimeLimits { min_ns, ..TimeLimits::NONE });
    }

    #[test]
    fn times_are_those_of_the_marks_event_by_event(
        records in records(),
        picks in prop::collection::vec(any::<bool>(), 1..7),
        lies in lies(),
        rans in rans(),
    ) {
        let thread = thread(&records);
        let (_dir, file) = written(&thread, &marks(&thread, &picks, &lies, &rans));
        let wall = naive(&thread, &estimates(&file, &thread, TimeAxis::Wall));
        let cpu = naive(&thread, &estimates(&file, &thread, TimeAxis::Cpu));
        let count = thread.events.len();

        let by_axis = [
            (TimeAxis::Wall, &wall, report_and_tree::<false>(&file)),
            (TimeAxis::Cpu, &cpu, report_and_tree::<true>(&file)),
        ];
        for (axis, expected, (rows, tree)) in by_axis {
            prop_assert_eq!(tree.axis(), Some(axis));
            if lies.is_empty() {
                for row in rows {
                    let of = |map: &BTreeMap<u64, u64>| map.get(&row.method.get()).copied().unwrap_or(0);
                    prop_assert!(is_about(row.total, of(&expected.total), count), "{row:?}");
                    prop_assert!(is_about(row.self_weight, of(&expected.self_ns), count), "{row:?}");
                    let waiting = match axis {
                        TimeAxis::Wall => 0,
                        TimeAxis::Cpu => of(&wall.total).saturating_sub(of(&cpu.total)),
                    };
                    prop_assert!(is_about(row.waiting_ns, waiting, 2 * count), "{row:?}");
                }
                for (path, row) in tree.rows() {
                    let methods: Vec<_> = tree.stack(path).iter().map(|method| method.get()).collect();
                    let self_ns = expected.paths.get(&methods).copied().unwrap_or(0);
                    prop_assert!(is_about(row.self_weight, self_ns, count), "{methods:?}");
                }
            }
        }
        let expected = wall;

        // Each call, in order. With true marks, the true times are within the bounds.
        let slow = slowest(&file, usize::MAX);
        let longest: Vec<_> = slow.iter().take(3).map(|call| call.number).collect();
        let few: Vec<_> = slowest(&file, 3).iter().map(|call| call.number).collect();
        prop_assert_eq!(few, longest);
        prop_assert!(slow.is_sorted_by_key(|call| Reverse(call.duration_ns())));
        let mut slow = slow;
        slow.sort_by_key(|call| call.number);
        prop_assert_eq!(slow.len(), expected.calls.len());
        let mut calls = Lookahead::new(&file, Offset::default());
        let begun = thread.events.iter().filter(|event| event.enters.is_some());
        for ((slow, (start, duration)), event) in slow.iter().zip(&expected.calls).zip(begun) {
            let call = calls.next_call().expect("sound").expect("a call");
            prop_assert_eq!(slow.start.estimate_ns.unwrap_or(0), *start);
            prop_assert_eq!(slow.duration_ns().unwrap_or(0), *duration);
            // CPU time is known from the first mark on that shows it.
            if let Some(cpu_ns) = slow.cpu_ns() {
                let (start, duration) = cpu.calls[usize::try_from(slow.number).expect("small")];
                prop_assert_eq!((slow.start.cpu_ns, cpu_ns), (Some(start), duration));
            }
            prop_assert_eq!((call.start, call.duration), (slow.start, slow.duration()));
            if lies.is_empty() {
                let bounds = slow.start.bounds;
                prop_assert!(bounds.from_ns <= event.at_ns && event.at_ns <= bounds.by_ns);
            }
        }
        prop_assert_eq!(calls.next_call().expect("sound"), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn exact_times_are_the_true_ones(records in records()) {
        let thread = thread(&records);
        let (mut encoder, mut marks) = (MarkEncoder::with_header(), Vec::new());
        let mut truth = Vec::new();
        let mut entered_at = None;
        for event in &thread.events {
            // A method that can only return has the time of its entry.
            match entered_at.filter(|_| event.enters.is_none()) {
                Some(at_ns) => truth.push((at_ns, Bounds::UNKNOWN)),
                None => {
                    truth.push((event.at_ns, Bounds::UNKNOWN));
                    encoder.encode(event.position, &Mark::Instant { at_ns: event.at_ns }, &mut marks);
                }
            }
            entered_at = event.enters.map(|_| event.at_ns);
        }
        let end_ns = thread.events.last().map_or(0, |event| event.at_ns);
        truth.push((end_ns, Bounds::UNKNOWN));
        let end = Position::before(Offset::new(thread.bytes.len() as u64));
        encoder.encode(end, &Mark::Time { by_ns: end_ns, from_ns: end_ns, ran_us: None }, &mut marks);
        encoder.finish(&mut marks);
        let (_dir, file) = written(&thread, &marks);
        let (rows, tree) = report_and_tree::<false>(&file);
        let truth = naive(&thread, &truth);
        for row in rows {
            let of = |map: &BTreeMap<u64, u64>| map.get(&row.method.get()).copied().unwrap_or(0);
            prop_assert_eq!((row.total, row.self_weight), (of(&truth.total), of(&truth.self_ns)));
            prop_assert_eq!((row.precision.total_error, row.precision.self_error), (0, 0));
        }
        for (path, row) in tree.rows() {
            let stack: Vec<_> = tree.stack(path).iter().map(|method| method.get()).collect();
            prop_assert_eq!(row.self_weight, truth.paths.get(&stack).copied().unwrap_or(0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn times_from_shapes_are_those_of_events(
        records in records(),
        picks in prop::collection::vec(any::<bool>(), 1..7),
        lies in lies(),
        rans in rans(),
        is_all in any::<bool>(),
    ) {
        let thread = thread(&records);
        let (_dir, file) = written(&thread, &marks(&thread, &picks, &lies, &rans));
        let content = Content::open(&file).expect("readable");
        let built = Dag::build(&file, &content, &BytesRead::default()).expect("readable");
        let dag = built.into_dag().expect("there are few");
        prop_assume!(dag.bytes() == file.bytes());
        let odd = Selection::new(&Methods::default(), &[], &[Glob::new("?#1")]);
        let selection = if is_all { &*ALL } else { &odd };

        let clock = Clock::default();
        let mut of_events = (
            TimedReport::<true>::new(&clock),
            Graph::new(TimeWeight::<true>::new(&clock)),
        );
        let mut pass =
            file.timed_pass(selection, TimeLimits::NONE, &clock, &mut of_events).expect("a file");
        while pass.visit_some().expect("sound") {}
        let (mut report, mut graph) = of_events;
        report.end_thread();
        graph.end_thread();

        let clock = Clock::default();
        let mut sampled = TimedReport::<true>::new(&clock);
        let damage = sampled.add_sampled(&dag, &file, selection).expect("readable");
        prop_assert!(matches!(damage, Some(None)), "{damage:?}");
        prop_assert_eq!(sampled.rows(), report.rows());
        let sums = |report: &TimedReport<'_, true>| (report.total_ns(), report.waiting_ns());
        prop_assert_eq!(sums(&sampled), sums(&report));

        for count in [1, 3, 100] {
            let mut longest = Slowest::new(count);
            if longest.add_sampled(&dag, &file).expect("readable").is_some() {
                let calls: Vec<_> = longest.into_calls().into_iter().map(|slow| slow.call).collect();
                prop_assert_eq!(calls, slowest(&file, count));
            }
        }

        let clock = Clock::default();
        let mut sampled = Graph::new(TimeWeight::<true>::new(&clock));
        let damage = sampled.add_sampled(&dag, &file, selection).expect("readable");
        prop_assert!(matches!(damage, Some(None)), "{damage:?}");
        let rows = |graph: Graph<TimeWeight<'_, true>>| {
            let tree = graph.into_tree();
            tree.rows().map(|(path, row)| (tree.stack(path), row)).collect::<Vec<_>>()
        };
        prop_assert_eq!(rows(sampled), rows(graph));
    }
}

/// The longest calls of a thread.
fn slowest(file: &ThreadFile, count: usize) -> Vec<Call> {
    let mut slowest = Slowest::new(count);
    let mut timeline = file.timeline().expect("a file");
    timeline.visit(&mut slowest);
    slowest.end_thread(&timeline);
    slowest.into_calls().into_iter().map(|slow| slow.call).collect()
}

/// An item of a timeline.
#[derive(Clone, PartialEq, Debug)]
enum Item {
    Enter(u64),
    Exit(bool),
    Note(String),
}

fn items(timeline: Timeline<'_>) -> Vec<(Item, When)> {
    let mut all = Vec::new();
    for event in timeline {
        let event = event.expect("sound");
        let (item, count) = match event.kind {
            EventKind::Enter(method) => (Item::Enter(method.get()), 1),
            EventKind::Exit { count, unwound } => (Item::Exit(unwound.is_some()), count.get()),
            EventKind::RangeEnd { frames } => (Item::Exit(false), frames.get()),
            EventKind::Note(text) => (Item::Note(text), 1),
            _ => continue,
        };
        all.extend((0..count).map(|_| (item.clone(), event.time)));
    }
    all
}

/// A call of the naive model, with estimates.
#[derive(Clone, Copy, PartialEq, Debug)]
struct NaiveCall {
    method: u64,
    depth: usize,
    begin: u64,
    /// `None` if it is not left.
    end: Option<u64>,
}

/// The calls of some events, in the order in which they begin.
fn naive_calls(events: &[(Item, u64)]) -> Vec<NaiveCall> {
    let (mut calls, mut open) = (Vec::<NaiveCall>::new(), Vec::new());
    for (item, now) in events {
        match item {
            Item::Enter(method) => {
                let depth = open.len();
                open.push(calls.len());
                calls.push(NaiveCall { method: *method, depth, begin: *now, end: None });
            }
            Item::Exit(_) => {
                if let Some(call) = open.pop() {
                    calls[call].end = Some(*now);
                }
            }
            Item::Note(_) => {}
        }
    }
    calls
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_timeline_is_its_events_and_marks_one_by_one(
        records in records(),
        picks in prop::collection::vec(any::<bool>(), 1..7),
        lies in lies(),
        // Whether a note is before an event, and how many exits from there on are by exception.
        others in prop::collection::vec((any::<bool>(), 0_u64..3), 1..9),
        depth in 0_u64..5,
        (from, to) in (0_u64..120, 0_u64..120),
        min_ns in prop_oneof![1 => Just(0_u64), 1 => 1_u64..2_000_000],
    ) {
        let thread = thread(&records);
        // Single marks, in the order of the format.
        let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
        let (mut before, mut unwound_to) = (1_000, Position::default());
        let mut expected = Vec::new();
        for (number, event) in thread.events.iter().enumerate() {
            let (notes, unwound) = others[number % others.len()];
            if picks[number % picks.len()] {
                let (by_ns, from_ns) =
                    lies.get(number % lies.len().max(1)).copied().unwrap_or((before, event.at_ns));
                encoder.encode(event.position, &Mark::Time { by_ns, from_ns, ran_us: None }, &mut bytes);
            }
            before = event.at_ns;
            if notes {
                let text = format!("note {number}");
                encoder.encode(event.position, &Mark::Note(text.clone()), &mut bytes);
                expected.push(Item::Note(text));
            }
            if let Some(method) = event.enters {
                expected.push(Item::Enter(method));
                continue;
            }
            let is_known = unwound_to.offset == event.position.offset && event.position < unwound_to;
            if let Some(exits) = NonZeroU64::new(unwound).filter(|_| !is_known) {
                let mark = Mark::Unwound { exits, thrown: None };
                encoder.encode(event.position, &mark, &mut bytes);
                let exits = event.position.exits + exits.get();
                unwound_to = Position { exits, ..event.position };
            }
            let is_unwound = unwound_to.offset == event.position.offset && event.position < unwound_to;
            expected.push(Item::Exit(is_unwound));
        }
        let (_dir, file) = written(&thread, &bytes);
        let all = items(file.timeline().expect("a file"));
        let kinds: Vec<_> = all.iter().map(|(item, _)| item.clone()).collect();
        prop_assert_eq!(&kinds, &expected);

        // The times of events are those of the model.
        let estimates = estimates(&file, &thread, TimeAxis::Wall);
        let times = all.iter().filter(|(item, _)| !matches!(item, Item::Note(_)));
        for ((_, time), (estimate, bounds)) in times.zip(&estimates) {
            prop_assert_eq!(time.bounds, *bounds);
            prop_assert_eq!(time.estimate_ns.unwrap_or(0), *estimate);
        }
        let flat = |all: &[(Item, When)]| -> Vec<(Item, u64)> {
            all.iter().map(|(item, time)| (item.clone(), time.estimate_ns.unwrap_or(0))).collect()
        };
        let naive = naive_calls(&flat(&all));

        // Calls, each where it is left.
        let mut calls: Vec<_> =
            file.timeline().expect("a file").calls().map(|call| call.expect("sound")).collect();
        calls.sort_by_key(|call| call.number);
        prop_assert_eq!(calls.len(), naive.len());
        for (call, naive) in calls.iter().zip(&naive) {
            let found = NaiveCall {
                method: call.method.get(),
                depth: call.depth.as_usize(),
                begin: call.start.estimate_ns.unwrap_or(0),
                end: (!call.is_open).then(|| call.end.estimate_ns.unwrap_or(0)),
            };
            prop_assert_eq!(found, *naive);
        }

        // Calls that are hidden by their depth.
        let outermost = file.timeline().expect("a file").select_outermost(&ALL, depth);
        let outermost = naive_calls(&flat(&items(outermost)));
        let shallow: Vec<_> =
            naive.iter().filter(|call| (call.depth as u64) < depth).copied().collect();
        prop_assert_eq!(outermost, shallow);

        // Calls that are hidden by their duration.
        let last = thread.events.last().map_or(0, |event| event.at_ns);
        let (from_ns, to_ns) = (last * from / 100, (last * to / 100).max(last * from / 100));
        let limits = TimeLimits { from_ns, to_ns, min_ns };
        let end = all.last().map_or(0, |(_, time)| time.estimate_ns.unwrap_or(0));
        let limited = file.timeline().expect("a file").limit(limits, 0);
        let limited = naive_calls(&flat(&items(limited)));
        let mut callers: Vec<usize> = Vec::new();
        let within: Vec<_> = naive
            .iter()
            .filter(|call| {
                let end = call.end.unwrap_or(end);
                call.begin <= to_ns && end >= from_ns && end - call.begin >= min_ns
            })
            .map(|call| {
                callers.retain(|depth| *depth < call.depth);
                callers.push(call.depth);
                (call.method, callers.len() - 1, call.begin.clamp(from_ns, to_ns), call.end)
            })
            .collect();
        prop_assert_eq!(limited.len(), within.len(), "{:?} {:?}", limited, within);
        for (limited, (method, depth, begin, end)) in limited.iter().zip(within) {
            prop_assert_eq!((limited.method, limited.depth, limited.begin), (method, depth, begin));
            if let (Some(limited), Some(end)) = (limited.end, end) {
                prop_assert_eq!(limited, end.clamp(from_ns, to_ns));
            }
        }
    }
}

static ALL: std::sync::LazyLock<Selection> = std::sync::LazyLock::new(Selection::all);

/// The sums of the calls of a timeline.
#[derive(Default, PartialEq, Eq, Debug)]
struct Sums {
    /// For each method: calls, and the total and self of its calls, in calls and in nanoseconds.
    methods: BTreeMap<MethodId, (u64, [u64; 2], [u64; 2])>,
    /// For each path: calls, and the self of its calls in nanoseconds.
    paths: BTreeMap<Vec<MethodId>, (u64, u64)>,
    callers: BTreeMap<Option<MethodId>, u64>,
    callees: BTreeMap<Option<MethodId>, u64>,
    calls: u64,
}

/// The methods whose callers and callees are counted.
fn is_chosen(method: MethodId) -> bool {
    method.get().is_multiple_of(2)
}

fn sums(timeline: Timeline<'_>) -> Sums {
    let mut calls: Vec<_> = timeline.calls().map(|call| call.expect("sound")).collect();
    calls.sort_by_key(|call| call.number);
    let (mut sums, mut stack) = (Sums::default(), Vec::new());
    for (place, call) in calls.iter().enumerate() {
        // `Call::calls` includes hidden calls.
        let inside = calls[place + 1..].iter().take_while(|inner| inner.depth > call.depth);
        let inner = inside.clone().filter(|inner| inner.depth.get() == call.depth.get() + 1);
        let inside_ns: u64 = inner.map(|inner| inner.duration_ns().unwrap_or(0)).sum();
        let duration_ns = call.duration_ns().unwrap_or(0);
        let (total, self_ns) =
            ([inside.count() as u64 + 1, duration_ns], [1, duration_ns - inside_ns]);
        stack.truncate(call.depth.as_usize());
        let caller = stack.last().copied();
        let is_outermost = !stack.contains(&call.method);
        stack.push(call.method);
        let of_method = sums.methods.entry(call.method).or_default();
        of_method.0 += 1;
        for unit in 0..2 {
            of_method.1[unit] += if is_outermost { total[unit] } else { 0 };
            of_method.2[unit] += self_ns[unit];
        }
        let path = sums.paths.entry(stack.clone()).or_default();
        *path = (path.0 + 1, path.1 + self_ns[1]);
        if is_chosen(call.method) {
            *sums.callers.entry(caller).or_default() += 1;
        }
        if caller.is_some_and(is_chosen) {
            *sums.callees.entry(Some(call.method)).or_default() += 1;
        }
        sums.calls += 1;
    }
    sums
}

/// The same by the analyses.
fn analyses(file: &ThreadFile, selection: &Selection, limits: TimeLimits) -> Sums {
    let clock = Clock::default();
    let by_calls = (Report::default(), Graph::default());
    let by_time = (TimedReport::<false>::new(&clock), Graph::new(TimeWeight::<false>::new(&clock)));
    let sides = (Edges::new(Side::Callers, is_chosen), Edges::new(Side::Callees, is_chosen));
    let mut all = (Summary::default(), (by_calls, (by_time, sides)));
    let mut pass = file.timed_pass(selection, limits, &clock, &mut all).expect("a file");
    while pass.visit_some().expect("sound") {}
    pass.finish();
    let (summary, (by_calls, (by_time, sides))) = all;
    let (mut report, mut graph) = by_calls;
    let (mut timed_report, mut timed_graph) = by_time;
    let (mut callers, mut callees) = sides;
    report.end_thread();
    graph.end_thread();
    timed_report.end_thread();
    timed_graph.end_thread();
    callers.end_thread();
    callees.end_thread();

    let mut sums = Sums { calls: summary.enters, ..Sums::default() };
    let timed: BTreeMap<_, _> =
        timed_report.rows().into_iter().map(|row| (row.method, row)).collect();
    for row in report.rows() {
        let timed = timed.get(&row.method).expect("a row");
        assert_eq!(timed.calls, row.calls);
        let (total, self_ns) = ([row.total, timed.total], [row.self_weight, timed.self_weight]);
        sums.methods.insert(row.method, (row.calls, total, self_ns));
    }
    let (tree, timed_tree) = (graph.into_tree(), timed_graph.into_tree());
    for (path, row) in tree.rows() {
        sums.paths.insert(tree.stack(path), (row.calls, 0));
    }
    for (path, row) in timed_tree.rows() {
        let sum = sums.paths.get_mut(&timed_tree.stack(path)).expect("a path");
        assert_eq!(sum.0, row.calls);
        sum.1 = row.self_weight;
    }
    let by_method = |rows: Vec<EdgeRow>| -> BTreeMap<_, _> {
        rows.into_iter().map(|row| (row.method, row.calls)).collect()
    };
    sums.callers = by_method(callers.rows());
    sums.callees = by_method(callees.rows());
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_analysis_is_a_sum_over_the_calls_of_the_timeline(
        records in records(),
        patterns in (any::<bool>(), prop::collection::vec(0_u64..4, 0..3)),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        from in 0_u64..120,
        to in 0_u64..120,
        min_ns in prop_oneof![1 => Just(0_u64), 1 => 1_u64..2000],
    ) {
        // Each event has its self_ns time, and cuts are at events, so no estimate is between two marks.
        let thread = thread(&records);
        let (mut encoder, mut marks) = (MarkEncoder::with_header(), Vec::new());
        for event in &thread.events {
            encoder.encode(event.position, &Mark::Instant { at_ns: event.at_ns }, &mut marks);
        }
        encoder.finish(&mut marks);
        let (dir, file) = written(&thread, &marks);
        let ids: String = (0..4).map(|id| format!("p.C#m{id}()V={id}\n")).collect();
        fs::write(dir.path().join("ids.properties"), ids).expect("written");
        let (includes, patterns) = patterns;
        let globs: Vec<_> = patterns.iter().map(|id| Glob::new(&format!("p.C#m{id}"))).collect();
        let (include, exclude) = if includes { (&globs[..], &[][..]) } else { (&[][..], &globs[..]) };
        let trace = Trace::open(dir.path()).expect("a trace");
        let selection = Selection::new(trace.methods(), include, exclude);

        let last = thread.events.last().map_or(0, |event| event.at_ns);
        let (from_ns, to_ns) = (last * from / 100, last * to / 100);
        let end = Position::before(Offset::new(thread.bytes.len() as u64));
        let positions: Vec<_> = thread.events.iter().map(|event| event.position).chain([end]).collect();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| *cut.get(&positions)).collect();
        cuts.sort();
        let ranges: Vec<_> = cuts.chunks_exact(2).map(|ends| ends[0]..ends[1]).collect();
        let files = [file.only("", &ranges), file];
        for file in files {
            for limits in [TimeLimits::NONE, TimeLimits { from_ns, to_ns, min_ns }] {
                let timeline = file.timeline().expect("a file");
                let expected = sums(timeline.select(&selection).limit(limits, 0));
                prop_assert_eq!(analyses(&file, &selection, limits), expected, "{:?}", limits);
            }
        }
    }
}
