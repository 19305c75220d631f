//! Recordings into one file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flow_e2e::{
    Decoded, Program, Reach, Rounds, Way, assert_verbs_agree, check, decode_trace, flow, golden,
    jdks,
};

use crate::{on_every_engine, on_every_jdk};

/// Records into one file.
fn in_one_file(program: Program) -> Program {
    let out = program.workspace().join("app.flowtrace");
    program.record_into(out)
}

/// The names of the files in a directory that begin like this, sorted.
fn names(dir: &Path, prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    names
}

fn events(trace: &Decoded) -> Vec<(String, Vec<u8>)> {
    let threads = trace.threads.values().filter(|thread| !thread.events.is_empty());
    threads.map(|thread| (thread.name.clone(), thread.bytes.clone())).collect()
}

#[test]
fn a_file_has_byte_for_byte_what_a_directory_has() {
    on_every_engine(|jdk, engine| {
        let run = |in_file: bool, options: &str| {
            let program = Program::harness(jdk, "Recursion").engine(engine).options(options);
            let run = if in_file { in_one_file(program) } else { program }.run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
            if in_file {
                let dir = run.out().parent().unwrap().to_path_buf();
                assert_eq!(names(&dir, "app"), ["app.flowtrace"], "{options}");
            }
            let trace = run.trace();
            assert_verbs_agree(&run.out(), &trace);
            events(&trace)
        };
        let expected = run(false, "chunk=64");
        for options in ["", "chunk=64", "compress=off", "compress=lz4", "overload=drop"] {
            assert_eq!(run(true, options), expected, "{options}");
        }
    });
}

#[test]
fn large_threads_are_compressed_and_exact() {
    on_every_engine(|jdk, engine| {
        let rounds = Rounds::joined(5, 4000, Way::Return);
        let program = in_one_file(rounds.program(jdk)).engine(engine).options("chunk=4k");
        let run = program.run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        let trace = run.trace();
        rounds.assert_followed(&trace, |_| Reach::Whole(4000));
        let stored: usize = trace.threads.values().map(|thread| thread.bytes.len()).sum();
        let file = fs::metadata(run.out()).unwrap().len();
        assert!(file * 2 < stored as u64, "{file} bytes for {stored}");
        assert_verbs_agree(&run.out(), &trace);
    });
}

#[test]
fn a_killed_jvm_leaves_all_in_the_file_and_the_journal() {
    on_every_engine(|jdk, engine| {
        let rounds = Rounds::endless(29);
        let program = in_one_file(rounds.program(jdk)).engine(engine).options("chunk=4k");
        let mut running = program.launch();
        let reached = || rounds.acknowledged(&program).iter().sum::<u64>() >= 2000;
        assert!(running.wait_for(reached), "it has ended by itself");
        assert!(running.kill().is_some(), "it has ended by itself");
        let acknowledged = rounds.acknowledged(&program);
        let dir = program.workspace();
        assert_eq!(names(dir, "app"), ["app.flowtrace", "app.flowtrace.journal"]);
        let trace = decode_trace(&program.out());
        rounds.assert_followed(&trace, |player| Reach::Killed(acknowledged[player]));
        assert_verbs_agree(&program.out(), &trace);
        let repair = Command::new(flow()).args(["check", "--repair"]).arg(program.out()).output();
        let text = String::from_utf8(repair.unwrap().stdout).unwrap();
        assert!(text.contains(": sound\n"), "{text}");
        assert!(!dir.join("app.flowtrace.journal").exists());
        let trace = decode_trace(&program.out());
        rounds.assert_followed(&trace, |player| Reach::Killed(acknowledged[player]));
        assert_eq!(check(&program.out()).0, Some(0));
    });
}

#[test]
fn virtual_threads_fill_one_file() {
    let jdk = jdks().last().unwrap();
    if jdk.version < 21 {
        return;
    }
    let expected = golden("VirtualThreads").threads["virtual-0"].clone();
    let run = in_one_file(Program::harness(jdk, "VirtualThreads")).args(["5000"]).run();
    assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
    let trace = run.trace();
    let threads: Vec<_> = trace.threads.values().filter(|thread| thread.is_virtual).collect();
    assert_eq!(threads.len(), 5000);
    for thread in threads {
        assert_eq!(trace.tree(thread).of_harness().lines(), expected, "thread {}", thread.id);
        assert!(thread.ended, "thread {}", thread.id);
    }
}

#[test]
fn every_jvm_gets_a_file() {
    on_every_jdk(|jdk| {
        let program = in_one_file(Program::harness(jdk, "Recursion"));
        let running: Vec<_> = (0..6).map(|_| program.command().spawn().unwrap()).collect();
        for mut child in running {
            assert!(child.wait().unwrap().success());
        }
        // Those that do not overlap with others take the place of an earlier one.
        let traces: Vec<PathBuf> = names(program.workspace(), "app")
            .into_iter()
            .map(|name| program.workspace().join(name))
            .collect();
        assert!(traces.contains(&program.out()), "{traces:?}");
        for trace in &traces {
            let trace = decode_trace(trace);
            assert_eq!(trace.manifest["end"]["totals"]["enters"], 106);
        }
    });
}

#[test]
fn a_full_trace_ends_the_recording_and_loses_nothing_before() {
    on_every_jdk(|jdk| {
        let rounds = Rounds::endless(31);
        let program = in_one_file(rounds.program(jdk));
        let program = program.options("chunk=4k,max-size=8m,compress=off");
        let mut running = program.launch();
        let is_over = || {
            let errors = fs::read_to_string(program.workspace().join("stderr")).unwrap();
            errors.contains("max-size")
        };
        assert!(running.wait_for(is_over), "it has ended by itself");
        assert!(running.kill().is_some());
        let trace = decode_trace(&program.out());
        rounds.assert_followed(&trace, |_| Reach::Stopped);
        assert!(trace.threads.values().map(|thread| thread.bytes.len()).sum::<usize>() > 500_000);
    });
}
