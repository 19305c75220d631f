//! `*.flowtrace`: a whole trace in one file, in blocks.
//!
//! What a trace directory has in separate files is here in *streams*, one for each of these files. A stream is
//! stored in *pieces*, each with its place in the stream, its *logical offset*. A block holds pieces of one
//! thread, and is written at once. So threads take turns with one file, and a reader finds each thread's bytes
//! without the others'.
//!
//! ```text
//! file    header · block · block · … · end
//! block   start · object · object · … · stop
//! ```
//!
//! Numbers of fixed width have their highest byte first; a *number* is LEB128, groups of seven bits, the
//! lowest first.
//!
//! | | bytes | |
//! |---|---:|---|
//! | header | 8 | `flowtrce` |
//! | | 8 | [`VERSION`] |
//! | start | 1 | `0A` |
//! | | 8 | the thread; 0 for what belongs to none |
//! | | 4 | length of the objects |
//! | | 4 | CRC-32 of the 12 bytes before it, and of the objects |
//! | object | 1 | kind |
//! | | number | length of what follows |
//! | | number | logical offset |
//! | | 1 | how the bytes are stored: 0 as they are, 1 as an LZ4 block, 2 as a Zstandard frame, 3 as [columns](crate::format::lines) in a Zstandard frame |
//! | | number | with 1 to 3: how many bytes they are |
//! | | | the bytes |
//! | stop | 1 | `0B` |
//! | end | 1 | `0C` |
//!
//! | kind | stream | bytes as in |
//! |---:|---|---|
//! | 1 | method keys | `ids.properties` |
//! | 2 | methods | `methods.jsonl` |
//! | 3 | threads | `threads.jsonl` |
//! | 4 | events of the block's thread | `thread-<id>.flow` |
//! | 5 | marks of the block's thread | `thread-<id>.marks` |
//! | 6 | the manifest, whole: the last one counts | `trace.json` |
//! | 7 | the index of the block's thread | `thread-<id>.idx` |
//! | 8 | the shapes of the block's thread | `thread-<id>.dag` |
//! | 16 | left out by readers; earlier versions wrote sums by time | |
//! | 9 | a [group](super::group) of pieces of several threads; no stream, so the logical offset is 0 | |
//! | 14 | the [`beginning`](super::beginning) of the block's thread in a part, whole | |
//! | 15 | [`samples`](crate::format::samples) of all threads | `samples` |
//! | 13 | the [`journal`](crate::format::journal#checkpoint) of a snapshot: a checkpoint | `journal` |
//! | 17 | the identity of the recording, the number `id` of the [manifest](crate::format::manifest), in 8 bytes, whole | |
//! | 18 | the [open chunk](#open-chunks) of the block's thread, whole: the last one counts | `journal` |
//!
//! In the `shared.flowtrace` of a directory, the stream *threads* has the lines of the threads that share that file; the
//! others are in `threads.jsonl`.
//!
//! A stream without bytes, of a file that is empty, has one piece without bytes.
//!
//! Names come before the first event that uses them. A file without an end is that of a JVM that is recording
//! or was killed. Its open chunks are in the [`journal`](crate::format::journal) beside it, whose offsets count in the
//! thread's stream of events. A journal beside a file with an end counts only if the manifest says that something
//! was lost: chunks that could not be written.
//!
//! The layout follows the trace recorder of Lincheck: blocks of one thread, thread-neutral objects before their
//! use, logical offsets, and the kinds 10 to 12. Differences: thread ids have 64 bits, blocks have a length and a
//! checksum, and objects a length, so that a reader finds a torn end and skips kinds that it does not know.
//!
//! # Parts
//!
//! With `rotate=` or `keep=last:` the trace `app.flowtrace` has further files, its *parts*: `app-part-0001.flowtrace`,
//! `app-part-0002.flowtrace` and so on. `app.flowtrace` itself has the names of methods and the manifest. The parts have
//! the events, the marks, the samples, and the lines of threads. Each is a container; together they are one, whose blocks are those
//! of the parts, in their order. The first block of a part has its identity, kind 17, and nothing else, and the
//! [`beginning`](super::beginning) of each thread follows. So readers need
//! only the newest parts: earlier ones may have been removed. If the first file has events itself, as after a repair, its
//! parts do not count.
//!
//! A name alone does not make a file a part: somebody may have removed or replaced the first file. A part counts if its
//! identity equals the identity in the manifest of the first file. If the manifest has none, parts without an identity count:
//! older writers wrote neither.
//!
//! # In memory
//!
//! With `keep=memory` a file in memory has the blocks until the recording ends, and `app.flowtrace` only the manifest. The
//! file in memory begins with an identity, like a part, and is a container beside the [`journal`](crate::format::journal#place) that the manifest names, with
//! `.flowtrace` after the name of the journal. At the end its blocks are copied to `app.flowtrace`, the manifest and the
//! end follow, and it is removed. So while `app.flowtrace` has no end, readers take the file in memory, if there is one, for
//! a part before it.
//!
//! # Open chunks
//!
//! A thread that waits hands over nothing, so its last events are only in the journal, which no collector gets. So a trace that
//! is [sent](super::stream) has open chunks, kind 18: each is a [`journal`](crate::format::journal#checkpoint) with one slot, as it was
//! when the thread had stopped for a moment. Once the file has the events of the chunk, and more events or marks, or an end, the chunk
//! means nothing. A journal beside the file has newer ones.
//!
//! # Snapshots
//!
//! A snapshot has the blocks of all these files in one, and then the open chunks as a checkpoint, kind 13. Its manifest
//! has no end, but says `snapshot`. The file has an end.
//!
//! # What a reader does
//!
//! | file | result |
//! |---|---|
//! | another magic or version | refused |
//! | bytes that are not a block | damage, with their offset; reading continues with the next block whose checksum is right |
//! | an unfinished block at the end | left out: the process was killed while it wrote |
//! | a wrong checksum | damage: the bytes of its pieces read as `FF`; a group is left out |
//! | bytes of a stream that no block has, between pieces | read as `FF`, which is no record, mark or line |
//! | an open chunk that does not continue the events of its thread, or differs from them | left out |
//! | a piece that lies much farther from the others, or from where its stream begins, than the file is long | damage: left out |
//! | bytes of a stream that two blocks have | those of the first count |
//! | an unknown kind | skipped |
//! | a part with another identity than the first file | not read, and reported; not damage |
//! | a part whose first block is damaged | read as one with the right identity |
//! | a part that is opened alone, beside a first file with another identity | that file is not read: the methods have no names |
//! | a first file without a readable manifest | its parts are those with the identity of the newest one |
//!
//! Limits: the objects of a block take at most [`MAX_BLOCK_BYTES`], the bytes of a piece at most
//! [`MAX_PIECE_BYTES`].
//!
//! # Example
//!
//! Thread 7 entered method 1 and left it:
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 74 72 63 65` | magic |
//! | `00 00 00 00 00 00 00 01` | version 1 |
//! | `0A` | a block |
//! | `00 00 00 00 00 00 00 07` | of thread 7 |
//! | `00 00 00 06` | with 6 bytes of objects |
//! | `61 79 A2 28` | CRC-32 |
//! | `04` | events |
//! | `04` | 4 bytes |
//! | `00` | the first of the thread |
//! | `00` | stored as they are |
//! | `81 00` | entry of 1, exit |
//! | `0B` | the block ends |
//! | `0C` | the file ends |
//!
//! # Example of a part
//!
//! The first block of a part, with the identity `9f86d081884c7d65`:
//!
//! | bytes | |
//! |---|---|
//! | `0A` | a block |
//! | `00 00 00 00 00 00 00 00` | of no thread |
//! | `00 00 00 0C` | with 12 bytes of objects |
//! | `39 93 0E 48` | CRC-32 |
//! | `11` | an identity |
//! | `0A` | 10 bytes |
//! | `00` | from the start of its stream |
//! | `00` | stored as they are |
//! | `9F 86 D0 81 88 4C 7D 65` | the number |
//! | `0B` | the block ends |

use std::fmt;

use crate::format::{leb128, lines};
use crate::{ThreadId, TraceId};

/// The first bytes of the file.
pub const MAGIC: [u8; 8] = *b"flowtrce";
/// The version of this format.
pub const VERSION: u64 = 1;
/// Bytes before the first block.
pub const HEADER_BYTES: usize = 16;
/// Bytes before the objects of a block.
pub const START_BYTES: usize = 1 + CHECKED_BYTES + 4;
/// The most bytes of objects in a block.
pub const MAX_BLOCK_BYTES: usize = 64 << 20;
/// The most bytes of a piece, before it is compressed.
pub const MAX_PIECE_BYTES: usize = 16 << 20;
/// The first byte of a block.
pub const START: u8 = 0x0A;
/// The byte after a block.
pub const STOP: u8 = 0x0B;
/// The last byte of the file.
pub const END: u8 = 0x0C;

/// Thread and length, which the checksum covers too.
const CHECKED_BYTES: usize = 12;
/// The most bytes of an object before its content.
pub(crate) const MAX_OBJECT_HEADER_BYTES: usize = 2 + 3 * leb128::MAX_BYTES;

/// What a trace directory has in a file.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StreamKind {
    /// `ids.properties`.
    Ids,
    /// `methods.jsonl`.
    Methods,
    /// `threads.jsonl`.
    Threads,
    /// `thread-<id>.flow`.
    Events,
    /// `thread-<id>.marks`.
    Marks,
    /// `trace.json`.
    Manifest,
    /// `thread-<id>.idx`.
    Index,
    /// `thread-<id>.dag`.
    Dag,
    /// A [`Beginning`](super::beginning::Beginning).
    Beginning,
    /// A checkpoint, in a snapshot.
    Journal,
    /// `samples`.
    Samples,
    /// A [`TraceId`].
    Identity,
    /// The open chunk of a thread, in a trace that is sent.
    Open,
}

const KINDS: [(StreamKind, u8); 13] = [
    (StreamKind::Ids, 1),
    (StreamKind::Methods, 2),
    (StreamKind::Threads, 3),
    (StreamKind::Events, 4),
    (StreamKind::Marks, 5),
    (StreamKind::Manifest, 6),
    (StreamKind::Index, 7),
    (StreamKind::Dag, 8),
    (StreamKind::Beginning, 14),
    (StreamKind::Journal, 13),
    (StreamKind::Samples, 15),
    (StreamKind::Identity, 17),
    (StreamKind::Open, 18),
];
/// The kind of an object with a group.
const GROUP: u8 = 9;

impl StreamKind {
    /// Whether each thread has a stream of this kind.
    #[must_use]
    pub(crate) const fn is_of_thread(self) -> bool {
        matches!(
            self,
            Self::Events | Self::Marks | Self::Index | Self::Dag | Self::Beginning | Self::Open
        )
    }

    /// Its place in the order of kinds.
    pub(crate) const fn rank(self) -> u8 {
        self as u8
    }

    pub(super) fn code(self) -> u8 {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, code)| *code)
    }

    pub(super) fn of(code: u8) -> Option<Self> {
        KINDS.iter().find(|(_, known)| *known == code).map(|(kind, _)| *kind)
    }
}

/// How the bytes of a piece are stored.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coding {
    /// As they are.
    Raw,
    /// As an LZ4 block.
    Lz4,
    /// As a Zstandard frame.
    Zstd,
    /// Lines as [columns](crate::format::lines), in a Zstandard frame.
    Lines,
}

/// Unpacks stored bytes. Keeps its memory for the next ones.
#[derive(Default)]
pub(crate) struct Unpacker {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unpacker")
    }
}

impl Unpacker {
    /// The bytes that are stored so, if there are `bytes` of them.
    pub(crate) fn unpack(
        &mut self,
        coding: Coding,
        stored: &[u8],
        bytes: usize,
    ) -> Option<Vec<u8>> {
        let unpacked = match coding {
            Coding::Raw => Some(stored.to_vec()),
            Coding::Lz4 => lz4_flex::block::decompress(stored, bytes).ok(),
            Coding::Zstd => self.unpack_zstd(stored, bytes),
            Coding::Lines => {
                lines::decode(&self.unpack_zstd(stored, lines::max_columns(bytes))?, bytes)
            }
        };
        unpacked.filter(|unpacked| unpacked.len() == bytes)
    }

    fn unpack_zstd(&mut self, stored: &[u8], most: usize) -> Option<Vec<u8>> {
        let zstd = match &mut self.zstd {
            Some(zstd) => zstd,
            none => none.insert(zstd::bulk::Decompressor::new().ok()?),
        };
        zstd.decompress(stored, most).ok()
    }
}

/// The header of a container.
#[doc(hidden)]
#[must_use]
pub fn header() -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let bytes = MAGIC.into_iter().chain(VERSION.to_be_bytes());
    header.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    header
}

/// Size of the block with an identity.
pub const IDENTITY_BYTES: usize = START_BYTES + 12 + 1;

/// Returns the block with an identity, which is the first block of a part.
#[doc(hidden)]
#[must_use]
pub fn identity_block(id: TraceId) -> Vec<u8> {
    let mut block = BlockEncoder::default();
    let number = id.get().to_be_bytes();
    block.begin(None);
    block.add(StreamKind::Identity, 0, number.len(), Coding::Raw, &number);
    block.finish();
    block.bytes
}

/// Returns the identity in the first block of a part, from the first [`IDENTITY_BYTES`] of the blocks; `None` if the first
/// block is another one.
#[must_use]
pub(crate) fn identity_of(block: &[u8]) -> Option<TraceId> {
    let object = Object::decode(block.get(START_BYTES..)?)?;
    let number = block.get(START_BYTES + object.head..)?.first_chunk()?;
    let is_identity = object.held == Held::Piece(StreamKind::Identity) && is_sound(block);
    TraceId::new(u64::from_be_bytes(*number)).filter(|_| is_identity)
}

/// Blocks that are being made, one after the other. Keeps their memory for the next ones.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct BlockEncoder {
    bytes: Vec<u8>,
    /// Where the last one begins.
    start: usize,
}

impl BlockEncoder {
    /// The memory that blocks need, each with one piece, for this number of stored bytes.
    #[must_use]
    pub const fn bytes_for(pieces: usize, bytes: usize) -> usize {
        bytes + pieces * (START_BYTES + 1 + MAX_OBJECT_HEADER_BYTES)
    }

    /// The memory of the blocks, in which the caller may reserve room.
    pub fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Removes all blocks.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The blocks. Their bytes belong into the file in one go.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins a block of a thread, or of no thread.
    pub fn begin(&mut self, thread: Option<ThreadId>) {
        self.start = self.bytes.len();
        self.bytes.push(START);
        let thread = thread.map_or(0, ThreadId::get);
        self.bytes.extend_from_slice(&thread.to_be_bytes());
        self.bytes.extend_from_slice(&[0; START_BYTES - 1 - 8]);
    }

    /// Adds a piece: where it begins in its stream, how many bytes it has, and these bytes as they are stored.
    pub fn add(
        &mut self,
        kind: StreamKind,
        offset: u64,
        bytes: usize,
        coding: Coding,
        stored: &[u8],
    ) {
        self.add_object(kind.code(), offset, bytes, coding, stored);
    }

    /// Adds a [group](super::group): how many bytes it has, and these bytes as they are stored.
    pub fn add_group(&mut self, bytes: usize, coding: Coding, stored: &[u8]) {
        self.add_object(GROUP, 0, bytes, coding, stored);
    }

    fn add_object(&mut self, kind: u8, offset: u64, bytes: usize, coding: Coding, stored: &[u8]) {
        let (code, packed) = match coding {
            Coding::Raw => (0, None),
            Coding::Lz4 => (1, Some(bytes as u64)),
            Coding::Zstd => (2, Some(bytes as u64)),
            Coding::Lines => (3, Some(bytes as u64)),
        };
        let head = leb128_bytes(offset) + 1 + packed.map_or(0, leb128_bytes);
        self.bytes.push(kind);
        leb128::put(&mut self.bytes, (head + stored.len()) as u64);
        leb128::put(&mut self.bytes, offset);
        self.bytes.push(code);
        if let Some(packed) = packed {
            leb128::put(&mut self.bytes, packed);
        }
        self.bytes.extend_from_slice(stored);
    }

    /// Ends the block.
    pub fn finish(&mut self) {
        let block = self.bytes.get_mut(self.start..).unwrap_or_default();
        let objects = block.len().saturating_sub(START_BYTES);
        let len = u32::try_from(objects).unwrap_or(u32::MAX).to_be_bytes();
        fill(block, 1 + 8, &len);
        let sum = checksum(block).to_be_bytes();
        fill(block, 1 + CHECKED_BYTES, &sum);
        self.bytes.push(STOP);
    }
}

/// How many bytes a number takes.
fn leb128_bytes(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()).div_ceil(7).max(1) as usize
}

fn fill(bytes: &mut [u8], at: usize, with: &[u8]) {
    bytes.iter_mut().skip(at).zip(with).for_each(|(to, from)| *to = *from);
}

/// The checksum of a block, up to the end of its objects.
fn checksum(block: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(block.get(1..1 + CHECKED_BYTES).unwrap_or_default());
    crc.update(block.get(START_BYTES..).unwrap_or_default());
    crc.finalize()
}

/// The start of a block.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockStart {
    /// The thread of its pieces, if they have one.
    pub thread: ThreadId,
    /// Bytes of its objects.
    pub len: usize,
}

impl BlockStart {
    /// Decodes the start of a block; `None` if these bytes are not one.
    #[must_use]
    pub fn decode(bytes: &[u8; START_BYTES]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (thread, rest) = rest.split_first_chunk()?;
        let (len, _) = rest.split_first_chunk()?;
        let len = usize::try_from(u32::from_be_bytes(*len)).ok()?;
        let thread = ThreadId::new(u64::from_be_bytes(*thread));
        (*kind == START && len <= MAX_BLOCK_BYTES).then_some(Self { thread, len })
    }

    /// The bytes of the whole block.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        START_BYTES + self.len + 1
    }
}

/// Returns whether a whole block has the checksum that it says.
#[doc(hidden)]
#[must_use]
pub fn is_sound(block: &[u8]) -> bool {
    let Some((STOP, block)) = block.split_last().map(|(stop, block)| (*stop, block)) else {
        return false;
    };
    let sum = block.get(1 + CHECKED_BYTES..START_BYTES);
    sum == Some(&checksum(block).to_be_bytes()[..])
}

/// What an object holds.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// A piece of a stream.
    Piece(StreamKind),
    /// A [group](super::group) of pieces.
    Group,
    /// Something that this build does not know.
    Unknown,
}

impl Held {
    fn of(code: u8) -> Self {
        let unknown = if code == GROUP { Self::Group } else { Self::Unknown };
        StreamKind::of(code).map_or(unknown, Self::Piece)
    }
}

/// The header of an object.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// What it holds.
    pub held: Held,
    /// Where the piece begins in its stream.
    pub offset: u64,
    /// How many bytes the piece has.
    pub bytes: u64,
    /// How they are stored.
    pub coding: Coding,
    /// Bytes before the stored ones.
    pub head: usize,
    /// Bytes as they are stored.
    pub stored: usize,
}

impl Object {
    /// Decodes the header of an object from its first bytes; `None` if they are not one.
    #[must_use]
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&code, mut rest) = bytes.split_first()?;
        // Not more than a block can have: a sum of such lengths does not overflow.
        let len = u32::try_from(leb128::take(&mut rest)?).ok()? as usize;
        let before = bytes.len() - rest.len();
        let held = Held::of(code);
        if held == Held::Unknown {
            let is_object = ![0, START, STOP, END].contains(&code);
            let (head, coding) = (before, Coding::Raw);
            let unknown = Self { held, offset: 0, bytes: 0, coding, head, stored: len };
            return is_object.then_some(unknown);
        }
        let offset = leb128::take(&mut rest)?;
        let (&coding, mut rest) = rest.split_first()?;
        let coding = match coding {
            0 => Coding::Raw,
            1 => Coding::Lz4,
            2 => Coding::Zstd,
            3 => Coding::Lines,
            _ => return None,
        };
        let packed = match coding {
            Coding::Raw => None,
            _ => Some(leb128::take(&mut rest)?),
        };
        let head = bytes.len() - rest.len();
        let stored = len.checked_sub(head - before)?;
        let bytes = packed.unwrap_or(stored as u64);
        let fits = bytes <= MAX_PIECE_BYTES as u64 && offset.checked_add(bytes).is_some();
        fits.then_some(Self { held, offset, bytes, coding, head, stored })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::example::{bytes_of_example, bytes_of_second_example};

    /// The example above.
    fn example() -> Vec<u8> {
        bytes_of_example(include_str!("container.rs"))
    }

    #[test]
    fn the_example_is_what_is_written_and_read() {
        let mut block = BlockEncoder::default();
        block.begin(Some(ThreadId::new(7)));
        block.add(StreamKind::Events, 0, 2, Coding::Raw, &[0x81, 0x00]);
        block.finish();
        let written = [&header()[..], block.bytes(), &[END]].concat();
        assert_eq!(written, example(), "{written:02X?}");
        let block = &written[HEADER_BYTES..written.len() - 1];
        let start = BlockStart::decode(block.first_chunk().unwrap()).unwrap();
        assert_eq!(start, BlockStart { thread: ThreadId::new(7), len: 6 });
        assert_eq!(start.block_bytes(), block.len());
        assert!(is_sound(block));
        let object = Object::decode(&block[START_BYTES..]).unwrap();
        let held = Held::Piece(StreamKind::Events);
        let coding = Coding::Raw;
        assert_eq!(object, Object { held, offset: 0, bytes: 2, coding, head: 4, stored: 2 });
    }

    #[test]
    fn the_identity_of_the_example_is_what_is_written_and_read() {
        let bytes = bytes_of_second_example(include_str!("container.rs"));
        let id = TraceId::new(0x9f86_d081_884c_7d65).unwrap();
        assert_eq!(identity_block(id), bytes, "{:02X?}", identity_block(id));
        assert_eq!((bytes.len(), identity_of(&bytes)), (IDENTITY_BYTES, Some(id)));
        let text = "\"9f86d081884c7d65\"";
        assert_eq!(serde_json::to_string(&id).unwrap(), text);
        assert_eq!(serde_json::from_str::<TraceId>(text).unwrap(), id);
        for wrong in ["1", "\"1\"", "\"0000000000000000\"", "\"+f86d081884c7d65\""] {
            assert!(serde_json::from_str::<TraceId>(wrong).is_err(), "{wrong}");
        }
        // Bits of the first byte are left out: a block is found by it.
        for bit in 8..8 * bytes.len() {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(identity_of(&other), None, "bit {bit}");
        }
    }

    #[test]
    fn a_length_that_no_block_has_is_no_object() {
        let decode = |code: u8, len: u64| {
            let mut bytes = vec![code];
            leb128::put(&mut bytes, len);
            // Offset 0, LZ4, no bytes when unpacked.
            bytes.extend([0, 1, 0]);
            Object::decode(&bytes)
        };
        let (known, unknown) = (StreamKind::Events.code(), 0x7E);
        for code in [known, unknown] {
            assert!(decode(code, u64::from(u32::MAX)).is_some(), "{code}");
            for len in [u64::from(u32::MAX) + 1, u64::MAX - 10, u64::MAX] {
                assert_eq!(decode(code, len), None, "{code} {len}");
            }
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let mut block = BlockEncoder::default();
        block.begin(Some(ThreadId::new(7)));
        block.add(StreamKind::Marks, 300, 9, Coding::Zstd, &[1, 2, 3]);
        block.finish();
        let bytes = block.bytes().to_vec();
        assert!(is_sound(&bytes));
        for bit in 0..8 * bytes.len() {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            let start = BlockStart::decode(other.first_chunk().unwrap());
            let is_same = start.is_some_and(|start| start.block_bytes() == bytes.len());
            assert!(!is_same || !is_sound(&other), "bit {bit}");
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_are_no_objects_too_large(bytes: Vec<u8>) {
            if let Some(object) = Object::decode(&bytes) {
                proptest::prop_assert!(object.head <= MAX_OBJECT_HEADER_BYTES);
                proptest::prop_assert!(object.bytes <= MAX_PIECE_BYTES as u64);
            }
        }
    }
}
