//! The marks of one thread on their way to its marks file.

use flow_codec::format::marks::{Mark, Position};
use flow_codec::write::EncodedMarks;

use crate::certain::Certain as _;

/// Marks that are encoded and not written yet.
#[derive(Debug)]
pub(in crate::recorder) struct MarkBuffer {
    pending: EncodedMarks,
    /// Bytes of the file to which the pending marks will be appended.
    written: u64,
    /// How many of the pending bytes are on their way to the file.
    sent: usize,
}

impl Default for MarkBuffer {
    fn default() -> Self {
        Self { pending: EncodedMarks::of_file(), written: 0, sent: 0 }
    }
}

impl MarkBuffer {
    /// Adds a mark after all others.
    pub(in crate::recorder) fn add(&mut self, position: Position, mark: &Mark) {
        self.pending.add(position, mark);
        self.pending.finish();
    }

    /// Where the canonicalizer appends marks.
    pub(in crate::recorder) fn encoded(&mut self) -> &mut EncodedMarks {
        &mut self.pending
    }

    /// The bytes to write, and the length of the file before them.
    pub(in crate::recorder) fn pending(&self) -> (u64, &[u8]) {
        (self.written, self.pending.bytes())
    }

    /// The bytes that are not on their way yet, and the length of the file before them.
    pub(in crate::recorder) fn unsent(&self) -> (u64, &[u8]) {
        let unsent = self.pending.bytes().get(self.sent..).certain();
        (self.written + self.sent as u64, unsent)
    }

    /// Records that all bytes are on their way.
    pub(in crate::recorder) fn send(&mut self) {
        self.sent = self.pending.bytes().len();
    }

    /// Records that this many bytes have arrived.
    pub(in crate::recorder) fn arrived(&mut self, bytes: usize) {
        self.pending.forget(bytes);
        self.written += bytes as u64;
        self.sent = self.sent.saturating_sub(bytes);
    }

    /// Records that the pending bytes have been written.
    pub(in crate::recorder) fn wrote(&mut self) {
        self.written += self.pending.bytes().len() as u64;
        self.drop_pending();
    }

    /// Drops the pending bytes: the events they belong to were not written either.
    pub(in crate::recorder) fn drop_pending(&mut self) {
        self.pending.clear();
        self.sent = 0;
    }
}
