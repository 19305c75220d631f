//! The reader, compared with the model on arbitrary bytes.

use crate::support::calls::{naive_report, rows};
use crate::support::pieces::Pieces;
use crate::support::readers::{read_all, visit_all};
use flow_codec::read::{FlowReader, ReadRecords};
use flow_model::{End, Record, Stream, decode};
use flow_query::analysis::Report;
use proptest::prelude::*;

/// Bytes at the limits of the format, which random ones rarely reach.
fn border_byte() -> impl Strategy<Value = u8> {
    prop::sample::select(vec![
        0x00, 0x01, 0x02, 0x3F, 0x40, 0x41, 0x7F, 0x80, 0x81, 0xBF, 0xC0, 0xFE, 0xFF,
    ])
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let long_numbers = prop::collection::vec(
        prop_oneof![6 => Just(0x80_u8), 6 => Just(0xFF), 1 => border_byte()],
        0..64,
    );
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..256),
        prop::collection::vec(border_byte(), 0..256),
        long_numbers,
    ]
}

/// Only one in Miri, which is slow.
const CASES: u32 = if cfg!(miri) { 1 } else { 2_000 };

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_decoders_see_the_same_in_any_bytes(
        bytes in bytes(),
        sizes in prop::collection::vec(1_usize..12, 1..8),
    ) {
        let expected = decode(&bytes);
        prop_assert_eq!(&read_all(FlowReader::new(&bytes[..])), &expected);
        prop_assert_eq!(&read_all(FlowReader::new(Pieces::new(&bytes, &sizes))), &expected);
        let Stream { records, damage, end } = expected;
        let seen: Vec<_> = records.into_iter().map(|(_, seen)| seen).collect();
        let expected = (seen, damage, end);
        prop_assert_eq!(&visit_all(FlowReader::new(&bytes[..])), &expected);
        prop_assert_eq!(&visit_all(FlowReader::new(Pieces::new(&bytes, &sizes))), &expected);
    }

    #[test]
    fn a_report_counts_what_a_stack_counts(
        bytes in prop::collection::vec(prop_oneof![3 => 0x80_u8..0x86, 2 => 0x00_u8..0x04], 0..200),
    ) {
        let mut report = Report::default();
        FlowReader::new(&bytes[..]).visit_all(&mut report).unwrap();
        report.end_thread();
        prop_assert_eq!(rows(&report), naive_report(&decode(&bytes)));
    }
}

#[test]
#[cfg_attr(miri, ignore = "slow there")]
fn all_streams_of_up_to_two_bytes_are_read_alike() {
    for first in 0..=u8::MAX {
        let bytes = [first];
        assert_eq!(read_all(FlowReader::new(&bytes[..])), decode(&bytes));
        for second in 0..=u8::MAX {
            let bytes = [first, second];
            // Without a buffer for each stream: 65 536 of them would take longer than everything else
            // together.
            let mut left = &bytes[..];
            let mut offset = 0;
            let mut records = Vec::new();
            let end = loop {
                use flow_codec::Undecoded;
                use flow_codec::format::flow;
                match flow::decode(left) {
                    Ok((record, len)) => {
                        let seen = match record {
                            flow::Record::Enter(method) => Record::Enter(method.get()),
                            flow::Record::Exit(count) => Record::Exits(count.get()),
                        };
                        records.push((offset, seen));
                        offset += len as u64;
                        left = &left[len..];
                    }
                    Err(Undecoded::Incomplete) if left.is_empty() => break End::Complete,
                    Err(Undecoded::Incomplete) => break End::Truncated(offset),
                    Err(Undecoded::Invalid(_)) => unreachable!("it takes more bytes"),
                }
            };
            let damage = Vec::new();
            assert_eq!(Stream { records, damage, end }, decode(&bytes), "{bytes:02X?}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "slow there")]
fn records_across_any_buffer_border_are_whole() {
    const LONGEST: [u8; 10] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01];
    for shift in 0..LONGEST.len() {
        let mut bytes = vec![0x81; shift];
        while bytes.len() < 600_000 {
            bytes.extend_from_slice(&LONGEST);
        }
        bytes.extend_from_slice(&LONGEST[..shift]);
        let stream = read_all(FlowReader::new(&bytes[..]));
        assert_eq!(stream, decode(&bytes), "shift {shift}");
    }
}
