//! The program behaves as without the agent.

use flow_e2e::{Engine, Finished, Program, golden};

use crate::torture::is_long;
use crate::{on_every_engine, on_every_jdk};

#[test]
fn output_input_and_exit_code_are_the_programs_own() {
    on_every_jdk(|jdk| {
        for name in ["Output", "Exceptions", "Names", "Exit", "Uncaught", "Reflection"] {
            let program = || Program::harness(jdk, name).stdin(b"some input\n");
            let plain = program().run_without_agent();
            for engine in Engine::ALL {
                let recorded = program().engine(engine).run();
                let run = format!("{name} with engine={}", engine.name());
                assert_eq!(recorded.code(), plain.code(), "{run}");
                assert_eq!(recorded.code(), Some(golden(name).exit_code), "{run}");
                assert_eq!(recorded.stdout, plain.stdout, "{run}");
                assert_eq!(recorded.errors(), String::from_utf8_lossy(&plain.stderr), "{run}");
            }
        }
    });
}

/// How often the program is run alone: on JDK 11 of a busy machine it does not print the same each time.
const RUNS_ALONE: usize = 12;

/// Checks that `harness.Seen` prints with the agent what it prints alone.
fn is_seen(program: impl Fn() -> Program, options: &str) {
    let text = |run: Finished| {
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        String::from_utf8(run.stdout).unwrap()
    };
    let recorded = text(program().run());
    let mut alone = (0..RUNS_ALONE).map(|_| text(program().run_without_agent())).peekable();
    let first = alone.peek().cloned().unwrap();
    assert!(alone.any(|alone| alone == recorded), "{options}: {recorded}\nalone: {first}");
}

#[test]
fn hashes_groups_and_ids_are_those_of_the_program_alone() {
    on_every_engine(|jdk, engine| {
        for options in ["", "include=no.such.Class"] {
            is_seen(|| Program::harness(jdk, "Seen").engine(engine).options(options), options);
        }
    });
}

/// Samples need a thread of the agent in the JVM, which has an id.
#[test]
fn samples_change_no_hashes_and_no_groups() {
    on_every_jdk(|jdk| {
        for clock in ["cpu", "wall"] {
            let options = format!("engine=none,sample=10ms,sample-clock={clock}");
            is_seen(|| Program::harness(jdk, "Seen").args(["no-id"]).options(&options), &options);
        }
    });
}

#[test]
fn the_programs_log_settings_are_not_ours() {
    on_every_engine(|jdk, engine| {
        let run = Program::harness(jdk, "Hello").engine(engine).env("RUST_LOG", "trace").run();
        assert_eq!(run.stdout, b"hello\n");
        assert_eq!(run.errors(), "");
    });
}

#[test]
fn messages_go_to_stderr_only() {
    on_every_engine(|jdk, engine| {
        let run = Program::harness(jdk, "Hello").engine(engine).options("log=debug").run();
        assert_eq!(run.stdout, b"hello\n");
        let errors = run.errors();
        assert!(errors.contains("[flowagent] info: recording into "), "{errors}");
        assert!(errors.lines().all(|line| line.starts_with("[flowagent] ")), "{errors}");
    });
}

/// Ways in which the JVM runs a program, and ways in which it checks it.
const AXES: [&str; 10] = [
    "-Xcheck:jni",
    "-Xint",
    "-Xcomp",
    "-XX:TieredStopAtLevel=1",
    "-XX:-BytecodeVerificationLocal",
    "-XX:+BytecodeVerificationLocal",
    "-XX:+UseSerialGC",
    "-XX:+UseG1GC",
    "-XX:+UseParallelGC",
    "-XX:+UseZGC",
];

#[test]
fn the_jvm_finds_no_misuse_of_jni_where_its_own_classes_are_recorded() {
    on_every_jdk(|jdk| {
        let program = || Program::harness(jdk, "Threads").args(["40"]).jvm_arg("-Xcheck:jni");
        let plain = program().run_without_agent();
        for engine in Engine::ALL {
            let options = "include=harness.**;java.util.**";
            let run = program().engine(engine).options(options).run();
            let engine = engine.name();
            assert_eq!(run.code(), Some(0), "engine={engine}: {}", run.errors());
            let [output, expected] =
                [&run.stdout, &plain.stdout].map(|text| String::from_utf8_lossy(text));
            assert_eq!(output, expected, "engine={engine}");
            assert_eq!(run.errors(), String::from_utf8_lossy(&plain.stderr), "engine={engine}");
        }
    });
}

#[test]
fn the_jvms_own_checks_find_nothing() {
    on_every_jdk(|jdk| {
        let programs = [("Threads", Some("40")), ("SuperThrows", None), ("Leaves", None)];
        for (number, axis) in AXES.into_iter().enumerate() {
            // In the short form one program with each option; which one depends on the JDK.
            let turn = number + usize::try_from(jdk.version).unwrap();
            let (first, count) = if is_long() { (0, 3) } else { (turn % 3, 1) };
            for (name, args) in programs.into_iter().skip(first).take(count) {
                // ZGC warns if the memory of the machine is too large for it, and is experimental on JDK 11.
                let unlocked = "-XX:+UnlockDiagnosticVMOptions";
                let experimental = "-XX:+UnlockExperimentalVMOptions";
                let options = [unlocked, experimental, axis, "-Xmx512m"];
                let program = || {
                    let program = Program::harness(jdk, name).args(args);
                    options.iter().fold(program, |program, option| program.jvm_arg(option))
                };
                let plain = program().run_without_agent();
                for engine in Engine::ALL {
                    let run = program().engine(engine).run();
                    let place = format!("{axis} {name} with engine={}", engine.name());
                    check_run(&run, &plain, &place);
                    if name == "SuperThrows" {
                        let trace = run.trace();
                        let tree = trace.tree(trace.thread("main")).of_harness().lines();
                        assert_eq!(tree, golden(name).threads["main"], "{place}");
                    }
                }
            }
        }
    });
}

/// A program printed what it prints without the agent, and the JVM did not crash.
fn check_run(run: &Finished, plain: &Finished, place: &str) {
    assert_eq!(run.code(), Some(0), "{place}: {}", run.errors());
    assert_eq!(run.stdout, plain.stdout, "{place}");
    assert_eq!(run.errors(), String::from_utf8_lossy(&plain.stderr), "{place}");
    let files = std::fs::read_dir(run.program.workspace()).unwrap();
    let names = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.into_iter().any(|name| name.starts_with("hs_err")), "{place}");
}
