//! Files of blocks, of arbitrary pieces in arbitrary places, and what reading them may take.
//!
//! A piece is its head, its thread and its length, a byte each; its offset; and its bytes. The lowest four bits of the head
//! are its kind, the next two its file, and the highest two how its offset is written: not at all, if it follows the last piece
//! of its stream; as a LEB128 number; as a power of two, by its exponent; or as what is missing to 2^64.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use flow_codec::ThreadId;
use flow_codec::convert::to_container;
use flow_codec::format::container::{BlockEncoder, Coding, END, StreamKind, header};
use flow_codec::read::{Content, Trace};
use flow_codec::write::Compression;

/// The kinds by their numbers in a head.
const KINDS: [StreamKind; 13] = [
    StreamKind::Events,
    StreamKind::Marks,
    StreamKind::Beginning,
    StreamKind::Threads,
    StreamKind::Samples,
    StreamKind::Journal,
    StreamKind::Manifest,
    StreamKind::Ids,
    StreamKind::Methods,
    StreamKind::Identity,
    StreamKind::Index,
    StreamKind::Dag,
    StreamKind::Open,
];

/// Damage may leave gaps of this many bytes in the streams of a trace, and between chunks of a journal.
const MOST_GAPS: u64 = 2 * (64 << 20);
/// Apart from gaps, what is read is in proportion to the bytes of the files.
const MOST_PER_BYTE: u64 = 64;

/// A piece of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) file: usize,
    pub(super) thread: ThreadId,
    pub(super) kind: StreamKind,
    pub(super) offset: u64,
    pub(super) bytes: &'a [u8],
}

/// The pieces in some bytes.
pub(super) fn pieces(mut rest: &[u8]) -> Vec<Piece<'_>> {
    let mut ends = BTreeMap::new();
    let mut pieces = Vec::new();
    while let Some(([head, thread, len], after)) = rest.split_first_chunk() {
        rest = after;
        let kind = KINDS[usize::from(head & 15).min(KINDS.len() - 1)];
        let thread = ThreadId::new((*thread).into());
        let end: &mut u64 = ends.entry((kind, thread)).or_default();
        let mut next = || rest.split_off_first().copied().unwrap_or_default();
        let offset = match head >> 6 {
            0 => *end,
            1 => number(&mut next),
            2 => 1 << (next() % 64),
            _ => u64::MAX - u64::from(next()),
        };
        let len = rest.len().min((*len).into());
        let Some(bytes) = rest.split_off(..len) else { break };
        *end = offset.saturating_add(len as u64);
        pieces.push(Piece { file: usize::from(head >> 4 & 3), thread, kind, offset, bytes });
    }
    pieces
}

fn number(next: &mut impl FnMut() -> u8) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = next();
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}

/// Writes pieces to a file with blocks, each into a block of its own.
pub(super) fn write<'a>(
    path: &Path,
    pieces: impl IntoIterator<Item = Piece<'a>>,
    groups: &[Vec<u8>],
) {
    let mut block = BlockEncoder::default();
    for Piece { thread, kind, offset, bytes, .. } in pieces {
        block.begin(Some(thread));
        block.add(kind, offset, bytes.len(), Coding::Raw, bytes);
        block.finish();
    }
    for group in groups {
        block.begin(None);
        block.add_group(group.len(), Coding::Raw, group);
        block.finish();
    }
    let bytes = [&header()[..], block.bytes(), &[END]].concat();
    fs::write(path, bytes).expect("room for it");
}

/// Reads everything of the trace in a file of `dir`: that is no more than the files beside it can explain.
pub(super) fn expect_proportion(dir: &Path, name: &str) {
    let files = fs::read_dir(dir).expect("it is there").flatten();
    let bytes: u64 = files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
    let Ok(trace) = Trace::open(dir.join(name)) else { return };
    expect_small(&trace, dir, bytes);
}

/// Reads everything of an open trace whose files have this size.
pub(super) fn expect_small(trace: &Trace, dir: &Path, bytes: u64) {
    let most = MOST_GAPS + MOST_PER_BYTE * bytes;
    let expect = |found: u64, what: &str| assert!(found <= most, "{found} of {what}: too many");
    trace.verify_blocks(|_| {}).expect("the files can be read");
    let (mut len, mut events, mut marks) = (0, 0, 0);
    for file in trace.files() {
        len += file.bytes();
        expect(len, "events, by their length");
        let mut reader = Content::open(file).expect("the file is there").reader();
        events += io::copy(&mut reader, &mut io::sink()).unwrap_or_default();
        expect(events, "events");
        if let Ok(Some(mut of_file)) = file.marks() {
            while let Ok(Some(_)) = of_file.next_mark() {
                marks += 1;
            }
        }
        expect(marks, "marks");
    }
    expect(trace.threads().iter().count() as u64, "threads");
    let copy = dir.join("copy.flowtrace");
    let _ = fs::remove_file(&copy);
    if to_container(trace, &copy, Compression::Off, &mut |_| {}).is_ok() {
        expect(fs::metadata(&copy).expect("it was written").len(), "a copy");
    }
}
