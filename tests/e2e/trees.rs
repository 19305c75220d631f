//! Recorded trees, compared with expected ones.

use std::collections::{BTreeMap, HashMap};

use flow_e2e::{Decoded, Engine, Event, Golden, Program, encode, escaped, golden};

use crate::{on_every_engine, on_every_jdk, shown};

/// The programs whose whole tree is known; `VirtualThreads` has tests of its own.
const PROGRAMS: [&str; 22] = [
    "Assembled",
    "Constructors",
    "Deep",
    "Exceptions",
    "Exit",
    "Halt",
    "Hello",
    "Hooked",
    "HostileNames",
    "Initialisers",
    "Leaves",
    "Names",
    "Natives",
    "Output",
    "Recursion",
    "Reflection",
    "Shapes",
    "SuperThrows",
    "Switches",
    "Synchronised",
    "Threads",
    "Uncaught",
];

/// Lines of each thread by name, without the threads that ran nothing of the harness.
pub(crate) fn recorded(trace: &Decoded) -> BTreeMap<String, Vec<String>> {
    trace
        .threads
        .values()
        .map(|thread| (escaped(&thread.name), trace.tree(thread).of_harness().lines()))
        .filter(|(_, lines)| !lines.is_empty())
        .collect()
}

/// A program with the arguments and options of its golden file.
pub(crate) fn program(program: Program, engine: Engine, golden: &Golden) -> Program {
    let program = program.engine(engine).args(&golden.args);
    match &golden.options {
        Some(options) => program.options(options),
        None => program,
    }
}

#[test]
fn every_program_has_its_expected_tree() {
    on_every_engine(|jdk, engine| {
        for name in PROGRAMS {
            let expected = golden(name);
            let run = program(Program::harness(jdk, name), engine, &expected).run();
            assert_eq!(run.code(), Some(expected.exit_code), "{name}: {}", run.errors());
            let trace = flow_e2e::decode_trace(&run.out());
            let threads = recorded(&trace);
            // A halted JVM could not name what it did not record.
            let expected = match trace.manifest["end"].is_object() {
                true => expected.without_left_out(&trace.left_out(&[])),
                false => expected,
            };
            assert_eq!(
                threads.keys().collect::<Vec<_>>(),
                expected.threads.keys().collect::<Vec<_>>()
            );
            for (thread, lines) in &expected.threads {
                assert_eq!(threads[thread], *lines, "{name}, thread {thread}");
            }
            assert_eq!(trace.manifest["end"]["lost"]["events"], 0);
        }
    });
}

/// The events of a thread of a golden file, with the ids of a trace.
fn events(lines: &[String], ids: &HashMap<String, u64>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut open: Vec<bool> = Vec::new();
    for line in lines {
        let name = line.trim_start_matches(' ');
        let depth = (line.len() - name.len()) / 2;
        while open.len() > depth {
            open.pop();
            events.push(Event::Exit);
        }
        let (name, never_ends) = name.strip_suffix(" (open)").map_or((name, false), |n| (n, true));
        events.push(Event::Enter(ids[name]));
        open.push(never_ends);
    }
    while open.pop() == Some(false) {
        events.push(Event::Exit);
    }
    events
}

#[test]
fn with_the_java_agents_filter_the_bytes_are_the_java_agents() {
    on_every_engine(|jdk, engine| {
        for name in PROGRAMS {
            let expected = golden(name);
            let run = program(Program::harness(jdk, name), engine, &expected)
                .options("target=harness.,constructors=false")
                .run();
            let trace = flow_e2e::decode_trace(&run.out());
            let expected = match trace.manifest["end"].is_object() {
                true => expected.without_left_out(&trace.left_out(&[])),
                false => expected,
            };
            let Golden { threads, .. } = expected.without_initialisers();
            let ids = trace
                .methods
                .iter()
                .map(|method| {
                    let text = |field: &str| method[field].as_str().unwrap();
                    let name = format!("{}.{}{}", text("class"), text("name"), text("descriptor"));
                    (escaped(&name), method["id"].as_u64().unwrap())
                })
                .collect();
            let mut compared = 0;
            for (thread, lines) in threads.iter().filter(|(_, lines)| !lines.is_empty()) {
                let found =
                    trace.threads.values().find(|found| escaped(&found.name) == *thread).unwrap();
                assert_eq!(found.bytes, encode(&events(lines, &ids)), "{name}, thread {thread}");
                compared += 1;
            }
            assert_eq!(compared, trace.threads.len(), "{name} has no further threads");
        }
    });
}

#[test]
fn ids_of_every_length_are_right_and_dense() {
    on_every_engine(|jdk, engine| {
        let run = Program::harness(jdk, "ManyMethods")
            .engine(engine)
            .options("target=harness.Template")
            .run();
        let trace = run.trace();
        let ids: Vec<u64> = trace.methods.iter().map(|m| m["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, (0..ids.len() as u64).collect::<Vec<_>>(), "dense, in order");
        assert!(ids.len() > 27_000);
        let enters = trace.enters_by_key();
        for class in 0..9000 {
            let key = format!("harness.Template{class:04}#m{class:04}()V");
            assert_eq!(enters.get(&key), Some(&2), "{key}");
        }
    });
}

#[test]
fn an_overflowing_stack_does_not_shift_the_tree() {
    on_every_engine(|jdk, engine| {
        let run = Program::harness(jdk, "Overflow").engine(engine).jvm_arg("-Xss512k").run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        let trace = run.trace();
        assert_not_shifted(&trace, 10, "Overflow");
        let tree = trace.tree(trace.thread("main")).of_harness();
        let deepest = tree.calls.iter().map(|call| call.depth).max().unwrap();
        assert!(deepest > 1000, "the stack did overflow: depth {deepest}");
    });
}

/// Asserts that nothing is missing from a program that calls `after` once after each overflow of the stack.
fn assert_not_shifted(trace: &Decoded, overflows: usize, what: &str) {
    let main = trace.thread("main");
    let calls = trace.tree(main).of_harness().calls;
    let after = calls.iter().filter(|call| call.method == "after(I)V");
    let depths: Vec<_> = after.map(|call| call.depth).collect();
    assert_eq!(depths, vec![1; overflows], "{what}");
    let (enters, exits) = Decoded::balance(main);
    assert_eq!(enters, exits, "{what}");
}

#[test]
fn unloaded_classes_are_never_mixed_up() {
    on_every_engine(|jdk, engine| {
        let run = Program::harness(jdk, "Unloading")
            .engine(engine)
            .args(["1500"])
            .jvm_arg("-Xlog:class+unload=info:file=unload.log")
            .run();
        let unloaded = std::fs::read_to_string(run.program.workspace().join("unload.log")).unwrap();
        assert!(unloaded.matches("harness.Template").count() > 100, "classes were unloaded");
        let trace = run.trace();
        let enters = trace.enters_by_key();
        let mut once = 0;
        for (key, calls) in enters.iter().filter(|(key, _)| key.starts_with("harness.Template0")) {
            let class = &key["harness.Template".len()..][..4];
            if key.contains("#m") {
                assert_eq!(key, &format!("harness.Template{class}#m{class}()V"));
                once += usize::from(*calls == 1);
            }
        }
        assert!(once >= 999, "{once}");
        // One class name in several loaders: one id, a line for each in methods.jsonl.
        let mut lines: HashMap<u64, usize> = HashMap::new();
        for method in &trace.methods {
            *lines.entry(method["id"].as_u64().unwrap()).or_default() += 1;
        }
        assert!(lines.values().any(|lines| *lines >= 2), "the loaders are distinguished");
    });
}

#[test]
fn overflows_in_constructors_and_handlers_do_not_shift_the_tree() {
    on_every_engine(|jdk, engine| {
        for mode in ["-Xint", "-XX:+TieredCompilation"] {
            let run = Program::harness(jdk, "Overflowing")
                .engine(engine)
                .jvm_arg(mode)
                .jvm_arg("-Xss512k")
                .run();
            assert_eq!(run.stdout, b"overflows 24\n", "{mode}: {}", run.errors());
            assert_not_shifted(&run.trace(), 24, mode);
        }
    });
}

#[test]
fn the_terminal_shows_the_calls_of_a_trace() {
    on_every_jdk(|jdk| {
        for options in ["", "values=harness.Valued#main"] {
            let run = Program::harness(jdk, "Valued").options(options).run();
            let trace = run.trace();
            let calls: usize =
                trace.threads.values().map(|thread| Decoded::balance(thread).0).sum();
            let screen = shown(&["view", "--once", "--width", "200"], &run.out());
            let first = screen.lines().next().unwrap();
            assert!(first.ends_with(&format!(" main, {calls} calls")), "{screen}");
            let of_main = screen.lines().find(|line| line.contains("harness.Valued.main("));
            assert!(of_main.is_some_and(|line| line.contains('▸')), "{screen}");
        }
    });
}
