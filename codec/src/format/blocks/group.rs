//! Pieces of many threads in one object of a [`container`](super::container).
//!
//! A short thread records a few bytes. A block of its own would be larger than these, and they can hardly be
//! compressed alone. So an object of kind 9, in a block of thread 0, holds pieces of many threads, which are
//! compressed together:
//!
//! | bytes | |
//! |---|---|
//! | number | how many pieces |
//! | | for each piece: |
//! | number | its thread, as the difference to the thread of the piece before, or to 0 |
//! | 1 | its kind, as in the table of kinds: 4, 5 or 14 |
//! | number | its logical offset |
//! | number | how many bytes it has |
//! | | then the bytes of all pieces, in the same order |
//!
//! A *number* is LEB128. A difference is modulo 2<sup>64</sup>, and stored as `2n`, or as `−2n − 1` if it is negative.
//! Pieces of one kind follow each other, because bytes that are alike compress better side by side.
//!
//! Limits: at most [`MAX_GROUP_BYTES`] before they are compressed, and no more pieces than the object has stored
//! bytes. So a reader's memory is in proportion to the file. An object that violates this, or whose table does not
//! fit its bytes, is damage: all of it is left out.
//!
//! # Example
//!
//! Threads 7 and 8 entered method 1 and left it:
//!
//! | bytes | |
//! |---|---|
//! | `02` | two pieces |
//! | `0E 04 00 02` | of thread 7, events, the first two bytes of the thread |
//! | `02 04 00 02` | of thread 8, events, the first two bytes of the thread |
//! | `81 00` | entry of 1, exit |
//! | `81 00` | the same |

use super::container::StreamKind;
use crate::ThreadId;
use crate::format::leb128;

/// The most bytes of a group, before it is compressed.
pub const MAX_GROUP_BYTES: usize = 1 << 20;
/// The most bytes of a piece's row in the table.
const MAX_ROW_BYTES: usize = 1 + 3 * leb128::MAX_BYTES;

/// A piece of a group: where it belongs, and its bytes.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupPiece<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// Events, marks, or a beginning.
    pub kind: StreamKind,
    /// Where it begins in its stream.
    pub offset: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// The memory that a group needs, with this many pieces that have this many bytes together.
#[doc(hidden)]
#[must_use]
pub const fn bytes_for(pieces: usize, bytes: usize) -> usize {
    leb128::MAX_BYTES + pieces * MAX_ROW_BYTES + bytes
}

/// Appends a group of these pieces to `group`.
#[doc(hidden)]
pub fn encode<'a>(
    pieces: impl ExactSizeIterator<Item = GroupPiece<'a>> + Clone,
    group: &mut Vec<u8>,
) {
    leb128::put(group, pieces.len() as u64);
    let mut last = 0_u64;
    for GroupPiece { thread, kind, offset, bytes } in pieces.clone() {
        let difference = thread.get().wrapping_sub(last).cast_signed();
        last = thread.get();
        leb128::put(group, leb128::zigzag(difference));
        group.push(kind.code());
        leb128::put(group, offset);
        leb128::put(group, bytes.len() as u64);
    }
    pieces.for_each(|piece| group.extend_from_slice(piece.bytes));
}

/// The pieces of a group; `None` if it violates the format. `stored` is how many bytes the object has in the file.
#[doc(hidden)]
#[must_use]
pub fn decode(group: &[u8], stored: usize) -> Option<Vec<GroupPiece<'_>>> {
    let mut rest = group;
    let count = usize::try_from(leb128::take(&mut rest)?).ok()?;
    if count > stored || group.len() > MAX_GROUP_BYTES {
        return None;
    }
    let mut pieces = Vec::with_capacity(count.min(group.len()));
    let mut lens = Vec::with_capacity(count.min(group.len()));
    let mut last = 0_u64;
    for _ in 0..count {
        last = last.wrapping_add_signed(leb128::from_zigzag(leb128::take(&mut rest)?));
        let (&kind, after) = rest.split_first()?;
        rest = after;
        let kind = StreamKind::of(kind);
        use StreamKind::{Beginning, Events, Marks};
        let kind = kind.filter(|kind| matches!(kind, Events | Marks | Beginning))?;
        let offset = leb128::take(&mut rest)?;
        let len = leb128::take(&mut rest)?;
        offset.checked_add(len)?;
        lens.push(usize::try_from(len).ok()?);
        pieces.push(GroupPiece { thread: ThreadId::new(last), kind, offset, bytes: &[] });
    }
    for (piece, len) in pieces.iter_mut().zip(lens) {
        piece.bytes = rest.split_off(..len)?;
    }
    rest.is_empty().then_some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::example::bytes_of_example;

    fn piece(thread: u64, kind: StreamKind, offset: u64, bytes: &[u8]) -> GroupPiece<'_> {
        GroupPiece { thread: ThreadId::new(thread), kind, offset, bytes }
    }

    fn encoded(pieces: &[GroupPiece<'_>]) -> Vec<u8> {
        let mut group = Vec::new();
        encode(pieces.iter().copied(), &mut group);
        group
    }

    #[test]
    fn the_example_is_what_is_written_and_read() {
        let example = bytes_of_example(include_str!("group.rs"));
        let pieces = [7, 8].map(|thread| piece(thread, StreamKind::Events, 0, &[0x81, 0x00]));
        assert_eq!(encoded(&pieces), example);
        assert_eq!(decode(&example, example.len()).unwrap(), pieces);
    }

    #[test]
    fn more_pieces_than_stored_bytes_are_refused() {
        let pieces = [piece(1, StreamKind::Events, 0, &[]); 40];
        let group = encoded(&pieces);
        assert_eq!(decode(&group, 40).unwrap(), pieces);
        assert_eq!(decode(&group, 39), None);
    }

    proptest::proptest! {
        #[test]
        fn pieces_come_back_and_no_part_of_a_group_is_one(
            pieces in proptest::collection::vec((
                proptest::num::u64::ANY,
                proptest::bool::ANY,
                0_u64..1 << 40,
                proptest::collection::vec(proptest::num::u8::ANY, 0..9),
            ), 0..20),
        ) {
            let kind = |marks| if marks { StreamKind::Marks } else { StreamKind::Events };
            let pieces: Vec<_> = pieces
                .iter()
                .map(|(thread, marks, offset, bytes)| piece(*thread, kind(*marks), *offset, bytes))
                .collect();
            let group = encoded(&pieces);
            let bytes = pieces.iter().map(|piece| piece.bytes.len()).sum();
            proptest::prop_assert!(group.len() <= bytes_for(pieces.len(), bytes));
            proptest::prop_assert_eq!(decode(&group, group.len()).unwrap(), pieces);
            for end in 0..group.len() {
                proptest::prop_assert_eq!(decode(&group[..end], group.len()), None);
            }
        }

        #[test]
        fn arbitrary_bytes_are_decoded_or_refused(bytes: Vec<u8>) {
            if let Some(pieces) = decode(&bytes, bytes.len()) {
                proptest::prop_assert!(pieces.len() <= bytes.len());
            }
        }
    }
}
