//! Reads a file from beginning to end, in parts of a size that fits what is read.

use std::fs::File;
use std::io;
use std::ops::RangeInclusive;

use crate::store::system::read_some;

/// How much is read at once on the way from block to block: little from large blocks, of which only the start is
/// needed, and more where small ones follow each other.
const WINDOW_BYTES: RangeInclusive<usize> = 4 * 1024..=64 * 1024;
/// The part of a file that was read last.
pub(super) struct Window {
    len: u64,
    start: u64,
    bytes: Vec<u8>,
    /// How much was read.
    size: usize,
}

impl Window {
    pub(super) const fn new(len: u64) -> Self {
        Self { len, start: 0, bytes: Vec::new(), size: 0 }
    }

    /// At least `wanted` bytes from an offset on, or all that are left.
    pub(super) fn bytes(&mut self, file: &File, at: u64, wanted: usize) -> io::Result<&[u8]> {
        let has = |window: &Self| {
            let from = usize::try_from(at.checked_sub(window.start)?).ok()?;
            let left = usize::try_from(window.len.saturating_sub(at)).unwrap_or(usize::MAX);
            (window.bytes.len().checked_sub(from)? >= wanted.min(left)).then_some(from)
        };
        if has(self).is_none() {
            let mut bytes = std::mem::take(&mut self.bytes);
            let left = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX);
            let (least, most) = (*WINDOW_BYTES.start(), *WINDOW_BYTES.end());
            let is_near = at.abs_diff(self.start + bytes.len() as u64) < least as u64;
            self.size = if is_near { (2 * self.size).clamp(least, most) } else { least };
            bytes.resize(self.size.max(wanted).min(left), 0);
            let read = read_some(file, &mut bytes, at)?;
            bytes.truncate(read);
            (self.start, self.bytes) = (at, bytes);
        }
        let from = has(self).unwrap_or(self.bytes.len());
        Ok(self.bytes.get(from..).unwrap_or_default())
    }

    /// One byte, without moving the window.
    pub(super) fn byte(&self, file: &File, at: u64) -> io::Result<Option<u8>> {
        let from = at.checked_sub(self.start).and_then(|from| usize::try_from(from).ok());
        if let Some(byte) = from.and_then(|from| self.bytes.get(from)) {
            return Ok(Some(*byte));
        }
        let mut byte = [0];
        Ok((read_some(file, &mut byte, at)? > 0).then_some(byte[0]))
    }
}
