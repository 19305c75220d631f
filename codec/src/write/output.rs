//! HOT: the end of a vector to which canonical bytes are written, in memory that is reserved once.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::runs::Room;

/// Bytes being written. What follows the last one is only reserved, until [`finish`](Self::finish).
#[derive(Debug)]
pub(super) struct Output<'a> {
    bytes: &'a mut Vec<u8>,
    end: usize,
}

impl<'a> Output<'a> {
    /// For writing about `expected` bytes after the content of `bytes`.
    pub(super) fn new(bytes: &'a mut Vec<u8>, expected: usize) -> Self {
        let end = bytes.len();
        bytes.resize(end + expected + size_of::<Room>(), 0);
        Self { bytes, end }
    }

    /// The number of bytes, including those before the first write.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.end
    }

    /// Calls `write` with reserved memory; it returns how many bytes it used and another result.
    #[inline]
    pub(super) fn write<T>(&mut self, write: impl FnOnce(&mut Room) -> (usize, T)) -> Option<T> {
        if self.bytes.len() - self.end < size_of::<Room>() {
            self.grow(size_of::<Room>());
        }
        // There is always memory now.
        let room = self.bytes.get_mut(self.end..)?.first_chunk_mut()?;
        let (len, result) = write(room);
        self.used(len);
        Some(result)
    }

    /// Memory for this many bytes, to be [used](Self::used). There always is some.
    pub(super) fn room<const BYTES: usize>(&mut self) -> Option<&mut [u8; BYTES]> {
        if self.bytes.len() - self.end < BYTES {
            self.grow(BYTES);
        }
        self.bytes.get_mut(self.end..)?.first_chunk_mut()
    }

    /// Records that this many bytes have been written.
    #[inline]
    pub(super) fn used(&mut self, bytes: usize) {
        debug_assert!(self.end + bytes <= self.bytes.len(), "written beyond the reserved memory");
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
