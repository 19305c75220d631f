//! The events of one thread: those in its file, and behind them those that the journal holds.

use std::fs::File;
use std::io::{self, Chain, Cursor, Read, Take};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::flow::AtHand;
use super::jsonl::Converted;
use super::open_chunk::{OpenChunk, OpenMarks};
use super::part::{PartCursor, Parts, Seen};
use super::regular;
use super::{Content, ContentReader, FlowReader, Marks, RECORDS_AT_ONCE, ReadRecords, Tail, Visit};
use crate::format::flow::Record;
use crate::format::marks::{HEADER, Position};
use crate::format::names::{EventFormat, MARKS_EXTENSION};
use crate::{Error, Offset, Result, ThreadId};

/// A run of exits is one record, but a line for each of them. A chunk with more lines than this is not
/// from us: no stack is so deep.
const MAX_LINES: u64 = 1 << 28;

/// The events of one thread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThreadFile {
    /// The thread.
    pub id: ThreadId,
    /// The file. It may not be there yet, where there is an open chunk.
    pub path: PathBuf,
    /// How many bytes of [`flow`](crate::format::flow) its events have: those of the file when the trace was
    /// opened, and of the open chunk.
    pub bytes: u64,
    /// What the file does not hold yet. Then only as much of it counts as stands before the chunk.
    pub open: Option<OpenChunk>,
    /// What of it is read, if not all.
    pub parts: Option<Parts>,
    /// How its events are stored, and what they were converted to.
    pub(super) format: EventFormat,
    pub(super) converted: Option<Converted>,
}

impl ThreadFile {
    /// A thread of which nothing is known but its file.
    pub(crate) fn new(id: ThreadId, format: EventFormat, path: PathBuf, bytes: u64) -> Self {
        Self { id, path, bytes, open: None, parts: None, format, converted: None }
    }

    /// Opens the thread for reading its events. Whether they are still in the journal does not
    /// show: offsets go on as if they stood in the file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn events(&self) -> Result<Events> {
        self.events_from(Offset::default())
    }

    /// Only some parts of it, which are called `title`.
    #[must_use]
    pub fn only(&self, title: &str, ranges: &[Range<Position>]) -> Self {
        let parts = Parts { title: title.to_owned(), ranges: ranges.into() };
        Self { parts: Some(parts), ..self.clone() }
    }

    /// All of it.
    pub(crate) fn whole(&self) -> Self {
        Self { parts: None, ..self.clone() }
    }

    /// The same from a place on where a record begins. Of parts nothing is left that was entered before.
    ///
    /// # Errors
    /// As those of [`events`](Self::events).
    pub fn events_from(&self, offset: Offset) -> Result<Events> {
        let mut events = Events::of(Content::open(self)?, offset, self.path.clone());
        events.parts = self
            .parts
            .as_ref()
            .map(|parts| Box::new((PartCursor::new(parts, offset), self.whole())));
        Ok(events)
    }

    /// None of its events.
    pub(super) fn no_events(&self) -> Events {
        Events::of(Content::nothing(self.id), Offset::default(), self.path.clone())
    }

    /// Its marks; `None` where it has none.
    ///
    /// # Errors
    /// Their file cannot be opened.
    pub fn marks(&self) -> Result<Option<Marks<MarksInput>>> {
        if self.format != EventFormat::Binary {
            return Ok(None);
        }
        let path = self.path.with_extension(MARKS_EXTENSION);
        let file =
            regular::open(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
        let open = self.open.as_ref().map(OpenChunk::marks);
        if file.is_none() && open.is_none_or(OpenMarks::is_empty) {
            return Ok(None);
        }
        let Some(open) = open else {
            return Ok(Some(Marks::new(MarksInput::new(file, u64::MAX, Arc::default()), &path)));
        };
        let len = file.as_ref().map_or(Ok(0), |file| file.metadata().map(|facts| facts.len()));
        let len = len.map_err(|source| Error::Io { path: path.clone(), source })?;
        // They follow what the file should hold, and mean nothing behind something else.
        let pending = if len < open.offset { Arc::default() } else { Arc::clone(&open.pending) };
        let input = MarksInput::new(file, open.offset, pending);
        Ok(Some(Marks::new(input, &path).and_then(Arc::clone(&open.marks))))
    }

    /// What makes of its marks file one that holds all of its marks: so many bytes stay, and these follow. What
    /// the file has behind those is the same once more. `None` where the journal holds nothing of them.
    ///
    /// # Errors
    /// The marks cannot be read, or the file does not reach to what the journal holds.
    pub fn marks_splice(&self) -> Result<Option<(u64, Vec<u8>)>> {
        let open = self.open.as_ref().map(OpenChunk::marks).filter(|open| !open.is_empty());
        let (Some(open), Some(mut marks)) = (open, self.marks()?) else { return Ok(None) };
        while marks.next_mark()?.is_some() {}
        let mut bytes = open.pending.to_vec();
        if open.offset == 0 && bytes.is_empty() {
            bytes.extend_from_slice(&HEADER);
        }
        let reached = marks.offset().get();
        if reached != open.offset.saturating_add(open.pending.len() as u64) {
            let path = self.path.with_extension(MARKS_EXTENSION);
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

    /// How many bytes of its events the file holds.
    #[must_use]
    pub fn bytes_in_file(&self) -> u64 {
        self.open.as_ref().map_or(self.bytes, |open| open.offset)
    }

    /// How many bytes its events have as they are stored, or with an open chunk will be.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, |open| open.stored_bytes(self.format));
        self.stored_in_file().saturating_add(open)
    }

    /// How many of these the file holds.
    #[must_use]
    pub fn stored_in_file(&self) -> u64 {
        self.converted.as_ref().map_or(self.bytes_in_file(), |converted| converted.stored)
    }

    /// Where in the file the record begins that its events end in, which is at `offset` of them.
    #[must_use]
    pub fn stored_offset(&self, offset: Offset) -> Offset {
        self.converted.as_ref().map_or(offset, |converted| Offset::new(converted.whole))
    }

    /// Adds what the journal holds, if the file reaches to where that begins.
    pub(super) fn attach(&mut self, open: OpenChunk) -> Result<()> {
        let open = open.joined(self.bytes);
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
        self.bytes = open.offset.saturating_add(open.records.len() as u64);
        self.open = Some(open);
        Ok(())
    }

    /// Opens its file; `None` where it has none, since all of its events are in the journal.
    pub(super) fn open_file(&self) -> Result<Option<File>> {
        let file = regular::open(&self.path).map_err(|source| self.io_error(source))?;
        if file.is_none() && self.bytes_in_file() > 0 {
            return Err(self.io_error(io::ErrorKind::NotFound.into()));
        }
        Ok(file)
    }

    fn io_error(&self, source: io::Error) -> Error {
        Error::Io { path: self.path.clone(), source }
    }
}

/// What counts of a file with marks, and what follows that.
#[derive(Debug)]
pub struct MarksInput(Chain<Take<OptionalFile>, Cursor<Arc<[u8]>>>);

impl MarksInput {
    fn new(file: Option<File>, limit: u64, pending: Arc<[u8]>) -> Self {
        Self(OptionalFile(file).take(limit).chain(Cursor::new(pending)))
    }
}

impl Read for MarksInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
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

/// The records of a thread.
#[derive(Debug)]
pub struct Events {
    reader: FlowReader<ContentReader>,
    content: Content,
    path: PathBuf,
    /// Whether the end has been seen, and what is wrong there.
    is_over: bool,
    /// Where only parts are read: which, and of what.
    parts: Option<Box<(PartCursor, ThreadFile)>>,
}

impl Events {
    fn of(content: Content, offset: Offset, path: PathBuf) -> Self {
        let reader = content.records_at(offset);
        Self { reader, content, path, is_over: false, parts: None }
    }

    #[cold]
    fn failed(&mut self, error: Error) -> Error {
        self.is_over |= matches!(error, Error::Io { .. });
        error.in_file(&self.path)
    }

    /// There are no more records. Once, it may be that there should be.
    #[cold]
    fn end(&mut self) -> Result<()> {
        let was_over = std::mem::replace(&mut self.is_over, true);
        let gap = self.content.gap_behind(self.reader.position(), &self.path);
        gap.filter(|_| !was_over).map_or(Ok(()), Err)
    }

    /// The next record of the parts that are read.
    fn next_of_parts(&mut self) -> Result<Option<(Offset, Record)>> {
        let Some(mut parts) = self.parts.take() else { return Ok(None) };
        let (cursor, file) = &mut *parts;
        let next = loop {
            if cursor.is_done() {
                break Ok(None);
            }
            if let Some(start) = cursor.begin() {
                match file.events_from(start) {
                    Ok(events) => *self = events,
                    Err(error) => break Err(error),
                }
            }
            let seen = match self.next_record() {
                Err(error) => break Err(error),
                Ok(None) => {
                    cursor.tail = self.tail();
                    Seen::End
                }
                Ok(Some((offset, record))) => match cursor.see(offset, record) {
                    Seen::Record(record) => break Ok(Some((offset, record))),
                    seen => seen,
                },
            };
            if let Seen::End = seen
                && let Some(left) = cursor.end(self.position())
            {
                break Ok(Some(left));
            }
        };
        self.parts = Some(parts);
        next
    }
}

impl Events {
    /// Where a part of the thread ended, if what was handed on last are the exits of the frames that were open
    /// there: no record of the thread, and all at once.
    #[must_use]
    pub fn part_end(&self) -> Option<Position> {
        self.parts.as_ref().and_then(|parts| parts.0.left_at)
    }

    /// The next records that begin before `until`, as far as they are whole in memory; `None` where they are not read
    /// that way.
    #[inline]
    pub(super) fn at_hand(&self, until: Offset) -> Option<AtHand<'_>> {
        self.parts.is_none().then(|| self.reader.at_hand(until))
    }

    /// Passes records at hand.
    #[inline]
    pub(super) fn pass(&mut self, to: Offset) {
        self.reader.pass(to);
    }

    /// Hands on one record.
    fn visit_next(&mut self, visitor: &mut impl Visit) -> Result<bool> {
        match self.next_record()? {
            Some((_, Record::Enter(method))) => visitor.enter(method),
            Some((_, Record::Exit(count))) => visitor.exit(count),
            None => return Ok(false),
        }
        Ok(true)
    }
}

impl ReadRecords for Events {
    #[inline]
    fn next_record(&mut self) -> Result<Option<(Offset, Record)>> {
        if self.parts.is_some() {
            return self.next_of_parts();
        }
        match self.reader.next_record() {
            Ok(None) => self.end().map(|()| None),
            next => next.map_err(|error| self.failed(error)),
        }
    }

    fn visit_some<V: Visit>(&mut self, visitor: &mut V) -> Result<bool> {
        if self.parts.is_some() {
            for _ in 0..RECORDS_AT_ONCE {
                if !self.visit_next(visitor)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        match self.reader.visit_some(visitor) {
            Ok(false) => self.end().map(|()| false),
            more => more.map_err(|error| self.failed(error)),
        }
    }

    fn visit_until<V: Visit>(&mut self, end: Offset, visitor: &mut V) -> Result<bool> {
        if self.position() >= end {
            return Ok(true);
        }
        if self.parts.is_some() {
            return self.visit_next(visitor);
        }
        match self.reader.visit_until(end, visitor) {
            Ok(false) => self.end().map(|()| false),
            more => more.map_err(|error| self.failed(error)),
        }
    }

    fn tail(&self) -> Tail {
        match &self.parts {
            Some(parts) => parts.0.tail,
            None => self.reader.tail(),
        }
    }

    fn position(&self) -> Offset {
        let between = self.parts.as_ref().and_then(|parts| parts.0.end);
        between.unwrap_or(self.reader.position())
    }

    fn non_canonical(&self) -> u64 {
        self.reader.non_canonical()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroU64;

    use super::*;
    use crate::MethodId;
    use crate::format::marks::{Mark, MarkEncoder, Position};
    use crate::write::EventCounts;

    fn all(mut events: Events) -> Vec<(u64, Record)> {
        std::iter::from_fn(|| events.next_record().unwrap())
            .map(|(offset, record)| (offset.get(), record))
            .collect()
    }

    #[test]
    fn a_marks_file_is_completed_whatever_of_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("thread-1.flow");
        let at = |offset| Position::before(Offset::new(offset));
        let all = [(at(1), Mark::Paused), (at(3), Mark::Resumed), (at(4), Mark::Note("x".into()))];
        let (mut encoder, mut bytes, mut ends) = (MarkEncoder::default(), HEADER.to_vec(), vec![]);
        for (position, mark) in &all {
            encoder.encode(*position, mark, &mut bytes);
            ends.push(bytes.len());
        }
        // One in the file, one pending, one of the open chunk; or less of it in the file.
        for (written, pending) in [(ends[0], ends[1]), (0, ends[1]), (0, ends[0]), (0, 0)] {
            let open_marks = if pending == 0 { &all[..] } else { &all[2..] };
            let open_marks = if pending == ends[0] { &all[1..] } else { open_marks };
            let open = OpenChunk {
                offset: 4,
                events: EventCounts::default(),
                records: Arc::default(),
                marks: OpenMarks {
                    offset: written as u64,
                    pending: bytes[written..pending].into(),
                    marks: open_marks.into(),
                },
                whole: Default::default(),
                before: Vec::new(),
                is_all: false,
            };
            let id = ThreadId::new(1);
            let file = ThreadFile::new(id, EventFormat::Binary, path.clone(), 4);
            let file = ThreadFile { open: Some(open), ..file };
            // Whatever follows was on its way when the thread died.
            for there in written..=bytes.len() {
                fs::write(dir.path().join("thread-1.marks"), &bytes[..there]).unwrap();
                let mut marks = file.marks().unwrap().unwrap();
                let seen: Vec<_> = std::iter::from_fn(|| marks.next_mark().unwrap()).collect();
                assert_eq!(seen, all);
                let (kept, more) = file.marks_splice().unwrap().unwrap();
                assert_eq!([&bytes[..usize::try_from(kept).unwrap()], &more].concat(), bytes);
            }
        }
    }

    #[test]
    fn reading_from_a_record_on_is_reading_all_but_those_before() {
        let dir = tempfile::tempdir().unwrap();
        let enter = Record::Enter(MethodId::new(1).unwrap());
        let exits = Record::Exit(NonZeroU64::new(2).unwrap());
        let path = dir.path().join("events");
        // What follows the chunk's place does not count.
        fs::write(&path, [0x81, 0x81, 0x00]).unwrap();
        let open = OpenChunk {
            offset: 2,
            events: EventCounts { enters: 1, exits: 2 },
            records: Arc::from([0x01, 0x81]),
            marks: Default::default(),
            whole: Default::default(),
            before: Vec::new(),
            is_all: false,
        };
        let file = ThreadFile::new(ThreadId::new(1), EventFormat::Binary, path, 0);
        let file = ThreadFile { open: Some(open), ..file };
        let whole = all(file.events().unwrap());
        assert_eq!(whole, [(0, enter), (1, enter), (2, exits), (3, enter)]);
        for (number, (offset, _)) in whole.iter().enumerate() {
            let events = file.events_from(Offset::new(*offset)).unwrap();
            assert_eq!(all(events), whole[number..], "from {offset}");
        }
        assert_eq!(all(file.events_from(Offset::new(1 << 40)).unwrap()), []);
    }

    proptest::proptest! {
        /// Against one event after the other.
        #[test]
        fn parts_are_what_happens_between_their_places(
            // Each ENTER, and how many exits follow it.
            calls in proptest::collection::vec((0_u64..200, 0_u64..4), 1..30),
            cuts in proptest::collection::btree_set(0_usize..80, 0..9),
            from in 0_usize..60,
        ) {
            let mut bytes = Vec::new();
            // All events, and in front of each its position.
            let mut events: Vec<(Position, Option<u64>)> = Vec::new();
            for (method, exits) in calls {
                let at = |bytes: &Vec<u8>, exits| Position { offset: Offset::new(bytes.len() as u64), exits };
                events.push((at(&bytes, 0), Some(method)));
                bytes.extend_from_slice(crate::format::flow::Encoded::enter(MethodId::new(method).unwrap()).as_bytes());
                events.extend((0..exits).map(|number| (at(&bytes, number), None)));
                if let Some(exits) = NonZeroU64::new(exits) {
                    bytes.extend_from_slice(crate::format::flow::Encoded::exits(exits).as_bytes());
                }
            }
            let end = Position { offset: Offset::new(u64::MAX), exits: 0 };
            let place = |index: usize| events.get(index).map_or(end, |event| event.0);
            let cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut <= events.len()).collect();
            let parts: Vec<_> = cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect();
            // Also as if they began with a record: nothing is left then that was entered before.
            let from = events.get(from).map_or(Offset::default(), |event| event.0.offset);
            let mut expected = Vec::new();
            for part in parts.clone() {
                let mut open = 0_u64;
                let part = events.iter().take(part.end).skip(part.start);
                for (_, event) in part.filter(|event| event.0.offset >= from) {
                    match event {
                        Some(method) => { open += 1; expected.push(Some(*method)); }
                        None if open > 0 => { open -= 1; expected.push(None); }
                        None => {}
                    }
                }
                expected.extend((0..open).map(|_| None));
            }
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("thread-1.flow");
            fs::write(&path, &bytes).unwrap();
            let (id, len) = (ThreadId::new(1), bytes.len() as u64);
            let file = ThreadFile::new(id, EventFormat::Binary, path, len);
            let ranges: Vec<_> = parts.iter().map(|part| place(part.start)..place(part.end)).collect();
            let part = file.only("x", &ranges);
            let mut seen = Vec::new();
            for (_, record) in all(part.events_from(from).unwrap()) {
                match record {
                    Record::Enter(method) => seen.push(Some(method.get())),
                    Record::Exit(count) => seen.extend((0..count.get()).map(|_| None)),
                }
            }
            proptest::prop_assert_eq!(seen, expected);
        }
    }
}
