//! Files with blocks of many threads.

use std::collections::BTreeMap;

use crate::leb128::{take, take_len};

/// What a thread has in a file with others: events and marks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contained {
    /// As in `thread-<id>.flow`.
    pub events: Vec<u8>,
    /// As in `thread-<id>.marks`.
    pub marks: Vec<u8>,
}

/// The threads in a container, and the lines about them, as the recorder writes it: only lines are compressed, and the
/// pieces of a stream follow one another. A last block that is not whole is left out.
///
/// # Panics
/// The bytes are something else.
#[must_use]
pub fn decode_container(bytes: &[u8]) -> (BTreeMap<u64, Contained>, Vec<u8>) {
    let mut threads: BTreeMap<u64, Contained> = BTreeMap::new();
    let mut lines = Vec::new();
    assert_eq!(&bytes[..16], b"flowtrce\0\0\0\0\0\0\0\x01", "magic and version");
    let mut rest = &bytes[16..];
    while !rest.is_empty() && rest != [12] {
        assert_eq!(rest[0], 10, "a block");
        let number = |range: std::ops::Range<usize>| {
            rest.get(range)?.iter().try_fold(0_u64, |n, byte| Some(n * 256 + u64::from(*byte)))
        };
        let (Some(thread), Some(len)) = (number(1..9), number(9..13)) else {
            return (threads, lines);
        };
        let end = 17 + usize::try_from(len).expect("a length");
        let Some(mut objects) = rest.get(17..end).filter(|_| rest.len() > end) else {
            return (threads, lines);
        };
        assert_eq!(rest[end], 11, "the end of the block");
        let summed = [&rest[1..13], objects].concat();
        assert_eq!(number(13..17), Some(u64::from(crc32(&summed))), "the checksum");
        while let Some((&kind, mut object)) = objects.split_first() {
            let len = take_len(&mut object);
            let (mut body, after) = object.split_at(len);
            objects = after;
            let offset = take(&mut body);
            let coding = body[0];
            body = &body[1..];
            let packed;
            if kind == 3 && coding == 2 {
                let len = take_len(&mut body);
                packed = zstd::bulk::decompress(body, len).expect("a Zstandard frame");
                body = &packed;
            } else {
                assert_eq!(coding, 0, "not compressed");
            }
            let stream = match kind {
                3 => &mut lines,
                4 => &mut threads.entry(thread).or_default().events,
                5 => &mut threads.entry(thread).or_default().marks,
                other => panic!("kind {other}"),
            };
            assert_eq!(offset, stream.len() as u64, "pieces follow one another");
            stream.extend_from_slice(body);
        }
        rest = &rest[end + 1..];
    }
    (threads, lines)
}

/// CRC-32, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
