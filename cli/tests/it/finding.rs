//! `flow find`: the calls of a shape, or of a method.

use std::fs;
use std::path::Path;

use crate::columns;
use crate::common::{MAIN, Run, bare, flow, trace};

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
    flow(&[&["find", what], args].concat(), dir)
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
    let shapes = flow(&["shapes", "**#*", "--format", "csv", "--thread", "main"], dir.path()).out;
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
        flow(&["find", "**#*", "--thread", "main", "--test", "a.T.t", "--max", "1"], dir.path());
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
    let run = find("**#work", &["--outcome", "unwound"], dir.path());
    assert!(run.err.contains("no call of '**#work' that was left"), "{run:?}");
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
