//! Bytes of a trace, wherever they are stored: in a file, or in the pieces of a container.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::container::Stream;

/// The bytes of one file of a trace, readable from any position. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    /// In a file, from an offset on.
    File(Arc<File>, u64),
    /// In a container.
    Stream(Arc<Stream>),
}

impl Stored {
    /// A whole file.
    pub(crate) fn file(file: File) -> Self {
        Self::File(Arc::new(file), 0)
    }

    /// Reads some bytes from `offset` on. Returns 0 at the end.
    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file, start) => file.read_at(buffer, start.saturating_add(offset)),
            Self::Stream(stream) => stream.read_at(offset, buffer),
        }
    }

    /// Fills the buffer.
    pub(crate) fn read_exact_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(offset, buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    offset = offset.saturating_add(read as u64);
                    buffer = buffer.get_mut(read..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// How many bytes there are now.
    pub(crate) fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(file, start) => Ok(file.metadata()?.len().saturating_sub(*start)),
            Self::Stream(stream) => Ok(stream.len()),
        }
    }

    /// Reads the bytes one after the other.
    pub(crate) fn reader(self) -> StoredReader {
        StoredReader { stored: self, at: 0 }
    }
}

/// Reads [`Stored`] bytes one after the other.
#[derive(Debug)]
pub(crate) struct StoredReader {
    stored: Stored,
    at: u64,
}

impl Read for StoredReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stored.read_at(self.at, buffer)?;
        self.at = self.at.saturating_add(read as u64);
        Ok(read)
    }
}

impl Seek for StoredReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::End(by) => (self.stored.len()?, by),
            SeekFrom::Current(by) => (self.at, by),
        };
        self.at = from.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
