//! Samples of a log added up, with figures worked out by hand.

use std::io::Read;

use flow_codec::format::hpl::{
    HplFrame, HplMethod, HplRecord, HplSignature, HplTime, NATIVE_BCI, NO_LINE, encode,
};
use flow_codec::format::methods::Inlined;
use flow_codec::read::{FlowReader, HplReader, ReadRecords, Tail};
use flow_codec::{NameForm, ThreadId};
use flow_query::analysis::{Graph, Run};
use flow_query::profile::{
    Collector, FrameGrouping, GapRule, LeanFrame, LeanMethod, LeanNode, LeanPlace, LeanProfile,
    Numbers, Profile, ProfileRow, SampleWeight, ThreadGrouping,
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
        .map(|(id, method)| format!("{id} {}.{} {}", method.class, method.name, method.file))
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

/// Each row, indented: its name, line and bytecode index; then the figures of a run.
fn lines(profile: &Profile, run: usize) -> Vec<String> {
    let line = |row: &ProfileRow<'_>| {
        let Some(frame) = row.frame else {
            let name = row.thread.name.as_deref().unwrap_or("all");
            return format!("{name} {}", figures(row.numbers[run]));
        };
        let names = flow_codec::MethodNames::new(profile.methods());
        let name = names.get(frame.method, NameForm::Short);
        let number = |number: Option<i64>| number.map_or(String::new(), |n| format!(":{n}"));
        let (line, bci) = (number(frame.line.map(i64::from)), number(frame.bci.map(i64::from)));
        format!("{}{name}{line}{bci} {}", " ".repeat(row.depth + 1), figures(row.numbers[run]))
    };
    profile.rows(|row| row.number).iter().map(line).collect()
}

fn by_name(frames: FrameGrouping, threads: ThreadGrouping) -> Profile {
    let mut profile = Profile::new(frames, threads);
    profile.add_samples(Run::Before, &added(&log(), GapRule::Thread).0, |_, _| true, |_| true);
    profile
}

#[test]
fn frames_are_grouped_by_method_line_or_instruction_and_threads_by_name_or_not_at_all() {
    let profile = by_name(FrameGrouping::Method, ThreadGrouping::Merged);
    assert_eq!(
        lines(&profile, 0),
        [
            "all 5 0 150 0",
            " A.run 4 0 135 0",
            "  A.work 3 2 120 75",
            "   A.run 1 1 45 45",
            "  ?#12 1 1 15 15",
            " AGCT.GcActiveErr2 1 1 15 15",
        ]
    );
    let profile = by_name(FrameGrouping::Line, ThreadGrouping::Name);
    assert_eq!(
        lines(&profile, 0),
        [
            "worker 3 0 120 0",
            " A.run:5 3 0 120 0",
            "  A.work:7 2 2 75 75",
            "  A.work:8 1 0 45 0",
            "   A.run:5 1 1 45 45",
            " 2 0 30 0",
            " A.run:5 1 0 15 0",
            "  ?#12 1 1 15 15",
            " AGCT.GcActiveErr2 1 1 15 15",
        ]
    );
    let profile = by_name(FrameGrouping::Bci, ThreadGrouping::Id);
    assert_eq!(lines(&profile, 0)[2], "  A.work:7:3 2 2 75 75");
    assert_eq!(profile.rows(|row| row.number)[0].thread.id, Some(1));
}

#[test]
fn threads_without_a_name_are_one_and_native_methods_have_their_index() {
    let native = LeanFrame { method: 20, line: NO_LINE, bci: NATIVE_BCI };
    let unknown = LeanFrame { method: 20, line: NO_LINE, bci: -1 };
    let mut samples = LeanProfile::default();
    samples.name_thread(3, "named");
    for (thread, frame) in [(1, native), (2, native), (2, unknown), (3, native)] {
        samples.add(thread, [frame], SampleWeight { count: 1, ns: 5, ..SampleWeight::default() });
    }
    let mut profile = Profile::new(FrameGrouping::Bci, ThreadGrouping::Name);
    profile.add_samples(Run::Before, &samples, |_, _| true, |_| true);
    let expected =
        [" 3 0 15 0", " ?#20:-3 2 2 10 10", " ?#20 1 1 5 5", "named 1 0 5 0", " ?#20:-3 1 1 5 5"];
    assert_eq!(lines(&profile, 0), expected);
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
    let flat = by_name(FrameGrouping::Method, ThreadGrouping::Merged).flat();
    assert_eq!(
        lines(&flat, 0),
        [
            "all 5 0 150 0",
            " A.run 4 1 135 45",
            " A.work 3 2 120 75",
            " ?#12 1 1 15 15",
            " AGCT.GcActiveErr2 1 1 15 15",
        ]
    );
}

#[test]
fn callers_and_callees_are_those_of_the_outermost_call() {
    let profile = by_name(FrameGrouping::Method, ThreadGrouping::Merged);
    let named = |name: &'static str| {
        let methods = profile.methods().clone();
        move |frame: &flow_query::profile::ProfileFrame| {
            methods.get(frame.method).is_some_and(|method| method.info.name == name)
        }
    };
    let callers = profile.clone().callers(named("work"));
    assert_eq!(lines(&callers, 0), ["all 5 0 150 0", " A.work 3 2 120 75", "  A.run 3 2 120 75"]);
    let callers = profile.clone().callers(named("run"));
    assert_eq!(lines(&callers, 0), ["all 5 0 150 0", " A.run 4 1 135 45"]);
    let callees = profile.clone().callees(named("run"));
    assert_eq!(
        lines(&callees, 0),
        [
            "all 5 0 150 0",
            " A.run 4 0 135 0",
            "  A.work 3 2 120 75",
            "   A.run 1 1 45 45",
            "  ?#12 1 1 15 15",
        ]
    );
    let callees = profile.clone().callees(named("work"));
    assert_eq!(lines(&callees, 0), ["all 5 0 150 0", " A.work 3 2 120 75", "  A.run 1 1 45 45"]);
}

#[test]
fn rows_that_are_kept_are_below_their_callers_with_the_same_shares() {
    let profile = by_name(FrameGrouping::Method, ThreadGrouping::Merged);
    let kept = profile.only(|row| row.depth == 2);
    assert_eq!(
        lines(&kept, 0),
        ["all 5 0 150 0", " A.run 4 0 135 0", "  A.work 3 2 120 75", "   A.run 1 1 45 45"]
    );
    let rows = kept.rows(|row| row.number);
    assert_eq!(figures(rows[2].of_parent[0]), "4 0 135 0");
    assert_eq!(figures(rows[2].of_thread[0]), "5 0 150 0");
}

#[test]
fn profiles_of_one_run_are_added_up_and_those_of_two_are_compared() {
    let profile = added(&log(), GapRule::Thread).0;
    let mut both = Profile::new(FrameGrouping::Method, ThreadGrouping::Merged);
    both.add_samples(Run::Before, &profile, |_, _| true, |_| true);
    both.add_samples(Run::Before, &profile, |_, _| true, |_| true);
    both.add_samples(Run::After, &profile, |_, _| true, |_| true);
    let flat = both.flat();
    assert_eq!(lines(&flat, 0)[1], " A.run 8 2 270 90");
    assert_eq!(lines(&flat, 1)[1], " A.run 4 1 135 45");
    assert_eq!(flat.whole().map(|numbers| numbers.total_count), [10, 5]);
}

#[test]
fn only_the_threads_that_are_chosen_count() {
    let profile = added(&log(), GapRule::Thread).0;
    let mut one = Profile::new(FrameGrouping::Method, ThreadGrouping::Id);
    one.add_samples(Run::Before, &profile, |_, name| name == "worker", |_| true);
    assert_eq!(lines(&one, 0)[0], "worker 3 0 120 0");
    assert_eq!((one.threads(), one.whole()[0].total_count), (1, 3));
}

#[test]
fn rows_of_one_parent_are_in_the_order_of_the_key() {
    let flat = by_name(FrameGrouping::Method, ThreadGrouping::Merged).flat();
    let rows = flat.rows(|row| std::cmp::Reverse(row.numbers[0].self_count));
    let counts: Vec<_> = rows.iter().map(|row| row.numbers[0].self_count).collect();
    assert_eq!(counts, [0, 2, 1, 1, 1]);
}

#[test]
fn paths_of_methods_have_the_same_weights() {
    let profile = by_name(FrameGrouping::Line, ThreadGrouping::Name);
    let paths = profile.paths(false);
    let stack = |path| {
        let stack: Vec<_> =
            paths.tree.stack(path).into_iter().map(|id| paths.methods.display(id)).collect();
        stack.join(" > ")
    };
    let rows: Vec<_> = paths
        .tree
        .rows()
        .map(|(path, row)| format!("{} {}", stack(path), row.self_weight))
        .collect();
    assert_eq!(rows[0], "worker 0");
    assert_eq!(rows[2], "worker > com.app.A.run()V > com.app.A.work()V 2");
    assert_eq!((paths.tree.weight(), profile.paths(true).tree.weight()), (5, 150));
    let lines: Vec<_> = paths.methods.iter().filter_map(|(_, method)| method.info.line).collect();
    assert_eq!(lines, [5, 7, 8]);
}

#[test]
fn calls_are_counted_exactly() {
    // 1 calls 2 twice, and itself; then 2 again.
    let bytes: &[u8] = &[0x81, 0x82, 0x00, 0x82, 0x00, 0x81, 0x01, 0x82, 0x00];
    let mut graph = Graph::default();
    FlowReader::new(bytes.take(u64::MAX)).visit_all(&mut graph).expect("sound events");
    graph.end_thread();
    let (tree, mut profile) =
        (graph.into_tree(), Profile::new(FrameGrouping::Method, ThreadGrouping::Name));
    let methods = flow_codec::read::Methods::default();
    profile.add_calls(Run::Before, ThreadId::new(1), "main", &tree, &methods);
    assert_eq!(
        lines(&profile, 0),
        ["main 5 0 0 0", " ?#1 4 1 0 0", "  ?#2 2 2 0 0", "  ?#1 1 1 0 0", " ?#2 1 1 0 0"]
    );
    assert_eq!(lines(&profile.flat(), 0), ["main 5 0 0 0", " ?#1 4 2 0 0", " ?#2 3 3 0 0"]);
}

#[test]
fn lines_of_inlined_code_are_those_of_the_version_that_was_sampled() {
    let inlined = |line, file: &str| -> Box<[Inlined]> {
        let file = file.to_owned();
        Box::new([Inlined { first: 20, count: 2, line, file }])
    };
    let versions: [(Box<[Inlined]>, &[i32]); 3] = [
        (inlined(100, "k/A.kt"), &[20, 5, 21][..]),
        (inlined(200, "k/B.kt"), &[20, 5, 21]),
        (Box::default(), &[20, 5]),
    ];
    let mut profile = Profile::new(FrameGrouping::Line, ThreadGrouping::Merged);
    for (run, order) in [(Run::Before, [0, 1, 2]), (Run::After, [2, 1, 0])] {
        for (inlined, lines) in order.map(|version| &versions[version]) {
            let mut samples = LeanProfile::default();
            samples.describe_method(7, || LeanMethod {
                file: "Main.kt".to_owned(),
                class: "com.app.Main".to_owned(),
                name: "work".to_owned(),
                descriptor: "()V".to_owned(),
                inlined: inlined.clone(),
            });
            for &line in *lines {
                let frame = LeanFrame { method: 7, line, bci: 0 };
                samples.add(1, [frame], SampleWeight { count: 1, ns: 1, waiting_ns: 0 });
            }
            profile.add_samples(run, &samples, |_, _| true, |_| true);
        }
    }
    let rows = profile.rows(|row| row.number);
    let place = |row: &ProfileRow<'_>| {
        let frame = row.frame?;
        let info = &profile.methods().get(frame.method).unwrap().info;
        let (file, line) = info.named_place(frame.line);
        let counts = row.numbers.map(|numbers| numbers.self_count);
        Some((file.unwrap().to_owned(), line.unwrap(), counts))
    };
    let mut found: Vec<_> = rows.iter().filter_map(place).collect();
    found.sort();
    let row = |file: &str, line, counts| (file.to_owned(), line, counts);
    let expected = [
        row("A.kt", 100, [1, 1]),
        row("A.kt", 101, [1, 1]),
        row("B.kt", 200, [1, 1]),
        row("B.kt", 201, [1, 1]),
        row("Main.kt", 5, [3, 3]),
        row("Main.kt", 20, [1, 1]),
    ];
    assert_eq!(found, expected);
}
