//! The marks of one thread on their way to its marks file.

use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};

/// Marks that are encoded and not written yet.
#[derive(Debug, Default)]
pub(super) struct MarkBuffer {
    encoder: MarkEncoder,
    pending: Vec<u8>,
    /// Bytes of the file, to which those pending are to be appended.
    written: u64,
}

impl MarkBuffer {
    /// Adds a mark behind all others.
    pub(super) fn add(&mut self, position: Position, mark: &Mark) {
        if self.written == 0 && self.pending.is_empty() {
            self.pending.extend_from_slice(&HEADER);
        }
        self.encoder.encode(position, mark, &mut self.pending);
    }

    /// Has all marks so far among those pending.
    pub(super) fn finish(&mut self) {
        self.encoder.finish(&mut self.pending);
    }

    /// What is to be written, and behind how many bytes.
    pub(super) fn pending(&self) -> (u64, &[u8]) {
        (self.written, &self.pending)
    }

    /// Those pending have been written.
    pub(super) fn wrote(&mut self) {
        self.written += self.pending.len() as u64;
        self.pending.clear();
    }

    /// Forgets those pending: what they belong to was not written either.
    pub(super) fn drop_pending(&mut self) {
        self.pending.clear();
    }
}
