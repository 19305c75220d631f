//! HOT: where folded bytes go: the end of a vector, in which room is made once.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::lanes::WIDTH;

/// Bytes being written. What lies behind the last one is only room, until [`finish`](Self::finish).
#[derive(Debug)]
pub(super) struct Output<'a> {
    bytes: &'a mut Vec<u8>,
    end: usize,
}

impl<'a> Output<'a> {
    /// To write about `expected` bytes behind what `bytes` holds.
    pub(super) fn new(bytes: &'a mut Vec<u8>, expected: usize) -> Self {
        let end = bytes.len();
        bytes.resize(end + expected + WIDTH, 0);
        Self { bytes, end }
    }

    /// Writes the first `len` bytes of a word, at most all.
    #[inline]
    pub(super) fn push_word(&mut self, word: u64, len: usize) {
        if let Some(room) = self.room(WIDTH).first_chunk_mut::<WIDTH>() {
            *room = word.to_le_bytes();
        }
        self.end += len;
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Takes back the last `count` bytes, which must have been written through this.
    #[inline]
    pub(super) fn take_back(&mut self, count: usize) {
        self.end -= count;
    }

    pub(super) fn finish(self) {
        self.bytes.truncate(self.end);
    }

    #[inline]
    fn room(&mut self, len: usize) -> &mut [u8] {
        if self.bytes.len() - self.end < len {
            self.grow(len);
        }
        self.bytes.get_mut(self.end..self.end + len).unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        self.bytes.resize(self.end + len.max(self.end), 0);
    }
}
