//! `durability=system`: what remains after a power failure.

use std::fs;
use std::process::Command;

use flow_e2e::{Fault, Program, Reach, Rounds, check, decode_trace, flow, jdks};
use serde_json::Value;

fn manifest(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn after_a_power_failure_all_is_there_that_is_older_than_the_period() {
    let elsewhere = tempfile::tempdir().unwrap();
    let journal = format!("journal={}", elsewhere.path().display());
    for options in ["chunk=4k", "chunk=64k", "chunk=4k,overload=drop", &journal] {
        let rounds = Rounds::endless(31);
        let program = rounds
            .program(jdks().last().unwrap())
            .options(&format!("durability=system:20ms,{options}"))
            .fault(Fault::KeepSynced);
        let mut running = program.launch();
        let reached = |rounds: u64| rounds_of(&program, rounds);
        assert!(running.wait_for(|| reached(500)), "it has ended by itself");
        // The first round that begins after this instant has reached the disk after two more synchronisations.
        let (acknowledged, synced) = (rounds.acknowledged(&program), program.synced());
        assert!(running.wait_for(|| program.synced() >= synced + 2), "it has ended by itself");
        assert!(running.kill().is_some(), "it has ended by itself");
        let left = program.workspace().join("left");
        program.after_power_failure(&left);
        let (code, found) = check(&left);
        assert_eq!(code, Some(3), "{options}: {found}");
        assert!(found.to_string().contains("checkpoint"), "{options}: {found}");
        let output = Command::new(flow()).arg("check").arg("--repair").arg(&left).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("moved to before-repair"), "{options}: {text}");
        let trace = decode_trace(&left);
        let reasons = trace.manifest["end"]["lost"]["reasons"].to_string();
        assert!(reasons.contains("checkpoint"), "{options}: {reasons}");
        rounds.assert_followed(&trace, |player| Reach::AtLeast(acknowledged[player]));
    }
}

fn rounds_of(program: &Program, least: u64) -> bool {
    Rounds::endless(31).acknowledged(program).iter().sum::<u64>() >= least
}

#[test]
fn a_trace_that_has_ended_is_on_the_disk() {
    for period in ["system", "system:1h"] {
        let run = Program::harness(jdks().last().unwrap(), "Threads")
            .options(&format!("durability={period}"))
            .fault(Fault::KeepSynced)
            .run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        assert!(!run.out().join("checkpoint").exists());
        let left = run.program.workspace().join("left");
        run.program.after_power_failure(&left);
        for entry in fs::read_dir(run.out()).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if name == "trace.json" || name.starts_with('.') {
                continue;
            }
            assert_eq!(fs::read(left.join(&name)).ok(), fs::read(entry.path()).ok(), "{name}");
        }
        assert_eq!(check(&left).0, Some(0), "{:?}", check(&left));
        let text = fs::read_to_string(left.join("trace.json")).unwrap();
        assert!(manifest(&text)["end"].is_object());
    }
}

#[test]
fn after_a_kill_the_journal_counts() {
    let rounds = Rounds::endless(37);
    let program = rounds.program(jdks().last().unwrap()).options("chunk=4k,durability=system:50ms");
    let mut running = program.launch();
    let out = program.out();
    let reached = || rounds.acknowledged(&program).iter().sum::<u64>() >= 500;
    assert!(running.wait_for(|| reached() && out.join("checkpoint").exists()));
    assert!(running.kill().is_some(), "it has ended by itself");
    let acknowledged = rounds.acknowledged(&program);
    let trace = decode_trace(&out);
    rounds.assert_followed(&trace, |player| Reach::Killed(acknowledged[player]));
    let (code, found) = check(&out);
    assert_eq!(code, Some(0), "{found}");
}
