//! Writes a [`container`](crate::format::container) from beginning to end.

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

use crate::ThreadId;
use crate::format::container::{BlockEncoder, Coding, END, StreamKind, header};

/// Bytes of a stream in one piece: what a reader must decompress to read one event.
pub const PIECE_BYTES: usize = 1 << 20;

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
    written: u64,
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
        Ok(Self { out, block, packer, piece, written })
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
        let (coding, stored) = self.packer.pack(piece);
        self.block.clear();
        self.block.begin(thread);
        self.block.add(kind, offset, piece.len(), coding, stored);
        self.block.finish();
        self.out.write_all(self.block.bytes())?;
        self.written += self.block.bytes().len() as u64;
        Ok(())
    }

    /// Ends the container. Returns the output, and how many bytes were written.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        self.out.write_all(&[END])?;
        self.out.flush()?;
        Ok((self.out, self.written + 1))
    }
}

/// Compresses pieces, if that makes them smaller.
pub struct Packer {
    kind: PackerKind,
    packed: Vec<u8>,
}

enum PackerKind {
    Off,
    Lz4,
    Zstd(Box<zstd::bulk::Compressor<'static>>),
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
    /// There is none.
    pub fn new(compression: Compression) -> io::Result<Self> {
        let (kind, most) = match compression {
            Compression::Off => (PackerKind::Off, 0),
            Compression::Lz4 => {
                (PackerKind::Lz4, lz4_flex::block::get_maximum_output_size(PIECE_BYTES))
            }
            Compression::Zstd(level) => {
                let compressor = zstd::bulk::Compressor::new(level)?;
                (
                    PackerKind::Zstd(Box::new(compressor)),
                    zstd::zstd_safe::compress_bound(PIECE_BYTES),
                )
            }
        };
        let mut packed = Vec::new();
        packed.try_reserve_exact(most).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(Self { kind, packed })
    }

    /// How the piece is stored, and its bytes then. What cannot be compressed stays as it is.
    pub fn pack<'a>(&'a mut self, piece: &'a [u8]) -> (Coding, &'a [u8]) {
        let Self { kind, packed } = self;
        let is_small = piece.len() <= PIECE_BYTES;
        let coding = match kind {
            PackerKind::Lz4 if is_small => {
                packed.resize(packed.capacity(), 0);
                let len = lz4_flex::block::compress_into(piece, packed).ok();
                len.map(|len| (Coding::Lz4, len))
            }
            PackerKind::Zstd(compressor) if is_small => {
                packed.clear();
                let len = compressor.compress_to_buffer(piece, packed).ok();
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
