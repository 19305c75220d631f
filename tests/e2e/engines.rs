//! The same program under both engines: the same calls, in the same order, with the same names.
//!
//! A trace of `engine=instrument` names the methods that it cannot record; their calls are removed from both
//! trees, and the calls inside them move up. `engine=events` misses one thing: the JVM does not enter an
//! empty method that it would call by itself, such as an empty static initialiser. With probes it is not
//! empty.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use flow_e2e::{Decoded, DecodedThread, Engine, Event, Jdk, Program, harness, lib};

use crate::on_every_jdk;

/// Programs of the harness whose runs differ, that need arguments, that do not end by themselves, or whose
/// class loaders are asked for the probe class.
const DIFFERENT_EACH_TIME: [&str; 31] = [
    "Attached",
    "Busy",
    "Children",
    "Chores",
    "Clocked",
    "Contexts",
    "Crowd",
    "Daemons",
    "Deadlocked",
    "Flaky",
    "Forked",
    "Halt",
    "Handed",
    "Kill",
    "Locked",
    "Neighbour",
    "OutOfMemory",
    "Overflow",
    "Overflowing",
    "Overflows",
    "Passing",
    "Picky",
    "Rounds",
    "Shares",
    "Spinning",
    "Stopped",
    "Storms",
    "Stranger",
    "Turns",
    "Unloading",
    "VirtualChores",
];

/// A call: the number of calls around it, the key of the method, and the class of the exception that left it, if one did.
type Call<'a> = (usize, &'a str, Option<&'a str>);

/// An exception whose class is not known.
const UNKNOWN: &str = "?";

/// The calls of each thread, by its name. Threads with the same name are in no order.
type Calls<'a> = BTreeMap<&'a str, Vec<Vec<Call<'a>>>>;

/// The keys of the methods of a trace, by id, without those that are not compared.
type Visible<'a> = HashMap<u64, Option<&'a str>>;

fn visible(trace: &Decoded, compared: impl Fn(&str) -> bool) -> Visible<'_> {
    trace
        .keys
        .iter()
        .map(|(id, key)| (*id, Some(key.as_str()).filter(|key| compared(key))))
        .collect()
}

/// The calls of a thread.
fn calls<'a>(trace: &'a Decoded, thread: &DecodedThread, visible: &Visible<'a>) -> Vec<Call<'a>> {
    let mut depth = 0;
    let mut open = Vec::new();
    let mut calls = Vec::new();
    let thrown = thread.thrown();
    let class = |class: Option<u64>| class.map_or(UNKNOWN, |class| trace.keys[&class].as_str());
    for (number, event) in thread.events.iter().enumerate() {
        match event {
            Event::Enter(id) => {
                open.push(visible[id].map(|key| {
                    calls.push((depth, key, None));
                    depth += 1;
                    calls.len() - 1
                }));
            }
            Event::Exit => {
                if let Some(call) = open.pop().unwrap() {
                    depth -= 1;
                    calls[call].2 = thrown.get(&number).map(|thrown| class(*thrown));
                }
            }
        }
    }
    calls
}

fn all_calls<'a>(trace: &'a Decoded, visible: &Visible<'a>) -> Calls<'a> {
    let mut threads = Calls::new();
    for thread in trace.threads.values() {
        let calls = calls(trace, thread, visible);
        if !calls.is_empty() {
            threads.entry(&thread.name).or_default().push(calls);
        }
    }
    threads.values_mut().for_each(|same_name| same_name.sort());
    threads
}

/// Returns whether two calls are the same. Where a constructor was left in its call of another one, its exit has no event,
/// and the class may not be known. The JVM does not report exceptions that it throws in place of one of a class loader.
fn is_same(found: &Call<'_>, expected: &Call<'_>) -> bool {
    let is_known = |call: &Call<'_>| call.2.is_none_or(|class| class != UNKNOWN);
    let same_end = found.2 == expected.2
        || !is_known(found) && found.1.contains("#<init>(") && expected.2.is_some();
    let is_unreported = found.2.is_some_and(|class| {
        class.starts_with("java.lang.NoClassDefFoundError#")
            || class.starts_with("java.lang.ClassNotFoundException#")
    });
    let same_end = if is_known(expected) { same_end } else { is_unreported };
    (found.0, found.1) == (expected.0, expected.1) && same_end
}

/// The calls where two trees differ first.
fn around<'a, 'b>(calls: &'b [Call<'a>], at: usize) -> &'b [Call<'a>] {
    &calls[at.saturating_sub(5).min(calls.len())..calls.len().min(at + 3)]
}

/// Runs a program under both engines, and compares call by call. Returns the number of calls.
fn compare(name: &str, program: impl Fn() -> Program) -> usize {
    compare_traces(name, program).0
}

/// The same. Returns also what both recorded: the engine that rewrites first, then the events.
fn compare_traces(name: &str, program: impl Fn() -> Program) -> (usize, [Decoded; 2]) {
    let [instrument, events] = Engine::ALL.map(|engine| {
        // Identity hash codes determine the order of maps: with all of them equal, two runs are the same.
        let program = program().jvm_arg("-XX:+UnlockExperimentalVMOptions");
        let run = program.jvm_arg("-XX:hashCode=2").engine(engine).run();
        (flow_e2e::decode_trace(&run.out()), run.status, run.stdout, run.stderr)
    });
    assert_eq!(instrument.1, events.1, "{name}: {}", String::from_utf8_lossy(&instrument.3));
    assert!(instrument.2 == events.2, "{name} prints the same");
    assert!(instrument.3 == events.3, "{name}: {}", String::from_utf8_lossy(&instrument.3));
    let (instrument, events) = (instrument.0, events.0);
    let left_out = instrument.left_out(&[]);
    let seen_by_events: HashSet<&str> = events.keys.values().map(String::as_str).collect();
    let found =
        visible(&instrument, |key| !key.ends_with("#<clinit>()V") || seen_by_events.contains(key));
    let expected = visible(&events, |key| {
        let (class, method) = key.split_once('#').unwrap();
        !left_out.names(class, method)
    });
    let found = all_calls(&instrument, &found);
    let expected = all_calls(&events, &expected);
    let calls = expected.values().flatten().map(Vec::len).sum();
    let names = |calls: &Calls<'_>| -> Vec<(String, usize)> {
        calls.iter().map(|(name, threads)| ((*name).to_owned(), threads.len())).collect()
    };
    assert_eq!(names(&found), names(&expected), "{name}: the same threads");
    for (thread, expected) in &expected {
        for (found, expected) in found[thread].iter().zip(expected) {
            let first =
                found.iter().zip(expected).position(|(found, expected)| !is_same(found, expected));
            let at = first.unwrap_or(found.len().min(expected.len()));
            assert!(
                found.len() == expected.len() && first.is_none(),
                "{name}, thread {thread}: call {at} of {}\n found {:#?}\n expected {:#?}",
                expected.len(),
                around(found, at),
                around(expected, at),
            );
        }
    }
    drop((found, expected));
    (calls, [instrument, events])
}

/// The arguments with which a program is short and worth comparing.
fn harness_program(jdk: &Jdk, name: &str) -> Program {
    let program = Program::harness(jdk, name).stdin(b"some input\n");
    match name {
        "ManyMethods" => program.args(["300"]),
        // Each class loader is asked once for the probe class.
        "Inlined" | "Redeployed" => program.options("exclude=harness.*$Loader"),
        "Results" => program.jvm_arg("-Xmx32m"),
        // The id of its next thread depends on those that a busy JVM has started meanwhile.
        "Seen" => program.args(["no-id"]),
        _ => program,
    }
}

#[test]
fn every_program_of_the_harness_gives_the_same_calls() {
    let mut programs: Vec<String> = fs::read_dir(harness().join("src/main/java/harness"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| fs::read_to_string(path).unwrap().contains("public static void main("))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !DIFFERENT_EACH_TIME.contains(&name.as_str()))
        .collect();
    programs.sort();
    assert!(programs.len() >= 25, "{programs:?}");
    on_every_jdk(|jdk| {
        for name in &programs {
            let compared = compare(name, || harness_program(jdk, name));
            assert!(compared >= 1, "{name}");
        }
    });
}

#[test]
fn javac_gives_the_same_calls() {
    on_every_jdk(|jdk| {
        if !jdk.has_module("jdk.compiler") {
            println!("this JDK has no compiler to record");
            return;
        }
        let sources = ["Hello", "Shapes", "Initialisers"]
            .map(|name| harness().join(format!("src/main/java/harness/{name}.java")));
        // The same paths in both runs, because the compiler iterates over hash tables of them. Even so, two
        // runs with the same engine may differ: one of three attempts must succeed.
        let class_path = harness().join("target/classes");
        let once = || {
            let classes = tempfile::tempdir().unwrap();
            compare("javac", || {
                Program::new(jdk, ["-m", "jdk.compiler/com.sun.tools.javac.Main"])
                    .args(["-proc:none", "-d"])
                    .args([classes.path(), Path::new("-cp"), &class_path])
                    .args(&sources)
                    .options("include=com.sun.tools.javac.**")
            })
        };
        let again = |_| catch_unwind(AssertUnwindSafe(once)).ok();
        let compared = (0..2).find_map(again).unwrap_or_else(once);
        assert!(compared > 500_000, "{compared}");
    });
}

/// Each class loader is asked once for the probe class.
const WITHOUT_LOADER: &str = "exclude=clojure.lang.DynamicClassLoader";

fn clojure(jdk: &Jdk) -> Program {
    let jars = ["clojure.jar", "spec.alpha.jar", "core.specs.alpha.jar"].map(lib);
    let class_path = std::env::join_paths(jars).unwrap();
    let script = "(println (reduce + (map inc (filter odd? (range 2000)))) (sort [3 1 2]))";
    Program::new(jdk, [OsStr::new("-cp"), &class_path]).args(["clojure.main", "-e", script])
}

#[test]
fn a_clojure_script_gives_the_same_calls() {
    on_every_jdk(|jdk| {
        let compared = compare("clojure", || clojure(jdk).options(WITHOUT_LOADER));
        assert!(compared > 1_000_000, "{compared}");
    });
}

/// Both decide by the same instructions: the JVM's own, and those of the class file.
#[test]
fn accessors_are_left_out_by_both_engines() {
    on_every_jdk(|jdk| {
        let (compared, [instrument, events]) = compare_traces("clojure", || {
            clojure(jdk).options(&format!("skip=accessors,{WITHOUT_LOADER}"))
        });
        assert!(compared > 100_000, "{compared}");
        let [left_out, met] =
            [&instrument, &events].map(|trace| trace.left_out(&["accessor"]).keys().clone());
        assert!(met.len() > 100, "{met:?}");
        // The events tell of methods that ran; all of a class are rewritten.
        assert!(met.is_subset(&left_out), "{:?}", met.difference(&left_out).collect::<Vec<_>>());
        let recorded: HashSet<&String> = events.keys.values().collect();
        let accessors: Vec<_> = left_out.iter().filter(|key| recorded.contains(key)).collect();
        assert!(accessors.is_empty(), "{accessors:?}");
    });
}

/// A class file with a `main` that only returns, and this many constants of an unknown kind.
fn class_file(name: &str, version: [u8; 4], unknown: u16) -> Vec<u8> {
    let utf8 = |text: &str| {
        [&[1], &u16::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat()
    };
    let class = |index: u8| vec![7, 0, index];
    let mut pool = vec![utf8(name), class(1), utf8("java/lang/Object"), class(3)];
    pool.extend([utf8("Code"), utf8("main"), utf8("([Ljava/lang/String;)V")]);
    pool.extend((0..unknown).map(|_| vec![99, 0, 0]));
    let code = [0, 1, 0, 1, 0, 0, 0, 1, 0xB1, 0, 0, 0, 0];
    [
        &[0xCA, 0xFE, 0xBA, 0xBE][..],
        &version,
        &u16::try_from(pool.len() + 1).unwrap().to_be_bytes(),
        &pool.concat(),
        &[0, 0x21, 0, 2, 0, 4, 0, 0, 0, 0, 0, 1],
        &[0, 9, 0, 6, 0, 7, 0, 1, 0, 5, 0, 0, 0, 13],
        &code,
        &[0, 0],
    ]
    .concat()
}

#[test]
fn a_class_of_the_first_version_is_recorded() {
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        // JDK 11 expects another `Code` attribute before 45.3.
        let minor = if jdk.version > 11 { 0 } else { 3 };
        fs::write(dir.path().join("Old.class"), class_file("Old", [0, minor, 0, 45], 0)).unwrap();
        let finished =
            Program::new(jdk, [OsStr::new("-cp"), dir.path().as_os_str(), OsStr::new("Old")]).run();
        assert_eq!(finished.code(), Some(0), "{}", finished.errors());
        assert_eq!(finished.errors(), "");
        assert_eq!(finished.trace().enters_by_key()["Old#main([Ljava/lang/String;)V"], 1);
    });
}

#[test]
fn a_class_that_is_not_understood_is_named_and_warned_of() {
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("New.class"), class_file("New", [0, 0, 0, 52], 1)).unwrap();
        let finished =
            Program::new(jdk, [OsStr::new("-cp"), dir.path().as_os_str(), OsStr::new("New")]).run();
        // No JVM understands it either.
        assert_eq!(finished.code(), Some(1));
        let warning = "[flowagent] warn: class New is not recorded: a constant of unknown kind 99; \
                       trace.json names all such classes (unknown-class-file)";
        assert_eq!(finished.our_lines(), [warning]);
        let trace = flow_e2e::decode_trace(&finished.out());
        assert!(trace.left_out(&["unknown-class-file"]).names("New", "main"));
    });
}
