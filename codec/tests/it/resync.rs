//! Damage in a thread file of a whole directory: the error has its offset; everything before it is read, and
//! everything after the next byte that certainly ends a record. Every way to read does so.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::readers::{read_all, visit_all};
use crate::support::recorder::{Action, Recorder};
use flow_codec::format::names::{EventFormat, JOURNAL};
use flow_codec::read::{ThreadFile, Trace};
use flow_model::{RawEvent, Record, Stream, decode};

const THREAD_FILE: &str = "thread-1.flow";

/// A thread that has handed over a chunk, and recorded more since: some of its events are in the journal.
fn write_trace(dir: &Path) {
    use RawEvent::{Enter, Exit};
    let events = [
        Enter(1),
        Enter(300),
        Enter(1 << 20),
        Exit,
        Exit,
        Enter(2),
        Enter(70),
        Exit,
        Exit,
        Exit,
        Enter(i64::MAX as u64),
        Exit,
        Enter(5),
    ];
    let record = |event: &RawEvent| (1, Action::Record(*event));
    let mut actions: Vec<_> = events.iter().map(record).collect();
    actions.insert(11, (1, Action::HandOver));
    let mut recorder = Recorder::new(EventFormat::Binary, 64, usize::MAX);
    recorder.run(&actions).expect("it is not killed");
    recorder.save(dir);
    assert!(dir.join(JOURNAL).is_file());
}

fn thread(dir: &Path) -> ThreadFile {
    let trace = Trace::open(dir).expect("a trace");
    assert!(trace.damage().is_empty(), "{:?}", trace.damage());
    trace.files()[0].clone()
}

/// The events, read in every way. All ways must agree.
fn read(dir: &Path) -> Stream {
    let file = thread(dir);
    let stream = read_all(file.events().expect("it opens"));
    let Stream { records, damage, end } = stream.clone();
    let seen: Vec<Record> = records.into_iter().map(|(_, seen)| seen).collect();
    assert_eq!(visit_all(file.events().expect("it opens")), (seen, damage, end));
    stream
}

/// The records between these offsets.
fn between(stream: &Stream, from: u64, to: u64) -> Vec<(u64, Record)> {
    let is_between = |(offset, _): &&(u64, Record)| (from..to).contains(offset);
    stream.records.iter().filter(is_between).copied().collect()
}

#[test]
fn a_changed_byte_damages_at_most_up_to_the_next_certain_end_of_a_record() {
    let dir = tempfile::tempdir().unwrap();
    write_trace(dir.path());
    let whole = read(dir.path());
    assert!(whole.damage.is_empty());
    let path = dir.path().join(THREAD_FILE);
    let bytes = fs::read(&path).unwrap();
    let all = thread(dir.path()).bytes();
    assert!(bytes.len() > 20 && all > bytes.len() as u64, "some of it is in the journal");
    let file = File::options().write(true).open(&path).unwrap();
    let mut damaged = 0;
    for at in 0..bytes.len() {
        let record = whole.records.iter().rfind(|(offset, _)| *offset <= at as u64);
        let (start, _) = *record.expect("the first one begins the file");
        // Counts bytes after `at`, none of which is changed.
        let boundary = bytes[at + 1..].iter().position(|&byte| byte < 0x40);
        let after = boundary.map_or(bytes.len(), |further| at + 1 + further + 1) as u64;
        for change in 1..=u8::MAX {
            file.write_all_at(&[bytes[at] ^ change], at as u64).unwrap();
            let changed = read(dir.path());
            let context = format!("byte {at} ^ {change:02X}: {changed:?}");
            assert_eq!(between(&changed, 0, start), between(&whole, 0, start), "{context}");
            let mut in_file = bytes.clone();
            in_file[at] ^= change;
            let in_file = decode(&in_file).records;
            assert_eq!(between(&changed, 0, bytes.len() as u64), in_file, "{context}");
            for &(from, to) in &changed.damage {
                // Either damage of a number, or a gap before the journal.
                let is_gap = to == bytes.len() as u64;
                assert!(start <= from && from <= to && (to <= after || is_gap), "{context}");
                damaged += 1;
            }
            if boundary.is_some() {
                // The events in the journal follow too.
                assert_eq!(between(&changed, after, all), between(&whole, after, all), "{context}");
            }
        }
        file.write_all_at(&bytes[at..=at], at as u64).unwrap();
    }
    assert!(damaged > 100, "{damaged}");
}

#[test]
fn a_truncated_file_has_its_whole_records_and_the_gap_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    write_trace(dir.path());
    let whole = read(dir.path());
    let path = dir.path().join(THREAD_FILE);
    let bytes = fs::read(&path).unwrap();
    for len in 0..bytes.len() {
        fs::write(&path, &bytes[..len]).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let error = trace.damage()[0].to_string();
        let next = bytes.len();
        let gap = format!("end at offset {len}, but the journal continues at offset {next}");
        assert!(error.contains(THREAD_FILE) && error.contains(&gap), "{error}");
        let found = read_all(trace.files()[0].events().unwrap());
        let ends = whole.records.iter().map(|(offset, _)| *offset).skip(1);
        let records = ends.take_while(|end| *end <= len as u64).count();
        assert_eq!(found.records, whole.records[..records], "cut at {len}");
        assert!(found.damage.is_empty());
    }
}
