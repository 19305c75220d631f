//! The program behaves as without the agent.

use flow_e2e::{Finished, Program, golden};

use crate::{on_every_engine, on_every_jdk};

#[test]
fn output_input_and_exit_code_are_the_programs_own() {
    on_every_engine(|jdk, engine| {
        for name in ["Output", "Exceptions", "Names", "Exit", "Uncaught", "Reflection"] {
            let program = || Program::harness(jdk, name).engine(engine).stdin(b"some input\n");
            let plain = program().run_without_agent();
            let recorded = program().run();
            assert_eq!(recorded.code(), plain.code(), "{name}");
            assert_eq!(recorded.code(), Some(golden(name).exit_code));
            assert_eq!(recorded.stdout, plain.stdout, "{name}");
            assert_eq!(recorded.errors(), String::from_utf8_lossy(&plain.stderr), "{name}");
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
    on_every_engine(|jdk, engine| {
        let program = || {
            let program = Program::harness(jdk, "Threads").args(["40"]).jvm_arg("-Xcheck:jni");
            program.engine(engine).options("include=harness.**;java.util.**")
        };
        let plain = program().run_without_agent();
        let run = program().run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        assert_eq!(String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&plain.stdout));
        assert_eq!(run.errors(), String::from_utf8_lossy(&plain.stderr));
    });
}

#[test]
fn the_jvms_own_checks_find_nothing() {
    on_every_engine(|jdk, engine| {
        for axis in AXES {
            for (name, args) in [("Threads", Some("40")), ("SuperThrows", None), ("Leaves", None)] {
                let unlocked = "-XX:+UnlockDiagnosticVMOptions";
                // ZGC warns if the memory of the machine is too large for it.
                // On JDK 11 ZGC is experimental.
                let experimental = "-XX:+UnlockExperimentalVMOptions";
                let options = [unlocked, experimental, axis, "-Xmx512m"];
                let program = || {
                    let program = Program::harness(jdk, name).args(args);
                    options.iter().fold(program, |program, option| program.jvm_arg(option))
                };
                let plain = program().run_without_agent();
                let run = program().engine(engine).run();
                assert_eq!(run.code(), Some(0), "{axis} {name}: {}", run.errors());
                assert_eq!(run.stdout, plain.stdout, "{axis} {name}");
                assert_eq!(run.errors(), String::from_utf8_lossy(&plain.stderr), "{axis} {name}");
                let files = std::fs::read_dir(run.program.workspace()).unwrap();
                let names = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
                assert!(!names.into_iter().any(|name| name.starts_with("hs_err")), "{axis} {name}");
                if name == "SuperThrows" {
                    let trace = run.trace();
                    let tree = trace.tree(trace.thread("main")).of_harness().lines();
                    assert_eq!(tree, golden(name).threads["main"], "{axis}");
                }
            }
        }
    });
}
