//! Puts what was recorded into blocks, compressed as well as there is time for.

use std::io;

use flow_codec::ThreadId;
use flow_codec::format::container::{BlockEncoder, Coding, StreamKind};
use flow_codec::format::group::{self, GroupPiece, MAX_GROUP_BYTES};
use flow_codec::write::{Compression, MAX_GROUPED_BYTES, PIECE_BYTES, Packer};

use crate::sink::{CanonicalChunk, LastChunk, SinkError};
use crate::sys::{allocator, clock};

/// Keeps up with most programs that do nothing but call methods.
const FAST: Compression = Compression::Zstd(2);
/// A twentieth of the CPU time of the process is for thorough compression.
const THOROUGH_PART: u64 = 20;
/// Fewer bytes say little about how long compression takes.
const MEASURED_BYTES: usize = 32 << 10;
/// After this many pieces the other one of two packers is tried: what the program does may have changed.
const TRIED_AFTER: u32 = 32;

/// Compresses, with memory for blocks.
#[derive(Debug)]
pub(super) struct Packing {
    usual: Measured,
    choice: Option<Choice>,
    blocks: BlockEncoder,
    group: Vec<u8>,
}

/// A packer, and how many picoseconds of CPU time it needed last for a byte.
#[derive(Debug)]
struct Measured {
    packer: Packer,
    cost: Option<u64>,
}

/// Whether there is time for better compression than usual.
#[derive(Debug)]
struct Choice {
    /// Takes less space, and mostly more time.
    thorough: Measured,
    /// CPU time of the process when that began, and of compression since then.
    begun_ns: u64,
    spent_ns: u64,
    /// Pieces since both were tried.
    pieces: u32,
    is_thorough: bool,
}

impl Measured {
    fn new(compression: Compression) -> io::Result<Self> {
        Ok(Self { packer: Packer::new(compression)?, cost: None })
    }
}

impl Choice {
    fn new() -> io::Result<Self> {
        let thorough = Measured::new(Compression::default())?;
        let begun_ns = clock::process_cpu_time();
        Ok(Self { thorough, begun_ns, spent_ns: 0, pieces: 0, is_thorough: true })
    }

    /// Chooses for the next large piece; the process has used `process_ns` of CPU time.
    fn choose(&mut self, usual: Option<u64>, process_ns: u64) {
        let has_time = self.spent_ns < process_ns.saturating_sub(self.begun_ns) / THOROUGH_PART;
        // Where few sequences return again and again, thorough compression finds longer ones, and ends sooner.
        let is_cheaper = self.thorough.cost.zip(usual).is_some_and(|(cost, usual)| cost <= usual);
        self.pieces += 1;
        let tries = self.pieces >= TRIED_AFTER;
        if tries {
            self.pieces = 0;
        }
        self.is_thorough = has_time || is_cheaper != tries;
    }
}

impl Packing {
    /// Compresses like this; with `None`, as well as there is time for.
    pub(super) fn new(compression: Option<Compression>) -> io::Result<Self> {
        let choice = compression.is_none().then(Choice::new).transpose()?;
        let usual = Measured::new(compression.unwrap_or(FAST))?;
        Ok(Self { usual, choice, blocks: BlockEncoder::default(), group: Vec::new() })
    }

    /// For few bytes, while other threads may wait.
    pub(super) fn fast(compression: Option<Compression>) -> io::Result<Packer> {
        Packer::new(compression.unwrap_or(FAST))
    }

    /// What threads recorded last, compressed.
    pub(super) fn encode_last(&mut self, threads: &[LastChunk<'_>]) -> Result<&[u8], SinkError> {
        // A thread of the program does this.
        let Self { usual, blocks, group, .. } = self;
        encode_last(blocks, threads, group, Some(&mut usual.packer))?;
        Ok(self.blocks.bytes())
    }

    /// Bytes of a stream, compressed.
    pub(super) fn encode(
        &mut self,
        stream: (Option<ThreadId>, StreamKind),
        offset: u64,
        bytes: &[u8],
    ) -> Result<&[u8], SinkError> {
        let Self { usual, choice, blocks, .. } = self;
        let Some(choice) = choice else {
            encode(blocks, stream, offset, bytes, Some(&mut usual.packer))?;
            return Ok(blocks.bytes());
        };
        let is_large = bytes.len() >= MEASURED_BYTES;
        if is_large {
            choice.choose(usual.cost, clock::process_cpu_time());
        }
        let chosen = if choice.is_thorough { &mut choice.thorough } else { usual };
        let start_ns = if is_large { clock::cpu_time() } else { 0 };
        encode(blocks, stream, offset, bytes, Some(&mut chosen.packer))?;
        if is_large {
            let spent_ns = clock::cpu_time().saturating_sub(start_ns);
            chosen.cost = Some(spent_ns.saturating_mul(1000) / bytes.len() as u64);
            choice.spent_ns += spent_ns;
        }
        Ok(blocks.bytes())
    }
}

/// Puts bytes of a stream into blocks, as many as they need.
pub(super) fn encode(
    blocks: &mut BlockEncoder,
    (thread, kind): (Option<ThreadId>, StreamKind),
    offset: u64,
    bytes: &[u8],
    packer: Option<&mut Packer>,
) -> Result<(), SinkError> {
    blocks.clear();
    encode_more(blocks, (thread, kind), offset, bytes, packer)
}

/// Adds bytes of a stream to blocks.
fn encode_more(
    blocks: &mut BlockEncoder,
    (thread, kind): (Option<ThreadId>, StreamKind),
    offset: u64,
    bytes: &[u8],
    mut packer: Option<&mut Packer>,
) -> Result<(), SinkError> {
    let pieces = bytes.len().div_ceil(PIECE_BYTES);
    let wanted = BlockEncoder::bytes_for(pieces, bytes.len());
    allocator::try_reserve(blocks.memory(), wanted).map_err(SinkError::no_memory)?;
    let mut at = offset;
    for piece in bytes.chunks(PIECE_BYTES) {
        let (coding, stored) = match &mut packer {
            Some(packer) => packer.pack(kind, piece),
            None => (Coding::Raw, piece),
        };
        blocks.begin(thread);
        blocks.add(kind, at, piece.len(), coding, stored);
        blocks.finish();
        at += piece.len() as u64;
    }
    Ok(())
}

/// Puts what threads recorded last into blocks: one for all threads with few bytes, one for each other thread.
pub(super) fn encode_last(
    blocks: &mut BlockEncoder,
    threads: &[LastChunk<'_>],
    group: &mut Vec<u8>,
    packer: Option<&mut Packer>,
) -> Result<(), SinkError> {
    blocks.clear();
    group.clear();
    let is_small = |piece: &GroupPiece<'_>| piece.bytes.len() <= MAX_GROUPED_BYTES;
    let pieces = || {
        // Bytes that are alike follow each other.
        let events = threads.iter().map(|LastChunk { chunk, .. }| {
            let CanonicalChunk { thread, offset, bytes, .. } = *chunk;
            GroupPiece { thread, kind: StreamKind::Events, offset: offset.get(), bytes }
        });
        let marks = threads.iter().map(|LastChunk { chunk, marks_offset, marks }| {
            let (thread, kind) = (chunk.thread, StreamKind::Marks);
            GroupPiece { thread, kind, offset: *marks_offset, bytes: marks }
        });
        events.chain(marks).filter(|piece| !piece.bytes.is_empty())
    };
    let mut small = Vec::new();
    allocator::try_reserve(&mut small, 2 * threads.len()).map_err(SinkError::no_memory)?;
    small.extend(pieces().filter(is_small));
    let bytes = small.iter().map(|piece| piece.bytes.len()).sum();
    let wanted = group::bytes_for(small.len(), bytes);
    let fits = wanted <= MAX_GROUP_BYTES;
    if fits && !small.is_empty() {
        allocator::try_reserve(group, wanted).map_err(SinkError::no_memory)?;
        group::encode(small.iter().copied(), group);
        let (coding, stored) = match packer {
            Some(packer) => packer.pack_group(small.len(), group),
            None => (Coding::Raw, &group[..]),
        };
        allocator::try_reserve(blocks.memory(), BlockEncoder::bytes_for(1, stored.len()))
            .map_err(SinkError::no_memory)?;
        blocks.begin(None);
        blocks.add_group(group.len(), coding, stored);
        blocks.finish();
    }
    for piece in pieces().filter(|piece| !fits || !is_small(piece)) {
        let GroupPiece { thread, kind, offset, bytes } = piece;
        encode_more(blocks, (Some(thread), kind), offset, bytes, None)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn choice(cost: Option<u64>) -> Choice {
        let mut choice = Choice::new().unwrap();
        choice.begun_ns = 0;
        choice.thorough.cost = cost;
        choice
    }

    /// How many of 320 pieces are compressed thoroughly.
    fn thorough(choice: &mut Choice, usual: Option<u64>, process_ns: u64) -> usize {
        let chosen = (0..320).filter(|_| {
            choice.choose(usual, process_ns);
            choice.is_thorough
        });
        chosen.count()
    }

    #[test]
    fn compression_is_thorough_as_long_as_it_takes_little() {
        let mut slow = choice(Some(3000));
        assert_eq!(thorough(&mut slow, Some(400), MS), 320, "nothing was spent");
        slow.spent_ns = MS;
        assert_eq!(thorough(&mut slow, Some(400), 21 * MS), 320, "less than a twentieth");
        assert_eq!(thorough(&mut slow, Some(400), 20 * MS), 10, "now and then");
        assert_eq!(thorough(&mut slow, None, 20 * MS), 10, "the usual one is measured soon");
    }

    #[test]
    fn compression_is_thorough_if_that_is_cheaper() {
        let mut fast = choice(Some(300));
        fast.spent_ns = MS;
        assert_eq!(thorough(&mut fast, Some(800), MS), 310, "the usual one now and then");
    }

    #[test]
    fn large_pieces_are_measured() {
        let mut packing = Packing::new(None).unwrap();
        let stream = (Some(ThreadId::new(1)), StreamKind::Events);
        packing.encode(stream, 0, &[0x81; 100]).unwrap();
        let spent = |packing: &Packing| packing.choice.as_ref().unwrap().spent_ns;
        assert_eq!(spent(&packing), 0);
        let blocks = packing.encode(stream, 100, &[0x81; 2 * PIECE_BYTES]).unwrap().len();
        assert!(blocks < 1000, "{blocks}");
        assert!(spent(&packing) > 0);
    }
}
