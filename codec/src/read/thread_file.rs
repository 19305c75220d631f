//! The events of one thread: those in its file, and behind them those that the journal holds.

use std::fs::File;
use std::io::{self, Read, Take};
use std::path::PathBuf;

use super::open_chunk::{OpenChunk, OpenChunkBytes};
use super::{FlowReader, JsonlReader, ReadRecords, Tail, Visit};
use crate::format::flow::Record;
use crate::format::names::EventFormat;
use crate::{Error, Offset, Result, ThreadId};

/// A run of exits is one record, but a line for each of them. A chunk with more lines than this is not
/// from us: no stack is so deep.
const MAX_LINES: u64 = 1 << 28;

/// The events of one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadFile {
    /// The thread.
    pub id: ThreadId,
    /// How its events are written.
    pub format: EventFormat,
    /// The file. It may not be there yet, where there is an open chunk.
    pub path: PathBuf,
    /// How many bytes its events have: the size of the file when the trace was opened, or with an
    /// open chunk what it will be.
    pub bytes: u64,
    /// What the file does not hold yet. Then only as much of it counts as stands before the chunk.
    pub open: Option<OpenChunk>,
}

impl ThreadFile {
    /// Opens the thread for reading its events. Whether they are still in the journal does not
    /// show: offsets go on as if they stood in the file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn events(&self) -> Result<Events> {
        let (file, bytes) = (Input::File(self.file()?), self.bytes_in_file());
        let reader = Reader::new(self.format, file, Offset::default(), bytes);
        let (open, path) = (self.open.clone(), self.path.clone());
        Ok(Events { reader, format: self.format, open, path, non_canonical: 0 })
    }

    /// The bytes that the offsets of the events belong to.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn content(&self) -> Result<impl Read + use<>> {
        let open = self.open.as_ref().map(|open| Input::OpenChunk(open.bytes(self.format)));
        Ok(Input::File(self.file()?).chain(open.unwrap_or(Input::Nothing)))
    }

    /// How many bytes of its events stand in the file.
    #[must_use]
    pub fn bytes_in_file(&self) -> u64 {
        self.open.as_ref().map_or(self.bytes, |open| open.offset)
    }

    /// Adds what the journal holds, if the file reaches to where that begins.
    pub(super) fn attach(&mut self, open: OpenChunk) -> Result<()> {
        let (path, events) = (&self.path, open.event_count());
        if self.bytes < open.offset {
            let (end, next) = (Offset::new(self.bytes), Offset::new(open.offset));
            return Err(Error::Gap { path: path.clone(), end, next, events });
        }
        if self.format == EventFormat::Jsonl && events > MAX_LINES {
            let found = format!("{events} events");
            let expected = "what a thread can have recorded since its file was written";
            let (path, offset) = (path.clone(), Offset::new(open.offset));
            return Err(Error::BadJournal { path, offset, expected, found });
        }
        self.bytes = open.offset.saturating_add(open.byte_count(self.format));
        self.open = Some(open);
        Ok(())
    }

    /// What counts of the file.
    fn file(&self) -> Result<Take<OptionalFile>> {
        let limit = self.open.as_ref().map_or(u64::MAX, |open| open.offset);
        let file = match File::open(&self.path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound && limit == 0 => None,
            Err(source) => return Err(Error::Io { path: self.path.clone(), source }),
        };
        Ok(OptionalFile(file).take(limit))
    }
}

/// A file; where there is none, no bytes.
#[derive(Debug)]
struct OptionalFile(Option<File>);

impl Read for OptionalFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |file| file.read(buffer))
    }
}

#[derive(Debug)]
enum Input {
    File(Take<OptionalFile>),
    OpenChunk(OpenChunkBytes),
    Nothing,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::OpenChunk(bytes) => bytes.read(buffer),
            Self::Nothing => Ok(0),
        }
    }
}

/// The records of a thread, whatever its format.
#[derive(Debug)]
pub struct Events {
    reader: Reader,
    format: EventFormat,
    /// What follows when the reader is through.
    open: Option<OpenChunk>,
    path: PathBuf,
    /// Those that readers before this one counted.
    non_canonical: u64,
}

#[derive(Debug)]
enum Reader {
    Flow(FlowReader<Input>),
    Jsonl(JsonlReader<Input>),
}

impl Reader {
    fn new(format: EventFormat, input: Input, position: Offset, bytes: u64) -> Self {
        match format {
            EventFormat::Binary => Self::Flow(FlowReader::going_on(input, position, bytes)),
            EventFormat::Jsonl => Self::Jsonl(JsonlReader::going_on(input, position)),
        }
    }
}

impl Events {
    fn reader(&self) -> &dyn ReadRecords {
        match &self.reader {
            Reader::Flow(reader) => reader,
            Reader::Jsonl(reader) => reader,
        }
    }

    #[cold]
    fn failed(&mut self, error: Error) -> Error {
        if matches!(error, Error::Io { .. }) {
            self.open = None;
        }
        error.in_file(&self.path)
    }

    /// Goes on with the open chunk, if the file ended where that begins.
    #[cold]
    fn go_on(&mut self, open: OpenChunk) -> Result<Option<(Offset, Record)>> {
        let (end, next) = (self.position(), Offset::new(open.offset));
        if end != next || self.tail() != Tail::Complete {
            let (path, events) = (self.path.clone(), open.event_count());
            return Err(Error::Gap { path, end, next, events });
        }
        self.non_canonical = self.non_canonical();
        let (input, bytes) = (Input::OpenChunk(open.bytes(self.format)), open.records.len() as u64);
        self.reader = Reader::new(self.format, input, next, bytes);
        self.next_record()
    }
}

impl ReadRecords for Events {
    fn next_record(&mut self) -> Result<Option<(Offset, Record)>> {
        let next = match &mut self.reader {
            Reader::Flow(reader) => reader.next_record(),
            Reader::Jsonl(reader) => reader.next_record(),
        };
        match next {
            Ok(None) => match self.open.take() {
                Some(open) => self.go_on(open),
                None => Ok(None),
            },
            next => next.map_err(|error| self.failed(error)),
        }
    }

    fn visit_some<V: Visit>(&mut self, visitor: &mut V) -> Result<bool> {
        let more = match &mut self.reader {
            Reader::Flow(reader) => reader.visit_some(visitor),
            Reader::Jsonl(reader) => reader.visit_some(visitor),
        };
        match more.map_err(|error| self.failed(error))? {
            true => Ok(true),
            // On to the open chunk, if there is one.
            false => match self.next_record()? {
                Some((_, Record::Enter(method))) => {
                    visitor.enter(method);
                    Ok(true)
                }
                Some((_, Record::Exit(count))) => {
                    visitor.exit(count);
                    Ok(true)
                }
                None => Ok(false),
            },
        }
    }

    fn tail(&self) -> Tail {
        self.reader().tail()
    }

    fn position(&self) -> Offset {
        self.reader().position()
    }

    fn non_canonical(&self) -> u64 {
        self.non_canonical + self.reader().non_canonical()
    }
}
