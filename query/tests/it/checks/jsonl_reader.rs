//! Arbitrary bytes as a thread file of JSON lines: each line is converted by itself, or reported.

use flow_codec::Error;
use flow_codec::format::{flow, jsonl};
use flow_model::{End, Record};

use super::scratch;
use crate::support::readers::read_all;

/// More bad lines are not named.
const MOST_NAMED: usize = 20;

pub(super) fn check(bytes: &[u8]) {
    let trace = scratch::opened(&[("thread-2.jsonl", bytes)]);
    let number = |error: &Error| match error {
        Error::BadLine { line, .. } => *line,
        error => panic!("bytes in memory cannot fail with: {error}"),
    };
    let mut bad: Vec<u64> = trace.damage().iter().map(number).collect();
    let [file] = trace.files() else { panic!("{:?}", trace.files()) };
    let stream = read_all(file.events().expect("it is there"));
    let seen = stream.records.into_iter().map(|(_, seen)| seen).collect();
    let is_cut = stream.end != End::Complete;

    let (expected, mut expected_bad, expected_cut) = naive(bytes);
    expected_bad.truncate(MOST_NAMED);
    bad.truncate(MOST_NAMED);
    assert_eq!((seen, bad, is_cut), (expected, expected_bad, expected_cut));
    assert_eq!(file.stored_bytes(), bytes.len() as u64);
}

/// Line by line. A fuzzer's input is shorter than the longest line.
fn naive(bytes: &[u8]) -> (Vec<Record>, Vec<u64>, bool) {
    let (mut events, mut bad) = (Vec::new(), Vec::new());
    let mut lines: Vec<_> = bytes.split(|&byte| byte == b'\n').collect();
    let cut_off = lines.pop().unwrap_or_default();
    for (line, number) in lines.into_iter().zip(1..) {
        match jsonl::decode_line(&String::from_utf8_lossy(line)) {
            Ok(Some(flow::Record::Enter(method))) => events.push(Record::Enter(method.get())),
            Ok(Some(flow::Record::Exit(_))) => match events.last_mut() {
                Some(Record::Exits(count)) => *count += 1,
                _ => events.push(Record::Exits(1)),
            },
            Ok(None) => {}
            Err(_) => bad.push(number),
        }
    }
    (events, bad, !cut_off.is_empty())
}
