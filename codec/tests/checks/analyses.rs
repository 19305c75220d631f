//! Any bytes as calls: walked and added up as a plain stack does it.
//!
//! As they stand, damage and all; and each byte as an event, so that few methods meet often.

use flow_codec::analysis::Report;
use flow_codec::read::{FlowReader, ReadRecords};

use super::naive_decoder::decode_all;
use super::naive_tree::{naive_report, naive_walk, rows, walk};

/// A naive report looks through the stack at each call.
const MOST_EVENTS: usize = 1_000;

pub(super) fn check(bytes: &[u8]) {
    compare(bytes);
    compare(&bytes.iter().take(MOST_EVENTS).map(|&byte| event(byte)).collect::<Vec<_>>());
}

/// One of eight methods, or one to four exits.
fn event(byte: u8) -> u8 {
    if byte < 0xA0 { 0x80 | byte & 0x07 } else { byte & 0x03 }
}

fn compare(bytes: &[u8]) {
    let stream = decode_all(bytes);
    assert_eq!(walk(bytes), naive_walk(&stream));

    let (mut reader, mut report) = (FlowReader::new(bytes), Report::default());
    while reader.visit_all(&mut report).is_err() {}
    report.end_thread();
    assert_eq!(rows(&report), naive_report(&stream));
}
