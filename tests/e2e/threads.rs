//! Many threads, and virtual ones.

use std::fs;
use std::process::Command;

use flow_e2e::{Decoded, Engine, Program, check, decode_trace, flow, golden, jdks};

use crate::{on_every_engine, on_every_jdk};

#[test]
fn virtual_threads_have_trees_of_their_own_across_parks() {
    on_every_engine(|jdk, engine| {
        if jdk.version < 21 {
            return;
        }
        let expected = golden("VirtualThreads");
        let trace =
            Program::harness(jdk, "VirtualThreads").engine(engine).args(["5000"]).run().trace();
        let virtual_threads: Vec<_> =
            trace.threads.values().filter(|thread| thread.is_virtual).collect();
        assert_eq!(virtual_threads.len(), 5000);
        for thread in virtual_threads {
            let lines = trace.tree(thread).of_harness().lines();
            assert_eq!(lines, expected.threads["virtual-0"], "thread {}", thread.id);
            assert!(thread.ended, "thread {} has ended", thread.id);
        }
        assert_eq!(trace.thread("virtual-0").events, trace.thread("virtual-10").events);
    });
}

#[test]
fn carriers_stay_balanced_when_the_jdk_itself_is_recorded() {
    on_every_engine(|jdk, engine| {
        if jdk.version < 21 {
            return;
        }
        let trace = Program::harness(jdk, "VirtualThreads")
            .engine(engine)
            .args(["200"])
            .options("include=java.lang.**;java.util.concurrent.**;harness.**")
            .run()
            .trace();
        for thread in trace.threads.values().filter(|thread| thread.is_virtual) {
            let (enters, exits) = Decoded::balance(thread);
            assert!(enters >= exits, "thread {}", thread.id);
            // This panics where an exit has no frame.
            let tree = trace.tree(thread);
            assert_eq!(tree.calls.iter().filter(|call| call.method == "body(I)I").count(), 1);
        }
        let left_out = trace.manifest["end"]["not_recorded"].as_array().unwrap();
        assert!(left_out.iter().any(|entry| entry["reason"] == "switches-thread"));
    });
}

#[test]
fn threads_that_meet_new_methods_at_once_agree_on_ids() {
    on_every_engine(|jdk, engine| {
        let trace = Program::harness(jdk, "Concurrent").engine(engine).run().trace();
        let enters = trace.enters_by_key();
        for method in 0..200 {
            let suffix = format!("#m{method}(");
            let calls: u64 = enters
                .iter()
                .filter(|(key, _)| key.contains(&suffix))
                .map(|(_, calls)| calls)
                .sum();
            assert_eq!(calls, 160, "m{method}");
        }
        let mut keys: Vec<_> = trace.keys.values().collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), trace.keys.len(), "no method has two ids");
    });
}

#[test]
fn small_chunks_change_nothing() {
    on_every_engine(|jdk, engine| {
        let run = |options: &str| {
            let trace =
                Program::harness(jdk, "Threads").engine(engine).options(options).run().trace();
            let mut trees: Vec<_> = trace
                .threads
                .values()
                .map(|thread| (thread.name.clone(), trace.tree(thread).of_harness().lines()))
                .collect();
            trees.sort();
            trees
        };
        assert_eq!(run("chunk=64"), run("chunk=1m"));
    });
}

#[test]
fn a_thread_costs_no_open_file() {
    on_every_engine(|jdk, engine| {
        if jdk.version < 21 {
            return;
        }
        let program = Program::harness(jdk, "VirtualThreads").engine(engine).args(["3000"]);
        let mut limited = Command::new("sh");
        let command = program.command();
        limited.args(["-c", "ulimit -n 128; exec \"$0\" \"$@\""]).arg(command.get_program());
        limited.args(command.get_args());
        let output = limited.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(decode_trace(&program.out()).threads.len(), 3001);
    });
}

#[test]
fn threads_that_share_a_file_survive_a_kill_and_a_repair() {
    let jdk = jdks().last().unwrap();
    let expected = golden("VirtualThreads").threads["virtual-0"].clone();
    let program = Program::harness(jdk, "VirtualThreads").args(["2000000"]).options("chunk=4k");
    let mut running = program.launch();
    let shared = program.out().join("shared.flowtrace");
    let is_large = || fs::metadata(&shared).is_ok_and(|found| found.len() > 100_000);
    assert!(running.wait_for(is_large), "it has ended by itself");
    assert!(running.kill().is_some(), "it has ended by itself");
    let own_files = || {
        let names = fs::read_dir(program.out()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".flow")).count()
    };
    let trees = || {
        let trace = decode_trace(&program.out());
        let ended = trace.threads.values().filter(|thread| thread.is_virtual && thread.ended);
        let ended: Vec<_> = ended.collect();
        assert!(ended.len() > 100, "{}", ended.len());
        for thread in &ended {
            assert_eq!(trace.tree(thread).of_harness().lines(), expected, "thread {}", thread.id);
        }
        ended.len()
    };
    assert!(own_files() <= 10, "{}", own_files());
    let before = trees();
    let repair = Command::new(flow()).args(["check", "--repair"]).arg(program.out()).output();
    let text = String::from_utf8(repair.unwrap().stdout).unwrap();
    assert!(text.contains(": sound\n"), "{text}");
    assert_eq!(trees(), before);
    assert_eq!(check(&program.out()).0, Some(0));
}

#[test]
fn after_the_first_thousand_threads_share_a_file() {
    let run = Program::harness(jdks().first().unwrap(), "Threads").args(["1100"]).run();
    let names = fs::read_dir(run.out()).unwrap().map(|entry| entry.unwrap().file_name());
    let own = names.filter(|name| name.to_string_lossy().ends_with(".flow")).count();
    assert!((900..=1000).contains(&own), "{own}: some threads of the JVM record nothing");
    let expected = &golden("Threads").threads["worker-0"];
    let trace = run.trace();
    let is_worker = |name: &str| name.starts_with("worker-");
    let workers = trace.threads.values().filter(|thread| is_worker(&thread.name));
    let workers: Vec<_> = workers.collect();
    assert_eq!(workers.len(), 1100);
    for thread in workers {
        assert_eq!(trace.tree(thread).of_harness().lines(), *expected, "{}", thread.name);
    }
}

/// If `Thread.stop` interrupts a return, the JVM reports two exits of a frame.
#[test]
fn a_frame_is_left_once_although_a_stop_interrupts_its_return() {
    on_every_jdk(|jdk| {
        // Later JDKs have no `Thread.stop`.
        if jdk.version > 19 {
            return;
        }
        let program = Program::harness(jdk, "Stopped").engine(Engine::Events);
        let run = program.args(["300"]).run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        let trace = run.trace();
        let tree = trace.tree(trace.thread("victim"));
        let late = tree.calls.iter().filter(|call| call.method.starts_with("late("));
        assert_eq!(late.map(|call| call.depth).collect::<Vec<_>>(), [2; 10]);
        assert_eq!(tree.calls.iter().filter(|call| call.depth == 0).count(), 1, "run");
    });
}

/// `Thread.stop` in a probe leaves a frame without its exit.
#[test]
fn calls_after_frames_that_left_without_an_exit_are_not_too_deep() {
    on_every_jdk(|jdk| {
        // Later JDKs have no `Thread.stop`.
        if jdk.version > 19 {
            return;
        }
        let run = Program::harness(jdk, "Stopped").args(["300"]).options("chunk=4k").run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        let method = ["--thread", "victim", "--method", "harness.Stopped#late"];
        let mut replay = Command::new(flow());
        replay.arg("replay").args(method).args(["--format", "json"]).arg(run.out());
        let calls = String::from_utf8(replay.output().unwrap().stdout).unwrap();
        let depths: Vec<u64> = calls
            .lines()
            .filter_map(|line| {
                serde_json::from_str::<serde_json::Value>(line).ok()?["depth"].as_u64()
            })
            .collect();
        assert_eq!(depths.len(), 10, "{calls}");
        // It is called by `calm`, and that by `run`.
        assert!(depths.iter().all(|depth| *depth <= 2), "{depths:?}");
        let checked = Command::new(flow()).arg("check").arg(run.out()).output().unwrap();
        let text = String::from_utf8(checked.stdout).unwrap();
        assert_eq!(checked.status.code(), Some(3), "{text}");
        assert!(text.contains("frames were left without an exit (Thread.stop, or "), "{text}");
    });
}
