//! Writes a [`container`](crate::format::container) from beginning to end.

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

use crate::ThreadId;
use crate::format::container::{BlockEncoder, Coding, END, StreamKind, header};

/// Bytes of a stream in one piece: what a reader must decompress to read one event.
const PIECE_BYTES: usize = 1 << 20;

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
        let (coding, stored) = self.packer.pack(piece)?;
        self.block.begin(thread);
        self.block.add(kind, offset, piece.len(), coding, stored);
        let block = self.block.finish();
        self.out.write_all(block)?;
        self.written += block.len() as u64;
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

/// Compresses pieces, if that makes them smaller. Keeps its memory for the next one.
pub struct Packer(Packing);

enum Packing {
    Off,
    Lz4(Vec<u8>),
    Zstd(Box<zstd::bulk::Compressor<'static>>, Vec<u8>),
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Packing::Off => "off",
            Packing::Lz4(_) => "lz4",
            Packing::Zstd(..) => "zstd",
        })
    }
}

impl Packer {
    /// Prepares this compression.
    ///
    /// # Errors
    /// There is no memory, or no such level.
    pub fn new(compression: Compression) -> io::Result<Self> {
        Ok(Self(match compression {
            Compression::Off => Packing::Off,
            Compression::Lz4 => Packing::Lz4(Vec::new()),
            Compression::Zstd(level) => {
                Packing::Zstd(Box::new(zstd::bulk::Compressor::new(level)?), Vec::new())
            }
        }))
    }

    /// Returns how the piece is stored, and its bytes then.
    ///
    /// # Errors
    /// The library reports one, such as a lack of memory.
    pub fn pack<'a>(&'a mut self, piece: &'a [u8]) -> io::Result<(Coding, &'a [u8])> {
        let (coding, packed) = match &mut self.0 {
            Packing::Off => return Ok((Coding::Raw, piece)),
            Packing::Lz4(packed) => {
                packed.resize(lz4_flex::block::get_maximum_output_size(piece.len()), 0);
                let len =
                    lz4_flex::block::compress_into(piece, packed).map_err(io::Error::other)?;
                packed.truncate(len);
                (Coding::Lz4, packed)
            }
            Packing::Zstd(compressor, packed) => {
                packed.clear();
                packed.reserve(zstd::zstd_safe::compress_bound(piece.len()));
                compressor.compress_to_buffer(piece, packed)?;
                (Coding::Zstd, packed)
            }
        };
        Ok(if packed.len() < piece.len() { (coding, packed) } else { (Coding::Raw, piece) })
    }
}
