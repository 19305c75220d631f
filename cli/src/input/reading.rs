//! Reads a thread to its end, with a progress bar, and collects errors instead of stopping at them.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicU64;

use flow_codec::format::flow::Record;
use flow_codec::index::SMALLEST_INDEXED_BYTES;
use flow_codec::parallel::on_cores;
use flow_codec::read::{
    Clock, Content, Pass, ReadRecords, Selection, Tail, ThreadFile, TimeLimits, Timeline, Trace,
    Visit, VisitTimeline, Visited,
};
use flow_codec::scan::{Damage, Summary, Swept};
use flow_codec::{Error, Offset};
use flow_query::analysis::{AddSampled, AddShapes};
use flow_query::dag::{Dag, REPEATS};

use super::parallel::{sweep_all, sweep_thread};
use crate::failure::{Failure, Status};
use crate::output::{Progress, plural};

/// How the reading of a thread file ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Ending {
    /// At its end, after a whole record.
    #[default]
    Whole,
    /// At its end, inside a record that begins here.
    Truncated(Offset),
    /// At an I/O error.
    Failed,
    /// Before its end, because the visitor stopped.
    Stopped,
}

impl From<Tail> for Ending {
    fn from(tail: Tail) -> Self {
        match tail {
            Tail::Complete => Self::Whole,
            Tail::Truncated { offset } => Self::Truncated(offset),
        }
    }
}

/// If a file has more places of damage than this, the others are only counted.
const NAMED_DAMAGE: usize = 8;

/// The result of reading a thread file.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) ending: Ending,
    /// The errors, in order. Everything in between was read.
    pub(crate) damage: Vec<Error>,
    /// The number of further places of damage.
    pub(crate) more_damage: u64,
    /// The error in the marks, if they were read. Later marks are unknown.
    pub(crate) marks: Option<Error>,
    /// Records that flow would have written differently, if they were read one by one.
    pub(crate) non_canonical: u64,
}

impl Reading {
    /// Nothing can be read.
    pub(crate) fn failed(error: Error) -> Self {
        Self { ending: Ending::Failed, damage: vec![error], ..Self::default() }
    }

    /// Notes how the events end, and the error of the marks.
    pub(crate) fn end(&mut self, tail: Tail, marks: Option<Error>) {
        if self.ending != Ending::Failed {
            self.ending = tail.into();
        }
        self.marks = marks;
    }

    /// Everything was read except these places.
    pub(crate) fn skipped(file: &ThreadFile, damage: &Damage) -> Self {
        let error = |place: &Range<Offset>| {
            let Range { start: offset, end: next } = *place;
            Error::OversizedNumber { path: file.path(), offset, next }
        };
        let more = damage.places.len().saturating_sub(NAMED_DAMAGE) as u64;
        let places = damage.places.iter().take(NAMED_DAMAGE).map(error).collect();
        Self { damage: places, more_damage: damage.more + more, ..Self::default() }
    }

    /// Everything was read except these places, and a journal that does not fit to the end of the file.
    pub(crate) fn of_content(file: &ThreadFile, damage: &Damage, content: &Content) -> Self {
        let mut reading = Self::skipped(file, damage);
        reading.damage.extend(content.gap(file));
        reading
    }

    /// Adds errors of an earlier reading, of the events before.
    pub(crate) fn following(mut self, before: Self) -> Self {
        self.damage.splice(..0, before.damage);
        self.more_damage = self.more_damage.saturating_add(before.more_damage);
        self
    }

    /// Keeps an error. Returns whether reading can continue after it.
    pub(crate) fn note(&mut self, error: Error) -> ControlFlow<()> {
        let flow = match error {
            Error::Io { .. } => {
                self.ending = Ending::Failed;
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        };
        if self.damage.len() < NAMED_DAMAGE || flow == ControlFlow::Break(()) {
            self.damage.push(error);
        } else {
            self.more_damage += 1;
        }
        flow
    }

    /// Returns whether there was no damage.
    pub(crate) fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }

    /// Returns whether there is nothing to report.
    fn is_plain(&self) -> bool {
        self.is_sound() && self.marks.is_none() && self.ending == Ending::Whole
    }

    /// `… and 7 more places of damage`, if there are more than are named.
    pub(crate) fn more(&self) -> Option<String> {
        (self.more_damage > 0)
            .then(|| format!("… and {} of damage", plural(self.more_damage, "more place")))
    }

    /// Reports what is wrong, if anything is.
    pub(crate) fn report(&self, file: &ThreadFile, progress: &Progress) -> Status {
        for error in &self.damage {
            progress.message(&error.to_string());
        }
        if let Some(more) = self.more() {
            progress.message(&format!("{}: {more}", file.path().display()));
        }
        if let Some(error) = &self.marks {
            progress.message(&format!("{error}; later times are unknown"));
        }
        match self.ending {
            _ if !self.is_sound() || self.marks.is_some() => Status::Damaged,
            Ending::Truncated(offset) => {
                let path = file.path();
                progress.message(&format!(
                    "{}: ends inside a record at offset {offset}; everything before it was read",
                    path.display()
                ));
                Status::Partial
            }
            Ending::Whole | Ending::Stopped | Ending::Failed => Status::Done,
        }
    }
}

/// The selection of calls.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// By method.
    pub(crate) selection: Selection,
    /// By time and duration.
    pub(crate) limits: TimeLimits,
}

impl Chosen {
    /// All calls.
    pub(crate) fn all() -> Self {
        Self::of(Selection::all())
    }

    /// Calls of these methods, at any time.
    pub(crate) fn of(selection: Selection) -> Self {
        Self { selection, limits: TimeLimits::NONE }
    }

    /// The selected events of a thread, in order.
    pub(crate) fn timeline(&self, file: &ThreadFile, start_ns: u64) -> Result<Timeline<'_>, Error> {
        Ok(file.timeline()?.limit(self.limits, start_ns).select(&self.selection))
    }

    /// Returns whether nothing is left out.
    pub(crate) fn is_all(&self) -> bool {
        self.selection.is_all() && self.limits == TimeLimits::NONE
    }
}

/// The start of a thread according to `threads.jsonl`, which may be later than its first events.
pub(crate) fn start_ns(trace: &Trace, file: &ThreadFile) -> u64 {
    trace.threads.get(file.id).and_then(|thread| thread.start_ns).unwrap_or(0)
}

/// Adds up the selected calls of a thread: from its stored shapes if possible, otherwise from its events.
pub(crate) fn visit_thread(
    file: &ThreadFile,
    chosen: &Chosen,
    progress: &mut Progress,
    sums: &mut (impl Visit + AddShapes),
) -> Reading {
    match add_stored(file, chosen, progress, sums) {
        Some(reading) => reading,
        None => visit_events(file, chosen, progress, sums),
    }
}

/// Stored shapes are used for a range if they have at most this part of the bytes of its events: all shapes of the thread
/// are decoded for it.
const REPEATS_OF_RANGE: u64 = 32;

/// The stored shapes of a thread, if they take less time than the events that are read: all of them, or those of its
/// ranges.
pub(crate) fn stored_shapes(file: &ThreadFile) -> Option<Dag> {
    let repeats = if file.parts.is_some() { REPEATS_OF_RANGE } else { REPEATS };
    Dag::open_small(file, bytes_read(file, file.bytes), repeats)
}

/// Adds up the selected calls of a thread from its stored shapes. `None` if there are none, or if events are needed.
pub(crate) fn add_stored(
    file: &ThreadFile,
    chosen: &Chosen,
    progress: &mut Progress,
    sums: &mut impl AddShapes,
) -> Option<Reading> {
    let dag = selected_shapes(file, chosen)?;
    sums.add_shapes(&dag, &chosen.selection).then(|| {
        progress.file_done(bytes_read(file, file.bytes));
        // Shapes of damaged events are not stored.
        Reading::default()
    })
}

/// The stored shapes of a thread, or of the selected ranges of it. `None` if there are none, or if times are selected.
fn selected_shapes(file: &ThreadFile, chosen: &Chosen) -> Option<Dag> {
    if chosen.limits != TimeLimits::NONE {
        return None;
    }
    let dag = stored_shapes(file)?;
    match &file.parts {
        None => Some(dag),
        Some(parts) => dag.only(&parts.ranges),
    }
}

/// The same of several threads. Those of which none are stored because they are small are built, if they are small
/// together. `None` if they are not, if nothing is stored, or if anything is damaged.
pub(crate) fn all_shapes(files: &[ThreadFile], chosen: &Chosen) -> Option<Vec<Dag>> {
    let (mut left, mut is_any_stored) = (SMALLEST_INDEXED_BYTES, false);
    let mut dags = Vec::new();
    for file in files {
        let stored = selected_shapes(file, chosen);
        is_any_stored |= stored.is_some();
        dags.push(match stored {
            Some(dag) => dag,
            None => {
                left = left.checked_sub(file.bytes).filter(|_| file.parts.is_none())?;
                let content = Content::open(file).ok()?;
                let built = Dag::build(file, &content, &AtomicU64::new(0)).ok()?;
                let is_sound = built.not_stored(file, &content).is_none();
                built.dag.filter(|_| is_sound)?
            }
        });
    }
    is_any_stored.then_some(dags)
}

/// Passes the selected calls of a thread to a visitor.
pub(crate) fn visit_events(
    file: &ThreadFile,
    chosen: &Chosen,
    progress: &mut Progress,
    visitor: &mut impl Visit,
) -> Reading {
    if chosen.limits != TimeLimits::NONE {
        return visit_timed(file, chosen, progress, &Clock::default(), visitor);
    }
    read_pass(file, file.pass(&chosen.selection, visitor), progress)
}

/// The same with times: `clock` has the time of the current event.
pub(crate) fn visit_timed(
    file: &ThreadFile,
    chosen: &Chosen,
    progress: &mut Progress,
    clock: &Clock,
    visitor: &mut impl Visit,
) -> Reading {
    let Chosen { selection, limits } = chosen;
    read_pass(file, file.timed_pass(selection, *limits, clock, visitor), progress)
}

/// Adds up the times of the selected calls of a thread, and ends it: from its stored shapes if possible, otherwise from its
/// events.
pub(crate) fn add_times<'c>(
    file: &ThreadFile,
    chosen: &Chosen,
    progress: &mut Progress,
    sums: &mut impl AddSampled<'c>,
) -> Reading {
    if chosen.limits == TimeLimits::NONE
        && file.parts.is_none()
        && let Some(dag) = stored_shapes(file)
        && let Ok(Some(damage)) = sums.add_sampled(&dag, file, &chosen.selection)
    {
        progress.file_done(file.bytes);
        // Shapes of damaged events are not stored.
        return damage.map_or_else(Reading::default, Reading::failed);
    }
    let reading = visit_timed(file, chosen, progress, sums.clock(), sums);
    sums.end_thread();
    reading
}

/// How much of a thread has been read at an offset: of its selected ranges, if it has any.
pub(crate) fn bytes_read(file: &ThreadFile, until: u64) -> u64 {
    let until = until.min(file.bytes);
    let Some(parts) = &file.parts else { return until };
    let before = |offset: Offset| offset.get().min(until);
    parts.ranges.iter().fold(0, |sum, range| {
        sum + before(range.end.offset).saturating_sub(before(range.start.offset))
    })
}

fn read_pass<V: Visit>(
    file: &ThreadFile,
    pass: Result<Pass<'_, V>, Error>,
    progress: &mut Progress,
) -> Reading {
    let mut pass = match pass {
        Ok(pass) => pass,
        Err(error) => return Reading::failed(error),
    };
    let mut reading = Reading::default();
    loop {
        progress.at(Offset::new(bytes_read(file, pass.offset().get())));
        match pass.visit_some() {
            Ok(true) => {}
            Ok(false) => {
                reading.ending = pass.tail().into();
                break;
            }
            Err(error) => {
                if reading.note(error) == ControlFlow::Break(()) {
                    break;
                }
            }
        }
    }
    progress.file_done(bytes_read(file, file.bytes));
    if pass.is_past_end() {
        reading.ending = Ending::Stopped;
    }
    reading.marks = pass.finish();
    reading
}

/// Threads with fewer bytes are counted many at a time.
const SMALL_BYTES: u64 = 1 << 20;
/// How many threads are counted before anything is reported of them.
const COUNTED_AT_ONCE: usize = 128 * 1024;

/// The calls of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) calls: u64,
    pub(crate) most_frames: u64,
    /// How many shapes these have, if they are stored.
    pub(crate) shapes: Option<u64>,
}

impl Counted {
    fn of(total: &Summary) -> Self {
        Self { calls: total.enters, most_frames: total.most_frames(0), shapes: None }
    }

    /// The same from stored shapes. `None` if there are none.
    fn of_shapes(file: &ThreadFile) -> Option<Self> {
        let whole = Some(file).filter(|file| file.parts.is_none());
        let dag = stored_shapes(whole?)?;
        let shapes = Some(dag.shapes().len() as u64);
        Some(Self { calls: dag.calls(), most_frames: dag.levels(), shapes })
    }
}

/// Counts the events of a thread.
pub(crate) fn count_thread(file: &ThreadFile, progress: &mut Progress) -> (Summary, Reading) {
    let outcome = sweep_thread(file, progress);
    progress.file_done(bytes_read(file, file.bytes));
    counted(file, outcome)
}

/// The same for each thread, small ones on all cores, and those with stored shapes from these. Passes the results to `each`, in order.
pub(crate) fn count_threads(
    files: &[ThreadFile],
    progress: &mut Progress,
    mut each: impl FnMut(&ThreadFile, Counted, &Reading, &Progress),
) {
    // Of a million threads, hardly one is damaged.
    let sound = Reading::default();
    let count_small = |file: &ThreadFile| {
        (file.bytes < SMALL_BYTES).then(|| {
            let (total, reading) = counted(file, sweep_all(file, &AtomicU64::new(0)));
            (Counted::of(&total), (!reading.is_plain()).then(|| Box::new(reading)))
        })
    };
    for files in files.chunks(COUNTED_AT_ONCE) {
        let small =
            on_cores(files, |files| files.iter().map(count_small).collect::<Vec<_>>()).into_iter();
        for (file, small) in files.iter().zip(small.flatten()) {
            let of_shapes = || Some((Counted::of_shapes(file)?, None));
            let (counted, reading) = small.or_else(of_shapes).unwrap_or_else(|| {
                let (total, reading) = count_thread(file, progress);
                (Counted::of(&total), Some(Box::new(reading)))
            });
            if file.bytes < SMALL_BYTES || counted.shapes.is_some() {
                progress.file_done(bytes_read(file, file.bytes));
            }
            each(file, counted, reading.as_deref().unwrap_or(&sound), progress);
        }
    }
}

fn counted(file: &ThreadFile, outcome: Result<(Content, Swept), Error>) -> (Summary, Reading) {
    match outcome {
        Err(error) => (Summary::default(), Reading::failed(error)),
        Ok((content, swept)) => {
            let mut reading = Reading::of_content(file, &swept.damage, &content);
            reading.ending = swept.tail(content.len()).into();
            (swept.total(), reading)
        }
    }
}

/// Passes the events of a timeline to a visitor, to its end or until the visitor stops. The caller reports
/// damage of the marks.
pub(crate) fn read_timeline(
    file: &ThreadFile,
    timeline: &mut Timeline<'_>,
    progress: &mut Progress,
    visitor: &mut impl VisitTimeline,
) -> Reading {
    let mut reading = Reading::default();
    loop {
        progress.at(Offset::new(bytes_read(file, timeline.offset().get())));
        match timeline.visit_some(visitor) {
            Ok(Visited::Some) => {}
            Ok(Visited::Stopped) => {
                reading.ending = Ending::Stopped;
                break;
            }
            Ok(Visited::All) if timeline.is_past_end() => {
                reading.ending = Ending::Stopped;
                break;
            }
            Ok(Visited::All) => {
                if reading.ending != Ending::Failed {
                    reading.ending = timeline.tail().into();
                }
                break;
            }
            // Notes may follow even if events cannot be read any further.
            Err(error) => {
                let _ = reading.note(error);
            }
        }
    }
    progress.file_done(bytes_read(file, file.bytes));
    reading
}

/// Passes the records of a thread from an offset on to `each`, with their positions, until it stops.
pub(crate) fn read_records(
    file: &ThreadFile,
    from: Offset,
    progress: &mut Progress,
    mut each: impl FnMut(Range<u64>, Record) -> Result<ControlFlow<()>, Failure>,
) -> Result<Reading, Failure> {
    let mut events = match file.events_from(from) {
        Ok(events) => events,
        Err(error) => return Ok(Reading::failed(error)),
    };
    let mut reading = Reading::default();
    loop {
        progress.step(|| events.position());
        match events.next_record() {
            Ok(Some((offset, record))) => {
                let range = offset.get()..events.position().get();
                if each(range, record)? == ControlFlow::Break(()) {
                    reading.ending = Ending::Stopped;
                    break;
                }
            }
            Ok(None) => {
                reading.ending = events.tail().into();
                break;
            }
            Err(error) => {
                if reading.note(error) == ControlFlow::Break(()) {
                    break;
                }
            }
        }
    }
    reading.non_canonical = events.non_canonical();
    progress.file_done(bytes_read(file, file.bytes));
    Ok(reading)
}
