//! A thread with a time mark wherever a section may begin.

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};

/// The events and the marks of ten calls of 1, each of which calls 2, with a mark before each event of 1: twenty borders.
pub(crate) fn ten_calls() -> (Vec<u8>, Vec<u8>) {
    let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
    let mut events = Vec::new();
    for call in 0..10_u64 {
        for (at, bytes) in [(0, &[0x81, 0x82][..]), (600, &[0x01])] {
            let position = Position::before(Offset::new(events.len() as u64));
            let at_ns = 1_000 * (call + 1) + at;
            let mark = Mark::Time { by_ns: at_ns, from_ns: at_ns, ran_us: None };
            encoder.encode(position, &mark, &mut marks);
            events.extend_from_slice(bytes);
        }
    }
    (events, marks)
}
