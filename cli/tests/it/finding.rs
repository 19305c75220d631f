//! `flow calls`: the calls of a shape, or of a method.

use std::fs;
use std::path::Path;

use crate::columns;
use crate::common::{MAIN, Run, bare, flow, trace, write_trace};

/// Some columns of CSV without quotes in its fields, by title.
fn cells(csv: &str, titles: &[&str]) -> Vec<String> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heading = lines.next().unwrap();
    let places: Vec<_> =
        titles.iter().map(|title| heading.iter().position(|name| name == title).unwrap()).collect();
    lines
        .map(|line| places.iter().map(|place| line[*place]).collect::<Vec<_>>().join(" "))
        .collect()
}

fn find(what: &str, args: &[&str], dir: &Path) -> Run {
    flow(&[&["calls", what], args].concat(), dir)
}

#[test]
fn the_calls_of_a_method_are_listed_with_their_shapes() {
    let dir = trace();
    let run = find("**#work", &[], dir.path());
    let expected = "\
com.app.Main.work(int): 3 calls, 2 shapes
thread     call  depth  shape         called by
1 main        1      1  03ce673fd816  Main.main
1 main        4      1  0e8b2b0ded12  Main.main
12 pool-1     0      0  0e8b2b0ded12
";
    assert_eq!((&*run.out, run.code), (expected, Some(0)), "{}", run.err);
    // By the name of its shape, too, and with fewer digits of it.
    for name in ["03ce673fd816", "03ce67"] {
        let csv = find(name, &["--format", "csv"], dir.path()).out;
        let found =
            cells(&csv, &["thread", "call", "name", "shape", "outcome", "calls", "depth", "path"]);
        let path = "com.app.Main.main([Ljava/lang/String;)V";
        assert_eq!(found, [format!("1 1 work 03ce673fd816 returned 3 1 {path}")]);
    }
    let run = find("**#*", &["--max", "2", "--thread", "main"], dir.path());
    assert!(run.out.starts_with("**#*: 5 calls, 4 shapes\n"), "{run:?}");
    assert!(run.out.ends_with("… 3 more calls left out (--max 2; 0 for all)\n"), "{run:?}");
}

#[test]
fn every_shape_is_found_as_often_as_it_is_counted() {
    let dir = columns::trace();
    let thread = ["--thread", "main"];
    let shapes = flow(
        &["calls", "--by", "shape", "**#*", "--format", "csv", "--thread", "main"],
        dir.path(),
    )
    .out;
    let shapes = cells(&shapes, &["shape", "count", "first_call"]);
    assert!(shapes.len() > 2, "{shapes:?}");
    for shape in shapes {
        let words: Vec<_> = shape.split(' ').collect();
        let csv = find(words[0], &[&thread[..], &["--format", "csv"]].concat(), dir.path()).out;
        let calls = cells(&csv, &["call"]);
        assert_eq!((calls.len().to_string().as_str(), &*calls[0]), (words[1], words[2]));
    }
}

#[test]
fn times_are_those_of_replay() {
    let dir = columns::trace();
    let titles = [
        "name",
        "depth",
        "start_ns",
        "start_from_ns",
        "start_by_ns",
        "duration_ns",
        "duration_by_ns",
    ];
    let args = ["--thread", "main", "--format", "csv"];
    let found = find("**#*", &args, dir.path()).out;
    let found = cells(&found, &titles);
    let replay = flow(&[&["replay", "--time"], &args[..]].concat(), dir.path()).out;
    let mut replay = cells(&replay, &titles);
    // Marks have no names.
    replay.retain(|row| !row.starts_with(' '));
    assert!(found.len() > 4, "{found:?}");
    assert_eq!(found, replay);
}

#[test]
fn calls_have_the_test_that_made_them() {
    let dir = columns::trace();
    let tests = |args: &[&str]| {
        let args = [&["--thread", "main", "--format", "csv"], args].concat();
        cells(&find("**#*", &args, dir.path()).out, &["call", "name", "test"])
    };
    let all = tests(&[]);
    let of_test = tests(&["--test", "a.T.t"]);
    assert!(!of_test.is_empty() && of_test.len() < all.len(), "{all:?}");
    assert!(of_test.iter().all(|row| row.ends_with(" a.T.t")), "{of_test:?}");
    let expected: Vec<_> = all.iter().filter(|row| row.ends_with(" a.T.t")).collect();
    assert_eq!(of_test.iter().collect::<Vec<_>>(), expected);
    let limited =
        flow(&["calls", "**#*", "--thread", "main", "--test", "a.T.t", "--max", "1"], dir.path());
    let counts = format!(": {} calls, ", of_test.len());
    assert!(limited.out.lines().next().unwrap().contains(&counts), "{limited:?}");
    let run = find("**#*", &["--test", "nothing"], dir.path());
    assert!(run.code == Some(1) && run.err.contains("no test matches 'nothing'"), "{run:?}");
}

#[test]
fn what_is_not_there_is_said() {
    let dir = trace();
    let run = find("0123456789ab", &[], dir.path());
    assert!(run.err.contains("no call of shape '0123456789ab'") && run.out.is_empty(), "{run:?}");
    // Too few digits are a pattern.
    let run = find("0123a", &[], dir.path());
    assert!(run.code == Some(1) && run.err.contains("no method matches '0123a'"), "{run:?}");
    let run = find("**#work", &["--outcome", "exception"], dir.path());
    assert!(run.err.contains("no call of '**#work' that has ended"), "{run:?}");
}

#[test]
fn after_damage_calls_are_found_and_their_times_are_unknown() {
    let dir = bare(&[&[0x80, 0x81][..], &[0xFF; 12], &[0x00, 0x82, 0x01]].concat());
    let run = find("**#*", &["--format", "csv"], dir.path());
    assert_eq!(run.code, Some(1), "{run:?}");
    let found = cells(&run.out, &["call", "name", "start_ns"]);
    assert_eq!(found, ["1 work ", "2 <init> "], "{run:?}");
    // A file that is not sound is not believed.
    let dir = bare(MAIN);
    let before = find("**#*", &[], dir.path()).out;
    fs::write(dir.path().join("thread-1.dag"), b"flow-dag").unwrap();
    assert_eq!(find("**#*", &[], dir.path()).out, before);
}

#[test]
fn what_is_left_out_is_never_called_absent() {
    let dir = trace();
    // The shapes of main need more than this little memory; those of the others do not.
    let little = ["--memory", "80"];
    let run = find("**#main", &little, dir.path());
    assert_eq!((run.code, &*run.out), (Some(3), ""), "{run:?}");
    assert!(!run.err.contains("no call of"), "{run:?}");
    let mut lines = run.err.lines();
    let first = "flow: thread 1 main is left out: its calls repeat too little, their shapes need more than 80 B \
                 (--memory allows more)";
    assert_eq!(lines.next(), Some(first), "{run:?}");
    let last =
        "flow: 1 thread is left out, which may have calls of '**#main'; the others have none";
    assert!(lines.next().unwrap().starts_with(last), "{run:?}");
    let run = flow(&["calls", "--by", "shape", "**#main", "--memory", "80"], dir.path());
    assert_eq!((run.code, &*run.out), (Some(3), ""), "{run:?}");
    assert!(!run.err.contains("no call of") && run.err.contains(last), "{run:?}");
    // What is found in the rest is shown.
    let run = find("**#work", &little, dir.path());
    assert!(
        run.code == Some(3) && run.out.starts_with("com.app.Main.work(int): 1 call"),
        "{run:?}"
    );
}

#[test]
fn the_memory_for_shapes_is_that_of_all_threads() {
    // Each thread fits alone, and the joined shapes are those of one of them.
    let dir = bare(MAIN);
    for thread in [2, 3] {
        fs::write(dir.path().join(format!("thread-{thread}.flow")), MAIN).unwrap();
    }
    let shapes = |memory: &str| {
        flow(&["calls", "--by", "shape", "**#*", "--max", "0", "--memory", memory], dir.path())
    };
    let all = shapes("1m");
    assert_eq!((all.code, &*all.err), (Some(0), ""), "{all:?}");
    let left_out =
        |run: &Run| run.err.matches("with the threads before it, shapes need more").count();
    let found = ["160", "320", "480"].map(|memory| {
        let run = shapes(memory);
        (left_out(&run), run.code)
    });
    assert_eq!(found, [(2, Some(3)), (1, Some(3)), (0, Some(0))], "{:?}", shapes("160"));
    assert_eq!(shapes("480").out, all.out);
}

#[test]
fn a_thread_that_is_left_out_is_not_compared() {
    let (before, after) = (trace(), trace());
    let after = after.path().to_str().unwrap();
    let run = flow(&["diff", "--exact", "--memory", "80", after], before.path());
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.out.contains("\nincomplete: 2 threads were not compared, for the reason above\n"));
    assert!(!run.out.contains("only before") && !run.out.contains("main"), "{run:?}");
    let baseline = before.path().join("baseline");
    let baseline = baseline.to_str().unwrap();
    assert_eq!(flow(&["export", "--to", "baseline", "-o", baseline], before.path()).code, Some(0));
    let run = flow(&["diff", "--exact", "--memory", "80", baseline], before.path());
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.out.contains("incomplete: 1 thread was not compared"), "{run:?}");
    assert!(!run.out.contains("only before"), "{run:?}");
}

#[test]
fn the_place_of_a_call_begins_a_replay() {
    let dir = trace();
    let shapes = flow(&["calls", "--by", "shape", "**#work"], dir.path()).out;
    assert!(shapes.contains("4 in 1 main"), "{shapes}");
    let expected = flow(&["replay", "--thread", "main", "--from", "4"], dir.path());
    assert_eq!(expected.code, Some(0), "{expected:?}");
    for place in ["4 in 1 main", "4 in 1", "1:4"] {
        let run = flow(&["replay", "--from", place], dir.path());
        assert_eq!((run.code, &run.out), (Some(0), &expected.out), "{place}: {run:?}");
        let run = flow(&["view", "--once", "--from", place], dir.path());
        assert_eq!(run.code, Some(0), "{place}: {run:?}");
    }
    let run = flow(&["replay", "--from", "99:4"], dir.path());
    assert!(run.code == Some(1) && run.err.contains("no thread '99'"), "{run:?}");
}

#[test]
fn the_callers_of_a_method_that_a_flag_hides_are_not_called_absent() {
    let dir = trace();
    let run = flow(&["report", "--callers", "**#work", "--exclude", "**#work"], dir.path());
    let end = "\nno call matches **#work that --exclude does not hide\n";
    assert!(run.out.ends_with(end), "{run:?}");
}

#[test]
fn two_threads_of_several_jvms_are_not_guessed() {
    let dir = trace();
    write_trace(&dir.path().join("jvm-7-1"));
    let run = flow(&["diff", "--exact", "--thread", "1", "--thread", "12"], dir.path());
    assert_eq!((run.code, &*run.out), (Some(2), ""), "{run:?}");
    assert!(run.err.contains("compare threads of one of: "), "{run:?}");
    let one = dir.path().join("jvm-7-1");
    assert_eq!(flow(&["diff", "--exact", "--thread", "1", "--thread", "12"], &one).code, Some(0));
}

#[test]
fn top_has_the_format_flag_of_the_other_verbs() {
    let dir = trace();
    let top = |args: &[&str]| {
        let run = flow(&[&["top", "--once", "--interval", "1ms"], args].concat(), dir.path());
        assert_eq!(run.code, Some(0), "{run:?}");
        run.out.lines().filter(|line| line.starts_with('{')).count()
    };
    assert!(top(&["--format", "json"]) > 0);
    assert_eq!(top(&["--format", "text"]), 0);
}

#[test]
fn the_name_of_a_method_is_enough_if_one_class_has_it() {
    let dir = trace();
    let verbs: [&[&str]; 6] = [
        &["calls"],
        &["calls", "--by", "shape"],
        &["calls", "--values"],
        &["report", "--callers"],
        &["replay", "--method"],
        &["replay", "--depth", "1", "--method"],
    ];
    for verb in verbs {
        let [bare, full] = ["work", "com.app.Main#work"].map(|name| {
            let run = flow(&[verb, &[name]].concat(), dir.path());
            assert_eq!(run.code, Some(0), "{verb:?} {run:?}");
            run.out
        });
        assert_eq!(bare, full, "{verb:?}");
        for pattern in ["*ork", "**wor*"] {
            let run = flow(&[verb, &[pattern]].concat(), dir.path());
            assert!(run.code == Some(0) && run.out == full, "{pattern} {run:?}");
        }
    }
    // Of several, none is guessed.
    let ids = fs::read_to_string(dir.path().join("ids.properties")).unwrap();
    fs::write(dir.path().join("ids.properties"), ids + "com.app.Other#work()V=7\n").unwrap();
    let run = find("work", &[], dir.path());
    assert!(run.code == Some(1) && run.err.contains("2 methods are called 'work'"), "{run:?}");
    assert!(run.err.contains("com.app.Main#work") && run.err.contains("com.app.Other#work"));
}
