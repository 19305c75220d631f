//! Reads the marks of one thread.

use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::source::Tail;
use crate::Undecoded;
use crate::format::container::StreamKind;
use crate::format::marks::{
    BeforeMarks, HEADER, HEADER_BYTES, MAGIC, MAX_MARK_BYTES, Mark, MarkDecoder, MarkEncoder,
    Position, VERSION,
};
use crate::format::names;
use crate::{Error, Offset, Result, ThreadId};

/// How much is read at once: little at first, because most threads have few marks.
const FIRST_BYTES: usize = 256;
const BUFFER_BYTES: usize = 64 * 1024;
const EXPECTED: &str = "a mark: ";

/// The marks of one thread, in order: those in its file, then those that the journal held.
///
/// Memory depends on the longest mark, not on the number of marks.
#[derive(Debug)]
pub struct Marks<R> {
    input: R,
    file: MarksFile,
    buffer: Vec<u8>,
    /// How much was read at once.
    size: usize,
    /// The bytes of `buffer` not yet decoded.
    unread: Range<usize>,
    /// Where `unread` begins in the file.
    offset: Offset,
    decoder: MarkDecoder,
    has_begun: bool,
    /// Whether the buffer has all bytes.
    has_all: bool,
    at_end: bool,
    tail: Tail,
    /// Marks that are not in the file yet, and how many of them have been returned.
    open: (Arc<[(Position, Mark)]>, usize),
}

/// What messages call the input.
#[derive(Debug)]
enum MarksFile {
    /// Empty for a stream without a name.
    Path(PathBuf),
    /// The file of a thread in this place: the path is only made for a message.
    OfThread(Arc<Path>, ThreadId),
}

impl<R: Read> Marks<R> {
    /// Reads from the start of a file of this name.
    pub fn new(input: R, path: impl Into<PathBuf>) -> Self {
        Self::from_start(input, MarksFile::Path(path.into()))
    }

    /// The same for the marks of a thread that is in this directory or container.
    pub(crate) fn of_thread(input: R, place: &Arc<Path>, thread: ThreadId) -> Self {
        Self::from_start(input, MarksFile::OfThread(Arc::clone(place), thread))
    }

    /// The same for marks that are in memory; nothing is read from the input.
    pub(crate) fn of_thread_in_memory(
        input: R,
        bytes: &[u8],
        place: &Arc<Path>,
        thread: ThreadId,
    ) -> Self {
        let (buffer, unread) = (bytes.to_vec(), 0..bytes.len());
        Self { buffer, unread, has_all: true, ..Self::of_thread(input, place, thread) }
    }

    fn from_start(input: R, file: MarksFile) -> Self {
        Self {
            input,
            file,
            buffer: Vec::new(),
            size: 0,
            unread: 0..0,
            offset: Offset::default(),
            decoder: MarkDecoder::default(),
            has_begun: false,
            has_all: false,
            at_end: false,
            tail: Tail::Complete,
            open: (Arc::default(), 0),
        }
    }

    /// The same for marks that follow others, without a header.
    #[must_use]
    pub(crate) fn following(mut self, before: BeforeMarks) -> Self {
        self.decoder = MarkDecoder::after(before);
        self.has_begun = true;
        self
    }

    /// The same, followed by these marks.
    #[must_use]
    pub(crate) fn and_then(mut self, open: Arc<[(Position, Mark)]>) -> Self {
        self.open = (open, 0);
        self
    }

    /// The next mark, or `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or violates the format: then the marks follow that the journal held.
    pub fn next_mark(&mut self) -> Result<Option<(Position, Mark)>> {
        let in_file = self.next_in_file().map_err(|error| self.failed(error))?;
        let (open, next) = &mut self.open;
        Ok(in_file.or_else(|| {
            let mark = open.get(*next).cloned();
            *next += usize::from(mark.is_some());
            mark
        }))
    }

    /// How the file ended, once there are no more marks.
    #[must_use]
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// Where in the file the next mark begins.
    #[must_use]
    pub fn offset(&self) -> Offset {
        if self.has_begun { self.offset } else { Offset::new(HEADER_BYTES as u64) }
    }

    /// Returns an encoder for marks after those that have been read.
    #[must_use]
    pub(crate) fn encoder(&self) -> MarkEncoder {
        self.decoder.encoder()
    }

    #[cold]
    fn failed(&mut self, error: Error) -> Error {
        self.at_end = true;
        self.unread.start = self.unread.end;
        match &self.file {
            MarksFile::Path(path) => error.in_file(path),
            MarksFile::OfThread(place, thread) => {
                error.in_file(&place.join(names::stream_file(StreamKind::Marks, *thread)))
            }
        }
    }

    fn next_in_file(&mut self) -> Result<Option<(Position, Mark)>> {
        if !self.has_begun && !self.at_end {
            self.has_begun = true;
            self.read_header()?;
        }
        loop {
            if self.unread.is_empty() && self.at_end {
                return Ok(None);
            }
            let unread = self.buffer.get(self.unread.clone()).unwrap_or_default();
            match self.decoder.decode(unread) {
                Ok((position, mark, len)) => {
                    self.pass(len);
                    return Ok(Some((position, mark)));
                }
                Err(Undecoded::Incomplete)
                    if !self.at_end && self.unread.len() < MAX_MARK_BYTES =>
                {
                    self.refill()?;
                }
                Err(Undecoded::Incomplete) => {
                    self.tail = Tail::Truncated { offset: self.offset };
                    self.at_end = true;
                    self.unread.start = self.unread.end;
                }
                Err(Undecoded::Invalid(expected)) => {
                    return Err(self.damage(format!("{EXPECTED}{expected}")));
                }
            }
        }
    }

    fn read_header(&mut self) -> Result<()> {
        while self.unread.len() < HEADER_BYTES && !self.at_end {
            self.refill()?;
        }
        let bytes = self.buffer.get(self.unread.clone()).unwrap_or_default();
        if bytes.starts_with(&HEADER) {
            self.pass(HEADER_BYTES);
            return Ok(());
        }
        if HEADER.starts_with(bytes) {
            if !bytes.is_empty() {
                self.tail = Tail::Truncated { offset: self.offset };
            }
            self.unread.start = self.unread.end;
            return Ok(());
        }
        let version = bytes.strip_prefix(&MAGIC).and_then(<[u8]>::first).copied();
        Err(match version {
            Some(found) if found > VERSION => Error::UnsupportedVersion {
                path: Default::default(),
                found: found.into(),
                newest: VERSION.into(),
            },
            _ => self.damage("the magic \"flow-mrk\" and a version".to_owned()),
        })
    }

    fn damage(&self, expected: String) -> Error {
        Error::BadMarks { path: Default::default(), offset: self.offset, expected }
    }

    fn pass(&mut self, len: usize) {
        self.unread.start += len;
        self.offset = self.offset.plus(len);
    }

    /// Reads more bytes after the unread ones.
    fn refill(&mut self) -> Result<()> {
        if self.has_all {
            self.at_end = true;
            return Ok(());
        }
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        self.size = (4 * self.size).clamp(FIRST_BYTES, BUFFER_BYTES);
        if self.buffer.len() < self.unread.end + self.size {
            self.buffer.resize(self.unread.end + self.size, 0);
        }
        loop {
            let space = self.buffer.get_mut(self.unread.end..).unwrap_or_default();
            match self.input.read(space) {
                Ok(read) => {
                    self.at_end = read == 0;
                    self.unread.end += read;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::Io { path: Default::default(), source }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(offset: u64) -> Position {
        Position::before(Offset::new(offset))
    }

    fn note(length: usize) -> Mark {
        Mark::Note("x".repeat(length))
    }

    fn read<R: Read>(input: R) -> Marks<R> {
        Marks::new(input, "thread-1.marks")
    }

    fn file(marks: &[(Position, Mark)]) -> Vec<u8> {
        let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
        marks.iter().for_each(|(position, mark)| encoder.encode(*position, mark, &mut bytes));
        bytes
    }

    fn all<R: Read>(marks: &mut Marks<R>) -> Vec<(Position, Mark)> {
        std::iter::from_fn(|| marks.next_mark().unwrap()).collect()
    }

    /// Gives one byte at a time.
    struct Drops<'a>(&'a [u8]);

    impl Read for Drops<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = buffer.len().min(1);
            self.0.read(&mut buffer[..len])
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn marks_of_any_length_are_read_from_any_stream() {
        let expected =
            [3_u32, 100, 70_000, 1_000_000].map(|len| (position(len.into()), note(len as usize)));
        let bytes = file(&expected);
        assert_eq!(all(&mut read(&bytes[..])), expected);
        let few = &expected[..2];
        assert_eq!(all(&mut read(Drops(&file(few)))), few);
    }

    #[test]
    fn marks_of_the_journal_follow_those_of_any_file() {
        let (first, second) = ((position(1), note(1)), (position(2), note(2)));
        let bytes = file(std::slice::from_ref(&first));
        for end in 0..bytes.len() {
            let mut marks = read(&bytes[..end]).and_then([second.clone()].into());
            assert_eq!(all(&mut marks), std::slice::from_ref(&second), "{end}");
            let begun = if end < HEADER_BYTES { 0 } else { HEADER_BYTES as u64 };
            let cut = Tail::Truncated { offset: Offset::new(begun) };
            let is_whole = end == 0 || end == HEADER_BYTES;
            assert_eq!(marks.tail(), if is_whole { Tail::Complete } else { cut }, "{end}");
        }
        let mut damaged = bytes.clone();
        damaged[HEADER_BYTES] = 0xFF;
        let mut marks = read(&damaged[..]).and_then([second.clone()].into());
        let error = marks.next_mark().unwrap_err().to_string();
        assert!(error.contains("offset 9: expected a mark: a kind below 80"), "{error}");
        assert_eq!(all(&mut marks), [second]);
        assert_eq!(all(&mut read(&bytes[..])), [first]);
    }

    #[test]
    fn other_files_are_refused() {
        let newer = read(&b"flow-mrk\x02"[..]).next_mark().unwrap_err().to_string();
        assert!(newer.contains("format version 2; this build reads up to 1"), "{newer}");
        let foreign = read(&b"flow-idx\x01"[..]).next_mark().unwrap_err().to_string();
        assert!(foreign.contains("offset 0: expected the magic"), "{foreign}");
    }
}
