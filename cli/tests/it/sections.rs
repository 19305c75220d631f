//! Sums of a range of time from stored sections: what verbs show is the same.

use std::fs;
use std::path::Path;

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use tempfile::TempDir;

use crate::common::{flow, text};

/// A second and a half of a thread with 1,500,000 outermost calls, of which the times are known after each thousand; it waits
/// for a tenth of the time. Its last frame is not left.
fn long() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ids.properties"), "x.X#a()V=1\nx.X#b()V=2\nx.X#c()V=3\n").unwrap();
    let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
    let mut events = Vec::new();
    for thousand in 0..1500_u64 {
        let at = Position::before(Offset::new(events.len() as u64));
        let by_ns = 1_000_000 * thousand;
        let mark = Mark::Time { by_ns, from_ns: by_ns + 100_000, ran_us: Some(900) };
        encoder.encode(at, &mark, &mut marks);
        for call in 0..1000 {
            events.extend([0x81, 0x82 + u8::from(call % 7 == thousand % 7), 0x01]);
        }
    }
    events.push(0x81);
    fs::write(dir.path().join("thread-1.flow"), events).unwrap();
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    dir
}

const VERBS: [&[&str]; 9] = [
    &["report"],
    &["report", "--wall", "--format", "json"],
    &["report", "--time", "0.3s..1.2s", "--format", "json"],
    &["report", "--time", "300100us..300101us", "--format", "csv"],
    &["report", "--time", "..1s", "--wall"],
    &["report", "--time", "1.4995s..", "--thread", "1"],
    &["report", "--time", "0.3s..1.2s", "--exclude", "**#b"],
    &["report", "--time", "0.3s..0.4s", "--callers", "**#c"],
    &["graph", "--time", "1s..1.1s", "--format", "csv"],
];

fn all(trace: &Path) -> Vec<String> {
    let outs = VERBS.map(|args| {
        let run = flow(args, trace);
        assert_eq!((run.code, &*run.err), (Some(0), ""), "{args:?}");
        run.out.replace(trace.to_str().unwrap(), "")
    });
    outs.into()
}

/// The number of sections, their bytes, and what was done.
fn index(trace: &Path) -> (u64, u64, String) {
    let run = flow(&["index", "--format", "json"], trace);
    let row: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let number = |key: &str| row[key].as_u64().unwrap();
    let state = row["sections_state"].as_str().unwrap().to_owned();
    (number("sections"), number("sections_bytes"), state)
}

#[test]
fn stored_sections_change_no_answer() {
    let dir = long();
    let place = dir.path().join("thread-1.sections");
    let expected = all(dir.path());
    let (count, bytes, state) = index(dir.path());
    assert!((3..10).contains(&count) && bytes < 2000, "{count} sections of {bytes} bytes");
    assert_eq!((state, fs::metadata(&place).unwrap().len()), ("created".to_owned(), bytes));
    assert_eq!(index(dir.path()), (count, bytes, "already existed".to_owned()));
    assert_eq!(all(dir.path()), expected);
    let info = flow(&["info"], dir.path()).out;
    assert!(info.contains("\nsections  with sums by time, "), "{info}");

    // Events that are not among the samples, in the middle of the range, are not read.
    let flow_file = dir.path().join("thread-1.flow");
    let events = fs::read(&flow_file).unwrap();
    let mut other = events.clone();
    other[2_250_001] ^= 1;
    fs::write(&flow_file, &other).unwrap();
    assert_eq!(all(dir.path())[2], expected[2]);
    // But others are not believed.
    fs::write(&flow_file, &other[3..]).unwrap();
    assert_eq!(flow(&["report"], dir.path()).code, Some(0));
    assert_eq!(index(dir.path()).2, "created again");
    fs::write(&flow_file, &events).unwrap();
    assert_eq!(all(dir.path()), expected);

    // A trace in one file has them too.
    index(dir.path());
    let file = dir.path().join("app.flowtrace");
    assert_eq!(flow(&["convert", &text(dir.path())], &file).code, Some(0));
    assert_eq!(index(&file), (count, bytes, "already existed".to_owned()));
    for text in [0, 4, 5, 7] {
        assert_eq!(all(&file)[text], expected[text]);
    }
    assert_eq!(flow(&["index", "--remove"], dir.path()).code, Some(0));
    assert!(!place.exists());
}
