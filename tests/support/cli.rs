//! Compares what the command line reports about a trace with the decoder here.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Decoded, Event, flow};

/// Traces with more events are not dumped: printing them takes long.
const DUMPED_EVENTS: usize = 100_000;

/// Runs a verb with `--format json`. Returns its exit status and its lines.
fn lines(verb: &str, dir: &Path) -> (Option<i32>, Vec<Value>) {
    let output = Command::new(flow())
        .args(verb.split(' '))
        .args(["--format", "json"])
        .arg(dir)
        .output()
        .expect("flow can be run");
    let text = String::from_utf8(output.stdout).expect("flow prints UTF-8");
    let parsed = text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON"));
    let parsed: Vec<_> = parsed.collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!parsed.is_empty() || !errors.is_empty(), "{verb} says nothing");
    (output.status.code(), parsed)
}

/// Runs `flow check`. Returns its exit status and what it found.
///
/// # Panics
/// It cannot be run.
#[must_use]
pub fn check(dir: &Path) -> (Option<i32>, Value) {
    let (code, mut lines) = lines("check", dir);
    (code, lines.pop().unwrap_or_default())
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// Asserts that all verbs read a trace, and agree with the decoder.
///
/// # Panics
/// One does not.
pub fn assert_verbs_agree(dir: &Path, trace: &Decoded) {
    let (code, found) = check(dir);
    assert_eq!(code, Some(0), "{found}");
    let balances = trace.threads.values().map(Decoded::balance);
    let (enters, exits) = balances.fold((0, 0), |(e, x), (enters, exits)| (e + enters, x + exits));
    let totals = &found["totals"];
    assert_eq!(
        (number(&totals["enters"]), number(&totals["exits"])),
        (enters as u64, exits as u64)
    );
    if enters == 0 {
        return;
    }

    let (code, methods) = lines("report", dir);
    assert_eq!(code, Some(0));
    let mut calls = BTreeMap::new();
    for method in &methods {
        *calls.entry(number(&method["method"])).or_insert(0) += number(&method["calls"]);
    }
    let mut expected = BTreeMap::new();
    for event in trace.threads.values().flat_map(|thread| &thread.events) {
        if let Event::Enter(id) = event {
            *expected.entry(*id).or_insert(0) += 1;
        }
    }
    assert_eq!(calls, expected, "what report counts");

    if enters + exits > DUMPED_EVENTS {
        return;
    }
    let (code, records) = lines("check --records", dir);
    assert_eq!(code, Some(0));
    let mut dumped: BTreeMap<u64, Vec<Event>> = BTreeMap::new();
    for record in &records {
        let events = dumped.entry(number(&record["thread"])).or_default();
        match record["event"].as_str() {
            Some("enter") => events.push(Event::Enter(number(&record["method"]))),
            Some("exit") => events.extend((0..number(&record["count"])).map(|_| Event::Exit)),
            _ => panic!("{record}"),
        }
    }
    let (code, replayed) = lines("replay", dir);
    assert_eq!(code, Some(0));
    for (id, thread) in &trace.threads {
        assert_eq!(dumped.remove(id).unwrap_or_default(), thread.events, "dump of thread {id}");
        let mut depth = 0_u64;
        let mut calls = Vec::new();
        for event in &thread.events {
            match event {
                Event::Enter(method) => {
                    calls.push((depth, *method));
                    depth += 1;
                }
                Event::Exit => depth -= 1,
            }
        }
        let shown = replayed.iter().filter(|call| number(&call["thread"]) == *id);
        let shown: Vec<_> =
            shown.map(|call| (number(&call["depth"]), number(&call["method"]))).collect();
        assert_eq!(shown, calls, "replay of thread {id}");
    }
    assert!(dumped.is_empty(), "dump shows other threads");
}
