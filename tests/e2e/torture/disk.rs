//! A disk that is full, broken or read-only stops only the recording.

use std::fs;

use flow_e2e::{
    Engine, Fault, Finished, Jdk, Program, Reach, Rounds, Way, assert_verbs_agree, check,
    decode_trace, jdks,
};
use serde_json::Value;

use super::{Random, times};
use crate::{on_every_engine, on_every_jdk};

const ROUNDS: u64 = 400;

/// Error numbers of the system.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;

pub(super) fn rounds() -> Rounds {
    Rounds::joined(11, ROUNDS, Way::Return)
}

fn program(jdk: &Jdk, engine: Engine) -> Program {
    rounds().program(jdk).engine(engine).options("chunk=1k,onerror=continue")
}

/// The outcome of a recording.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Outcome {
    /// It did not begin, with a message.
    NotBegun,
    /// It stopped, with a message, and a note in the trace as far as there was room.
    Partial { has_end: bool },
    /// Nothing is missing.
    Whole,
}

const fn all_rounds(_player: usize) -> Reach {
    Reach::Whole(ROUNDS)
}

/// Asserts that the program did not notice, and that each loss was reported once.
pub(super) fn judge(run: &Finished, what: &str) -> Outcome {
    let lines = run.our_lines();
    assert_eq!(run.code(), Some(0), "{what}: {}", run.errors());
    let printed = format!("acknowledged {ROUNDS} {ROUNDS} {ROUNDS} 0\n");
    assert_eq!(String::from_utf8_lossy(&run.stdout), printed, "{what}: {lines:?}");
    assert_eq!(run.other_errors(), "", "{what}");
    // One line for each optional thing that recording does without, and one where it stops.
    let lacks = |line: &String, what| line.contains(&format!(" warn: no {what}"));
    let optional = ["journal", "thread that encodes", "thread that samples"];
    for lacking in optional {
        assert!(lines.iter().filter(|line| lacks(line, lacking)).count() <= 1, "{what}: {lines:?}");
    }
    let is_optional = |line: &String| optional.iter().any(|lacking| lacks(line, lacking));
    let lines: Vec<_> = lines.into_iter().filter(|line| !is_optional(line)).collect();
    assert!(lines.len() <= 1, "{what}: {lines:?}");
    let (code, findings) = check(&run.out());
    if lines.iter().any(|line| line.contains("not recording")) {
        return Outcome::NotBegun;
    }
    let trace = decode_trace(&run.out());
    let end = &trace.manifest["end"];
    if lines.is_empty() {
        rounds().assert_followed(&trace, all_rounds);
        assert!(end.is_object(), "{what}");
        assert_verbs_agree(&run.out(), &trace);
        return Outcome::Whole;
    }
    rounds().assert_followed(&trace, |_| Reach::Stopped);
    if end.is_object() {
        let lost = &end["lost"];
        let reasons = lost["reasons"].as_array().unwrap();
        let only_marks = |reason: &Value| reason.as_str().unwrap().contains(".marks: ");
        if !reasons.is_empty() && reasons.iter().all(only_marks) {
            // Events are worth more, and are recorded without them.
            rounds().assert_followed(&trace, all_rounds);
        } else if lost["events"] == 0 && lost["stopped_at_ns"].is_null() {
            // The last chunk of a thread could not be written, and stays in the journal.
            assert!(trace.has_journal, "{what}: {lost}, {lines:?}");
            rounds().assert_followed(&trace, all_rounds);
        }
        assert_ne!(reasons.len(), 0, "{what}: {lines:?}");
        assert_eq!(code, Some(3), "{what}: {findings}");
    }
    Outcome::Partial { has_end: end.is_object() }
}

fn with_fault(jdk: &Jdk, engine: Engine, fault: Fault) -> Outcome {
    println!("{fault}");
    let outcome = judge(&program(jdk, engine).fault(fault).run(), &fault.to_string());
    println!("{outcome:?}");
    outcome
}

#[test]
fn a_disk_that_fills_up_stops_the_recording_only() {
    let mut random = Random::new("full");
    let tries = times("DISKS", 4);
    on_every_engine(|jdk, engine| {
        for _ in 0..tries {
            let room = 4096 * random.below(64);
            let outcome = with_fault(jdk, engine, Fault::Full(room));
            // The space for the end is reserved at the beginning, if there is enough.
            if room >= 32 * 1024 {
                assert_ne!(outcome, Outcome::Partial { has_end: false }, "{room}");
            }
        }
    });
}

#[test]
fn a_disk_that_breaks_stops_the_recording_only() {
    let mut random = Random::new("broken");
    let tries = times("DISKS", 4);
    on_every_engine(|jdk, engine| {
        for _ in 0..tries {
            let error = random.pick(&[EIO, ENOSPC, EDQUOT]);
            with_fault(jdk, engine, Fault::Error(1 + random.below(60), error));
        }
    });
}

#[test]
fn a_call_that_fails_once_does_not_disturb_the_program() {
    let mut random = Random::new("once");
    let tries = times("ONCE", 8);
    on_every_jdk(|jdk| {
        for number in 1..=tries {
            let number = if tries >= 60 { number } else { 1 + random.below(60) };
            let error = random.pick(&[EIO, ENOSPC]);
            with_fault(jdk, Engine::Instrument, Fault::Once(number, error));
        }
    });
}

#[test]
fn short_writes_lose_nothing() {
    let mut random = Random::new("short");
    on_every_engine(|jdk, engine| {
        for fault in [Fault::Short(1), Fault::Short(1 + random.below(500))] {
            assert_eq!(with_fault(jdk, engine, fault), Outcome::Whole, "{fault}");
        }
    });
}

#[test]
fn interrupted_calls_lose_nothing() {
    let mut random = Random::new("interrupted");
    on_every_engine(|jdk, engine| {
        for fault in [Fault::Interrupt(2), Fault::Interrupt(2 + random.below(20))] {
            assert_eq!(with_fault(jdk, engine, fault), Outcome::Whole, "{fault}");
        }
    });
}

#[test]
fn a_program_without_descriptors_continues() {
    let mut random = Random::new("files");
    let tries = times("DISKS", 4);
    on_every_engine(|jdk, engine| {
        for _ in 0..tries {
            with_fault(jdk, engine, Fault::Files(1 + random.below(60)));
        }
    });
}

#[test]
fn sixty_four_descriptors_are_enough() {
    on_every_engine(|jdk, engine| {
        let run = program(jdk, engine).shell("ulimit -n 64; exec \"$@\"").run();
        assert_eq!(judge(&run, "ulimit -n 64"), Outcome::Whole);
    });
}

#[test]
fn a_limit_on_the_size_of_files_stops_the_recording_only() {
    on_every_engine(|jdk, engine| {
        // Blocks of 512 bytes. With none at all, not even the program's own output could be written.
        for blocks in [8, 16, 64, 256] {
            let limit = format!("ulimit -f {blocks}; exec \"$@\"");
            let run = program(jdk, engine).jvm_arg("-XX:-UsePerfData").shell(&limit).run();
            println!("{limit}: {:?}", judge(&run, &limit));
        }
    });
}

/// Runs the program with its trace on a small file system of its own, writable or not, and copies the trace
/// before the file system is removed. Returns `None` if nothing can be mounted.
fn on_small_disk(jdk: &Jdk, engine: Engine, kib: u64, before: &str) -> Option<Finished> {
    let can_mount = std::process::Command::new("unshare")
        .args(["-Urm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"])
        .stderr(std::process::Stdio::null())
        .status();
    if !can_mount.is_ok_and(|status| status.success()) {
        println!("torture: no file system can be mounted here: left out");
        return None;
    }
    let script = format!(
        "mkdir disk && exec unshare -Urm sh -c '
            mount -t tmpfs -o size={kib}k none disk && {before}
            \"$@\"; status=$?
            rm -rf trace; cp -r disk trace; exit $status' sh \"$@\""
    );
    let program = program(jdk, engine).shell(&script);
    let (disk, copied) = (program.workspace().join("disk"), program.out());
    let run = program.record_into(disk).run();
    Some(Finished { program: run.program.record_into(copied), ..run })
}

#[test]
fn a_small_file_system_that_fills_up_stops_the_recording_only() {
    on_every_engine(|jdk, engine| {
        let mut seen = Vec::new();
        for kib in [64, 96, 128, 256, 1024] {
            let Some(run) = on_small_disk(jdk, engine, kib, "true &&") else { return };
            let outcome = judge(&run, &format!("{kib} KiB"));
            println!("{kib} KiB: {outcome:?}, {:?}", run.our_lines());
            assert_ne!(outcome, Outcome::Partial { has_end: false }, "its place was set aside");
            seen.push(outcome);
        }
    });
}

#[test]
fn a_file_system_that_cannot_be_written_is_refused() {
    on_every_jdk(|jdk| {
        // With `bind` only root may.
        let read_only = "mount -o remount,bind,ro disk &&";
        let Some(run) = on_small_disk(jdk, Engine::Instrument, 64, read_only) else { return };
        assert_eq!(judge(&run, "read-only"), Outcome::NotBegun);
    });
}

#[test]
fn a_trace_stays_within_the_size_that_is_given() {
    let limit = 1 << 20;
    on_every_engine(|jdk, engine| {
        let rounds = Rounds::joined(12, 40_000, Way::Return);
        let options = format!("chunk=4k,max-size={limit}");
        let run = rounds.program(jdk).engine(engine).options(&options).run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        assert_eq!(Rounds::printed(&run.stdout), [40_000, 40_000, 40_000, 0]);
        let lines = run.our_lines();
        assert_eq!((lines.len(), run.other_errors().as_str()), (1, ""), "{lines:?}");
        assert!(lines[0].contains("max-size"), "{lines:?}");
        let files = fs::read_dir(run.out()).unwrap();
        let size: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
        println!("{size} bytes, {lines:?}");
        assert!((limit / 2..=limit).contains(&size), "{size}");
        let trace = decode_trace(&run.out());
        rounds.assert_followed(&trace, |_| Reach::Stopped);
        assert!(trace.manifest["end"]["lost"]["stopped_at_ns"].is_u64());
        assert_eq!(check(&run.out()).0, Some(3));
    });
    // A trace that fits is whole.
    let run = program(jdks().last().unwrap(), Engine::Instrument).options("max-size=100m").run();
    assert_eq!(judge(&run, "max-size"), Outcome::Whole);
}
