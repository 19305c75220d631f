//! Any events, cut into any chunks: folded, they are the same events in canonical form.
//!
//! The first byte says how many events a chunk holds; the rest is read as `.flow`.

#![no_main]

#[path = "../../tests/support/naive_decoder.rs"]
mod naive_decoder;

use flow_codec::MethodId;
use flow_codec::format::flow::Encoded;
use flow_codec::read::FlowReader;
use flow_codec::write::{Fold, RAW_EXIT, count_events};
use libfuzzer_sys::fuzz_target;
use naive_decoder::{End, Seen, decode_all, read_all};

/// Longer runs only make the fuzzer slow.
const LONGEST_RUN: u64 = 300;

fuzz_target!(|bytes: &[u8]| {
    let Some((&size, bytes)) = bytes.split_first() else {
        return;
    };

    let mut events: Vec<Vec<u8>> = Vec::new();
    let mut expected: Vec<Seen> = Vec::new();
    for (_, seen) in decode_all(bytes).records {
        match seen {
            Seen::Enter(method) => {
                let method = MethodId::new(method).expect("at most 63 bits");
                events.push(Encoded::enter(method).as_bytes().to_vec());
                expected.push(seen);
            }
            Seen::Exits(count) => {
                let count = count.min(LONGEST_RUN);
                events.extend((0..count).map(|_| vec![RAW_EXIT]));
                match expected.last_mut() {
                    Some(Seen::Exits(run)) => *run += count,
                    _ => expected.push(Seen::Exits(count)),
                }
            }
        }
    }

    let (mut fold, mut folded) = (Fold::default(), Vec::new());
    let mut counted = 0;
    for chunk in events.chunks(usize::from(size).max(1)) {
        let raw = chunk.concat();
        let counts = count_events(&raw);
        counted += counts.enters + counts.exits;
        fold.push(&raw, &mut folded);
    }
    fold.finish(&mut folded);
    assert_eq!(counted, events.len() as u64);

    let stream = read_all(FlowReader::new(&folded[..]));
    assert_eq!(stream, decode_all(&folded));
    assert_eq!(stream.end, End::Complete);
    let seen: Vec<Seen> = stream.records.iter().map(|(_, seen)| *seen).collect();
    assert_eq!(seen, expected);
});
