//! Large programs by others, recorded completely while an independent agent counts in the same JVM.

use std::collections::BTreeMap;
use std::fs;

use flow_e2e::{Counter, Decoded, Engine, Jdk, Program, escaped, harness, lib};

use crate::torture::is_long;
use crate::{on_every_engine, on_every_jdk};

/// Runs a program with both agents and compares every count, except for what the trace names as not recorded.
fn compare(jdk: &Jdk, engine: Engine, program: Program, at_least: u64) -> Decoded {
    let counter = Counter::build(jdk);
    let run = program.engine(engine).jvm_arg(counter.jvm_arg()).run();
    assert_eq!(run.code(), Some(0), "{}", run.errors());
    let trace = flow_e2e::decode_trace(&run.out());

    let left_out = trace.left_out(&[]);
    let named = |key: &str| {
        let (class, method) = key.split_once('#').unwrap();
        left_out.names(class, method)
    };
    let expected: BTreeMap<String, u64> =
        counter.counts().into_iter().filter(|(key, enters)| *enters > 0 && !named(key)).collect();
    let mut found = BTreeMap::new();
    for (key, calls) in trace.enters_by_key() {
        *found.entry(escaped(&key)).or_insert(0) += calls;
    }
    for (key, calls) in &expected {
        assert_eq!(found.get(key), Some(calls), "{key}");
    }
    assert_eq!(found.len(), expected.len(), "nothing is recorded that was not called");
    assert!(expected.values().sum::<u64>() >= at_least);

    let totals = &trace.manifest["end"]["totals"];
    let (mut enters, mut exits) = (0, 0);
    let mut ended_inside = 0;
    for thread in trace.threads.values() {
        let (thread_enters, thread_exits) = Decoded::balance(thread);
        assert!(thread_enters >= thread_exits, "thread {}", thread.name);
        ended_inside += usize::from(thread.ended && thread_enters > thread_exits);
        enters += thread_enters;
        exits += thread_exits;
    }
    // The JVM reports the end of the thread that calls System.exit inside that call.
    assert!(ended_inside <= 1, "ended threads have left all frames");
    assert_eq!(totals["enters"], enters);
    assert_eq!(totals["exits"], exits);
    trace
}

/// Runs the body for each JDK with the engine that rewrites classes, and in the long form with the other one, too: that both
/// see the same calls of these programs is what the tests of engines prove.
fn on_every_counted(mut body: impl FnMut(&Jdk, Engine)) {
    on_every_jdk(|jdk| {
        for engine in Engine::ALL.into_iter().take(if is_long() { 2 } else { 1 }) {
            println!("with engine={}", engine.name());
            body(jdk, engine);
        }
    });
}

#[test]
fn javac_compiling_the_harness_is_counted_exactly() {
    on_every_counted(|jdk, engine| {
        if !jdk.has_module("jdk.compiler") {
            println!("this JDK has no compiler to record");
            return;
        }
        let sources: Vec<_> = fs::read_dir(harness().join("src/main/java/harness"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_stem().is_some_and(|name| name == "Hello" || name == "Shapes"))
            .collect();
        let program = Program::new(jdk, ["-m", "jdk.compiler/com.sun.tools.javac.Main"])
            .args(["-proc:none", "-d", "classes"])
            .args(sources);
        let trace = compare(jdk, engine, program, 500_000);
        let main = trace.tree(trace.thread("main"));
        assert_eq!(main.calls[0].class, "com.sun.tools.javac.Main");
    });
}

#[test]
fn a_clojure_script_is_counted_exactly() {
    on_every_counted(|jdk, engine| {
        let jars = ["clojure.jar", "spec.alpha.jar", "core.specs.alpha.jar"].map(lib);
        let class_path = std::env::join_paths(jars).unwrap();
        let script =
            "(println (reduce + (map inc (filter odd? (range 2000)))) (sort (shuffle (range 50))))";
        let program = Program::new(jdk, [std::ffi::OsStr::new("-cp"), &class_path]).args([
            "clojure.main",
            "-e",
            script,
        ]);
        compare(jdk, engine, program, 2_000_000);
    });
}

#[test]
fn junit_tests_are_counted_exactly() {
    on_every_engine(|jdk, engine| {
        let jar = lib("junit-platform-console-standalone.jar");
        let class_path = std::env::join_paths(
            ["classes", "test-classes"].map(|dir| harness().join("target").join(dir)),
        )
        .unwrap();
        let program = Program::new(jdk, [std::ffi::OsStr::new("-jar"), jar.as_os_str()])
            .args(["execute", "--disable-banner", "--select-class", "harness.CalculatorTest"])
            .args(["--select-class", "harness.CalculatorFailureTest", "--class-path"])
            .args([class_path]);
        let trace = compare(jdk, engine, program, 100_000);
        let enters = trace.enters_by_key();
        let calls = |method: &str| -> u64 {
            let suffix = format!("Calculator#{method}(");
            enters.iter().filter(|(key, _)| key.contains(&suffix)).map(|(_, calls)| calls).sum()
        };
        assert_eq!((calls("add"), calls("check")), (19, 6));
    });
}

#[test]
fn programs_of_the_harness_are_counted_exactly() {
    on_every_engine(|jdk, engine| {
        for name in ["Exceptions", "HostileNames", "Reflection", "Shapes", "Threads", "Unloading"] {
            compare(jdk, engine, Program::harness(jdk, name), 10);
        }
        if jdk.version >= 21 {
            compare(jdk, engine, Program::harness(jdk, "VirtualThreads").args(["2000"]), 14_000);
        }
    });
}
