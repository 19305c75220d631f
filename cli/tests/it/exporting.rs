//! Exports, decoded by independent readers of their formats, compared with a simple model of the
//! recorded calls.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use flow_codec::Offset;
use flow_codec::format::marks::{Mark, MarkEncoder, Position};
use flow_codec::format::values::{CallValue, Primitive, Role, Value};

use crate::common::{Run, bare, command, flow, manifest, test_mark, text, trace, write_trace};
use crate::readers::{Call, Paths, Stack, Threads};
use tempfile::TempDir;

const METHODS: &str = r#"{"id":0,"class":"com.app.Main","name":"main","descriptor":"([Ljava/lang/String;)V","source":"Main.java","line":7}
{"id":1,"class":"com.app.Main","name":"work","descriptor":"(I[[JLjava/util/Map$Entry;)I","source":"Main.java"}
{"id":2,"class":"com.app.Main$Job","name":"<init>","descriptor":"()V"}
{"id":3,"class":"odd.\"Q\\","name":"<a&b>;\u0007","descriptor":"()V"}
"#;

/// The names of the methods in exports; the last method has no name.
const NAMES: [&str; 5] = [
    "com.app.Main.main(String[])",
    "com.app.Main.work(int, long[][], Map$Entry)",
    "com.app.Main$Job.<init>()",
    r#"odd."Q\.<a&b>;\u{7}()"#,
    "?#4",
];

const THREADS: &str = r#"{"event":"start","id":1,"name":"main","daemon":false,"virtual":false,"at_ns":1}
{"event":"start","id":13,"name":"","daemon":true,"virtual":true,"at_ns":3}
{"event":"start","id":99999999999,"name":"\"far\"","daemon":true,"virtual":true,"at_ns":3}
"#;

/// The threads, with their names.
const IDS: [(u64, &str); 4] = [
    (1, "main"),
    (12, "thread 12"),
    (13, "thread 13 (virtual)"),
    (99_999_999_999, "\"far\" (virtual)"),
];

/// A method is entered, or this many frames are left.
#[derive(Clone, Copy)]
enum Event {
    Enter(usize),
    Exit(usize),
}

/// Pseudo-random calls of all methods. Some frames are open at the end, and the first exits find no frame.
fn events(seed: u64, count: usize) -> Vec<Event> {
    let mut state = seed;
    let mut next = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((state >> 33) % below).unwrap()
    };
    let mut events = vec![Event::Exit(3), Event::Enter(0)];
    events.extend((0..count).map(|_| match next(5) {
        0 | 1 => Event::Exit(1 + next(3)),
        _ => Event::Enter(next(5)),
    }));
    events.extend([Event::Exit(63), Event::Enter(1), Event::Enter(1)]);
    events
}

fn bytes(events: &[Event]) -> Vec<u8> {
    let byte = |event: &Event| match event {
        Event::Enter(method) => 0x80 | u8::try_from(*method).unwrap(),
        Event::Exit(count) => u8::try_from(*count - 1).unwrap(),
    };
    events.iter().map(byte).collect()
}

/// The part of a trace that is exported.
struct Case {
    args: &'static [&'static str],
    methods: &'static [usize],
    depth: usize,
}

const CASES: [Case; 4] = [
    Case { args: &[], methods: &[0, 1, 2, 3, 4], depth: usize::MAX },
    Case { args: &["--depth", "3"], methods: &[0, 1, 2, 3, 4], depth: 3 },
    Case { args: &["--exclude", "com.app.Main#work"], methods: &[0, 2, 3, 4], depth: usize::MAX },
    Case { args: &["--include", "com.app.**", "--depth", "2"], methods: &[0, 1, 2], depth: 2 },
];

impl Case {
    /// The calls of a thread, with the method in place of a name.
    fn calls(&self, events: &[Event]) -> Vec<Call> {
        let mut stack = Stack::default();
        // For each open frame, whether it is selected, and whether it is shown.
        let mut frames: Vec<(bool, bool)> = Vec::new();
        let mut now = 0;
        for event in events {
            match event {
                Event::Enter(method) => {
                    let depth = frames.iter().filter(|(is_selected, _)| *is_selected).count();
                    let is_selected = self.methods.contains(method);
                    let is_shown = is_selected && depth < self.depth;
                    frames.push((is_selected, is_shown));
                    if is_shown {
                        stack.begin(method.to_string(), now);
                    }
                    now += 1;
                }
                Event::Exit(count) => {
                    for _ in 0..*count {
                        if let Some((_, true)) = frames.pop() {
                            stack.end(now);
                        }
                    }
                }
            }
        }
        stack.finish()
    }

    /// The paths of all threads.
    fn paths(&self, form: fn(&str) -> String) -> Paths {
        let whole = Case { depth: usize::MAX, ..*self };
        let mut paths = Paths::new();
        for (_, events) in recorded() {
            let mut stack: Vec<String> = Vec::new();
            for call in whole.calls(&events) {
                stack.truncate(call.depth);
                stack.push(form(name(&call)));
                let shown = stack.iter().take(self.depth).cloned().collect();
                *paths.entry(shown).or_default() += 1;
            }
        }
        paths
    }

    fn export(&self, to: &str, dir: &Path) -> Vec<u8> {
        let mut command = command();
        command.args(["export", "--to", to]).args(self.args).arg(dir);
        let output = command.output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), err.as_str()), (Some(0), ""));
        output.stdout
    }
}

fn name(call: &Call) -> &'static str {
    NAMES[call.name.parse::<usize>().unwrap()]
}

fn recorded() -> Vec<(u64, Vec<Event>)> {
    let lengths = [900, 200, 0, 30];
    (1..)
        .zip(IDS.iter().zip(lengths))
        .map(|(seed, ((id, _), count))| (*id, events(seed, count)))
        .collect()
}

fn large_trace() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("methods.jsonl"), METHODS).unwrap();
    fs::write(dir.path().join("threads.jsonl"), THREADS).unwrap();
    for (id, events) in recorded() {
        fs::write(dir.path().join(format!("thread-{id}.flow")), bytes(&events)).unwrap();
    }
    dir
}

/// The calls that a timeline must show.
fn timeline(case: &Case) -> Threads {
    let threads = recorded().into_iter().zip(IDS).map(|((_, events), (_, thread))| {
        let named = |call: Call| Call { name: name(&call).to_owned(), ..call };
        (thread.to_owned(), case.calls(&events).into_iter().map(named).collect())
    });
    threads.collect()
}

#[test]
fn timelines_show_each_call_with_its_start_and_end() {
    let dir = large_trace();
    for case in &CASES {
        let expected = timeline(case);
        assert!(expected["main"].len() > 100);
        let (process, threads) =
            crate::readers::perfetto::read(&case.export("perfetto", dir.path()));
        assert_eq!((process.as_str(), &threads), ("JVM (1 µs is 1 call)", &expected));
        let (process, threads) = crate::readers::chrome::read(&case.export("chrome", dir.path()));
        assert_eq!((process.as_str(), &threads), ("JVM (1 µs is 1 call)", &expected));
        let (product, threads) = crate::readers::firefox::read(&case.export("firefox", dir.path()));
        assert_eq!((product.as_str(), &threads), ("JVM (1 ms is 1 call)", &expected));
    }
}

#[test]
fn speedscope_gets_an_end_for_every_call() {
    let dir = large_trace();
    for case in &CASES {
        let (threads, _) = crate::readers::speedscope::read(&case.export("speedscope", dir.path()));
        let mut expected = timeline(case);
        for ((_, events), (_, thread)) in recorded().iter().zip(IDS) {
            let all = events.iter().filter(|event| matches!(event, Event::Enter(_))).count();
            for call in expected.get_mut(thread).unwrap() {
                call.end.get_or_insert(all as u64);
            }
        }
        assert_eq!(threads, expected);
    }
    let (_, frames) = crate::readers::speedscope::read(&CASES[0].export("speedscope", dir.path()));
    let main = Some("Main.java".to_owned());
    assert!(frames.contains(&(main.clone(), Some(7))) && frames.contains(&(main, None)));
}

#[test]
fn rows_have_a_call_each_with_its_caller() {
    let dir = large_trace();
    let keys = |bell: &str| {
        [
            "com.app.Main#main([Ljava/lang/String;)V".to_owned(),
            "com.app.Main#work(I[[JLjava/util/Map$Entry;)I".to_owned(),
            "com.app.Main$Job#<init>()V".to_owned(),
            format!("odd.\"Q\\#<a&b>;{bell}()V"),
            "#".to_owned(),
        ]
    };
    let expected = |case: &Case, keys: [String; 5]| -> BTreeMap<u64, Vec<Call>> {
        let named =
            |call: Call| Call { name: keys[call.name.parse::<usize>().unwrap()].clone(), ..call };
        let threads = recorded().into_iter().map(|(id, events)| {
            (id, case.calls(&events).into_iter().map(named).collect::<Vec<_>>())
        });
        threads.filter(|(_, calls)| !calls.is_empty()).collect()
    };
    for case in &CASES {
        let rows = crate::readers::rows::jsonl(&case.export("jsonl", dir.path()));
        assert_eq!(rows, expected(case, keys("\u{7}")));
        let rows = crate::readers::rows::csv(&case.export("csv", dir.path()));
        assert_eq!(rows, expected(case, keys(r"\u{7}")));
    }
}

#[test]
fn tables_have_the_rows_of_csv() {
    let dir = large_trace();
    for case in &CASES {
        let new = tempfile::tempdir().unwrap();
        let out = new.path().join("tables");
        let to = text(&out);
        let args = [&["export", "--to", "parquet", "-o", &to], case.args].concat();
        let run = flow(&args, dir.path());
        assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{}", run.err);
        let calls = crate::readers::tables::calls(&out);
        assert!(run.err.contains(" in ") && run.err.ends_with(&format!(": {to}\n")), "{}", run.err);
        let csv = case.export("csv", dir.path());
        let mut csv = csv::Reader::from_reader(&csv[..]);
        let rows = csv.deserialize().map(Result::unwrap);
        let rows: Vec<BTreeMap<String, String>> = rows.collect();
        assert_eq!(calls.len(), rows.len());
        for (call, row) in calls.iter().zip(&rows) {
            for column in ["thread", "call", "caller", "depth", "calls", "method", "thrown"] {
                assert_eq!(call[column], row[column], "{column} of {row:?}");
            }
        }
        // Without a clock there are no times, but their columns are there: tables of several traces have the same ones.
        assert_eq!((calls[0].len(), calls[0]["start_ns"].as_str()), (21, ""));
        let methods = crate::readers::tables::rows(&out.join("methods.parquet"));
        let names: Vec<_> = methods.iter().map(|row| row["readable"].clone()).collect();
        assert_eq!(names[..3], NAMES[..3]);
        let threads = crate::readers::tables::rows(&out.join("threads.parquet"));
        for thread in &threads {
            let of_thread = rows.iter().filter(|row| row["thread"] == thread["thread"]).count();
            assert_eq!(thread["calls"], of_thread.to_string());
        }
        let run = flow(&args, dir.path());
        assert_eq!(run.code, Some(1));
        assert!(
            run.err.contains("tables: not empty; tables go into a new directory"),
            "{}",
            run.err
        );
    }
    let run = flow(&["export", "--to", "parquet"], dir.path());
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("parquet needs a new directory: --out DIR"), "{}", run.err);
}

#[test]
fn a_thread_with_many_calls_has_a_table_of_its_own() {
    // main > work, 700,000 times.
    let dir = bare(&[&[0x80][..], &[0x81, 0x00].repeat(700_000), &[0x00]].concat());
    let to = tempfile::tempdir().unwrap();
    let out = to.path().join("tables");
    let run = flow(&["export", "--to", "parquet", "-o", &text(&out)], dir.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let rows = crate::readers::tables::rows(&out.join("calls/threads=1/0000.parquet"));
    let calls = rows.iter().map(|row| row["call"].parse::<u32>().unwrap());
    assert!(calls.eq((1..=700_000).chain([0])), "in the order of their ends");
    assert!(rows.iter().all(|row| row["caller"] == if row["call"] == "0" { "" } else { "0" }));
    assert!(!out.join("calls/threads=small").exists());
}

#[test]
fn paths_have_the_calls_made_on_them() {
    let dir = large_trace();
    for case in &CASES {
        let (paths, methods) = crate::readers::pprof::read(&case.export("pprof", dir.path()));
        assert_eq!(paths, case.paths(str::to_owned));
        let main =
            ("com.app.Main#main([Ljava/lang/String;)V".to_owned(), "Main.java".to_owned(), 7);
        assert_eq!(methods["com.app.Main.main(String[])"], main);
        let profile = case.export("otlp-profile", dir.path());
        let profile = crate::readers::otlp_profile::read(&profile);
        assert_eq!((profile.0, profile.1), (paths, methods));

        let collapsed = String::from_utf8(case.export("collapsed", dir.path())).unwrap();
        let path = |line: &str| {
            let (path, calls) = line.rsplit_once(' ').unwrap();
            (path.split(';').map(str::to_owned).collect(), calls.parse().unwrap())
        };
        let paths: Paths = collapsed.lines().map(path).collect();
        assert_eq!(
            (paths.len(), &paths),
            (collapsed.lines().count(), &case.paths(semicolons_gone))
        );
    }
}

fn semicolons_gone(name: &str) -> String {
    name.replace(';', ":")
}

/// A name as flame graphs show it: `Main.work(int) – com.app`.
fn package_last(name: &str) -> String {
    let method = name.split('(').next().unwrap();
    let class = method.rsplit_once('.').map_or("", |(class, _)| class);
    match class.rsplit_once('.') {
        Some((package, _)) => format!("{} – {package}", &name[package.len() + 1..]),
        None => name.to_owned(),
    }
}

#[test]
fn a_flame_graph_has_a_rectangle_for_each_path_as_wide_as_its_calls() {
    let dir = large_trace();
    for case in &CASES {
        let mut totals = Paths::new();
        for (path, calls) in case.paths(semicolons_gone) {
            for frames in 0..=path.len() {
                *totals.entry(path[..frames].to_vec()).or_default() += calls;
            }
        }
        let last = |(path, calls): (Vec<String>, u64)| {
            (path.last().map_or_else(|| "all".to_owned(), String::clone), calls)
        };
        let mut expected: Vec<_> = totals.into_iter().map(last).collect();
        expected.sort();
        let picture = case.export("svg", dir.path());
        let text = String::from_utf8_lossy(&picture);
        assert!(!text.contains("opacity:0.1") && text.contains("rgb(215,215,215)"), "{text}");
        let mut frames = crate::readers::svg::read(&picture);
        frames.sort();
        let mut drawn: Vec<_> =
            expected.iter().map(|(name, calls)| (package_last(name), *calls)).collect();
        drawn.sort();
        assert_eq!(frames, drawn);
        // Inferno draws the same picture from our folded stacks.
        let collapsed = case.export("collapsed", dir.path());
        let mut picture = Vec::new();
        let mut options = inferno::flamegraph::Options::default();
        options.count_name = "calls".to_owned();
        options.min_width = 0.0;
        inferno::flamegraph::from_reader(&mut options, &collapsed[..], &mut picture).unwrap();
        let mut frames = crate::readers::svg::read(&picture);
        frames.sort();
        assert_eq!(frames, expected);
    }
}

#[test]
fn frames_too_narrow_to_see_count_for_their_callers() {
    // main > work, 20,000 times; one of them > init.
    let mut bytes = vec![0x80];
    bytes.extend([0x81, 0x00].repeat(19_999));
    bytes.extend([0x81, 0x82, 0x02]);
    let dir = bare(&bytes);
    let mut frames = crate::readers::svg::read(&CASES[0].export("svg", dir.path()));
    frames.sort();
    let expected = [
        ("Main.main(String[]) – com.app", 20_002),
        ("Main.work(int) – com.app", 20_001),
        ("all", 20_002),
    ];
    assert_eq!(frames, expected.map(|(name, calls): (&str, u64)| (name.to_owned(), calls)));
}

#[test]
fn a_profile_has_the_program_and_its_time() {
    let dir = trace();
    fs::write(dir.path().join("trace.json"), manifest(1_700_000_000_000_000_000, Some((7, 8, 12))))
        .unwrap();
    let program = crate::readers::pprof::program(&CASES[0].export("pprof", dir.path()));
    let profile = CASES[0].export("otlp-profile", dir.path());
    let (_, _, name, began) = crate::readers::otlp_profile::read(&profile);
    assert_eq!((&name, i64::try_from(began).unwrap()), (&program.0, program.1));
    assert_eq!(program, ("app.jar".to_owned(), 1_700_000_000_000_000_000, 1_500_000_000));
}

/// The diagram of a trace, in both languages.
fn diagrams(args: &'static [&'static str], dir: &Path) -> [String; 2] {
    let case = Case { args, methods: &[], depth: 0 };
    ["mermaid", "plantuml"].map(|to| String::from_utf8(case.export(to, dir)).unwrap())
}

#[test]
fn a_sequence_diagram_has_calls_as_messages_and_what_repeats_as_loops() {
    // main > work > (init, init); main > work, and the two other threads.
    let [mermaid, plantuml] = diagrams(&[], trace().path());
    let expected = "sequenceDiagram
actor p0 as main
participant p1 as Main
participant p2 as Main$Job
actor p3 as pool#45;#42;
actor p4 as thread 13 (virtual)
p0 ->> p1: main()
activate p1
p1 ->> p1: work()
activate p1
loop 2 times
p1 ->> p2: #60;init#62;()
end
deactivate p1
p1 ->> p1: work()
deactivate p1
p3 ->> p1: work()
p4 ->> p1: work()
";
    assert_eq!(mermaid, expected);
    let lines =
        expected.replace("->>", "->").replace("#60;", "<U+003C>").replace("#62;", "<U+003E>");
    let lines = lines.replace("#45;", "<U+002D>").replace("#42;", "<U+002A>");
    let participant = |line: &str| match line.split_once(" as ") {
        Some((kind, name)) => {
            let (kind, number) = kind.split_once(' ').unwrap();
            format!("{kind} \"{name}\" as {number}")
        }
        None => line.replace("sequenceDiagram", "@startuml"),
    };
    let lines: Vec<_> = lines.lines().map(participant).collect();
    assert_eq!(plantuml, lines.join("\n") + "\n@enduml\n");
    let [outer, _] = diagrams(&["--depth", "2", "--thread", "1"], trace().path());
    assert!(outer.contains("loop 2 times\np1 ->> p1: work()\nend\n"), "{outer}");
    let [empty, _] = diagrams(&[], bare(&[]).path());
    assert_eq!(empty, "sequenceDiagram\nactor p0 as no calls\n");
}

#[test]
fn a_sequence_diagram_stays_small_and_says_what_is_left_out() {
    let dir = large_trace();
    for diagram in diagrams(&[], dir.path()) {
        let messages = diagram.lines().filter(|line| line.contains("> p")).count();
        assert!((1..=120).contains(&messages), "{messages}");
        let note = diagram.lines().find(|line| line.starts_with("note over p0,")).unwrap();
        assert!(note.contains("are not shown") && note.contains(" calls "), "{note}");
    }
    // main, in it 50 classes with a call each.
    let calls: Vec<u8> = (1..=50).flat_map(|id: u8| [0x80 | id, 0x00]).collect();
    let dir = bare(&[&[0x80][..], &calls, &[0x00]].concat());
    let names = (0..=50).map(|id| format!("a.C{id}#m{id}()V={id}\n"));
    fs::write(dir.path().join("ids.properties"), names.collect::<String>()).unwrap();
    let [diagram, _] = diagrams(&[], dir.path());
    let participants = diagram.lines().filter(|line| line.starts_with("participant ")).count();
    assert_eq!(participants, 39, "{diagram}");
    assert!(diagram.contains("participant p39 as 13 others\n"), "{diagram}");
    assert!(diagram.contains("p1 ->> p39: C50.m50()\n"), "{diagram}");
    assert!(!diagram.contains("not shown"), "{diagram}");
    // Many calls that do the same need no memory, deep ones are left out.
    let dir = bare(&[&[0x80][..], &[0x81, 0x82, 0x00, 0x82, 0x01].repeat(300_000)].concat());
    let [diagram, _] = diagrams(&[], dir.path());
    assert!(diagram.contains("loop 300000 times\n") && !diagram.contains("not shown"), "{diagram}");
    let [diagram, _] = diagrams(&[], deep_trace(30_000).path());
    assert!(diagram.contains("29,936 of 30,000 calls are not shown"), "{diagram}");
}

#[test]
fn only_the_threads_that_are_asked_for_are_exported() {
    let dir = trace();
    for (to, thread) in [("perfetto", "12"), ("chrome", "pool-*"), ("jsonl", "worker-1")] {
        let case = Case { args: &[], methods: &[], depth: 0 };
        let export = |thread: &str| {
            let mut command = command();
            command.args(["export", "--to", to, "--thread", thread]).arg(dir.path());
            command.output().unwrap().stdout
        };
        assert!(case.export(to, dir.path()).len() > export(thread).len());
        assert_eq!(export(thread), export("12"));
    }
    let (process, threads) = crate::readers::chrome::read(&CASES[0].export("chrome", dir.path()));
    assert_eq!(process, "java -jar app.jar (1 µs is 1 call)");
    assert_eq!(threads.keys().collect::<Vec<_>>(), ["main", "pool-1", "thread 13 (virtual)"]);
}

#[test]
fn a_file_has_the_same_bytes_as_standard_output() {
    let dir = trace();
    let file = dir.path().join("out.json");
    fs::write(&file, "an earlier one, which is longer".repeat(1000)).unwrap();
    let run = flow(&["export", "--to", "chrome", "--out", &text(&file)], dir.path());
    let said = format!("flow: 7 calls in 1.3 KB: {}\n", text(&file));
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "", &*said));
    let written = fs::read(&file).unwrap();
    assert_eq!(written, CASES[0].export("chrome", dir.path()));
    assert!((1331..1434).contains(&written.len()), "{}", written.len());
    let run = flow(&["export", "--to", "chrome", "--out", &text(dir.path())], dir.path());
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(run.err.contains("Is a directory"), "{}", run.err);
}

#[test]
fn an_estimate_is_close_to_the_written_size() {
    let dir = large_trace();
    for to in ["perfetto", "chrome", "speedscope", "firefox", "jsonl", "csv", "collapsed", "pprof"]
    {
        let run = flow(&["export", "--estimate", "--to", to, "--depth", "4"], dir.path());
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        let estimate = run.out.strip_prefix("about ").unwrap();
        let (estimate, unit) = estimate.split_once(' ').unwrap();
        let scale = if unit.starts_with("KB") { 1024.0 } else { 1.0 };
        let estimate = estimate.parse::<f64>().unwrap() * scale;
        let command = Case { args: &["--depth", "4"], methods: &[], depth: 0 };
        let written = command.export(to, dir.path()).len();
        let written = f64::from(u32::try_from(written).unwrap());
        // Flame graphs are not measured, which their estimate says.
        let near = if run.out.contains("(±15 %)") { 0.85..1.15 } else { 0.98..1.02 };
        assert!(near.contains(&(estimate / written)), "{to}: {estimate} of {written}");
    }
}

/// A chain of calls so deep that its stacks as text are too large for every viewer.
fn deep_trace(frames: usize) -> TempDir {
    bare(&vec![0x81; frames])
}

#[test]
fn a_file_too_large_for_its_viewer_is_refused_with_a_depth_that_fits() {
    let dir = deep_trace(30_000);
    for (to, words) in [
        (
            "svg",
            "on up to 29,998 frames, and browsers show images of about 2,000 frames; --depth 2000 ",
        ),
        ("collapsed", "for 30,000 calls, on up to 30,000 frames, and readers of stacks"),
    ] {
        let run = flow(&["export", "--to", to], dir.path());
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{to}");
        assert!(run.err.starts_with("flow: not written: about "), "{}", run.err);
        let err = run.err;
        assert!(err.contains(words) && err.contains("--force"), "{err}");
        let (_, depth) = err.split_once("--depth ").unwrap();
        let (depth, _) = depth.split_once(' ').unwrap();
        let run = flow(&["export", "--to", to, "--depth", depth, "--estimate"], dir.path());
        let estimate = run.out.trim_end().trim_start_matches("about ");
        assert!(run.code == Some(0) && err.contains(estimate), "{to}: {} {err}", run.out);
    }
    let run = flow(&["export", "--to", "svg", "--depth", "2000"], dir.path());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

#[test]
fn a_timeline_that_is_too_large_is_refused_unless_it_is_forced() {
    // main > (work > 500 inits), ten times. Names of this length are legal.
    let dir = bare(
        &[&[0x80][..], &[&[0x81][..], &[0x82, 0x00].repeat(500), &[0x00]].concat().repeat(10)]
            .concat(),
    );
    let ids = fs::read_to_string(dir.path().join("ids.properties")).unwrap();
    let ids = ids.replace("Job", &"Job".repeat(10_000));
    fs::write(dir.path().join("ids.properties"), ids).unwrap();
    let run = flow(&["export", "--to", "chrome"], dir.path());
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    for words in
        ["MB for 5,011 calls", "about 250 MB", "--depth 2 makes it about ", "--thread", "--force"]
    {
        assert!(run.err.contains(words), "{words}: {}", run.err);
    }
    let run = flow(&["export", "--to", "chrome", "--force", "--out", "/dev/null"], dir.path());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

#[test]
fn damage_is_reported_and_the_rest_is_exported() {
    // work; a number that is too large; init, which is cut off after a first byte.
    let mut bytes = vec![0x81, 0x00];
    bytes.extend([0xFF; 12]);
    bytes.extend([0x00, 0x82, 0x00, 0xC0]);
    let dir = bare(&bytes);
    for to in [
        "perfetto",
        "chrome",
        "speedscope",
        "firefox",
        "pprof",
        "otlp-profile",
        "collapsed",
        "svg",
        "jsonl",
        "csv",
        "mermaid",
        "plantuml",
    ] {
        let file = dir.path().join("out");
        let run = flow(&["export", "--to", to, "-o", &text(&file)], dir.path());
        assert_eq!(run.code, Some(1), "{to}");
        assert_eq!(run.err.matches("offset 2").count(), 1, "{to}: {}", run.err);
        assert!(fs::metadata(&file).unwrap().len() > 0, "{to}");
    }
    let (_, threads) = crate::readers::chrome::read(&{
        let mut command = command();
        command.args(["export", "--to", "chrome"]).arg(dir.path());
        command.output().unwrap().stdout
    });
    let names: Vec<_> = threads["thread 1"].iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["com.app.Main.work(int)", "com.app.Main$Job.<init>()"]);
}

#[test]
fn a_trace_without_calls_makes_an_empty_file_but_no_picture() {
    let dir = bare(&[]);
    assert_eq!(
        crate::readers::perfetto::read(&CASES[0].export("perfetto", dir.path())).1["thread 1"],
        []
    );
    assert_eq!(
        crate::readers::chrome::read(&CASES[0].export("chrome", dir.path())).1["thread 1"],
        []
    );
    assert_eq!(
        crate::readers::firefox::read(&CASES[0].export("firefox", dir.path())).1["thread 1"],
        []
    );
    let (threads, _) = crate::readers::speedscope::read(&CASES[0].export("speedscope", dir.path()));
    assert_eq!(threads["thread 1"], []);
    assert_eq!(crate::readers::pprof::read(&CASES[0].export("pprof", dir.path())).0, Paths::new());
    let earlier = dir.path().join("earlier.svg");
    fs::write(&earlier, "a picture").unwrap();
    let run = flow(&["export", "--to", "svg", "--out", earlier.to_str().unwrap()], dir.path());
    assert_eq!(run.code, Some(1));
    assert_eq!(run.err, "flow: not written: there are no calls to draw\n");
    assert_eq!(fs::read_to_string(&earlier).unwrap(), "a picture");
}

#[test]
fn of_several_traces_one_has_to_be_named() {
    let dir = trace();
    write_trace(&dir.path().join("jvm-8-1"));
    let run = flow(&["export", "--to", "csv"], dir.path());
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(run.err.contains("jvm-8-1"), "{}", run.err);
    let run: Run = flow(&["export", "--to", "csv"], &dir.path().join("jvm-8-1"));
    assert_eq!((run.code, run.out.lines().count()), (Some(0), 8));
}

#[test]
fn a_test_that_reached_no_recorded_line_is_not_taken_for_a_trace_without_lines() {
    let dir = bare(&[0x82, 0x00]);
    let work = r#"{"id":1,"class":"com.app.Main","name":"work","descriptor":"(I)I","source":"Main.java","flags":[],"lines":[7,8]}"#;
    fs::write(dir.path().join("methods.jsonl"), format!("{work}\n")).unwrap();
    let (mut encoder, mut marks) = (MarkEncoder::with_header(), Vec::new());
    for (offset, text) in [(0, "test started a.T.one"), (1, "test passed a.T.one")] {
        let position = Position { offset: Offset::new(offset), exits: 0 };
        encoder.encode(position, &test_mark(text), &mut marks);
    }
    encoder.finish(&mut marks);
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    let run = flow(&["export", "--to", "lcov", "--test", "a.T.one"], dir.path());
    let said = "flow: the selected tests reached none of the lines that are recorded\n";
    assert_eq!((run.code, &*run.out, &*run.err), (Some(0), "", said));
}

#[test]
fn exports_of_calls_have_their_values() {
    // work(5) returns 42; work(7) is open.
    let dir = bare(&[0x81, 0x00, 0x81]);
    let (mut encoder, mut marks) = (MarkEncoder::with_header(), Vec::new());
    for (offset, role, number) in
        [(1, Role::Argument(0), 5), (1, Role::Result, 42), (3, Role::Argument(0), 7)]
    {
        let mut value = Vec::new();
        CallValue::new(role, Value::Primitive(Primitive::Int(number))).encode(&mut value);
        let position = Position { offset: Offset::new(offset), exits: 0 };
        encoder.encode(position, &Mark::Values(value), &mut marks);
    }
    encoder.finish(&mut marks);
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    let rows = flow(&["export", "--to", "jsonl"], dir.path());
    let values =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["values"].clone();
    let exported: Vec<_> = rows.out.lines().map(values).collect();
    let int =
        |name: &str, value: i32| serde_json::json!({"name": name, "type": "int", "value": value});
    let expected = [vec![int("arg0", 5), int("result", 42)], vec![int("arg0", 7)]];
    assert_eq!(exported, expected.map(serde_json::Value::from), "{rows:?}");
    let rows = flow(&["export", "--to", "csv"], dir.path());
    let shown: Vec<_> = rows.out.lines().map(|line| line.split(',').nth(10).unwrap()).collect();
    assert_eq!(shown, ["values", "(arg0 = 5)  = 42", "(arg0 = 7)"], "{rows:?}");
    let out = tempfile::tempdir().unwrap();
    let tables = out.path().join("tables");
    let run = flow(&["export", "--to", "parquet", "--out", tables.to_str().unwrap()], dir.path());
    assert_eq!(run.code, Some(0), "{run:?}");
    let read = crate::readers::tables::calls(&tables);
    let read = read.iter().map(|row| serde_json::from_str(&row["values"]).unwrap());
    assert_eq!(read.collect::<Vec<serde_json::Value>>(), exported);
}
