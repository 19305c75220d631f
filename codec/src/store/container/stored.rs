//! Bytes of a trace, wherever they are stored: in a file, or in the pieces of a container.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use super::pieces::Container;
use super::stream::Stream;
use crate::ThreadId;
use crate::format::beginning::Beginning;
use crate::format::container::StreamKind;
use crate::store::system::FileExt as _;

/// The bytes of one file of a trace, readable from any position. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    /// In a file, from an offset on.
    File(Arc<File>, u64),
    /// In a container.
    Stream(Arc<Stream>),
    /// In memory.
    Bytes(Arc<[u8]>),
    /// Some of these bytes in memory.
    Part(Arc<Vec<u8>>, Range<usize>),
    /// Parts of others, one after the other.
    Joined(Arc<[JoinedPart]>),
}

/// A part of [`Stored`] bytes that are joined.
#[derive(Clone, Debug)]
pub(crate) struct JoinedPart {
    stored: Stored,
    /// Which bytes of it, and where the first of them is in the whole.
    range: Range<u64>,
    start: u64,
}

impl Stored {
    /// A whole file.
    pub(crate) fn file(file: File) -> Self {
        Self::File(Arc::new(file), 0)
    }

    /// These bytes of others, one after the other.
    pub(crate) fn joined(parts: impl IntoIterator<Item = (Self, Range<u64>)>) -> Self {
        let mut start = 0;
        let parts = parts.into_iter().filter(|(_, range)| !range.is_empty());
        let parts = parts.map(|(stored, range)| {
            let part = JoinedPart { stored, start, range };
            start = part.end();
            part
        });
        Self::Joined(parts.collect())
    }

    /// Reads some bytes from `offset` on. Returns 0 at the end.
    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Bytes(bytes) => {
                let at = usize::try_from(offset).unwrap_or(usize::MAX);
                bytes.get(at..).unwrap_or_default().read(buffer)
            }
            Self::Part(bytes, range) => {
                let at = usize::try_from(offset).unwrap_or(usize::MAX);
                let bytes = bytes.get(range.clone()).unwrap_or_default();
                bytes.get(at..).unwrap_or_default().read(buffer)
            }
            Self::Joined(parts) => {
                let next = parts.partition_point(|part| part.end() <= offset);
                let Some(part) = parts.get(next) else { return Ok(0) };
                let from = part.range.start + (offset - part.start);
                let left = usize::try_from(part.range.end - from).unwrap_or(usize::MAX);
                let len = left.min(buffer.len());
                part.stored.read_at(from, buffer.get_mut(..len).unwrap_or_default())
            }
            Self::File(file, start) => file.read_at(buffer, start.saturating_add(offset)),
            Self::Stream(stream) => stream.read_at(offset, buffer),
        }
    }

    /// Reads bytes that tell what is stored at `offset` from something else, without unpacking it: of bytes in blocks, the
    /// first ones of their object as stored; otherwise those at the offset.
    pub(crate) fn packed_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stream(stream) => stream.packed_at(offset, buffer),
            Self::Joined(parts) => {
                let next = parts.partition_point(|part| part.end() <= offset);
                let Some(part) = parts.get(next) else { return Ok(0) };
                part.stored.packed_at(part.range.start + (offset - part.start), buffer)
            }
            Self::File(..) | Self::Bytes(_) | Self::Part(..) => {
                let len = self.len()?.saturating_sub(offset).min(buffer.len() as u64);
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                self.read_exact_at(offset, buffer.get_mut(..len).unwrap_or_default())?;
                Ok(len)
            }
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
            Self::Bytes(bytes) => Ok(bytes.len() as u64),
            Self::Part(bytes, range) => Ok(bytes.get(range.clone()).map_or(0, <[u8]>::len) as u64),
            Self::Joined(parts) => Ok(parts.last().map_or(0, JoinedPart::end)),
        }
    }

    /// Reads the bytes one after the other.
    pub(crate) fn reader(self) -> StoredReader {
        StoredReader { stored: self, at: 0 }
    }
}

impl JoinedPart {
    /// Where it ends in the whole.
    fn end(&self) -> u64 {
        self.start.saturating_add(self.range.end - self.range.start)
    }
}

/// Reads [`Stored`] bytes one after the other.
#[derive(Debug)]
pub(crate) struct StoredReader {
    stored: Stored,
    at: u64,
}

impl StoredReader {
    /// Skips bytes. Returns whether there are this many.
    pub(crate) fn skip(&mut self, bytes: u64) -> bool {
        let to = self.at.saturating_add(bytes);
        let is_there = self.stored.len().is_ok_and(|len| to <= len);
        if is_there {
            self.at = to;
        }
        is_there
    }
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

impl Container {
    /// The bytes of a stream; `None` if no block has a piece of it.
    pub(crate) fn stored(self: &Arc<Self>, kind: StreamKind, thread: ThreadId) -> Option<Stored> {
        self.stream(kind, thread).map(|stream| Stored::Stream(Arc::new(stream)))
    }

    /// The bytes of these pieces; `None` if there are none.
    pub(crate) fn stored_of(self: &Arc<Self>, pieces: Range<u32>) -> Option<Stored> {
        // A short thread has one piece, in a group that others share.
        if pieces.len() == 1
            && let Some(piece) = self.pieces.get(pieces.start as usize)
            && piece.offset == 0
            && self.objects.get(piece.object as usize).is_some_and(|object| object.is_group)
            && let Ok(bytes) = self.load(piece.object)
        {
            return Some(Stored::Part(bytes, piece.range()));
        }
        Stream::of(self, pieces).map(|stream| Stored::Stream(Arc::new(stream)))
    }

    /// The streams of this kind of all threads that have one.
    pub(crate) fn streams(
        self: &Arc<Self>,
        kind: StreamKind,
    ) -> impl Iterator<Item = (ThreadId, Stored)> {
        let stream = move |thread| Some((thread, self.stored(kind, thread)?));
        self.threads().filter_map(stream)
    }

    /// Returns where the lines about threads from removed parts are.
    pub(crate) fn lines_before(self: &Arc<Self>) -> Vec<(Stored, Range<u64>)> {
        let mut lines = Vec::new();
        let mut threads: Vec<_> = self.of_kind(StreamKind::Beginning).map(|p| p.thread).collect();
        threads.dedup();
        for thread in threads {
            let Some(stored) = self.stored(StreamKind::Beginning, thread) else { continue };
            let mut bytes = Vec::new();
            let read = stored.clone().reader().read_to_end(&mut bytes);
            if let Some(beginning) = Beginning::decode(&bytes).filter(|_| read.is_ok()) {
                let (end, len) = (bytes.len() as u64, beginning.lines.len() as u64);
                lines.push((stored, end - len..end));
            }
        }
        lines
    }

    /// Returns the open chunks of threads.
    pub(crate) fn open_chunks(self: &Arc<Self>) -> impl Iterator<Item = (ThreadId, Stored)> {
        let threads = self.of_kind(StreamKind::Open).map(|piece| piece.thread);
        threads.filter_map(|thread| Some((thread, self.stored(StreamKind::Open, thread)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_parts_read_as_one() {
        let bytes = |bytes: &[u8]| Stored::Bytes(bytes.into());
        let (first, second) = (bytes(b"0123456789"), bytes(b"abc"));
        let parts = [(first.clone(), 0..3), (second.clone(), 0..0), (second, 0..3), (first, 8..10)];
        let joined = Stored::joined(parts);
        assert_eq!(joined.len().unwrap(), 8);
        let mut all = String::new();
        joined.clone().reader().read_to_string(&mut all).unwrap();
        assert_eq!(all, "012abc89");
        for from in 0..8 {
            let mut some = vec![0; 8 - from];
            joined.read_exact_at(from as u64, &mut some).unwrap();
            assert_eq!(some, all.as_bytes()[from..]);
        }
        assert!(joined.read_exact_at(7, &mut [0; 2]).is_err());
    }
}
