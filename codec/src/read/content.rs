//! The bytes of one thread, from any place on.

use std::fs::File;
use std::io::{self, Read, Take};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::{FlowReader, ReadRecords, ThreadFile};
use crate::format::flow::{Encoded, Record, is_boundary, records};
use crate::format::names::EventFormat;
use crate::{Error, Offset, Result, ThreadId};

/// The events of a thread as bytes of [`flow`](crate::format::flow): those in its file, and behind them what
/// the journal held. Cheap to clone.
///
/// Of a thread that is written as [`jsonl`](crate::format::jsonl) it is a translation, in memory, a
/// twentieth of the size of the file; offsets are those in the translation.
#[derive(Clone, Debug)]
pub struct Content(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    thread: ThreadId,
    /// Holds the first `in_file` bytes.
    file: Option<File>,
    in_file: u64,
    /// The bytes behind those.
    rest: Rest,
    /// Where the record begins that is not whole behind which the journal's events should follow, and how many
    /// these are.
    gap: Option<(Offset, u64)>,
}

#[derive(Debug)]
enum Rest {
    Chunk(Arc<[u8]>),
    Translated(Vec<u8>),
}

impl Content {
    /// Opens a thread, as it is when the trace was opened: what the file has grown by since is left
    /// out.
    ///
    /// # Errors
    /// The file cannot be opened, or does not hold what the format says where it has to be translated.
    pub fn open(file: &ThreadFile) -> Result<Self> {
        let thread = file.id;
        if file.format == EventFormat::Jsonl {
            let rest = Rest::Translated(translate(file)?);
            return Ok(Self(Arc::new(Inner { thread, file: None, in_file: 0, rest, gap: None })));
        }
        let in_file = file.bytes_in_file();
        let opened = file.open_file()?;
        let (mut chunk, mut gap) = (Arc::default(), None);
        if let Some(open) = &file.open {
            let cut = opened.as_ref().map(|opened| cut_record(opened, in_file)).transpose();
            let io_error = |source| Error::Io { path: file.path.clone(), source };
            match cut.map_err(io_error)?.flatten() {
                Some(end) => gap = Some((end, open.event_count())),
                None => chunk = Arc::clone(&open.records),
            }
        }
        Ok(Self(Arc::new(Inner { thread, file: opened, in_file, rest: Rest::Chunk(chunk), gap })))
    }

    /// What is wrong where the journal should go on behind the file, if anything is: then what it holds is
    /// left out.
    #[must_use]
    pub fn gap(&self, path: &Path) -> Option<Error> {
        let (end, events) = self.0.gap?;
        let next = Offset::new(self.0.in_file);
        Some(Error::Gap { path: path.to_path_buf(), end, next, events })
    }

    /// Whose events they are.
    #[must_use]
    pub fn thread(&self) -> ThreadId {
        self.0.thread
    }

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.in_file.saturating_add(self.rest().len() as u64)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of the bytes stand in the thread's file, at the same offsets.
    #[must_use]
    pub fn len_in_file(&self) -> u64 {
        self.0.in_file
    }

    /// Reads some bytes from `offset` on; 0 is the end.
    ///
    /// # Errors
    /// Those of the file.
    pub fn read_at(&self, offset: Offset, buffer: &mut [u8]) -> io::Result<usize> {
        let left_in_file = self.0.in_file.saturating_sub(offset.get());
        if left_in_file > 0 {
            let Some(file) = &self.0.file else { return Ok(0) };
            let len = usize::try_from(left_in_file).unwrap_or(usize::MAX).min(buffer.len());
            return file.read_at(buffer.get_mut(..len).unwrap_or_default(), offset.get());
        }
        let at = offset.get() - self.0.in_file;
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let mut rest = self.rest().get(at..).unwrap_or_default();
        rest.read(buffer)
    }

    /// Reads bytes until the buffer is full, or there are no more.
    ///
    /// # Errors
    /// Those of the file.
    pub fn fill_at(&self, mut offset: Offset, buffer: &mut [u8]) -> io::Result<usize> {
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

    /// Reads records from `offset` on, which must be where one begins.
    #[must_use]
    pub fn records_at(&self, offset: Offset) -> FlowReader<ContentReader> {
        self.some_records_at(offset, self.len().saturating_sub(offset.get()))
    }

    /// The same, of about so many bytes: for a short look.
    pub(crate) fn some_records_at(
        &self,
        offset: Offset,
        expected: u64,
    ) -> FlowReader<ContentReader> {
        FlowReader::going_on(ContentReader { content: self.clone(), offset }, offset, expected)
    }

    /// Reads records from where one begins to where one ends.
    #[must_use]
    pub fn records_in(&self, range: Range<Offset>) -> FlowReader<Take<ContentReader>> {
        let Range { start: offset, end } = range;
        let len = end.get().saturating_sub(offset.get());
        let input = ContentReader { content: self.clone(), offset }.take(len);
        FlowReader::going_on(input, offset, len)
    }

    fn rest(&self) -> &[u8] {
        match &self.0.rest {
            Rest::Chunk(chunk) => chunk,
            Rest::Translated(bytes) => bytes,
        }
    }
}

/// The bytes of a [`Content`] one after the other.
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

/// Where the last record of the first `len` bytes begins, if it is not whole.
fn cut_record(file: &File, len: u64) -> io::Result<Option<Offset>> {
    // Far enough for a place where a record ends for sure, but for a recursion, which is taken as whole.
    let mut bytes = [0; 64];
    let start = len.saturating_sub(bytes.len() as u64);
    let bytes = bytes.split_at_mut(usize::try_from(len - start).unwrap_or_default()).0;
    file.read_exact_at(bytes, start)?;
    let boundary = bytes.iter().rposition(|&byte| is_boundary(byte));
    let first = match boundary {
        Some(at) => at + 1,
        None if start == 0 => 0,
        None => return Ok(None),
    };
    let behind = bytes.get(first..).unwrap_or_default();
    let whole = records(behind).last().map_or(0, |(_, end)| end);
    Ok((whole < behind.len()).then(|| Offset::new(start).plus(first + whole)))
}

/// The events of a JSONL file as `.flow`. Lines that are no events are left out.
fn translate(file: &ThreadFile) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut events = file.events()?;
    loop {
        match events.next_record() {
            Ok(Some((_, Record::Enter(method)))) => {
                bytes.extend_from_slice(Encoded::enter(method).as_bytes());
            }
            Ok(Some((_, Record::Exit(count)))) => {
                bytes.extend_from_slice(Encoded::exits(count).as_bytes());
            }
            Ok(None) => return Ok(bytes),
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(_) => {}
        }
    }
}
