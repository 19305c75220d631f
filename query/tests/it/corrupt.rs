//! Damaged traces: whole records are read, damage is reported, and nothing panics, hangs or uses much memory.

use std::fs::{self, File};
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::support::limited::run_limited;
use crate::support::readers::{read_all, visit_all};
use flow_codec::format::flow::{Encoded, Record};
use flow_codec::format::{jsonl, names};
use flow_codec::read::{FlowReader, ReadRecords, Tail, Trace};
use flow_codec::scan::Summary;
use flow_codec::{Error, MethodId};
use flow_model::{End, Stream, decode};
use flow_query::analysis::Report;

/// Small thread files of all kinds: canonical or not, balanced or not, with short and long numbers.
const TRACES: [&[u8]; 6] = [
    &[],
    &[0x80, 0x81, 0x82, 0x01, 0x83, 0x00, 0x84, 0x01],
    // Long ids, a long run, open at the end.
    &[
        0x80, 0xEC, 0x04, 0xC0, 0x80, 0x01, 0x6C, 0x04, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xFF, 0xFF, 0x01,
    ],
    // Exits without enters, the longest possible run, and a record after it.
    &[0x00, 0x05, 0x81, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0x82, 0x00],
    // Not canonical: adjacent exit records, superfluous groups.
    &[0x81, 0x82, 0x00, 0x00, 0xC1, 0x80, 0x80, 0x00, 0x40, 0x80, 0x00, 0x00],
    &[0xC1, 0x01, 0xC1, 0x01, 0xC1, 0x01, 0x02],
];

const JSONL: &str = "{\"e\":\"enter\",\"method\":0}\n{\"e\":\"enter\",\"method\":9223372036854775807}\n\
    {\"e\":\"exit\"}\n\n{\"e\":\"exit\",\"new\":[1,{}]}\n{\"e\":\"exit\"}\n";

fn report(mut records: impl ReadRecords) -> (u64, bool) {
    let mut report = Report::default();
    let sound = records.visit_all(&mut report).is_ok();
    report.end_thread();
    for row in report.rows() {
        assert!(
            row.self_weight <= row.calls && row.calls <= row.total && row.total <= report.calls()
        );
    }
    (report.calls(), sound)
}

/// Asserts that all readers of a thread file agree with the model.
fn survey(bytes: &[u8]) -> Stream {
    let expected = decode(bytes);
    assert_eq!(read_all(FlowReader::new(bytes)), expected, "{bytes:02X?}");
    let Stream { records, damage, end } = expected.clone();
    let seen = records.into_iter().map(|(_, seen)| seen).collect();
    assert_eq!(visit_all(FlowReader::new(bytes)), (seen, damage, end), "{bytes:02X?}");
    let sound = expected.damage.is_empty();
    let (calls, reported) = report(FlowReader::new(bytes));
    assert!(calls <= bytes.len() as u64);
    assert_eq!(reported, sound);
    expected
}

#[test]
fn every_prefix_is_its_whole_records_and_then_truncated() {
    for trace in TRACES {
        let whole = survey(trace);
        assert_eq!(whole.end, End::Complete);
        let mut borders: Vec<u64> = whole.records.iter().map(|(offset, _)| *offset).collect();
        borders.push(trace.len() as u64);
        for cut in 0..=trace.len() {
            let prefix = survey(&trace[..cut]);
            let cut = cut as u64;
            let last = borders.iter().rposition(|&border| border <= cut).unwrap();
            let end =
                if borders[last] == cut { End::Complete } else { End::Truncated(borders[last]) };
            assert_eq!(prefix.records, whole.records[..last], "cut at {cut}");
            assert_eq!(prefix.end, end, "cut at {cut}");
        }
    }
}

#[test]
fn a_changed_byte_leaves_everything_before_it() {
    for trace in TRACES {
        let whole = survey(trace);
        for at in 0..trace.len() {
            let before: Vec<_> = decode(&trace[..at]).records;
            for change in 1..=u8::MAX {
                let mut bytes = trace.to_vec();
                bytes[at] ^= change;
                let changed = survey(&bytes);
                assert_eq!(changed.records[..before.len()], whole.records[..before.len()]);
            }
        }
    }
}

/// The bytes that lines are converted to, their length, and the numbers of lines that are not events.
fn converted(dir: &Path, lines: &[u8]) -> (Stream, u64, Vec<u64>) {
    fs::write(dir.join("thread-1.jsonl"), lines).expect("a folder");
    let trace = Trace::open(dir).expect("a trace");
    let number = |error: &Error| match error {
        Error::BadLine { line, .. } => *line,
        error => panic!("{error}"),
    };
    let events = trace.files()[0].events().expect("it is there");
    (read_all(events), trace.files()[0].bytes(), trace.damage().iter().map(number).collect())
}

#[test]
fn every_prefix_of_json_lines_is_its_whole_lines_and_then_truncated() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = JSONL.as_bytes();
    let (whole, ..) = converted(dir.path(), bytes);
    assert_eq!((whole.records.len(), whole.end), (3, End::Complete));
    for cut in 0..=bytes.len() {
        let line_start =
            bytes[..cut].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let (prefix, _, bad) = converted(dir.path(), &bytes[..cut]);
        let (lines, len, _) = converted(dir.path(), &bytes[..line_start]);
        let end = if line_start == cut { End::Complete } else { End::Truncated(len) };
        assert_eq!((prefix.records, prefix.end), (lines.records, end), "cut at {cut}");
        assert_eq!(bad, [0; 0], "cut at {cut}");
    }
}

#[test]
fn any_changed_byte_of_json_lines_is_read_or_named_by_its_line() {
    let dir = tempfile::tempdir().unwrap();
    for at in 0..JSONL.len() {
        for change in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF] {
            let mut bytes = JSONL.as_bytes().to_vec();
            bytes[at] ^= change;
            let line = 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count() as u64;
            // A line that lost its LF continues with the next; one that is cut in two fails later.
            let (.., bad) = converted(dir.path(), &bytes);
            let is_near = |named: &u64| *named == line || *named == line + 1;
            assert!(bad.iter().all(is_near), "byte {at} ^ {change:02x}: {bad:?}");
        }
    }
}

#[test]
fn only_the_two_objects_are_events() {
    for bad in [
        "[\"exit\"]",
        "[\"enter\",7]",
        "{\"e\":1}",
        "{\"e\":0,\"method\":7}",
        "{\"e\":\"enter\",\"method\":9223372036854775808}",
        "{\"e\":\"enter\",\"method\":7.0}",
    ] {
        assert!(jsonl::decode_line(bad).is_err(), "{bad}");
    }
}

/// A small directory with every kind of file.
fn write_small_trace(dir: &Path) {
    let files: [(&str, &[u8]); 6] = [
        (
            names::MANIFEST,
            b"{\"format_version\":1,\"tool\":\"t\",\"engine\":\"events\",\"event_format\":\"binary\",\
              \"options\":{\"out\":\"d\"},\"pid\":7,\"host\":\"h\",\"command\":[\"java\"],\
              \"jvm\":{\"name\":\"n\",\"version\":\"v\",\"home\":\"/\"},\"start_unix_ns\":9,\
              \"end\":{\"at_ns\":1,\"totals\":{\"threads\":1,\"methods\":2,\"enters\":1,\"exits\":1,\
              \"bytes\":2},\"lost\":{\"events\":0,\"reasons\":[]},\"not_recorded\":[]}}\n",
        ),
        (names::IDS, b"a.A#m()V=0\na.A#\\\\n(I)V=1\n"),
        (
            names::METHODS,
            b"{\"id\":0,\"class\":\"a.A\",\"name\":\"m\",\"descriptor\":\"()V\",\"source\":\"A.java\",\
              \"line\":3,\"loader\":\"app\",\"flags\":[\"static\"]}\n",
        ),
        (
            names::THREADS,
            b"{\"event\":\"start\",\"id\":1,\"name\":\"main\",\"daemon\":false,\"virtual\":false,\
              \"at_ns\":5}\n{\"event\":\"rename\",\"id\":1,\"name\":\"x\",\"at_ns\":6}\n\
              {\"event\":\"end\",\"id\":1,\"at_ns\":7}\n",
        ),
        ("thread-1.flow", &[0x80, 0xC1, 0x80, 0x01, 0x01]),
        (
            "thread-2.jsonl",
            b"{\"e\":\"enter\",\"method\":1}\n{\"e\":\"exit\"}\n",
        ),
    ];
    for (name, bytes) in files {
        fs::write(dir.join(name), bytes).expect("a fresh folder");
    }
}

/// Opens a directory in both ways and reads all of it. Errors must name the damaged file.
fn read_dir(dir: &Path, damaged: &str) -> Result<(), String> {
    let checked = |result: Result<(), &Error>| {
        let result = result.map_err(ToString::to_string);
        if let Err(message) = &result {
            assert!(message.contains(damaged), "{damaged} is not named: {message}");
        }
        result
    };
    let set = Trace::open_all(dir).map(|set| assert_eq!(set.len(), 1));
    let opened = Trace::open(dir);
    assert_eq!(set.is_ok(), opened.is_ok());
    checked(set.as_ref().copied())?;
    let trace = match opened {
        Ok(trace) => trace,
        Err(error) => return checked(Err(&error)),
    };
    let mut outcome = Ok(());
    for error in trace.damage() {
        outcome = checked(Err(error));
    }
    for (id, method) in trace.methods().iter() {
        assert!(!trace.methods().display(id).is_empty());
        assert!(id <= MethodId::MAX, "{method}");
    }
    for file in trace.files() {
        let read = file.events().and_then(|mut events| events.visit_all(&mut Report::default()));
        if let Err(error) = read {
            outcome = checked(Err(&error));
        }
    }
    outcome
}

/// The only damage in the files other than the events.
fn damage(dir: &Path) -> String {
    let trace = Trace::open(dir).expect("the trace opens");
    assert_eq!(trace.damage().len(), 1, "{:?}", trace.damage());
    trace.damage()[0].to_string()
}

fn file_names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the folder is there");
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    assert_eq!(names.len(), 6);
    names
}

#[test]
fn a_file_of_any_length_is_its_whole_lines_or_records() {
    let dir = tempfile::tempdir().unwrap();
    write_small_trace(dir.path());
    for name in file_names(dir.path()) {
        let path = dir.path().join(&name);
        let whole = fs::read(&path).unwrap();
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            let read = read_dir(dir.path(), &name);
            // Only the manifest is replaced as a whole; a kill may cut every other file anywhere.
            let may_fail = name == names::MANIFEST && len + 1 < whole.len();
            assert_eq!(read.is_err(), may_fail, "{name} cut at {len}: {read:?}");
        }
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn a_directory_with_any_bit_flipped_is_read_or_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    write_small_trace(dir.path());
    for name in file_names(dir.path()) {
        let path = dir.path().join(&name);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            for change in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                fs::write(&path, &bytes).unwrap();
                let _ = read_dir(dir.path(), &name);
            }
        }
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn ids_above_the_limit_are_refused_in_every_file() {
    let dir = tempfile::tempdir().unwrap();
    let line =
        "{\"id\":9223372036854775808,\"class\":\"A\",\"name\":\"m\",\"descriptor\":\"()V\"}\n";
    fs::write(dir.path().join(names::METHODS), line).unwrap();
    let error = damage(dir.path());
    assert!(error.contains("methods.jsonl:1: expected"), "{error}");
}

#[test]
fn a_number_beyond_the_limits_is_named_with_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = vec![0x80];
    bytes.extend([0xFF; 16]);
    fs::write(dir.path().join("thread-1.flow"), bytes).unwrap();
    let trace = Trace::open(dir.path()).unwrap();
    let mut events = trace.files()[0].events().unwrap();
    assert!(events.next_record().unwrap().is_some());
    let error = events.next_record().unwrap_err().to_string();
    assert!(error.contains("thread-1.flow: offset 1:"), "{error}");
}

/// Runs `work` in a thread of its own and fails if it takes very long.
fn within_a_minute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = std::sync::mpsc::channel();
    thread::spawn(move || done.send(work()));
    let result = result.recv_timeout(Duration::from_secs(60));
    result.expect("it ends, well and in time")
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    for name in [names::MANIFEST, names::IDS, names::METHODS, names::THREADS] {
        let dir = tempfile::tempdir().unwrap();
        write_small_trace(dir.path());
        let path = dir.path().join(name);
        fs::remove_file(&path).unwrap();
        let status = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(status.expect("mkfifo runs").success());
        let at = dir.path().to_path_buf();
        let error = within_a_minute(move || damage(&at));
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn huge_exit_counts_cost_no_time() {
    let longest = Encoded::exits(NonZeroU64::new(1 << 63).unwrap());
    let mut bytes = Vec::new();
    for _ in 0..1_000 {
        bytes.push(0x81);
        bytes.extend_from_slice(longest.as_bytes());
        bytes.extend_from_slice(longest.as_bytes());
    }
    let mut summary = Summary::default();
    FlowReader::new(&bytes[..]).visit_all(&mut summary).unwrap();
    assert_eq!((summary.enters, summary.most_frames(0), summary.frames_after(0)), (1_000, 1, 0));
    assert_eq!((summary.exits, report(FlowReader::new(&bytes[..]))), (u64::MAX, (1_000, true)));
}

#[test]
fn a_report_that_starts_in_the_middle_ignores_the_frames_below() {
    let bytes = [0x81, 0x82, 0x83, 0x02];
    let mut reader = FlowReader::new(&bytes[..]);
    assert!(matches!(reader.next_record(), Ok(Some((_, Record::Enter(_))))));
    assert!(matches!(reader.next_record(), Ok(Some((_, Record::Enter(_))))));
    let mut report = Report::default();
    reader.visit_all(&mut report).unwrap();
    assert_eq!(report.calls(), 1);
    let rows = report.rows();
    assert_eq!((rows.len(), rows[0].method.get(), rows[0].total), (1, 3, 1));
}

#[test]
fn ten_million_nested_frames_need_no_deep_stack() {
    const FRAMES: u64 = 10_000_000;
    let work = || {
        let exits = Encoded::exits(NonZeroU64::new(FRAMES).unwrap());
        let stream = || FlowReader::new(io::repeat(0x81).take(FRAMES).chain(exits.as_bytes()));
        let (mut summary, mut reader) = (Summary::default(), stream());
        reader.visit_all(&mut summary).unwrap();
        let mut report = Report::default();
        stream().visit_all(&mut report).unwrap();
        (summary, reader.tail(), report.rows()[0])
    };
    let small_stack = thread::Builder::new().stack_size(64 * 1024);
    let (summary, tail, row) = small_stack.spawn(work).unwrap().join().unwrap();
    assert_eq!((summary.enters, summary.exits), (FRAMES, FRAMES));
    assert_eq!((summary.most_frames(0), summary.unseen_exits(0)), (FRAMES, 0));
    assert_eq!((row.calls, row.total), (FRAMES, FRAMES));
    assert_eq!(tail, Tail::Complete);
}

/// The address space and the time that hostile files may use.
const LIMIT_KIB: u64 = 512 * 1024;
const LIMIT_SECONDS: u64 = 120;

#[cfg(target_os = "linux")]
#[test]
fn hostile_files_are_read_within_limits_of_memory_and_time() {
    let test = "it::corrupt::hostile_files_are_read_within_limits_of_memory_and_time";
    run_limited(test, LIMIT_KIB, LIMIT_SECONDS, read_hostile_files);
}

#[cfg(target_os = "linux")]
fn read_hostile_files() {
    ten_million_nested_frames_need_no_deep_stack();

    // A gigabyte of one byte.
    let mut reader = FlowReader::new(io::repeat(0xFF).take(1 << 30));
    assert!(reader.next_record().is_err());
    let mut reader = FlowReader::new(io::repeat(0x00).take(1 << 24));
    while reader.next_record().expect("exits are no error").is_some() {}

    // A hole of a gigabyte instead of each file, as a crash of the machine can leave.
    for name in [names::MANIFEST, names::IDS, names::METHODS, names::THREADS, "thread-2.jsonl"] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        write_small_trace(dir.path());
        let file = File::options().write(true).open(dir.path().join(name)).expect("it is there");
        file.set_len(1 << 30).expect("files may have holes");
        drop(file);
        let error = damage(dir.path());
        assert!(error.contains(name), "{error}");
        assert!(error.len() < 1_000, "{error}");
    }
}
