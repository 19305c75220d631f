//! The file with the marks of a thread, and its marks in the journal.

use std::io::{self, Chain, Cursor, Read, Take};
use std::sync::Arc;

use crate::format::marks::HEADER;
use crate::format::names::EventFormat;
use crate::read::{Marks, ThreadFile};
use crate::store::{OpenChunk, OpenMarks, Stored, StoredReader};
use crate::{Error, Offset, Result};

impl ThreadFile {
    /// Opens its marks; `None` if it has none.
    ///
    /// # Errors
    /// Their file cannot be opened.
    #[doc(hidden)]
    pub fn marks(&self) -> Result<Option<Marks<StoredBytes>>> {
        if self.format != EventFormat::Binary {
            return Ok(None);
        }
        let file = self.open_marks()?;
        let open = self.open.as_deref().map(OpenChunk::marks);
        if file.is_none() && open.is_none_or(OpenMarks::is_empty) {
            return Ok(None);
        }
        let Some(open) = open else {
            if let Some(Stored::Part(bytes, range)) = &file {
                let none = StoredBytes::new(None, 0, Arc::default());
                let bytes = bytes.get(range.clone()).unwrap_or_default();
                return Ok(Some(Marks::of_thread_in_memory(none, bytes, &self.place, self.id)));
            }
            let input = StoredBytes::new(file, u64::MAX, Arc::default());
            return Ok(Some(Marks::of_thread(input, &self.place, self.id)));
        };
        let len = file.as_ref().map_or(Ok(0), Stored::len);
        let len = len.map_err(|source| Error::Io { path: self.marks_path(), source })?;
        // They continue what the file should hold, and mean nothing after anything else.
        let pending = if len < open.offset { Arc::default() } else { Arc::clone(&open.pending) };
        let input = StoredBytes::new(file, open.offset, pending);
        let marks = Marks::of_thread(input, &self.place, self.id);
        Ok(Some(marks.and_then(Arc::clone(&open.marks))))
    }

    /// Its marks as bytes of their file, with those that the journal holds; `None` if it has none.
    ///
    /// # Errors
    /// The marks cannot be opened or, if the journal holds some, not be read.
    pub(crate) fn marks_bytes(&self) -> Result<Option<impl Read + use<>>> {
        if self.format != EventFormat::Binary {
            return Ok(None);
        }
        let (kept, more) = self.marks_splice()?.unwrap_or((u64::MAX, Vec::new()));
        let stored = self.open_marks()?;
        if stored.is_none() && more.is_empty() {
            return Ok(None);
        }
        let stored = OptionalFile(stored.map(Stored::reader));
        Ok(Some(stored.take(kept).chain(Cursor::new(more))))
    }

    /// How to complete its marks file: the number of bytes to keep, and the bytes that follow them. Anything
    /// else in the file is the same marks once more. `None` if the journal holds none of its marks.
    ///
    /// # Errors
    /// The marks cannot be read, or the file does not reach to those in the journal.
    #[doc(hidden)]
    pub fn marks_splice(&self) -> Result<Option<(u64, Vec<u8>)>> {
        let open = self.open.as_deref().map(OpenChunk::marks).filter(|open| !open.is_empty());
        let (Some(open), Some(mut marks)) = (open, self.marks()?) else { return Ok(None) };
        while marks.next_mark()?.is_some() {}
        let mut bytes = open.pending.to_vec();
        if open.offset == 0 && bytes.is_empty() {
            bytes.extend_from_slice(&HEADER);
        }
        let reached = marks.offset().get();
        if reached != open.offset.saturating_add(open.pending.len() as u64) {
            let path = self.marks_path();
            let (end, next) = (Offset::new(reached), Offset::new(open.offset));
            return Err(Error::Gap { path, end, next, events: 0 });
        }
        let mut encoder = marks.encoder();
        for (position, mark) in open.marks.iter() {
            encoder.encode(*position, mark, &mut bytes);
        }
        encoder.finish(&mut bytes);
        Ok(Some((open.offset, bytes)))
    }
}

/// The bytes of a file that count, and those that follow them in the journal.
#[derive(Debug)]
pub struct StoredBytes(Chain<Take<OptionalFile>, Cursor<Arc<[u8]>>>);

impl StoredBytes {
    /// All bytes of a file.
    pub(in crate::read) fn of(file: StoredReader) -> Self {
        Self(OptionalFile(Some(file)).take(u64::MAX).chain(Cursor::new(Arc::default())))
    }

    fn new(file: Option<Stored>, limit: u64, pending: Arc<[u8]>) -> Self {
        Self(OptionalFile(file.map(Stored::reader)).take(limit).chain(Cursor::new(pending)))
    }
}

impl Read for StoredBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

/// A file; without one, no bytes.
#[derive(Debug)]
struct OptionalFile(Option<StoredReader>);

impl Read for OptionalFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |file| file.read(buffer))
    }
}
