//! Writes a [`container`](crate::format::container) from beginning to end.

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

use zstd::zstd_safe::{self, CCtx, CParameter};

use crate::ThreadId;
use crate::format::container::{BlockEncoder, Coding, END, StreamKind, header};
use crate::format::group::{self, GroupPiece};
use crate::format::lines::LineColumns;

/// Bytes of a stream in one piece: what a reader must decompress to read one event.
pub const PIECE_BYTES: usize = 1 << 20;
/// A stream of a thread with more bytes has pieces of its own.
pub const MAX_GROUPED_BYTES: usize = 4096;
/// How many bytes and pieces of threads are in one group.
const GROUP_BYTES: usize = 256 * 1024;
const GROUP_PIECES: usize = 4096;

/// How the pieces of a container are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Not at all.
    Off,
    /// With LZ4.
    Lz4,
    /// With Zstandard, at a level from 1 to 19.
    Zstd(i32),
}

impl Default for Compression {
    /// Zstandard at a level that takes a second for 100 million calls.
    fn default() -> Self {
        Self::Zstd(6)
    }
}

impl FromStr for Compression {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected off, lz4, zstd, or zstd:N with a level N from 1 to 19";
        match text.split_once(':') {
            None if text == "off" => Ok(Self::Off),
            None if text == "lz4" => Ok(Self::Lz4),
            None if text == "zstd" => Ok(Self::default()),
            Some(("zstd", level)) => match level.parse() {
                Ok(level @ 1..=19) => Ok(Self::Zstd(level)),
                _ => Err(EXPECTED),
            },
            _ => Err(EXPECTED),
        }
    }
}

/// Writes streams, one after the other or in turns.
#[derive(Debug)]
pub struct ContainerWriter<W> {
    out: W,
    block: BlockEncoder,
    packer: Packer,
    piece: Vec<u8>,
    small: SmallStreams,
    written: u64,
}

/// Whole streams of threads that wait to be written together: which, how many bytes each has, and these bytes.
#[derive(Debug, Default)]
struct SmallStreams {
    streams: Vec<(StreamKind, ThreadId, usize)>,
    bytes: Vec<u8>,
    /// Keeps its memory.
    group: Vec<u8>,
}

impl SmallStreams {
    fn pieces(&self) -> Vec<GroupPiece<'_>> {
        let mut rest = self.bytes.as_slice();
        let pieces = self.streams.iter().map(|&(kind, thread, len)| {
            let bytes = rest.split_off(..len).unwrap_or_default();
            GroupPiece { thread, kind, offset: 0, bytes }
        });
        let mut pieces: Vec<_> = pieces.collect();
        pieces.sort_by_key(|piece| piece.kind);
        pieces
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= GROUP_BYTES || self.streams.len() >= GROUP_PIECES
    }
}

impl<W: Write> ContainerWriter<W> {
    /// Begins a container.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, compression: Compression) -> io::Result<Self> {
        let header = header();
        out.write_all(&header)?;
        let packer = Packer::new(compression)?;
        let (block, piece, written) = (BlockEncoder::default(), Vec::new(), header.len() as u64);
        Ok(Self { out, block, packer, piece, small: SmallStreams::default(), written })
    }

    /// Writes all of a stream. Returns how many bytes that are, before they are compressed.
    ///
    /// # Errors
    /// Those of the input and of the output.
    pub fn write_stream(
        &mut self,
        kind: StreamKind,
        thread: Option<ThreadId>,
        mut input: impl Read,
    ) -> io::Result<u64> {
        let mut offset = 0;
        loop {
            let mut piece = std::mem::take(&mut self.piece);
            piece.clear();
            let read = input.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
            if offset == 0
                && read <= MAX_GROUPED_BYTES
                && let Some(thread) = thread
                && matches!(kind, StreamKind::Events | StreamKind::Marks)
            {
                self.small.streams.push((kind, thread, read));
                self.small.bytes.extend_from_slice(&piece);
                self.piece = piece;
                if self.small.is_full() {
                    self.write_small()?;
                }
                return Ok(read as u64);
            }
            // An empty stream has an empty piece.
            if read > 0 || offset == 0 {
                self.write_piece(kind, thread, offset, &piece)?;
                offset += read as u64;
            }
            self.piece = piece;
            if read < PIECE_BYTES {
                return Ok(offset);
            }
        }
    }

    /// Writes a block with one piece.
    fn write_piece(
        &mut self,
        kind: StreamKind,
        thread: Option<ThreadId>,
        offset: u64,
        piece: &[u8],
    ) -> io::Result<()> {
        let (coding, stored) = self.packer.pack(kind, piece);
        self.block.clear();
        self.block.begin(thread);
        self.block.add(kind, offset, piece.len(), coding, stored);
        self.block.finish();
        self.write_block()
    }

    /// Writes a block with the streams that wait.
    fn write_small(&mut self) -> io::Result<()> {
        let mut group = std::mem::take(&mut self.small.group);
        group.clear();
        let pieces = self.small.pieces();
        group::encode(pieces.iter().copied(), &mut group);
        let (coding, stored) = self.packer.pack_group(pieces.len(), &group);
        self.block.clear();
        self.block.begin(None);
        self.block.add_group(group.len(), coding, stored);
        self.block.finish();
        self.small.streams.clear();
        self.small.bytes.clear();
        self.small.group = group;
        self.write_block()
    }

    fn write_block(&mut self) -> io::Result<()> {
        self.out.write_all(self.block.bytes())?;
        self.written += self.block.bytes().len() as u64;
        Ok(())
    }

    /// Ends the container. Returns the output, and how many bytes were written.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        if !self.small.streams.is_empty() {
            self.write_small()?;
        }
        self.out.write_all(&[END])?;
        self.out.flush()?;
        Ok((self.out, self.written + 1))
    }
}

/// Compresses pieces, if that makes them smaller.
pub struct Packer {
    kind: PackerKind,
    packed: Vec<u8>,
    columns: LineColumns,
}

enum PackerKind {
    Off,
    Lz4,
    Zstd(CCtx<'static>),
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.kind {
            PackerKind::Off => "off",
            PackerKind::Lz4 => "lz4",
            PackerKind::Zstd(_) => "zstd",
        })
    }
}

impl Packer {
    /// Takes the memory for pieces of at most [`PIECE_BYTES`].
    ///
    /// # Errors
    /// There is none. The zstd crate's own compressor would panic then, so this makes the context itself.
    pub fn new(compression: Compression) -> io::Result<Self> {
        let (kind, most) = match compression {
            Compression::Off => (PackerKind::Off, 0),
            Compression::Lz4 => {
                (PackerKind::Lz4, lz4_flex::block::get_maximum_output_size(PIECE_BYTES))
            }
            Compression::Zstd(level) => {
                let mut context = CCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
                let set = context.set_parameter(CParameter::CompressionLevel(level));
                set.map_err(|code| io::Error::other(zstd_safe::get_error_name(code)))?;
                (PackerKind::Zstd(context), zstd_safe::compress_bound(PIECE_BYTES))
            }
        };
        let mut packed = Vec::new();
        packed.try_reserve_exact(most).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(Self { kind, packed, columns: LineColumns::default() })
    }

    /// How a piece of such a stream is stored, and its bytes then. What cannot be compressed stays as it is.
    pub fn pack<'a>(&'a mut self, kind: StreamKind, piece: &'a [u8]) -> (Coding, &'a [u8]) {
        if kind == StreamKind::Threads
            && piece.len() <= PIECE_BYTES
            && let PackerKind::Zstd(context) = &mut self.kind
            && let Some(columns) = self.columns.encode(piece)
        {
            self.packed.clear();
            let packed = context.compress2(&mut self.packed, columns);
            if packed.is_ok_and(|len| len < piece.len()) {
                return (Coding::Lines, &self.packed);
            }
        }
        self.pack_bytes(piece)
    }

    /// The same for a group of this many pieces.
    pub fn pack_group<'a>(&'a mut self, pieces: usize, group: &'a [u8]) -> (Coding, &'a [u8]) {
        match self.pack_bytes(group) {
            // More than its limit.
            (_, packed) if packed.len() < pieces => (Coding::Raw, group),
            packed => packed,
        }
    }

    fn pack_bytes<'a>(&'a mut self, piece: &'a [u8]) -> (Coding, &'a [u8]) {
        let Self { kind, packed, .. } = self;
        let is_small = piece.len() <= PIECE_BYTES;
        let coding = match kind {
            PackerKind::Lz4 if is_small => {
                packed.resize(packed.capacity(), 0);
                let len = lz4_flex::block::compress_into(piece, packed).ok();
                len.map(|len| (Coding::Lz4, len))
            }
            PackerKind::Zstd(context) if is_small => {
                packed.clear();
                let len = context.compress2(packed, piece).ok();
                len.map(|len| (Coding::Zstd, len))
            }
            _ => None,
        };
        match coding.and_then(|(coding, len)| Some((coding, packed.get(..len)?))) {
            Some((coding, packed)) if packed.len() < piece.len() => (coding, packed),
            _ => (Coding::Raw, piece),
        }
    }
}
