//! A stream in small pieces, with an interrupted call now and then, as from a slow pipe.

use std::io::{self, Read};

/// Yields `bytes` in pieces of the given sizes, repeated; 0 is an interrupted call.
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    bytes: &'a [u8],
    sizes: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl<'a> Pieces<'a> {
    /// At least one of `sizes` must not be 0.
    pub(crate) fn new(bytes: &'a [u8], sizes: &'a [usize]) -> Self {
        assert!(sizes.iter().any(|&size| size > 0), "the stream would never end");
        Self { bytes, sizes: sizes.iter().cycle() }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.next().copied().unwrap_or(1);
        if size == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let size = size.min(self.bytes.len()).min(buffer.len());
        let (piece, rest) = self.bytes.split_at(size);
        buffer[..size].copy_from_slice(piece);
        self.bytes = rest;
        Ok(size)
    }
}
