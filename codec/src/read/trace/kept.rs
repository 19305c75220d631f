//! Threads whose first events were removed with earlier [parts](crate::format::container#parts).
//!
//! What is left is read as if it were all: the open frames are entered first, after a mark for the gap. So nothing else
//! knows of such threads; only positions are not those of the recording.

use std::fs::File;
use std::io::{self, Write as _};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

use crate::format::beginning::Beginning;
use crate::format::container::StreamKind;
use crate::format::flow::{Encoded, Record, records};
use crate::format::marks::{BeforeMarks, Mark, MarkEncoder, Position};
use crate::read::Marks;
use crate::store::regular::nameless_file;
use crate::store::{Container, OpenChunk, OpenMarks, Stored, Stream, count};
use crate::write::EventCounts;
use crate::{Error, Offset, Result, ThreadId};

/// What is left of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    beginning: Arc<Beginning>,
    /// Whether the times of the marks are known: not without the beginning.
    has_marks: bool,
    /// Bytes of the open frames' entries, which come first.
    entered: u64,
    pub(crate) events: Stored,
    pub(crate) marks: Option<Stored>,
    marks_path: Arc<Path>,
}

impl Kept {
    /// What is left of a thread in a container; `None` if that is all. `path` is that of its events, for messages.
    pub(crate) fn of(container: &Arc<Container>, id: ThreadId, path: &Path) -> Option<Self> {
        let events = container.stream(StreamKind::Events, id);
        let Some((beginning, has_marks)) = container.beginning(id) else {
            return Self::all(container, events, path);
        };
        let frames = beginning.frames.iter().map(|method| Encoded::enter(*method));
        let entries = frames.fold(Vec::new(), |mut bytes, enter| {
            bytes.extend_from_slice(enter.as_bytes());
            bytes
        });
        let entered = entries.len() as u64;
        let first = (Stored::Bytes(entries.into()), 0..entered);
        let rest = events.map(|events| {
            let range = beginning.events..events.len();
            (Stored::Stream(Arc::new(events)), range)
        });
        let events = Stored::joined([first].into_iter().chain(rest));
        let marks_path = path.with_extension(crate::format::names::MARKS_EXTENSION).into();
        let beginning = Arc::new(beginning);
        Some(Self { beginning, has_marks, entered, events, marks: None, marks_path })
    }

    /// All of a thread in a snapshot, whose marks may be newer than its events; `None` for other traces.
    fn all(container: &Arc<Container>, events: Option<Stream>, path: &Path) -> Option<Self> {
        if !container.is_snapshot() {
            return None;
        }
        let events = events.map(|events| {
            let range = 0..events.len();
            (Stored::Stream(Arc::new(events)), range)
        });
        let marks_path = path.with_extension(crate::format::names::MARKS_EXTENSION).into();
        let (events, beginning) = (Stored::joined(events), Arc::default());
        Some(Self { beginning, has_marks: true, entered: 0, events, marks: None, marks_path })
    }

    /// How many bytes at the start of its events were removed, and how many stand for them.
    pub(crate) fn removed(&self) -> (u64, u64) {
        (self.beginning.events, self.entered)
    }

    /// How many entries and exits were given up. The entries of open frames are there again.
    pub(crate) fn given_up(&self) -> EventCounts {
        let frames = self.beginning.frames.len() as u64;
        let Beginning { entries, exits, .. } = *self.beginning;
        EventCounts { enters: entries.saturating_sub(frames), exits }
    }

    /// Where something is now; `None` if it was given up.
    fn moved(&self, offset: u64) -> Option<u64> {
        offset.checked_sub(self.beginning.events)?.checked_add(self.entered)
    }

    fn moved_mark(&self, (at, mark): (Position, Mark)) -> Option<(Position, Mark)> {
        let offset = Offset::new(self.moved(at.offset.get())?);
        Some((Position { offset, ..at }, mark))
    }

    /// Moves an open chunk, and those before it.
    pub(crate) fn move_chunk(&self, chunk: &mut OpenChunk) {
        chunk.before.iter_mut().for_each(|chunk| self.move_chunk(chunk));
        chunk.before.retain(|chunk| chunk.offset < chunk.end());
        let given_up = self.beginning.events.saturating_sub(chunk.offset);
        if given_up > 0 {
            // It was written, and the process was killed before its slot was closed.
            let cut = usize::try_from(given_up).unwrap_or(usize::MAX).min(chunk.records.len());
            let (gone, rest) = chunk.records.split_at(cut);
            let gone = count(gone);
            chunk.records = rest.into();
            let (whole, events) = &mut chunk.whole;
            *whole = whole.saturating_sub(cut);
            for events in [events, &mut chunk.events] {
                events.enters = events.enters.saturating_sub(gone.enters);
                events.exits = events.exits.saturating_sub(gone.exits);
            }
            chunk.offset = self.beginning.events;
        }
        chunk.offset = self.moved(chunk.offset).unwrap_or(self.entered);
    }

    /// Prepares the marks, with those of an open chunk, which are then in no other place.
    pub(crate) fn settle_marks(
        &mut self,
        container: &Arc<Container>,
        id: ThreadId,
        open: Option<&mut OpenChunk>,
        bytes: u64,
    ) -> Result<()> {
        let end = LastRecord::of(bytes, open.as_deref());
        self.marks = Some(self.moved_marks(container, id, open, end)?);
        Ok(())
    }

    fn moved_marks(
        &self,
        container: &Arc<Container>,
        id: ThreadId,
        open: Option<&mut OpenChunk>,
        end: LastRecord,
    ) -> Result<Stored> {
        let Beginning { marks: start, before, .. } = *self.beginning;
        let in_journal = open.map(|open| std::mem::take(&mut open.marks)).unwrap_or_default();
        let OpenMarks { offset, mut pending, marks: of_chunk } = in_journal;
        let limit = if pending.is_empty() && of_chunk.is_empty() { u64::MAX } else { offset };
        let mut stored = container.stream(StreamKind::Marks, id);
        if !self.has_marks {
            (stored, pending) = (None, Arc::default());
        }
        let range =
            stored.as_ref().map_or(0..0, |stored| start..stored.len().min(limit).max(start));
        let stored = stored.map(|stored| (Stored::Stream(Arc::new(stored)), range));
        let pending = (pending.len() as u64, Stored::Bytes(pending));
        let input = Stored::joined(stored.into_iter().chain([(pending.1, 0..pending.0)]));
        // Without marks in earlier parts, the header comes first.
        let mut marks = Marks::new(input.reader(), &*self.marks_path);
        if start > 0 {
            marks = marks.following(before);
        }
        let mut writer = MovedMarks::new(self, end);
        while let Some(mark) = marks.next_mark()? {
            writer.add(mark)?;
        }
        of_chunk.iter().try_for_each(|mark| writer.add(mark.clone()))?;
        writer.finish()
    }
}

/// Where the events of a thread end. In a snapshot marks may be newer.
#[derive(Clone, Copy, Debug)]
struct LastRecord {
    end: u64,
    /// If it is a run of exits: where it begins, and how many there are.
    run: Option<(u64, u64)>,
}

impl LastRecord {
    /// That of a thread with this many bytes, which may end with an open chunk.
    fn of(bytes: u64, open: Option<&OpenChunk>) -> Self {
        let last = open.and_then(|open| {
            let (mut start, mut last) = (0, None);
            for (record, end) in records(&open.records) {
                last = Some((open.offset + start, record));
                start = end as u64;
            }
            last
        });
        let run = last.and_then(|(start, record)| match record {
            Record::Exit(count) => Some((start, count.get())),
            Record::Enter(_) => None,
        });
        Self { end: bytes, run }
    }

    fn has(&self, position: Position) -> bool {
        let Position { offset, exits } = position;
        match self.run {
            Some((start, count)) if offset.get() == start => exits <= count,
            _ => offset.get() < self.end || (offset.get() == self.end && exits == 0),
        }
    }

    /// What remains of a mark: exits that follow it may be newer than the events, too.
    fn clip(&self, (position, mark): (Position, Mark)) -> Option<(Position, Mark)> {
        if !self.has(position) {
            return None;
        }
        let follow = match self.run {
            Some((start, count)) if position.offset.get() == start => count - position.exits,
            _ if position.offset.get() < self.end => u64::MAX,
            _ => 0,
        };
        let mark = match mark {
            Mark::Unwound { exits, thrown } => {
                Mark::Unwound { exits: NonZeroU64::new(exits.get().min(follow))?, thrown }
            }
            Mark::Thrown { .. } if follow == 0 => return None,
            mark => mark,
        };
        Some((position, mark))
    }
}

/// Writes marks at their new positions, after a mark for the gap, and one for the time of the last mark before.
struct MovedMarks<'a> {
    kept: &'a Kept,
    end: LastRecord,
    before: BeforeMarks,
    /// Marks that wait for the first time: the one before them is like it.
    waiting: Option<Vec<(Position, Mark)>>,
    encoder: MarkEncoder,
    bytes: Vec<u8>,
    /// Where `bytes` go if they are many.
    file: Option<File>,
}

/// More marks do not wait.
const MAX_WAITING: usize = 1000;

/// More bytes of marks are not kept in memory.
const MAX_BYTES: usize = 64 * 1024;

impl<'a> MovedMarks<'a> {
    fn new(kept: &'a Kept, end: LastRecord) -> Self {
        let (before, encoder) = (kept.beginning.before, MarkEncoder::with_header());
        let (waiting, bytes) = (Some(Vec::new()), Vec::new());
        Self { kept, end, before, waiting, encoder, bytes, file: None }
    }

    fn add(&mut self, mark: (Position, Mark)) -> Result<()> {
        let time = match mark.1 {
            Mark::Time { by_ns, from_ns, ran_us } => Some((by_ns, from_ns, ran_us.is_some())),
            Mark::Instant { at_ns } => Some((at_ns, at_ns, false)),
            _ => None,
        };
        let Some(moved) = self.kept.moved_mark(mark) else {
            // Of marks before the first event, only times say something about what follows.
            if let Some((by_ns, from_ns, _)) = time {
                self.before = BeforeMarks { by_ns, from_ns, ..self.before };
            }
            return Ok(());
        };
        let Some(moved) = self.end.clip(moved) else { return Ok(()) };
        if let Some(waiting) = &mut self.waiting {
            if time.is_none() && waiting.len() < MAX_WAITING {
                waiting.push(moved);
                return Ok(());
            }
            self.begin(time.is_some_and(|(.., knows_cpu_time)| knows_cpu_time));
        }
        self.encode(&moved);
        self.write()
    }

    fn begin(&mut self, knows_cpu_time: bool) {
        let Some(waiting) = self.waiting.take() else { return };
        if self.kept.beginning.events == 0 {
            return waiting.iter().for_each(|mark| self.encode(mark));
        }
        let EventCounts { enters, exits } = self.kept.given_up();
        let start = Position::default();
        let events = NonZeroU64::new(enters.saturating_add(exits));
        self.encode(&(start, Mark::Gap { events }));
        let BeforeMarks { by_ns, from_ns, .. } = self.before;
        if by_ns > 0 || from_ns > 0 {
            let ran_us = knows_cpu_time.then_some(0);
            self.encode(&(start, Mark::Time { by_ns, from_ns, ran_us }));
        }
        waiting.iter().for_each(|mark| self.encode(mark));
    }

    fn encode(&mut self, (position, mark): &(Position, Mark)) {
        self.encoder.encode(*position, mark, &mut self.bytes);
    }

    /// Empties the memory if it has many bytes.
    fn write(&mut self) -> Result<()> {
        if self.bytes.len() < MAX_BYTES { Ok(()) } else { self.spill() }
    }

    fn spill(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(nameless_file()?),
        };
        let path = &self.kept.marks_path;
        let written = file.write_all(&self.bytes);
        self.bytes.clear();
        written.map_err(|source: io::Error| Error::Io { path: path.to_path_buf(), source })
    }

    fn finish(mut self) -> Result<Stored> {
        self.begin(false);
        self.encoder.finish(&mut self.bytes);
        if self.file.is_some() {
            self.spill()?;
        }
        Ok(match self.file {
            Some(file) => Stored::file(file),
            None => Stored::Bytes(self.bytes.into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;

    use super::*;
    use crate::MethodId;
    use crate::format::container::{BlockEncoder, Coding, header};
    use crate::read::Trace;

    fn at(offset: u64, exits: u64) -> Position {
        Position { offset: Offset::new(offset), exits }
    }

    fn unwound(exits: u64) -> Mark {
        Mark::Unwound { exits: NonZeroU64::new(exits).expect("some"), thrown: None }
    }

    #[test]
    fn marks_that_are_newer_than_the_events_are_left_out() {
        let thrown = Mark::Thrown { class: MethodId::new(7).expect("small") };
        let clip = |end: LastRecord, position, mark: &Mark| {
            end.clip((position, mark.clone())).map(|(kept_at, mark)| {
                assert_eq!(kept_at, position);
                mark
            })
        };
        // The exits that follow the last record are in no file yet.
        let end = LastRecord { end: 9, run: None };
        for mark in [&Mark::Paused, &thrown, &unwound(2)] {
            assert_eq!(clip(end, at(8, 1), mark), Some(mark.clone()));
            assert_eq!(clip(end, at(9, 1), mark), None);
            assert_eq!(clip(end, at(10, 0), mark), None);
        }
        assert_eq!(clip(end, at(9, 0), &Mark::Paused), Some(Mark::Paused));
        assert_eq!(clip(end, at(9, 0), &thrown), None);
        assert_eq!(clip(end, at(9, 0), &unwound(2)), None);
        // Three exits end the open chunk.
        let end = LastRecord { end: 9, run: Some((8, 3)) };
        assert_eq!(clip(end, at(8, 3), &Mark::Paused), Some(Mark::Paused));
        assert_eq!(clip(end, at(8, 4), &Mark::Paused), None);
        assert_eq!(clip(end, at(8, 1), &thrown), Some(thrown.clone()));
        assert_eq!(clip(end, at(8, 3), &thrown), None);
        assert_eq!(clip(end, at(8, 1), &unwound(2)), Some(unwound(2)));
        assert_eq!(clip(end, at(8, 2), &unwound(2)), Some(unwound(1)));
        assert_eq!(clip(end, at(8, 3), &unwound(2)), None);
        assert_eq!(clip(end, at(7, 0), &unwound(2)), Some(unwound(2)));
    }

    #[test]
    fn after_a_damaged_beginning_a_thread_is_read_from_the_next_one_or_without_frames() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.flowtrace");
        let far = 1 << 60;
        let beginning = |events, method| {
            let frames = vec![MethodId::new(method).unwrap()];
            let (entries, mut bytes) = (events / 2, Vec::new());
            Beginning { events, entries, frames, ..Beginning::default() }.encode(&mut bytes);
            bytes
        };
        // Enters of 2, 3 and 4 after one of 1; then exits of all of them.
        let (first, second) = (beginning(far, 1), beginning(far + 2, 3));
        let damaged = vec![0xFF; first.len()];
        let [nothing, later] = [far + 100, far - 1].map(|events| beginning(events, 9));
        for (beginnings, expected, given_up, damage) in [
            ([&first, &second], &[0x81, 0x82, 0x83, 0x84, 0x03][..], far / 2 - 1, None),
            (
                [&damaged, &second],
                &[0x83, 0x84, 0x03],
                far / 2,
                Some("from byte 1152921504606846978 on"),
            ),
            (
                [&nothing, &second],
                &[0x83, 0x84, 0x03],
                far / 2,
                Some("from byte 1152921504606846978 on"),
            ),
            // The one after it fits all events, of which one byte is missing.
            (
                [&damaged, &later],
                &[0x89, 0xFF, 0x82, 0x83, 0x84, 0x03],
                far / 2 - 2,
                Some("from byte 1152921504606846975 on"),
            ),
            (
                [&damaged, &damaged],
                &[0x82, 0x83, 0x84, 0x03],
                0,
                Some("without the frames that were open"),
            ),
        ] {
            let mut blocks = BlockEncoder::default();
            let pieces = [(far, &[0x82, 0x83][..]), (far + 2, &[0x84, 0x03])];
            for (beginning, (offset, events)) in beginnings.into_iter().zip(pieces) {
                blocks.begin(Some(ThreadId::new(1)));
                blocks.add(StreamKind::Beginning, 0, beginning.len(), Coding::Raw, beginning);
                blocks.add(StreamKind::Events, offset, events.len(), Coding::Raw, events);
                // Marks cannot be decoded without a beginning.
                if damage.is_some_and(|text| text.starts_with("without")) {
                    blocks.add(StreamKind::Marks, far + offset, 1, Coding::Raw, &[0xFF]);
                }
                blocks.finish();
            }
            fs::write(&path, [&header()[..], blocks.bytes()].concat()).unwrap();
            let trace = Trace::open(&path).unwrap();
            let [file] = &trace.files[..] else { panic!("{:?}", trace.files) };
            let mut events = Vec::new();
            let stored = file.open_events().unwrap().unwrap();
            stored.reader().read_to_end(&mut events).unwrap();
            assert_eq!(events, expected, "{beginnings:?}");
            assert_eq!(file.given_up().enters, given_up, "{beginnings:?}");
            let found: Vec<_> = trace.damage.iter().map(ToString::to_string).collect();
            match damage {
                None => assert_eq!(found, [""; 0]),
                Some(text) => {
                    let is_it = found.iter().all(|found| found.contains(text));
                    assert!(is_it && !found.is_empty(), "{found:?}");
                }
            }
        }
    }
}
