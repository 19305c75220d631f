//! Samples of a log added up, with figures worked out by hand.

use flow_codec::format::hpl::{
    HplFrame, HplMethod, HplRecord, HplSignature, HplTime, NATIVE_BCI, NO_LINE, encode,
};
use flow_codec::format::methods::{Inlined, MethodInfo};
use flow_codec::read::{FlowReader, HplReader, ReadRecords, Tail, TimeAxis};
use flow_codec::{MethodId, NameForm};
use flow_query::analysis::{Graph, PathId, PathRow, PathTree, Precision};
use flow_query::profile::{
    Collector, FrameGrouping, Frames, GapRule, LeanFrame, LeanNode, LeanPlace, LeanProfile,
    Numbers, SampleWeight,
};

const RUN: (i64, i32, i32) = (10, 5, 1);
const WORK: (i64, i32, i32) = (11, 7, 3);
const WORK_LATER: (i64, i32, i32) = (11, 8, 9);
const UNKNOWN: (i64, i32, i32) = (12, 0, 0);

fn encoded(records: &[HplRecord<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    records.iter().for_each(|record| encode(record, &mut bytes));
    bytes
}

/// A sample at a time, with its frames from the outermost on.
fn sample(thread: i64, at_ns: i64, stack: &[(i64, i32, i32)]) -> Vec<HplRecord<'static>> {
    let time = Some(HplTime { seconds: 100, nanoseconds: at_ns });
    let frames = i32::try_from(stack.len()).expect("a small stack");
    let frame = |&(method, line, bci): &(i64, i32, i32)| {
        HplRecord::Frame(HplFrame { bci, line: Some(line), method })
    };
    let start = HplRecord::Stack { frames, thread, time };
    std::iter::once(start).chain(stack.iter().rev().map(frame)).collect()
}

fn name(thread: i64, name: &'static str) -> Vec<HplRecord<'static>> {
    vec![HplRecord::Thread { thread, name: name.into() }]
}

fn method(method: i64, name: &'static str) -> Vec<HplRecord<'static>> {
    let signature = Some(HplSignature { descriptor: "()V".into(), ..HplSignature::default() });
    let (file, class) = ("A.java".into(), "Lcom/app/A;".into());
    vec![HplRecord::Method(HplMethod { method, file, class, name: name.into(), signature })]
}

/// Two threads: one is renamed twice, the other has no name. A method that is described late and again, one that is
/// never described, a failure, a clock that is set back by 5 ns, and a method that calls itself.
fn log() -> Vec<u8> {
    let failed = HplRecord::Stack {
        frames: -2,
        thread: 2,
        time: Some(HplTime { seconds: 100, nanoseconds: 1025 }),
    };
    let records = [
        name(1, "main"),
        name(1, ""),
        sample(1, 1000, &[RUN, WORK]),
        method(10, "run"),
        sample(2, 1010, &[RUN, UNKNOWN]),
        method(11, "work"),
        sample(1, 1030, &[RUN, WORK]),
        name(1, "worker"),
        name(1, ""),
        vec![failed],
        method(10, "again"),
        sample(1, 1075, &[RUN, WORK_LATER, RUN]),
    ];
    encoded(&records.concat())
}

/// The same, and a stack that is cut.
fn truncated_log() -> Vec<u8> {
    let cut = encoded(&sample(1, 1085, &[RUN, WORK, RUN]));
    [log(), cut[..cut.len() - 3].to_vec()].concat()
}

fn added(bytes: &[u8], rule: GapRule) -> (LeanProfile, Tail) {
    let mut collector = Collector::new(rule);
    let mut reader = HplReader::new(bytes);
    collector.add_all(&mut reader).expect("a sound log");
    (collector.finish(), reader.tail())
}

/// Each node, indented: the number of a thread, or method, line and bytecode index; then total and self of count and time.
fn lean_lines(profile: &LeanProfile) -> Vec<String> {
    let nodes: Vec<_> = profile.nodes().collect();
    let line = |index: usize| {
        let depth = std::iter::successors(nodes[index].parent, |parent| nodes[*parent].parent);
        let place = match nodes[index].place {
            LeanPlace::Thread(thread) => format!("thread {thread}"),
            LeanPlace::Frame(LeanFrame { method, line, bci }) => format!("{method}:{line}:{bci}"),
        };
        format!("{}{place} {}", " ".repeat(depth.count()), figures(nodes[index].numbers))
    };
    (0..nodes.len()).map(line).collect()
}

fn figures(numbers: Numbers) -> String {
    let Numbers { total_count, self_count, total_ns, self_ns, .. } = numbers;
    format!("{total_count} {self_count} {total_ns} {self_ns}")
}

#[test]
fn with_the_global_rule_a_sample_lasts_until_the_next_of_any_thread() {
    let (profile, tail) = added(&truncated_log(), GapRule::Global);
    // Samples last 10, 20, 50 and 10 ns; the third one none, because the next one is earlier.
    assert_eq!(
        lean_lines(&profile),
        [
            "thread 1 7 3 50 20",
            " 10:5:1 3 0 20 0",
            "  11:7:3 2 2 10 10",
            "thread 2 3 2 90 70",
            " 10:5:1 1 0 20 0",
            "  12:0:0 1 1 20 20",
            " -3:-100:-1 1 1 50 50",
            "  11:8:9 1 0 10 0",
            "   10:5:1 1 1 10 10",
        ]
    );
    assert!(matches!(tail, Tail::Truncated { .. }));
    assert_eq!((profile.samples(), profile.failed(), profile.cut()), (5, 1, 1));
    // Without the stack that is cut, the last sample lasts as long as the one before.
    let (profile, tail) = added(&log(), GapRule::Global);
    assert_eq!(lean_lines(&profile)[8], "   10:5:1 1 1 50 50");
    assert_eq!((tail, profile.cut()), (Tail::Complete, 0));
}

#[test]
fn with_the_rule_of_threads_a_sample_lasts_until_the_next_of_its_thread() {
    let (profile, _) = added(&truncated_log(), GapRule::Thread);
    // Those of thread 1 last 30, 45 and 10 ns; those of thread 2 15 ns, and then 15 ns again.
    assert_eq!(
        lean_lines(&profile),
        [
            "thread 1 7 3 180 85",
            " 10:5:1 3 0 85 0",
            "  11:7:3 2 2 75 75",
            "thread 2 3 2 45 30",
            " 10:5:1 1 0 15 0",
            "  12:0:0 1 1 15 15",
            " -3:-100:-1 1 1 15 15",
            "  11:8:9 1 0 10 0",
            "   10:5:1 1 1 10 10",
        ]
    );
    let (profile, _) = added(&log(), GapRule::Thread);
    assert_eq!(lean_lines(&profile)[8], "   10:5:1 1 1 45 45");
}

#[test]
fn the_last_name_of_a_thread_counts_and_the_first_description_of_a_method() {
    let (profile, _) = added(&log(), GapRule::Thread);
    let names: Vec<_> = profile.threads().iter().map(|(id, name)| (*id, name.as_str())).collect();
    assert_eq!(names, [(1, "worker"), (2, "")]);
    let methods: Vec<_> = profile
        .methods()
        .iter()
        .map(|(id, method)| {
            let file = method.source.as_deref().unwrap_or_default();
            format!("{id} {}.{} {file}", method.class, method.name)
        })
        .collect();
    assert_eq!(
        methods,
        ["-3 AGCT.GcActiveErr2 ", "10 com.app.A.run A.java", "11 com.app.A.work A.java"]
    );
}

#[test]
fn samples_without_times_are_counted() {
    let mut records = sample(1, 0, &[RUN]);
    records.extend(sample(1, 5, &[RUN]));
    for record in &mut records {
        if let HplRecord::Stack { time, .. } = record {
            *time = None;
        }
    }
    let (profile, _) = added(&encoded(&records), GapRule::Thread);
    assert_eq!(lean_lines(&profile), ["thread 1 2 2 0 0", " 10:5:1 2 2 0 0"]);
}

/// All, and each path, indented: its name, line and bytecode index; then total and self of samples and time.
fn lines(frames: &Frames<'_>, tree: &PathTree) -> Vec<String> {
    let names = flow_codec::MethodNames::new(frames.methods());
    let of_path = |path: &PathId| {
        let (path, row) = (*path, tree.row(*path).expect("a path"));
        let frame = frames.get(row.method).expect("a frame");
        let name = names.get(frame.method, NameForm::Short);
        let number = |number: Option<i64>| number.map_or(String::new(), |n| format!(":{n}"));
        let (line, bci) = (number(frame.line.map(i64::from)), number(frame.bci.map(i64::from)));
        let indent = " ".repeat(tree.stack(path).len());
        let [total_ns, self_ns] = tree.times_ns(path);
        let Precision { total_samples, self_samples, .. } = row.precision;
        format!("{indent}{name}{line}{bci} {total_samples} {self_samples} {total_ns} {self_ns}")
    };
    let root = tree.root();
    let all = format!("all {} {}", tree.samples(root), tree.times_ns(root)[0]);
    // In the order of the stacks.
    let mut paths: Vec<_> = tree.rows().map(|(path, _)| path).collect();
    paths.sort_by_key(|path| {
        let callers = std::iter::successors(Some(*path), |path| tree.parent(*path));
        callers.collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>()
    });
    std::iter::once(all).chain(paths.iter().map(of_path)).collect()
}

/// The samples of the log, whose frames are grouped, and passed through a view.
fn viewed(
    grouping: FrameGrouping,
    view: impl Fn(&Frames<'_>, PathTree) -> PathTree,
) -> Vec<String> {
    let (profile, _) = added(&log(), GapRule::Thread);
    let frames = Frames::new(&profile, grouping);
    let tree = frames.tree(|_| true, |_| true, None);
    lines(&frames, &view(&frames, tree))
}

#[test]
fn frames_are_grouped_by_method_line_or_instruction() {
    assert_eq!(
        viewed(FrameGrouping::Method, |_, tree| tree),
        [
            "all 5 150",
            " A.run 4 0 135 0",
            "  A.work 3 2 120 75",
            "   A.run 1 1 45 45",
            "  ?#12 1 1 15 15",
            " AGCT.GcActiveErr2 1 1 15 15",
        ]
    );
    assert_eq!(
        viewed(FrameGrouping::Line, |_, tree| tree),
        [
            "all 5 150",
            " A.run:5 4 0 135 0",
            "  A.work:7 2 2 75 75",
            "  ?#12 1 1 15 15",
            "  A.work:8 1 0 45 0",
            "   A.run:5 1 1 45 45",
            " AGCT.GcActiveErr2 1 1 15 15",
        ]
    );
    assert_eq!(viewed(FrameGrouping::Bci, |_, tree| tree)[2], "  A.work:7:3 2 2 75 75");
}

#[test]
fn native_methods_have_their_index() {
    let native = LeanFrame { method: 20, line: NO_LINE, bci: NATIVE_BCI };
    let unknown = LeanFrame { method: 20, line: NO_LINE, bci: -1 };
    let mut samples = LeanProfile::default();
    for (thread, frame) in [(1, native), (2, native), (2, unknown), (3, native)] {
        samples.add(thread, [frame], SampleWeight { count: 1, ns: 5, ..SampleWeight::default() });
    }
    let frames = Frames::new(&samples, FrameGrouping::Bci);
    let tree = frames.tree(|thread| thread < 3, |_| true, None);
    assert_eq!(lines(&frames, &tree), ["all 3 15", " ?#20:-3 2 2 10 10", " ?#20 1 1 5 5"]);
}

/// Times of a log that is hostile: extreme, negative, and with nanoseconds that are no part of a second.
#[test]
fn no_time_is_negative() {
    let wild = [i64::MIN, -1_000_000_001, -1, 0, 7, 1_000_000_000, i64::MAX];
    let mut records = name(1, "main");
    for seconds in wild {
        for nanoseconds in wild {
            let thread = seconds ^ nanoseconds & 1;
            let time = Some(HplTime { seconds, nanoseconds });
            records.push(HplRecord::Stack { frames: 1, thread, time });
            records.push(HplRecord::Frame(HplFrame { bci: 1, line: Some(5), method: 10 }));
        }
    }
    for rule in [GapRule::Thread, GapRule::Global] {
        let (profile, _) = added(&encoded(&records), rule);
        assert_eq!(profile.samples(), 49);
        let is_time = |node: LeanNode| node.numbers.total_ns >= 0 && node.numbers.self_ns >= 0;
        assert!(profile.nodes().all(is_time), "{:?}", lean_lines(&profile));
    }
}

#[test]
fn a_method_that_calls_itself_counts_once_for_each_sample() {
    assert_eq!(
        viewed(FrameGrouping::Method, |_, tree| tree.flat()),
        [
            "all 5 150",
            " A.run 4 1 135 45",
            " A.work 3 2 120 75",
            " ?#12 1 1 15 15",
            " AGCT.GcActiveErr2 1 1 15 15",
        ]
    );
}

/// Returns whether a frame is of a method with this name.
fn is_named(frames: &Frames<'_>, frame: MethodId, name: &str) -> bool {
    let method = frames.get(frame).and_then(|frame| frames.methods().get(frame.method));
    method.is_some_and(|method| method.info().name == name)
}

#[test]
fn callers_and_callees_are_those_of_the_outermost_call() {
    let callers = |name: &str| {
        viewed(FrameGrouping::Method, |frames, tree| tree.callers(|id| is_named(frames, id, name)))
    };
    assert_eq!(callers("work"), ["all 5 150", " A.work 3 2 120 75", "  A.run 3 2 120 75"]);
    assert_eq!(callers("run"), ["all 5 150", " A.run 4 1 135 45"]);
    let callees = |name: &str| {
        viewed(FrameGrouping::Method, |frames, tree| tree.callees(|id| is_named(frames, id, name)))
    };
    assert_eq!(
        callees("run"),
        [
            "all 5 150",
            " A.run 4 0 135 0",
            "  A.work 3 2 120 75",
            "   A.run 1 1 45 45",
            "  ?#12 1 1 15 15",
        ]
    );
    assert_eq!(callees("work"), ["all 5 150", " A.work 3 2 120 75", "  A.run 1 1 45 45"]);
}

#[test]
fn paths_that_are_kept_are_below_their_callers_with_the_same_sums() {
    let kept =
        viewed(FrameGrouping::Method, |_, tree| tree.only(|path| tree.stack(path).len() == 3));
    assert_eq!(
        kept,
        ["all 5 150", " A.run 4 0 135 0", "  A.work 3 2 120 75", "   A.run 1 1 45 45"]
    );
}

#[test]
fn samples_in_methods_that_are_not_shown_are_those_of_their_callers() {
    let (profile, _) = added(&log(), GapRule::Thread);
    let frames = Frames::new(&profile, FrameGrouping::Method);
    let tree = frames.tree(|_| true, |method| method.name == "work", None);
    assert_eq!(lines(&frames, &tree), ["all 5 150", " A.work 3 3 120 120"]);
}

#[test]
fn only_the_threads_that_are_selected_count() {
    let (profile, _) = added(&log(), GapRule::Thread);
    let frames = Frames::new(&profile, FrameGrouping::Method);
    let is_worker = |id| profile.threads().get(&id).is_some_and(|name| name == "worker");
    assert_eq!(lines(&frames, &frames.tree(is_worker, |_| true, None))[0], "all 3 120");
}

#[test]
fn samples_weigh_1_or_their_time() {
    let (profile, _) = added(&log(), GapRule::Thread);
    let frames = Frames::new(&profile, FrameGrouping::Line);
    let weight = |axis| {
        let tree = frames.tree(|_| true, |_| true, axis);
        let row = tree.rows().nth(1).map(|(_, row)| (row.calls, row.total, row.self_weight));
        (tree.axis(), tree.weight(), row)
    };
    assert_eq!(weight(None), (None, 5, Some((0, 2, 2))));
    let wall = Some(TimeAxis::Wall);
    assert_eq!(weight(wall), (wall, 150, Some((0, 75, 75))));
    let methods = frames.as_methods();
    let lines: Vec<_> = methods.iter().filter_map(|(_, method)| method.info().line).collect();
    assert_eq!(lines, [5, 7, 8]);
}

#[test]
fn views_of_calls_have_exact_numbers() {
    // 1 calls 2 twice, and itself; then 2 again.
    let bytes: &[u8] = &[0x81, 0x82, 0x00, 0x82, 0x00, 0x81, 0x01, 0x82, 0x00];
    let mut graph = Graph::default();
    FlowReader::new(bytes).visit_all(&mut graph).expect("sound events");
    graph.end_thread();
    let tree = graph.into_tree();
    let rows = |tree: &PathTree| {
        let row = |(path, row): (PathId, PathRow)| {
            let stack: Vec<_> = tree.stack(path).iter().map(|method| method.get()).collect();
            (stack, row.calls, row.total, row.self_weight)
        };
        (tree.calls(), tree.weight(), tree.rows().map(row).collect::<Vec<_>>())
    };
    assert_eq!(rows(&tree.flat()), (5, 5, vec![(vec![1], 2, 4, 2), (vec![2], 3, 3, 3)]));
    let is_two = |method: MethodId| method.get() == 2;
    let expected = vec![(vec![2], 3, 3, 3), (vec![2, 1], 2, 2, 2)];
    assert_eq!(rows(&tree.callers(is_two)), (5, 5, expected));
    assert_eq!(rows(&tree.callees(is_two)), (5, 5, vec![(vec![2], 3, 3, 3)]));
}

#[test]
fn lines_of_inlined_code_are_those_of_their_source() {
    let inlined = Box::new([Inlined { first: 20, count: 2, line: 100, file: "k/A.kt".to_owned() }]);
    let mut samples = LeanProfile::default();
    samples.describe_method(7, || MethodInfo {
        source: Some("Main.kt".to_owned()),
        class: "com.app.Main".to_owned(),
        name: "work".to_owned(),
        descriptor: "()V".to_owned(),
        inlined,
        ..MethodInfo::default()
    });
    for line in [20, 5, 21] {
        let weight = SampleWeight { count: 1, ns: 1, waiting_ns: 0 };
        samples.add(1, [LeanFrame { method: 7, line, bci: 0 }], weight);
    }
    let frames = Frames::new(&samples, FrameGrouping::Line);
    let methods = frames.as_methods();
    let place = |method: &flow_codec::read::Method| {
        (method.info().source.clone().unwrap(), method.info().line.unwrap())
    };
    let places: Vec<_> = methods.iter().map(|(_, method)| place(method)).collect();
    let place = |file: &str, line| (file.to_owned(), line);
    assert_eq!(places, [place("A.kt", 100), place("Main.kt", 5), place("A.kt", 101)]);
}
