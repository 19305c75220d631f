//! The marks of one thread, encoded, and what they are made of: samples, and the place of a chunk in its thread.

use crate::Offset;
use crate::format::instructions::Step;
use crate::format::marks::{Mark, MarkEncoder, Position};

/// A sample: the position of a thread in its chunk at an instant, or at two and all between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Bytes of the chunk before that position, where an event ends.
    pub bytes: usize,
    /// All events before it had happened by then, in nanoseconds since the start of the trace.
    pub by_ns: u64,
    /// No event after it had happened before then.
    pub from_ns: u64,
    /// What was sampled.
    pub kind: SampleKind,
}

/// What was sampled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SampleKind {
    /// The position alone, which becomes a time mark.
    Time {
        /// For how many microseconds the thread ran since the previous one, if that is known.
        ran_us: Option<u32>,
    },
    /// The stack, too, first at `by_ns` and last at `from_ns`.
    Stacks,
}

/// The position to which the marks of a chunk belong.
#[derive(Clone, Copy, Debug, Default)]
pub struct Base {
    /// Where the output begins in the thread's stream.
    pub start: Offset,
    /// What must be subtracted from a TIME.
    pub zero_ns: u64,
}

impl Base {
    /// A position in the output.
    pub(super) fn position(self, at: usize, exits: u64) -> Position {
        Position { offset: self.start.plus(at), exits }
    }

    /// Returns the time since the start of the trace that a TIME means. A TIME has the low 56 bits of its
    /// clock, which overflow when a machine has been up for 834 days. A time before the start is 0.
    #[inline]
    pub(super) fn instant_ns(self, time: u64) -> u64 {
        let since = time.wrapping_sub(self.zero_ns) << u8::BITS;
        if since.cast_signed() < 0 { 0 } else { since >> u8::BITS }
    }
}

/// Marks of one thread, encoded one after the other.
#[derive(Debug, Default)]
pub struct EncodedMarks {
    pub(super) encoder: MarkEncoder,
    bytes: Vec<u8>,
}

impl EncodedMarks {
    /// The marks of a file, which has a header if it has marks.
    #[must_use]
    pub fn of_file() -> Self {
        Self { encoder: MarkEncoder::with_header(), ..Self::default() }
    }

    /// Adds a mark after all others.
    pub fn add(&mut self, position: Position, mark: &Mark) {
        self.encoder.encode(position, mark, &mut self.bytes);
    }

    /// Adds pieces of values after all marks, all at one position, until there are no more.
    #[inline]
    pub(super) fn add_pieces(
        &mut self,
        position: Position,
        next: impl FnMut() -> Option<(u64, usize)>,
    ) {
        self.encoder.encode_pieces(position, next, &mut self.bytes);
    }

    /// Adds lines after all marks, all at one position, until there are no more.
    #[inline]
    pub(super) fn add_lines(&mut self, position: Position, next: impl FnMut() -> Option<u16>) {
        self.encoder.encode_lines(position, next, &mut self.bytes);
    }

    /// Adds steps after all marks, all at one position, until there are no more.
    #[inline]
    pub(super) fn add_steps(&mut self, position: Position, next: impl FnMut() -> Option<Step>) {
        self.encoder.encode_steps(position, next, &mut self.bytes);
    }

    /// Makes [bytes](Self::bytes) contain all marks so far, including instants.
    pub fn finish(&mut self) {
        self.encoder.finish(&mut self.bytes);
    }

    /// The marks since the bytes were [cleared](Self::clear).
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes the first bytes, which have been written elsewhere.
    pub fn forget(&mut self, bytes: usize) {
        self.bytes.drain(..bytes.min(self.bytes.len()));
    }

    /// Removes the bytes so far. Later marks follow them.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}
