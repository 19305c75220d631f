//! `flow tests`, and `--test` of the other verbs.

use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

use crate::common::{MAIN, Run, command, flow, manifest, page_data, test_mark, text, write_trace};
use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use tempfile::TempDir;

/// Notes of a thread: each with its offset, the exits before it, and its time if it has one.
fn write_marks(dir: &Path, thread: u64, marks: &[(u64, u64, Option<u64>, &str)]) {
    let marks = marks.iter().flat_map(|(offset, exits, ns, note)| {
        let position = Position { offset: Offset::new(*offset), exits: *exits };
        let marks = ns.map(time).into_iter().chain([test_mark(note)]);
        marks.map(move |mark| (position, mark))
    });
    write_any_marks(dir, thread, marks);
}

/// Marks of any kind.
fn write_any_marks(dir: &Path, thread: u64, marks: impl IntoIterator<Item = (Position, Mark)>) {
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    for (position, mark) in marks {
        encoder.encode(position, &mark, &mut bytes);
    }
    encoder.finish(&mut bytes);
    fs::write(dir.join(format!("thread-{thread}.marks")), bytes).unwrap();
}

/// A time that is known exactly.
fn time(ns: u64) -> Mark {
    Mark::Time { by_ns: ns, from_ns: ns, ran_us: None }
}

/// A second in nanoseconds.
const NS: u64 = 1_000_000_000;

/// The trace of `common`, where thread 1 runs a test in its first `work`, and one in its second.
fn trace(second: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_trace(dir.path());
    // main > work > (init, init); main > work.
    write_marks(
        dir.path(),
        1,
        &[
            (1, 0, Some(1000), "test started a.T.one\tone()"),
            (5, 1, Some(3_000_000), "test passed a.T.one"),
            (5, 1, None, "test skipped a.T.no\tnot now"),
            (5, 2, None, "test started a.T.two(int)[1]\t\u{1b}[2J[1] 7"),
            (7, 1, Some(9_000_000), second),
        ],
    );
    dir
}

const FAILED: &str = "test failed a.T.two(int)[1]\tjava.lang.AssertionError: \u{1b}[31mno";

#[test]
fn tests_are_listed_with_their_calls_and_new_methods() {
    let dir = trace(FAILED);
    let run = flow(&["tests"], dir.path());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert_eq!(
        run.out,
        "\
3 tests: 1 passed, 1 failed, 1 skipped

result   calls     time  new  test
passed       3  3.00 ms    2  a.T.one
skipped      0             0  a.T.no
failed       1  6.00 ms    0  a.T.two(int)[1]
"
    );
    let run = flow(&["tests", "--sort", "result", "--max", "1"], dir.path());
    assert!(run.out.contains("\nfailed") && !run.out.contains("\npassed"), "{}", run.out);
    assert!(run.out.ends_with("… 2 more tests left out (--max 1; 0 for all)\n"), "{}", run.out);
    let run = flow(&["tests", "--verbose", "--test", "*two*"], dir.path());
    // Text of tests may contain escape sequences.
    assert!(!run.out.contains('\u{1b}'), "{}", run.out);
    assert!(run.out.contains("java.lang.AssertionError: "), "{}", run.out);
    let run = flow(&["tests", "--format", "json"], dir.path());
    let rows: Vec<serde_json::Value> =
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows[0]["new"].as_array().unwrap().len(), 2);
    assert_eq!(rows[2]["title"], "\u{1b}[2J[1] 7");
    let run = flow(&["tests", "--format", "csv"], dir.path());
    assert_eq!(run.out.lines().count(), 4);
    assert!(run.out.contains("\n.,a.T.one,one(),passed,,3,"), "{}", run.out);
}

#[test]
fn tables_have_the_tests_with_their_calls() {
    let dir = trace(FAILED);
    let to = tempfile::tempdir().unwrap();
    let out = to.path().join("tables");
    let run = flow(&["export", "--to", "parquet", "-o", &text(&out)], dir.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let tests = crate::readers::tables::rows(&out.join("tests.parquet"));
    let calls = crate::readers::tables::calls(&out);
    let listed = objects(&["tests", "--format", "json"], dir.path());
    assert_eq!(tests.len(), listed.len());
    for test in &tests {
        let same = |row: &&serde_json::Value| row["test"] == test["name"].as_str();
        let listed = listed.iter().find(same).unwrap();
        assert_eq!(listed["result"], test["outcome"].as_str());
        assert_eq!(listed["calls"].to_string(), test["calls"]);
        let of_test = calls.iter().filter(|call| call["test"] == test["test"]).count();
        assert_eq!(test["calls"], of_test.to_string());
    }
}

/// Lets thread 12 live while `one` runs.
fn let_thread_12_help(dir: &Path) {
    let path = dir.join("threads.jsonl");
    let threads = fs::read_to_string(&path).unwrap();
    let line = r#""id":12,"name":"worker-1","daemon":true,"virtual":false,"at_ns":"#;
    let at = threads.find(line).expect("thread 12") + line.len();
    let (before, after) = threads.split_at(at);
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
    let end = r#"{"event":"end","id":12,"at_ns":2000000}"#;
    fs::write(path, format!("{before}2000{after}{end}\n")).unwrap();
}

/// Tables of the selected tests have these and their calls, those of helper threads included, whichever threads are selected.
#[test]
fn tables_of_tests_have_the_calls_of_their_helpers() {
    let dir = trace(FAILED);
    let_thread_12_help(dir.path());
    let listed = objects(&["tests", "--format", "json"], dir.path());
    assert_eq!((&listed[0]["test"], &listed[0]["calls"]), (&"a.T.one".into(), &4.into()));

    let to = tempfile::tempdir().unwrap();
    let tables = |name: &str, args: &[&str]| {
        let out = to.path().join(name);
        let run =
            flow(&[&["export", "--to", "parquet", "-o", &text(&out)], args].concat(), dir.path());
        assert_eq!(run.code, Some(0), "{}", run.err);
        let column = |rows: &[crate::readers::tables::Row], column: &str| -> Vec<String> {
            rows.iter().map(|row| row[column].clone()).collect()
        };
        let tests = crate::readers::tables::rows(&out.join("tests.parquet"));
        let threads = crate::readers::tables::rows(&out.join("threads.parquet"));
        let calls = crate::readers::tables::calls(&out);
        let tests = tests.iter().map(|test| {
            format!("{} {} {} {}", test["test"], test["name"], test["thread"], test["calls"])
        });
        let threads: Vec<_> =
            threads.iter().map(|row| row["thread"].clone() + ":" + &row["calls"]).collect();
        (tests.collect::<Vec<_>>(), threads.join(" "), column(&calls, "test").join(","))
    };
    let one = "0 a.T.one 1 4".to_owned();
    let others = ["1 a.T.no 1 0".to_owned(), "2 a.T.two(int)[1] 1 1".to_owned()];
    let all = [&[one.clone()][..], &others].concat();
    assert_eq!(
        tables("all", &[]),
        (all.clone(), "1:5 12:1 13:1".to_owned(), "0,0,0,2,,0,".to_owned())
    );
    let of_one = tables("one", &["--test", "a.T.one"]);
    assert_eq!(of_one, (vec![one.clone()], "1:3 12:1".to_owned(), "0,0,0,0".to_owned()));
    // A thread that ran several of them is one row.
    let of_all = tables("tests", &["--test", "*"]);
    assert_eq!(of_all, (all, "1:4 12:1".to_owned(), "0,0,0,0,2".to_owned()));
    let helper = tables("helper", &["--test", "a.T.one", "--thread", "pool-1"]);
    assert_eq!(helper.1, "12:1");
    assert_eq!(helper.0, ["0 a.T.one 1 1"]);
    // The tables are the same with the threads of the test, and with the helper alone.
    for (threads, calls) in [(&["--thread", "pool-1"][..], 1), (&[], 2)] {
        let args = [&["calls", "Main#work", "--test", "a.T.one", "--format", "json"], threads];
        let found = objects(&args.concat(), dir.path());
        assert_eq!(found.len(), calls, "{found:?}");
        assert!(found.iter().all(|call| call["test"] == "a.T.one"), "{found:?}");
    }
}

/// Two tests of a thread with many calls: its files have further numbers.
#[test]
fn tables_have_several_tests_of_a_large_thread() {
    let dir = tempfile::tempdir().unwrap();
    write_trace(dir.path());
    let calls = 700_000;
    fs::write(dir.path().join("thread-1.flow"), [0x81, 0x00].repeat(calls)).unwrap();
    let half = calls as u64;
    let marks = [
        (0, 0, Some(1000), "test started a.T.one"),
        (half, 0, Some(2000), "test passed a.T.one"),
        (half, 0, Some(2001), "test started a.T.two"),
        (2 * half, 0, Some(3000), "test passed a.T.two"),
    ];
    write_marks(dir.path(), 1, &marks);
    let to = tempfile::tempdir().unwrap();
    let out = to.path().join("tables");
    let args = ["export", "--to", "parquet", "--test", "*", "-o", &text(&out)];
    let run = flow(&args, dir.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let rows = crate::readers::tables::calls(&out);
    let of = |test: &str| rows.iter().filter(|row| row["test"] == test).count();
    assert_eq!((of("0"), of("1"), rows.len()), (calls / 2, calls / 2, calls));
    let threads = crate::readers::tables::rows(&out.join("threads.parquet"));
    assert_eq!(threads.len(), 1);
    assert_eq!(threads[0]["calls"], calls.to_string());
}

#[test]
fn every_verb_can_select_a_test() {
    let dir = trace(FAILED);
    let run = flow(&["replay", "--test", "*", "--method", "Main#work"], dir.path());
    assert_eq!(
        run.out,
        "\
at 0.001501 s for ≤ 3.00 ms in thread 1 main, test a.T.one (passed), depth 0
  com.app.Main.work(int)
    com.app.Main$Job.<init>()
    com.app.Main$Job.<init>()

at 0.006000 s for ≤ 6.00 ms in thread 1 main, test a.T.two(int)[1] (failed), depth 0
  com.app.Main.work(int)
"
    );
    let run = flow(&["view", "--once", "--test", "a.T.one"], dir.path());
    let lines: Vec<_> = run.out.lines().collect();
    assert!(
        lines[0].ends_with("thread 1 main, test a.T.one (passed), 3 of 5 calls"),
        "{}",
        run.out
    );
    assert!(lines[2].ends_with("  3  ▾ com.app.Main.work(int)"), "{}", run.out);
    assert!(lines[3].ends_with("  2      ×2 com.app.Main$Job.<init>()"), "{}", run.out);
    assert_eq!(lines.len(), 4, "{}", run.out);
    let run = flow(&["view", "--once", "--test", "*"], dir.path());
    assert!(run.out.contains("  1 main, test a.T.one (passed)\n"), "{}", run.out);
    assert!(run.out.contains("  1 main, test a.T.two(int)[1] (failed)\n"), "{}", run.out);
    let run = flow(&["replay", "--test", "a.T.one"], dir.path());
    assert_eq!(
        run.out,
        "\
thread 1 main, test a.T.one (passed)
com.app.Main.work(int)
  com.app.Main$Job.<init>()
  com.app.Main$Job.<init>()
"
    );
    let run = flow(&["report", "--by", "calls", "--test", "*.two*"], dir.path());
    assert!(run.out.starts_with("1 call of 1 method in 1 thread\n"), "{}", run.out);
    let run = flow(
        &["report", "--tree", "--by", "calls", "--test", "*.one", "--test", "*.two*"],
        dir.path(),
    );
    assert!(run.out.starts_with("4 calls"), "{}", run.out);
    let run = flow(&["export", "--to", "collapsed", "--test", "*.one"], dir.path());
    assert_eq!(run.out, "com.app.Main.work(int) 1499500\n", "{}", run.err);
    // No sample has seen its call.
    let run = flow(&["export", "--to", "collapsed", "--test", "*.two*"], dir.path());
    assert_eq!((run.out.as_str(), run.code), ("", Some(0)), "{}", run.err);
}

#[test]
fn the_slowest_calls_of_tests_are_found_again_in_their_thread() {
    let dir = trace(FAILED);
    let rows = |args: &[&str]| {
        let run =
            flow(&[&["calls", "--slowest", "9", "--format", "json"], args].concat(), dir.path());
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        let row = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let mut rows: Vec<_> = run.out.lines().map(row).collect();
        rows.sort_by_key(|row| row["call"].as_u64());
        let row =
            |row: &serde_json::Value| format!("{} {} {}", row["call"], row["name"], row["stack"]);
        rows.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(
        rows(&["--test", "*.one", "--test", "*.two*"]),
        [
            r#"1 "work" []"#,
            r#"2 "<init>" ["com.app.Main.work(I)I"]"#,
            r#"3 "<init>" ["com.app.Main.work(I)I"]"#,
            r#"4 "work" []"#,
        ]
    );
    let whole = rows(&["--thread", "1"]);
    assert_eq!(whole[4], r#"4 "work" ["com.app.Main.main([Ljava/lang/String;)V"]"#);
}

#[test]
fn many_slow_calls_are_found_in_one_pass_where_few_are_looked_up() {
    let dir = trace(FAILED);
    // main, and in it work > init twelve times; tests are the calls 4 to 6 and those from 10 on.
    let mut bytes = vec![0x80];
    bytes.extend([0x81, 0x82, 0x01].repeat(12));
    fs::write(dir.path().join("thread-1.flow"), &bytes).unwrap();
    write_marks(
        dir.path(),
        1,
        &[
            (1, 0, Some(1000), "before"),
            (5, 0, Some(2000), "test started a.T.one"),
            (10, 0, Some(9500), "test passed a.T.one"),
            (14, 0, Some(11_000), "test started a.T.two"),
            (36, 1, Some(80_000), "behind"),
        ],
    );
    let rows = |count: &str, part: &[&str]| {
        let args = ["calls", "--slowest", count, "--format", "json", "--exclude", "**#main"];
        objects(&[&args, part].concat(), dir.path())
    };
    for part in [&["--thread", "1"][..], &["--test", "*"]] {
        let all = rows("100", part);
        assert!(all.len() > 10, "{all:?}");
        for (few, many) in rows("3", part).iter().zip(&all) {
            assert_eq!(few, many);
        }
        for row in &all {
            // Two tests begin in the middle of their thread, inside a call from before.
            let is_cut = part[0] == "--test" && [4, 10].iter().any(|call| row["call"] == *call);
            let frames = usize::from(row["name"] != "work" && !is_cut);
            assert_eq!(row["stack"].as_array().unwrap().len(), frames, "{row}");
        }
    }
}

/// The JSON objects of a run's lines.
fn objects(args: &[&str], dir: &Path) -> Vec<serde_json::Value> {
    let run = flow(args, dir);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn calls_of_a_test_have_the_times_they_have_in_their_thread() {
    let dir = trace(FAILED);
    // main > work > init; main > work, which is still open when the second test ends.
    fs::write(dir.path().join("trace.json"), manifest(0, None)).unwrap();
    fs::write(dir.path().join("thread-1.flow"), [0x80, 0x81, 0x82, 0x01, 0x81, 0x82, 0x02])
        .unwrap();
    write_marks(
        dir.path(),
        1,
        &[
            (1, 0, Some(1000), "before"),
            (1, 0, None, "test started a.T.one"),
            (2, 0, Some(2000), "in one"),
            // Between the two exits it sleeps.
            (3, 1, Some(9000), "awake"),
            (4, 0, Some(9500), "test passed a.T.one"),
            (4, 0, None, "test started a.T.two"),
            (5, 0, Some(11_000), "in two"),
            (6, 0, Some(12_000), "test passed a.T.two"),
            (6, 2, Some(80_000), "behind"),
        ],
    );
    let replay = |part: &[&str]| {
        objects(&[&["replay", "--time", "--format", "json"], part].concat(), dir.path())
    };
    let (whole, one, two) =
        (replay(&["--thread", "1"]), replay(&["--test", "*.one"]), replay(&["--test", "*.two"]));
    let texts = |lines: &[serde_json::Value]| {
        let texts = lines.iter().filter_map(|line| line["text"].as_str().map(str::to_owned));
        texts.collect::<Vec<_>>()
    };
    assert_eq!(
        (texts(&whole).len(), texts(&one), texts(&two)),
        (9, vec!["in one".into(), "awake".into()], vec!["in two".into()])
    );
    let calls = |lines: &[serde_json::Value]| {
        let calls = lines.iter().filter(|line| line["name"].is_string()).map(|line| {
            let duration = (&line["duration_from_ns"], &line["duration_by_ns"]);
            format!(
                "{} {} {}..{} {duration:?}",
                line["offset"], line["name"], line["start_from_ns"], line["start_by_ns"]
            )
        });
        calls.collect::<Vec<_>>()
    };
    assert_eq!(calls(&one), calls(&whole)[1..3]);
    let open = calls(&two);
    // Both last up to the end of the test, not of the events after it.
    assert_eq!(
        open,
        [
            r#"4 "work" 9500..11000 (Number(1000), Number(2500))"#,
            r#"5 "<init>" 11000..12000 (Number(0), Number(1000))"#,
        ]
    );
    let report = |test| objects(&["report", "--format", "json", "--test", test], dir.path());
    let times = |rows: &[serde_json::Value], name: &str| {
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        (row["total"].as_u64().unwrap(), row["total_samples"].as_u64().unwrap())
    };
    let one = report("*.one");
    assert_eq!(times(&one, "work"), (7750, 2));
    assert_eq!(times(&one, "<init>"), (0, 0));
    let two = report("*.two");
    assert_eq!(times(&two, "work"), (1750, 2));
}

#[test]
fn frames_open_at_the_end_of_a_test_end_there_without_an_exception() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ids.properties"), crate::common::IDS).unwrap();
    // Two of the three exits of a run are in the test: the first by an exception, like the one after the test.
    fs::write(dir.path().join("thread-1.flow"), [0x80, 0x81, 0x82, 0x02]).unwrap();
    let place = |exits| Position { offset: Offset::new(3), exits };
    let unwound = || Mark::Unwound { exits: NonZeroU64::MIN, thrown: Some("x.Oops".to_owned()) };
    let marks = [
        (Position::default(), time(0)),
        (Position::default(), test_mark("test started x")),
        (place(0), time(NS)),
        (place(0), unwound()),
        (place(2), time(5 * NS)),
        (place(2), test_mark("test passed x")),
        (place(2), unwound()),
        (place(2), time(9 * NS)),
    ];
    write_any_marks(dir.path(), 1, marks);
    let args = ["export", "--to", "csv", "--test", "x"];
    let rows = flow(&args, dir.path()).out;
    let rows: Vec<Vec<&str>> = rows.lines().skip(1).map(|row| row.split(',').collect()).collect();
    // thread,call,caller,depth,calls,start_ns,end_ns,duration_from_ns,duration_by_ns,thrown,…
    let told: Vec<_> = rows.iter().map(|row| [row[3], row[6], row[9]]).collect();
    assert_eq!(told[0], ["2", "3000000000", "x.Oops"], "{rows:?}");
    assert_eq!(told[2], ["0", "5000000000", ""], "{rows:?}");
    let replay = flow(&["replay", "--time", "--test", "x"], dir.path()).out;
    let lines: Vec<_> = replay.lines().map(|line| line.ends_with("! x.Oops")).collect();
    assert_eq!(lines, [false, false, false, true], "{replay}");
    let report = objects(&["report", "--format", "json", "--test", "x"], dir.path());
    let main = report.iter().find(|row| row["name"] == "main").unwrap();
    assert_eq!(main["total"], 4 * NS + NS / 2, "{main}");

    // The test ends after an entry.
    fs::write(dir.path().join("thread-1.flow"), [0x80, 0x81, 0x82]).unwrap();
    let second = Position::before(Offset::new(1));
    let end = Position::before(Offset::new(2));
    let marks = [
        (Position::default(), test_mark("test started x")),
        (second, time(NS)),
        (end, time(5 * NS)),
        (end, test_mark("test passed x")),
        (end, Mark::Instant { at_ns: 9 * NS }),
    ];
    write_any_marks(dir.path(), 1, marks);
    let calls = objects(&["replay", "--time", "--format", "json", "--test", "x"], dir.path());
    let work = calls.iter().find(|call| call["name"] == "work").unwrap();
    assert_eq!(
        (&work["duration_ns"], &work["duration_by_ns"]),
        (&(2 * NS).into(), &(4 * NS).into())
    );
    let report = objects(&["report", "--format", "json", "--test", "x"], dir.path());
    let work = report.iter().find(|row| row["name"] == "work").unwrap();
    assert_eq!(work["total"], 2 * NS, "{work}");
}

#[test]
fn a_wait_before_the_end_of_a_test_counts_as_its_time() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ids.properties"), crate::common::IDS).unwrap();
    fs::write(dir.path().join("thread-1.flow"), [0x80, 0x81, 0x02]).unwrap();
    let end = Position::before(Offset::new(2));
    let started = test_mark("test started x");
    let waits = Mark::Time { by_ns: NS, from_ns: 60 * NS, ran_us: None };
    let passed = [time(61 * NS), test_mark("test passed x"), time(90 * NS)];
    // In main it waits for a minute and then ends, or its end is missing.
    for (rest, took) in [(&passed[..], 61), (&[], 60)] {
        let first = [time(0), started.clone()].map(|mark| (Position::default(), mark));
        let last = [&waits].into_iter().chain(rest).map(|mark| (end, mark.clone()));
        write_any_marks(dir.path(), 1, first.into_iter().chain(last));
        if rest.is_empty() {
            fs::write(dir.path().join("thread-1.flow"), [0x80, 0x81]).unwrap();
        }
        let calls = objects(&["replay", "--time", "--format", "json", "--test", "x"], dir.path());
        let main = calls.iter().find(|call| call["name"] == "main").unwrap();
        // It began within the first second.
        let times = [&main["duration_ns"], &main["duration_from_ns"]];
        assert_eq!(times, [took * NS - NS / 2, (took - 1) * NS], "{main}");
        let report = objects(&["report", "--format", "json", "--test", "x"], dir.path());
        let main = report.iter().find(|row| row["name"] == "main").unwrap();
        let times = [&main["total"], &main["total_samples"]];
        assert_eq!(times, [took * NS - NS / 2, 1], "{main}");
    }
}

#[test]
fn timelines_separate_the_tests_of_a_thread() {
    let dir = trace(FAILED);
    let export = |to| {
        let run = flow(
            &["export", "--to", to, "--by", "calls", "--test", "*.one", "--test", "*.two*"],
            dir.path(),
        );
        assert_eq!(run.code, Some(0), "{}", run.err);
        serde_json::from_str::<serde_json::Value>(&run.out).unwrap()
    };
    let profiles = export("speedscope")["profiles"].clone();
    assert_eq!(profiles[0]["name"], "main, test a.T.one (passed) (calls)");
    assert_eq!(profiles[1]["name"], "main, test a.T.two(int)[1] (failed) (calls)");
    assert_eq!(export("firefox")["threads"][1]["name"], "main, test a.T.two(int)[1] (failed)");
    // By calls each begins with 0: as one thread they would overlap.
    let events = export("chrome")["traceEvents"].as_array().unwrap().clone();
    let begins: Vec<_> = events.iter().filter(|event| event["ph"] == "B").collect();
    let places: Vec<_> =
        begins.iter().map(|event| (event["tid"].as_u64(), event["ts"].as_u64())).collect();
    assert_eq!(
        places,
        [(Some(1), Some(0)), (Some(1), Some(1)), (Some(1), Some(2)), (Some(2), Some(0))]
    );
}

#[test]
fn a_page_shows_each_test_that_was_asked_for() {
    let dir = trace(FAILED);
    let page = |tests: &[&str]| {
        let run = flow(&[&["report", "--html", "-"], tests].concat(), dir.path());
        assert_eq!(run.code, Some(0), "{}", run.err);
        page_data(&run.out)
    };
    let data = page(&["--test", "*.one", "--test", "*.two*"]);
    let rows: Vec<_> = data["threads"].as_array().unwrap().iter().collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(
        (&rows[0]["name"], &rows[0]["calls"]),
        (&"main, test a.T.one (passed)".into(), &3.into())
    );
    assert_eq!(
        (&rows[1]["name"], &rows[1]["calls"]),
        (&"main, test a.T.two(int)[1] (failed)".into(), &1.into())
    );
    assert_eq!(rows[0]["state"], "");
    // Replay counts calls from the first of the thread, not of the test.
    assert_eq!(data["is_filtered"], true);
    let notes = data["facts"]["notes"].to_string();
    assert!(notes.contains("only the selected tests: *.one, *.two*"), "{notes}");
    assert_eq!(page(&["--test", "*.two*"])["methods"].as_array().unwrap().len(), 1);
}

#[test]
fn a_page_of_many_tests_of_a_thread_has_its_size() {
    let dir = tempfile::tempdir().unwrap();
    write_trace(dir.path());
    fs::write(dir.path().join("thread-1.flow"), [0x81, 0x00].repeat(300)).unwrap();
    let name =
        |test: u64| (format!("test started a.T.t{test}"), format!("test passed a.T.t{test}"));
    let names: Vec<_> = (0..300).map(name).collect();
    let marks = (0_u64..).zip(&names).flat_map(|(test, (start, end))| {
        [(2 * test, 0, None, start.as_str()), (2 * test + 1, 1, None, end.as_str())]
    });
    write_marks(dir.path(), 1, &marks.collect::<Vec<_>>());
    let run = flow(&["report", "--html", "-", "--test", "*"], dir.path());
    let data = page_data(&run.out);
    let rows = data["threads"].as_array().unwrap();
    assert_eq!(rows.iter().filter(|row| row["calls"] == 1).count(), 300);
    assert_eq!(rows.iter().filter(|row| row["boxes"].is_array()).count(), 100);
}

#[test]
fn a_test_that_does_not_exist_is_reported_with_those_that_do() {
    let dir = trace(FAILED);
    let run = flow(&["replay", "--test", "*Nothing*"], dir.path());
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.err,
        "flow: no test matches '*Nothing*'; there are: a.T.no, a.T.one, a.T.two(int)[1] (flow tests lists them)\n"
    );
    for verb in [&["tests"][..], &["report"], &["diff", "--test", "*"]] {
        let run = flow(&[verb, &["--test", "T.onne"]].concat(), dir.path());
        assert_eq!(run.code, Some(1), "{verb:?}");
        assert_eq!(
            run.err,
            "flow: no test matches 'T.onne'; the nearest: a.T.one (flow tests lists all)\n"
        );
    }
    let run = flow(&["tests", "--test", "T.one"], dir.path());
    assert!(run.out.contains("a.T.one") && !run.out.contains("a.T.two"), "{}", run.out);
    fs::remove_file(dir.path().join("thread-1.marks")).unwrap();
    let run = flow(&["report", "--test", "x"], dir.path());
    assert!(run.err.contains("no tests are marked in this trace"), "{}", run.err);
    let run = flow(&["tests"], dir.path());
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("no tests are marked"), "{}", run.err);
}

#[test]
fn tests_of_two_runs_are_paired_by_name() {
    let (before, after) = (trace("test passed a.T.two(int)[1]"), trace(FAILED));
    // The second run calls less in the first test.
    fs::write(after.path().join("thread-1.flow"), [0x80, 0x81, 0x81, 0x00, 0x81, 0x01, 0x81, 0x01])
        .unwrap();
    let args = ["diff", before.path().to_str().unwrap()];
    let run = flow(&args, after.path());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert!(
        run.out.starts_with(
            "\
3 tests before, 3 after: 2 differ in calls or result

before  after   calls  after  methods gone  new  test
passed  passed      3      3             1    0  a.T.one
passed  failed      1      1             0    0  a.T.two(int)[1]
"
        ),
        "{}",
        run.out
    );
    let run = flow(&["diff", "--format", "csv", args[1]], after.path());
    assert_eq!(run.err, "flow: 2 tests that differ are left out; text and json show them\n");
    let run = flow(&["diff", "--test", "*two*", before.path().to_str().unwrap()], after.path());
    assert!(run.out.starts_with("1 test before, 1 after: 1 differ"), "{}", run.out);
    assert!(!run.out.contains("a.T.one"), "{}", run.out);
}

#[test]
fn two_tests_of_a_run_are_compared() {
    let dir = trace(FAILED);
    let run = flow(&["diff", "--test", "a.T.one", "--test", "a.T.two*"], dir.path());
    assert!(run.out.contains(", test a.T.one\n"), "{}", run.out);
    assert!(run.out.contains("gone  com.app.Main$Job.<init>()"), "{}", run.out);
    let run = flow(&["diff"], dir.path());
    assert_eq!(run.code, Some(2));
    assert!(
        run.err.contains("a second trace, two calls, or give --test or --thread twice"),
        "{}",
        run.err
    );
}

#[test]
fn a_test_is_compared_on_a_thread_that_helped_it() {
    let (before, after) = (trace(FAILED), trace(FAILED));
    for dir in [&before, &after] {
        let_thread_12_help(dir.path());
    }
    // Another call on the thread that helped.
    fs::write(after.path().join("thread-12.flow"), [0x01, 0x81, 0x82, 0x01]).unwrap();
    let before = text(before.path());
    let run = flow(&["diff", "--test", "a.T.one", "--thread", "pool-1", &before], after.path());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.contains("1 appeared, 0 vanished"), "{run:?}");
    // The thread of the test itself is not compared.
    assert!(
        run.out.contains("before   1 call  ") && run.out.contains("after   2 calls  "),
        "{run:?}"
    );
    assert!(run.out.starts_with("1 test before, 1 after: 1 differ"), "{run:?}");
}

#[test]
fn marks_that_are_none_do_no_harm() {
    let dir = trace(FAILED);
    let marks = dir.path().join("thread-1.marks");
    let bytes = fs::read(&marks).unwrap();
    for end in 0..bytes.len() {
        fs::write(&marks, &bytes[..end]).unwrap();
        let run = flow(&["tests"], dir.path());
        assert!(matches!(run.code, Some(0 | 3)), "{end}: {}", run.err);
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xFF;
        fs::write(&marks, damaged).unwrap();
        let run = flow(&["replay", "--test", "*"], dir.path());
        assert!(matches!(run.code, Some(0 | 1 | 3)), "{at}: {}", run.err);
    }
}

/// The example of `flow diff --help` and `docs/tests.md`.
#[test]
fn two_tests_are_compared_below_their_methods() {
    let dir = tempfile::tempdir().unwrap();
    write_trace(dir.path());
    fs::write(
        dir.path().join("ids.properties"),
        "a.T#total()V=0\na.T#totalOfNothing()V=1\na.Cart#add()V=2\na.Cart#sum()I=3\na.T#lambda$total$0()V=4\n\
         a.T#lambda$totalOfNothing$1()V=5\n",
    )
    .unwrap();
    // total > (add, add, lambda > sum); totalOfNothing > (add, lambda > sum).
    let bytes =
        [0x80, 0x82, 0x00, 0x82, 0x00, 0x84, 0x83, 0x02, 0x81, 0x82, 0x00, 0x85, 0x83, 0x02];
    fs::write(dir.path().join("thread-1.flow"), bytes).unwrap();
    let marks = [
        (0, 0, None, "test started a.T.total"),
        (8, 0, None, "test passed a.T.total"),
        (8, 0, None, "test started a.T.totalOfNothing"),
        (14, 0, None, "test passed a.T.totalOfNothing"),
    ];
    write_marks(dir.path(), 1, &marks);
    let example = include_str!("../../src/args/help.rs")
        .lines()
        .find_map(|line| line.trim().strip_prefix("flow diff --test "))
        .unwrap();
    let words: Vec<_> =
        example.trim_end_matches("\";").split(' ').map(|word| word.trim_matches('\'')).collect();
    let args = [&["diff", "--test"][..], &words, &["--by", "calls"]].concat();
    let run = flow(&args, dir.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let changes: Vec<_> = run.out.lines().filter(|line| line.contains("a.Cart.add")).collect();
    assert_eq!(changes.len(), 1, "{}", run.out);
    for absent in ["new", "gone", "sum", "lambda"] {
        assert!(!run.out.contains(absent), "{absent} in {}", run.out);
    }
}

#[test]
fn tests_that_reach_code_are_found_by_method_and_by_line() {
    let dir = crate::columns::trace();
    let line = |id: u32, class: &str, name: &str, line: u32| {
        format!(
            r#"{{"id":{id},"class":"{class}","name":"{name}","descriptor":"()V","source":"Main.java","line":{line},"loader":"app","flags":[]}}"#
        ) + "\n"
    };
    let methods = [
        line(0, "com.app.Main", "main", 5),
        line(1, "com.app.Main", "work", 10),
        line(2, "com.app.Main$Job", "<init>", 20),
    ];
    fs::write(dir.path().join("methods.jsonl"), methods.concat()).unwrap();
    let reaching = |code: &str| flow(&["tests", "--reaching", code], dir.path());
    // The test called work, and from there the constructor twice.
    for (code, calls) in [
        ("Main#work", 1),
        ("work", 1),
        ("Main.java:10", 1),
        ("Main.java:19", 1),
        ("com/app/Main.java:21", 2),
        ("src/main/java/com/app/Main.java:99", 2),
    ] {
        let run = reaching(code);
        assert!(run.out.contains("a.T.t"), "{code}: {run:?}");
        let row = run.out.lines().find(|line| line.ends_with("a.T.t")).unwrap();
        assert_eq!(row.split_whitespace().nth(1), Some(&*calls.to_string()), "{code}: {row}");
    }
    let run = reaching("Main.java:7");
    assert!(run.err.contains("no recorded test reaches Main.java:7"), "{run:?}");
    assert!(run.out.starts_with("0 tests"), "{run:?}");
    for (code, expected) in [
        ("Main.java:1", "no method matches 'Main.java:1'; the nearest: Main.java:5"),
        ("Mian.java:7", "no method matches 'Mian.java:7'; the nearest: Main.java"),
        ("org/Main.java:7", "no method matches 'org/Main.java:7'"),
        ("Main#wrk", "no method matches 'Main#wrk'"),
    ] {
        let run = reaching(code);
        assert!(run.code == Some(2) || run.code == Some(1), "{run:?}");
        assert!(run.err.contains(expected), "{code}: {run:?}");
    }
    let run = flow(&["tests", "--include", "Main#wrk"], dir.path());
    assert!(run.code == Some(1) && run.err.contains("no method matches 'Main#wrk'"), "{run:?}");
}

/// A trace in which thread 1 runs the test `a.T.t` with these events after the entry of main(), up to its last exit.
fn tested(dir: &Path, events: &[u8], lambda: u32) {
    fs::create_dir_all(dir).unwrap();
    write_trace(dir);
    let ids = format!(
        "a.T#main()V=0\na.T#t()V=1\na.T#lambda$t${lambda}()V=2\na.T#<clinit>()V=3\na.T#work()V=4\n"
    );
    fs::write(dir.join("ids.properties"), ids).unwrap();
    let (end, others) = (1 + events.len() as u64, 12 - MAIN.len() as u64);
    fs::write(dir.join("thread-1.flow"), [&[0x80], events, &[0x00]].concat()).unwrap();
    fs::write(dir.join("trace.json"), manifest(0, Some((7, 8, others + end + 1)))).unwrap();
    write_marks(
        dir,
        1,
        &[(1, 0, Some(1000), "test started a.T.t"), (end, 0, Some(9000), "test passed a.T.t")],
    );
}

/// t() calls the lambda expression and work().
const TESTED: [u8; 5] = [0x81, 0x82, 0x00, 0x84, 0x01];
/// t() calls work() once more.
const MORE: [u8; 7] = [0x81, 0x82, 0x00, 0x84, 0x00, 0x84, 0x01];
/// t() calls work() before the lambda expression.
const OTHER: [u8; 5] = [0x81, 0x84, 0x00, 0x82, 0x01];

/// A folder with the lock of a run, and further runs.
fn locked() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| dir.path().join(name);
    tested(&place("before"), &TESTED, 0);
    // Static initialisers and numbers of lambda expressions are no part of what a test did.
    let initialised = [&[0x81, 0x83, 0x84, 0x01][..], &TESTED[1..]].concat();
    tested(&place("same"), &initialised, 7);
    tested(&place("more"), &MORE, 0);
    tested(&place("other"), &OTHER, 0);
    let run = flow_in(&["tests", "--lock", "before"], dir.path());
    assert_eq!((run.code, &*run.out), (Some(0), ""), "{run:?}");
    assert!(run.err.ends_with("flow.lock has 1 test in 62 B\n"), "{run:?}");
    dir
}

fn flow_in(args: &[&str], dir: &Path) -> Run {
    command().args(args).current_dir(dir).output().unwrap().into()
}

fn lock_in(dir: &Path) -> String {
    fs::read_to_string(dir.join("flow.lock")).unwrap()
}

#[test]
fn a_lock_has_what_each_test_did() {
    let dir = locked();
    let lock = lock_in(dir.path());
    assert_eq!(lock, "flow.lock 1\nrecorded target=com.app.\na754243dbdda063b 3 a.T.t\n");
    let same = flow_in(&["diff", "--exit-code", "flow.lock", "same"], dir.path());
    let expected = "\
before  1 test  flow.lock
after   1 test  same
no difference: 1 test did the same
";
    assert_eq!((&*same.out, same.code), (expected, Some(0)), "{same:?}");
    // The JDK calls values() of an enumeration when it first needs the constants.
    let ids = dir.path().join("same/ids.properties");
    let of_enumeration = fs::read_to_string(&ids).unwrap().replace("<clinit>()V", "values()[La/T;");
    fs::write(ids, of_enumeration).unwrap();
    let same = flow_in(&["diff", "--exit-code", "flow.lock", "same"], dir.path());
    assert_eq!((&*same.out, same.code), (expected, Some(0)), "{same:?}");
    let run = flow_in(&["tests", "--lock", "same"], dir.path());
    assert!(run.err.ends_with("flow.lock has 1 test in 62 B, as before\n"), "{run:?}");
    assert_eq!(lock_in(dir.path()), lock);
    // Without memory for shapes, events are read.
    let run = flow_in(&["tests", "--lock", "same", "--memory", "0"], dir.path());
    assert!(run.err.ends_with("flow.lock has 1 test in 62 B, as before\n"), "{run:?}");
    let run = flow_in(&["tests", "--lock=other.lock", "more"], dir.path());
    assert_eq!(run.code, Some(0), "{run:?}");
    let other = fs::read_to_string(dir.path().join("other.lock")).unwrap();
    assert!(other.contains(" 4 a.T.t\n"), "{other}");
}

#[test]
fn a_run_is_compared_with_a_lock() {
    let dir = locked();
    let diff = |args: &[&str]| flow_in(&[&["diff", "flow.lock"], args].concat(), dir.path());
    let run = diff(&["more", "--exit-code"]);
    let expected = "\
before  1 test  flow.lock
after   1 test  more
1 of 1 test differs: 1 with more calls

calls  before  after  result  test
more        3      4  passed  a.T.t

No recording is kept in which a.T.t did what the lock has. With one, this shows the first call that differs: ";
    assert!(run.out.starts_with(expected) && run.code == Some(1), "{run:?}");
    assert!(run.out.ends_with(" diff --exact --test a.T.t RECORDING more\n"), "{run:?}");
    assert_eq!(diff(&["more"]).code, Some(0));
    let run = diff(&["other", "--exit-code"]);
    assert!(run.code == Some(1) && run.out.contains("1 with other calls"), "{run:?}");
    // A third more.
    for (limit, code) in [("+34%", 0), ("+33%", 1), ("-1%", 0), ("33%", 1)] {
        let run = diff(&["more", "--max-calls", limit]);
        assert_eq!(run.code, Some(code), "{limit}: {run:?}");
        let gate = if code == 0 { "no test exceeds --max-calls" } else { "1 test exceeds" };
        assert!(run.out.contains(gate), "{limit}: {run:?}");
    }
    let run = diff(&["other", "--max-calls", "0%"]);
    assert!(run.code == Some(0) && run.out.contains("other"), "{run:?}");
    // A recording of the earlier behaviour beside the run, by whichever name.
    for name in ["before", "more"] {
        let file = format!("{name}.flowtrace");
        let run = flow_in(&["export", "--to", "flowtrace", "-o", &file, name], dir.path());
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    let run = diff(&["more.flowtrace"]);
    assert!(run.out.contains("the first difference to a recording of the earlier"), "{run:?}");
    assert!(run.out.contains("--test a.T.t ./before.flowtrace more.flowtrace"), "{run:?}");
}

#[test]
fn a_changed_behaviour_is_accepted() {
    let dir = locked();
    let run = flow_in(&["diff", "flow.lock", "more", "--accept"], dir.path());
    assert!(run.code == Some(0) && run.out.contains("1 with more calls"), "{run:?}");
    assert!(run.err.contains("flow.lock has 1 test in 62 B: 1 with more calls"), "{run:?}");
    let run = flow_in(&["diff", "flow.lock", "more", "--exit-code"], dir.path());
    assert_eq!(run.code, Some(0), "{run:?}");
    // Of some tests, the lines of others stay.
    let lock = lock_in(dir.path());
    fs::write(dir.path().join("flow.lock"), format!("{lock}0123456789abcdef 7 a.U.u\n")).unwrap();
    let args = ["diff", "flow.lock", "before", "--test", "T.t", "--accept"];
    let run = flow_in(&args, dir.path());
    assert!(run.out.contains("1 of 1 test differs: 1 with fewer calls"), "{run:?}");
    assert!(lock_in(dir.path()).contains("0123456789abcdef 7 a.U.u\n"));
    let run = flow_in(&["diff", "flow.lock", "before"], dir.path());
    assert!(run.out.contains("1 of 2 tests differs: 1 gone"), "{run:?}");
}

#[test]
fn a_run_of_some_tests_removes_no_others_from_a_lock() {
    let dir = locked();
    let run = |args: &[&str]| flow_in(args, dir.path());
    let file = dir.path().join("flow.lock");
    let of_before = lock_in(dir.path());
    let others = "0123456789abcdef 7 a.U.u\n0123456789abcdef 8 a.U.v\n0123456789abcdef 9 b.V.w\n";
    let all = format!("{of_before}{others}");
    fs::write(&file, &all).unwrap();
    // Whole classes did not run.
    let classes =
        "the run has no test of 2 classes of the lock, which has 3 tests there, such as a.U.u; ";
    for args in [&["tests", "--lock", "more"][..], &["diff", "flow.lock", "more", "--accept"]] {
        let refused = run(args);
        assert!(refused.code == Some(1) && refused.err.contains(classes), "{refused:?}");
        assert!(refused.err.contains("--gone keep") && refused.err.contains("--gone remove"));
        assert_eq!(lock_in(dir.path()), all);
    }
    let shown = run(&["diff", "flow.lock", "before"]);
    assert!(shown.out.contains("3 gone") && shown.err.contains(classes), "{shown:?}");
    let shown = run(&["diff", "flow.lock", "before", "--gone", "keep", "--exit-code"]);
    assert!(shown.code == Some(0) && shown.out.contains("no difference: 1 test did the same"));
    assert_eq!(shown.err, "", "{shown:?}");
    // They stay, or are removed.
    run(&["tests", "--lock", "more", "--gone", "keep"]);
    let kept = lock_in(dir.path());
    assert!(kept.contains(" 4 a.T.t\n") && kept.ends_with(others), "{kept}");
    run(&["diff", "flow.lock", "before", "--gone", "keep", "--accept"]);
    assert_eq!(lock_in(dir.path()), all);
    run(&["diff", "flow.lock", "before", "--gone", "remove", "--accept"]);
    assert_eq!(lock_in(dir.path()), of_before);
    // A test is removed that its class does not have any more.
    fs::write(&file, format!("{of_before}0123456789abcdef 7 a.T.u\n")).unwrap();
    let written = run(&["tests", "--lock", "before"]);
    assert!(written.err.ends_with("has 1 test in 62 B: 1 gone\n"), "{written:?}");
    // The names of two locks with and without the order of calls have nothing in common.
    let refused = run(&["tests", "--lock", "--unordered", "--gone", "keep", "before"]);
    assert!(refused.code == Some(2) && refused.err.contains("--gone keep"), "{refused:?}");
    let refused = run(&["diff", "flow.lock", "before", "--gone", "remove"]);
    assert!(refused.code == Some(2) && refused.err.contains("add --accept"), "{refused:?}");
}

#[test]
fn differences_to_a_lock_have_a_format_for_each_service() {
    let dir = locked();
    let diff = |format: &str, more: &[&str]| {
        let args = ["diff", "flow.lock", "more", "--format", format];
        let run = flow_in(&[&args, more].concat(), dir.path());
        assert_eq!(run.code, Some(0), "{run:?}");
        run.out
    };
    let row: serde_json::Value = serde_json::from_str(&diff("json", &[])).unwrap();
    assert_eq!((&row["change"], &row["fails"]), (&"more".into(), &true.into()), "{row}");
    assert_eq!(row["result_after"], "passed", "{row}");
    let csv = diff("csv", &["--max-calls", "+50%"]);
    assert!(csv.lines().nth(1).unwrap().starts_with("more,a.T.t,3,4,a754243dbdda063b,"), "{csv}");
    assert!(csv.ends_with(",passed,false\n"), "{csv}");
    let markdown = "\
**flow.lock**: 1 of 1 test differs: 1 with more calls

| calls | before | after | result | test |
| --- | ---: | ---: | --- | --- |
| more | 3 | 4 | passed | a.T.t |
";
    assert_eq!(diff("markdown", &[]), markdown);
    let github = "\
::error file=flow.lock,title=a.T.t::a.T.t makes more calls: 3 calls before, 4 calls now
::error file=flow.lock,title=flow::1 of 1 test differs: 1 with more calls
";
    assert_eq!(diff("github", &[]), github);
    assert_eq!(diff("github", &["--max-calls", "+50%"]).matches("::notice ").count(), 2);
    let junit = diff("junit", &[]);
    assert!(
        junit.contains("<testcase classname=\"a.T\" name=\"t\">\n   <failure message="),
        "{junit}"
    );
    let junit = diff("junit", &["--max-calls", "+50%"]);
    assert!(junit.contains("failures=\"0\"") && junit.contains("<system-out>"), "{junit}");
}

#[test]
fn the_order_of_calls_may_not_count() {
    let dir = locked();
    let run = |args: &[&str]| flow_in(args, dir.path());
    let lock = run(&["tests", "--lock=any.lock", "--unordered", "before"]);
    assert!(lock.code == Some(0), "{lock:?}");
    let text = fs::read_to_string(dir.path().join("any.lock")).unwrap();
    assert!(text.starts_with("flow.lock 1\nunordered\nrecorded target=com.app.\n"), "{text}");
    let same = run(&["diff", "--exit-code", "any.lock", "other"]);
    assert!(same.code == Some(0) && same.out.ends_with("no difference: 1 test did the same\n"));
    let more = run(&["diff", "--exit-code", "any.lock", "more"]);
    assert!(more.code == Some(1) && more.out.contains("1 with more calls"), "{more:?}");
    assert!(more.out.contains("diff --exact --unordered --test a.T.t RECORDING more"), "{more:?}");
    // A lock stays what it is, for all of its tests.
    run(&["tests", "--lock=any.lock", "other"]);
    assert_eq!(fs::read_to_string(dir.path().join("any.lock")).unwrap(), text);
    let refused = run(&["tests", "--lock", "--unordered", "--test", "T.t", "before"]);
    assert!(refused.code == Some(2) && refused.err.contains("without --test"), "{refused:?}");
    let refused = run(&["tests", "--unordered", "before"]);
    assert!(refused.code == Some(2) && refused.err.contains("--lock"), "{refused:?}");
    // Call by call.
    let exact =
        |args: &[&str]| run(&[&["diff", "--exact", "--exit-code", "before"], args].concat());
    assert_eq!(exact(&["other"]).code, Some(1));
    let same = exact(&["other", "--unordered"]);
    assert!(same.code == Some(0) && same.out.contains("the same calls in any order"), "{same:?}");
    let more = exact(&["more", "--unordered"]);
    assert!(more.code == Some(1) && more.out.contains("  + a.T.work()\n"), "{more:?}");
    let refused = run(&["diff", "--unordered", "before", "other"]);
    assert!(refused.code == Some(2) && refused.err.contains("add --exact"), "{refused:?}");
}

#[test]
fn everything_is_the_same_but_what_is_expected() {
    let dir = locked();
    let diff = |args: &[&str]| {
        let args = [&["diff", "--exit-code", "before"], args].concat();
        flow_in(&args, dir.path())
    };
    let run = diff(&["more", "--expect", "a.T#t"]);
    let expected = "
no difference: the same calls in the same order, in 3 threads
what methods do that match a.T#t was not compared
";
    assert!(run.code == Some(0) && run.out.ends_with(expected), "{run:?}");
    let run = diff(&["more", "--expect", "a.T#work"]);
    assert!(run.code == Some(1) && run.out.contains("  + a.T.work()\n"), "{run:?}");
    let run = diff(&["more", "--expect", "a.T#wrk"]);
    assert!(run.code == Some(1) && run.err.contains("no method matches 'a.T#wrk'"), "{run:?}");
    let run = diff(&["more", "--expect", "a.T#t", "--methods"]);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn methods_may_have_another_name_after() {
    let dir = locked();
    let ids = dir.path().join("same/ids.properties");
    let renamed = fs::read_to_string(&ids).unwrap().replace("a.T#work()V", "a.U#job()V");
    fs::write(ids, renamed).unwrap();
    let ignored = ["--exact", "--exit-code", "--ignore", "**#<clinit>"];
    let diff = |args: &[&str]| {
        flow_in(&[&["diff", "before", "same"], &ignored[..], args].concat(), dir.path())
    };
    let lambda = ["--renamed", "a.T#lambda$t$0=a.T#lambda$t$7"];
    assert_eq!(diff(&lambda).code, Some(1));
    let run = diff(&[&lambda[..], &["--renamed", "a.T#work=a.U#job"]].concat());
    assert!(run.code == Some(0) && run.out.contains("no difference"), "{run:?}");
    let run = diff(&["--renamed", "a.T#wrk=a.U#job"]);
    assert!(run.code == Some(1) && run.err.contains("--renamed a.T#wrk=a.U#job: "), "{run:?}");
    let run = diff(&["--renamed", "a.T#work"]);
    assert!(run.code == Some(2) && run.err.contains("expected two classes"), "{run:?}");
}

#[test]
fn what_is_no_lock_is_refused() {
    let dir = locked();
    let lock = lock_in(dir.path());
    let refused = |args: &[&str], code, text: &str| {
        let run = flow_in(args, dir.path());
        assert!(run.code == Some(code) && run.err.contains(text), "{args:?}: {run:?}");
        assert_eq!(run.out, "", "{args:?}");
    };
    let diff = ["diff", "flow.lock", "more"];
    fs::write(dir.path().join("flow.lock"), format!("{lock}<<<<<<< HEAD\n")).unwrap();
    refused(&diff, 1, "flow.lock: no lock of tests: line 4: a conflict of git");
    refused(&["tests", "--lock", "more"], 1, "line 4: a conflict of git");
    fs::write(dir.path().join("flow.lock"), "").unwrap();
    refused(&diff, 1, "the first line is not 'flow.lock 1'");
    fs::remove_file(dir.path().join("flow.lock")).unwrap();
    refused(&diff, 1, "tests --lock writes it");
    // Something else is not replaced.
    fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    refused(&["tests", "--lock=notes.txt", "more"], 1, "the first line is not");
    assert_eq!(fs::read_to_string(dir.path().join("notes.txt")).unwrap(), "mine");
    refused(&["tests", "--lock", "flow.lock"], 2, "tests --lock=flow.lock");
    refused(&["tests", "--lock", "--verbose", "more"], 2, "--verbose does not apply to a lock");
    refused(&["diff", "flow.lock", "more", "--exact"], 2, "--exact does not apply");
    refused(&["diff", "before", "more", "--accept"], 2, "flow diff flow.lock RUN");
    refused(&["diff", "before", "more", "--format", "junit"], 2, "flow diff flow.lock RUN");
    refused(&["diff", "flow.lock", "more", "--max-calls", "10"], 2, "such as +10%");
    // A test that did not end, and a run without tests, are no reason to call tests changed.
    write_marks(&dir.path().join("more"), 1, &[(1, 0, Some(1000), "test started a.T.t")]);
    fs::write(dir.path().join("flow.lock"), &lock).unwrap();
    refused(&diff, 1, "1 test did not end, the first one a.T.t");
    fs::remove_file(dir.path().join("more/thread-1.marks")).unwrap();
    refused(&diff, 1, "no tests are marked in this recording");
}

/// A trace in which the test `a.T.t` fails, and passes when it is run again; the attempts have these events after the entry of
/// main(), up to the last exit of each.
fn attempts(dir: &Path, failed: &[u8], passed: &[u8]) {
    tested(dir, &[failed, passed].concat(), 0);
    let (first, all) = (1 + failed.len() as u64, 1 + (failed.len() + passed.len()) as u64);
    let marks = [
        (1, 0, Some(1000), "test started a.T.t"),
        (first, 0, Some(5000), "test failed a.T.t\tjava.lang.AssertionError: no"),
        (first, 0, Some(6000), "test started a.T.t"),
        (all, 0, Some(9000), "test passed a.T.t"),
    ];
    write_marks(dir, 1, &marks);
}

#[test]
fn attempts_of_a_flaky_test_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| dir.path().join(name);
    attempts(&place("more"), &MORE, &TESTED);
    let run = flow_in(&["tests", "--flaky", "more"], dir.path());
    let expected = "\
flaky: 1 of 1 test in 1 recording

passed  failed  in             test
     1       1  one recording  a.T.t

a.T.t
java.lang.AssertionError: no
passed  3 calls  more, attempt 2
failed  4 calls  more, attempt 1
1 of 1 thread differs

thread main
a.T.t()
    a.T.t lambda()
    a.T.work()
  + a.T.work()
";
    assert_eq!((&*run.out, run.code), (expected, Some(0)), "{run:?}");
    let run = flow_in(&["tests", "--flaky", "more", "--format", "json"], dir.path());
    let row: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let columns = ["passed", "failed", "attempt_passed", "attempt_failed"].map(|key| &row[key]);
    assert_eq!(columns, [&1.into(), &1.into(), &2.into(), &serde_json::Value::from(1)], "{row}");
    assert_eq!((&row["change"], &row["name"]), (&"added".into(), &"work".into()), "{row}");
    // Nothing that was recorded differs.
    attempts(&place("same"), &TESTED, &TESTED);
    let run = flow_in(&["tests", "--flaky", "same"], dir.path());
    assert!(run.out.contains("\nno difference: the same calls in the same order"), "{run:?}");
    let run = flow_in(&["tests", "--flaky", "same", "--format", "csv"], dir.path());
    assert!(run.out.lines().nth(1).unwrap().contains(",same,"), "{run:?}");
    tested(&place("passing"), &TESTED, 0);
    let run = flow_in(&["tests", "--flaky", "passing"], dir.path());
    assert_eq!(run.out, "flaky: 0 of 1 test in 1 recording\n", "{run:?}");
    let run = flow_in(&["tests", "--flaky", "--test", "no.Such", "passing"], dir.path());
    assert!(run.code == Some(1) && run.err.contains("no test matches 'no.Such'"), "{run:?}");
    let run = flow_in(&["tests", "--flaky", "--verbose", "passing"], dir.path());
    assert!(run.code == Some(2) && run.err.contains("--verbose does not apply"), "{run:?}");
}
