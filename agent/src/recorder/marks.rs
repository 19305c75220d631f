//! The marks of one thread on their way to its marks file.

use flow_codec::format::marks::{Mark, Position};
use flow_codec::write::EncodedMarks;

/// Marks that are encoded and not written yet.
#[derive(Debug)]
pub(super) struct MarkBuffer {
    pending: EncodedMarks,
    /// Bytes of the file, to which those pending are to be appended.
    written: u64,
}

impl Default for MarkBuffer {
    fn default() -> Self {
        Self { pending: EncodedMarks::of_file(), written: 0 }
    }
}

impl MarkBuffer {
    /// Adds a mark behind all others.
    pub(super) fn add(&mut self, position: Position, mark: &Mark) {
        self.pending.add(position, mark);
        self.pending.finish();
    }

    /// Where the fold puts more.
    pub(super) fn encoded(&mut self) -> &mut EncodedMarks {
        &mut self.pending
    }

    /// What is to be written, and behind how many bytes.
    pub(super) fn pending(&self) -> (u64, &[u8]) {
        (self.written, self.pending.bytes())
    }

    /// Those pending have been written.
    pub(super) fn wrote(&mut self) {
        self.written += self.pending.bytes().len() as u64;
        self.pending.clear();
    }

    /// Forgets those pending: what they belong to was not written either.
    pub(super) fn drop_pending(&mut self) {
        self.pending.clear();
    }
}
