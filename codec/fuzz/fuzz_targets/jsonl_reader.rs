//! Any bytes as a thread file of JSON lines: the same whole and in pieces, and again when rewritten.

#![no_main]

#[path = "../../tests/support/pieces.rs"]
mod pieces;

use std::io::Read;

use flow_codec::format::flow::Record;
use flow_codec::format::jsonl;
use flow_codec::read::{JsonlReader, ReadRecords, Tail};
use libfuzzer_sys::fuzz_target;
use pieces::Pieces;

/// The records with their offsets, and how they end: the tail, or the message of the error.
type Outcome = (Vec<(u64, Record)>, Result<Tail, String>);

fn read(input: impl Read) -> Outcome {
    let mut reader = JsonlReader::new(input);
    let mut records = Vec::new();
    loop {
        match reader.next_record() {
            Ok(Some((offset, record))) => records.push((offset.get(), record)),
            Ok(None) => return (records, Ok(reader.tail())),
            Err(error) => return (records, Err(error.to_string())),
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let (records, end) = read(bytes);
    assert_eq!(
        read(Pieces::new(bytes, &[5, 0, 1, 11])),
        (records.clone(), end)
    );
    let mut written = Vec::new();
    for &(_, record) in &records {
        jsonl::encode(record, &mut written);
    }
    let (again, end) = read(&written[..]);
    assert_eq!(end, Ok(Tail::Complete));
    assert!(
        again
            .iter()
            .map(|(_, record)| record)
            .eq(records.iter().map(|(_, record)| record))
    );
});
