//! Any bytes as a thread file: what the naive decoder sees, and no step or call too many.

#![no_main]

#[path = "../../tests/support/naive_decoder.rs"]
mod naive_decoder;
#[path = "../../tests/support/pieces.rs"]
mod pieces;

use flow_codec::analysis::Report;
use flow_codec::read::{FlowReader, ReadRecords};
use flow_codec::tree::Walk;
use libfuzzer_sys::fuzz_target;
use naive_decoder::{Seen, decode_all, read_all, visit_all};
use pieces::Pieces;

fuzz_target!(|bytes: &[u8]| {
    let expected = decode_all(bytes);
    assert_eq!(read_all(FlowReader::new(bytes)), expected);
    assert_eq!(
        read_all(FlowReader::new(Pieces::new(bytes, &[3, 0, 1, 7]))),
        expected
    );

    let damage = expected.damage.len();
    let enters = expected
        .records
        .iter()
        .filter(|(_, seen)| matches!(seen, Seen::Enter(_)));
    let enters = enters.count() as u64;

    let mut walk = Walk::new(FlowReader::new(bytes));
    let (mut steps, mut errors) = (0, 0);
    loop {
        match walk.next_step() {
            Ok(Some(_)) => steps += 1,
            Ok(None) => break,
            Err(_) => errors += 1,
        }
    }
    assert_eq!(errors, damage);
    assert!(steps <= 2 * bytes.len());
    assert_eq!(walk.totals().enters, enters);

    let seen: Vec<_> = expected.records.iter().map(|(_, seen)| *seen).collect();
    let visited = visit_all(FlowReader::new(bytes));
    assert_eq!(visited, (seen, expected.damage, expected.end));

    let (mut reader, mut report) = (FlowReader::new(bytes), Report::default());
    while reader.visit_all(&mut report).is_err() {}
    report.end_thread();
    assert_eq!(report.calls(), enters);
    for row in report.rows() {
        assert!(row.calls <= row.total && row.total <= enters);
    }
});
