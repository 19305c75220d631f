//! What a program does while it is recorded: `flow top`.

use std::process::{Command, Stdio};

use flow_e2e::{Rounds, flow, jdks};
use serde_json::Value;

/// The lines of one interval.
fn top(source: &str) -> Vec<Value> {
    let run =
        Command::new(flow()).args(["top", source, "--once", "--format", "json"]).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{source}: {errors}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_running_program_is_shown_by_its_process_and_by_its_trace() {
    for jdk in jdks() {
        let rounds = Rounds::endless(31);
        let program = rounds.program(jdk).options("chunk=4k");
        let mut running = program.launch();
        let reached = || rounds.acknowledged(&program).iter().sum::<u64>() >= 100;
        assert!(running.wait_for(reached), "it has ended by itself");
        for source in [running.id().to_string(), program.out().display().to_string()] {
            let lines = top(&source);
            let (whole, rows) = lines.split_first().unwrap();
            assert_eq!(whole["recording"], true, "{whole}");
            assert!(whole["calls"].as_u64() > Some(0), "{whole}");
            let methods = rows.iter().filter(|row| row["method"].is_number());
            let called: u64 = methods.map(|row| row["calls"].as_u64().unwrap()).sum();
            assert_eq!(whole["calls"], called);
            let threads: Vec<_> = rows.iter().filter(|row| row["thread"].is_number()).collect();
            for name in rounds.thread_names() {
                assert!(
                    threads.iter().any(|row| row["name"] == name.as_str()),
                    "{name}: {lines:?}"
                );
            }
        }
        assert!(running.kill().is_some(), "it has ended by itself");
        let lines = top(&program.out().display().to_string());
        assert_eq!((&lines[0]["recording"], &lines[0]["calls"]), (&Value::Bool(false), &0.into()));
    }
}

#[test]
fn a_program_that_sends_its_trace_here_is_shown() {
    for jdk in jdks() {
        let dir = tempfile::tempdir().unwrap();
        let address = format!("unix:{}", dir.path().join("socket").display());
        let top = Command::new(flow())
            .args(["top", &address, "--once", "--format", "json"])
            .env("TMPDIR", dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let rounds = Rounds::endless(32);
        let program = rounds.program(jdk).only_send_to(&address);
        // An agent that finds no collector tries again.
        let running = program.launch();
        let output = top.wait_with_output().unwrap();
        assert!(running.kill().is_some(), "it has ended by itself");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.contains("listening"), "{errors}");
        let whole: Value =
            serde_json::from_slice(output.stdout.split(|byte| *byte == b'\n').next().unwrap())
                .unwrap();
        assert_eq!(whole["recording"], true, "{whole}");
        // Nothing is left of what was received.
        let left = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 0);
    }
}
