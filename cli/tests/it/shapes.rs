//! `flow calls --by shape` and `flow diff --exact`: calls that did the same, and where two runs did not.

use std::fs;
use std::path::Path;

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use tempfile::TempDir;

use crate::columns;
use crate::common::{MAIN, Run, bare, command, flow, test_mark, text, trace};

/// The trace, and one in which the second call of work() calls the constructor of Job.
fn two() -> [TempDir; 2] {
    let (before, after) = (trace(), trace());
    let events = [0x80, 0x81, 0x82, 0x00, 0x82, 0x01, 0x81, 0x82, 0x02];
    fs::write(after.path().join("thread-1.flow"), events).unwrap();
    [before, after]
}

fn diff(args: &[&str], before: &Path, after: &Path) -> Run {
    let mut command = command();
    command.args(["diff", "--exact"]).args(args).args([before, after]);
    command.output().unwrap().into()
}

#[test]
fn the_smallest_call_that_differs_is_shown() {
    let [before, after] = two();
    let run = diff(&[], before.path(), after.path());
    let (one, other) = (before.path().display(), after.path().display());
    let expected = format!(
        "before  7 calls  {one}\n\
         after   8 calls  {other}\n\
         1 of 3 threads differs\n\
         \n\
         thread 1 main\n\
         call 4: com.app.Main.work(int)\n\
         \x20 in Main.main\n\
         \x20 + com.app.Main$Job.<init>()\n"
    );
    assert_eq!((&*run.out, run.code), (&*expected, Some(0)), "{}", run.err);
    let csv = diff(&["--format", "csv"], after.path(), before.path()).out;
    let row = "1 main,1 main,4,4,1,removed,com.app.Main$Job,<init>,()V,com.app.Main$Job.<init>(),1,1,,,,,false,\
               com.app.Main.main([Ljava/lang/String;)V > com.app.Main.work(I)I";
    assert_eq!(csv.lines().skip(1).collect::<Vec<_>>(), [row]);
}

#[test]
fn what_may_differ_is_left_out() {
    let [before, after] = two();
    let same = "no difference: the same calls in the same order, in 3 threads\n";
    for args in [&["--ignore", "**.Main$Job"][..], &["--exclude", "**.Main$Job"]] {
        let run = diff(args, before.path(), after.path());
        assert!(run.out.ends_with(same), "{args:?}: {run:?}");
    }
    let run = diff(&["--thread", "pool-1"], before.path(), after.path());
    assert!(run.out.ends_with("no difference: the same calls in the same order, in 1 thread\n"));
    let run = diff(&["--ignore", "**#nothing"], before.path(), after.path());
    assert!(run.code == Some(1) && run.err.contains("no method matches"), "{run:?}");
}

#[test]
fn the_exit_status_shows_on_request_whether_runs_differ() {
    let [before, after] = two();
    let code = |args: &[&str], after: &Path| diff(args, before.path(), after).code;
    assert_eq!(code(&[], after.path()), Some(0));
    assert_eq!(code(&["--exit-code"], after.path()), Some(1));
    assert_eq!(code(&["--exit-code"], before.path()), Some(0));
    // By path, too.
    for (other, expected) in [(&after, 1), (&before, 0)] {
        let args = ["diff", "--exit-code", &text(before.path())];
        assert_eq!(flow(&args, other.path()).code, Some(expected));
    }
}

#[test]
fn threads_of_one_name_are_paired_and_others_stay_alone() {
    let [before, after] = two();
    fs::remove_file(after.path().join("thread-12.flow")).unwrap();
    let run = diff(&[], before.path(), after.path());
    let expected = "\nthread 12 pool-1, only before\noutermost calls\n  - com.app.Main.work(int)\n";
    assert!(run.out.contains("2 of 3 threads differ\n"), "{run:?}");
    assert!(run.out.ends_with(expected), "{run:?}");
}

#[test]
fn threads_that_are_not_shown_are_counted() {
    let [before, after] = [&[0x80, 0x00][..], &[0x80, 0x81, 0x01]].map(|events| {
        let dir = bare(events);
        for thread in 2..=5 {
            fs::write(dir.path().join(format!("thread-{thread}.flow")), events).unwrap();
        }
        dir
    });
    let run = diff(&["--max", "1"], before.path(), after.path());
    assert!(run.out.contains("5 of 5 threads differ\n"), "{run:?}");
}

#[test]
fn nothing_is_the_same_if_nothing_was_compared() {
    let dirs = [bare(&[]), bare(&[])];
    let run = diff(&[], dirs[0].path(), dirs[1].path());
    assert!(run.out.ends_with("\n\nno threads were compared\n"), "{run:?}");
}

#[test]
fn two_tests_are_compared_call_by_call() {
    let dir = columns::trace();
    let run = flow(&["diff", "--exact", "--test", "a.T.t", "--test", "a.T.t"], dir.path());
    assert!(run.code == Some(0) && run.out.contains("\nno difference: "), "{run:?}");
}

#[test]
fn limits_are_named() {
    let before = bare(&[0x80, 0x81, 0x00, 0x82, 0x81, 0x02]);
    let after = bare(&[0x80, 0x81, 0x82, 0x01, 0x82, 0x01]);
    let run = diff(&["--max", "1"], before.path(), after.path());
    assert_eq!(run.out.matches("call ").count(), 1, "{run:?}");
    let more = "… further differences left out (--max 1; 0 for all; --next 1 continues)\n";
    assert!(run.out.ends_with(more), "{run:?}");
    let all = diff(&["--max", "0"], before.path(), after.path());
    assert!(!all.out.contains("left out"), "{all:?}");
}

#[test]
fn a_comparison_continues_after_the_first_differences() {
    let before = bare(&[0x80, 0x81, 0x00, 0x82, 0x81, 0x02]);
    let after = bare(&[0x80, 0x81, 0x82, 0x01, 0x82, 0x01]);
    for thread in [2, 3] {
        let events = |dir: &TempDir, events: &[u8]| {
            fs::write(dir.path().join(format!("thread-{thread}.flow")), events).unwrap();
        };
        events(&before, &[0x80, 0x81, 0x01]);
        events(&after, &[0x80, 0x82, 0x01]);
    }
    let rows = |args: &[&str]| -> Vec<String> {
        let csv = diff(&[args, &["--format", "csv"]].concat(), before.path(), after.path()).out;
        csv.lines().skip(1).map(str::to_owned).collect()
    };
    let difference = |row: &String| {
        let fields: Vec<_> = row.split(',').take(4).collect();
        fields.join(",")
    };
    let all = rows(&[]);
    let mut places: Vec<_> = all.iter().map(difference).collect();
    places.dedup();
    assert!(places.len() >= 4, "{all:?}");
    for skipped in 0..=places.len() {
        let expected: Vec<_> = all
            .iter()
            .filter(|row| {
                places.iter().position(|place| *place == difference(row)) >= Some(skipped)
            })
            .cloned()
            .collect();
        assert_eq!(rows(&["--next", &skipped.to_string()]), expected);
    }
    let one = diff(&["--next", "2", "--max", "1"], before.path(), after.path());
    assert!(one.out.contains("\nthread 2\n") && !one.out.contains("\nthread 1\n"), "{one:?}");
    assert!(one.out.ends_with("(--max 1; 0 for all; --next 3 continues)\n"), "{one:?}");
}

#[test]
fn two_threads_of_a_trace_are_compared() {
    let dir = trace();
    let run = flow(&["diff", "--exact", "--thread", "main", "--thread", "pool-1"], dir.path());
    let place = dir.path().display();
    let expected = format!(
        "before  5 calls  {place}, thread main\n\
         after    1 call  {place}, thread pool-1\n\
         1 of 1 thread differs\n\
         \n\
         thread 1 main, after: 12 pool-1\n\
         outermost calls\n"
    );
    assert!(run.code == Some(0) && run.out.starts_with(&expected), "{run:?}");
    let same = flow(&["diff", "--exact", "--thread", "1", "--thread", "main"], dir.path());
    assert!(same.out.ends_with("in 1 thread\n") && same.out.contains("no difference"), "{same:?}");
    let counts = flow(&["diff", "--thread", "main", "--thread", "pool-1"], dir.path());
    assert!(counts.code == Some(0) && counts.out.contains("Main.main"), "{counts:?}");
    let run = flow(&["diff", "--thread", "main", "--thread", "nothing"], dir.path());
    assert!(run.code == Some(1) && run.err.contains("no thread 'nothing'"), "{run:?}");
    let run = flow(&["diff", "--thread", "main"], dir.path());
    assert!(run.code == Some(2) && run.err.contains("--test or --thread twice"), "{run:?}");
}

#[test]
fn a_run_is_compared_with_a_baseline() {
    let [before, after] = two();
    let file = before.path().join("threads.baseline");
    let run = flow(&["export", "--to", "baseline", "-o", &text(&file)], before.path());
    assert!(run.code == Some(0) && run.err.contains("3 units in "), "{run:?}");
    let diff = |dir: &Path| {
        let mut command = command();
        command.args(["diff", "--exact", "--exit-code"]).args([&file, dir]);
        Run::from(command.output().unwrap())
    };
    let (same, other) = (diff(before.path()), diff(after.path()));
    assert!(same.code == Some(0) && same.out.contains("no difference: "), "{same:?}");
    let expected = format!(
        "before  {}\n\
         after   {}\n\
         1 of 3 threads differs\n\
         \n\
         thread main\n\
         \x20 in com.app.Main.main([Ljava/lang/String;)V > com.app.Main.work(I)I\n\
         \x20 + com.app.Main$Job.<init>()V\n",
        file.display(),
        after.path().display()
    );
    assert_eq!((&*other.out, other.code), (&*expected, Some(1)), "{}", other.err);
    fs::remove_file(after.path().join("thread-12.flow")).unwrap();
    let missing = diff(after.path());
    assert!(missing.out.ends_with("\nthread pool-1\n  only before\n"), "{missing:?}");
    fs::write(&file, "[\"flow-baseline\",1]\n[3]\n").unwrap();
    let damaged = diff(before.path());
    assert!(damaged.code == Some(1) && damaged.err.contains("line 2 is not"), "{damaged:?}");
}

#[test]
fn tests_are_compared_with_a_baseline() {
    let dir = columns::trace();
    let file = dir.path().join("tests.baseline");
    let run = flow(&["export", "--to", "baseline", "--test", "*", "-o", &text(&file)], dir.path());
    assert!(run.code == Some(0) && run.err.contains("1 unit in "), "{run:?}");
    assert!(fs::read_to_string(&file).unwrap().contains("[\"test\",\"a.T.t\","));
    let mut command = command();
    command.args(["diff", "--exact"]).args([&file, dir.path()]);
    let run = Run::from(command.output().unwrap());
    assert!(
        run.out.ends_with("no difference: the same calls in the same order, in 1 test\n"),
        "{run:?}"
    );
}

#[test]
fn shapes_show_how_long_their_calls_lasted() {
    let dir = columns::trace();
    let args = ["calls", "--by", "shape", "**#*", "--thread", "main", "--durations"];
    let text = flow(&args, dir.path());
    let title = text.out.lines().nth(1).unwrap_or_default().split_whitespace().collect::<Vec<_>>();
    let expected = [
        "shape", "count", "%", "calls", "frames", "time", "slowest", "call", "first", "call",
        "what", "differs",
    ];
    assert_eq!(title, expected, "{text:?}");
    // Sums over all shapes are those over all calls.
    let sum = |args: &[&str], column: &str| -> u64 {
        let csv = flow(args, dir.path()).out;
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let place = lines.next().unwrap().iter().position(|name| *name == column).unwrap();
        lines.filter_map(|line| line[place].parse::<u64>().ok()).sum()
    };
    let found = ["calls", "**#*", "--thread", "main", "--format", "csv"];
    for column in ["duration_ns", "duration_from_ns"] {
        let shapes = sum(&[&args[..], &["--format", "csv"]].concat(), column);
        assert_eq!(shapes, sum(&found, column), "{column}");
    }
    let plain = flow(&args[..6], dir.path());
    assert!(!plain.out.contains("slowest"), "{plain:?}");
}

#[test]
fn shapes_of_a_method_are_shown_with_what_distinguishes_them() {
    let trace = trace();
    let run = flow(&["calls", "--by", "shape", "**#work"], trace.path());
    let expected = "\
com.app.Main.work(int): 3 calls, 2 shapes
shape         count      %  calls  frames  first call   what differs
0e8b2b0ded12      2  66.7%      1       1  4 in 1 main  the most frequent
03ce673fd816      1  33.3%      3       2  1 in 1 main  + Main$Job.<init> ×2
";
    assert_eq!((&*run.out, run.code), (expected, Some(0)), "{}", run.err);
    let run = flow(&["calls", "--by", "shape", "--odd", "--max", "1", "**#work"], trace.path());
    assert_eq!(run.out.lines().count(), 4, "{run:?}");
    assert!(run.out.contains("+ Main$Job.<init> ×2\n… 1 more shape left out"), "{run:?}");
    // Main calls no job that is not hidden; its numbers are not those of the trace.
    let run =
        flow(&["calls", "--by", "shape", "--exclude", "**.Main$Job", "**#work"], trace.path());
    assert!(run.out.contains("3 calls, 1 shape\ncount "), "{run:?}");
    let run = flow(&["calls", "--by", "shape", "**#work", "--thread", "13"], trace.path());
    assert!(run.err.contains("no call of '**#work' that has ended"), "{run:?}");
}

/// The trace, with a first thread that is large enough to be indexed.
fn large() -> TempDir {
    let dir = trace();
    let round = [0x81, 0x82, 0x00, 0x82, 0x01, 0x81, 0x82, 0x81, 0x02];
    let mut events = [&MAIN[..MAIN.len() - 1], &[0x00], &round.repeat(500_000)].concat();
    // Exits of main() and of frames entered before, and a frame that is not left.
    *events.last_mut().unwrap() = 0x05;
    events.extend([0x81, 0x82, 0x00]);
    fs::write(dir.path().join("thread-1.flow"), events).unwrap();
    dir
}

#[test]
fn sums_from_stored_shapes_are_those_from_events() {
    let dir = large();
    let verbs: [&[&str]; 20] = [
        &["report"],
        &["report", "--by", "calls", "--sort", "name", "--format", "csv"],
        &["report", "--exclude", "**.Main$Job", "--format", "json"],
        &["report", "--thread", "main", "--verbose"],
        &["report", "--callers", "**#work", "--format", "csv"],
        &["report", "--callees", "**#work"],
        &["report", "--callers", "**.Main$Job", "--exclude", "**#work"],
        &["report", "--paths", "longest", "--format", "json"],
        &["report", "--paths", "deepest"],
        &["report", "--paths", "frequent", "--format", "csv"],
        &["report", "--tree", "--format", "csv"],
        &["report", "--tree", "--per-thread", "--depth", "2"],
        &["report", "--tree"],
        &["report", "--tree", "--min", "30"],
        &["report", "--tree", "--max", "2", "--sort", "self"],
        &["report", "--tree", "--depth", "1", "--method", "**#main"],
        &["report", "--tree", "--by", "calls", "--exclude", "**#work"],
        &["report", "--tree", "--method", "**#work", "--min", "0"],
        &["report", "--tree", "--exclude", "**#work", "--format", "json"],
        &["export", "--to", "collapsed"],
    ];
    let all = || verbs.map(|args| (args, flow(args, dir.path())));
    let info = || flow(&["info"], dir.path()).out;
    let (from_events, plain) = (all(), info());
    assert_eq!(flow(&["check", "--index"], dir.path()).code, Some(0));
    let with_shapes = info();
    let lines = with_shapes.lines();
    let (shapes, rest): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("shapes "));
    assert_eq!(rest, plain.lines().collect::<Vec<_>>());
    assert!(shapes.len() == 1 && shapes[0].contains(" in 1 thread, "), "{shapes:?}");
    for ((args, expected), (_, run)) in from_events.iter().zip(all()) {
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.err);
        assert_eq!((&run.out, &run.err), (&expected.out, &expected.err), "{args:?}");
    }
    let both = |verb: &str| {
        let mut command = command();
        let run: Run = command.arg(verb).args([dir.path(), dir.path()]).output().unwrap().into();
        run.out
    };
    assert!(both("diff").contains("no difference"), "{}", both("diff"));

    // Events that are not among the samples are not read.
    let place = dir.path().join("thread-1.flow");
    let mut events = fs::read(&place).unwrap();
    events[1000] ^= 3;
    fs::write(&place, &events).unwrap();
    assert_eq!(flow(verbs[0], dir.path()).out, from_events[0].1.out);
    events[0] ^= 1;
    fs::write(&place, &events).unwrap();
    assert_ne!(flow(verbs[0], dir.path()).out, from_events[0].1.out);
}

#[test]
fn events_are_not_read_for_marks_that_are_not_there() {
    let dir = large();
    let place = dir.path().join("thread-1.flow");
    let events = fs::read(&place).unwrap();
    // Exit statuses of the questions about exceptions and lines, of a thread that is damaged where its shapes do not notice.
    let ask = |mark: Option<Mark>| {
        let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
        let time = |at_ns| Mark::Time { by_ns: at_ns, from_ns: at_ns, ran_us: None };
        let all = [(0, Some(time(1_000))), (900, mark), (3_000_000, Some(time(9_000)))];
        for (offset, mark) in all {
            let at = Position::before(Offset::new(offset));
            mark.iter().for_each(|mark| encoder.encode(at, mark, &mut marks));
        }
        encoder.finish(&mut marks);
        fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
        fs::write(&place, &events).unwrap();
        assert_eq!(flow(&["check", "--index"], dir.path()).code, Some(0));
        let mut damaged = events.clone();
        damaged[1000..1012].fill(0xFF);
        fs::write(&place, &damaged).unwrap();
        [&["report", "--exceptions"][..], &["report", "--lines"]]
            .map(|args| flow(&[args, &["--thread", "1"]].concat(), dir.path()).code)
    };
    assert_eq!(ask(None), [Some(0), Some(0)]);
    assert_eq!(ask(Some(Mark::Line(7))), [Some(0), Some(1)]);
    let unwound = Mark::Unwound { exits: std::num::NonZeroU64::MIN, thrown: None };
    assert_eq!(ask(Some(unwound)), [Some(1), Some(0)]);
}

#[test]
fn stored_shapes_change_no_answer() {
    let dir = large();
    let place = dir.path().join("thread-1.dag");
    let shapes = |dir: &Path| flow(&["calls", "--by", "shape", "**#*"], dir).out;
    let state = |dir: &Path| {
        let csv = flow(&["check", "--index", "--format", "csv"], dir).out;
        csv.lines().nth(1).unwrap().split(',').nth(9).unwrap().to_owned()
    };
    let expected = shapes(dir.path());
    // The first question that needed them stored them.
    assert!(place.exists());
    assert_eq!(shapes(dir.path()), expected);
    fs::remove_file(&place).unwrap();
    assert_eq!(state(dir.path()), "created");
    assert_eq!(state(dir.path()), "already existed");
    assert_eq!(shapes(dir.path()), expected);
    // A trace in one file has them too.
    let file = dir.path().join("app.flowtrace");
    assert_eq!(
        flow(&["export", "--to", "flowtrace", &text(dir.path()), "-o"], &file).code,
        Some(0)
    );
    assert_eq!(state(&file), "already existed");
    assert_eq!(shapes(&file), expected);
    let bytes = fs::read(&place).unwrap();
    assert!(bytes.len() < 1000, "{}", bytes.len());
    fs::write(&place, &bytes[1..]).unwrap();
    assert_eq!(state(dir.path()), "created again");
    assert_eq!(fs::read(&place).unwrap(), bytes);
    fs::write(&place, &bytes[1..]).unwrap();
    assert_eq!(shapes(dir.path()), expected);
    assert_eq!(fs::read(&place).unwrap(), bytes);
    assert_eq!(flow(&["check", "--remove-index"], dir.path()).code, Some(0));
    assert!(!place.exists());
}

/// A thread with times, notes and a test whose calls vary; in one of these 1,500,000 times the same, and in another one several
/// calls that are repeated together.
fn varied() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let ids: String =
        ('a'..='f').zip(0..).map(|(name, id)| format!("x.X#{name}()V={id}\n")).collect();
    fs::write(dir.path().join("ids.properties"), ids).unwrap();
    let mut state = 11_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) % below
    };
    let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
    // An exit without an entry, and at the end frames that are not left.
    let (mut events, mut open, mut exits, mut now) = (vec![0x00_u8], 0_u64, 0_u64, 1000);
    for call in 0..1200_u64 {
        let method = if open > 6 { 3 } else { random(4) };
        if exits > 0 {
            events.push(u8::try_from(exits - 1).unwrap());
        }
        let at = Position::before(Offset::new(events.len() as u64));
        match call {
            650 => encoder.encode(at, &test_mark("test started a.T.t"), &mut marks),
            1100 => encoder.encode(at, &test_mark("test passed a.T.t"), &mut marks),
            _ => {}
        }
        match random(30) {
            0..9 => {
                now += 100 + random(1000);
                let mark = Mark::Time { by_ns: now, from_ns: now, ran_us: None };
                encoder.encode(at, &mark, &mut marks);
            }
            9 => encoder.encode(at, &Mark::Note(format!("note {call}")), &mut marks),
            _ => {}
        }
        events.push(0x80 | u8::try_from(method).unwrap());
        open += 1;
        exits = random(3).min(open);
        open -= exits;
        if call == 700 {
            events.push(0x85);
            events.extend([0x84, 0x83, 0x01].repeat(1_499_999));
            // These are left together with the others, so that there is one record.
            events.extend([0x84, 0x83]);
            exits += 3;
        }
        if call == 900 {
            events.push(0x85);
            events.extend([0x80, 0x00, 0x81, 0x00, 0x82, 0x83, 0x01].repeat(99_999));
            events.extend([0x80, 0x00, 0x81, 0x00, 0x82, 0x83]);
            exits += 3;
        }
    }
    fs::write(dir.path().join("thread-1.flow"), events).unwrap();
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    dir
}

#[test]
fn replay_skips_calls_of_which_nothing_is_shown() {
    let dir = varied();
    let replays: [&[&str]; 32] = [
        &["--depth", "1"],
        &["--depth", "4"],
        &["--depth", "3", "--max", "50"],
        &["--depth", "3", "--exclude", "**#b", "--format", "csv"],
        &["--exclude", "**#d", "--exclude", "**#e"],
        &["--include", "**#b", "--include", "**#c", "--depth", "2", "--format", "json"],
        &["--include", "**#f"],
        &["--method", "**#c", "--format", "json", "--max", "900"],
        &["--method", "**#c", "--format", "csv", "--depth", "2", "--exclude", "**#d"],
        &["--method", "**#f", "--format", "json", "--depth", "1"],
        &["--method", "**#c", "--max", "900"],
        &["--method", "**#c", "--depth", "1"],
        &["--method", "**#b", "--depth", "2", "--verbose"],
        &["--method", "**#d", "--max", "20"],
        &["--method", "**#b", "--exclude", "**#a", "--depth", "2"],
        &["--method", "**#b", "--min-duration", "2us", "--depth", "1"],
        &["--from", "900", "--depth", "5", "--max", "30"],
        &["--from", "1000000", "--max", "30"],
        &["--from", "offset:1000000", "--max", "30"],
        &["--from", "event:20", "--depth", "3"],
        &["--from", "event:2000000", "--depth", "9", "--max", "20"],
        &["--from", "event:3000900", "--max", "20"],
        &["--from", "3us", "--depth", "3"],
        &["--test", "a.T.t", "--depth", "1"],
        &["--test", "a.T.t", "--depth", "3", "--max", "50"],
        &["--test", "a.T.t", "--depth", "3", "--format", "csv"],
        &["--test", "a.T.t", "--exclude", "**#d", "--exclude", "**#e"],
        &["--test", "a.T.t", "--include", "**#b", "--depth", "2", "--format", "json"],
        &["--test", "a.T.t", "--method", "**#c", "--max", "90"],
        &["--test", "a.T.t", "--method", "**#b", "--format", "json", "--depth", "2"],
        &["--from", "**#c > **#a > **#c", "--max", "20"],
        &["--from", "**#f > **#d", "--max", "20"],
    ];
    let all = || replays.map(|args| flow(&[&["replay"], args].concat(), dir.path()));
    let from_events = all();
    assert_eq!(flow(&["check", "--index"], dir.path()).code, Some(0));
    assert!(dir.path().join("thread-1.dag").exists());
    for has_index in [true, false] {
        if !has_index {
            fs::remove_file(dir.path().join("thread-1.idx")).unwrap();
        }
        for (args, (expected, run)) in replays.iter().zip(from_events.iter().zip(all())) {
            assert!(!run.out.is_empty(), "{args:?}");
            assert_eq!(
                (&run.out, &run.err, run.code),
                (&expected.out, &expected.err, expected.code),
                "{args:?}"
            );
        }
    }
    let collapsed = flow(&["replay", "--collapse", "--exclude", "**#d"], dir.path()).out;
    assert!(collapsed.contains("x.X.e()  ×1,500,000 the same\n"), "{collapsed}");
    let collapsed = flow(&["replay", "--collapse", "--test", "a.T.t"], dir.path()).out;
    assert!(collapsed.contains("x.X.e()  ×1,500,000 the same\n"), "{collapsed}");
}

#[test]
fn calls_that_are_repeated_together_are_added_up_as_in_events() {
    let dir = varied();
    let answers: [&[&str]; 13] = [
        &["info"],
        &["tests", "--format", "csv"],
        &["tests", "--reaching", "**#f", "--format", "json"],
        &["report", "--format", "csv"],
        &["report", "--by", "calls", "--format", "csv"],
        &["report", "--by", "calls", "--test", "a.T.t", "--format", "csv"],
        &["report", "--by", "calls", "--exclude", "**#c", "--format", "json"],
        &["report", "--callers", "**#b", "--by", "calls"],
        &["report", "--callees", "**#f", "--by", "calls"],
        &["report", "--paths", "deepest"],
        &["report", "--tree", "--by", "calls", "--format", "csv"],
        &["report", "--tree", "--by", "calls", "--depth", "3"],
        &["export", "--to", "collapsed"],
    ];
    let all = || answers.map(|args| flow(args, dir.path()));
    let from_events = all();
    // Some answers need shapes, and store them; a directory in their place is no file to store them in.
    let place = dir.path().join("thread-1.dag");
    assert!(place.exists(), "tests that are read from shapes store them");
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    let not_stored = all();
    fs::remove_dir(&place).unwrap();
    assert_eq!(flow(&["check", "--index"], dir.path()).code, Some(0));
    assert!(fs::metadata(&place).unwrap().len() < 20_000, "loops are stored once");
    for ((args, expected), (other, run)) in
        answers.iter().zip(&from_events).zip(not_stored.iter().zip(all()))
    {
        assert_eq!(expected.code, Some(0), "{args:?}: {expected:?}");
        assert_eq!(other.out, expected.out, "{args:?}");
        let shown = |run: &Run| {
            let lines = run.out.lines().filter(|line| !line.starts_with("shapes "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(shown(&run), shown(expected), "{args:?}");
    }
    // Each call in the loop is found.
    let found = flow(&["calls", "**#b", "--max", "0", "--format", "csv"], dir.path());
    assert!(found.out.lines().count() > 100_000, "{}", found.err);
}

#[test]
fn rows_of_calls_of_a_method_need_no_events() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ids.properties"), "x.X#a()V=0\nx.X#b()V=1\n").unwrap();
    let (mut encoder, mut marks, mut events) =
        (MarkEncoder::default(), HEADER.to_vec(), vec![0x80_u8]);
    for call in 1..4 {
        let at = Position::before(Offset::new(events.len() as u64));
        encoder.encode(at, &Mark::Instant { at_ns: call * 1000 }, &mut marks);
        events.push(0x81);
        events.extend([0x80, 0x80, 0x01].repeat(500_000));
        events.extend([0x80, 0x01]);
    }
    fs::write(dir.path().join("thread-1.flow"), &events).unwrap();
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    let replays: [&[&str]; 4] = [
        &["--format", "json"],
        &["--format", "csv", "--max", "2"],
        &["--format", "json", "--min-duration", "1us"],
        &["--format", "csv", "--verbose"],
    ];
    let all = || {
        let args = ["replay", "--method", "**#b", "--depth", "1"];
        replays.map(|more| flow(&[&args[..], more].concat(), dir.path()))
    };
    let from_events = all();
    assert!(from_events[0].out.lines().count() == 3, "{:?}", from_events[0]);
    assert_eq!(flow(&["check", "--index"], dir.path()).code, Some(0));
    // A method that is not among the samples of the events.
    events[1000] ^= 3;
    fs::write(dir.path().join("thread-1.flow"), &events).unwrap();
    for (run, expected) in all().iter().zip(&from_events) {
        assert_eq!((&run.out, &run.err, run.code), (&expected.out, &expected.err, expected.code));
    }
}

#[test]
fn replay_shows_calls_that_did_the_same_once() {
    let dir = trace();
    // main > 700,000 × (work > (init, main > work)), work > init
    let round = [0x81, 0x82, 0x00, 0x80, 0x81, 0x02];
    let events = [&[0x80][..], &round.repeat(700_000), &[0x81, 0x82, 0x02]].concat();
    fs::write(dir.path().join("thread-1.flow"), events).unwrap();
    let replay = |args: &[&str]| {
        let run = flow(&[&["replay", "--thread", "main"], args].concat(), dir.path());
        assert_eq!(run.code, Some(0), "{run:?}");
        run.out
    };
    let plain = replay(&["--max", "9"]);
    let built = replay(&["--collapse"]);
    assert_eq!(flow(&["check", "--index"], dir.path()).code, Some(0));
    assert_eq!(replay(&["--collapse"]), built, "whether shapes are stored or not");
    assert_eq!(replay(&["--max", "9"]), plain);
    let body = "    com.app.Main$Job.<init>()
    com.app.Main.main(String[])
      com.app.Main.work(int)
";
    let last = "  com.app.Main.work(int)
    com.app.Main$Job.<init>()
";
    let expected = format!(
        "thread 1 main
com.app.Main.main(String[])
  com.app.Main.work(int)  ×700,000 the same
{body}{last}"
    );
    assert_eq!(replay(&["--collapse"]), expected);
    // The third one, and the second call in it.
    let from = replay(&["--collapse", "--from", "9"]);
    assert!(
        from.ends_with(&format!("\n  com.app.Main.work(int)  ×699,998 the same\n{body}{last}")),
        "{from}"
    );
    let from = replay(&["--collapse", "--from", "11"]);
    let after = "\n    com.app.Main.main(String[])
      com.app.Main.work(int)
  com.app.Main.work(int)  ×699,997 the same
";
    assert!(from.ends_with(&format!("{after}{body}{last}")), "{from}");
    // Lines count for the limit, hidden calls for what is too deep.
    assert_eq!(replay(&["--collapse", "--max", "5"]).matches("com.app").count(), 5);
    let deep = replay(&["--collapse", "--depth", "3"]);
    assert!(deep.contains("work(int)  ×700,000 the same\n"), "{deep}");
    assert!(deep.contains("com.app.Main.main(String[])  … 1 call below\n"), "{deep}");
    assert!(deep.ends_with("… 700,000 deeper calls left out (--depth 3)\n"), "{deep}");
    // With methods hidden, it is still the whole call that did the same.
    let some = replay(&["--collapse", "--exclude", "**.Main$Job"]);
    assert!(
        some.contains("  com.app.Main.work(int)  ×700,000 the same\n    com.app.Main.main"),
        "{some}"
    );
    assert!(some.ends_with("      com.app.Main.work(int)\n  com.app.Main.work(int)\n"), "{some}");
}
