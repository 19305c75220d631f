//! The bytes of one stream of a container.

use std::io::{self, Read as _};
use std::ops::Range;
use std::sync::Arc;

use super::pieces::{Container, DAMAGED, Piece, is_replaced, small};
use super::recent::Recent;
use crate::ThreadId;
use crate::format::container::StreamKind;

/// So much of a stream stays in memory after it was read.
const KEPT_BYTES: usize = 4 << 20;

/// The bytes of one stream, readable from any position.
#[derive(Debug)]
pub(crate) struct Stream {
    container: Arc<Container>,
    pieces: Range<u32>,
    kept: Recent,
}

impl Stream {
    /// The stream of these pieces of a container; `None` if there are none.
    pub(super) fn of(container: &Arc<Container>, pieces: Range<u32>) -> Option<Self> {
        let (container, kept) = (Arc::clone(container), Recent::new(KEPT_BYTES));
        (!pieces.is_empty()).then_some(Self { container, pieces, kept })
    }

    fn pieces(&self) -> &[Piece] {
        let pieces = self.pieces.start as usize..self.pieces.end as usize;
        self.container.pieces.get(pieces).unwrap_or_default()
    }

    /// Where its first piece begins.
    pub(crate) fn start(&self) -> u64 {
        self.pieces().first().map_or(0, |piece| piece.offset)
    }

    /// How many bytes the stream has.
    pub(crate) fn len(&self) -> u64 {
        self.pieces().last().map_or(0, Piece::end)
    }

    /// The ranges of the stream that blocks have, in order.
    pub(crate) fn ranges(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for piece in self.pieces() {
            let end = piece.end();
            match ranges.last_mut() {
                Some(last) if last.end == piece.offset => last.end = end,
                _ => ranges.push(piece.offset..end),
            }
        }
        ranges
    }

    /// Reads some bytes from `offset` on. Returns 0 at the end.
    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(piece) = self.piece_at(offset) {
            let object = self.load(piece)?;
            let bytes = object.get(piece.range()).unwrap_or_default();
            let at = usize::try_from(offset - piece.offset).unwrap_or(usize::MAX);
            return bytes.get(at..).unwrap_or_default().read(buffer);
        }
        // Bytes that no block has.
        let pieces = self.pieces();
        let next = pieces.partition_point(|piece| piece.offset <= offset);
        let Some(next) = pieces.get(next) else { return Ok(0) };
        let gap = usize::try_from(next.offset - offset).unwrap_or(usize::MAX).min(buffer.len());
        buffer.iter_mut().take(gap).for_each(|byte| *byte = DAMAGED);
        Ok(gap)
    }

    /// The piece with the byte at `offset`.
    fn piece_at(&self, offset: u64) -> Option<&Piece> {
        let pieces = self.pieces();
        let next = pieces.partition_point(|piece| piece.offset <= offset);
        pieces.get(next.checked_sub(1)?).filter(|piece| offset < piece.end())
    }

    /// Reads the first bytes, as stored, of the object with the byte at `offset`. Returns 0 if no block has it.
    pub(super) fn packed_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.piece_at(offset).map_or(Ok(0), |piece| self.container.packed(piece.object, buffer))
    }

    /// The object with a piece.
    fn load(&self, piece: &Piece) -> io::Result<Arc<Vec<u8>>> {
        let object = self.container.objects.get(piece.object as usize);
        if object.is_some_and(|object| object.is_group) {
            return self.container.load(piece.object);
        }
        if let Some(bytes) = self.kept.get(piece.object) {
            return Ok(bytes);
        }
        let bytes = self.container.load(piece.object)?;
        self.kept.keep(piece.object, &bytes);
        Ok(bytes)
    }
}

impl Container {
    /// A stream; `None` if no block has a piece of it.
    pub(crate) fn stream(self: &Arc<Self>, kind: StreamKind, thread: ThreadId) -> Option<Stream> {
        let start = self.pieces.partition_point(|piece| piece.stream() < (kind, thread));
        let end = self.pieces.partition_point(|piece| piece.stream() <= (kind, thread));
        let mut pieces = small(start)..small(end);
        if is_replaced(kind) {
            let place = |&piece: &u32| self.pieces.get(piece as usize).map(|p| p.object);
            let one = match kind {
                StreamKind::Beginning => pieces.min_by_key(place)?,
                _ => pieces.max_by_key(place)?,
            };
            pieces = one..one + 1;
        }
        Stream::of(self, pieces)
    }
}
