//! `flow report` of samples: logs of samples, samples of a trace, and calls.

use std::fs;
use std::path::Path;

use flow_codec::format::hpl::{HplFrame, HplMethod, HplRecord, HplSignature, HplTime, encode};
use flow_codec::format::marks::{Mark, MarkEncoder, Position};
use flow_codec::format::samples::{
    BatchEncoder, Cause, Found, Frame, Sample, SampleClock, Sampling,
};
use flow_codec::read::{HplItem, HplReader, HplSample, HplStack};
use flow_codec::{MethodId, Offset, ThreadId};
use tempfile::TempDir;

use crate::common::{Run, flow, trace};

const MAIN: i64 = 1;
const POOL: i64 = 2;

/// A method of the log: its number, class and name.
const METHODS: [(i64, &str, &str, &str); 3] = [
    (10, "Lcom/app/Main;", "main", "([Ljava/lang/String;)V"),
    (11, "Lcom/app/Orders;", "total", "(I)I"),
    (12, "Lcom/db/Db;", "query", "()V"),
];

/// A thread, how many samples it has of a stack, and its frames: method and line, the outermost first.
type Samples<'a> = (i64, u32, &'a [(i64, i32)]);

/// A log of samples that are 10 ms apart.
fn log(stacks: &[Samples<'_>]) -> Vec<u8> {
    let mut records = Vec::new();
    let name = |thread, name: &'static str| HplRecord::Thread { thread, name: name.into() };
    records.extend([name(MAIN, "main"), name(POOL, "pool-1")]);
    let mut at_ms = 0;
    for (thread, weight, stack) in stacks {
        for _ in 0..*weight {
            at_ms += 10;
            let time = Some(HplTime { seconds: 5, nanoseconds: at_ms * 1_000_000 });
            let frames = i32::try_from(stack.len()).unwrap();
            let frames = if stack.is_empty() { -2 } else { frames };
            records.push(HplRecord::Stack { frames, thread: *thread, time });
            records.extend(stack.iter().rev().map(|&(method, line)| {
                HplRecord::Frame(HplFrame { bci: line + 1, line: Some(line), method })
            }));
        }
    }
    for (method, class, name, descriptor) in METHODS {
        let file = class.rsplit('/').next().unwrap().replace(';', ".java");
        let signature =
            Some(HplSignature { descriptor: descriptor.into(), ..HplSignature::default() });
        let (file, class, name) = (file.into(), class.into(), name.into());
        records.push(HplRecord::Method(HplMethod { method, file, class, name, signature }));
    }
    let mut bytes = Vec::new();
    records.iter().for_each(|record| encode(record, &mut bytes));
    bytes
}

/// Thread main: 6 samples in total, of which 4 wait for the database; 1 failed. Thread pool-1: 3 in the database.
fn example() -> Vec<u8> {
    log(&[
        (MAIN, 2, &[(10, 3), (11, 20)]),
        (MAIN, 3, &[(10, 3), (11, 21), (12, 7)]),
        (MAIN, 1, &[(10, 4), (12, 8)]),
        (POOL, 3, &[(12, 7)]),
        (MAIN, 1, &[]),
    ])
}

fn written(bytes: &[u8]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("app.hpl"), bytes).unwrap();
    dir
}

fn profile(args: &[&str], bytes: &[u8]) -> Run {
    let dir = written(bytes);
    flow(&[&["report"][..], args].concat(), &dir.path().join("app.hpl"))
}

fn lines(run: &Run) -> Vec<&str> {
    assert_eq!(run.code, Some(0), "{}", run.err);
    run.out.lines().map(str::trim_end).collect()
}

#[test]
fn methods_are_listed_with_their_samples_and_times() {
    // A sample lasts until the next one of its thread: 10 ms, but 40 ms before the failure, and that as long again.
    let run = profile(&[], &example());
    assert_eq!(
        lines(&run),
        [
            "10 samples (1 failed) in 2 threads lasted 160 ms, added up",
            "",
            "samples      %  self      %     time  method",
            "      7  70.0%     7  70.0%   100 ms  com.db.Db.query()",
            "      6  60.0%     0   0.0%  90.0 ms  com.app.Main.main(String[])",
            "      5  50.0%     2  20.0%  50.0 ms  com.app.Orders.total(int)",
            "      1  10.0%     1  10.0%  40.0 ms  AGCT.GcActiveErr2",
        ]
    );
    // With the rule of Honest Profiler, until the next one of any thread: 10 ms each.
    let run = profile(&["--gaps", "global", "--by", "wall", "--max", "1"], &example());
    assert_eq!(
        lines(&run)[2..],
        [
            "samples    total      %     self      %  method",
            "      7  70.0 ms  70.0%  70.0 ms  70.0%  com.db.Db.query()",
            "… 3 more methods left out (--max 1; 0 for all)",
        ]
    );
}

#[test]
fn lines_and_instructions_are_distinguished() {
    let run = profile(&["--frames", "line", "--sort", "self", "--max", "3"], &example());
    assert_eq!(
        lines(&run)[3..6],
        [
            "      6  60.0%     6  60.0%  60.0 ms  com.db.Db.query()  Db.java:7",
            "      2  20.0%     2  20.0%  20.0 ms  com.app.Orders.total(int)  Orders.java:20",
            "      1  10.0%     1  10.0%  40.0 ms  com.db.Db.query()  Db.java:8",
        ]
    );
    let run = profile(&["--frames", "bci", "--where", "self-samples = 6"], &example());
    assert!(lines(&run)[3].ends_with("com.db.Db.query()  Db.java:7 @8"), "{}", run.out);
}

#[test]
fn trees_show_who_called_whom() {
    let run = profile(&["--tree", "--per-thread-name", "--percent-of", "thread"], &example());
    assert_eq!(
        lines(&run),
        [
            "thread main",
            "7 samples (1 failed) in 1 thread lasted 130 ms, added up",
            "",
            "samples       %  self     time  method",
            "      6   85.7%     0  90.0 ms  com.app.Main.main(String[])",
            "      5   71.4%     2  50.0 ms    com.app.Orders.total(int)",
            "      3   42.9%     3  30.0 ms      com.db.Db.query()",
            "      1   14.3%     1  40.0 ms    com.db.Db.query()",
            "      1   14.3%     1  40.0 ms  AGCT.GcActiveErr2",
            "",
            "thread pool-1",
            "3 samples in 1 thread lasted 30.0 ms, added up",
            "",
            "samples       %  self     time  method",
            "      3  100.0%     3  30.0 ms  com.db.Db.query()",
        ]
    );
    let run = profile(&["--callers", "Db#query"], &example());
    assert_eq!(
        lines(&run)[2..],
        [
            "samples       %  self     time  method",
            "      7   70.0%     7   100 ms  com.db.Db.query()",
            "      3   30.0%     3  30.0 ms    com.app.Orders.total(int)",
            "      3   30.0%     3  30.0 ms      com.app.Main.main(String[])",
            "      1   10.0%     1  40.0 ms    com.app.Main.main(String[])",
        ]
    );
    let run = profile(&["--callees", "Orders", "--percent-of", "parent"], &example());
    assert_eq!(
        lines(&run)[3..],
        [
            "      5   50.0%     2  50.0 ms  com.app.Orders.total(int)",
            "      3   60.0%     3  30.0 ms    com.db.Db.query()",
        ]
    );
    let run = profile(&["--callers", "Db#qury"], &example());
    assert_eq!(run.code, Some(1));
    assert!(
        run.err.contains("no method matches 'Db#qury'; the nearest: com.db.Db#query"),
        "{}",
        run.err
    );
}

#[test]
fn conditions_choose_rows_and_trees_keep_the_way_to_them() {
    let run = profile(
        &[
            "--where",
            "class starts com.",
            "--where",
            "self-percent > 5",
            "--where",
            "name not contains query",
        ],
        &example(),
    );
    assert_eq!(lines(&run).len(), 4);
    assert!(lines(&run)[3].ends_with("com.app.Orders.total(int)"), "{}", run.out);
    let run =
        profile(&["--tree", "--where", "method matches ^qu.ry$", "--thread", "ma*"], &example());
    assert_eq!(
        lines(&run)[3..],
        [
            "      6   85.7%     0  90.0 ms  com.app.Main.main(String[])",
            "      5   71.4%     2  50.0 ms    com.app.Orders.total(int)",
            "      3   42.9%     3  30.0 ms      com.db.Db.query()",
            "      1   14.3%     1  40.0 ms    com.db.Db.query()",
        ]
    );
    let run = profile(&["--where", "self > 1"], &example());
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("expected a condition such as"), "{}", run.err);
}

#[test]
fn two_runs_are_compared_by_their_shares() {
    let after = log(&[(MAIN, 5, &[(10, 3), (11, 20)]), (MAIN, 5, &[(10, 3), (12, 7)])]);
    let (before, dir) = (written(&example()), written(&after));
    let before = before.path().join("app.hpl");
    let run = flow(&["diff", before.to_str().unwrap()], &dir.path().join("app.hpl"));
    assert_eq!(
        lines(&run),
        [
            "before  10 samples (1 failed) in 2 threads lasted 160 ms, added up",
            "after   10 samples in 1 thread lasted 100 ms, added up",
            "",
            "before      %  after       %  change  self change  method",
            "     6  60.0%     10  100.0%   +40.0          0.0  com.app.Main.main(String[])",
            "     7  70.0%      5   50.0%   -20.0        -20.0  com.db.Db.query()",
            "     1  10.0%      0    0.0%   -10.0        -10.0  AGCT.GcActiveErr2",
            "     5  50.0%      5   50.0%     0.0        +30.0  com.app.Orders.total(int)",
        ]
    );
}

#[test]
fn methods_of_two_runs_are_compared_by_thread_and_by_condition() {
    let (before, after) = (trace(), trace());
    let [one, other] = [&before, &after].map(|trace| trace.path().to_str().unwrap().to_owned());
    // What `pool-1` did is missing in the second run.
    fs::write(after.path().join("thread-12.flow"), []).unwrap();
    fs::remove_file(after.path().join("trace.json")).unwrap();
    let diff = |args: &[&str]| {
        flow(&[&["diff", "--methods", &*one][..], args].concat(), Path::new(&other))
    };
    let run = diff(&["--per-thread-name", "--where", "name contains work", "--sort", "name"]);
    assert_eq!(
        lines(&run),
        [
            "before  7 calls in 3 threads",
            "after   6 calls in 2 threads",
            "",
            "thread without a name",
            "before       %  after       %  change  self change  method",
            "     1  100.0%      1  100.0%     0.0          0.0  com.app.Main.work(int)",
            "",
            "thread main",
            "before      %  after      %  change  self change  method",
            "     4  80.0%      4  80.0%     0.0          0.0  com.app.Main.work(int)",
            "",
            "thread pool-1",
            "before       %  after     %  change  self change  method",
            "     1  100.0%      0  0.0%  -100.0       -100.0  com.app.Main.work(int)",
        ]
    );
    let run = diff(&["--per-thread-name", "--format", "json", "--exit-code"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    let changes: Vec<_> = run
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            let number = |key: &str| row[key].as_u64().unwrap();
            let totals = (number("total_before"), number("total_after"));
            (text("thread_name"), text("name"), text("change"), totals)
        })
        .collect();
    let row = |thread: &str, name: &str, change: &str, totals| {
        (thread.to_owned(), name.to_owned(), change.to_owned(), totals)
    };
    assert_eq!(changes.len(), 5, "{changes:?}");
    assert!(changes.contains(&row("main", "main", "same", (5, 5))), "{changes:?}");
    assert!(changes.contains(&row("pool-1", "work", "vanished", (1, 0))), "{changes:?}");
    let run = diff(&["--callers", "**#<init>", "--max", "1", "--format", "csv"]);
    assert!(run.err.contains("2 more rows left out (--max 1; 0 for all)"), "{run:?}");
}

#[test]
fn json_and_csv_have_every_figure() {
    let args = ["--tree", "--per-thread", "--frames", "bci", "--format"];
    let run = profile(&[&args[..], &["json"]].concat(), &example());
    let rows: Vec<serde_json::Value> =
        lines(&run).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let query = rows.iter().find(|row| row["depth"] == 2).unwrap();
    let of = |key: &str| query[key].clone();
    assert_eq!(of("thread_name"), "main");
    assert_eq!(
        (of("name"), of("source"), of("line"), of("bci")),
        ("query".into(), "Db.java".into(), 7.into(), 8.into())
    );
    assert_eq!(
        (of("total"), of("unit"), of("calls")),
        (3.into(), "samples".into(), serde_json::Value::Null)
    );
    let parent = rows.iter().find(|row| row["path"] == query["parent"]).unwrap();
    assert_eq!((&parent["line"], &parent["thread"]), (&21.into(), &1.into()));
    let run = profile(&[&args[..], &["json", "--by", "wall"]].concat(), &example());
    let rows: Vec<serde_json::Value> =
        lines(&run).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let query = rows.iter().find(|row| row["depth"] == 2).unwrap();
    let of = |key: &str| query[key].as_u64().unwrap();
    assert_eq!(
        (of("total"), of("self"), query["unit"].as_str()),
        (30_000_000, 30_000_000, Some("ns"))
    );
    assert_eq!((of("total_samples"), of("self_samples")), (3, 3));
    // As of three samples of 10 ms each.
    assert_eq!(of("self_error"), 17_320_000);
    let run = profile(&[&args[..], &["csv"]].concat(), &example());
    assert!(
        run.out.lines().nth(1).unwrap().starts_with(".,1,main,1,,0,0,com.app.Main,main,"),
        "{}",
        run.out
    );
}

#[test]
fn a_log_that_is_cut_or_still_grows_is_read_as_far_as_it_goes() {
    let bytes = example();
    let run = profile(&[], &bytes[..bytes.len() - 5]);
    assert_eq!(run.code, Some(3));
    assert!(run.err.contains("ends inside a sample or a name, at offset"), "{}", run.err);
    assert!(run.out.starts_with("10 samples (1 failed) in 2 threads"), "{}", run.out);
    // Its last method has no name.
    assert!(run.out.contains("?#12"), "{}", run.out);
    // Old agents reserve space.
    let run = profile(&[], &[&bytes[..], &[0; 5000]].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let run = profile(&[], &[&bytes[..], &[0x77]].concat());
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("app.hpl: offset") && run.out.contains("query"), "{run:?}");
    let run = profile(&[], &[]);
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("no samples"), "{}", run.err);
    let run = flow(&["report"], Path::new("/nowhere/app.hpl"));
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("/nowhere/app.hpl"), "{}", run.err);
}

#[test]
fn calls_of_a_trace_are_counted_exactly() {
    let trace = trace();
    let run = flow(&["report", "--percent-of", "all"], trace.path());
    assert_eq!(lines(&run), lines(&flow(&["report"], trace.path())));
    let run = flow(&["report", "--where", "calls > 1", "--min", "50"], trace.path());
    assert_eq!(
        lines(&run),
        [
            "7 calls of 3 methods in 3 threads",
            "",
            "calls  total      %  self      %  method",
            "    4      6  85.7%     4  57.1%  com.app.Main.work(int)",
        ]
    );
    let run = flow(&["report", "--tree", "--callers", "**#<init>"], trace.path());
    assert_eq!(
        lines(&run)[2..],
        [
            "calls  total       %  self  method",
            "    2      2   28.6%     2  com.app.Main$Job.<init>()",
            "    2      2   28.6%     2    com.app.Main.work(int)",
            "    2      2   28.6%     2      com.app.Main.main(String[])",
        ]
    );
    let names = ["report", "--per-thread-name", "--percent-of", "all", "--format", "csv"];
    let run = flow(&names, trace.path());
    assert!(run.out.starts_with("trace,thread,thread_name,method,class,"), "{}", run.out);
    assert!(run.out.contains("\n.,,pool-1,1,com.app.Main,work,"), "{}", run.out);
    let log = written(&example());
    let log = log.path().join("app.hpl");
    let run = flow(&["diff", "--samples", log.to_str().unwrap()], trace.path());
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("no samples were recorded"), "{}", run.err);
}

/// Frames that were never the innermost ones weigh nothing themselves, before and after.
#[test]
fn a_log_does_not_differ_from_itself() {
    let dir = written(&example());
    let log = dir.path().join("app.hpl");
    for by in ["calls", "wall"] {
        let run = flow(&["diff", "--exit-code", "--by", by, log.to_str().unwrap()], &log);
        assert_eq!(run.code, Some(0), "{by}: {}{}", run.out, run.err);
    }
}

#[test]
fn the_samples_of_a_log_are_exported_by_path_and_as_calls_in_order() {
    let dir = written(&example());
    let log = dir.path().join("app.hpl");
    let export = |args: &[&str]| flow(&[&["export", "--to"][..], args].concat(), &log);
    let stacks = |run: &Run| {
        let mut lines: Vec<String> = lines(run).into_iter().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let [main, total, query] =
        ["com.app.Main.main(String[])", "com.app.Orders.total(int)", "com.db.Db.query()"];
    let expected = |weights: [u64; 5]| {
        let [failed, direct, of_main, in_total, alone] = weights;
        [
            format!("AGCT.GcActiveErr2 {failed}"),
            format!("{main};{total} {of_main}"),
            format!("{main};{total};{query} {in_total}"),
            format!("{main};{query} {direct}"),
            format!("{query} {alone}"),
        ]
    };
    assert_eq!(stacks(&export(&["collapsed"])), expected([1, 1, 2, 3, 3]));
    let ms = |count: [u64; 5]| count.map(|ms| ms * 1_000_000);
    assert_eq!(stacks(&export(&["collapsed", "--by", "wall"])), expected(ms([40, 40, 20, 30, 30])));
    assert!(export(&["svg"]).out.contains("all (10 samples, 100%)"));
    // Calls last as long as the profile says.
    let run = export(&["jsonl", "--thread", "main"]);
    assert!(run.err.contains("calls are guessed from samples"), "{}", run.err);
    let durations: Vec<_> = run
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|call| call["name"] == "main")
        .map(|call| (call["start_ns"].as_u64(), call["end_ns"].as_u64()))
        .collect();
    assert_eq!(durations, [(Some(0), Some(90_000_000))]);
    let file = dir.path().join("export");
    for to in ["perfetto", "firefox", "speedscope", "chrome", "pprof"] {
        let run = export(&[to, "-o", file.to_str().unwrap()]);
        assert_eq!(run.code, Some(0), "{to}: {}", run.err);
        let bytes = fs::read(&file).unwrap();
        let has_name = |name: &str| bytes.windows(name.len()).any(|part| part == name.as_bytes());
        assert!(has_name(query) && has_name("Orders.total"), "{to}");
    }
    // The page and every other verb show these calls, too.
    let page = dir.path().join("page.html");
    let run = flow(&["report", "--html", page.to_str().unwrap()], &log);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let run = flow(&["replay", "--thread", "pool-1"], &log);
    assert!(run.out.contains(query), "{run:?}");
}

#[test]
fn calls_are_exported_as_a_log_with_the_same_times() {
    let trace = crate::timing::exact();
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("calls.hpl");
    let args = ["export", "--to", "hpl", "-o", log.to_str().unwrap()];
    let run = flow(&args, trace.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let rows = |run: &Run, total: &str, of_self: &str| {
        let rows =
            run.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let mut rows: Vec<_> = rows
            .filter(|row| row["class"] != "AGCT")
            .map(|row| {
                let ns = [total, of_self].map(|key| row[key].as_i64().unwrap());
                (row["readable"].to_string(), ns)
            })
            .collect();
        rows.sort();
        rows
    };
    let calls = flow(&["report", "--by", "wall", "--format", "json"], trace.path());
    let (calls, samples) = (
        rows(&calls, "total", "self"),
        rows(&flow(&["report", "--by", "wall", "--format", "json"], &log), "total", "self"),
    );
    assert_eq!((calls.len(), samples.len()), (3, 3));
    for ((name, of_calls), (other, of_samples)) in calls.iter().zip(&samples) {
        assert_eq!(name, other);
        // Times of single events are rounded to nanoseconds.
        let is_near = of_calls.iter().zip(of_samples).all(|(one, other)| (one - other).abs() < 100);
        assert!(is_near, "{name}: {of_calls:?}, {of_samples:?}");
    }
}

/// Adds samples to a trace: three of thread 1 and two of thread 12 that failed, in three records.
pub(crate) fn add_samples(dir: &Path) {
    let interval_ns = 10_000_000;
    let mut batch = BatchEncoder::new(Sampling { clock: SampleClock::Cpu, interval_ns });
    let frame = |method| Frame { method: MethodId::new(method), bci: Some(3), line: Some(12) };
    let stack = [frame(0), frame(1)];
    for (at_ns, thread, found) in [
        (interval_ns, 1, Found::Stack { frames: &stack, is_cut: false }),
        (3 * interval_ns, 1, Found::Stack { frames: &stack[..1], is_cut: false }),
        (3 * interval_ns, 12, Found::Missed(Cause::NO_ROOM)),
    ] {
        let thread = ThreadId::new(thread);
        let intervals = if at_ns == interval_ns { 1 } else { 2 };
        batch.add(&Sample { thread, at_ns, intervals, ran_us: None, found });
    }
    fs::write(dir.join("samples"), batch.finish().unwrap()).unwrap();
}

#[test]
fn the_samples_of_a_trace_are_shown_on_request_or_if_it_has_no_calls() {
    let trace = trace();
    add_samples(trace.path());
    let run = flow(&["report", "--samples", "--per-thread"], trace.path());
    assert_eq!(
        lines(&run),
        [
            "thread 1 main",
            "3 samples in 1 thread ran for 30.0 ms",
            "",
            "samples       %  self      %      cpu  method",
            "      3  100.0%     2  66.7%  30.0 ms  com.app.Main.main(String[])",
            "      1   33.3%     1  33.3%  10.0 ms  com.app.Main.work(int)",
            "",
            "thread 12 pool-1",
            "2 samples (2 failed) in 1 thread ran for 20.0 ms",
            "",
            "samples       %  self       %      cpu  method",
            "      2  100.0%     2  100.0%  20.0 ms  AGCT.no room",
        ]
    );
    let run = flow(&["report", "--lines"], trace.path());
    assert_eq!(
        lines(&run),
        [
            "5 samples and 7 calls",
            "",
            "samples      %  self      %  calls  method and line",
            "      3  60.0%     2  40.0%      1  com.app.Main.main(String[])  line:12",
            "      1  20.0%     1  20.0%      4  com.app.Main.work(int)  line:12",
        ]
    );
    let run = flow(&["report", "--percent-of", "all"], trace.path());
    assert!(run.out.starts_with("7 calls of 3 methods in 3 threads\n"), "{}", run.out);
    let of_all = ["report", "--samples", "--per-thread", "--percent-of", "all", "--sort", "calls"];
    let run = flow(&of_all, trace.path());
    assert!(run.out.contains("      2  40.0%     2  40.0%  20.0 ms  AGCT.no room"), "{}", run.out);
    let run = flow(&["report"], trace.path());
    assert!(run.out.starts_with("7 calls of 3 methods in 3 threads"), "{}", run.out);
    let run =
        flow(&["report", "--samples", "--thread", "pool-*", "--frames", "line"], trace.path());
    assert!(run.out.starts_with("2 samples (2 failed) in 1 thread"), "{}", run.out);
    let run = flow(&["export", "--to", "collapsed", "--samples"], trace.path());
    assert!(
        run.out.contains("com.app.Main.main(String[]);com.app.Main.work(int) 1"),
        "{}",
        run.out
    );
    // Without calls, every verb shows what the samples suggest.
    for file in ["thread-1.flow", "thread-12.flow", "thread-13.flow"] {
        fs::write(trace.path().join(file), "").unwrap();
    }
    fs::remove_file(trace.path().join("trace.json")).unwrap();
    let run = flow(&["report", "--tree"], trace.path());
    assert!(run.err.is_empty() && run.out.starts_with("5 samples (2 failed)"), "{run:?}");
    let run = flow(&["report", "--tree", "--calls"], trace.path());
    assert!(run.err.contains("calls are guessed from samples"), "{}", run.err);
    assert!(run.out.contains("com.app.Main.work(int)"), "{}", run.out);
}

#[test]
fn the_wall_clock_time_of_samples_shows_waiting() {
    let trace = trace();
    let interval_ns = 10_000_000;
    let mut batch = BatchEncoder::new(Sampling { clock: SampleClock::Wall, interval_ns });
    let frame = |method| Frame { method: MethodId::new(method), bci: None, line: None };
    let stack = [frame(0), frame(1)];
    // It ran for all of the first 10 ms, and for 1 of the next 40.
    for (intervals, ran_us, frames) in [(1, 10_000, &stack[..]), (4, 1_000, &stack[..1])] {
        batch.add(&Sample {
            thread: ThreadId::new(1),
            at_ns: 10_000_000,
            intervals,
            ran_us: Some(ran_us),
            found: Found::Stack { frames, is_cut: false },
        });
    }
    fs::write(trace.path().join("samples"), batch.finish().unwrap()).unwrap();
    let run = flow(&["report", "--samples"], trace.path());
    assert_eq!(
        lines(&run),
        [
            "5 samples in 1 thread lasted 50.0 ms, added up, 39.0 ms of it waiting",
            "",
            "samples       %  self      %     time  waiting  method",
            "      5  100.0%     4  80.0%  50.0 ms  39.0 ms  com.app.Main.main(String[])",
            "      1   20.0%     1  20.0%  10.0 ms     0 ns  com.app.Main.work(int)",
        ]
    );
    let run = flow(&["report", "--lines"], trace.path());
    assert_eq!(
        lines(&run),
        [
            "5 samples and 7 calls; threads waited for 39.0 ms of 50.0 ms",
            "",
            "samples       %  self      %  waiting  calls  method and line",
            "      5  100.0%     4  80.0%  39.0 ms      1  com.app.Main.main(String[])",
            "      1   20.0%     1  20.0%     0 ns      4  com.app.Main.work(int)",
        ]
    );
    let run = flow(&["report", "--lines", "--format", "json"], trace.path());
    assert!(run.out.contains("\"self_samples\":4,\"waiting_ns\":39000000,"), "{}", run.out);
}

/// A trace of calls and samples: thread 1 is in `work` of `main`, first itself, then in a method that is not recorded; then in
/// the second `work`, in which it waits, and after it once more in `main`.
fn calls_and_samples() -> TempDir {
    let trace = trace();
    let (mut encoder, mut marks) = (MarkEncoder::with_header(), Vec::new());
    let ms = |ms: u64| ms * 1_000_000;
    let time = |at_ms| Mark::Time { by_ns: ms(at_ms), from_ns: ms(at_ms), ran_us: None };
    let stacks = |first, last| Mark::Stacks { first_ns: ms(first), last_ns: ms(last) };
    for (offset, exits, mark) in [
        (0, 0, time(1)),
        (2, 0, stacks(10, 30)),
        (5, 0, time(40)),
        (7, 0, stacks(50, 50)),
        (7, 1, stacks(90, 90)),
        (8, 0, time(100)),
    ] {
        let position = Position { offset: Offset::new(offset), exits };
        encoder.encode(position, &mark, &mut marks);
    }
    encoder.finish(&mut marks);
    fs::write(trace.path().join("thread-1.marks"), marks).unwrap();
    let sampling = Sampling { clock: SampleClock::Wall, interval_ns: ms(10) };
    let mut batch = BatchEncoder::new(sampling);
    let frame =
        |method, line| Frame { method: MethodId::new(method), bci: Some(0), line: Some(line) };
    let main = frame(0, 5);
    let stack = |inner: &[Frame]| [&[main], inner].concat();
    for (at_ms, intervals, ran_us, frames) in [
        (10, 1, 10_000, stack(&[frame(1, 20)])),
        (20, 1, 10_000, stack(&[frame(1, 20)])),
        (30, 1, 10_000, stack(&[frame(1, 21), frame(2, 9)])),
        (50, 2, 15_000, stack(&[frame(1, 22)])),
        (80, 3, 0, stack(&[frame(1, 22)])),
        (90, 1, 10_000, vec![]),
    ] {
        let found = match frames.is_empty() {
            true => Found::Missed(Cause(5)),
            false => Found::Stack { frames: &frames, is_cut: false },
        };
        let thread = ThreadId::new(1);
        batch.add(&Sample { thread, at_ns: ms(at_ms), intervals, ran_us: Some(ran_us), found });
    }
    fs::write(trace.path().join("samples"), batch.finish().unwrap()).unwrap();
    trace
}

#[test]
fn samples_are_shown_in_their_calls() {
    let trace = calls_and_samples();
    let one = ["replay", "--samples", "--thread", "main"];
    let run = flow(&one, trace.path());
    let rows = |run: &Run| -> Vec<String> {
        run.out.lines().map(|line| line.get(34..).unwrap_or(line).to_owned()).collect()
    };
    let expected = [
        "thread 1 main",
        "ms  com.app.Main.main(String[])",
        "ms    com.app.Main.work(int)",
        "      · 2 samples, 20.0 ms  line:20",
        "      · 1 sample, 10.0 ms  line:21 in com.app.Main$Job.<init>()",
        "ms      com.app.Main$Job.<init>()",
        "ms      com.app.Main$Job.<init>()",
        "ms    com.app.Main.work(int)",
        "      · 5 samples, 50.0 ms, 35.0 ms waiting  line:22",
        "    · 1 sample, 10.0 ms  no stack: unknown Java",
    ];
    assert_eq!(rows(&run), expected);
    let run = flow(&[&one[..], &["--merged"]].concat(), trace.path());
    assert_eq!(rows(&run), expected);
    // Calls that are not shown have no rows of their own.
    let run = flow(&[&one[..], &["--depth", "1", "--format", "json"]].concat(), trace.path());
    let rows = run.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let sampled: Vec<_> = rows.filter(|row| row["mark"] == "samples").collect();
    let samples: u64 = sampled.iter().map(|row| row["samples"].as_u64().unwrap()).sum();
    let waiting: u64 = sampled.iter().map(|row| row["waiting_ns"].as_u64().unwrap()).sum();
    assert_eq!((samples, waiting), (9, 35_000_000));
    let run = flow(&["replay", "--samples", "--thread", "pool-1"], crate::common::trace().path());
    assert!(run.err.contains("no samples") || run.err.contains("no times"), "{}", run.err);
}

#[test]
fn samples_are_exported_as_a_log_with_the_same_counts() {
    let trace = calls_and_samples();
    let log = trace.path().join("samples.hpl");
    let args = ["export", "--to", "hpl", "--samples", "-o", log.to_str().unwrap()];
    let run = flow(&args, trace.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let counts = |source: &Path| -> Vec<String> {
        let run = flow(&["report", "--samples", "--frames", "line", "--format", "json"], source);
        let rows = run.out.lines().map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let fields = ["readable", "line", "total", "self"];
            fields.map(|field| row[field].to_string()).join(" ")
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort();
        rows
    };
    let found = counts(&log);
    assert!(found.len() > 4, "{found:?}");
    assert_eq!(found, counts(trace.path()));
}

/// A trace of wall-clock samples as the agent writes them: those of waiting only when it ends, or every second.
fn samples_of_waiting() -> TempDir {
    let trace = trace();
    let interval_ns = 1_000_000;
    let mut batch = BatchEncoder::new(Sampling { clock: SampleClock::Wall, interval_ns });
    let frame = |method| Frame { method: MethodId::new(method), bci: Some(0), line: Some(1) };
    let stacks = [[frame(0)], [frame(1)]];
    // Thread, time in microseconds, intervals, how long it ran, and the stack.
    for (thread, at_us, intervals, ran_us, stack) in [
        (1, 1_000, 1, 900, 0),
        (12, 1_100, 1, 900, 0),
        (1, 2_000, 1, 900, 1),
        (12, 2_050, 1, 900, 1),
        (1, 3_010, 1, 900, 0),
        // The thread waited until 50 ms, and then ran for two intervals, in which the sampler saw it once.
        (12, 52_100, 48, 0, 1),
        (12, 52_100, 2, 900, 0),
        (1, 40_000, 37, 0, 0),
        (1, 41_000, 3, 900, 1),
        // Threads are not in order; of one thread, intervals overlap.
        (12, 52_900, 2, 900, 1),
        (1, 42_000, 1, 900, 1),
        (12, 1_052_900, 1_000, 0, 1),
    ] {
        batch.add(&Sample {
            thread: ThreadId::new(thread),
            at_ns: at_us * 1_000,
            intervals,
            ran_us: Some(ran_us),
            found: Found::Stack { frames: &stacks[stack], is_cut: false },
        });
    }
    fs::write(trace.path().join("samples"), batch.finish().unwrap()).unwrap();
    trace
}

/// Reads a log: for each sample, its thread, its time since 1970, and its innermost method.
fn samples_of_log(log: &Path) -> Vec<(i64, i64, i64)> {
    let mut reader = HplReader::open(log).unwrap();
    let mut found = Vec::new();
    while let Some(item) = reader.next_item().unwrap() {
        let HplItem::Sample(HplSample { thread, time, stack }) = item else { continue };
        let HplStack::Frames(frames) = stack else { panic!("{stack:?}") };
        let HplTime { seconds, nanoseconds } = time.unwrap();
        assert!((0..1_000_000_000).contains(&nanoseconds));
        found.push((thread, seconds * 1_000_000_000 + nanoseconds, frames[0].method));
    }
    found
}

#[test]
fn a_log_of_samples_is_in_the_order_of_time() {
    let trace = samples_of_waiting();
    let log = trace.path().join("samples.hpl");
    let args = ["export", "--to", "hpl", "--samples", "-o", log.to_str().unwrap()];
    let run = flow(&args, trace.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let found = samples_of_log(&log);
    assert!(run.err.starts_with("flow: 1,098 samples in "), "{}", run.err);
    assert!(found.is_sorted_by_key(|(_, at_ns, _)| *at_ns), "{found:?}");
    let us = |thread: i64| -> Vec<i64> {
        let of_thread = found.iter().filter(|(of, ..)| *of == thread);
        of_thread.map(|(_, at_ns, _)| at_ns / 1_000).collect()
    };
    let (one, twelve) = (us(1), us(12));
    assert_eq!((one.len(), twelve.len()), (44, 1_054));
    // Waiting is where it was, a record for each interval; the next sample is when it was taken.
    assert_eq!(one[..5], [1_000, 2_000, 3_010, 3_982, 4_955]);
    assert_eq!(one[38..], [38_027, 39_000, 39_666, 40_333, 41_000, 42_000]);
    assert_eq!(twelve[..3], [1_100, 2_050, 4_100]);
    assert_eq!(twelve[48..54], [50_100, 51_100, 51_600, 52_100, 52_500, 52_900]);
    assert_eq!((twelve[54], twelve[1_053]), (53_899, 1_051_900));
    // No rule gives a negative time, and all intervals are there.
    for rule in ["thread", "global"] {
        let args =
            ["report", "--by", "wall", "--format", "json", "--frames", "bci", "--gaps", rule];
        let run = flow(&args, &log);
        let rows =
            run.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let rows: Vec<_> = rows.collect();
        assert!(rows.iter().all(|row| row["self"].as_i64().unwrap() >= 0), "{}", run.out);
        let samples: u64 = rows.iter().map(|row| row["self_samples"].as_u64().unwrap()).sum();
        assert_eq!(samples, 1_098);
    }
}

#[test]
fn intervals_beyond_the_most_of_a_sample_are_counted() {
    let trace = trace();
    let sampling = Sampling { clock: SampleClock::Wall, interval_ns: 1_000 };
    let mut batch = BatchEncoder::new(sampling);
    let stack = [Frame { method: MethodId::new(0), bci: None, line: None }];
    let found = Found::Stack { frames: &stack, is_cut: false };
    let thread = ThreadId::new(1);
    let intervals = (1 << 16) + 7;
    batch.add(&Sample { thread, at_ns: u64::MAX / 2, intervals, ran_us: Some(0), found });
    fs::write(trace.path().join("samples"), batch.finish().unwrap()).unwrap();
    let log = trace.path().join("samples.hpl");
    let args = ["export", "--to", "hpl", "--samples", "-o", log.to_str().unwrap()];
    let run = flow(&args, trace.path());
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(run.err.contains("7 intervals left out"), "{}", run.err);
    assert_eq!(samples_of_log(&log).len(), 1 << 16);
}

#[test]
fn a_tree_says_how_many_rows_are_left_out() {
    let run = profile(&["--tree", "--thread", "main", "--min", "50"], &example());
    let more = "… 5 samples (71.4%) on 3 other paths left out (--min 50; 0 for all)";
    assert_eq!(lines(&run).last().map(|line| &**line), Some(more), "{run:?}");
}
