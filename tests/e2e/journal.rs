//! A journal outside the trace directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flow_e2e::{Program, Reach, Rounds, assert_verbs_agree, check, decode_trace, flow, jdks};
use serde_json::Value;

/// The journals in a directory.
fn journals(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    let is_ours =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("flow-journal-");
    entries.filter(is_ours).collect()
}

/// Kills a program that has recorded some rounds, with its journal in `place`.
fn killed(program: &Program, rounds: &Rounds) {
    let mut running = program.launch();
    let reached = || rounds.acknowledged(program).iter().sum::<u64>() >= 500;
    assert!(running.wait_for(reached), "it has ended by itself");
    assert!(running.kill().is_some(), "it has ended by itself");
}

fn repair(out: &Path) -> String {
    let output = Command::new(flow()).arg("check").arg("--repair").arg(out).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn manifest(out: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(out.join("trace.json")).unwrap()).unwrap()
}

#[test]
fn a_clean_end_removes_it() {
    let place = tempfile::tempdir().unwrap();
    let options = format!("journal={}", place.path().display());
    let run = Program::harness(jdks().last().unwrap(), "Hello").options(&options).run();
    assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
    let path = manifest(&run.out())["journal"].as_str().unwrap().to_owned();
    assert!(Path::new(&path).parent() == Some(place.path()) && !Path::new(&path).exists());
    assert!(!run.out().join("journal").exists());
    assert_eq!(check(&run.out()).0, Some(0));
}

#[test]
fn a_place_that_cannot_be_used_is_refused() {
    let run = Program::harness(jdks().last().unwrap(), "Hello").options("journal=/no/such").run();
    assert_eq!(run.code(), Some(1));
    let expected = "[flowagent] journal=/no/such: No such file or directory (os error 2)\n";
    assert!(run.errors().contains(expected), "{}", run.errors());
}

#[test]
fn after_a_kill_every_verb_and_the_repair_find_it() {
    let place = tempfile::tempdir().unwrap();
    let options = format!("chunk=4k,journal={}", place.path().display());
    let rounds = Rounds::endless(19);
    let program = rounds.program(jdks().last().unwrap()).options(&options);
    killed(&program, &rounds);
    assert_eq!(journals(place.path()).len(), 1);
    let trace = decode_trace(&program.out());
    let acknowledged = rounds.acknowledged(&program);
    rounds.assert_followed(&trace, |player| Reach::Killed(acknowledged[player]));
    assert_verbs_agree(&program.out(), &trace);
    // The trace may be moved.
    let moved = program.workspace().join("moved");
    fs::rename(program.out(), &moved).unwrap();
    let (code, found) = check(&moved);
    assert_eq!(code, Some(0), "{found}");
    let repaired = repair(&moved);
    assert!(repaired.contains("moved to before-repair"), "{repaired}");
    assert!(moved.join("before-repair/journal").exists() && journals(place.path()).is_empty());
    rounds.assert_followed(&decode_trace(&moved), |player| Reach::Killed(acknowledged[player]));
}

#[test]
fn without_it_the_loss_is_visible() {
    let place = tempfile::tempdir().unwrap();
    let options = format!("chunk=4k,journal={}", place.path().display());
    let rounds = Rounds::endless(23);
    let program = rounds.program(jdks().last().unwrap()).options(&options);
    killed(&program, &rounds);
    let [journal] = journals(place.path()).try_into().unwrap();
    // Like a memory file system after a restart of the machine.
    fs::remove_file(&journal).unwrap();
    let (code, found) = check(&program.out());
    assert_eq!(code, Some(3), "{found}");
    assert!(found.to_string().contains("flow-journal-"), "{found}");
    let repaired = repair(&program.out());
    assert!(repaired.contains("the journal"), "{repaired}");
    let reasons = manifest(&program.out())["end"]["lost"]["reasons"].to_string();
    assert!(reasons.contains("is missing"), "{reasons}");
    assert_eq!(check(&program.out()).0, Some(3), "after the repair too");
}

#[test]
fn it_moves_with_the_earlier_trace() {
    let place = tempfile::tempdir().unwrap();
    let options = format!("journal={}", place.path().display());
    let rounds = Rounds::endless(29);
    let program = rounds.program(jdks().last().unwrap()).options(&options);
    for left in [1, 2, 3, 3, 3] {
        // The trace, the one in `.old`, and the one before that until a recording ends: these are killed.
        killed(&program, &rounds);
        assert_eq!(journals(place.path()).len(), left);
        fs::remove_file(program.workspace().join("acknowledged")).ok();
    }
}
