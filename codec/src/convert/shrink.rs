//! Writes a trace without the calls of some tests.
//!
//! Of such a test its two marks stay, at one position. The second one has what is [left](LeftOut) of it. Its events and all other
//! marks between them are not written; the last time among them stays, because it bounds what follows.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Seek, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;

use super::{Take, manifest_of_flow, pass_streams, pass_thread, write_file};
use crate::format::container::StreamKind;
use crate::format::flow::Record;
use crate::format::manifest::{Manifest, Totals};
use crate::format::marks::{Mark, MarkEncoder, Position};
use crate::format::test_marks::{LeftOut, Outcome, TestMark};
use crate::read::{Content, ReadRecords as _, ThreadFile, Trace};
use crate::store::regular::nameless_file;
use crate::write::Compression;
use crate::{Error, Offset, Result, ThreadId};

/// Marks are written in pieces of this size.
const PIECE_BYTES: usize = 1 << 20;

/// A test whose calls are left out.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The name of the test.
    pub test: String,
    /// Where its calls are.
    pub range: Range<Position>,
    /// Threads that lived only in it, which are left out, too.
    pub helpers: Vec<ThreadId>,
    /// What is left of it.
    pub left: LeftOut,
}

/// What a thread has between two records.
#[derive(Clone, Debug)]
struct Hole {
    cut: Cut,
    /// The bytes of the thread.
    bytes: Range<u64>,
    enters: u64,
    exits: u64,
}

/// Tests of a trace whose calls are left out.
#[derive(Debug, Default)]
pub struct Shrink {
    holes: HashMap<ThreadId, Vec<Hole>>,
    without: HashSet<ThreadId>,
    given_up: Totals,
    tests: u64,
}

impl Shrink {
    /// Leaves out the calls of a thread's tests, in the order of their ranges. A test whose calls do not begin and end in the same
    /// frame stays, because the calls after it would be in another frame. Returns how many stay.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn add(&mut self, file: &ThreadFile, cuts: Vec<Cut>) -> Result<u64> {
        let content = Content::open(file)?;
        let mut stay = 0;
        for cut in cuts {
            match hole(&content, cut)? {
                Some(hole) => {
                    self.tests += 1;
                    self.without.extend(&hole.cut.helpers);
                    self.give_up(hole.enters, hole.exits, hole.bytes.end - hole.bytes.start);
                    self.holes.entry(file.id()).or_default().push(hole);
                }
                None => stay += 1,
            }
        }
        Ok(stay)
    }

    fn give_up(&mut self, enters: u64, exits: u64, bytes: u64) {
        self.given_up = self.given_up.plus(&Totals { enters, exits, bytes, ..Totals::default() });
    }

    /// How many tests are left out.
    #[must_use]
    pub fn tests(&self) -> u64 {
        self.tests
    }

    /// Writes the rest of a trace to a new file, forced to disk, and returns its size. While `is_stopped` returns true,
    /// nothing is written, which is an error.
    ///
    /// # Errors
    /// The trace cannot be read, or the file not be created and written.
    pub fn write(
        mut self,
        trace: &Trace,
        path: &Path,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<u64> {
        for file in trace.files() {
            if !self.without.contains(&file.id()) {
                continue;
            }
            let (mut enters, mut exits) = (0_u64, 0_u64);
            let mut events = file.events()?;
            while let Some((_, record)) = events.next_record()? {
                match record {
                    Record::Enter(_) => enters += 1,
                    Record::Exit(count) => exits = exits.saturating_add(count.get()),
                }
            }
            self.give_up(enters, exits, file.bytes());
        }
        let manifest = self.manifest(trace);
        let (file, bytes) = write_file(path, Compression::default(), &mut |take| {
            let mut take = |kind, thread, input: &mut dyn Read| {
                take(kind, thread, &mut Stoppable { input, is_stopped })
            };
            pass_streams(trace, manifest.as_ref(), path, &mut take, &mut |file, take| match self
                .holes
                .get(&file.id())
            {
                _ if self.without.contains(&file.id()) => Ok(()),
                None => pass_thread(file, path, take, &mut |_| {}),
                Some(holes) => pass_rest(file, holes, path, take),
            })
        })?;
        file.sync_all().map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
        Ok(bytes)
    }

    fn manifest(&self, trace: &Trace) -> Option<Manifest> {
        let mut manifest = manifest_of_flow(trace).or_else(|| trace.manifest.clone())?;
        let threads = trace.files().iter().filter(|file| {
            let holes = self.holes.get(&file.id()).into_iter().flatten();
            let left_out: u64 = holes.map(|hole| hole.bytes.end - hole.bytes.start).sum();
            self.without.contains(&file.id()) || left_out == file.bytes() && left_out > 0
        });
        if let Some(end) = &mut manifest.end {
            let more = Totals { threads: threads.count() as u64, ..self.given_up };
            end.totals = end.totals.less(&more);
            end.given_up = end.given_up.plus(&more);
            end.left_out_tests = end.left_out_tests.saturating_add(self.tests);
        }
        Some(manifest)
    }
}

/// Finds the records of a test; `None` if they are not whole calls.
fn hole(content: &Content, cut: Cut) -> Result<Option<Hole>> {
    let Range { start, end } = cut.range.clone();
    let stop = end.offset.get().saturating_add(u64::from(end.exits > 0));
    let (mut first, mut last) = (start.offset.get(), end.offset.get());
    let (mut enters, mut exits) = (0_u64, 0_u64);
    let mut records = content.records_in(start.offset..Offset::new(content.len()));
    while let Some((offset, record)) = records.next_record()? {
        if offset.get() >= stop {
            last = offset.get();
            break;
        }
        match record {
            // The test begins after all of these exits, or not between two records.
            Record::Exit(count) if offset == start.offset && start.exits > 0 => {
                if count.get() != start.exits {
                    return Ok(None);
                }
                first = records.position().get();
            }
            Record::Exit(count) => {
                let is_last = offset == end.offset;
                exits = exits.saturating_add(count.get());
                if exits > enters || is_last && count.get() != end.exits {
                    return Ok(None);
                }
            }
            Record::Enter(_) => enters += 1,
        }
        last = records.position().get();
    }
    let is_whole = enters == exits && first <= last;
    Ok(is_whole.then_some(Hole { cut, bytes: first..last, enters, exits }))
}

/// Passes a thread without its holes. Its index and its shapes are those of other events.
fn pass_rest(file: &ThreadFile, holes: &[Hole], path: &Path, to: &mut Take<'_>) -> Result<()> {
    let io_error = |source| Error::Io { path: path.to_path_buf(), source };
    let content = Content::open(file)?;
    let starts = std::iter::once(0).chain(holes.iter().map(|hole| hole.bytes.end));
    let ends = holes.iter().map(|hole| hole.bytes.start).chain([content.len()]);
    let mut events: Box<dyn Read> = Box::new(io::empty());
    for (start, end) in starts.zip(ends) {
        events = Box::new(events.chain(content.bytes_in(start..end)));
    }
    to(StreamKind::Events, Some(file.id()), &mut events).map_err(io_error)?;
    let Some(mut marks) = file.marks()? else { return Ok(()) };
    let mut rest = nameless_file()?;
    let mut writer = RestOfMarks::new(holes);
    while let Some((position, mark)) = marks.next_mark()? {
        writer.add(position, mark);
        if writer.bytes.len() >= PIECE_BYTES {
            rest.write_all(&writer.bytes).map_err(io_error)?;
            writer.bytes.clear();
        }
    }
    writer.encoder.finish(&mut writer.bytes);
    rest.write_all(&writer.bytes).map_err(io_error)?;
    rest.seek(SeekFrom::Start(0)).map_err(io_error)?;
    to(StreamKind::Marks, Some(file.id()), &mut rest).map_err(io_error)
}

/// The marks of a thread without those in its holes.
struct RestOfMarks<'a> {
    /// The hole in which the marks are, or the next one.
    holes: &'a [Hole],
    is_inside: bool,
    /// The last time in the hole: *by*, *from*, and for how long the thread ran.
    time: Option<(u64, u64, Option<u64>)>,
    /// The bytes of the holes before.
    removed: u64,
    /// Where the last hole ended, and where that is now.
    last: Option<(u64, Position)>,
    encoder: MarkEncoder,
    bytes: Vec<u8>,
}

impl<'a> RestOfMarks<'a> {
    fn new(holes: &'a [Hole]) -> Self {
        let (encoder, bytes) = (MarkEncoder::with_header(), Vec::new());
        let (time, last) = (None, None);
        Self { holes, is_inside: false, time, removed: 0, last, encoder, bytes }
    }

    fn add(&mut self, position: Position, mark: Mark) {
        let Some((hole, later)) = self.holes.split_first() else {
            return self.write(position, &mark);
        };
        let cut = &hole.cut;
        let of_test = match &mark {
            Mark::Test(test) if test.name == cut.test => Some(test.outcome),
            _ => None,
        };
        match of_test {
            Some(None) if position == cut.range.start => {
                self.write(position, &mark);
                self.is_inside = true;
            }
            Some(Some(_)) if self.is_inside => {
                let at = Position::before(Offset::new(hole.bytes.start - self.removed));
                if let Some((by_ns, from_ns, ran_us)) = self.time.take() {
                    self.encode(at, &Mark::Time { by_ns, from_ns, ran_us });
                }
                let (name, detail) = (cut.test.clone(), cut.left.to_string());
                let outcome = Some(Outcome::Passed);
                self.encode(at, &Mark::Test(TestMark { outcome, name, detail }));
                self.is_inside = false;
                self.last = Some((hole.bytes.end, at));
                self.removed += hole.bytes.end - hole.bytes.start;
                self.holes = later;
            }
            _ if self.is_inside => self.keep_time(&mark),
            _ => self.write(position, &mark),
        }
    }

    /// Keeps the last time in a hole, and for how long the thread ran in all of it.
    fn keep_time(&mut self, mark: &Mark) {
        let before = self.time.and_then(|(.., ran_us)| ran_us);
        match *mark {
            Mark::Time { by_ns, from_ns, ran_us } => {
                let ran_us = before.into_iter().chain(ran_us).reduce(u64::saturating_add);
                self.time = Some((by_ns, from_ns, ran_us));
            }
            Mark::Instant { at_ns } => self.time = Some((at_ns, at_ns, before)),
            _ => {}
        }
    }

    /// Writes a mark that is not in a hole. After a hole, one at its end is at its start.
    fn write(&mut self, Position { offset, exits }: Position, mark: &Mark) {
        let moved = offset.get().saturating_sub(self.removed);
        let moved = Position { offset: Offset::new(moved), exits };
        // After the exits with which the hole ends.
        let at_end = self.last.filter(|(end, _)| offset.get() < *end).map(|(_, at)| at);
        self.encode(at_end.unwrap_or(moved), mark);
    }

    fn encode(&mut self, position: Position, mark: &Mark) {
        self.encoder.encode(position, mark, &mut self.bytes);
    }
}

/// Input that ends with an error as soon as somebody asks for it.
struct Stoppable<'a> {
    input: &'a mut dyn Read,
    is_stopped: &'a dyn Fn() -> bool,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.is_stopped)() {
            return Err(io::Error::other("stopped"));
        }
        self.input.read(buffer)
    }
}
