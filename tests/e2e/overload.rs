//! `overload=drop` with a disk that is slower than the program.

use std::fs;

use flow_e2e::{Fault, Finished, Program, check, jdks};
use serde_json::Value;

/// One thread, whose chunks may fill a queue of 512, and a disk that takes 200 ms for each: with
/// `overload=wait` this program runs for minutes.
fn program(fault: Fault, seconds: u64) -> Program {
    let args = ["1".to_owned(), "300000".to_owned(), seconds.to_string()];
    Program::harness(jdks().last().unwrap(), "Busy")
        .args(args)
        .options("overload=drop,chunk=1k")
        .fault(fault)
}

/// The events of the program: those of `Busy`'s `calls`, of main and of the constructor.
fn made(run: &Finished) -> u64 {
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    let calls = text.lines().find_map(|line| line.strip_prefix("calls "));
    2 * (calls.unwrap().parse::<u64>().unwrap() + 2)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Asserts that all events of a run are either in the trace or counted as lost.
fn assert_all_accounted_for(run: &Finished) {
    assert_eq!(run.code(), Some(0), "{}", run.errors());
    let (_, found) = check(&run.out());
    let text = fs::read_to_string(run.out().join("trace.json")).unwrap();
    let end = serde_json::from_str::<Value>(&text).unwrap()["end"].take();
    let recorded = number(&found["totals"]["enters"]) + number(&found["totals"]["exits"]);
    let lost = number(&end["lost"]["events"]);
    assert_eq!(recorded + lost, made(run), "{found} {end}");
    assert_eq!(found["totals"]["enters"], found["totals"]["exits"], "all frames were left");
    assert!(recorded > 0 && lost > 0, "{found} {end}");
    assert_eq!(number(&end["totals"]["enters"]), number(&found["totals"]["enters"]), "{end}");
    let reasons = end["lost"]["reasons"].to_string();
    assert!(reasons.contains("overload=drop"), "{reasons}");
}

#[test]
fn a_slow_disk_loses_counted_events_and_does_not_delay_the_program() {
    assert_all_accounted_for(&program(Fault::Slow(200), 4).run());
}

#[test]
fn a_disk_that_hangs_loses_counted_events_and_the_program_ends() {
    assert_all_accounted_for(&program(Fault::Hang(3), 4).run());
}

#[test]
fn after_a_kill_the_queued_chunks_are_read() {
    let program = program(Fault::Slow(50), 3600);
    let (mut running, out) = (program.launch(), program.out());
    // More than the first chunks are in the file, and some are always in the queue.
    let is_long = || {
        let entries = fs::read_dir(&out).into_iter().flatten().flatten();
        let mut files = entries.filter(|entry| {
            let name = entry.file_name().into_string().unwrap_or_default();
            name.starts_with("thread-") && name.ends_with(".flow")
        });
        files.any(|entry| entry.metadata().is_ok_and(|facts| facts.len() > 10_000))
    };
    assert!(running.wait_for(is_long));
    running.kill();
    let (code, found) = check(&out);
    assert_eq!(code, Some(0), "{found}");
}
