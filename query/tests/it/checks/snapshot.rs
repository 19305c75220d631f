//! A trace in one file with arbitrary pieces, among them a checkpoint as a snapshot has it; and the same streams in the file
//! that threads of a directory share, with a journal. Reading takes no more than their bytes can explain.

use std::fs;

use flow_codec::format::container::StreamKind;
use flow_codec::format::names;

use super::pieces::{Piece, expect_proportion, pieces, write};
use super::scratch;

pub(super) fn check(bytes: &[u8]) {
    let dir = scratch::empty();
    let pieces = pieces(bytes);
    write(&dir.join("t.flowtrace"), pieces.iter().copied(), &[]);
    expect_proportion(&dir, "t.flowtrace");

    let dir = scratch::empty();
    let is_journal = |piece: &&Piece<'_>| piece.kind == StreamKind::Journal;
    let journal: Vec<u8> =
        pieces.iter().filter(is_journal).flat_map(|piece| piece.bytes.iter().copied()).collect();
    fs::write(dir.join(names::JOURNAL), journal).expect("room for it");
    let of_threads = pieces.iter().filter(|piece| !is_journal(piece));
    write(&dir.join(names::SHARED), of_threads.copied(), &[]);
    expect_proportion(&dir, "");
}
