//! Traces that a JVM records into one file, with its journal beside.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::journal::{Slot, write_journal};
use crate::common::{MAIN, Run, command, flow, manifest, text, write_killed_file};
use crate::repair::write_killed;
use flow_codec::ThreadId;
use flow_codec::format::container::{
    BlockEncoder, BlockStart, Coding, HEADER_BYTES, START_BYTES, StreamKind,
};
use flow_codec::format::names;
use tempfile::TempDir;

/// The trace of a killed JVM as a directory, and as a file.
fn killed() -> (TempDir, PathBuf, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let (dir, file) = (temp.path().join("dir"), temp.path().join("app.flowtrace"));
    write_killed(&dir);
    write_killed_file(&dir, &file);
    (temp, dir, file)
}

/// Runs a verb; in its output, the trace is called `TRACE`.
fn read(args: &str, place: &Path) -> Run {
    let args: Vec<_> = args.split(' ').collect();
    let run = flow(&args, place);
    let of = |text: &str| {
        let path = place.to_str().unwrap();
        let text = match path.strip_suffix(".flowtrace") {
            Some(stem) => text.replace(&format!("{stem}-jvm-7-1.flowtrace"), "TRACE/jvm-7-1"),
            None => text.to_owned(),
        };
        let text = text.replace("several JVMs were recorded", "the directory holds several traces");
        text.replace(path, "TRACE")
    };
    Run { out: of(&run.out), err: of(&run.err), ..run }
}

fn assert_same(one: &Path, other: &Path) {
    for args in [
        "info",
        "info --format json",
        "report",
        "report --format json",
        "report --tree",
        "replay",
        "replay --format json",
        "check --records",
        "check",
        "check --format csv",
        "export --to collapsed",
    ] {
        let (expected, found) = (read(args, one), read(args, other));
        assert_eq!(expected.code, found.code, "{args}: {found:?}");
        assert_eq!(expected.out, found.out, "{args}");
        assert_eq!(expected.err, found.err, "{args}");
    }
}

#[test]
fn a_killed_file_reads_like_its_directory() {
    let (_temp, dir, file) = killed();
    assert_same(&dir, &file);
    let run = flow(&["info"], &file);
    assert!(run.out.contains("killed"), "{}", run.out);
}

#[test]
fn a_file_that_is_locked_is_being_recorded() {
    let (_temp, dir, file) = killed();
    let locks = [dir.join(".lock"), file.clone()].map(|path| File::open(path).unwrap());
    locks.iter().for_each(|lock| lock.lock().unwrap());
    assert_same(&dir, &file);
    let run = flow(&["check"], &file);
    assert!(run.out.contains("\n  still being recorded\n"), "{}", run.out);
}

#[test]
fn chunks_that_wait_follow_the_file_and_what_it_has_is_not_repeated() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, file) = (temp.path().join("dir"), temp.path().join("app.flowtrace"));
    // Enters of 0, 1 and 2; each part has its own slot.
    let slot = |offset, raw| Slot { thread: 1, offset, held: 0, raw };
    let slots = [slot(2, &[0x82, 0x81]), slot(0, &[0x80, 0x81]), slot(4, &[0x82, 0x80])];
    let all = [0x80, 0x81, 0x82, 0x81, 0x82, 0x80];
    let mut seen = Vec::new();
    // A block is written whole.
    for written in [0, 2, 4, 6] {
        write_killed(&dir);
        fs::write(dir.join("thread-1.flow"), &all[..written]).unwrap();
        write_journal(&dir, &slots);
        write_killed_file(&dir, &file);
        assert_same(&dir, &file);
        let run = flow(&["replay", "--thread", "1"], &file);
        let calls = run.out.lines().filter(|line| line.trim_start().starts_with("com.app."));
        assert_eq!(calls.count(), 6, "{written}: {}", run.out);
        seen.push(run.out);
    }
    assert!(seen.iter().all(|out| *out == seen[0]), "{seen:?}");
}

#[test]
fn after_a_restart_the_checkpoint_counts() {
    let (_temp, dir, file) = killed();
    let durable = manifest(0, None).replacen(
        '{',
        r#"{"durability":{"period_ns":1000000000,"boot":"another"},"#,
        1,
    );
    fs::write(dir.join("trace.json"), durable).unwrap();
    fs::rename(dir.join("journal"), dir.join("checkpoint")).unwrap();
    // Newer than the checkpoint.
    fs::write(dir.join("thread-1.flow"), [&MAIN[..7], &[0x81; 20]].concat()).unwrap();
    write_killed_file(&dir, &file);
    assert_same(&dir, &file);
    let run = flow(&["report"], &file);
    assert!(run.err.contains("read up to its last checkpoint"), "{}", run.err);
}

#[test]
fn a_missing_journal_is_reported() {
    let (_temp, _dir, file) = killed();
    fs::remove_file(names::beside(&file, names::JOURNAL)).unwrap();
    let run = flow(&["report"], &file);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.err.contains("app.flowtrace.journal is missing"), "{}", run.err);
}

#[test]
fn a_journal_beside_a_finished_file_is_not_read() {
    let (temp, dir, file) = killed();
    let copy = temp.path().join("copy.flowtrace");
    assert_eq!(
        flow(&["export", "--to", "flowtrace", dir.to_str().unwrap(), "-o"], &copy).code,
        Some(0)
    );
    let expected = read("report", &copy);
    fs::copy(names::beside(&file, names::JOURNAL), names::beside(&copy, names::JOURNAL)).unwrap();
    let found = read("report", &copy);
    assert_eq!((found.code, found.out, found.err), (Some(0), expected.out, String::new()));
}

#[test]
fn the_files_of_one_run_are_one_source() {
    let (temp, dir, file) = killed();
    let (inner, further) = (dir.join("jvm-7-1"), temp.path().join("app-jvm-7-1.flowtrace"));
    write_killed(&inner);
    fs::write(inner.join("thread-12.flow"), [0x80, 0x81]).unwrap();
    write_killed_file(&inner, &further);
    assert_same(&dir, &file);
    let run = read("info --format csv", &file);
    assert!(run.out.contains("\njvm-7-1,") && run.out.contains("\n.,"), "{}", run.out);
    // Each alone.
    assert_same(&inner, &further);
    let alone =
        [&dir, &file].map(|place| flow(&["replay", "--format", "csv"], &place.join(".")).out);
    assert!(alone[0] == alone[1] && !alone[0].contains("jvm-7-1"), "{alone:?}");
    let run = flow(&["export", "--to", "chrome"], &file);
    assert_eq!(run.code, Some(2), "{run:?}");
    let told = "app.flowtrace/., ";
    assert!(run.err.contains("several JVMs were recorded") && run.err.contains(told), "{run:?}");
    // The directory is none, but says where they are.
    let run = flow(&["info"], temp.path());
    assert!(run.err.contains("no trace here") && run.err.contains("app.flowtrace"), "{run:?}");
    assert!(!run.err.contains("app-jvm-7-1"), "{run:?}");
    // Without the first file, for example because its JVM recorded nothing.
    fs::remove_file(&file).unwrap();
    assert_eq!(read("report", &file).out, read("report", &inner).out);
    fs::remove_file(&further).unwrap();
    let run = flow(&["report"], &file);
    assert!(run.err.contains("app.flowtrace: no such file; name a trace file"), "{run:?}");
}

fn repair(place: &Path) -> Run {
    read("check --repair", place)
}

/// The files beside each other, by name.
fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| text(entry.unwrap().file_name()));
    let mut names: Vec<_> = entries.filter(|name| name != "dir").collect();
    names.sort();
    names
}

#[test]
fn a_repaired_file_is_complete_and_reads_like_its_directory() {
    let (temp, dir, file) = killed();
    let before = read("replay", &file);
    // Left by a repair that was interrupted.
    fs::write(names::beside(&file, names::NEW_CONTAINER), "half").unwrap();
    assert_eq!(repair(&dir).code, Some(0));
    let run = repair(&file);
    assert_eq!(run.code, Some(0), "{run:?}");
    for told in [
        "TRACE: sound\n  killed; the end was written by flow ",
        "repaired: the end was missing: written, with counted totals, with 7 events of 2 threads from the journal\n",
        "repaired: journal: removed\n",
    ] {
        assert!(run.out.contains(told), "{told}: {}", run.out);
    }
    assert_eq!(names_in(temp.path()), ["app.flowtrace"]);
    assert_eq!(read("replay", &file).out, before.out);
    for args in ["report", "replay --format json", "check --records", "check --format csv"] {
        assert_eq!(read(args, &dir).out, read(args, &file).out, "{args}");
    }
    let bytes = fs::read(&file).unwrap();
    let again = repair(&file);
    assert!(again.out.contains("nothing to repair: the recording has finished"), "{}", again.out);
    assert!(fs::read(&file).unwrap() == bytes);
}

#[test]
fn a_repair_of_a_file_that_was_interrupted_is_completed_by_the_next() {
    let (temp, _dir, file) = killed();
    let journal = names::beside(&file, names::JOURNAL);
    let content = fs::read(&journal).unwrap();
    assert_eq!(repair(&file).code, Some(0));
    fs::write(&journal, content).unwrap();
    let run = repair(&file);
    assert!(run.code == Some(0) && run.out.contains("repaired: journal: removed"), "{run:?}");
    assert_eq!(names_in(temp.path()), ["app.flowtrace"]);
}

/// Gives a journal the identity of a recording.
fn identify(journal: &Path, id: u64) {
    let mut bytes = fs::read(journal).unwrap();
    let at = flow_codec::format::journal::IDENTITY_WORD * 8;
    bytes[at..at + 8].copy_from_slice(&id.to_le_bytes());
    fs::write(journal, bytes).unwrap();
}

#[test]
fn files_of_another_recording_are_noted_and_not_changed() {
    let (temp, dir, file) = killed();
    let own = manifest(0, None).replacen('{', r#"{"id":"0000000000000005","#, 1);
    fs::write(dir.join("trace.json"), own).unwrap();
    write_killed_file(&dir, &file);
    let [journal, checkpoint] =
        [names::JOURNAL, names::CHECKPOINT].map(|name| names::beside(&file, name));
    identify(&journal, 6);
    let foreign = fs::read(&journal).unwrap();
    let note = "left out a journal of another recording, named like a journal of this one: \
                app.flowtrace.journal";
    let run = flow(&["report"], &file);
    assert_eq!(run.code, Some(3), "its own journal is missing: {run:?}");
    assert_eq!(run.err.matches(note).count(), 1, "{run:?}");
    let run = flow(&["check"], &file);
    assert_eq!(run.out.matches(&format!("note: {note}\n")).count(), 1, "{run:?}");
    assert!(!run.out.contains("damage"), "{run:?}");
    // A checkpoint of its own is removed.
    fs::write(&checkpoint, &foreign).unwrap();
    identify(&checkpoint, 5);
    let run = repair(&file);
    assert!(run.out.contains("repaired: checkpoint: removed\n"), "{run:?}");
    assert!(!run.out.contains("journal: removed"), "{run:?}");
    assert_eq!(run.out.matches(note).count(), 1, "{run:?}");
    assert_eq!(names_in(temp.path()), ["app.flowtrace", "app.flowtrace.journal"]);
    assert!(fs::read(&journal).unwrap() == foreign);
    // Of a trace that has its end, too, and in a directory.
    let run = repair(&file);
    assert!(run.out.contains("nothing to repair: the recording has finished"), "{run:?}");
    assert!(fs::read(&journal).unwrap() == foreign);
    identify(&dir.join(names::JOURNAL), 6);
    let run = repair(&dir);
    assert!(run.out.contains("note: left out a journal of another recording"), "{run:?}");
    assert!(fs::read(dir.join(names::JOURNAL)).unwrap() == foreign);
}

#[test]
fn a_trace_that_a_collector_receives_misses_no_journal() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, file) = (temp.path().join("dir"), temp.path().join("app.flowtrace"));
    write_killed(&dir);
    let sent = manifest(0, None).replacen(r#""options":{"#, r#""options":{"stream":"unix:/c","#, 1);
    fs::write(dir.join("trace.json"), sent).unwrap();
    fs::remove_file(dir.join(names::JOURNAL)).unwrap();
    write_killed_file(&dir, &file);
    let lock = File::open(&file).unwrap();
    lock.lock().unwrap();
    let run = flow(&["report"], &file);
    assert_eq!((run.code, &*run.err), (Some(0), ""), "{run:?}");
    let run = flow(&["check"], &file);
    assert!(run.out.contains("\n  still being recorded\n"), "{}", run.out);
    drop(lock);
    let run = flow(&["report"], &file);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.err.contains("the trace has no end, and nobody receives it"), "{}", run.err);
    let run = flow(&["check"], &file);
    assert!(
        run.out.contains("\n  not received to its end: the collector or the JVM ended before\n")
    );
    assert!(!run.out.contains("killed") && !run.out.contains("journal"), "{}", run.out);
    let run = flow(&["check", "--format", "json"], &file);
    assert!(run.out.contains(r#""state":"unreceived""#), "{}", run.out);
}

#[test]
fn a_file_that_is_recorded_damaged_or_contradicted_is_not_repaired() {
    let (temp, dir, file) = killed();
    let unchanged = |file: &Path, told: &str| {
        let before = fs::read(file).unwrap();
        let run = repair(file);
        assert!(run.out.contains(told) || run.err.contains(told), "{told}: {run:?}");
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(fs::read(file).unwrap() == before);
        assert_eq!(names_in(temp.path()), ["app.flowtrace", "app.flowtrace.journal"]);
    };
    let lock = File::open(&file).unwrap();
    lock.lock().unwrap();
    unchanged(&file, "not repaired: a JVM still records here");
    drop(lock);
    let mut bytes = fs::read(&file).unwrap();
    let whole = bytes.clone();
    // In the second block, which has the keys of methods.
    let first = BlockStart::decode(bytes[HEADER_BYTES..].first_chunk().unwrap()).unwrap();
    let second = HEADER_BYTES + first.block_bytes();
    bytes[second + START_BYTES + 9] ^= 1;
    fs::write(&file, &bytes).unwrap();
    unchanged(&file, "not repaired, because it is damaged; flow export --to flowtrace");
    let check = read("check", &file);
    assert!(check.out.contains("with a wrong checksum"), "{}", check.out);
    fs::write(dir.join("thread-1.flow"), [&MAIN[..7], &[0x01, 0x82]].concat()).unwrap();
    write_killed_file(&dir, &file);
    unchanged(&file, "not repaired, because not all of the journal fits the file");
    // As if nothing could be written.
    fs::write(&file, &whole).unwrap();
    let obstacle = names::beside(&file, names::NEW_CONTAINER);
    fs::create_dir(&obstacle).unwrap();
    let run = repair(&file);
    assert!(run.code == Some(1) && run.err.contains("the repair is not complete"), "{run:?}");
    assert!(fs::read(&file).unwrap() == whole && names::beside(&file, names::JOURNAL).exists());
}

/// Runs a verb with a trace on standard input.
fn piped(args: &str, input: impl Into<Stdio>) -> Run {
    let args: Vec<_> = args.split(' ').collect();
    command().args(args).arg("-").stdin(input).output().unwrap().into()
}

/// A pipe with these bytes.
fn pipe(bytes: Vec<u8>) -> std::io::PipeReader {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // A reader that refuses the first bytes reads no more.
    std::thread::spawn(move || writer.write_all(&bytes));
    reader
}

#[test]
fn lines_of_threads_that_wait_in_the_journal_are_read() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, file) = (temp.path().join("dir"), temp.path().join("app.flowtrace"));
    let line = b"{\"event\":\"end\",\"id\":12,\"at_ns\":9}\n";
    write_killed(&dir);
    let written = fs::metadata(dir.join("threads.jsonl")).unwrap().len();
    let lines = Slot { thread: u64::MAX, offset: written, held: 0, raw: line };
    write_journal(&dir, &[lines, Slot { thread: 14, offset: 0, held: 0, raw: &[0x82] }]);
    let state = |file: &Path| {
        let run = flow(&["info"], file);
        let row = run.out.lines().find(|row| row.ends_with("pool-1"));
        row.unwrap_or_else(|| panic!("{run:?}")).split_whitespace().nth(5).unwrap().to_owned()
    };
    // Nowhere else, or in the file already.
    for further in [&b""[..], line] {
        let text = fs::read(dir.join("threads.jsonl")).unwrap();
        fs::write(dir.join("threads.jsonl"), [&text, further].concat()).unwrap();
        write_killed_file(&dir, &file);
        assert_eq!(state(&file), "ended");
        assert_eq!(repair(&file).code, Some(0));
        assert_eq!((state(&file), names_in(temp.path()).len()), ("ended".to_owned(), 1));
    }
}

#[test]
fn standard_input_reads_like_the_file() {
    let (temp, dir, file) = killed();
    fs::write(dir.join("thread-12.flow"), [0x81; 100_000]).unwrap();
    let whole = temp.path().join("whole.flowtrace");
    assert_eq!(
        flow(&["export", "--compress", "off", "--to", "flowtrace", &text(&dir), "-o"], &whole).code,
        Some(0)
    );
    let bytes = fs::read(&whole).unwrap();
    assert!(bytes.len() > 65_536, "more than a pipe holds");
    for args in [
        "info",
        "report",
        "replay --max 9",
        "report --tree --format csv",
        "check",
        "export --to collapsed",
    ] {
        let expected = flow(&args.split(' ').collect::<Vec<_>>(), &whole);
        let name = |told: &str| told.replace(&text(&whole), "-");
        for found in [piped(args, pipe(bytes.clone())), piped(args, File::open(&whole).unwrap())] {
            assert_eq!((found.code, found.err), (expected.code, name(&expected.err)), "{args}");
            assert!(found.out == name(&expected.out), "{args}: {}", found.out);
        }
    }
    // Beside another trace, and to another file.
    let diff = piped(&format!("diff {}", text(&whole)), pipe(bytes.clone()));
    assert_eq!(diff.code, Some(0), "{diff:?}");
    let copy = temp.path().join("copy.flowtrace");
    let convert = command()
        .args(["export", "--to", "flowtrace", "--compress", "off", "-", "-o"])
        .arg(&copy)
        .stdin(pipe(bytes.clone()))
        .status();
    assert!(convert.unwrap().success() && fs::read(&copy).unwrap() == bytes);
    // Of a killed JVM, without its journal.
    let run = piped("report", pipe(fs::read(&file).unwrap()));
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.err.contains("-: the trace has no end"), "{}", run.err);
    for (args, input, told) in [
        ("report", b"these are notes".to_vec(), "expected a trace in one file on standard input"),
        ("report", Vec::new(), "found empty"),
        ("check --repair", bytes.clone(), "standard input can only be read once; name the file"),
        ("replay --follow", bytes, "standard input can only be read once; name the file"),
    ] {
        let run = piped(args, pipe(input));
        assert!(run.code == Some(2) && run.err.contains(told), "{args}: {run:?}");
    }
}

#[test]
fn a_snapshot_needs_no_repair() {
    let (temp, dir, _file) = killed();
    let snapshot = r#"{"snapshot":{"name":"login","at_ns":9},"#;
    fs::write(dir.join("trace.json"), manifest(0, None).replacen('{', snapshot, 1)).unwrap();
    let file = temp.path().join("app-snapshot-login.flowtrace");
    assert_eq!(flow(&["export", "--to", "flowtrace", &text(&dir), "-o"], &file).code, Some(0));
    let before = fs::read(&file).unwrap();
    let run = repair(&file);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.contains("nothing to repair: it is a snapshot"), "{}", run.out);
    assert!(run.out.contains("the snapshot login, taken after"), "{}", run.out);
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn a_file_that_was_converted_from_a_killed_one_has_a_whole_index() {
    let (temp, dir, file) = killed();
    let events = [0x81, 0x00].repeat(2_200_000);
    fs::write(dir.join("thread-1.flow"), &events).unwrap();
    let offset = events.len() as u64;
    write_journal(&dir, &[Slot { thread: 1, offset, held: 0, raw: &[0x82, 0x81] }]);
    write_killed_file(&dir, &file);
    let whole = temp.path().join("whole.flowtrace");
    assert_eq!(flow(&["export", "--to", "flowtrace", &text(&file), "-o"], &whole).code, Some(0));
    let run = flow(&["check", "--index", "--format", "csv"], &whole);
    assert!(run.out.contains(",2200002,") && run.out.contains(",already existed,"), "{run:?}");
}

#[test]
fn indexes_are_in_a_file_beside_it() {
    let (temp, dir, file) = killed();
    // Entries of work() and their exits.
    let events = |len| [0x81, 0x00].repeat(len);
    fs::remove_file(dir.join("journal")).unwrap();
    fs::write(dir.join("thread-1.flow"), events(2_200_000)).unwrap();
    fs::write(dir.join("thread-12.flow"), events(2_300_000)).unwrap();
    write_killed_file(&dir, &file);
    write_journal(&dir, &[]);
    fs::rename(dir.join("journal"), names::beside(&file, names::JOURNAL)).unwrap();
    let beside = names::beside(&file, names::INDEXES);
    let index = |states: [&str; 2]| {
        let run = flow(&["check", "--index", "--format", "csv"], &file);
        assert_eq!(run.code, Some(0), "{run:?}");
        let rows: Vec<_> =
            run.out.lines().skip(1).map(|row| row.split(',').nth(6).unwrap()).collect();
        assert_eq!(rows, states, "{run:?}");
        run.err
    };
    let replay = || flow(&["replay", "--from", "2000000", "--max", "9", "--thread", "main"], &file);
    let expected = replay();
    assert_eq!(expected.code, Some(0), "{expected:?}");
    index(["created", "created"]);
    index(["already existed", "already existed"]);
    assert!(fs::metadata(&beside).unwrap().len() > 1000);
    assert_eq!(replay().out, expected.out);
    // One thread has grown, the other has other events.
    fs::write(dir.join("thread-12.flow"), [0x80, 0x00].repeat(2_300_000)).unwrap();
    write_killed_file(&dir, &file);
    let mut block = BlockEncoder::default();
    block.begin(Some(ThreadId::new(1)));
    block.add(StreamKind::Events, 4_400_000, 400_000, Coding::Raw, &events(200_000));
    block.finish();
    File::options().append(true).open(&file).unwrap().write_all(block.bytes()).unwrap();
    assert_eq!(replay().out, expected.out);
    let told = index(["updated", "created again"]);
    assert!(told.contains("app.flowtrace.idx: it belongs to other events"), "{told}");
    index(["already existed", "already existed"]);
    // Something else in its place.
    fs::write(&beside, "these are notes").unwrap();
    assert_eq!(replay().out, expected.out);
    index(["created again", "created"]);
    assert_eq!(flow(&["check", "--remove-index"], &file).code, Some(0));
    assert!(!beside.exists());
    // A file that was written from beginning to end has them inside.
    let whole = temp.path().join("whole.flowtrace");
    assert_eq!(flow(&["export", "--to", "flowtrace", &text(&file), "-o"], &whole).code, Some(0));
    let run = flow(&["check", "--remove-index"], &whole);
    assert!(run.code == Some(1) && run.err.contains("are in the file itself"), "{run:?}");
    let run = piped("check --index", File::open(&whole).unwrap());
    assert!(run.code == Some(2) && run.err.contains("name the file instead"), "{run:?}");
}
