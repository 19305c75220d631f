//! From a thread to its [`Dag`]: reads events and marks, on several cores if the thread is large.

use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::builder::Builder;
use crate::dag::MAX_SIZE;
use crate::dag::shape::kinds::{Break, Outcome};
use crate::dag::shape::of_thread::Dag;
use crate::dag::shape::table::{Folded, Mix};
use flow_codec::format::flow::Record;
use flow_codec::format::marks::{Mark, Position};
use flow_codec::parallel::BytesRead;
use flow_codec::read::{
    Content, FlowReader, Marks, ReadRecords, Repeats, StoredBytes, Tail, ThreadFile, Visit,
};
use flow_codec::scan::{Damage, parts};
use flow_codec::{Error, Offset, Result};

/// The result of building the shapes of a thread.
#[derive(Debug)]
pub struct Built {
    pub(crate) dag: Option<Dag>,
    /// How many words they were allowed to take.
    pub(crate) max_size: usize,
    /// The places of the events that were skipped. Each is a [`Break::Gap`].
    pub(crate) damage: Damage,
    /// How the events end.
    pub(crate) tail: Tail,
    /// The error of the marks. How later calls were left is not known.
    pub(crate) marks: Option<Error>,
}

impl Built {
    /// Returns the shapes; `None` if the thread repeats itself too little.
    #[must_use]
    pub fn dag(&self) -> Option<&Dag> {
        self.dag.as_ref()
    }

    /// Returns the shapes by value.
    #[must_use]
    pub fn into_dag(self) -> Option<Dag> {
        self.dag
    }

    /// Returns the shapes if they have all events of the thread, at their positions.
    #[must_use]
    pub fn into_whole(self, content: &Content) -> Option<Dag> {
        let is_sound = self.damage.is_empty() && self.tail == Tail::Complete;
        self.dag.filter(|dag| is_sound && dag.bytes() == content.len())
    }
}

impl Dag {
    /// Builds the shapes of a thread: all of it, even if only ranges are read. `progress` counts the bytes that
    /// have been read.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn build(file: &ThreadFile, content: &Content, progress: &BytesRead) -> Result<Built> {
        Self::build_within(file, content, MAX_SIZE, progress)
    }

    /// Builds the shapes of a thread if they fit into this many words, as [`MAX_SIZE`] counts them.
    ///
    /// # Errors
    /// The events cannot be read.
    pub(crate) fn build_within(
        file: &ThreadFile,
        content: &Content,
        max_size: usize,
        progress: &BytesRead,
    ) -> Result<Built> {
        let io_error = |source| Error::Io { path: file.path(), source };
        let ranges = parts(content, 0..content.len()).map_err(io_error)?;
        build_all::<Folded>(file, content, &ranges, max_size, progress).map_err(io_error)
    }
}

/// Builds the parts of a thread at the same time. If they are too large together, the thread may still repeat itself
/// from part to part: then one core reads it, so that the result does not depend on the number of cores.
fn build_all<H: Mix + Send>(
    file: &ThreadFile,
    content: &Content,
    ranges: &[Range<u64>],
    max_size: usize,
    progress: &BytesRead,
) -> io::Result<Built> {
    let built = build_parts::<H>(file, content, ranges, max_size, progress)?;
    if built.dag.is_some() || ranges.len() < 2 {
        return Ok(built);
    }
    let all = 0..content.len();
    build_parts::<H>(file, content, std::slice::from_ref(&all), max_size, progress)
}

/// Builds the parts of a thread at the same time, and joins them.
fn build_parts<H: Mix + Send>(
    file: &ThreadFile,
    content: &Content,
    ranges: &[Range<u64>],
    max_size: usize,
    progress: &BytesRead,
) -> io::Result<Built> {
    // All parts together may take what one may. If one has too much, the others are not needed.
    let (of_part, is_over) = (max_size / ranges.len().max(1), &AtomicBool::new(false));
    let read = |range: &Range<u64>| {
        let mut part = Part::<H>::new(of_part, Offset::new(range.start));
        let until = Offset::new(range.end);
        part.read(file, content, until, until.get() == content.len(), is_over, progress)?;
        if part.builder.is_over() {
            is_over.store(true, Ordering::Relaxed);
        }
        Ok(part)
    };
    let parts: Vec<_> = thread::scope(|scope| {
        let (first, others) = ranges.split_first().map_or((None, &[][..]), |(f, o)| (Some(f), o));
        let others: Vec<_> = others.iter().map(|range| scope.spawn(move || read(range))).collect();
        let first = first.map(read);
        let others = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        first.into_iter().chain(others).collect::<io::Result<_>>()
    })?;
    let mut parts = parts.into_iter();
    let Some(mut all) = parts.next() else {
        let dag = Some(Dag::new(Default::default(), Vec::new()));
        let damage = Damage::default();
        return Ok(Built { dag, max_size, damage, tail: Tail::Complete, marks: None });
    };
    if is_over.load(Ordering::Relaxed) {
        // Some parts were not read to their ends, and what was read may fit once they are together.
        let (damage, marks) = (all.damage, all.marks);
        return Ok(Built { dag: None, max_size, damage, tail: Tail::Complete, marks });
    }
    all.builder.limit(max_size);
    for part in parts {
        all.damage.append(part.damage);
        all.tail = part.tail;
        all.marks = all.marks.or(part.marks);
        match part.builder.finish() {
            Some((shapes, roots)) => all.builder.append(&shapes, &roots),
            None => all.builder.give_up(),
        }
    }
    Ok(all.built())
}

/// A part of a thread that is read.
#[derive(Debug)]
struct Part<H> {
    builder: Builder<H>,
    /// How far it is read.
    position: Offset,
    damage: Damage,
    tail: Tail,
    marks: Option<Error>,
    /// How many marks there were that matter.
    seen: u64,
    repeats: Repeats,
}

impl<H: Mix> Part<H> {
    fn new(max_size: usize, start: Offset) -> Self {
        Self {
            builder: Builder::new(max_size),
            position: start,
            damage: Damage::default(),
            tail: Tail::Complete,
            marks: None,
            seen: 0,
            repeats: Repeats::default(),
        }
    }

    fn built(self) -> Built {
        let Self { builder, damage, tail, marks, .. } = self;
        let max_size = builder.max_size();
        let dag = builder.finish().map(|(shapes, roots)| Dag::new(shapes, roots));
        Built { dag, max_size, damage, tail, marks }
    }

    /// Reads on, until `stop` is set or there is too much. `is_last`: also the marks at the end of the thread; those at
    /// the end of another part are at the start of the next one. Returns how many marks there are that matter before
    /// the records that are read.
    fn read(
        &mut self,
        file: &ThreadFile,
        content: &Content,
        until: Offset,
        is_last: bool,
        stop: &AtomicBool,
        progress: &BytesRead,
    ) -> io::Result<u64> {
        let (mut known, before) = Known::open(file, self.position);
        let mut records = content.records_in(self.position..until);
        loop {
            let more =
                match read_some(&mut records, &mut known, &mut self.repeats, &mut self.builder) {
                    Ok(more) => more,
                    Err(Error::OversizedNumber { offset, next, .. }) => {
                        self.damage.add(offset..next);
                        self.builder.add_break(Break::Gap);
                        true
                    }
                    Err(Error::Io { source, .. }) => return Err(source),
                    Err(error) => return Err(io::Error::other(error)),
                };
            let now = records.position();
            progress.add(now.get() - self.position.get());
            self.position = now;
            if !more || self.builder.is_over() || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        if is_last {
            let end = Position { offset: until, exits: u64::MAX };
            while let Some((_, what)) = known.next_before(end) {
                if let What::Break(kind) = what {
                    self.builder.add_break(kind);
                }
            }
        }
        self.tail = records.tail();
        self.seen += known.seen;
        self.marks = self.marks.take().or(known.damage);
        Ok(before)
    }
}

/// The shapes of a thread that is being recorded, built a piece at a time.
#[derive(Debug)]
pub struct Growing {
    part: Part<Folded>,
    is_given_up: bool,
}

impl Growing {
    /// Begins a thread whose shapes, and what open frames have called, may each take this many words, as [`MAX_SIZE`] counts them.
    #[must_use]
    pub fn within(max_size: usize) -> Self {
        Self { part: Part::new(max_size, Offset::default()), is_given_up: false }
    }

    /// Reads what has been added to the thread's file since the last time, or some of it if `stop` is set meanwhile. The
    /// trace was opened anew.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn read(&mut self, file: &ThreadFile, stop: &AtomicBool) -> Result<()> {
        self.read_to(file, &Content::open(file)?, false, stop)
    }

    fn read_to(
        &mut self,
        file: &ThreadFile,
        content: &Content,
        is_last: bool,
        stop: &AtomicBool,
    ) -> Result<()> {
        let io_error = |source| Error::Io { path: file.path(), source };
        let until = Offset::new(if is_last { content.len() } else { file.bytes_in_file() });
        if self.is_given_up() || until < self.part.position {
            self.is_given_up = true;
            return Ok(());
        }
        let (seen, progress) = (self.part.seen, BytesRead::default());
        let before =
            self.part.read(file, content, until, is_last, stop, &progress).map_err(io_error)?;
        // Marks may have been added where the events were read.
        self.is_given_up |= before != seen;
        Ok(())
    }

    /// How far the thread has been read, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.part.position.get()
    }

    /// About the memory that is needed, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.part.builder.memory()
    }

    /// Returns whether the thread repeats itself too little, or changes in ways that are not followed. Then nothing more
    /// is read.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        self.is_given_up || self.part.builder.is_over()
    }

    /// Reads the rest of a thread that is no longer recorded. `None` if it was given up; [`Dag::build`] may still be able
    /// to build its shapes.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn finish(mut self, file: &ThreadFile, content: &Content) -> Result<Option<Built>> {
        self.read_to(file, content, true, &AtomicBool::new(false))?;
        Ok((!self.is_given_up()).then(|| self.part.built()))
    }
}

/// Reads some more records. Returns whether there may be more.
fn read_some<H: Mix>(
    records: &mut FlowReader<impl io::Read>,
    known: &mut Known,
    repeats: &mut Repeats,
    builder: &mut Builder<H>,
) -> Result<bool> {
    let next = match known.next {
        None => return records.visit_repeats(None, repeats, builder),
        Some((next, _)) if records.position() < next.offset => {
            return records.visit_repeats(Some(next.offset), repeats, builder);
        }
        Some((next, _)) => next,
    };
    debug_assert!(records.position() >= next.offset, "records before it were read");
    let Some((offset, record)) = records.next_record()? else { return Ok(false) };
    match record {
        Record::Enter(method) => {
            while let Some((_, what)) = known.next_before(Position::before(offset)) {
                if let What::Break(kind) = what {
                    builder.add_break(kind);
                }
            }
            builder.enter(method);
        }
        Record::Exit(count) => exit(offset, count, known, builder),
    }
    Ok(true)
}

/// Leaves the frames of a run of exits in which there are marks.
fn exit<H: Mix>(offset: Offset, count: NonZeroU64, known: &mut Known, builder: &mut Builder<H>) {
    let count = count.get();
    let mut done = 0;
    let mut outcome = Outcome::Returned;
    while let Some((at, what)) = known.next_before(Position { offset, exits: count }) {
        let until = if at.offset == offset { at.exits.clamp(done, count) } else { done };
        builder.exit_as(outcome, until - done);
        done = until;
        match what {
            What::Unwound(exits) if at.offset == offset => {
                let until = done.saturating_add(exits).min(count);
                builder.exit_as(Outcome::Unwound, until - done);
                done = until;
            }
            What::Unwound(_) => {}
            What::Break(kind) => {
                builder.add_break(kind);
                // The frames that were open are left, and nothing happens in them until recording resumes.
                if kind == Break::Pause {
                    outcome = Outcome::Cut;
                }
            }
            What::Resumed => outcome = Outcome::Returned,
        }
    }
    builder.exit_as(outcome, count - done);
}

/// What matters of a mark.
#[derive(Clone, Copy, Debug)]
enum What {
    Unwound(u64),
    Break(Break),
    Resumed,
}

/// The marks that matter, one ahead.
struct Known {
    marks: Option<Marks<StoredBytes>>,
    next: Option<(Position, What)>,
    /// How many were passed on.
    seen: u64,
    damage: Option<Error>,
}

impl Known {
    /// Opens the marks of a thread, from an offset on. Returns them, and how many there are before.
    fn open(file: &ThreadFile, from: Offset) -> (Self, u64) {
        let (marks, damage) = match file.marks() {
            Ok(marks) => (marks, None),
            Err(error) => (None, Some(error)),
        };
        let mut known = Self { marks, next: None, seen: 0, damage };
        known.advance();
        let mut before = 0;
        while known.next.is_some_and(|(at, _)| at.offset < from) {
            known.advance();
            before += 1;
        }
        (known, before)
    }

    fn advance(&mut self) {
        self.next = None;
        let Some(marks) = &mut self.marks else { return };
        self.next = loop {
            match marks.next_mark() {
                Ok(Some((at, Mark::Unwound { exits, .. }))) => {
                    break Some((at, What::Unwound(exits.get())));
                }
                Ok(Some((at, Mark::Gap { .. }))) => break Some((at, What::Break(Break::Gap))),
                Ok(Some((at, Mark::Paused))) => break Some((at, What::Break(Break::Pause))),
                Ok(Some((at, Mark::Resumed))) => break Some((at, What::Resumed)),
                Ok(Some(_)) => {}
                Ok(None) => break None,
                // Those of the journal follow.
                Err(error) => self.damage = Some(error),
            }
        };
    }

    /// The next mark, if it is not after a position.
    fn next_before(&mut self, position: Position) -> Option<(Position, What)> {
        let next = self.next.filter(|(at, _)| *at <= position)?;
        self.seen += 1;
        self.advance();
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::dag::shape::table::Folded;
    use crate::dag::{Kind, Root, Step, Walk};
    use flow_codec::format::flow::{Encoded, Record};
    use flow_codec::format::marks::{HEADER, MarkEncoder};
    use flow_codec::read::{EventKind, ReadRecords, Timeline, Trace};
    use flow_codec::{MethodId, ThreadId};

    /// The events of a timeline, and the shapes of the same thread, as lines.
    fn from_timeline(timeline: Timeline<'_>) -> Vec<String> {
        let (mut lines, mut open, mut paused) = (Vec::new(), 0_u64, false);
        for event in timeline {
            match event.unwrap().kind {
                EventKind::Enter(method) => {
                    open += 1;
                    lines.push(format!("enter {method}"));
                }
                EventKind::Exit { count, unwound } => {
                    for _ in 0..count.get() {
                        let outcome = match unwound {
                            _ if open == 0 => "unseen".to_owned(),
                            Some(_) => format!("{:?}", Outcome::Unwound),
                            None if paused => format!("{:?}", Outcome::Cut),
                            None => format!("{:?}", Outcome::Returned),
                        };
                        lines.push(outcome);
                        open = open.saturating_sub(1);
                    }
                }
                EventKind::Gap { .. } => lines.push(format!("{:?}", Break::Gap)),
                EventKind::Pause => {
                    lines.push(format!("{:?}", Break::Pause));
                    paused = true;
                }
                EventKind::Resume => paused = false,
                _ => {}
            }
        }
        lines
    }

    /// The same from shapes; each entry with its offset.
    fn from_dag(dag: &Dag) -> Vec<String> {
        fn call(dag: &Dag, shape: crate::dag::ShapeId, lines: &mut Vec<String>) {
            match dag.shapes().kind(shape) {
                Kind::Thread => unreachable!("shapes are not joined"),
                Kind::Break(kind) => lines.push(format!("{kind:?}")),
                Kind::Call(method, outcome) => {
                    lines.push(format!("enter {method}"));
                    for (callee, count) in dag.shapes().runs(shape) {
                        (0..count).for_each(|_| call(dag, callee, lines));
                    }
                    lines.push(format!("{outcome:?}"));
                }
            }
        }
        let mut lines = Vec::new();
        for root in dag.roots() {
            match root {
                Root::Calls(shape, count) => (0..count).for_each(|_| call(dag, shape, &mut lines)),
                Root::UnseenExits(count) => lines.extend((0..count).map(|_| "unseen".to_owned())),
                Root::Open(method) => lines.push(format!("enter {method}")),
            }
        }
        lines
    }

    /// Calls: a method, and how many frames are left after its entry.
    fn calls() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let id = prop_oneof![9 => 0_u64..4, 1 => Just(100)];
        let exits = prop_oneof![5 => 0_u64..4, 1 => Just(70)];
        let part = prop::collection::vec((id, exits), 1..10);
        prop::collection::vec((part, 1_usize..6), 0..6)
            .prop_map(|parts| parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect())
    }

    proptest! {
        #[test]
        fn shapes_have_all_that_the_timeline_has(
            calls in calls(),
            marks in prop::collection::vec((0_usize..60, 0_u64..4, 0_u64..4, 1_u64..4), 0..8),
            cuts in prop::collection::vec(0_usize..60, 0..4),
        ) {
            let (mut bytes, mut starts, mut runs) = (Vec::new(), Vec::new(), Vec::new());
            for &(method, exits) in &calls {
                starts.push(bytes.len() as u64);
                bytes.extend_from_slice(Encoded::enter(MethodId::new(method).unwrap()).as_bytes());
                if let Some(count) = NonZeroU64::new(exits) {
                    runs.push((bytes.len() as u64, exits));
                    bytes.extend_from_slice(Encoded::exits(count).as_bytes());
                }
            }
            let mut positions: Vec<_> = marks
                .iter()
                .filter_map(|&(at, exits, kind, count)| match kind {
                    // Some exits of a run.
                    0 | 1 => {
                        let &(offset, all) = runs.get(at)?;
                        let exits = exits.min(all - 1);
                        let offset = Offset::new(offset);
                        let count = NonZeroU64::new(count.min(all - exits))?;
                        Some((Position { offset, exits }, Mark::Unwound { exits: count, thrown: None }))
                    }
                    2 => {
                        let position = Position::before(Offset::new(*starts.get(at)?));
                        Some((position, Mark::Gap { events: None }))
                    }
                    // All frames are left.
                    _ => {
                        let &(offset, all) = runs.get(at)?;
                        let offset = Offset::new(offset);
                        Some((Position { offset, exits: exits.min(all) }, Mark::Paused))
                    }
                })
                .collect();
            positions.sort_by_key(|(at, mark)| (*at, matches!(mark, Mark::Unwound { .. })));
            // A pause ends after the run in which it begins, and is the last mark of it.
            let mut all: Vec<(Position, Mark)> = Vec::new();
            for (at, mark) in positions {
                let until = match all.last() {
                    Some((last, Mark::Unwound { exits, .. })) if last.offset == at.offset => last.exits + exits.get(),
                    Some((last, Mark::Resumed)) if last.offset == at.offset => u64::MAX,
                    _ => 0,
                };
                if at.exits < until {
                    continue;
                }
                let is_pause = mark == Mark::Paused;
                all.push((at, mark));
                if is_pause && let Some((_, exits)) = runs.iter().find(|run| run.0 == at.offset.get()) {
                    all.push((Position { exits: *exits, ..at }, Mark::Resumed));
                }
            }
            let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
            all.iter().for_each(|(at, mark)| encoder.encode(*at, mark, &mut marks));
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("thread-1.flow"), &bytes).unwrap();
            fs::write(dir.path().join("thread-1.marks"), &marks).unwrap();
            fs::write(dir.path().join("ids.properties"), "").unwrap();
            let trace = Trace::open(dir.path()).unwrap();
            let file = &trace.files()[0];
            prop_assert_eq!(file.id(), ThreadId::new(1));
            let content = Content::open(file).unwrap();
            let expected = from_timeline(file.timeline().unwrap());
            let mut gather = crate::dag::Gather::default();
            file.timeline().unwrap().visit(&mut gather);
            prop_assert_eq!(from_dag(&gather.finish().unwrap()), &expected[..]);
            let progress = BytesRead::default();
            let dag = Dag::build(file, &content, &progress).unwrap().dag.unwrap();
            prop_assert_eq!(from_dag(&dag), &expected[..]);
            prop_assert_eq!(dag.bytes(), bytes.len() as u64);
            crate::dag::search::walk::tests::check(&dag, &bytes);
            let (mut open, mut most) = (0_u64, 0);
            for (_, exits) in &calls {
                most = most.max(open + 1);
                open = (open + 1).saturating_sub(*exits);
            }
            prop_assert_eq!(dag.levels(), most);
            prop_assert_eq!(progress.get(), bytes.len() as u64);

            // Each method's first call is that of one of its shapes.
            let found = dag.occurrences();
            for method in [0, 1, 2, 3, 100].map(|id| MethodId::new(id).unwrap()) {
                let of_method = |shape: &crate::dag::ShapeId| matches!(dag.shapes().kind(*shape), Kind::Call(is, _) if is == method);
                let first = dag.shapes().iter().filter(of_method).filter_map(|shape| found.first_call(shape)).min();
                let open = dag.roots().filter(|root| *root == Root::Open(method)).count() as u64;
                let entered = starts.iter().zip(&calls).filter(|(_, call)| call.0 == method.get());
                if open == 0 {
                    let number = calls.iter().position(|call| call.0 == method.get());
                    prop_assert_eq!(first, number.map(|number| number as u64));
                }
                let count: u64 = dag.shapes().iter().filter(of_method).map(|shape| found.count(shape)).sum();
                prop_assert_eq!(count + open, entered.count() as u64);
            }

            // Ranges that begin and end at entries, or among exits.
            let borders = cuts.iter().flat_map(|cut| {
                let run = runs.get(*cut).map(|&(offset, exits)| (offset, exits / 2));
                run.into_iter().chain(starts.get(cut / 2).map(|start| (*start, 0)))
            });
            let mut borders: Vec<_> = borders
                .map(|(offset, exits)| Position { offset: Offset::new(offset), exits })
                .collect();
            borders.sort_unstable();
            borders.dedup();
            let of_tests: Vec<_> = borders.chunks_exact(2).map(|two| two[0]..two[1]).collect();
            let mut events = file.only("", &of_tests).events().unwrap();
            let mut of_events = Vec::new();
            while let Some((offset, record)) = events.next_record().unwrap() {
                match record {
                    Record::Enter(method) => of_events.push(Err((offset, method))),
                    Record::Exit(count) => of_events.extend(vec![Ok(()); usize::try_from(count.get()).unwrap()]),
                }
            }
            let found: Vec<_> = Walk::of_ranges(&dag, &of_tests)
                .flat_map(|step| match step {
                    Step::Enter(entry) => vec![Err((entry.offset, entry.method))],
                    Step::Exit(count) => vec![Ok(()); usize::try_from(count.get()).unwrap()],
                })
                .collect();
            prop_assert_eq!(found, of_events);

            let mut cuts: Vec<_> = cuts.iter().filter_map(|cut| starts.get(*cut).copied()).collect();
            cuts.extend([0, bytes.len() as u64]);
            cuts.sort_unstable();
            let ranges: Vec<_> = cuts.windows(2).map(|two| two[0]..two[1]).collect();
            let parts = build_parts::<Folded>(file, &content, &ranges, 1 << 20, &progress_of()).unwrap();
            let parts = parts.dag.unwrap();
            prop_assert_eq!(from_dag(&parts), &expected[..]);
            prop_assert_eq!((parts.shapes().len(), parts.shapes().edges()), (dag.shapes().len(), dag.shapes().edges()));

            // The file grows from cut to cut.
            let mut growing = Growing::within(MAX_SIZE);
            for range in &ranges {
                growing.read(&file.with_bytes(range.end), &AtomicBool::new(false)).unwrap();
                prop_assert_eq!(growing.bytes(), range.end);
            }
            let grown = growing.finish(file, &content).unwrap().unwrap();
            prop_assert_eq!(grown.not_stored(file, &content), None);
            prop_assert_eq!(grown.dag.unwrap(), dag);
        }
    }

    fn progress_of() -> BytesRead {
        BytesRead::default()
    }

    #[test]
    fn parts_that_are_given_up_leave_no_shapes() {
        let dir = tempfile::tempdir().unwrap();
        // The first part has more open frames than a part may have, but fewer than all parts.
        let events = [vec![0x81; 1 << 20], [0x82, 0x00].repeat(1 << 20)].concat();
        fs::write(dir.path().join("thread-1.flow"), &events).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let content = Content::open(&trace.files()[0]).unwrap();
        let parts = [0..1 << 20, 1 << 20..events.len() as u64];
        let build =
            |max| build_parts::<Folded>(&trace.files()[0], &content, &parts, max, &progress_of());
        let built = build(3 << 19).unwrap();
        assert_eq!((built.dag, built.tail), (None, Tail::Complete));
        assert_eq!(build(3 << 20).unwrap().dag.unwrap().calls(), 2 << 20);
    }

    #[test]
    fn damage_is_a_gap() {
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = vec![0x81, 0x82];
        bytes.extend([0xFF; 12]);
        bytes.extend([0x00, 0x83, 0x02]);
        fs::write(dir.path().join("thread-1.flow"), &bytes).unwrap();
        fs::write(dir.path().join("ids.properties"), "").unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let content = Content::open(&trace.files()[0]).unwrap();
        let built = Dag::build(&trace.files()[0], &content, &progress_of()).unwrap();
        assert_eq!(built.damage.places(), [Offset::new(2)..Offset::new(15)]);
        let expected = ["enter 1", "enter 2", "Gap", "enter 3", "Returned", "Returned", "Returned"];
        assert_eq!(from_dag(&built.dag.unwrap()), expected);
    }

    #[test]
    fn a_thread_that_is_too_large_in_parts_is_read_as_one() {
        // Each part alone has all shapes, and half of the budget is not enough for them.
        let round: Vec<u8> = (0x81..0xA0).flat_map(|method| [0x80, method, 0x01]).collect();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thread-1.flow"), round.repeat(2)).unwrap();
        fs::write(dir.path().join("ids.properties"), "").unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let content = Content::open(&trace.files()[0]).unwrap();
        let half = round.len() as u64;
        let build = |max_size| {
            let ranges = [0..half, half..2 * half];
            let built =
                build_all::<Folded>(&trace.files()[0], &content, &ranges, max_size, &progress_of());
            built.unwrap().dag.map(|dag| dag.calls())
        };
        assert_eq!(build(1000), Some(4 * 31));
        assert_eq!(build(260), Some(4 * 31));
        assert_eq!(build(100), None);
    }

    #[test]
    fn a_thread_is_given_up_if_a_mark_is_added_where_it_was_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thread-1.flow"), [0x81, 0x00, 0x82, 0x00]).unwrap();
        fs::write(dir.path().join("ids.properties"), "").unwrap();
        let open = || Trace::open(dir.path()).unwrap();
        let (mut growing, never) = (Growing::within(MAX_SIZE), AtomicBool::new(false));
        growing.read(&open().files()[0].with_bytes(2), &never).unwrap();
        let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
        let late = Position { offset: Offset::new(1), exits: 1 };
        encoder.encode(late, &Mark::Gap { events: None }, &mut marks);
        fs::write(dir.path().join("thread-1.marks"), &marks).unwrap();
        let trace = open();
        let content = Content::open(&trace.files()[0]).unwrap();
        assert!(growing.finish(&trace.files()[0], &content).unwrap().is_none());
    }
}
