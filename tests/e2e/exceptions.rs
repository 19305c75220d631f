//! The classes of exceptions that end calls.

use std::collections::BTreeMap;
use std::process::Command;

use flow_e2e::{Engine, Program, flow};

use crate::on_every_engine;

/// What is thrown, passed and caught where, as the source of `harness.Exceptions` says. `wrap` throws another exception of
/// the class that it catches, which counts as passed; the JVM itself wraps what a static initialiser throws.
#[test]
fn the_classes_of_exceptions_are_known_and_where_they_were_caught() {
    let failure = "harness.Exceptions$Failure";
    let expected: BTreeMap<(&str, &str), [u64; 3]> = [
        ((failure, "third"), [2, 0, 0]),
        ((failure, "second"), [0, 1, 0]),
        ((failure, "first"), [0, 1, 0]),
        ((failure, "throughFrames"), [0, 0, 1]),
        ((failure, "innerFinally"), [1, 0, 0]),
        ((failure, "outerFinally"), [0, 1, 0]),
        ((failure, "finallyBlocks"), [0, 0, 1]),
        ((failure, "wrap"), [0, 1, 0]),
        ((failure, "wrapped"), [0, 0, 1]),
        ((failure, "oddFails"), [2, 0, 0]),
        ((failure, "inLoop"), [0, 0, 2]),
        ((failure, "fail"), [1, 0, 0]),
        ((failure, "<clinit>"), [0, 1, 0]),
        ((failure, "touch"), [0, 0, 1]),
        (("java.lang.ExceptionInInitializerError", "touch"), [1, 0, 0]),
        (("java.lang.NoClassDefFoundError", "touch"), [1, 0, 0]),
        (("java.lang.ExceptionInInitializerError", "staticInitializer"), [0, 0, 1]),
        (("java.lang.NoClassDefFoundError", "staticInitializer"), [0, 0, 1]),
        // The constructor of the base class; those of the derived one are passed: one by it, two by their arguments.
        ((failure, "<init>"), [1, 3, 0]),
        ((failure, "outOfSuper"), [0, 0, 1]),
        ((failure, "argument"), [2, 0, 0]),
        ((failure, "inConstructorArguments"), [0, 0, 2]),
        ((failure, "locked"), [2, 0, 0]),
        ((failure, "inSynchronized"), [0, 0, 2]),
    ]
    .into();
    on_every_engine(|jdk, engine| {
        for options in ["clock=tick,chunk=64", "clock=exact", "clock=off"] {
            let program = Program::harness(jdk, "Exceptions").engine(engine).options(options);
            let run = program.run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
            let report = ["report", "--exceptions", "--include", "harness.**", "--format", "json"];
            let output = Command::new(flow()).args(report).arg(run.out()).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let rows: Vec<serde_json::Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let mut found: BTreeMap<(&str, &str), [u64; 3]> = BTreeMap::new();
            for row in &rows {
                let key = (row["exception"].as_str().unwrap(), row["name"].as_str().unwrap());
                for (index, column) in ["thrown", "passed", "caught"].into_iter().enumerate() {
                    found.entry(key).or_default()[index] += row[column].as_u64().unwrap();
                }
            }
            assert_eq!(found, expected, "{options}");
        }
    });
}

/// The JVM identifies classes by their addresses, and uses those of unloaded ones again.
#[test]
fn an_exception_is_not_taken_for_one_of_an_unloaded_class() {
    on_every_engine(|jdk, engine| {
        // Where probes find the class, if anywhere.
        let mut layouts = vec!["-Xshare:auto", "-XX:-UseCompressedClassPointers"];
        if jdk.version >= 25 {
            layouts.push("-XX:+UseCompactObjectHeaders");
        }
        if engine == Engine::Events {
            layouts.truncate(1);
        }
        for layout in layouts {
            println!("{layout}");
            let count = 400;
            let program = Program::harness(jdk, "Thrown").args([count.to_string()]);
            // Of options that are obsolete the JVM would complain.
            let program = program.jvm_arg("-XX:-PrintWarnings").jvm_arg(layout).engine(engine);
            let run = program.options("include=harness.Thrown#thrower;harness.Thrown#passer").run();
            assert_eq!(run.code(), Some(0), "{}", run.errors());
            let trace = run.trace();
            let main = trace.thread("main");
            let mut events: Vec<_> = main.thrown().into_iter().collect();
            events.sort_unstable();
            let classes = events.into_iter().map(|(_, class)| trace.keys[&class.unwrap()].as_str());
            let expected = (0..count).flat_map(|number| {
                std::iter::repeat_n(format!("harness.Thrown$Oops{number:04}#<class>"), 6)
            });
            assert!(classes.eq(expected));
        }
    });
}
