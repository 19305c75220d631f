//! Tells a format what a thread did, call by call.

use std::num::NonZeroU64;

use flow_codec::format::flow::Record;
use flow_codec::format::marks::{Mark, Position};
use flow_codec::read::{ThreadFile, TimeLimits, Trace};
use flow_codec::{MethodId, Offset};

use super::clock::{Moment, Scale, Timekeeper};
use super::shown::{Shown, Which};
use super::window::Held;
use crate::failure::{Failure, Status};
use crate::output::Progress;
use crate::reading::{Ending, Flow, Place, Reading, read_records};

/// A buffer of more bytes than this is written out.
const FULL_BYTES: usize = 64 * 1024;

/// A frame is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit<'a> {
    pub(crate) now: Moment,
    /// By an exception, and the class of that where it is known.
    pub(crate) thrown: Option<Option<&'a str>>,
}

/// Something that takes no time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Instant<'a> {
    /// The program said so.
    Note(&'a str),
    /// An exception of this class ends the topmost frame, and maybe others below.
    Thrown(Option<&'a str>),
    /// Here so many events are missing; unknown how many where that is `None`.
    Gap(Option<u64>),
    /// What follows was not recorded.
    Paused,
    /// Recording goes on.
    Resumed,
}

/// A format that tells every call. Each function appends what is to be written; times are those of the
/// [`Scale`] it is written in.
pub(crate) trait Timeline {
    /// Before the first thread.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// A thread begins, with no frame open, or the parts of one that are told. Time begins anew.
    fn begin_thread(&mut self, file: &ThreadFile, out: &mut Vec<u8>);

    /// A method is entered.
    fn enter(&mut self, method: MethodId, at: u64, out: &mut Vec<u8>);

    /// The topmost frame is left.
    fn exit(&mut self, at: u64, out: &mut Vec<u8>);

    /// The same with all that is known of when.
    fn entered(&mut self, method: MethodId, now: Moment, out: &mut Vec<u8>) {
        self.enter(method, now.at, out);
    }

    /// The topmost frame is left, with all that is known of when and why.
    fn left(&mut self, exit: Exit<'_>, out: &mut Vec<u8>) {
        self.exit(exit.now.at, out);
    }

    /// Something happened that takes no time. Formats that have no place for that leave it out.
    fn instant(&mut self, _what: Instant<'_>, _at: u64, _out: &mut Vec<u8>) {}

    /// The topmost frame is open to the end of the thread's events. Formats that can leave it open do.
    fn unfinished(&mut self, _at: u64, _out: &mut Vec<u8>) {}

    /// The thread's events are told. Answers what is to come.
    fn end_thread(&mut self, at: u64, out: &mut Vec<u8>) -> Next;

    /// After the last thread.
    fn finish(&mut self, out: &mut Vec<u8>);
}

/// What comes behind the events of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// The next thread.
    Thread,
    /// The same events once more, without another beginning: formats that are stored in columns are written
    /// so.
    Again,
    /// The end of the thread once more: it is written in pieces.
    More,
}

/// What of a thread is told.
pub(crate) struct Play<'a> {
    /// Which calls.
    pub(crate) which: Which<'a>,
    /// So many; frames that are open then are left.
    pub(crate) max_calls: u64,
    /// What times are.
    pub(crate) scale: Scale,
    /// What is left out by its time.
    pub(crate) limits: TimeLimits,
}

impl Play<'_> {
    /// Tells all threads of a trace, and hands what is to be written to `write`.
    pub(crate) fn trace(
        &self,
        trace: &Trace,
        timeline: &mut dyn Timeline,
        progress: &mut Progress,
        write: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Status, Failure> {
        let mut out = Buffer { bytes: Vec::new(), write };
        let mut status = Status::Done;
        timeline.begin(&mut out.bytes);
        for file in &trace.files {
            let (reading, _) = self.thread(trace, file, timeline, progress, &mut out)?;
            status = status.and(reading.tell(file, progress));
        }
        timeline.finish(&mut out.bytes);
        out.flush()?;
        Ok(status)
    }

    /// Tells one thread, and answers how many bytes that makes and how many calls they hold.
    pub(crate) fn measure(
        &self,
        (trace, file): (&Trace, &ThreadFile),
        timeline: &mut dyn Timeline,
        progress: &mut Progress,
    ) -> Result<(u64, u64), Failure> {
        let mut bytes = 0;
        let mut write = |written: &[u8]| {
            bytes += written.len() as u64;
            Ok(())
        };
        let mut out = Buffer { bytes: Vec::new(), write: &mut write };
        let (_, calls) = self.thread(trace, file, timeline, progress, &mut out)?;
        out.flush()?;
        Ok((bytes, calls))
    }

    /// Counts the calls that are told of a thread, for each depth up to the length of `by_depth`: what is
    /// deeper counts as the deepest.
    pub(crate) fn count(
        which: Which<'_>,
        file: &ThreadFile,
        by_depth: &mut [u64],
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let mut shown = Shown::new(which);
        let deepest = by_depth.len().saturating_sub(1);
        read_records(file, progress, |_, record| {
            match record {
                Record::Enter(method) => {
                    let place = |depth| usize::try_from(depth).unwrap_or(deepest).min(deepest);
                    let place = shown.enter(method).map(place);
                    if let Some(calls) = place.and_then(|place| by_depth.get_mut(place)) {
                        *calls += 1;
                    }
                }
                Record::Exit(count) => {
                    shown.exit(count);
                }
            }
            Ok(Flow::Continue)
        })?;
        Ok(())
    }

    fn thread(
        &self,
        trace: &Trace,
        file: &ThreadFile,
        timeline: &mut dyn Timeline,
        progress: &mut Progress,
        out: &mut Buffer<'_>,
    ) -> Result<(Reading, u64), Failure> {
        timeline.begin_thread(file, &mut out.bytes);
        loop {
            let keeper = Timekeeper::new(trace, file, self.scale);
            let (shown, held) = (Shown::new(self.which), Held::new(self.limits));
            let mut thread = Thread {
                keeper,
                shown,
                held,
                timeline,
                calls: 0,
                is_unwinding: false,
                is_cut: false,
            };
            let mut reading = read_records(file, progress, |place, record| {
                thread.record(&place, record, self.max_calls, out)
            })?;
            if reading.ending != Ending::Stopped {
                thread.asides(Position::before(Offset::new(u64::MAX)), out)?;
            }
            let Thread { keeper, mut held, calls, is_cut, .. } = thread;
            let (open, now) = held.end(keeper.now(), timeline, &mut out.bytes);
            for _ in 0..open {
                if is_cut {
                    timeline.left(Exit { now, thrown: None }, &mut out.bytes);
                } else {
                    timeline.unfinished(now.at, &mut out.bytes);
                }
                out.flush_if_full()?;
            }
            reading.marks = keeper.into_damage();
            let next = loop {
                match timeline.end_thread(now.at, &mut out.bytes) {
                    Next::More => out.flush_if_full()?,
                    next => break next,
                }
            };
            if next == Next::Thread {
                return Ok((reading, calls));
            }
        }
    }
}

/// A thread that is being told.
struct Thread<'a> {
    keeper: Timekeeper,
    shown: Shown<'a>,
    held: Held,
    timeline: &'a mut dyn Timeline,
    /// Those that were told.
    calls: u64,
    /// Whether the last event was an exit by exception: others belong to the same.
    is_unwinding: bool,
    /// Whether frames that are open are cut off, as more is not told.
    is_cut: bool,
}

impl Thread<'_> {
    fn record(
        &mut self,
        place: &Place,
        record: Record,
        max_calls: u64,
        out: &mut Buffer<'_>,
    ) -> Result<Flow, Failure> {
        let offset = Offset::new(place.range.start);
        let position = place.part_end.unwrap_or(Position::before(offset));
        self.asides(position, out)?;
        match record {
            Record::Enter(method) => {
                self.is_unwinding = false;
                let now = self.keeper.call(offset);
                self.is_cut = self.calls >= max_calls || self.held.is_over(now);
                if self.is_cut {
                    return Ok(Flow::Stop);
                }
                if self.shown.enter(method).is_some() {
                    self.calls += self.held.enter(method, now, self.timeline, &mut out.bytes);
                    out.flush_if_full()?;
                }
            }
            // One by one: a run may leave more frames than there is memory for what they make.
            Record::Exit(count) if place.part_end.is_none() && self.keeper.splits(offset) => {
                let mut left = count.get();
                while left > 0 && self.shown.open() > 0 {
                    let position = Position { offset, exits: count.get() - left };
                    self.asides(position, out)?;
                    let now = self.keeper.at(position);
                    for _ in 0..self.shown.exit(NonZeroU64::MIN) {
                        self.exit(now, Some(position), out)?;
                    }
                    left -= 1;
                }
                // What is left of the run leaves nothing that is told.
                if let Some(left) = NonZeroU64::new(left) {
                    self.shown.exit(left);
                }
            }
            Record::Exit(count) => {
                self.is_unwinding = false;
                let (now, event) = match place.part_end {
                    // Whatever happened there is behind the part.
                    Some(end) => (self.keeper.at_end(end), None),
                    None => (self.keeper.at(position), Some(position)),
                };
                for _ in 0..self.shown.exit(count) {
                    self.exit(now, event, out)?;
                }
            }
        }
        Ok(Flow::Continue)
    }

    /// The topmost frame is left, at a position if there is an event.
    fn exit(
        &mut self,
        now: Moment,
        position: Option<Position>,
        out: &mut Buffer<'_>,
    ) -> Result<(), Failure> {
        let thrown = position.and_then(|position| self.keeper.unwound(position));
        if let Some(class) = thrown.filter(|_| !self.is_unwinding && self.held.is_within(now)) {
            self.timeline.instant(Instant::Thrown(class), now.at, &mut out.bytes);
        }
        self.is_unwinding = thrown.is_some();
        let exit = Exit { now, thrown };
        self.calls += self.held.exit(exit, self.timeline, &mut out.bytes);
        out.flush_if_full()
    }

    /// Tells what is known beside the events before a position.
    fn asides(&mut self, position: Position, out: &mut Buffer<'_>) -> Result<(), Failure> {
        while let Some((position, mark)) = self.keeper.aside(position) {
            let now = self.keeper.at(position);
            let what = match &mark {
                Mark::Note(text) => Instant::Note(text),
                Mark::Gap { events } => Instant::Gap(events.map(NonZeroU64::get)),
                Mark::Paused => Instant::Paused,
                Mark::Resumed => Instant::Resumed,
                _ => continue,
            };
            if self.held.is_within(now) {
                self.timeline.instant(what, now.at, &mut out.bytes);
                out.flush_if_full()?;
            }
        }
        Ok(())
    }
}

/// Bytes on their way out.
struct Buffer<'a> {
    bytes: Vec<u8>,
    write: &'a mut dyn FnMut(&[u8]) -> Result<(), Failure>,
}

impl Buffer<'_> {
    fn flush_if_full(&mut self) -> Result<(), Failure> {
        if self.bytes.len() < FULL_BYTES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        (self.write)(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}
