//! A thread of a trace: its file, and its events in the journal.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::{fs, io};

use super::kept::Kept;
use super::methods::Classes;
use crate::format::container::StreamKind;
use crate::format::marks::Position;
use crate::format::names::{self, EventFormat};
use crate::store::{Container, Converted, Converter, OpenChunk, Stored, Text, regular};
use crate::write::EventCounts;
use crate::{Error, Offset, Result, ThreadId, TraceId};

/// An exit run is one record, but one line for each exit. A chunk with more lines than this is not from flow:
/// no stack is so deep.
const MAX_LINES: u64 = 1 << 28;

/// The events of one thread. A trace may have a million of them, so what most do not have is elsewhere.
#[derive(Clone, Debug)]
pub struct ThreadFile {
    pub(crate) id: ThreadId,
    /// The directory with its files, or the container.
    pub(crate) place: Arc<Path>,
    pub(crate) bytes: u64,
    pub(crate) open: Option<Box<OpenChunk>>,
    pub(crate) parts: Option<Arc<Parts>>,
    /// How its events are stored, and the result of converting them.
    pub(crate) format: EventFormat,
    pub(crate) converted: Option<Arc<Converted>>,
    /// The container that holds its events and marks, if they are not in files of their own.
    pub(crate) container: Option<Arc<Container>>,
    /// The pieces of its events and of its marks there.
    pieces: [Range<u32>; 2],
    /// What is left of it, if its first events were removed.
    pub(crate) kept: Option<Box<Kept>>,
    /// The classes of exceptions.
    pub(crate) classes: Arc<Classes>,
    /// The identity of the recording.
    pub(crate) trace: Option<TraceId>,
}

/// Ranges of a thread, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    title: String,
    pub(crate) ranges: Arc<[Range<Position>]>,
    /// How many bytes each range and those before it have.
    bytes: Arc<[u64]>,
    /// How many calls of the thread began before each range, if that is known.
    pub(crate) calls_before: Option<Arc<[u64]>>,
}

impl Parts {
    /// The range of a whole thread.
    pub const ALL: Range<Position> = Position { offset: Offset::new(0), exits: 0 }..Position {
        offset: Offset::new(u64::MAX),
        exits: 0,
    };

    /// Ranges that are called `title`: in order, and without overlaps.
    #[must_use]
    pub fn new(title: &str, ranges: &[Range<Position>]) -> Self {
        let bytes = ranges.iter().scan(0, |sum: &mut u64, range| {
            let bytes = range.end.offset.get().saturating_sub(range.start.offset.get());
            *sum = sum.saturating_add(bytes);
            Some(*sum)
        });
        let bytes = bytes.collect();
        Self { title: title.to_owned(), ranges: ranges.into(), bytes, calls_before: None }
    }

    /// Returns how many bytes of the ranges come before an offset.
    #[doc(hidden)]
    #[must_use]
    pub fn bytes_before(&self, offset: u64) -> u64 {
        let over = self.ranges.partition_point(|range| range.end.offset.get() <= offset);
        let whole = over.checked_sub(1).and_then(|last| self.bytes.get(last));
        let begun = self.ranges.get(over);
        let begun = begun.map_or(0, |range| offset.saturating_sub(range.start.offset.get()));
        whole.copied().unwrap_or_default() + begun
    }

    /// Returns whether it is known how many calls of the thread began before each range. Otherwise the calls of a timeline are numbered from
    /// the beginning of the first range, without those between ranges.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        self.calls_before.is_some()
    }

    /// Returns the name of the ranges for people.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the ranges, in order and without overlaps.
    #[must_use]
    pub fn ranges(&self) -> &[Range<Position>] {
        &self.ranges
    }
}

impl ThreadFile {
    /// A thread of which only the file is known.
    #[doc(hidden)]
    pub fn new(id: ThreadId, format: EventFormat, place: impl Into<Arc<Path>>, bytes: u64) -> Self {
        let (open, parts, converted, container, pieces, kept) =
            (None, None, None, None, [const { 0..0 }; 2], None);
        let (place, classes) = (place.into(), Arc::default());
        let trace = None;
        Self {
            id,
            place,
            bytes,
            open,
            parts,
            format,
            converted,
            container,
            pieces,
            kept,
            classes,
            trace,
        }
    }

    /// Returns the thread.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Returns how many bytes of [`flow`](crate::format::flow) its events have: those in the file when the trace was
    /// opened, and those of the open chunk.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the events that are not in the file yet. If present, only the bytes of the file before the chunk count.
    #[doc(hidden)]
    #[must_use]
    pub fn open_chunk(&self) -> Option<&OpenChunk> {
        self.open.as_deref()
    }

    /// Returns the ranges that are read, if not all.
    #[doc(hidden)]
    #[must_use]
    pub fn parts(&self) -> Option<&Parts> {
        self.parts.as_deref()
    }

    /// The thread as if it had only this many bytes.
    #[doc(hidden)]
    #[must_use]
    pub fn with_bytes(&self, bytes: u64) -> Self {
        Self { bytes, ..self.clone() }
    }

    /// The file. It may not exist yet if there is an open chunk, and does not in a trace in one file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.place.join(names::thread_file(self.id, self.format))
    }

    /// The file with its marks.
    #[doc(hidden)]
    #[must_use]
    pub fn marks_path(&self) -> PathBuf {
        self.place.join(names::stream_file(StreamKind::Marks, self.id))
    }

    /// Restricts it to ranges, which are called `title`.
    #[doc(hidden)]
    #[must_use]
    pub fn only(&self, title: &str, ranges: &[Range<Position>]) -> Self {
        Self { parts: Some(Arc::new(Parts::new(title, ranges))), ..self.clone() }
    }

    /// Returns the thread with its ranges and how many calls of it began before each, so that a timeline numbers calls as in the whole
    /// thread.
    #[doc(hidden)]
    #[must_use]
    pub fn numbered(&self, calls_before: &[u64]) -> Self {
        let numbered = |parts: &Arc<Parts>| {
            Arc::new(Parts { calls_before: Some(calls_before.into()), ..(**parts).clone() })
        };
        Self { parts: self.parts.as_ref().map(numbered), ..self.clone() }
    }

    /// The thread without restriction to ranges.
    #[doc(hidden)]
    #[must_use]
    pub fn whole(&self) -> Self {
        Self { parts: None, ..self.clone() }
    }

    /// Returns whether it has no files of its own, but is in one with other threads.
    #[doc(hidden)]
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.container.is_some()
    }

    /// Returns whether the whole trace is one file.
    #[must_use]
    pub(crate) fn is_in_one_file(&self) -> bool {
        let container = self.container.as_ref();
        container.is_some_and(|container| *self.place == *container.path())
    }

    /// How its events are stored.
    #[doc(hidden)]
    #[must_use]
    pub fn format(&self) -> EventFormat {
        self.format
    }

    /// How many bytes of its events are in the file.
    #[doc(hidden)]
    #[must_use]
    pub fn bytes_in_file(&self) -> u64 {
        self.open.as_ref().map_or(self.bytes, |open| open.offset)
    }

    /// How many bytes its events take as they are stored, including those of an open chunk once it is stored.
    #[doc(hidden)]
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, |open| open.stored_bytes(self.format));
        self.stored_in_file().saturating_add(open)
    }

    /// How many of these bytes are in the file.
    #[doc(hidden)]
    #[must_use]
    pub fn stored_in_file(&self) -> u64 {
        self.converted.as_ref().map_or(self.bytes_in_file(), |converted| converted.stored)
    }

    /// Where, in the file, the truncated record begins that ends its events, which is at `offset` of them.
    #[doc(hidden)]
    #[must_use]
    pub fn stored_offset(&self, offset: Offset) -> Offset {
        self.converted.as_ref().map_or(offset, |converted| Offset::new(converted.whole))
    }

    /// Adds an open chunk, if the file reaches to where the chunk begins. `budget` is for what lies between chunks.
    /// If the journal kept changing, chunks may be missing between those that were found: then the last one counts
    /// that continues the file, if any does.
    pub(crate) fn attach(
        &mut self,
        mut open: OpenChunk,
        budget: &mut u64,
        is_restless: bool,
    ) -> Result<()> {
        if let Some(kept) = &self.kept {
            kept.move_chunk(&mut open);
        }
        let mut earlier = if is_restless { open.before.clone() } else { Vec::new() }.into_iter();
        let open = loop {
            let joined = self.joined(open, budget).map_err(|source| self.io_error(source))?;
            if joined.offset <= self.bytes || !is_restless {
                break joined;
            }
            match earlier.next().filter(|chunk| self.bytes < chunk.end()) {
                Some(chunk) => open = OpenChunk { before: earlier.clone().collect(), ..chunk },
                None => return Ok(()),
            }
        };
        let events = open.event_count();
        if self.bytes < open.offset {
            let (end, next) = (Offset::new(self.bytes), Offset::new(open.offset));
            return Err(Error::Gap { path: self.path(), end, next, events });
        }
        if self.format == EventFormat::Jsonl && events > MAX_LINES {
            let found = format!("{events} events");
            let expected = "what a thread can have recorded since its file was written";
            let (path, offset) = (self.path(), Offset::new(open.offset));
            return Err(Error::BadJournal { path, offset, expected, found });
        }
        self.bytes = open.offset.saturating_add(open.records.len() as u64);
        self.open = Some(Box::new(open));
        Ok(())
    }

    /// Returns whether its container has all of a chunk, and more: the chunk was written after it was copied.
    pub(crate) fn has_more_than(&self, open: &OpenChunk) -> bool {
        let events = self.container.as_ref().and_then(|c| c.stream(StreamKind::Events, self.id));
        let is_unbroken = events.is_some_and(|events| events.ranges().len() == 1);
        let mut open = OpenChunk { before: Vec::new(), ..open.clone() };
        if let Some(kept) = &self.kept {
            kept.move_chunk(&mut open);
        }
        is_unbroken && self.bytes > open.offset.saturating_add(open.records.len() as u64)
    }

    /// Returns whether the container of the thread has everything before a chunk, and at most the beginning of the chunk. If it
    /// has more, or all of the chunk and further marks, the chunk was written after it was copied.
    pub(crate) fn is_continued_by(&self, open: &OpenChunk) -> bool {
        let events = self.container.as_ref().and_then(|c| c.stream(StreamKind::Events, self.id));
        let is_unbroken = events.as_ref().is_none_or(|events| events.ranges().len() == 1);
        let of_marks = open.marks.offset;
        let mut open = OpenChunk { before: Vec::new(), ..open.clone() };
        if let Some(kept) = &self.kept {
            kept.move_chunk(&mut open);
        }
        let Some(written) = self.bytes.checked_sub(open.offset).filter(|_| is_unbroken) else {
            return false;
        };
        let [_, marks] = &self.pieces;
        let marks = self.container.as_ref().map_or(0, |container| container.len_of(marks));
        if written == open.records.len() as u64 && marks > of_marks {
            return false;
        }
        let stored = events.map(|events| Stored::Stream(Arc::new(events)));
        let stored = self.kept.as_ref().map(|kept| kept.events.clone()).or(stored);
        let Some(stored) = stored.filter(|_| written > 0) else { return true };
        let in_chunk = usize::try_from(written).ok().and_then(|len| open.records.get(..len));
        let mut in_file = vec![0; in_chunk.map_or(0, <[u8]>::len)];
        let read = stored.read_exact_at(open.offset, &mut in_file);
        read.is_ok() && in_chunk == Some(&in_file)
    }

    /// Joins an open chunk with what comes before it and is not in the file.
    fn joined(&self, open: OpenChunk, budget: &mut u64) -> io::Result<OpenChunk> {
        let container = self.container.as_ref();
        let events = container.and_then(|container| container.stream(StreamKind::Events, self.id));
        let Some(events) = events.filter(|_| self.kept.is_none()) else {
            return open.joined(slice::from_ref(&(0..self.bytes)), budget, |_| Ok(Vec::new()));
        };
        let events = Arc::new(events);
        open.joined(&events.ranges(), budget, |range| {
            let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or_default()];
            Stored::Stream(Arc::clone(&events)).read_exact_at(range.start, &mut bytes)?;
            Ok(bytes)
        })
    }

    /// A thread in a container that is in a place, or is it. Its path is that of the file which it would have in a
    /// directory.
    pub(crate) fn contained(
        id: ThreadId,
        container: &Arc<Container>,
        pieces: [Range<u32>; 2],
        place: &Arc<Path>,
    ) -> Self {
        let [events, _] = &pieces;
        let bytes = container.len_of(events);
        let container = Some(Arc::clone(container));
        Self { container, pieces, ..Self::new(id, EventFormat::Binary, Arc::clone(place), bytes) }
    }

    /// Finds out whether its first events were removed. Before a chunk is attached.
    pub(crate) fn find_kept(&mut self) -> Result<()> {
        if let Some(container) = &self.container
            && let Some(kept) = Kept::of(container, self.id, &self.path())
        {
            self.bytes = kept.events.len().map_err(|source| self.io_error(source))?;
            self.kept = Some(Box::new(kept));
        }
        Ok(())
    }

    /// Prepares the marks of such a thread. After its chunk is attached.
    pub(crate) fn settle_kept(&mut self) -> Result<()> {
        match (&mut self.kept, &self.container) {
            (Some(kept), Some(container)) => {
                kept.settle_marks(container, self.id, self.open.as_deref_mut(), self.bytes)
            }
            _ => Ok(()),
        }
    }

    /// Converts its lines, of which only those count that are in the file now.
    pub(crate) fn convert(
        &mut self,
        converter: &mut Converter,
        damage: &mut Vec<Error>,
    ) -> Result<()> {
        let lines = Text::file(&self.path());
        let converted = converter.convert(lines, self.bytes_in_file(), damage)?;
        self.bytes = converted.bytes;
        if let Some(open) = &mut self.open {
            open.offset = converted.bytes;
            self.bytes += open.records.len() as u64;
        }
        self.converted = Some(Arc::new(converted));
        Ok(())
    }

    /// How many bytes at the start of its events were removed, because newer ones were kept, and how many bytes stand for
    /// them: the entries of the frames that are open there.
    #[doc(hidden)]
    #[must_use]
    pub fn removed_bytes(&self) -> (u64, u64) {
        self.kept.as_deref().map_or((0, 0), Kept::removed)
    }

    /// How many of its entries and exits were removed, because newer ones were kept.
    #[doc(hidden)]
    #[must_use]
    pub fn given_up(&self) -> EventCounts {
        self.kept.as_deref().map_or_else(EventCounts::default, Kept::given_up)
    }

    /// Opens its events as they are stored; `None` if there are none, because all are in the journal.
    pub(crate) fn open_events(&self) -> Result<Option<Stored>> {
        if let Some(kept) = &self.kept {
            return Ok(Some(kept.events.clone()));
        }
        if let Some(container) = &self.container {
            let [events, _] = &self.pieces;
            return Ok(container.stored_of(events.clone()));
        }
        let file = regular::open(&self.path()).map_err(|source| self.io_error(source))?;
        if file.is_none() && self.bytes_in_file() > 0 {
            return Err(self.io_error(io::ErrorKind::NotFound.into()));
        }
        Ok(file.map(Stored::file))
    }

    /// Opens what readers stored beside it, an index for example; `None` if there is none.
    pub(crate) fn open_beside(&self, kind: StreamKind) -> io::Result<Option<Stored>> {
        if let Some(stored) = self.stored_inside(kind) {
            return Ok(Some(stored));
        }
        let path = self.path_beside(kind);
        if !self.is_in_one_file() {
            return Ok(regular::open(&path)?.map(Stored::file));
        }
        let beside = Container::in_file(&path).map_err(io::Error::other)?.map(Arc::new);
        Ok(beside.and_then(|beside| beside.stored(kind, self.id)))
    }

    /// The same in the file with its events, if a trace was written to that from beginning to end.
    pub(crate) fn stored_inside(&self, kind: StreamKind) -> Option<Stored> {
        let container = self.container.as_ref().filter(|_| self.kept.is_none())?;
        container.stored(kind, self.id)
    }

    /// The file in which readers store what is of this kind.
    #[doc(hidden)]
    pub fn path_beside(&self, kind: StreamKind) -> PathBuf {
        match &self.container {
            Some(container) if self.is_in_one_file() => {
                names::beside(container.path(), names::INDEXES)
            }
            _ => self.place.join(names::stream_file(kind, self.id)),
        }
    }

    /// Opens its marks as they are stored; `None` if there are none.
    pub(crate) fn open_marks(&self) -> Result<Option<Stored>> {
        if let Some(kept) = &self.kept {
            return Ok(kept.marks.clone());
        }
        if let Some(container) = &self.container {
            let [_, marks] = &self.pieces;
            return Ok(container.stored_of(marks.clone()));
        }
        let path = self.marks_path();
        let file = regular::open(&path).map_err(|source| Error::Io { path, source })?;
        Ok(file.map(Stored::file))
    }

    /// What changes when the thread grows: the bytes of its file, the events of its open chunk, and the bytes of its
    /// marks.
    #[doc(hidden)]
    #[must_use]
    pub fn size(&self) -> (u64, u64, u64) {
        let events = self.open.as_deref().map_or(0, OpenChunk::event_count);
        let marks = match &self.container {
            Some(container) => {
                let [_, marks] = &self.pieces;
                container.stored_of(marks.clone()).and_then(|marks| marks.len().ok())
            }
            None => fs::metadata(self.marks_path()).ok().map(|marks| marks.len()),
        };
        (self.bytes, events, marks.unwrap_or(0))
    }

    fn io_error(&self, source: io::Error) -> Error {
        Error::Io { path: self.path(), source }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroU64;

    use super::*;
    use crate::MethodId;
    use crate::format::flow::Record;
    use crate::format::marks::{HEADER, Mark, MarkEncoder};
    use crate::read::{Events, ReadRecords};
    use crate::store::OpenMarks;

    fn all(mut events: Events) -> Vec<(u64, Record)> {
        std::iter::from_fn(|| events.next_record().unwrap())
            .map(|(offset, record)| (offset.get(), record))
            .collect()
    }

    #[test]
    fn the_bytes_of_ranges_are_added_up() {
        let place = |offset| Position::before(Offset::new(offset));
        let ranges = [place(2)..place(5), place(5)..place(5), place(7)..place(10)];
        let before = |ranges: &[Range<Position>]| {
            [0, 2, 3, 5, 6, 7, 9, 10, 20].map(|offset| Parts::new("", ranges).bytes_before(offset))
        };
        assert_eq!(before(&ranges), [0, 0, 1, 3, 3, 3, 5, 6, 6]);
        assert_eq!(before(&[Parts::ALL]), [0, 2, 3, 5, 6, 7, 9, 10, 20]);
        assert_eq!(before(&[]), [0; 9]);
    }

    #[test]
    fn a_marks_file_is_completed_however_much_of_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let at = |offset| Position::before(Offset::new(offset));
        let all = [(at(1), Mark::Paused), (at(3), Mark::Resumed), (at(4), Mark::Note("x".into()))];
        let (mut encoder, mut bytes, mut ends) = (MarkEncoder::default(), HEADER.to_vec(), vec![]);
        for (position, mark) in &all {
            encoder.encode(*position, mark, &mut bytes);
            ends.push(bytes.len());
        }
        // One in the file, one pending, one of the open chunk; or fewer of them in the file.
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
            let file = ThreadFile::new(id, EventFormat::Binary, dir.path(), 4);
            let file = ThreadFile { open: Some(Box::new(open)), ..file };
            // Whatever follows was being written when the thread died.
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
    fn of_a_journal_that_kept_changing_the_last_chunk_counts_that_continues_the_file() {
        let chunk = |offset, len| OpenChunk {
            offset,
            events: EventCounts { enters: len, exits: 0 },
            records: vec![0x81; usize::try_from(len).unwrap()].into(),
            marks: Default::default(),
            whole: (usize::try_from(len).unwrap(), EventCounts { enters: len, exits: 0 }),
            before: Vec::new(),
            is_all: false,
        };
        // What lies between 30 and 40 was not found.
        let before = vec![chunk(20, 10), chunk(10, 10), chunk(0, 10)];
        let open = OpenChunk { before, ..chunk(40, 5) };
        let attach = |bytes, is_restless| {
            let (id, place) = (ThreadId::new(1), Path::new(""));
            let mut file = ThreadFile::new(id, EventFormat::Binary, place, bytes);
            let attached = file.attach(open.clone(), &mut 0, is_restless);
            (attached.is_ok(), file.bytes, file.open.map(|open| open.offset))
        };
        assert_eq!(attach(45, true), (true, 45, Some(40)));
        assert_eq!(attach(15, true), (true, 30, Some(10)));
        assert_eq!(attach(15, false), (false, 15, None));
        // The file has all that was found.
        assert_eq!(attach(30, true), (true, 30, None));
        assert_eq!(attach(35, true), (true, 35, None));
    }

    #[test]
    fn reading_from_a_record_on_leaves_out_those_before() {
        let dir = tempfile::tempdir().unwrap();
        let enter = Record::Enter(MethodId::new(1).unwrap());
        let exits = Record::Exit(NonZeroU64::new(2).unwrap());
        let path = dir.path().join("thread-1.flow");
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
        let file = ThreadFile::new(ThreadId::new(1), EventFormat::Binary, dir.path(), 0);
        let file = ThreadFile { open: Some(Box::new(open)), ..file };
        let whole = all(file.events().unwrap());
        assert_eq!(whole, [(0, enter), (1, enter), (2, exits), (3, enter)]);
        for (number, (offset, _)) in whole.iter().enumerate() {
            let events = file.events_from(Offset::new(*offset)).unwrap();
            assert_eq!(all(events), whole[number..], "from {offset}");
        }
        assert_eq!(all(file.events_from(Offset::new(1 << 40)).unwrap()), []);
    }

    proptest::proptest! {
        /// Compares with reading one event after the other.
        #[test]
        fn parts_are_what_happens_between_their_places(
            // Each ENTER, and how many exits follow it.
            calls in proptest::collection::vec((0_u64..200, 0_u64..4), 1..30),
            cuts in proptest::collection::btree_set(0_usize..80, 0..9),
            from in 0_usize..60,
        ) {
            let mut bytes = Vec::new();
            // All events, each with its position.
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
            // Also as if they began with a record: then no frame is left that was entered before.
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
            let file = ThreadFile::new(id, EventFormat::Binary, dir.path(), len);
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
