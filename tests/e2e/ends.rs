//! The ways a JVM can end.

use std::path::Path;
use std::process::Command;

use flow_e2e::{Decoded, Event, Program, decode_trace, flow};

use crate::{on_every_engine, on_every_jdk};

#[test]
fn daemons_that_still_run_do_not_hold_up_the_end() {
    on_every_engine(|jdk, engine| {
        for _ in 0..5 {
            let run = Program::harness(jdk, "Daemons").engine(engine).run();
            assert_eq!(run.code(), Some(0), "{}", run.errors());
            let trace = run.trace();
            assert!(trace.manifest["end"].is_object());
            let daemons: Vec<_> = trace
                .threads
                .values()
                .filter(|thread| {
                    let (enters, exits) = Decoded::balance(thread);
                    enters > exits
                })
                .collect();
            assert_eq!(daemons.len(), 3, "each is cut off inside its loop");
            for daemon in daemons {
                assert!(!daemon.ended);
                let spins = trace
                    .tree(daemon)
                    .calls
                    .iter()
                    .filter(|c| c.method.starts_with("spin("))
                    .count();
                assert!(spins >= 1000, "what it did before main saw it is there: {spins}");
            }
        }
    });
}

#[test]
fn a_killed_jvm_leaves_a_readable_prefix() {
    on_every_engine(|jdk, engine| {
        let program = Program::harness(jdk, "Kill").engine(engine).options("chunk=64");
        let mut running = program.start();
        let last = running.lines().map_while(Result::ok).take(500).last().unwrap();
        assert!(running.kill().is_some());
        assert_eq!(last, "499", "the program prints n when tick(n) is complete");

        let trace = decode_trace(&program.out());
        assert!(trace.manifest["end"].is_null(), "no clean end");
        let main = trace.thread("main");
        let ticks = trace.tree(main).calls.iter().filter(|c| c.method.starts_with("tick(")).count();
        // With chunks of 64 bytes, at most this many of the last events are missing.
        assert!(ticks > 400, "{ticks}");
        let check = Command::new(flow()).arg("check").arg(program.out()).output().unwrap();
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
        let text = String::from_utf8(check.stdout).unwrap();
        assert!(text.contains("killed"), "{text}");
    });
}

#[test]
fn results_of_methods_do_not_stay_reachable() {
    on_every_engine(|jdk, engine| {
        let run = Program::harness(jdk, "Results").engine(engine).jvm_arg("-Xmx32m").run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        assert_eq!(run.trace().enters_by_key()["harness.Results#make(I)[B"], 100_000);
    });
}

#[test]
fn an_exhausted_heap_stops_neither_program_nor_recording() {
    on_every_engine(|jdk, engine| {
        let run = Program::harness(jdk, "OutOfMemory").engine(engine).jvm_arg("-Xmx32m").run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        let trace = run.trace();
        let main = trace.thread("main");
        assert_eq!(
            main.events.iter().filter(|event| **event != Event::Exit).count(),
            main.events.len() / 2
        );
    });
}

/// What each thread that is alive waits for, and its last three calls.
fn last_calls(trace: &Path) -> String {
    let output = Command::new(flow()).args(["replay", "--last", "3"]).arg(trace).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap() + &errors
}

/// The text about a thread, up to its end.
fn of_thread<'a>(text: &'a str, name: &str) -> &'a str {
    let from = text.find(&format!(" {name}\n")).unwrap_or_else(|| panic!("{name} in {text}"));
    text[from..].split("\n\n").next().unwrap()
}

#[test]
fn a_program_that_hangs_shows_what_its_threads_wait_for() {
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Deadlocked").options("target=harness.");
        let out = program.workspace().join("app.flowtrace");
        let program = program.record_into(out);
        let running = program.launch();
        let snapshot = program.workspace().join("now.flowtrace");
        let is_dead = || {
            // It may be taken too early.
            let _ = std::fs::remove_file(&snapshot);
            let pid = running.id().to_string();
            let taken = Command::new(flow()).args(["snapshot", &pid]).arg(&snapshot).output();
            taken.unwrap().status.success() && {
                let text = last_calls(&snapshot);
                text.contains("deadlock at ") && text.contains("\nsleeps, at ")
            }
        };
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
        while !is_dead() {
            assert!(std::time::Instant::now() < deadline, "no deadlock");
        }
        let text = last_calls(&snapshot);
        let first = of_thread(&text, "first");
        for expected in [
            "\nwaits to enter the monitor of java.lang.Object <0x",
            " second holds, at harness.Deadlocked.both(Deadlocked.java:",
            "\n  harness.Deadlocked.both(Object, Object)  call 1",
            "\n    harness.Deadlocked.await()\n",
        ] {
            assert!(first.contains(expected), "{expected} in {text}");
        }
        let sleeper = of_thread(&text, "sleeper");
        assert!(sleeper.contains("harness.Deadlocked.sleeps()  call 0"), "{text}");
        assert!(sleeper.contains("\n3 last calls of 1,00"), "{text}");
        // Killed from outside, it leaves the same calls, and nobody knows what it waited for.
        assert!(running.kill().is_some());
        let killed = last_calls(&program.out());
        assert!(killed.contains("flow: what threads waited for was not recorded"), "{killed}");
        let calls = |text: &str| {
            let lines = of_thread(text, "first").lines();
            lines.skip_while(|line| !line.contains(" last calls of ")).map(str::to_owned).collect()
        };
        let (before, after): (Vec<_>, Vec<_>) = (calls(&text), calls(&killed));
        assert!(before.len() > 4, "{text}");
        assert_eq!(before, after);
    });
}
