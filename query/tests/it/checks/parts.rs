//! A trace in several files with arbitrary pieces: the first file and three parts, with identities or without. Reading
//! takes no more than their bytes can explain.

use std::fs;

use flow_codec::TraceId;
use flow_codec::format::container::{HEADER_BYTES, identity_block};

use super::pieces::{Piece, expect_proportion, pieces, write};
use super::scratch;

const FILES: [&str; 4] =
    ["t.flowtrace", "t-part-0001.flowtrace", "t-part-0002.flowtrace", "t-part-0010.flowtrace"];

/// The first byte says, for each file, whether it has the identity that the seeds have in the manifest.
pub(super) fn check(bytes: &[u8]) {
    let Some((&with_identity, rest)) = bytes.split_first() else { return };
    let dir = scratch::empty();
    let pieces = pieces(rest);
    for (number, name) in FILES.into_iter().enumerate() {
        let of_file = |piece: &&Piece<'_>| piece.file == number;
        if number > 0 && !pieces.iter().any(|piece| of_file(&piece)) {
            continue;
        }
        let path = dir.join(name);
        write(&path, pieces.iter().filter(of_file).copied(), &[]);
        if with_identity >> number & 1 != 0 {
            let mut bytes = fs::read(&path).expect("it was written");
            let block = identity_block(TraceId::ONE);
            bytes.splice(HEADER_BYTES..HEADER_BYTES, block);
            fs::write(&path, bytes).expect("room for it");
        }
    }
    for name in FILES.into_iter().filter(|name| dir.join(name).exists()) {
        expect_proportion(&dir, name);
    }
}
