//! Traces of killed JVMs: the findings of `flow check`, and the result of `--repair`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use crate::common::journal::{Slot, write_journal};
use crate::common::{MAIN, Run, bare, flow, manifest, write_trace};
use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::{journal, names};
use tempfile::TempDir;

/// Of thread 1: two exits that are held back, main > work. Its file lacks the last two exits of `MAIN`.
const MAIN_SLOT: Slot<'static> =
    Slot { thread: 1, offset: 7, held: 2, raw: &[0x80, 0x81, 0x00, 0x00] };
/// The canonical form of that.
const MAIN_TAIL: &[u8] = &[0x01, 0x80, 0x81, 0x01];
/// Of thread 14: init, open. It has no file.
const NEW_SLOT: Slot<'static> = Slot { thread: 14, offset: 0, held: 0, raw: &[0x82] };

/// The trace of a JVM that was killed, with a journal.
fn killed() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_killed(dir.path());
    dir
}

pub(crate) fn write_killed(dir: &Path) {
    write_trace(dir);
    fs::write(dir.join("trace.json"), manifest(0, None)).unwrap();
    fs::write(dir.join("trace.json.new"), "").unwrap();
    fs::write(dir.join("thread-1.flow"), &MAIN[..7]).unwrap();
    let threads = fs::read_to_string(dir.join("threads.jsonl")).unwrap();
    let line = "{\"event\":\"start\",\"id\":14,\"name\":\"new\",\"daemon\":false,\"virtual\":false,\
                \"at_ns\":77}\n";
    fs::write(dir.join("threads.jsonl"), threads + line).unwrap();
    fs::write(dir.join(".lock"), "").unwrap();
    write_journal(dir, &[MAIN_SLOT, NEW_SLOT]);
}

/// Every file under a directory, without the time of a repair.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let inner = files(&entry.path()).into_iter();
            found.extend(inner.map(|(inside, bytes)| (format!("{name}/{inside}"), bytes)));
        } else {
            let text = fs::read(entry.path()).unwrap();
            let lines = text.split_inclusive(|&byte| byte == b'\n');
            let timeless = |line: &&[u8]| !line.windows(10).any(|part| part == b"at_unix_ns");
            found.insert(name, lines.filter(timeless).collect::<Vec<_>>().concat());
        }
    }
    found
}

fn repair(dir: &Path) -> Run {
    flow(&["check", "--repair"], dir)
}

/// The output of the verbs that read.
fn readings(dir: &Path) -> Vec<String> {
    let verbs: [&[&str]; 5] = [
        &["replay"],
        &["replay", "--format", "json"],
        &["report"],
        &["check", "--records"],
        &["check", "--records", "--format", "csv"],
    ];
    let read = |args: &&[&str]| {
        let run = flow(args, dir);
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.err);
        run.out
    };
    verbs.iter().map(read).collect()
}

#[test]
fn a_killed_trace_is_sound_with_a_note_about_its_journal() {
    let trace = killed();
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.out);
    let (verdict, rest) = run.out.split_once('\n').unwrap();
    assert!(verdict.ends_with(": sound"), "{verdict}");
    let told = "  killed: it has no end, and no JVM records here\n  \
                10 calls in 4 threads, 3 methods known, 16 B\n";
    assert!(rest.starts_with(told), "{rest}");
    let told = "  note: journal: holds 7 events of 2 threads that the files do not have yet\n";
    assert!(rest.contains(told), "{rest}");
    let run = flow(&["check", "--format", "json"], trace.path());
    let object: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&object["state"], &object["totals"]["enters"]), (&"killed".into(), &10.into()));
    let run = flow(&["replay", "--thread", "new"], trace.path());
    assert!(run.out.contains("\ncom.app.Main$Job.<init>()\n"), "{}", run.out);
}

/// Threads of a killed JVM have no end, but the recording was as long as their calls.
#[test]
fn the_end_that_is_written_is_not_before_the_last_known_time() {
    let trace = killed();
    let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, ns) in [(1, 1_000_000), (2, 1_520_000_000)] {
        let position = Position { offset: Offset::new(offset), exits: 0 };
        let mark = Mark::Time { by_ns: ns, from_ns: ns, ran_us: Some(0) };
        encoder.encode(position, &mark, &mut marks);
    }
    encoder.finish(&mut marks);
    // The journal has nothing of this thread.
    fs::write(trace.path().join("thread-12.marks"), marks).unwrap();
    assert_eq!(repair(trace.path()).code, Some(0));
    let run = flow(&["report", "--by", "wall"], trace.path());
    let first = run.out.lines().next().unwrap();
    assert!(first.ends_with(", added up, in a recording of 1.52 s"), "{run:?}");
}

#[test]
fn a_repaired_trace_is_plain_and_reads_as_before() {
    let trace = killed();
    let before = readings(trace.path());
    let original = files(trace.path());

    let run = repair(trace.path());
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    for told in [
        ": sound\n  killed; the end was written by flow ",
        "repaired: thread-1.flow: 4 bytes of the journal written at offset 7",
        "repaired: thread-14.flow: 1 byte of the journal written at offset 0",
        "repaired: trace.json: the end was missing",
        "repaired: journal: moved to before-repair",
    ] {
        assert!(run.out.contains(told), "{told}: {}", run.out);
    }
    assert_eq!(readings(trace.path()), before);
    let repaired = files(trace.path());
    assert_eq!(repaired["thread-1.flow"], [&MAIN[..7], MAIN_TAIL].concat());
    assert_eq!(repaired["thread-14.flow"], [0x82]);
    for name in ["journal", "trace.json"] {
        assert_eq!(repaired[&format!("before-repair/{name}")], original[name], "{name}");
    }
    assert!(!repaired.contains_key("journal") && !repaired.contains_key("trace.json.new"));
    let manifest = fs::read_to_string(trace.path().join("trace.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["end"]["at_ns"], 77);
    assert_eq!(
        manifest["end"]["totals"],
        serde_json::json!({"threads": 4, "methods": 3, "enters": 10, "exits": 10, "bytes": 16})
    );

    let again = repair(trace.path());
    assert_eq!(again.code, Some(0), "{}", again.out);
    assert!(again.out.contains("nothing to repair: the recording has finished"), "{}", again.out);
    assert_eq!(files(trace.path()), repaired);
    let run = flow(&["check"], trace.path());
    assert!(run.out.contains(": sound\n") && !run.out.contains("repaired:"), "{}", run.out);
}

#[test]
fn a_repair_lists_its_changes_in_json_and_csv() {
    let run = flow(&["check", "--repair", "--format", "csv"], killed().path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.starts_with("trace,verdict,severity,place,finding,state\n"), "{}", run.out);
    assert!(run.out.contains("\n.,sound,repaired,journal,moved to before-repair,repaired\n"));
    let run = flow(&["check", "--repair", "--format", "json"], killed().path());
    let object: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let done = object["findings"].as_array().unwrap();
    assert_eq!(done.iter().filter(|finding| finding["severity"] == "repaired").count(), 4);
}

#[test]
fn a_repair_that_was_stopped_is_completed_by_the_next() {
    let whole = killed();
    assert_eq!(repair(whole.path()).code, Some(0));
    let expected = files(whole.path());

    // During the writing of a thread, and after it.
    let mut stopped: Vec<TempDir> = Vec::new();
    for written in 0..=MAIN_TAIL.len() {
        let trace = killed();
        let bytes = [&MAIN[..7], &MAIN_TAIL[..written]].concat();
        fs::write(trace.path().join("thread-1.flow"), bytes).unwrap();
        stopped.push(trace);
    }
    // While the manifest is kept, after that, and after its replacement.
    for last in ["part", "before-repair/trace.json", "trace.json"] {
        let trace = killed();
        let kept = trace.path().join("before-repair");
        fs::create_dir(&kept).unwrap();
        fs::write(trace.path().join("thread-1.flow"), &expected["thread-1.flow"]).unwrap();
        fs::write(trace.path().join("thread-14.flow"), &expected["thread-14.flow"]).unwrap();
        fs::write(kept.join("part"), "{\"form").unwrap();
        if last != "part" {
            fs::write(kept.join("trace.json"), &expected["before-repair/trace.json"]).unwrap();
        }
        if last == "trace.json" {
            fs::copy(whole.path().join(last), trace.path().join(last)).unwrap();
            fs::remove_file(kept.join("part")).unwrap();
        }
        stopped.push(trace);
    }
    for (number, trace) in stopped.iter().enumerate() {
        let run = repair(trace.path());
        assert_eq!(run.code, Some(0), "{number}: {}{}", run.out, run.err);
        assert_eq!(files(trace.path()), expected, "{number}");
    }
}

#[test]
fn a_trace_that_is_still_recorded_is_not_repaired() {
    let trace = killed();
    let lock = File::open(trace.path().join(".lock")).unwrap();
    lock.lock().unwrap();
    let before = files(trace.path());
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(run.out.contains("\n  still being recorded\n"), "{}", run.out);
    let run = repair(trace.path());
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(run.err.contains("not repaired: a JVM still records here"), "{}", run.err);
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    assert_eq!(files(trace.path()), before);
    drop(lock);
    assert_eq!(repair(trace.path()).code, Some(0));
}

#[test]
fn files_that_contradict_the_journal_are_not_changed() {
    // Another event than in the journal, or more events.
    for (behind, offset) in [(&[0x01, 0x82][..], 8), (&[0x01, 0x80, 0x81, 0x01, 0x82], 11)] {
        let trace = killed();
        let bytes = [&MAIN[..7], behind].concat();
        fs::write(trace.path().join("thread-1.flow"), &bytes).unwrap();
        let told =
            format!("thread-1.flow: offset {offset}: expected the events that the journal holds");
        for _ in 0..2 {
            let run = repair(trace.path());
            assert_eq!(run.code, Some(1), "{}", run.out);
            assert!(run.out.contains(&told), "{}", run.out);
            assert!(run.out.contains("note: journal: kept, because not all of its content fits"));
            let found = files(trace.path());
            assert_eq!(found["thread-1.flow"], bytes);
            assert_eq!(found["thread-14.flow"], [0x82], "the others are repaired");
            assert!(found.contains_key("journal"));
        }
        let run = flow(&["check"], trace.path());
        assert!(run.code == Some(1) && run.out.contains(&told), "{}", run.out);
    }
}

#[test]
fn a_file_with_a_gap_before_the_journal_is_read_up_to_the_gap() {
    let trace = killed();
    fs::write(trace.path().join("thread-1.flow"), &MAIN[..3]).unwrap();
    let told = "thread-1.flow: whole records end at offset 3, but the journal continues at \
                offset 7; its 6 events are not read";
    let run = flow(&["replay", "--thread", "1"], trace.path());
    assert_eq!((run.code, run.out.lines().count()), (Some(1), 5), "{}", run.out);
    assert!(run.err.contains(told), "{}", run.err);
    let run = repair(trace.path());
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.out.contains(told), "{}", run.out);
    assert!(files(trace.path()).contains_key("journal"));
}

#[test]
fn a_damaged_journal_stays_and_its_valid_slots_are_used() {
    let trace = killed();
    let path = trace.path().join("journal");
    let mut bytes = fs::read(&path).unwrap();
    // The length of the encoder's state, in the slot of thread 1.
    bytes[journal::HEADER_BYTES + 32] = 0xFF;
    fs::write(&path, bytes).unwrap();
    let run = repair(trace.path());
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.out.contains("journal: offset 96: expected the length of a state"), "{}", run.out);
    let found = files(trace.path());
    assert!(found.contains_key("journal") && found.contains_key("thread-14.flow"));
    assert_eq!(found["thread-1.flow"], MAIN[..7]);
}

#[test]
fn an_unfinished_record_is_cut_off_and_kept() {
    let trace = killed();
    fs::remove_file(trace.path().join("journal")).unwrap();
    fs::write(trace.path().join("thread-1.flow"), [&MAIN[..7], &[0xC0, 0x80]].concat()).unwrap();
    let run = repair(trace.path());
    assert_eq!(run.code, Some(3), "an event is missing: {}", run.out);
    assert!(run.out.contains("2 bytes of an unfinished record at 7 cut off"), "{}", run.out);
    let found = files(trace.path());
    assert_eq!(found["thread-1.flow"], MAIN[..7]);
    assert_eq!(found["before-repair/thread-1.flow.from-7"], [0xC0, 0x80]);
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(
        run.out.contains("unfinished records were cut off: thread-1.flow at offset 7"),
        "{}",
        run.out
    );
}

#[test]
fn a_run_of_exits_that_went_on_is_written_anew() {
    let trace = killed();
    // The state shortly before the end of the recording, one exit earlier.
    let slot = Slot { raw: &[0x00], ..MAIN_SLOT };
    write_journal(trace.path(), &[slot]);
    fs::write(trace.path().join("thread-1.flow"), [&MAIN[..7], &[0x01]].concat()).unwrap();
    let run = repair(trace.path());
    assert_eq!(run.code, Some(0), "{}", run.out);
    let found = files(trace.path());
    assert_eq!(found["thread-1.flow"], [&MAIN[..7], &[0x02]].concat());
    assert_eq!(found["before-repair/thread-1.flow.from-7"], [0x01]);
}

#[test]
fn json_lines_are_repaired_too() {
    let trace = killed();
    let dir = trace.path();
    let text = manifest(0, None).replace("\"binary\"", "\"jsonl\"");
    fs::write(dir.join("trace.json"), text).unwrap();
    for id in [1, 12, 13] {
        fs::remove_file(dir.join(format!("thread-{id}.flow"))).unwrap();
    }
    let enter = "{\"e\":\"enter\",\"method\":0}\n";
    let exit = "{\"e\":\"exit\"}\n";
    // The last line was being written.
    fs::write(dir.join("thread-1.jsonl"), format!("{enter}{enter}{}", &exit[..5])).unwrap();
    let slot = Slot { offset: 2 * enter.len() as u64, ..MAIN_SLOT };
    write_journal(dir, &[slot, NEW_SLOT]);
    let before = readings(dir);
    let run = repair(dir);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert_eq!(readings(dir), before);
    let found = files(dir);
    let work = "{\"e\":\"enter\",\"method\":1}\n";
    let expected = format!("{enter}{enter}{exit}{exit}{enter}{work}{exit}{exit}");
    assert_eq!(String::from_utf8_lossy(&found["thread-1.jsonl"]), expected);
    assert_eq!(found["thread-14.jsonl"], b"{\"e\":\"enter\",\"method\":2}\n");
}

#[test]
fn a_journal_of_a_recording_that_ended_is_written_to_the_files_too() {
    // As after a full disk: the end counts the events of the journal, but not its bytes.
    let trace = killed();
    fs::write(trace.path().join("trace.json"), manifest(0, Some((10, 10, 11)))).unwrap();
    let text = fs::read_to_string(trace.path().join("trace.json")).unwrap();
    let text = text.replace("\"threads\":3", "\"threads\":4");
    fs::write(trace.path().join("trace.json"), text).unwrap();
    let run = flow(&["check"], trace.path());
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(
        run.out.contains("finished after 1s 500ms") && run.out.contains("note: journal: holds")
    );
    let run = repair(trace.path());
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(run.out.contains("finished after 1s 500ms"), "{}", run.out);
    assert!(!files(trace.path()).contains_key("journal"));
}

#[test]
fn the_traces_of_a_set_are_repaired_one_by_one() {
    let trace = killed();
    let (ended, live) = (trace.path().join("jvm-7-x"), trace.path().join("jvm-8-x"));
    write_trace(&ended);
    write_killed(&live);
    let lock = File::open(live.join(".lock")).unwrap();
    lock.lock().unwrap();
    let run = repair(trace.path());
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.err.contains("jvm-8-x: not repaired: a JVM still records here"), "{}", run.err);
    assert!(run.out.contains("jvm-7-x: sound\n") && !run.out.contains("jvm-8-x"), "{}", run.out);
    assert!(run.out.contains("nothing to repair: the recording has finished"), "{}", run.out);
    assert!(!trace.path().join("journal").exists() && live.join("journal").exists());
}

#[test]
fn traces_of_other_writers_are_not_changed() {
    let trace = bare(&[0x80, 0x81, 0xC0]);
    let before = files(trace.path());
    let run = repair(trace.path());
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.out.contains("nothing to repair: there is neither a journal"), "{}", run.out);
    assert_eq!(files(trace.path()), before);

    // Except for fields that only flow writes.
    write_journal(trace.path(), &[Slot { offset: 2, held: 0, ..MAIN_SLOT }]);
    fs::write(trace.path().join("thread-1.flow"), [0x80, 0x81]).unwrap();
    let run = repair(trace.path());
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert_eq!(files(trace.path())["thread-1.flow"], [0x80, 0x81, 0x80, 0x81, 0x01]);
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    for name in [names::BEFORE_REPAIR, "thread-1.flow"] {
        let trace = killed();
        let elsewhere = tempfile::tempdir().unwrap();
        let (link, target) = (trace.path().join(name), elsewhere.path().join("target"));
        if name == names::BEFORE_REPAIR {
            fs::create_dir(&target).unwrap();
        } else {
            fs::rename(&link, &target).unwrap();
        }
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let before = files(elsewhere.path());
        let run = repair(trace.path());
        assert_eq!(run.code, Some(1), "{name}: {}", run.out);
        assert!(run.err.contains(name) && run.err.contains("not complete"), "{}", run.err);
        assert_eq!(files(elsewhere.path()), before);
        assert!(trace.path().join("journal").exists());
    }
}
