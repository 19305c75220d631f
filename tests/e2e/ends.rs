//! The ways a JVM can end.

use std::process::Command;

use flow_e2e::{Decoded, Event, Program, decode_trace, flow};

use crate::on_every_engine;

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
