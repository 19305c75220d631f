//! HOT: where folded bytes go: the end of a vector, in which room is made once.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::runs::Room;

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
        bytes.resize(end + expected + size_of::<Room>(), 0);
        Self { bytes, end }
    }

    /// How many bytes there are, those before the first write included.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.end
    }

    /// Has `write` fill some room, and return how many bytes of it are used and something else.
    #[inline]
    pub(super) fn write<T>(&mut self, write: impl FnOnce(&mut Room) -> (usize, T)) -> Option<T> {
        if self.bytes.len() - self.end < size_of::<Room>() {
            self.grow(size_of::<Room>());
        }
        // There always is room now.
        let room = self.bytes.get_mut(self.end..)?.first_chunk_mut()?;
        let (len, result) = write(room);
        self.end += len;
        Some(result)
    }

    /// Room for so many bytes, to be [used](Self::used). There always is some.
    pub(super) fn room<const BYTES: usize>(&mut self) -> Option<&mut [u8; BYTES]> {
        if self.bytes.len() - self.end < BYTES {
            self.grow(BYTES);
        }
        self.bytes.get_mut(self.end..)?.first_chunk_mut()
    }

    /// So many bytes of the room have been written.
    pub(super) fn used(&mut self, bytes: usize) {
        self.end += bytes;
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.bytes.len() - self.end < bytes.len() {
            self.grow(bytes.len());
        }
        let end = self.end + bytes.len();
        self.bytes.get_mut(self.end..end).unwrap_or_default().copy_from_slice(bytes);
        self.end = end;
    }

    pub(super) fn finish(self) {
        self.bytes.truncate(self.end);
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        self.bytes.resize(self.end + len.max(self.end), 0);
    }
}
