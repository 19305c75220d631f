//! The bytes of one thread, readable from any position.

use std::io::{self, Read, Take};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::format::flow::{is_boundary, records};
use crate::format::of_events::sum_of_sample;
use crate::read::{FlowReader, ThreadFile};
use crate::store::Stored;
use crate::{Error, Offset, Result, ThreadId, TraceId};

/// The events of a thread as bytes of [`flow`](crate::format::flow): those in its file, then those that the
/// journal held. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Content(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    thread: ThreadId,
    /// The identity of the recording, which is part of each sample.
    trace: Option<TraceId>,
    /// Holds the first `in_file` bytes.
    file: Option<Stored>,
    in_file: u64,
    /// The bytes after those, and how many events they contain.
    chunk: Arc<[u8]>,
    events: u64,
    /// The start of an incomplete record in the file, after which these events cannot follow.
    cut: Option<Offset>,
}

impl Content {
    /// Opens a thread as it was when the trace was opened, without the bytes by which the file has grown
    /// since.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(file: &ThreadFile) -> Result<Self> {
        let mut content =
            Inner { trace: file.trace, in_file: file.bytes_in_file(), ..Inner::nothing(file.id) };
        content.file = match &file.converted {
            Some(converted) => Some(Stored::File(Arc::clone(&converted.file), converted.start)),
            None => file.open_events()?,
        };
        if let Some(open) = &file.open {
            let io_error = |source| Error::Io { path: file.path(), source };
            content.events = open.event_count();
            content.cut = content.cut_record().map_err(io_error)?;
            if content.cut.is_none() {
                content.chunk = Arc::clone(&open.records);
            }
        }
        Ok(Self(Arc::new(content)))
    }

    /// A thread without events.
    pub(crate) fn nothing(thread: ThreadId) -> Self {
        Self(Arc::new(Inner::nothing(thread)))
    }

    /// Returns why the journal does not continue the file, if it does not. Its events are left out then.
    #[must_use]
    pub fn gap(&self, file: &ThreadFile) -> Option<Error> {
        self.gap_after(Offset::new(self.0.in_file), || file.path())
    }

    /// The same, after the bytes were read to their end, which is here.
    pub(crate) fn gap_after(&self, end: Offset, path: impl FnOnce() -> PathBuf) -> Option<Error> {
        let Inner { in_file, events, cut, .. } = *self.0;
        let is_short = end.get() < in_file && events > 0;
        let (end, next) = (cut.or(is_short.then_some(end))?, Offset::new(in_file));
        Some(Error::Gap { path: path(), end, next, events })
    }

    /// The thread of the events.
    #[must_use]
    pub(crate) fn thread(&self) -> ThreadId {
        self.0.thread
    }

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.in_file.saturating_add(self.0.chunk.len() as u64)
    }

    /// Returns whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of the bytes are in the thread's file.
    #[must_use]
    pub(crate) fn len_in_file(&self) -> u64 {
        self.0.in_file
    }

    /// Reads some bytes from `offset` on. Returns 0 at the end.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn read_at(&self, offset: Offset, buffer: &mut [u8]) -> io::Result<usize> {
        let Inner { file, in_file, chunk, .. } = &*self.0;
        let left_in_file = in_file.saturating_sub(offset.get());
        if left_in_file > 0 {
            let Some(file) = file else { return Ok(0) };
            let len = usize::try_from(left_in_file).unwrap_or(usize::MAX).min(buffer.len());
            return file.read_at(offset.get(), buffer.get_mut(..len).unwrap_or_default());
        }
        let at = usize::try_from(offset.get() - in_file).unwrap_or(usize::MAX);
        let mut rest = chunk.get(at..).unwrap_or_default();
        rest.read(buffer)
    }

    /// Reads the bytes from the beginning.
    #[must_use]
    pub fn reader(&self) -> ContentReader {
        ContentReader { content: self.clone(), offset: Offset::default() }
    }

    /// Reads bytes until the buffer is full or no more are left.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn fill_at(&self, mut offset: Offset, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(space) = buffer.get_mut(filled..).filter(|space| !space.is_empty()) {
            match self.read_at(offset, space) {
                Ok(0) => break,
                Ok(read) => {
                    filled += read;
                    offset = offset.plus(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// CRC-32 of the [`sample`](crate::format::of_events::sample) of the first `covered` bytes.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn sample(&self, covered: u64) -> io::Result<u32> {
        let fill = |offset, buffer: &mut [u8]| self.fill_at(Offset::new(offset), buffer);
        sum_of_sample(self.0.trace, covered, fill)
    }

    /// The same, but of bytes in blocks without unpacking them: of each piece, the first bytes as stored of the object that
    /// has the piece's first byte.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn stored_sample(&self, covered: u64) -> io::Result<u32> {
        sum_of_sample(self.0.trace, covered, |offset, buffer| match &self.0.file {
            Some(file) if offset < self.0.in_file => file.packed_at(offset, buffer),
            _ => self.fill_at(Offset::new(offset), buffer),
        })
    }

    /// Reads records from `offset` on, where a record must begin.
    #[must_use]
    pub(crate) fn records_at(&self, offset: Offset) -> FlowReader<ContentReader> {
        self.some_records_at(offset, self.len().saturating_sub(offset.get()))
    }

    /// The same for about this many bytes, with a small buffer.
    pub fn some_records_at(&self, offset: Offset, expected: u64) -> FlowReader<ContentReader> {
        FlowReader::continuing(ContentReader { content: self.clone(), offset }, offset, expected)
    }

    /// Reads the bytes between two offsets.
    pub(crate) fn bytes_in(&self, range: Range<u64>) -> Take<ContentReader> {
        let Range { start, end } = range;
        let reader = ContentReader { content: self.clone(), offset: Offset::new(start) };
        reader.take(end.saturating_sub(start))
    }

    /// Reads records from the beginning of one to the end of another.
    #[must_use]
    pub fn records_in(&self, range: Range<Offset>) -> FlowReader<Take<ContentReader>> {
        let Range { start: offset, end } = range;
        let len = end.get().saturating_sub(offset.get());
        let input = ContentReader { content: self.clone(), offset }.take(len);
        FlowReader::continuing(input, offset, len)
    }
}

impl Inner {
    fn nothing(thread: ThreadId) -> Self {
        let (chunk, trace) = (Arc::default(), None);
        Self { thread, trace, file: None, in_file: 0, chunk, events: 0, cut: None }
    }

    /// Where the last record in the file begins, if it is incomplete.
    fn cut_record(&self) -> io::Result<Option<Offset>> {
        let Some(file) = &self.file else { return Ok(None) };
        // Search backwards for a place that surely ends a record. It is not far, except in a recursion.
        for window in [64, 4096, 256 * 1024] {
            let mut bytes = vec![0; usize::try_from(self.in_file.min(window)).unwrap_or_default()];
            let first = self.in_file - bytes.len() as u64;
            file.read_exact_at(first, &mut bytes)?;
            let begin = match bytes.iter().rposition(|&byte| is_boundary(byte)) {
                Some(boundary) => boundary + 1,
                None if first == 0 => 0,
                None => continue,
            };
            let after = bytes.get(begin..).unwrap_or_default();
            let whole = records(after).last().map_or(0, |(_, end)| end);
            return Ok((whole < after.len()).then(|| Offset::new(first).plus(begin + whole)));
        }
        // Counts as complete.
        Ok(None)
    }
}

/// Reads the bytes of a [`Content`] from beginning to end.
#[derive(Debug)]
pub struct ContentReader {
    content: Content,
    offset: Offset,
}

impl Read for ContentReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read_at(self.offset, buffer)?;
        self.offset = self.offset.plus(read);
        Ok(read)
    }
}
