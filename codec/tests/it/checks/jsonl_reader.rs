//! Any bytes as a thread file of JSON lines: what each line says by itself, the same in pieces, and again
//! when it is written anew.

use std::io::Read;

use flow_codec::Error;
use flow_codec::format::flow::Record;
use flow_codec::format::jsonl;
use flow_codec::read::{JsonlReader, ReadRecords, Tail};

use crate::support::pieces::Pieces;

/// The records with their offsets, the lines that are none, and the tail.
type Outcome = (Vec<(u64, Record)>, Vec<u64>, Option<u64>);

pub(super) fn check(bytes: &[u8]) {
    let outcome = read(bytes);
    assert_eq!(outcome, naive(bytes));
    assert_eq!(read(Pieces::new(bytes, &[5, 0, 1, 11])), outcome);

    let (records, ..) = outcome;
    let mut written = Vec::new();
    for &(_, record) in &records {
        jsonl::encode(record, &mut written);
    }
    let (again, bad, tail) = read(&written[..]);
    assert_eq!((bad.len(), tail), (0, None));
    assert!(again.iter().map(|(_, record)| record).eq(records.iter().map(|(_, record)| record)));
}

fn read(input: impl Read) -> Outcome {
    let mut reader = JsonlReader::new(input);
    let (mut records, mut bad) = (Vec::new(), Vec::new());
    loop {
        match reader.next_record() {
            Ok(Some((offset, record))) => records.push((offset.get(), record)),
            Ok(None) => break,
            Err(Error::BadLine { line, .. }) => bad.push(line),
            Err(error) => panic!("bytes in memory cannot fail with: {error}"),
        }
    }
    let tail = match reader.tail() {
        Tail::Complete => None,
        Tail::Truncated { offset } => Some(offset.get()),
    };
    (records, bad, tail)
}

/// Line by line. The bytes of a fuzzer are fewer than a line may have.
fn naive(bytes: &[u8]) -> Outcome {
    let (mut records, mut bad) = (Vec::new(), Vec::new());
    let mut at = 0;
    let mut lines: Vec<_> = bytes.split(|&byte| byte == b'\n').collect();
    let cut_off = lines.pop().unwrap_or_default();
    for (line, number) in lines.into_iter().zip(1..) {
        match std::str::from_utf8(line).map(jsonl::decode_line) {
            Ok(Ok(record)) => records.extend(record.map(|record| (at, record))),
            _ => bad.push(number),
        }
        at += line.len() as u64 + 1;
    }
    (records, bad, (!cut_off.is_empty()).then_some(at))
}
