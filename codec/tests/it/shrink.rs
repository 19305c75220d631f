//! Leaving out the calls of tests: what is written is what a recording without these calls would be.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::fs::{self, File};
use std::path::Path;

use flow_codec::convert::{Cut, Shrink};
use flow_codec::format::container::StreamKind;
use flow_codec::format::marks::{Mark, MarkEncoder, Position};
use flow_codec::format::shape_name::ShapeName;
use flow_codec::format::test_marks::{LeftOut, Outcome, TestMark};
use flow_codec::read::{TestRun, Trace};
use flow_codec::write::{Compression, ContainerWriter};
use flow_codec::{Offset, ThreadId};

const MANIFEST: &str = r#"{"format_version":1,"tool":"flow-agent 0.1.0","engine":"events","event_format":"binary",
    "options":{},"pid":1,"host":"h","command":["java"],
    "jvm":{"name":"OpenJDK","version":"17","home":"/jdk"},"start_unix_ns":7}"#;

fn at(offset: u64, exits: u64) -> Position {
    Position { offset: Offset::new(offset), exits }
}

fn test(outcome: Option<Outcome>, name: &str) -> Mark {
    Mark::Test(TestMark { outcome, name: name.to_owned(), detail: String::new() })
}

fn time(ns: u64) -> Mark {
    Mark::Time { by_ns: ns, from_ns: ns, ran_us: Some(1) }
}

fn write(path: &Path, events: &[u8], marks: &[(Position, Mark)]) {
    let (mut encoder, mut bytes) = (MarkEncoder::with_header(), Vec::new());
    for (position, mark) in marks {
        encoder.encode(*position, mark, &mut bytes);
    }
    encoder.finish(&mut bytes);
    let file = File::create(path).unwrap();
    let mut writer = ContainerWriter::new(file, Compression::Off).unwrap();
    let thread = Some(ThreadId::new(1));
    writer.write_stream(StreamKind::Manifest, None, MANIFEST.as_bytes()).unwrap();
    writer.write_stream(StreamKind::Events, thread, events).unwrap();
    writer.write_stream(StreamKind::Marks, thread, &bytes[..]).unwrap();
    writer.finish().unwrap();
}

fn left() -> LeftOut {
    let behaviour = ShapeName::of_digits("1ac906bc5c63e9da1ac906bc5c63e9da").unwrap();
    LeftOut { calls: 2, counted: 2, start_ns: Some(20), end_ns: Some(40), behaviour }
}

fn cut(run: &TestRun) -> Cut {
    let (test, range) = (run.name.clone(), run.ranges[0].clone());
    Cut { test, range, helpers: Vec::new(), left: left() }
}

/// Leaves out the tests with this name.
fn shrink(from: &Path, name: &str) -> (u64, Trace) {
    let to = from.with_extension("small.flowtrace");
    let trace = Trace::open(from).unwrap();
    let (runs, _) = TestRun::read_all(&trace);
    let cuts = runs.iter().filter(|run| run.name == name).map(cut).collect();
    let mut shrink = Shrink::default();
    let stay = shrink.add(&trace.files()[0], cuts).unwrap();
    shrink.write(&trace, &to, &|| false).unwrap();
    let shrunk = Trace::open(&to).unwrap();
    fs::remove_file(to).unwrap();
    (stay, shrunk)
}

fn marks(trace: &Trace) -> Vec<(u64, u64, String)> {
    let mut marks = trace.files()[0].marks().unwrap().unwrap();
    let next = || marks.next_mark().unwrap();
    let shown = |(at, mark): (Position, Mark)| {
        let text = match mark {
            Mark::Time { by_ns, ran_us, .. } => format!("{by_ns} ran {}", ran_us.unwrap()),
            Mark::Test(test) => test.to_string(),
            other => format!("{other:?}"),
        };
        (at.offset.get(), at.exits, text)
    };
    std::iter::from_fn(next).map(shown).collect()
}

fn events(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    let content = flow_codec::read::Content::open(&trace.files()[0]).unwrap();
    std::io::Read::read_to_end(&mut content.reader(), &mut bytes).unwrap();
    bytes
}

#[test]
fn calls_and_marks_of_a_test_are_left_out_and_others_move() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.flowtrace");
    // In frame 1: call 2, the test with calls 3 > 4, call 5.
    let calls = [0x81, 0x82, 0x00, 0x83, 0x84, 0x01, 0x85, 0x01];
    let all = [
        (at(1, 0), time(10)),
        // After the exit that is at offset 2.
        (at(2, 1), test(None, "t")),
        (at(2, 1), time(20)),
        (at(4, 0), time(30)),
        (at(5, 1), Mark::Note("inside".into())),
        (at(5, 2), time(40)),
        (at(5, 2), test(Some(Outcome::Passed), "t")),
        // After the exits with which the test ends.
        (at(5, 2), Mark::Note("at its end".into())),
        (at(7, 0), Mark::Note("after".into())),
        (at(7, 2), time(50)),
    ];
    write(&path, &calls, &all);
    let (stay, shrunk) = shrink(&path, "t");
    assert_eq!(stay, 0);
    assert_eq!(events(&shrunk), [0x81, 0x82, 0x00, 0x85, 0x01]);
    let detail = left().to_string();
    let expected = [
        (1, 0, "10 ran 1".to_owned()),
        (2, 1, "test started t".to_owned()),
        (3, 0, "40 ran 3".to_owned()),
        (3, 0, format!("test passed t ({detail})")),
        (3, 0, "Note(\"at its end\")".to_owned()),
        (4, 0, "Note(\"after\")".to_owned()),
        (4, 2, "50 ran 1".to_owned()),
    ];
    assert_eq!(marks(&shrunk), expected);
    let (runs, errors) = TestRun::read_all(&shrunk);
    assert!(errors.is_empty());
    assert_eq!(runs[0].left_out, Some(left()));
    assert_eq!((runs[0].elapsed_ns(), &*runs[0].detail), (Some(20), ""));
}

#[test]
fn a_test_that_ends_in_another_frame_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.flowtrace");
    let started = |offset, exits| (at(offset, exits), test(None, "t"));
    let ended = |offset, exits| (at(offset, exits), test(Some(Outcome::Passed), "t"));
    for (calls, marks) in [
        // It leaves a frame that was open before it.
        (&[0x81, 0x82, 0x01][..], [started(2, 0), ended(2, 2)]),
        // It leaves one open.
        (&[0x81, 0x82, 0x01], [started(1, 0), ended(2, 0)]),
        // It ends within an exit run, or begins there.
        (&[0x81, 0x82, 0x01], [started(1, 0), ended(2, 1)]),
        (&[0x81, 0x82, 0x01, 0x83, 0x00], [started(2, 1), ended(4, 1)]),
    ] {
        write(&path, calls, &marks);
        let (stay, shrunk) = shrink(&path, "t");
        assert_eq!((stay, events(&shrunk)), (1, calls.to_vec()), "{marks:?}");
        assert_eq!(TestRun::read_all(&shrunk).0[0].left_out, None);
    }
}

#[test]
fn what_is_stopped_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.flowtrace");
    write(&path, &[0x81, 0x00], &[(at(0, 0), test(None, "t"))]);
    let trace = Trace::open(&path).unwrap();
    let written = Shrink::default().write(&trace, &dir.path().join("b.flowtrace"), &|| true);
    assert!(written.unwrap_err().to_string().contains("stopped"));
}
