//! Files with blocks of many threads.

use std::collections::BTreeMap;

use crate::leb128::{take, take_len};

/// The streams in a container: kind, thread, and bytes. The pieces of a stream may come in any order. Those that are
/// compressed are passed to `unpack`, with their coding and how many bytes they become. A last block that is not
/// whole is left out.
///
/// # Panics
/// The bytes are something else, or a stream has a gap.
#[must_use]
pub fn decode_container(
    bytes: &[u8],
    unpack: impl Fn(u8, &[u8], usize) -> Vec<u8>,
) -> BTreeMap<(u8, u64), Vec<u8>> {
    const MANIFEST: u8 = 6;
    let mut pieces: BTreeMap<(u8, u64), BTreeMap<u64, Vec<u8>>> = BTreeMap::new();
    assert_eq!(&bytes[..16], b"flowtrce\0\0\0\0\0\0\0\x01", "magic and version");
    let mut rest = &bytes[16..];
    while !rest.is_empty() && rest != [12] {
        assert_eq!(rest[0], 10, "a block");
        let number = |range: std::ops::Range<usize>| {
            rest.get(range)?.iter().try_fold(0_u64, |n, byte| Some(n * 256 + u64::from(*byte)))
        };
        let (Some(thread), Some(len)) = (number(1..9), number(9..13)) else { break };
        let end = 17 + usize::try_from(len).expect("a length");
        let Some(mut objects) = rest.get(17..end).filter(|_| rest.len() > end) else { break };
        assert_eq!(rest[end], 11, "the end of the block");
        let summed = [&rest[1..13], objects].concat();
        assert_eq!(number(13..17), Some(u64::from(crc32(&summed))), "the checksum");
        while let Some((&kind, mut object)) = objects.split_first() {
            let len = take_len(&mut object);
            let (mut body, after) = object.split_at(len);
            objects = after;
            let offset = take(&mut body);
            let (&coding, mut body) = body.split_first().expect("a coding");
            let piece = match coding {
                0 => body.to_vec(),
                _ => {
                    let len = take_len(&mut body);
                    let piece = unpack(coding, body, len);
                    assert_eq!(piece.len(), len, "bytes of a compressed piece");
                    piece
                }
            };
            let stream = pieces.entry((kind, thread)).or_default();
            if kind == MANIFEST {
                // The last one counts.
                stream.clear();
            }
            assert_eq!(stream.insert(offset, piece), None, "two pieces at {offset}");
        }
        rest = &rest[end + 1..];
    }
    let join = |pieces: BTreeMap<u64, Vec<u8>>| {
        let mut stream = Vec::new();
        for (offset, piece) in pieces {
            assert_eq!(offset, stream.len() as u64, "pieces follow one another");
            stream.extend_from_slice(&piece);
        }
        stream
    };
    pieces.into_iter().map(|(stream, pieces)| (stream, join(pieces))).collect()
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
