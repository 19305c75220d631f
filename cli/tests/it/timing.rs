//! Times, exceptions and notes: a thread whose events all have exact times, and marks that are truncated,
//! damaged or missing.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

use crate::common::{MAIN, bare, command, flow, manifest, page_data, text, words};
use crate::readers::{Call, Threads};
use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::values::{CallValue, Primitive, Role, Value};
use tempfile::TempDir;

const MS: u64 = 1_000_000;

/// The time of event `number` of [`MAIN`]; never a whole microsecond.
fn at(number: u64) -> u64 {
    (number + 1) * MS + 7
}

/// The positions of the events of [`MAIN`]: main > work > (init, init); main > work.
const EVENTS: [(u64, u64); 10] =
    [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (5, 1), (6, 0), (7, 0), (7, 1)];

fn encoded(marks: &[(u64, u64, Mark)]) -> Vec<u8> {
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, exits, mark) in marks {
        let position = Position { offset: Offset::new(*offset), exits: *exits };
        encoder.encode(position, mark, &mut bytes);
    }
    encoder.finish(&mut bytes);
    bytes
}

/// A time mark before each event. The event happened at its time: neither before it, nor after the next mark.
fn exact_marks() -> Vec<u8> {
    exact_marks_later(0)
}

/// The same, everything `later_ns` later.
fn exact_marks_later(later_ns: u64) -> Vec<u8> {
    let at = |number| at(number) + later_ns;
    let mut marks = Vec::new();
    for (number, (offset, exits)) in (0..).zip(EVENTS) {
        let by_ns = if number == 0 { 0 } else { at(number - 1) };
        marks.push((offset, exits, Mark::Time { by_ns, from_ns: at(number), ran_us: None }));
        if offset == 4 {
            marks.push((offset, exits, Mark::Note("step \u{7}2".to_owned())));
        }
        if (offset, exits) == (5, 0) {
            let thrown = Some("x.Oops".to_owned());
            let exits_by_it = NonZeroU64::new(2).unwrap();
            marks.push((offset, exits, Mark::Unwound { exits: exits_by_it, thrown }));
        }
    }
    marks.push((8, 0, Mark::Time { by_ns: at(9), from_ns: at(9), ran_us: None }));
    encoded(&marks)
}

fn with_marks(events: &[u8], marks: &[u8]) -> TempDir {
    let dir = bare(events);
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    dir
}

pub(crate) fn exact() -> TempDir {
    with_marks(MAIN, &exact_marks())
}

/// The calls of the thread, from event to event.
fn calls(spans: &[(&str, usize, u64, u64)]) -> Threads {
    let call = |&(name, depth, begin, end): &(&str, usize, u64, u64)| Call {
        begin: at(begin),
        end: Some(at(end)),
        depth,
        name: format!("com.app.{name}"),
    };
    [("thread 1".to_owned(), spans.iter().map(call).collect())].into()
}

const MAIN_NAME: &str = "Main.main(String[])";
const WORK: &str = "Main.work(int)";
const INIT: &str = "Main$Job.<init>()";
const ALL: [(&str, usize, u64, u64); 5] =
    [(MAIN_NAME, 0, 0, 9), (WORK, 1, 1, 6), (INIT, 2, 2, 3), (INIT, 2, 4, 5), (WORK, 1, 7, 8)];

fn export(to: &str, args: &[&str], dir: &Path) -> Vec<u8> {
    let mut command = command();
    let output = command.args(["export", "--to", to]).args(args).arg(dir).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{to} {args:?}");
    assert_eq!(output.status.code(), Some(0));
    output.stdout
}

#[test]
fn timelines_have_the_times_and_the_other_marks() {
    let dir = exact();
    let expected = calls(&ALL);
    let instant = |at, what: &str| ("thread 1".to_owned(), at, what.to_owned());
    let told = [
        instant(at(4), r"note: step \u{7}2"),
        instant(at(5), "exception: exception x.Oops"),
        instant(at(5), "ended by x.Oops"),
        instant(at(6), "ended by x.Oops"),
    ];
    let (process, threads, instants) =
        crate::readers::perfetto::timed(&export("perfetto", &[], dir.path()));
    assert_eq!((process.as_str(), &threads), ("JVM", &expected));
    assert_eq!(instants, told);
    let (process, threads, instants) =
        crate::readers::chrome::timed(&export("chrome", &[], dir.path()));
    assert_eq!((process.as_str(), &threads), ("JVM", &expected));
    assert_eq!(instants, told);
    let (product, threads, instants) =
        crate::readers::firefox::timed(&export("firefox", &[], dir.path()));
    assert_eq!((product.as_str(), &threads), ("JVM", &expected));
    assert_eq!(instants, [instant(at(4), r"step \u{7}2"), instant(at(5), "exception x.Oops")]);
    let threads = crate::readers::speedscope::timed(&export("speedscope", &[], dir.path()));
    assert_eq!(threads, expected);
}

#[test]
fn spans_have_the_times_and_the_exceptions() {
    let dir = exact();
    let without_parameters = |call: &Call| {
        let name = call.name.split('(').next().unwrap().to_owned();
        Call { name, ..call.clone() }
    };
    let mut expected = calls(&ALL);
    for calls in expected.values_mut() {
        *calls = calls.iter().map(without_parameters).collect();
        calls.sort();
    }
    let instant = |at, what: &str| ("thread 1".to_owned(), at, what.to_owned());
    let told = [
        instant(at(4), r"note: step \u{7}2"),
        instant(at(5), "ended by x.Oops"),
        instant(at(5), "exception: x.Oops"),
        instant(at(6), "ended by x.Oops"),
        instant(at(6), "exception: x.Oops"),
    ];
    let spans = export("otlp", &[], dir.path());
    let (process, threads, instants) = crate::readers::otlp::read(&spans);
    assert_eq!((process.len(), &threads), (0, &expected));
    assert_eq!(instants, told);
    assert_eq!(export("otlp", &[], dir.path()), spans, "the same ids each time");

    // What is left out is not around anything. Times begin with the recording.
    let start_unix_ns = 1_700_000_000_000_000_000;
    fs::write(dir.path().join("trace.json"), manifest(start_unix_ns, None)).unwrap();
    let spans = export("otlp", &["--exclude", "com.app.Main#work"], dir.path());
    let (process, threads, _) = crate::readers::otlp::read(&spans);
    let depths: Vec<_> = threads["thread 1"].iter().map(|call| call.depth).collect();
    assert_eq!(depths, [0, 1, 1]);
    assert_eq!(threads["thread 1"][0].begin, start_unix_ns + at(0));
    let known = ["service.name", "process.pid", "host.name"].map(|key| process[key].as_str());
    assert_eq!(known, ["app.jar", "4711", "build-7"]);

    for (dir, args, code, words) in [
        (bare(MAIN), &[][..], 1, "no times were recorded"),
        (exact(), &["--by", "calls"], 2, "--by calls does not apply to spans"),
    ] {
        let run = flow(&[&["export", "--to", "otlp"], args].concat(), dir.path());
        assert_eq!((run.code, run.out.as_str()), (Some(code), ""));
        assert!(run.err.contains(words), "{}", run.err);
    }
}

#[test]
fn lines_of_spans_are_short_and_calls_that_are_open_are_spans() {
    // main, open; in it work, 2,000 times.
    let dir = with_marks(&[&[0x80][..], &[0x81, 0x00].repeat(2000)].concat(), &exact_marks());
    let spans = export("otlp", &[], dir.path());
    let (_, threads, _) = crate::readers::otlp::read(&spans);
    let calls = &threads["thread 1"];
    let open: Vec<_> = calls.iter().filter(|call| call.end.is_none()).collect();
    assert_eq!((calls.len(), open.len(), open[0].depth), (2001, 1, 0));
    let lines: Vec<_> = spans.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len).collect();
    assert!(lines.len() > 1 && lines.iter().all(|len| *len < 300_000), "{lines:?}");
}

#[test]
fn rows_have_times_and_their_bounds() {
    let dir = exact();
    let oops = || Some("x.Oops".to_owned());
    let took = |begin, end, thrown| {
        let ns = at(end) - at(begin);
        (Some(at(begin)), Some(at(end)), Some(ns), Some(ns), thrown)
    };
    let expected = [
        ("<init>", took(2, 3, None)),
        ("<init>", took(4, 5, oops())),
        ("work", took(1, 6, oops())),
        ("work", took(7, 8, None)),
        ("main", took(0, 9, None)),
    ]
    .map(|(name, times)| (name.to_owned(), times));
    assert_eq!(crate::readers::rows::times(&export("csv", &[], dir.path())), expected);
    // By calls there are no times. What was thrown is known.
    let by_calls = export("csv", &["--by", "calls"], dir.path());
    let untimed = expected.map(|(name, (.., thrown))| (name, (None, None, None, None, thrown)));
    assert_eq!(crate::readers::rows::times(&by_calls), untimed);
}

#[test]
fn tables_have_times_and_their_bounds() {
    for dir in [exact(), two_threads()] {
        let to = tempfile::tempdir().unwrap();
        let out = to.path().join("tables");
        let run = flow(&["export", "--to", "parquet", "-o", &text(&out)], dir.path());
        assert_eq!(run.code, Some(0), "{}", run.err);
        let csv = export("csv", &[], dir.path());
        let mut csv = csv::Reader::from_reader(&csv[..]);
        let rows = csv.deserialize().map(Result::unwrap);
        let rows: Vec<BTreeMap<String, String>> = rows.collect();
        let calls = crate::readers::tables::calls(&out);
        assert_eq!(calls.len(), rows.len());
        for (call, row) in calls.iter().zip(&rows) {
            let ns = |column: &str| call[column].parse::<u64>().ok();
            for column in ["call", "start_ns", "end_ns", "thrown"] {
                assert_eq!(call[column], row[column], "{column} of {row:?}");
            }
            let least = ns("end_from_ns").zip(ns("start_by_ns"));
            let least = least.map(|(end, start)| end.saturating_sub(start).to_string());
            assert_eq!(least.unwrap_or_default(), row["duration_from_ns"], "{call:?}");
            let most = ns("end_by_ns").zip(ns("start_from_ns"));
            let most = most.map(|(end, start)| (end - start).to_string());
            assert_eq!(most.unwrap_or_default(), row["duration_by_ns"], "{call:?}");
        }
    }
}

#[test]
fn paths_weigh_as_long_as_they_took() {
    let dir = exact();
    let collapsed = String::from_utf8(export("collapsed", &[], dir.path())).unwrap();
    let name = |name: &str| format!("com.app.{name}");
    let (main, work, init) = (name(MAIN_NAME), name(WORK), name(INIT));
    let expected =
        format!("{main} 3000000\n{main};{work} 4000000\n{main};{work};{init} 2000000\n",);
    assert_eq!(collapsed, expected);
    let paths = crate::readers::pprof::timed(&export("pprof", &[], dir.path()));
    let weights: Vec<_> = paths.values().copied().collect();
    assert_eq!(weights, [3 * MS, 4 * MS, 2 * MS]);
    let run = flow(&["report", "--tree", "--format", "csv"], dir.path());
    let rows: Vec<_> =
        run.out.lines().skip(1).map(|row| row.rsplit_once("),").unwrap().1).collect();
    assert_eq!(
        rows,
        [
            "1,9000000,3000000,ns,9,0,3,0,",
            "2,6000000,4000000,ns,6,0,4,0,",
            "2,2000000,2000000,ns,2,0,2,0,"
        ]
    );
}

#[test]
fn exports_are_limited_to_a_range_of_time() {
    let dir = exact();
    let told = |args: &[&str]| {
        let speedscope = crate::readers::speedscope::timed(&export("speedscope", args, dir.path()));
        let (_, perfetto, _) =
            crate::readers::perfetto::timed(&export("perfetto", args, dir.path()));
        assert_eq!(speedscope, perfetto);
        speedscope
    };
    assert_eq!(told(&["--min-duration", "2ms"]), calls(&[ALL[0], ALL[1]]));
    assert_eq!(told(&["--min-duration", "1ms"]), calls(&ALL));
    // From between events 3 and 4 to between 7 and 8.
    let (from, to) = (at(3) + 5, at(7) + 5);
    let window = format!("{from}ns..{to}ns");
    let mut expected = calls(&[ALL[0], ALL[1], ALL[3], ALL[4]]);
    let calls = expected.get_mut("thread 1").unwrap();
    (calls[0].begin, calls[0].end) = (from, Some(to));
    calls[1].begin = from;
    calls[3].end = Some(to);
    assert_eq!(told(&["--time", &window]), expected);
    let late = told(&["--time", "1s.."]);
    assert_eq!(late["thread 1"], []);
    let run = flow(&["report", "--time", "..500us"], dir.path());
    assert!(run.err.contains("--time: no time before 0.000500 s is known"), "{run:?}");
    let run = flow(&["report", "--time", "..5ms"], dir.path());
    assert!(!run.err.contains("--time"), "{run:?}");

    let run = flow(&["export", "--to", "chrome", "--time", "1s..", "--by", "calls"], dir.path());
    assert_eq!(run.code, Some(2), "{}", run.err);
    for args in [
        &["export", "--to", "chrome", "--time", "1s.."][..],
        &["export", "--to", "svg", "--min-duration", "1s"],
        &["report", "--time", "1s..", "--by", "calls"],
        &["report", "--tree", "--min-duration", "1s"],
    ] {
        let run = flow(args, bare(MAIN).path());
        assert_eq!(run.code, Some(1), "{args:?}");
        assert!(run.err.contains("no times were recorded"), "{}", run.err);
    }
}

#[test]
fn sums_are_limited_to_a_range_of_time() {
    let dir = exact();
    let name = |name: &str| format!("com.app.{name}");
    let (main, work, init) = (name(MAIN_NAME), name(WORK), name(INIT));
    let collapsed =
        |args: &[&str]| String::from_utf8(export("collapsed", args, dir.path())).unwrap();
    // From between events 3 and 4 to between 7 and 8: main > work > init; main > work.
    let (from, to) = (at(3) + 500_000, at(7) + 250_000);
    let window = format!("{from}ns..{to}ns");
    let expected = format!("{main} 1000000\n{main};{work} 1750000\n{main};{work};{init} 1000000\n");
    assert_eq!(collapsed(&["--time", &window]), expected);
    let weights = crate::readers::pprof::timed(&export("pprof", &["--time", &window], dir.path()));
    let weights: Vec<_> = weights.values().copied().collect();
    assert_eq!(weights, [MS, 1_750_000, MS]);
    let by_calls = collapsed(&["--time", &window, "--by", "calls"]);
    assert_eq!(by_calls, format!("{main} 1\n{main};{work} 2\n{main};{work};{init} 1\n"));
    // The time of a short call belongs to its caller.
    let expected = format!("{main} 4000000\n{main};{work} 5000000\n");
    assert_eq!(collapsed(&["--min-duration", "2ms"]), expected);
    let numbers = |args: &[&str]| -> Vec<String> {
        let run = flow(args, dir.path());
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{args:?}");
        let of_row =
            |row: &str| row.split(')').next_back().unwrap().split_once(',').unwrap().1.to_owned();
        run.out.lines().skip(1).map(of_row).collect()
    };
    let report = ["report", "--format", "csv", "--time", &window];
    // Calls, total and self; of total and of self, the samples and the standard error.
    let expected = [
        "1,3750000,1000000,ns,5,0,1,0,",
        "2,2750000,1750000,ns,4,0,3,0,",
        "1,1000000,1000000,ns,1,0,1,0,",
    ];
    assert_eq!(numbers(&report), expected);
    let graph = ["report", "--tree", "--format", "csv", "--time", &window];
    let expected = [
        "1,3750000,1000000,ns,5,0,1,0,",
        "2,2750000,1750000,ns,4,0,3,0,",
        "1,1000000,1000000,ns,1,0,1,0,",
    ];
    assert_eq!(numbers(&graph), expected);
    let slowest = ["calls", "--slowest", "2", "--format", "csv", "--time", &window];
    let begin = from;
    let expected = [
        format!("{begin},{begin},{begin},3750000,3750000,3750000,false,,0"),
        format!("{begin},{begin},{begin},2500000,2500000,2500000,false,x.Oops,1"),
    ];
    assert_eq!(numbers(&slowest), expected);
    // Events after the end of the range are not read, so their damage does not matter.
    let early = format!("..{}ns", at(2));
    let early = ["report", "--format", "csv", "--time", &early];
    let expected = [
        format!("1,{},{MS},ns,2,0,1,0,", 2 * MS),
        format!("1,{MS},{MS},ns,1,0,1,0,"),
        "1,0,0,ns,0,0,0,0,".to_owned(),
    ];
    assert_eq!(numbers(&early), expected);
    let page = flow(&["report", "--html", "-", "--time", &window], dir.path());
    assert_eq!(page.code, Some(0), "{}", page.err);
    assert!(page.out.contains("only from 0.004500 s to 0.008250 s"));
}

#[test]
fn report_weighs_by_time_where_there_is_one() {
    let dir = exact();
    let run = flow(&["report"], dir.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let expected = "5 calls of 3 methods in 1 thread took 9.00 ms\n\n\
        calls    total       %     self      %  method\n    \
            1  9.00 ms  100.0%  3.00 ms  33.3%  com.app.Main.main(String[])\n    \
            2  6.00 ms   66.7%  4.00 ms  44.4%  com.app.Main.work(int)\n    \
            2  2.00 ms   22.2%  2.00 ms  22.2%  com.app.Main$Job.<init>()\n";
    assert!(run.out.starts_with(expected), "{}", run.out);
    let sorted = |by: &str| {
        let run = flow(&["report", "--format", "csv", "--sort", by], dir.path());
        run.out.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(
        sorted("self"),
        ".,1,com.app.Main,work,(I)I,com.app.Main.work(int),2,6000000,4000000,ns,6,0,4,0,"
    );
    assert!(sorted("total").contains(",main,"));
    let by_calls = flow(&["report", "--by", "calls"], dir.path());
    assert_eq!(by_calls.out, flow(&["report"], bare(MAIN).path()).out);
    let run = flow(&["report", "--by", "wall"], bare(MAIN).path());
    assert!(run.code == Some(1) && run.err.contains("no times were recorded"), "{}", run.err);
}

#[test]
fn callers_callees_and_paths_show_durations() {
    let dir = exact();
    let shows = |args: &[&str], expected: &str| {
        let run = flow(args, dir.path());
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{args:?}");
        assert!(run.out.starts_with(expected), "{}", run.out);
        assert!(run.out.contains("\ntimes are "), "{}", run.out);
    };
    shows(
        &["report", "--callers", "**#<init>"],
        "5 calls in 1 thread\n\n\
         calls    total       %     self  method\n    \
             2  2.00 ms   22.2%  2.00 ms  com.app.Main$Job.<init>()\n    \
             2  2.00 ms   22.2%  2.00 ms    com.app.Main.work(int)\n    \
             2  2.00 ms   22.2%  2.00 ms      com.app.Main.main(String[])\n",
    );
    shows(
        &["report", "--callees", "**#main"],
        "5 calls in 1 thread\n\n\
         calls    total       %     self  method\n    \
             1  9.00 ms  100.0%  3.00 ms  com.app.Main.main(String[])\n    \
             2  6.00 ms   66.7%  4.00 ms    com.app.Main.work(int)\n    \
             2  2.00 ms   22.2%  2.00 ms      com.app.Main$Job.<init>()\n",
    );
    shows(
        &["report", "--paths", "longest"],
        "calls    total       %     self      %  method\n    \
            1  9.00 ms  100.0%  3.00 ms  33.3%  com.app.Main.main(String[])\n    \
            2  6.00 ms   66.7%  4.00 ms  44.4%  com.app.Main.work(int)\n    \
            2  2.00 ms   22.2%  2.00 ms  22.2%  com.app.Main$Job.<init>()\n",
    );
    shows(
        &["report", "--paths", "frequent", "--by", "wall", "--max", "1"],
        "5 calls on 3 paths\n\n\
         4.00 ms   44.4%  com.app.Main.work(int)  (2 calls)\n                 \
         in Main.main\n\n\
         … 2 more paths with 3 calls that took 5.00 ms left out (--max 1; 0 for all)\n",
    );
    let run = flow(&["report", "--callers", "**#work", "--format", "csv"], dir.path());
    let row = ".,,2,1,1,0,com.app.Main,main,([Ljava/lang/String;)V,com.app.Main.main(String[]),2,6000000,4000000,ns,6,0,4,0,";
    assert_eq!(run.out.lines().nth(2), Some(row));
    let run = flow(&["report", "--callees", "**#work", "--format", "json"], dir.path());
    let line = run.out.lines().nth(1).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let numbers = ["calls", "total", "self", "total_error", "self_error"];
    let found = numbers.map(|key| line[key].as_u64().unwrap());
    assert_eq!(found, [2, 2 * MS, 2 * MS, 0, 0]);
    // Counts are the same as without times.
    for args in [["--callers", "**#work"], ["--callees", "**#main"], ["--paths", "longest"]] {
        let by_calls = flow(&[&["report", "--by", "calls"][..], &args].concat(), dir.path());
        assert_eq!(by_calls.out, flow(&[&["report"][..], &args].concat(), bare(MAIN).path()).out);
    }
    let run = flow(&["report", "--paths", "deepest", "--by", "wall"], dir.path());
    assert_eq!(run.code, Some(2), "{}", run.err);
}

#[test]
fn the_slowest_calls_come_with_their_callers() {
    let dir = exact();
    let run = flow(&["calls", "--slowest", "2"], dir.path());
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!(lines.len(), 4, "{}", run.out);
    assert!(lines[1].starts_with(" 9.00 ms  0.001000 s  1 "), "{}", run.out);
    assert!(
        lines[2].starts_with(" 5.00 ms  0.002000 s  1 ")
            && lines[2].ends_with("  com.app.Main.work(int)")
            && lines[3].ends_with("  in Main.main"),
        "{}",
        run.out
    );
    let args = ["calls", "--slowest", "1", "--include", "**.Main$Job", "--format", "json"];
    let line: serde_json::Value = serde_json::from_str(&flow(&args, dir.path()).out).unwrap();
    let numbers = ["call", "start_ns", "duration_from_ns", "duration_by_ns", "depth"]
        .map(|key| line[key].as_u64().unwrap());
    assert_eq!(numbers, [2, at(2), MS, MS, 0]);
}

#[test]
fn percentiles_are_durations_of_calls_that_ended() {
    let dir = exact();
    let run = flow(&["report", "--percentiles"], dir.path());
    assert_eq!(
        (run.out.as_str(), run.code),
        (
            "5 calls of 3 methods\n\n\
             calls      p50      p90      p99      max  method\n    \
                 1  9.00 ms  9.00 ms  9.00 ms  9.00 ms  com.app.Main.main(String[])\n    \
                 2  1.00 ms  5.00 ms  5.00 ms  5.00 ms  com.app.Main.work(int)\n    \
                 2  1.00 ms  1.00 ms  1.00 ms  1.00 ms  com.app.Main$Job.<init>()\n\
             times are those of samples, 0 ns apart (median)\n",
            Some(0)
        ),
        "{}",
        run.err
    );
    let args = ["report", "--percentiles", "--include", "**#work", "--format", "json"];
    let line: serde_json::Value = serde_json::from_str(&flow(&args, dir.path()).out).unwrap();
    let keys = ["calls", "p50_from_ns", "p50_by_ns", "p90_from_ns", "max_by_ns"];
    assert_eq!(keys.map(|key| line[key].as_u64().unwrap()), [2, MS, MS, 5 * MS, 5 * MS]);
    let run = flow(&["report", "--percentiles"], bare(MAIN).path());
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.err.contains("no times were recorded"), "{}", run.err);
    let run = flow(&["report", "--percentiles", "--sort", "self"], dir.path());
    assert_eq!(run.code, Some(2), "{}", run.err);
}

#[test]
fn replay_without_times_shows_where_an_exception_leaves_calls() {
    let dir = exact();
    let expected = "thread 1
com.app.Main.main(String[])
  com.app.Main.work(int)
    com.app.Main$Job.<init>()
    com.app.Main$Job.<init>()
      left by x.Oops
    left by x.Oops
  com.app.Main.work(int)
";
    for args in [&["replay"][..], &["replay", "--merged"]] {
        let run = flow(args, dir.path());
        assert_eq!((run.out.as_str(), run.code), (expected, Some(0)), "{args:?}");
    }
    // With fewer calls, lines would be below calls that are not shown.
    for args in [&["--depth", "9"][..], &["--collapse"], &["--exclude", "x.Y"]] {
        let run = flow(&[&["replay"][..], args].concat(), dir.path());
        assert!(!run.out.contains("left by") && run.code == Some(0), "{}", run.out);
    }
}

#[test]
fn replay_shows_when_calls_began_how_long_they_took_and_how_they_ended() {
    let dir = exact();
    let run = flow(&["replay", "--time"], dir.path());
    let expected = "thread 1
    0.001000 s             9.00 ms  com.app.Main.main(String[])
    0.002000 s             5.00 ms    com.app.Main.work(int)  ! x.Oops
    0.003000 s             1.00 ms      com.app.Main$Job.<init>()
                                        # step \\u{7}2
    0.005000 s             1.00 ms      com.app.Main$Job.<init>()  ! x.Oops
    0.008000 s             1.00 ms    com.app.Main.work(int)
";
    assert_eq!((run.out.as_str(), run.code), (expected, Some(0)));
    // The second line is below the first one, and a note below that. Both calls that are not shown count, before and after
    // the note.
    let run = flow(&["replay", "--min-duration", "2ms"], dir.path());
    let expected = "thread 1
    0.001000 s             9.00 ms  com.app.Main.main(String[])
    0.002000 s             5.00 ms    com.app.Main.work(int)  ! x.Oops
                                        # step \\u{7}2
                                        … 2 calls below
… 3 shorter calls left out (--min-duration 2ms)
";
    assert_eq!((run.out.as_str(), run.code), (expected, Some(0)));
    let run = flow(&["replay", "--from", "7.5ms", "--format", "csv", "--time"], dir.path());
    let begun = format!(",6,{},{},{},1000000,1000000,1000000,,,", at(7), at(7), at(7));
    assert!(run.out.lines().nth(1).is_some_and(|line| line.ends_with(&begun)), "{}", run.out);
    // A note comes before the call before which the program left it, also in CSV and JSON.
    let run = flow(&["replay", "--time", "--format", "csv"], dir.path());
    let fields: Vec<_> = run.out.lines().map(|line| line.split(',').count()).collect();
    assert!(fields.iter().all(|count| *count == fields[0]), "{}", run.out);
    let row = format!(".,1,2,,,,,,4,{at},{at},{at},,,,,note,step \\u{{7}}2", at = at(4));
    assert_eq!(run.out.lines().nth(4), Some(row.as_str()));
    let run = flow(&["replay", "--time", "--format", "json"], dir.path());
    let line = run.out.lines().nth(3).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(line).unwrap(),
        serde_json::json!({"trace": ".", "thread": 1, "depth": 2, "offset": 4, "start_ns": at(4),
            "start_from_ns": at(4), "start_by_ns": at(4), "mark": "note", "text": "step \u{7}2",
            "events": null})
    );
    let run = flow(&["replay", "--from", "1s"], dir.path());
    assert!(run.code == Some(1) && run.err.contains("no event at 1.000000 s"), "{}", run.err);
    let run = flow(&["replay", "--time"], bare(MAIN).path());
    assert!(run.code == Some(1) && run.err.contains("no times were recorded"), "{}", run.err);
}

#[test]
fn between_two_marks_times_are_bounded() {
    // Main, with two consecutive calls, at 1 ms and 3 ms.
    let marks = [
        (0, 0, Mark::Time { by_ns: MS, from_ns: MS, ran_us: None }),
        (5, 0, Mark::Time { by_ns: 3 * MS, from_ns: 3 * MS, ran_us: None }),
    ];
    let dir = with_marks(&[0x80, 0x81, 0x00, 0x81, 0x00, 0x00], &encoded(&marks));
    let run = flow(&["replay", "--time"], dir.path());
    let columns = run.out.lines().skip(2).map(|line| line.chars().take(36).collect());
    let took = "           ≤ 2.00 ms  ";
    assert_eq!(
        columns.collect::<Vec<String>>(),
        [format!("    0.002000 s{took}"), format!("    0.002000 s{took}")]
    );
    let run = flow(&["report", "--format", "csv", "--sort", "self"], dir.path());
    assert!(run.out.contains("work(int),2,0,0,ns,0,0,0,0,\n"), "{}", run.out);
}

/// Main is entered between two samples; it runs, as do two calls of work, of which a sample has seen the first. Then it waits
/// in work for 5 ms, and runs for 1 ms more.
fn waiting() -> TempDir {
    let time = |by, from, ran_us| Mark::Time { by_ns: by * MS, from_ns: from * MS, ran_us };
    let marks = [
        (0, 0, time(1, 1, Some(0))),
        (1, 0, time(2, 2, Some(1000))),
        (2, 0, time(3, 3, Some(1000))),
        (6, 0, time(4, 9, Some(1000))),
        (6, 1, time(10, 10, Some(1000))),
    ];
    with_marks(&[0x80, 0x81, 0x00, 0x81, 0x00, 0x81, 0x01], &encoded(&marks))
}

#[test]
fn waiting_is_apart_from_working() {
    let dir = waiting();
    let lines = |args: &[&str]| -> Vec<String> {
        let run = flow(args, dir.path());
        assert_eq!(run.code, Some(0), "{}", run.err);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        run.out.lines().map(words).filter(|line| !line.is_empty()).collect()
    };
    let report = lines(&["report"]);
    assert_eq!(
        report[0],
        "4 calls of 2 methods in 1 thread ran for 3.50 ms and waited for 5.00 ms"
    );
    assert_eq!(report[1], "calls cpu % self % waiting method");
    assert!(report[2].starts_with("1 ~3.50 ms 100.0% ~2.47 ms "), "{report:?}");
    assert!(report[2].ends_with("5.00 ms com.app.Main.main(String[])"), "{report:?}");
    assert!(report[3].starts_with("3 ~1.03 ms "), "{report:?}");
    assert!(report[3].ends_with("5.97 ms com.app.Main.work(int)"), "{report:?}");
    assert!(
        lines(&["report", "--tree"])[2].starts_with("1 ~3.50 ms 100.0% ~2.47 ms 5.00 ms"),
        "by path"
    );
    // What a sampler of threads that wait would show.
    let wall = lines(&["report", "--by", "wall"]);
    assert_eq!(wall[0], "4 calls of 2 methods in 1 thread took 8.50 ms");
    assert_eq!(wall, lines(&["report", "--by", "wall"]));
    // Two milliseconds while it waits: none of them is CPU time.
    let range = lines(&["report", "--time", "5ms..7ms"]);
    assert!(range[0].ends_with("ran for 0 ns and waited for 2.00 ms"), "{range:?}");

    let run = flow(&["report", "--format", "json"], dir.path());
    let main: serde_json::Value = serde_json::from_str(run.out.lines().next().unwrap()).unwrap();
    assert_eq!(
        [&main["total"], &main["waiting"], &main["unit"]],
        [&serde_json::json!(3_500_000), &serde_json::json!(5 * MS), &serde_json::json!("cpu-ns")]
    );
    // The page shows the same.
    let page = |args: &[&str]| {
        let run = flow(&[&["report", "--html", "-"], args].concat(), dir.path());
        let page = page_data(&run.out);
        let sums = page["methods"].as_array().unwrap().iter().find(|row| row[1] == "main").unwrap();
        (page["has_cpu"].clone(), page["flame_end"].clone(), sums[5].clone(), sums[8].clone())
    };
    let of = |has_cpu: bool, all_us: u64, waiting: u64| {
        let all = serde_json::Value::from(all_us * 1000);
        (has_cpu.into(), all.clone(), all, (waiting * MS).into())
    };
    assert_eq!(page(&[]), of(true, 3500, 5));
    let run = flow(&["report", "--html", "-"], dir.path());
    let methods = page_data(&run.out)["methods"].clone();
    let rough = methods.as_array().unwrap().iter().map(|row| (row[1].clone(), row[9].clone()));
    let mut rough: Vec<_> = rough.map(|row| serde_json::json!(row).to_string()).collect();
    rough.sort();
    assert_eq!(rough, [r#"["main",[1,1]]"#, r#"["work",[1,1]]"#], "total and self");
    assert!(run.out.contains("~ is from fewer than about 20 samples"));
    assert_eq!(page(&["--by", "wall"]), of(false, 8500, 0));
    let run = flow(&["report", "--by", "cpu"], exact().path());
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("CPU times were not recorded"), "{}", run.err);
    let run = flow(&["export", "--to", "csv", "--by", "cpu"], dir.path());
    assert!(run.code == Some(2) && run.err.contains("--by cpu does not apply"), "{}", run.err);
    let run = flow(&["check", "--marks"], dir.path());
    assert!(run.out.contains("by 4000000  from 9000000  ran 1000 µs\n"), "{}", run.out);
}

#[test]
fn times_of_two_runs_are_compared_on_request() {
    let dir = exact();
    let diff = |other: &TempDir, args: &[&str]| {
        flow(&[&["diff"], args, &[&text(other.path())]].concat(), dir.path())
    };
    let run = diff(&exact(), &["--by", "wall"]);
    assert!(run.out.ends_with("no difference: 3 paths took as long\n"), "{}", run.out);
    // The first run makes one more call, after the last mark: its duration is unknown.
    let longer = with_marks(&[MAIN, &[0x82, 0x00]].concat(), &exact_marks());
    let run = diff(&longer, &["--by", "wall", "--format", "csv"]);
    assert!(
        run.out.starts_with("change,class,name,descriptor,readable,depth,self_before,"),
        "{}",
        run.out
    );
    assert!(
        run.out.contains(
            "vanished,com.app.Main$Job,<init>,()V,com.app.Main$Job.<init>(),0,1,0,1,0,ns,1,"
        ),
        "{}",
        run.out
    );
    let run = flow(&["diff", "--by", "wall", &text(dir.path())], bare(MAIN).path());
    assert!(run.code == Some(1) && run.err.contains("no times were recorded"), "{}", run.err);
}

#[test]
fn marks_that_cannot_be_read_at_all_are_reported() {
    let dir = with_marks(MAIN, b"flow-mrk\x09");
    let run = flow(&["report"], dir.path());
    assert!(run.err.contains("format version 9"), "{}", run.err);
    assert_eq!(run.out, flow(&["report"], bare(MAIN).path()).out);
}

/// The calls as rows without times.
fn rows(dir: &Path) -> (Option<i32>, String) {
    let run = flow(&["export", "--to", "csv"], dir);
    assert!(run.code != Some(101) && run.code.is_some(), "{}", run.err);
    let row = |row: &str| {
        let fields: Vec<_> = row.split(',').collect();
        [&fields[..5], &fields[10..]].concat().join(",")
    };
    (run.code, run.out.lines().map(row).collect::<Vec<_>>().join("\n"))
}

#[test]
fn calls_do_not_depend_on_marks() {
    let marks = exact_marks();
    let (code, expected) = rows(bare(MAIN).path());
    assert_eq!(code, Some(0));
    let dir = exact();
    let file = dir.path().join("thread-1.marks");
    let check = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        let (code, rows) = rows(dir.path());
        assert_eq!(rows, expected, "{bytes:02X?}");
        code
    };
    for end in (0..marks.len()).step_by(3) {
        assert_eq!(check(&marks[..end]), Some(0), "{end}");
    }
    for at in (0..marks.len()).step_by(2) {
        let mut damaged = marks.clone();
        damaged[at] ^= 0x81;
        check(&damaged);
    }
    let mut damaged = marks;
    damaged[30] = 0xFF;
    check(&damaged);
    for verb in [
        &["report"][..],
        &["report", "--tree", "--min", "0"],
        &["replay", "--time"],
        &["calls", "--slowest", "3"],
    ] {
        let run = flow(verb, dir.path());
        assert_eq!(run.code, Some(1), "{verb:?} {}", run.err);
        assert!(run.err.contains("thread-1.marks") && run.err.contains("offset"), "{}", run.err);
        assert!(run.out.contains("com.app.Main.work(int)"), "{verb:?} {}", run.out);
    }
}

#[test]
fn check_names_errors_in_marks() {
    let found = |marks: &[u8]| flow(&["check"], with_marks(MAIN, marks).path());
    let run = flow(&["check"], exact().path());
    assert!(run.code == Some(0) && !run.out.contains("marks"), "{}", run.out);
    let mut marks = exact_marks();
    let last = marks.pop().unwrap();
    let run = found(&marks);
    assert_eq!(run.code, Some(3));
    assert!(run.out.contains("thread-1.marks: ends inside a mark at offset "), "{}", run.out);
    marks.push(last);
    marks[9] = 0xFF;
    let run = found(&marks);
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("offset 9"), "{}", run.out);
    let back = [
        (1, 0, Mark::Time { by_ns: 10, from_ns: 500, ran_us: None }),
        (2, 0, Mark::Time { by_ns: 20, from_ns: 30, ran_us: None }),
        (99, 0, Mark::Paused),
    ];
    let run = found(&encoded(&back));
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("the time goes back at offset 16"), "{}", run.out);
    assert!(run.out.contains("1 mark after the end of the events"), "{}", run.out);
    // Instants are relative to each other, but not across a part that is left out.
    let instants = |at_ns| {
        let inside = (0, 0, Mark::Time { by_ns: 5, from_ns: 9, ran_us: None });
        encoded(&[inside, (5, 1, Mark::Instant { at_ns }), (6, 0, Mark::Instant { at_ns: 11 })])
    };
    let run = found(&instants(8));
    assert_eq!(run.code, Some(1));
    let told = "the time goes back at offset 15 (event at 5, exit 1)";
    assert!(run.out.contains(told), "{}", run.out);
    assert_eq!(found(&instants(9)).code, Some(0));
}

#[test]
fn info_and_dump_show_marks() {
    let dir = exact();
    let text = manifest(0, None)
        .replace(r#""engine""#, r#""clock":{"kind":"tick","period_ns":100000},"engine""#);
    fs::write(dir.path().join("trace.json"), text).unwrap();
    let run = flow(&["info"], dir.path());
    assert!(
        run.out.contains(
            "clock     tick every 100 µs, 11 samples, events known to within 0 ns (median)\n"
        ),
        "{}",
        run.out
    );
    assert!(
        run.out.contains("marked    2 calls left by an exception, 1 note of the program\n"),
        "{}",
        run.out
    );
    let run = flow(&["report"], dir.path());
    assert!(run.out.contains("times are those of samples, 0 ns apart (median)"), "{}", run.out);
    // The precision is that of the marks, not the period of the clock.
    let time = |offset, by_ns, from_ns| (offset, 0, Mark::Time { by_ns, from_ns, ran_us: None });
    let marks = [time(0, 0, MS), time(4, 3 * MS, 4 * MS), time(7, 6 * MS, 6 * MS)];
    let late = with_marks(MAIN, &encoded(&marks));
    fs::copy(dir.path().join("trace.json"), late.path().join("trace.json")).unwrap();
    let run = flow(&["report"], late.path());
    assert!(run.out.contains("times are those of samples, 1.97 ms apart (median)"), "{}", run.out);
    let run = flow(&["check", "--marks", "--format", "csv"], dir.path());
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!(lines.len(), 1 + 13);
    assert_eq!(lines[1], ".,1,9,0,0,time,0,1000007,,,");
    assert!(run.out.contains(",5,0,unwound,,,2,x.Oops,\n"), "{}", run.out);
    let run = flow(&["check", "--marks"], dir.path());
    assert!(run.out.contains("note     step \\u{7}2\n"), "{}", run.out);
}

/// Two threads with the same calls, the second 3 ms later.
fn two_threads() -> TempDir {
    let dir = exact();
    fs::write(dir.path().join("thread-2.flow"), MAIN).unwrap();
    fs::write(dir.path().join("thread-2.marks"), exact_marks_later(3 * MS)).unwrap();
    dir
}

#[test]
fn calls_of_a_method_are_in_order_of_time_across_threads() {
    let dir = two_threads();
    let work = ["replay", "--method", "Main#work"];
    let run = flow(&work, dir.path());
    let expected = "\
at 0.002000 s for 5.00 ms in thread 1, call 1, depth 1  ! x.Oops
  in Main.main
  com.app.Main.work(int)
    com.app.Main$Job.<init>()
    com.app.Main$Job.<init>()

at 0.005000 s for 5.00 ms in thread 2, call 1, depth 1  ! x.Oops
  in Main.main
  com.app.Main.work(int)
    com.app.Main$Job.<init>()
    com.app.Main$Job.<init>()

at 0.008000 s for 1.00 ms in thread 1, call 4, depth 1
  in Main.main
  com.app.Main.work(int)

at 0.011000 s for 1.00 ms in thread 2, call 4, depth 1
  in Main.main
  com.app.Main.work(int)
";
    assert_eq!((run.out.as_str(), run.err.as_str(), run.code), (expected, "", Some(0)));
    // The first call with its times, and what limits leave out.
    let run = flow(&[&work[..], &["--time", "--max", "2"]].concat(), dir.path());
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!(
        lines[2].trim_start(),
        "0.002000 s             5.00 ms    com.app.Main.work(int)  ! x.Oops"
    );
    assert_eq!(lines.last(), Some(&"… stopped after 2 calls (--max 2)"), "{}", run.out);
    let run = flow(&[&work[..], &["--min-duration", "2ms"]].concat(), dir.path());
    assert_eq!(run.out.matches("\nat ").count() + 1, 2, "{}", run.out);
    assert!(
        run.out.ends_with("\n… 6 shorter calls left out (--min-duration 2ms)\n"),
        "{}",
        run.out
    );
    let run = flow(&[&work[..], &["--verbose", "--max", "1"]].concat(), dir.path());
    let heading =
        "call 1 at offset 1, depth 1  ! x.Oops\n  in com.app.Main.main([Ljava/lang/String;)V\n";
    assert!(run.out.contains(heading), "{}", run.out);
    // Of one thread, as before.
    let run = flow(&[&work[..], &["--thread", "2", "--exclude", "Main#main"]].concat(), dir.path());
    assert!(
        run.out.starts_with("at 0.005000 s for 5.00 ms in thread 2, call 1, depth 0"),
        "{}",
        run.out
    );
    assert_eq!(run.out.matches("  com.app.Main.work(int)\n").count(), 2, "{}", run.out);
    // Programs get the calls by thread.
    let csv = flow(&[&work[..], &["--format", "csv"]].concat(), dir.path());
    let threads: Vec<_> = csv.out.lines().skip(1).map(|line| &line[..4]).collect();
    assert_eq!(threads, [".,1,", ".,1,", ".,1,", ".,1,", ".,2,", ".,2,", ".,2,", ".,2,"]);
}

#[test]
fn calls_of_a_method_without_their_callees_are_a_table() {
    let dir = two_threads();
    let table = ["replay", "--method", "Main#work", "--depth", "1"];
    let run = flow(&table, dir.path());
    let expected = "     start  duration  thread  calls  method
0.002000 s   5.00 ms  1           3  com.app.Main.work(int)  ! x.Oops
0.005000 s   5.00 ms  2           3  com.app.Main.work(int)  ! x.Oops
0.008000 s   1.00 ms  1           1  com.app.Main.work(int)
0.011000 s   1.00 ms  2           1  com.app.Main.work(int)
… 4 deeper calls left out (--depth 1)
";
    assert_eq!((run.out.as_str(), run.err.as_str(), run.code), (expected, "", Some(0)));
    let run = flow(&[&table[..], &["--max", "3", "--verbose"]].concat(), dir.path());
    assert!(run.out.contains("  in com.app.Main.main([Ljava/lang/String;)V\n"), "{}", run.out);
    assert!(run.out.ends_with("\n… stopped after 3 calls (--max 3)\n"), "{}", run.out);
}

#[test]
fn flags_that_contradict_each_other_are_explained() {
    let run = command().args(["replay", "--time", "1.5s..2s"]).output().unwrap();
    let message = "flow: --time of replay shows times and takes no range: replay --time --from 1s500ms begins there\n";
    assert_eq!(String::from_utf8(run.stderr).unwrap(), message);
    assert_eq!(run.status.code(), Some(2));
}

#[test]
fn the_table_of_calls_has_times_in_every_format() {
    let dir = exact();
    let args = ["replay", "--method", "Main#work", "--depth", "1", "--format", "csv"];
    let run = flow(&args, dir.path());
    let mut lines = run.out.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let titles = lines.next().unwrap();
    let at = |title| titles.iter().position(|other| *other == title).unwrap();
    let calls: Vec<_> = lines.filter(|row| row[at("name")] == "work").collect();
    let starts: Vec<_> = calls.iter().map(|row| row[at("start_ns")].to_owned()).collect();
    assert_eq!(starts, [1, 7].map(|number| self::at(number).to_string()));
    let durations: Vec<_> = calls.iter().map(|row| row[at("duration_ns")].to_owned()).collect();
    assert_eq!(durations, [(1, 6), (7, 8)].map(|(a, b)| (self::at(b) - self::at(a)).to_string()));
    assert_eq!(run.err, "flow: 2 deeper calls left out (--depth 1)\n");
    // One line for all threads.
    let dir = two_threads();
    let run = flow(&["replay", "--depth", "1", "--format", "json"], dir.path());
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    // Without times there are none.
    let dir = bare(MAIN);
    let run = flow(&args, dir.path());
    assert_eq!((run.code, run.out.contains("start_ns")), (Some(0), false), "{}", run.err);
}

/// Two threads that call one method several times: calls of thread 1 and 2 with their instants.
fn threads_at(first: &[u64], second: &[u64]) -> TempDir {
    let dir = bare(&[]);
    for (thread, times) in [(1, first), (2, second)] {
        let events = [0x81, 0x00].repeat(times.len() / 2);
        let at = |(offset, at_ns): (u64, &u64)| (offset, 0, Mark::Instant { at_ns: *at_ns });
        let marks: Vec<_> = (0..).zip(times).map(at).collect();
        fs::write(dir.path().join(format!("thread-{thread}.flow")), events).unwrap();
        fs::write(dir.path().join(format!("thread-{thread}.marks")), encoded(&marks)).unwrap();
    }
    dir
}

#[test]
fn threads_are_merged_by_time_as_far_as_it_is_known() {
    let dir = threads_at(&[10, 20, 50, 60], &[30, 40, 50, 70]);
    let args = ["replay", "--merged", "--time"];
    let shown = flow(&args, dir.path()).out;
    let headings: Vec<_> = shown.lines().filter(|line| line.starts_with("thread")).collect();
    let overlaps = "  ~ may have happened before what is above";
    // The second calls begin at the same instant.
    let expected = ["thread 1", "thread 2", &format!("thread 1{overlaps}")];
    assert_eq!(headings, expected, "{shown}");

    let rows = flow(&["replay", "--merged", "--format", "json"], dir.path()).out;
    let rows: Vec<(u64, bool)> = rows
        .lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            (row["thread"].as_u64().unwrap(), row["certain"].as_bool().unwrap())
        })
        .collect();
    assert_eq!(rows, [(1, true), (2, true), (2, true), (1, false)]);

    let some = flow(&["replay", "--merged", "--max", "2"], dir.path()).out;
    assert!(some.contains("… stopped after 2 calls (--max 2)"), "{some}");
    // Without times there is no order.
    let untimed = with_marks(MAIN, &HEADER);
    let output = command().args(["replay", "--merged"]).arg(untimed.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn times_after_the_end_are_refused_by_every_verb() {
    let dir = exact();
    let write = |end| fs::write(dir.path().join("trace.json"), manifest(0, end)).unwrap();
    write(Some((5, 5, 8)));
    let verbs: [&[&str]; 9] = [
        &["report"],
        &["report", "--callers", "**#work"],
        &["calls", "--slowest", "3"],
        &["report", "--exceptions"],
        &["report", "--paths", "longest"],
        &["report", "--html", "-"],
        &["report", "--tree"],
        &["export", "--to", "collapsed"],
        &["export", "--to", "chrome"],
    ];
    for verb in verbs {
        let run = flow(&[verb, &["--time", "5s..6s"]].concat(), dir.path());
        assert_eq!((run.code, &*run.out), (Some(1), ""), "{verb:?} {run:?}");
        let expected =
            "flow: --time: nothing was recorded after 5.000000 s: the recording took 1.50 s\n";
        assert_eq!(run.err, expected, "{verb:?}");
        // A range that ends later than the recording begins in it.
        let run = flow(&[verb, &["--time", "5ms..6s"]].concat(), dir.path());
        assert_eq!((run.code, &*run.err), (Some(0), ""), "{verb:?}");
    }
    let run = flow(&["report", "--time", "1.2s.."], dir.path());
    assert_eq!((run.code, &*run.err), (Some(0), ""), "in the recording");
    // Of a killed JVM, only the last known time is known.
    write(None);
    let run = flow(&["report", "--time", "5s..6s"], dir.path());
    assert_eq!(run.err, "flow: --time: no time after 5.000000 s is known\n", "{run:?}");
}

/// Rows are ordered by the time on the screen.
#[test]
fn rows_are_ordered_by_the_times_they_show() {
    // main > (work × 3), which no sample has seen; then init, which one has.
    let events = [0x80, 0x81, 0x00, 0x81, 0x00, 0x81, 0x00, 0x82, 0x01];
    let time = |ns| Mark::Time { by_ns: ns, from_ns: ns, ran_us: None };
    let marks = [(0, 0, time(MS)), (7, 0, time(11 * MS)), (8, 0, time(12 * MS))];
    let dir = with_marks(&events, &encoded(&marks));
    for (verb, sort) in [
        ("report", "self"),
        ("report", "total"),
        ("report --tree", "self"),
        ("report --tree", "total"),
    ] {
        let args = ["--by", "wall", "--sort", sort, "--format", "json", "--exclude", "**#main"];
        let run = flow(&[&words(verb)[..], &args].concat(), dir.path());
        let rows =
            run.out.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
        let rows: Vec<_> = rows
            .map(|row| (row["name"].as_str().unwrap().to_owned(), row[sort].as_u64()))
            .collect();
        let names: Vec<_> = rows.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["<init>", "work"], "{verb} {sort}: {run:?}");
        assert!(rows[0].1 > rows[1].1, "{verb} {sort}: {run:?}");
    }
}

#[test]
fn a_replay_with_values_names_the_exception_and_its_message() {
    let text = |text: &str| {
        let value = Value::Text { units: text.len() as u64, beginning: text.to_owned() };
        let mut bytes = Vec::new();
        CallValue::new(Role::Message, value).encode(&mut bytes);
        bytes
    };
    let mut null = Vec::new();
    CallValue::new(Role::Message, Value::Null).encode(&mut null);
    for (message, expected) in [(null, "! x.Oops"), (text("no order"), "! x.Oops: \"no order\"")] {
        let exits = NonZeroU64::MIN;
        let marks = [
            (2, 0, Mark::Values(message)),
            (2, 0, Mark::Unwound { exits, thrown: Some("x.Oops".to_owned()) }),
        ];
        let dir = with_marks(&[0x80, 0x81, 0x00, 0x00], &encoded(&marks));
        let run = flow(&["replay", "--values"], dir.path());
        assert_eq!(run.out.lines().last().map(str::trim), Some(expected), "{run:?}");
    }
}

/// The numbers of calls of work: the second call of the thread, from 2 to 7 ms, and the fifth, from 8 to 9 ms.
#[test]
fn lists_of_calls_are_selected_by_time_and_duration() {
    let dir = exact();
    let numbers = |flags: &[&str]| -> Vec<u64> {
        let args = [&["calls", "**#work", "--format", "json"], flags].concat();
        let run = flow(&args, dir.path());
        assert_eq!(run.code, Some(0), "{flags:?}: {}", run.err);
        let number =
            |line| serde_json::from_str::<serde_json::Value>(line).unwrap()["call"].as_u64();
        run.out.lines().map(|line| number(line).unwrap()).collect()
    };
    for values in [&[][..], &["--values"]] {
        for (flags, expected) in [
            (&[][..], &[1, 4][..]),
            (&["--min-duration", "2ms"], &[1]),
            (&["--time", "7.5ms.."], &[4]),
            (&["--time", "3ms..4ms"], &[1]),
            (&["--time", "..8.5ms"], &[1, 4]),
            (&["--time", "..8.5ms", "--max", "1"], &[1]),
            // The whole call counts.
            (&["--time", "5ms..", "--min-duration", "3ms"], &[1]),
        ] {
            assert_eq!(numbers(&[flags, values].concat()), expected, "{flags:?} {values:?}");
        }
    }
    let run = flow(&["calls", "**#work", "--time", "7.5ms.."], dir.path());
    assert!(run.out.starts_with("com.app.Main.work(int): 1 call, 1 shape\n"), "{}", run.out);
    let run = flow(&["calls", "**#work", "--time", "5s.."], dir.path());
    assert!(run.out.is_empty() && run.err.contains("no call of '**#work'"), "{run:?}");
}

#[test]
fn the_slowest_calls_come_with_their_values_on_request() {
    let value = |number: i32| {
        let mut bytes = Vec::new();
        let value = Value::Primitive(Primitive::Int(number));
        CallValue::new(Role::Argument(0), value).encode(&mut bytes);
        Mark::Values(bytes)
    };
    let mut marks: Vec<_> = (0..)
        .zip(EVENTS)
        .map(|(number, (offset, exits))| (offset, exits, Mark::Instant { at_ns: at(number) }))
        .collect();
    marks.extend([(2, 0, value(8)), (7, 0, value(3))]);
    marks.sort_by_key(|(offset, exits, _)| (*offset, *exits));
    let dir = with_marks(MAIN, &encoded(&marks));
    let run = flow(&["calls", "**#work", "--slowest", "1", "--values"], dir.path());
    assert!(run.out.contains("  call 1  com.app.Main.work(int)  (arg0 = 8)"), "{run:?}");
    assert_eq!(run.out.lines().count(), 1, "{run:?}");
    let run = flow(&["calls", "**#work", "--slowest", "1", "--where", "arg0 < 5"], dir.path());
    assert!(run.out.contains("  call 4  com.app.Main.work(int)  (arg0 = 3)"), "{run:?}");
    assert_eq!((run.out.lines().count(), run.err.as_str()), (1, ""), "{run:?}");
}

#[test]
fn merged_threads_show_where_they_begin_when_something_happens() {
    let dir = exact();
    // The second thread has ended before, the third one begins later.
    fs::copy(dir.path().join("thread-1.flow"), dir.path().join("thread-2.flow")).unwrap();
    fs::write(dir.path().join("thread-2.marks"), exact_marks_later(4 * MS)).unwrap();
    let run = flow(&["replay", "--merged", "--from", "7ms"], dir.path());
    let headings: Vec<_> = run.out.lines().filter(|line| line.starts_with("thread ")).collect();
    let begins = run.out.matches("… from call").count();
    assert_eq!(begins, 2, "{}", run.out);
    // Each heading has a call below it.
    for heading in headings {
        let (_, below) = run.out.split_once(heading).unwrap();
        assert!(below.lines().any(|line| line.contains("com.app.")), "{}", run.out);
    }
    assert!(!run.out.contains("in:\n\n"), "{}", run.out);
}
