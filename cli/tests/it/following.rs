//! `flow replay --follow` and `flow calls --follow`, while the test writes as a JVM does.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::common::journal::{Slot, write_journal};
use crate::common::{IDS, command, flow, manifest, test_mark, trace};
use flow_codec::format::container::{self, BlockEncoder, Coding, StreamKind};
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::names;
use flow_codec::{Offset, ThreadId};
use tempfile::TempDir;

/// A trace that is being recorded, as long as the lock is held.
struct Live {
    dir: TempDir,
    _lock: File,
}

impl Live {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ids.properties"), IDS).unwrap();
        fs::write(dir.path().join("trace.json"), manifest(0, None)).unwrap();
        fs::write(dir.path().join(".gate"), "").unwrap();
        let lock = File::create(dir.path().join(".lock")).unwrap();
        lock.lock().unwrap();
        Self { dir, _lock: lock }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn append(&self, thread: u64, bytes: &[u8]) {
        let path = self.path().join(format!("thread-{thread}.flow"));
        let mut file = File::options().create(true).append(true).open(path).unwrap();
        file.write_all(bytes).unwrap();
    }

    /// Replaces the times of a thread: of each offset, in milliseconds.
    fn times(&self, thread: u64, times: &[(u64, u64)]) {
        let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
        for (offset, at_ms) in times {
            let position = Position { offset: Offset::new(*offset), exits: 0 };
            let at_ns = at_ms * 1_000_000;
            encoder.encode(position, &Mark::Instant { at_ns }, &mut bytes);
        }
        encoder.finish(&mut bytes);
        fs::write(self.path().join(format!("thread-{thread}.marks")), bytes).unwrap();
    }

    /// Replaces the whole journal, to test an instant between two steps of a JVM.
    fn journal(&self, slots: &[Slot<'_>]) {
        let aside = self.path().join("aside");
        fs::create_dir_all(&aside).unwrap();
        write_journal(&aside, slots);
        fs::rename(aside.join("journal"), self.path().join("journal")).unwrap();
    }

    /// Ends the recording as a kill does, without an end in the manifest.
    fn kill(self) -> TempDir {
        self.dir
    }
}

struct Following {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Following {
    fn start(dir: &Path, args: &[&str]) -> Self {
        Self::of(&["replay", "--follow"], dir, args)
    }

    fn of(verb: &[&str], dir: &Path, args: &[&str]) -> Self {
        let mut child = command()
            .args(verb)
            .args(args)
            .arg(dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Reads the next lines, which appear without further events. There is no deadline except that of
    /// the test run.
    fn expect(&mut self, expected: &[&str]) {
        for expected in expected {
            let mut line = String::new();
            self.lines.read_line(&mut line).unwrap();
            assert_eq!(line.trim_end_matches('\n'), *expected);
        }
    }

    /// Waits for the end. Returns the exit status, and the rest of stdout and stderr.
    fn end(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.lines.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code(), out, err)
    }
}

const MAIN: &str = "com.app.Main.main(String[])";
const WORK: &str = "  com.app.Main.work(int)";

fn slot(thread: u64, offset: u64, raw: &[u8]) -> Slot<'_> {
    Slot { thread, offset, held: 0, raw }
}

#[test]
fn new_calls_are_shown_once_and_in_order_until_the_end() {
    let live = Live::new();
    // main > work, left.
    live.append(1, &[0x80, 0x81, 0x00]);
    let mut run = Following::start(live.path(), &[]);
    run.expect(&["thread 1", MAIN, WORK]);
    // In the journal: work, left. Then the exit of main makes that run longer.
    live.journal(&[slot(1, 3, &[0x81, 0x00])]);
    run.expect(&[WORK]);
    live.journal(&[slot(1, 3, &[0x81, 0x00, 0x00, 0x80])]);
    run.expect(&[MAIN]);
    // The chunk goes to the file, another one is open, and a second thread begins.
    live.append(1, &[0x81, 0x01, 0x80]);
    live.journal(&[slot(1, 6, &[0x81]), slot(12, 0, &[0x80])]);
    run.expect(&[WORK, "", "thread 12", MAIN]);
    live.journal(&[slot(1, 6, &[0x81, 0x00, 0x81]), slot(12, 0, &[0x80])]);
    run.expect(&["", "thread 1", WORK]);
    let _dir = live.kill();
    let (code, out, err) = run.end();
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(
        out,
        format!(
            "… 2 frames still open at the end: {MAIN} > {}\n\nthread 12\n\
             … 1 frame still open at the end: {MAIN}\n",
            WORK.trim()
        )
    );
}

#[test]
fn a_file_is_followed_while_blocks_are_appended() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app.flowtrace");
    let mut file = File::options().create_new(true).append(true).open(&path).unwrap();
    file.lock().unwrap();
    file.write_all(&container::header()).unwrap();
    let append = |kind, thread: Option<u64>, offset, bytes: &[u8]| {
        let mut block = BlockEncoder::default();
        block.begin(thread.map(ThreadId::new));
        block.add(kind, offset, bytes.len(), Coding::Raw, bytes);
        block.finish();
        (&file).write_all(block.bytes()).unwrap();
        block.clear();
    };
    let journal = |slots: &[Slot<'_>]| {
        write_journal(dir.path(), slots);
        let beside = names::beside(&path, names::JOURNAL);
        fs::rename(dir.path().join("journal"), beside).unwrap();
    };
    append(StreamKind::Manifest, None, 0, manifest(0, None).as_bytes());
    append(StreamKind::Ids, None, 0, IDS.as_bytes());
    journal(&[slot(1, 0, &[0x80, 0x81, 0x00])]);
    let mut run = Following::start(&path, &[]);
    run.expect(&["thread 1", MAIN, WORK]);
    // The chunk goes to the file, and another one is open.
    append(StreamKind::Events, Some(1), 0, &[0x80, 0x81, 0x00]);
    journal(&[slot(1, 3, &[0x81, 0x00])]);
    run.expect(&[WORK]);
    // That one waits, and the next one is open.
    let waits = slot(1, 3, &[0x81, 0x00, 0x80]);
    journal(&[slot(1, 6, &[0x81]), waits]);
    run.expect(&[&format!("  {MAIN}"), &format!("  {WORK}")]);
    append(StreamKind::Events, Some(1), 3, &[0x81, 0x00, 0x80]);
    journal(&[slot(1, 6, &[0x81, 0x81]), waits]);
    run.expect(&[&format!("    {WORK}")]);
    // The end.
    append(StreamKind::Events, Some(1), 6, &[0x81, 0x81]);
    append(StreamKind::Manifest, None, 0, manifest(0, Some((6, 2, 8))).as_bytes());
    (&file).write_all(&[container::END]).unwrap();
    fs::remove_file(names::beside(&path, names::JOURNAL)).unwrap();
    drop(file);
    let (code, out, err) = run.end();
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.starts_with("… 4 frames still open at the end: ") && out.lines().count() == 1);
}

#[test]
fn a_finished_trace_is_shown_and_that_is_all() {
    let trace = trace();
    let once = flow(&["replay"], trace.path());
    let run = flow(&["replay", "--follow"], trace.path());
    assert_eq!((run.code, run.out, run.err), (Some(0), once.out, once.err));
}

#[test]
fn times_are_those_known_when_a_call_is_shown() {
    let live = Live::new();
    live.times(1, &[(0, 1), (1, 2), (2, 5), (3, 7)]);
    // main > work, which has ended, and work, which has not.
    live.append(1, &[0x80, 0x81, 0x00, 0x81]);
    let mut run = Following::start(live.path(), &["--time"]);
    run.expect(&[
        "thread 1",
        "    0.001000 s           ≥ 6.00 ms  com.app.Main.main(String[])",
        "    0.002000 s             3.00 ms    com.app.Main.work(int)",
        "    0.007000 s                   …    com.app.Main.work(int)",
    ]);
    live.times(1, &[(0, 1), (1, 2), (2, 5), (3, 7), (4, 9), (5, 12)]);
    live.append(1, &[0x00, 0x81]);
    run.expect(&["    0.012000 s                   …    com.app.Main.work(int)"]);
    let _dir = live.kill();
    assert_eq!(run.end().0, Some(0));
    // A trace that is complete has the times that it has without --follow.
    let trace = trace();
    let run = flow(&["replay", "--follow", "--time"], trace.path());
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.err.contains("no times were recorded"), "{}", run.err);
}

#[test]
fn a_record_cut_in_two_is_no_damage_while_it_may_become_whole() {
    let live = Live::new();
    live.append(1, &[0x80, 0xC1]);
    let mut run = Following::start(live.path(), &[]);
    run.expect(&["thread 1", MAIN]);
    live.append(1, &[0x00, 0x81, 0xC2]);
    run.expect(&[WORK, &format!("  {WORK}")]);
    let _dir = live.kill();
    let (code, _, err) = run.end();
    assert_eq!(code, Some(3));
    assert!(err.contains("ends inside a record at offset 4"), "{err}");
}

#[test]
fn lines_held_back_are_shown_when_nothing_follows() {
    let live = Live::new();
    live.append(1, &[0x80, 0x81, 0x82]);
    let mut run = Following::start(live.path(), &["--depth", "2", "--collapse"]);
    run.expect(&["thread 1", MAIN, WORK]);
    live.append(1, &[0x00, 0x82, 0x01, 0x81]);
    run.expect(&["    … 2 calls below", WORK]);
    let _dir = live.kill();
    let (code, out, _) = run.end();
    assert_eq!(code, Some(0));
    assert!(out.starts_with("… 2 deeper calls left out (--depth 2)\n… 2 frames still"), "{out}");
}

#[test]
fn short_calls_are_left_out_once_they_have_ended() {
    let live = Live::new();
    live.append(1, &[0x80, 0x81]);
    live.times(1, &[(0, 1), (1, 3)]);
    let mut run = Following::start(live.path(), &["--min-duration", "5ms", "--format", "csv"]);
    let mut line = String::new();
    run.lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("trace,thread,depth"), "{line}");
    // work is left after 1 ms; main has lasted for 5 ms then, and the next work is open.
    live.append(1, &[0x00, 0x81]);
    live.times(1, &[(0, 1), (1, 3), (2, 4), (3, 6)]);
    line.clear();
    run.lines.read_line(&mut line).unwrap();
    assert!(line.starts_with(".,1,0,0,com.app.Main,main,"), "{line}");
    // That one lasts long enough.
    live.append(1, &[0x00]);
    live.times(1, &[(0, 1), (1, 3), (2, 4), (3, 6), (4, 11)]);
    line.clear();
    run.lines.read_line(&mut line).unwrap();
    assert!(line.starts_with(".,1,1,1,com.app.Main,work,"), "{line}");
    // What is still open at the end is short.
    live.append(1, &[0x81]);
    let _dir = live.kill();
    let (code, out, err) = run.end();
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
    assert!(err.contains("2 shorter calls left out (--min-duration 5ms)"), "{err}");
}

#[test]
fn values_and_notes_are_followed() {
    use flow_codec::format::values::{CallValue, Primitive, Role, Value};

    let live = Live::new();
    let mut bytes = Vec::new();
    let value = Value::Primitive(Primitive::Int(7));
    CallValue::new(Role::Argument(0), value).encode(&mut bytes);
    let marks = [(1, Mark::Note("begun".to_owned())), (2, Mark::Values(bytes))];
    let write = |known: usize| {
        let mut encoded = HEADER.to_vec();
        let mut encoder = MarkEncoder::default();
        for (offset, mark) in &marks[..known] {
            let position = Position { offset: Offset::new(*offset), exits: 0 };
            encoder.encode(position, mark, &mut encoded);
        }
        encoder.finish(&mut encoded);
        fs::write(live.path().join("thread-1.marks"), encoded).unwrap();
    };
    write(1);
    live.append(1, &[0x80]);
    let mut run = Following::start(live.path(), &["--values", "--format", "json"]);
    let mut row = || -> serde_json::Value {
        let mut line = String::new();
        run.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    assert_eq!(row()["name"], "main");
    assert_eq!(row()["text"], "begun");
    write(2);
    live.append(1, &[0x81]);
    assert_eq!(row()["name"], "work");
    // An argument may follow, until nothing is new.
    assert_eq!(row()["text"], "(arg0 = 7)");
    let _dir = live.kill();
    assert_eq!(run.end().0, Some(0));
}

#[test]
fn methods_that_appear_later_have_their_names_and_filters() {
    let live = Live::new();
    live.append(1, &[0x80]);
    let mut run = Following::start(live.path(), &["--exclude", "new.*"]);
    run.expect(&["thread 1", MAIN]);
    let ids = IDS.to_owned() + "new.C#m()V=3\nold.C#m()V=4\n";
    fs::write(live.path().join("ids.properties"), ids).unwrap();
    live.append(1, &[0x83, 0x84]);
    run.expect(&["  old.C.m()"]);
    let _dir = live.kill();
    assert_eq!(run.end().0, Some(0));
}

#[test]
fn max_and_ctrl_c_and_a_closed_pipe_end_it_while_the_recording_continues() {
    let live = Live::new();
    live.append(1, &[0x80, 0x81, 0x00]);
    let mut run = Following::start(live.path(), &["--max", "2"]);
    run.expect(&["thread 1", MAIN, WORK]);
    live.append(1, &[0x81, 0x00]);
    let (code, out, _) = run.end();
    assert_eq!((code, out.as_str()), (Some(0), "… stopped after 2 calls (--max 2)\n"));

    let mut run = Following::start(live.path(), &[]);
    run.expect(&["thread 1", MAIN, WORK, WORK]);
    let pid = run.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let (code, out, _) = run.end();
    assert_eq!((code, out), (Some(0), format!("… 1 frame still open at the end: {MAIN}\n")));

    let mut run = Following::start(live.path(), &[]);
    run.expect(&["thread 1", MAIN]);
    let Following { mut child, lines } = run;
    // Nothing is written any more, so no failing write would show it.
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_newer_recording_in_the_same_directory_is_not_mixed_in() {
    let live = Live::new();
    live.append(1, &[0x80, 0x81]);
    let mut run = Following::start(live.path(), &[]);
    run.expect(&["thread 1", MAIN, WORK]);
    fs::write(live.path().join("trace.json"), manifest(1, None)).unwrap();
    let (code, out, err) = run.end();
    // The names of its methods are gone too.
    assert_eq!((code, out.as_str()), (Some(3), ""));
    assert!(err.starts_with("flow: another recording has begun in /"), "{err}");
}

#[test]
fn threads_begin_at_a_place_as_soon_as_they_have_it() {
    let live = Live::new();
    live.append(1, &[0x80]);
    let mut run = Following::start(live.path(), &["--from", "com.app.Main#work"]);
    live.append(12, &[0x80, 0x81, 0x00]);
    let from = "… from call 1, event 1, at offset 1, in:";
    let main = format!("… {MAIN}");
    run.expect(&["thread 12", from, &main, WORK]);
    live.append(1, &[0x81, 0x00, 0x81]);
    run.expect(&["", "thread 1", from, &main, WORK, WORK]);
    let _dir = live.kill();
    assert_eq!(run.end().0, Some(0));
    // A position in one thread needs one thread, and a place must be there in the end.
    let trace = trace();
    let run = flow(&["replay", "--follow", "--from", "1"], trace.path());
    assert!(run.code == Some(2) && run.err.contains("choose one with --thread"), "{run:?}");
    let run = flow(&["replay", "--follow", "--from", "1:99"], trace.path());
    assert!(run.code == Some(1) && run.err.contains("there is no call 99"), "{run:?}");
}

#[test]
fn threads_are_followed_in_one_order() {
    let live = Live::new();
    // What is not there yet may have happened before what is.
    live.times(1, &[(0, 1), (1, 4), (2, 6)]);
    live.append(1, &[0x80, 0x81, 0x00]);
    live.times(12, &[(0, 2)]);
    live.append(12, &[0x80]);
    let mut run = Following::start(live.path(), &["--merged"]);
    run.expect(&["thread 1", MAIN, "", "thread 12", MAIN, "", "thread 1", WORK]);
    // The time of an event comes after the event, and other threads wait for it.
    live.append(12, &[0x81]);
    live.times(1, &[(0, 1), (1, 4), (2, 6), (3, 9)]);
    live.append(1, &[0x81]);
    live.times(12, &[(0, 2), (1, 7)]);
    run.expect(&["", "thread 12", WORK, "", "thread 1", WORK]);
    // A thread without further events keeps nobody waiting.
    live.times(1, &[(0, 1), (1, 4), (2, 6), (3, 9), (4, 10), (5, 12)]);
    live.append(1, &[0x00, 0x81]);
    run.expect(&[WORK]);
    let dir = live.kill();
    let (code, out, err) = run.end();
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("2 frames still open at the end"), "{out}");
    // Of a whole trace, everything is as without --follow.
    let args = ["replay", "--merged", "--values", "--format", "json"];
    let (once, followed) =
        (flow(&args, dir.path()), flow(&[&args[..], &["--follow"]].concat(), dir.path()));
    assert_eq!((once.code, once.out.lines().count()), (Some(0), 6), "{once:?}");
    assert_eq!(followed.out, once.out);
    let run = flow(&["replay", "--merged", "--follow", "--max", "3"], dir.path());
    assert!(run.out.ends_with("… stopped after 3 calls (--max 3)\n"), "{run:?}");
    let run = flow(&["replay", "--merged", "--follow", "--min-duration", "1ms"], dir.path());
    assert!(run.code == Some(2) && run.err.contains("leave out --merged"), "{run:?}");
    let run = flow(&["replay", "--merged", "--follow", "--from", "9.5ms"], dir.path());
    assert!(run.out.contains("… from call 2, event 3"), "{run:?}");
    let run = flow(&["replay", "--merged", "--follow", "--from", "5s"], dir.path());
    assert!(run.code == Some(1) && run.err.contains("there is no event at 5"), "{run:?}");
}

/// The heading of calls that are shown as they end.
fn ended_heading() -> String {
    format!("{:>14}  {:>18}  {:16}  {:>11}  method", "start", "duration", "thread", "call")
}

/// A row of such calls.
fn ended_row(start: &str, duration: &str, thread: &str, call: u64, method: &str) -> String {
    format!("{start:>14}  {duration:>18}  {thread:16}  {call:>11}  {method}")
}

#[test]
fn calls_are_shown_when_they_have_ended() {
    let live = Live::new();
    live.times(1, &[(0, 1), (1, 2), (2, 5), (3, 7)]);
    // main > work, which has ended, and work, which has not.
    live.append(1, &[0x80, 0x81, 0x00, 0x81]);
    let mut run = Following::of(&["calls", "--follow"], live.path(), &["**#*"]);
    let row =
        |start, duration, thread, call, method| ended_row(start, duration, thread, call, method);
    run.expect(&[&ended_heading(), &row("0.002000 s", "3.00 ms", "1", 1, WORK.trim())]);
    // Of another thread, which ends before main of the first one: the two rows arrive in any order.
    live.times(12, &[(0, 8), (1, 9)]);
    live.append(12, &[0x81, 0x00]);
    live.times(1, &[(0, 1), (1, 2), (2, 5), (3, 7), (4, 11)]);
    live.append(1, &[0x01]);
    run.expect(&[
        &row("0.008000 s", "1.00 ms", "12", 0, WORK.trim()),
        &row("0.007000 s", "4.00 ms", "1", 2, WORK.trim()),
        &row("0.001000 s", "≥ 10.0 ms", "1", 0, MAIN),
    ]);
    // The time of an exit arrives after the exit.
    live.append(12, &[0x81, 0x00]);
    live.times(12, &[(0, 8), (1, 9), (2, 20), (3, 22)]);
    run.expect(&[&row("0.020000 s", "2.00 ms", "12", 1, WORK.trim())]);
    // What is open at the end has not ended.
    live.append(12, &[0x81]);
    let _dir = live.kill();
    assert_eq!(run.end(), (Some(0), String::new(), String::new()));
}

#[test]
fn calls_that_ended_before_come_in_the_order_of_their_ends() {
    let live = Live::new();
    // 20,000 calls in each of two threads, alternately: more than wait at a time.
    let calls = 20_000;
    for (thread, shift) in [(1, 0), (12, 1)] {
        let times: Vec<_> = (0..2 * calls).map(|event| (event, 2 * event + shift)).collect();
        live.times(thread, &times);
        live.append(thread, &[0x81, 0x00].repeat(usize::try_from(calls).unwrap()));
    }
    let args = ["**#work", "--format", "json"];
    let run = Following::of(&["calls", "--follow"], live.path(), &args);
    let _dir = live.kill();
    let (code, out, err) = run.end();
    assert_eq!((code, &*err), (Some(0), ""));
    let rows: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end = |row: &serde_json::Value| {
        row["start_ns"].as_u64().unwrap() + row["duration_ns"].as_u64().unwrap()
    };
    assert_eq!(rows.len() as u64, 2 * calls);
    assert!(rows.is_sorted_by_key(end));
    assert_eq!(rows.iter().filter(|row| row["thread"] == 12).count() as u64, calls);
}

#[test]
fn ended_calls_have_the_rows_of_calls() {
    let trace = trace();
    for args in [
        &["**#work", "--format", "json"][..],
        &["**#*", "--format", "csv"],
        &["work", "--format", "json", "--thread", "main"],
        &["**#work", "--format", "json", "--values", "--thread", "main"],
        &["**#work", "--format", "json", "--outcome", "exception"],
    ] {
        let lines = |run: &crate::common::Run| {
            let mut lines: Vec<_> = run.out.lines().map(without_shape).collect();
            lines.sort();
            lines
        };
        let (once, followed) = (
            flow(&[&["calls"], args].concat(), trace.path()),
            flow(&[&["calls", "--follow"], args].concat(), trace.path()),
        );
        assert_eq!(lines(&followed), lines(&once), "{args:?} {}", followed.err);
        assert_eq!(followed.code, Some(0), "{args:?} {}", followed.err);
    }
    for (args, expected) in [
        (&["--follow"][..], Some(0)),
        (&["--follow", "--max", "2"], Some(0)),
        (&["--follow", "nothing"], Some(1)),
        (&["--follow", "3f9c2a71be04"], Some(2)),
        (&["--follow", "**#work", "--slowest", "2"], Some(2)),
        (&["--follow", "**#work", "--in", "1:0"], Some(2)),
        (&["--follow", "**#work", "--include", "**"], Some(2)),
    ] {
        let run = flow(&[&["calls"], args].concat(), trace.path());
        assert_eq!(run.code, expected, "{args:?} {run:?}");
    }
    assert_eq!(flow(&["calls", "--follow", "--max", "2"], trace.path()).out.lines().count(), 3);
}

/// A line without the name of a shape, which is only known when a trace is whole.
fn without_shape(line: &str) -> String {
    let is_shape = |word: &&str| word.len() == 12 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words: Vec<_> = line.split([',', '"', ':']).filter(|word| !is_shape(word)).collect();
    words.join(" ").replace("  ", " ").replace("  ", " ")
}

#[test]
fn a_table_of_a_method_has_its_calls_as_they_end() {
    let live = Live::new();
    live.times(1, &[(0, 1), (1, 2), (2, 5), (3, 7)]);
    live.append(1, &[0x80, 0x81, 0x00, 0x81]);
    let mut run = Following::start(live.path(), &["--method", "**#work", "--depth", "1"]);
    run.expect(&[&ended_heading(), &ended_row("0.002000 s", "3.00 ms", "1", 1, WORK.trim())]);
    let _dir = live.kill();
    assert_eq!(run.end().0, Some(0));
}

#[test]
fn each_test_is_shown_when_it_has_ended() {
    let live = Live::new();
    let marks = |marks: &[(u64, &str)]| {
        let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
        for (offset, text) in marks {
            let position = Position { offset: Offset::new(*offset), exits: 0 };
            encoder.encode(position, &test_mark(text), &mut bytes);
        }
        encoder.finish(&mut bytes);
        fs::write(live.path().join("thread-1.marks"), bytes).unwrap();
    };
    let (begun, ended) = ((1, "test started a.ATest.one"), (3, "test passed a.ATest.one"));
    marks(&[begun]);
    live.append(1, &[0x80, 0x81]);
    let mut run = Following::start(live.path(), &["--test", "ATest.*"]);
    // The marks arrive before the events: the test has not ended yet.
    marks(&[begun, ended, (3, "test started a.ATest.two")]);
    live.append(1, &[0x00]);
    let once = flow(&["replay", "--test", "ATest.one"], live.path());
    assert!(
        once.out.contains("a.ATest.one (passed)") && once.out.contains(WORK.trim()),
        "{once:?}"
    );
    run.expect(&once.out.lines().collect::<Vec<_>>());
    live.append(1, &[0x82]);
    let dir = live.kill();
    // A test that has not ended is shown at the end.
    let unfinished = flow(&["replay", "--test", "ATest.two"], dir.path());
    assert!(unfinished.out.contains("a.ATest.two (unfinished)"), "{unfinished:?}");
    assert_eq!(run.end(), (Some(0), format!("\n{}", unfinished.out), String::new()));
}
