//! Any bytes as a thread file: what the naive decoder sees, and no step or call too many.

#![no_main]

#[path = "../../tests/support/naive_decoder.rs"]
mod naive_decoder;
#[path = "../../tests/support/pieces.rs"]
mod pieces;

use flow_codec::analysis::Report;
use flow_codec::read::FlowReader;
use flow_codec::tree::Walk;
use libfuzzer_sys::fuzz_target;
use naive_decoder::{End, Seen, decode_all, read_all};
use pieces::Pieces;

fuzz_target!(|bytes: &[u8]| {
    let expected = decode_all(bytes);
    assert_eq!(read_all(FlowReader::new(bytes)), expected);
    assert_eq!(
        read_all(FlowReader::new(Pieces::new(bytes, &[3, 0, 1, 7]))),
        expected
    );

    let sound = !matches!(expected.end, End::Oversized(_));
    let enters = expected
        .records
        .iter()
        .filter(|(_, seen)| matches!(seen, Seen::Enter(_)));
    let enters = enters.count() as u64;

    let mut walk = Walk::new(FlowReader::new(bytes));
    let mut steps = 0;
    let walked = loop {
        match walk.next_step() {
            Ok(Some(_)) => steps += 1,
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    assert_eq!(walked, sound);
    assert!(steps <= 2 * bytes.len());
    assert_eq!(walk.totals().enters, enters);

    let mut walk = Walk::new(FlowReader::new(bytes));
    let mut report = Report::default();
    assert_eq!(report.add_thread(|| walk.next_step()).is_ok(), sound);
    assert_eq!(report.calls(), enters);
    for row in report.rows() {
        assert!(row.calls <= row.total && row.total <= enters);
    }
});
