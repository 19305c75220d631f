//! Containers as the independent model of the formats reads them.

use std::collections::BTreeMap;

use flow_codec::ThreadId;
use flow_codec::format::container::StreamKind;
use flow_codec::write::{Compression, ContainerWriter, MAX_GROUPED_BYTES};
use flow_model::decode_container;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

fn unpack(coding: u8, packed: &[u8], most: usize) -> Vec<u8> {
    match coding {
        1 => lz4_flex::block::decompress(packed, most).expect("whole"),
        2 => zstd::bulk::decompress(packed, most).expect("whole"),
        other => panic!("coding {other}"),
    }
}

/// Lines of threads that start and end, and others.
fn lines() -> impl Strategy<Value = String> {
    let line = (0..4, 0_u64..9000, any::<u64>(), "[a-z\"\\\\é]{0,4}").prop_map(
        |(kind, id, at, name)| match kind {
            0 => format!("{{\"event\":\"end\",\"id\":{id},\"at_ns\":{at}}}\n"),
            1 => format!("{{\"event\":\"rename\",\"id\":{id},\"name\":\"{name}\",\"at_ns\":{at}}}\n"),
            _ => format!(
                "{{\"event\":\"start\",\"id\":{id},\"name\":\"{name}\",\"daemon\":{},\"virtual\":{},\"at_ns\":{at}}}\n",
                at % 2 == 0,
                kind == 2,
            ),
        },
    );
    vec(line, 0..40).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn the_model_reads_the_streams_that_are_written(
        threads in btree_map(any::<u64>(), (vec(0_u8..4, 0..60), vec(0_u8..9, 0..9)), 0..40),
        large in 0_usize..3 * MAX_GROUPED_BYTES,
        lines in lines(),
        compression in prop::sample::select(vec![
            Compression::Off,
            Compression::Lz4,
            Compression::Zstd(1),
        ]),
    ) {
        let large = vec![0x81; large];
        let mut expected = BTreeMap::new();
        let mut writer = ContainerWriter::new(Vec::new(), compression).unwrap();
        let mut write = |kind, code, thread, bytes: &[u8]| {
            let of = (thread > 0).then(|| ThreadId::new(thread));
            writer.write_stream(kind, of, bytes).unwrap();
            expected.insert((code, thread), bytes.to_vec());
        };
        write(StreamKind::Threads, 3, 0, lines.as_bytes());
        for (thread, (events, marks)) in threads.iter().filter(|(thread, _)| **thread > 7) {
            write(StreamKind::Events, 4, *thread, events);
            write(StreamKind::Marks, 5, *thread, marks);
        }
        write(StreamKind::Events, 4, 7, &large);
        write(StreamKind::Manifest, 6, 0, b"{}");
        let (bytes, len) = writer.finish().unwrap();
        prop_assert_eq!(bytes.len() as u64, len);
        prop_assert_eq!(decode_container(&bytes, unpack), expected);
    }
}
