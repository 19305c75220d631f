//! Arbitrary bytes as a thread file: readers agree with the model, record by record, together, and in pieces.

use flow_codec::read::FlowReader;
use flow_model::{Stream, decode};

use crate::support::pieces::Pieces;
use crate::support::readers::{read_all, visit_all};

const PIECES: [usize; 4] = [3, 0, 1, 7];

pub(super) fn check(bytes: &[u8]) {
    let expected = decode(bytes);
    assert_eq!(read_all(FlowReader::new(bytes)), expected);
    assert_eq!(read_all(FlowReader::new(Pieces::new(bytes, &PIECES))), expected);

    let Stream { records, damage, end } = expected;
    let expected = (records.into_iter().map(|(_, seen)| seen).collect(), damage, end);
    assert_eq!(visit_all(FlowReader::new(bytes)), expected);
    assert_eq!(visit_all(FlowReader::new(Pieces::new(bytes, &PIECES))), expected);
}
