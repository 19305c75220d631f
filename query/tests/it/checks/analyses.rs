//! Arbitrary bytes as calls: the sums are those of a plain stack.
//!
//! Once as they are, with damage; and once with an event for each byte, so that a few methods call each other
//! often.

use std::collections::BTreeMap;

use flow_codec::read::{FlowReader, ReadRecords};
use flow_model::decode;
use flow_query::analysis::{Graph, Report};

use crate::support::calls::{naive_paths, naive_report, rows};

/// A naive report searches the whole stack at each call.
const MOST_EVENTS: usize = 1_000;

pub(super) fn check(bytes: &[u8]) {
    compare(bytes);
    let events: Vec<_> = bytes.iter().take(MOST_EVENTS).map(|&byte| event(byte)).collect();
    compare(&events);
    compare_paths(&events);
}

/// One of eight methods, or one to four exits.
pub(super) fn event(byte: u8) -> u8 {
    if byte < 0xA0 { 0x80 | byte & 0x07 } else { byte & 0x03 }
}

fn compare(bytes: &[u8]) {
    let stream = decode(bytes);
    let (mut reader, mut report) = (FlowReader::new(bytes), Report::default());
    while reader.visit_all(&mut report).is_err() {}
    report.end_thread();
    assert_eq!(rows(&report), naive_report(&stream));
}

/// As two threads, added one after the other.
fn compare_paths(bytes: &[u8]) {
    let (one, other) = bytes.split_at(bytes.len() / 3);
    let mut expected = naive_paths(&decode(one));
    for (path, calls) in naive_paths(&decode(other)) {
        *expected.entry(path).or_default() += calls;
    }
    let mut graph = Graph::default();
    for bytes in [one, other] {
        FlowReader::new(bytes).visit_all(&mut graph).expect("sound bytes");
        graph.end_thread();
    }
    let tree = graph.into_tree();
    let mut paths = BTreeMap::new();
    for (path, row) in tree.rows() {
        let stack: Vec<_> = tree.stack(path).iter().map(|method| method.get()).collect();
        let within =
            expected.range(stack.clone()..).take_while(|(path, _)| path.starts_with(&stack));
        assert_eq!(row.total, within.map(|(_, calls)| calls).sum::<u64>());
        paths.insert(stack, row.calls);
    }
    assert_eq!(paths, expected);
}
