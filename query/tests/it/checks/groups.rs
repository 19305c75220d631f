//! Groups of arbitrary pieces, as short threads are stored: one that is made of pieces, and one of arbitrary bytes.
//! Reading takes no more than their bytes can explain.

use flow_codec::format::container::StreamKind;
use flow_codec::format::group::{self, GroupPiece};

use super::pieces::{expect_proportion, pieces, write};
use super::scratch;

/// The first byte is the length of the arbitrary bytes.
pub(super) fn check(bytes: &[u8]) {
    let Some((&len, rest)) = bytes.split_first() else { return };
    let (arbitrary, rest) = rest.split_at(rest.len().min(len.into()));
    let dir = scratch::empty();
    let pieces = pieces(rest);
    let (grouped, others): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|piece| {
        use StreamKind::{Beginning, Events, Marks};
        piece.file > 0 && matches!(piece.kind, Events | Marks | Beginning)
    });
    let of_group = grouped.iter().map(|piece| GroupPiece {
        thread: piece.thread,
        kind: piece.kind,
        offset: piece.offset,
        bytes: piece.bytes,
    });
    let mut group = Vec::new();
    group::encode(of_group, &mut group);
    write(&dir.join("t.flowtrace"), others, &[group, arbitrary.to_vec()]);
    expect_proportion(&dir, "t.flowtrace");
}
