//! Files with blocks of many threads.

use std::collections::BTreeMap;

use crate::leb128::{take, take_len};

/// The streams in a container: kind, thread, and bytes. The pieces of a stream may come in any order. Those that are
/// compressed are passed to `unpack`, with their coding and how many bytes they become at most. A last block that is
/// not whole is left out.
///
/// # Panics
/// The bytes are something else, or a stream has a gap.
#[must_use]
pub fn decode_container(
    bytes: &[u8],
    unpack: impl Fn(u8, &[u8], usize) -> Vec<u8>,
) -> BTreeMap<(u8, u64), Vec<u8>> {
    const MANIFEST: u8 = 6;
    const GROUP: u8 = 9;
    const IDENTITY: u8 = 17;
    const OPEN: u8 = 18;
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
                    let piece = match coding {
                        3 => lines(&unpack(2, body, 2 * len + 10)),
                        _ => unpack(coding, body, len),
                    };
                    assert_eq!(piece.len(), len, "bytes of a compressed piece");
                    piece
                }
            };
            if kind == GROUP {
                assert_eq!((offset, thread), (0, 0), "a group belongs to no stream");
                for (kind, thread, offset, piece) in group(&piece) {
                    let stream = pieces.entry((kind, thread)).or_default();
                    assert_eq!(stream.insert(offset, piece), None, "two pieces at {offset}");
                }
                continue;
            }
            let stream = pieces.entry((kind, thread)).or_default();
            if [MANIFEST, IDENTITY, OPEN].contains(&kind) {
                // The last one counts; all files of a recording have one identity.
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

/// The identity in the first block of a part, as the manifest has it; `None` if that block has something else.
///
/// # Panics
///
/// If the checksum of the block is wrong.
#[must_use]
pub fn part_identity(part: &[u8]) -> Option<String> {
    let rest = part.strip_prefix(b"flowtrce\0\0\0\0\0\0\0\x01\x0A\0\0\0\0\0\0\0\0\0\0\0\x0C")?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let (objects, _) = rest.strip_prefix(b"\x11\x0A\0\0")?.split_first_chunk::<8>()?;
    let summed = [&[0; 11][..], b"\x0C\x11\x0A\0\0", objects].concat();
    assert_eq!(u32::from_be_bytes(*sum), crc32(&summed), "the checksum of an identity");
    Some(format!("{:016x}", u64::from_be_bytes(*objects)))
}

/// The pieces of a group: kind, thread, offset, and bytes.
fn group(mut bytes: &[u8]) -> Vec<(u8, u64, u64, Vec<u8>)> {
    let count = take_len(&mut bytes);
    let mut thread = 0_u64;
    let rows: Vec<_> = (0..count)
        .map(|_| {
            thread = thread.wrapping_add_signed(difference(&mut bytes));
            let (&kind, rest) = bytes.split_first().expect("a kind");
            bytes = rest;
            assert!(kind == 4 || kind == 5, "events or marks");
            (kind, thread, take(&mut bytes), take_len(&mut bytes))
        })
        .collect();
    let pieces = rows.into_iter().map(|(kind, thread, offset, len)| {
        let (piece, rest) = bytes.split_at(len);
        bytes = rest;
        (kind, thread, offset, piece.to_vec())
    });
    let pieces = pieces.collect();
    assert!(bytes.is_empty(), "bytes after a group");
    pieces
}

/// Lines that are in columns.
fn lines(mut columns: &[u8]) -> Vec<u8> {
    let count = take_len(&mut columns);
    let (kinds, mut columns) = columns.split_at(count);
    let (mut started, mut ended, mut at) = (0_u64, 0_u64, 0_u64);
    let mut ids = Vec::new();
    for kind in kinds.iter().filter(|kind| **kind > 0) {
        let last = if *kind == 1 { &mut ended } else { &mut started };
        *last = last.wrapping_add_signed(difference(&mut columns));
        ids.push(*last);
    }
    let mut numbers = Vec::new();
    for id in ids {
        at = at.wrapping_add_signed(difference(&mut columns));
        numbers.push((id, at));
    }
    let mut numbers = numbers.into_iter();
    let mut line = || {
        let end = columns.iter().position(|byte| *byte == b'\n').map_or(columns.len(), |lf| lf + 1);
        let (line, rest) = columns.split_at(end);
        columns = rest;
        line.to_vec()
    };
    let mut names: Vec<_> = kinds.iter().filter(|kind| **kind > 1).map(|_| line()).collect();
    let mut names = names.drain(..);
    let mut text = Vec::new();
    for kind in kinds {
        if *kind == 0 {
            text.extend(line());
            continue;
        }
        let (id, at) = numbers.next().expect("an id and a time");
        if *kind == 1 {
            text.extend(format!("{{\"event\":\"end\",\"id\":{id}").bytes());
        } else {
            let name = names.next().and_then(|name| String::from_utf8(name).ok());
            let name = name.expect("a name");
            let (daemon, is_virtual) = ((kind - 2) & 1 == 1, (kind - 2) & 2 == 2);
            text.extend(format!("{{\"event\":\"start\",\"id\":{id},\"name\":\"").bytes());
            text.extend(name.trim_end_matches('\n').bytes());
            text.extend(format!("\",\"daemon\":{daemon},\"virtual\":{is_virtual}").bytes());
        }
        text.extend(format!(",\"at_ns\":{at}}}\n").bytes());
    }
    text
}

/// A difference: 0, 1, 2, 3 are 0, −1, 1, −2.
fn difference(bytes: &mut &[u8]) -> i64 {
    let number = take(bytes);
    let half = i64::try_from(number / 2).expect("63 bits");
    if number.is_multiple_of(2) { half } else { -half - 1 }
}

/// CRC-32, bit by bit.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
