//! What a program does while it is recorded: `flow top`.

use std::process::Command;

use flow_e2e::{Rounds, flow, jdks};
use serde_json::Value;

/// The lines of one interval.
fn top(source: &str) -> Vec<Value> {
    let run = Command::new(flow()).args(["top", source, "--once", "--json"]).output().unwrap();
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
