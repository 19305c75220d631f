//! Merges the events of a thread with its marks.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::event::{
    EventKind, HandledException, Stamp, TimelineEvent, Visited, WaitEvent, WaitedFor, When,
};
use super::known::Known;
use super::limit::Limit;
use super::placing::Placing;
use super::select::Select;
use super::stages::Stages;
use super::values::Values;
use crate::format::flow::Record;
use crate::format::marks::{Mark, Position};
use crate::format::values::{BegunWait, CallValue, Primitive, Role, Value};
use crate::read::{Events, ReadRecords, Selection, StackSamples, Tail, ThreadFile, TimeLimits};
use crate::{Error, Offset, Result, ThreadId};

impl ThreadFile {
    /// Opens the timeline of the thread, or of the ranges of it that are read.
    ///
    /// # Errors
    /// The events cannot be opened. An error in the marks is [kept](Timeline::into_damage).
    pub fn timeline(&self) -> Result<Timeline<'static>> {
        self.timeline_from(Offset::default())
    }

    /// Opens the timeline from a record on.
    ///
    /// # Errors
    /// As those of [`timeline`](Self::timeline).
    pub fn timeline_from(&self, offset: Offset) -> Result<Timeline<'static>> {
        Ok(Timeline::new(self.events_from(offset)?, Known::open(self, offset)))
    }

    /// Opens the timeline of the events alone, without times and notes.
    ///
    /// # Errors
    /// As those of [`timeline`](Self::timeline).
    #[doc(hidden)]
    pub fn timeline_without_marks(&self) -> Result<Timeline<'static>> {
        Ok(Timeline::new(self.events()?, Known::nothing()))
    }

    /// Opens the timeline of the marks alone, which is all that notes, gaps and pauses need.
    #[must_use]
    pub(crate) fn timeline_of_marks(&self) -> Timeline<'static> {
        Timeline::new(self.no_events(), Known::open(self, Offset::default()))
    }
}

/// The events of a thread with everything known about them, in order.
///
/// Damaged events are an `Err`, after which the events follow that can be read. If the marks are damaged, the
/// rest has no times.
#[derive(Debug)]
pub struct Timeline<'a> {
    pub(super) events: Events,
    pub(super) known: Known,
    /// The record whose events are next.
    pub(super) record: Option<Pending>,
    pub(super) calls: u64,
    pub(super) open: u64,
    pub(super) is_unwinding: bool,
    pub(super) now: When,
    pub(super) progress: Progress,
    /// The samples that are still to be placed, if there are samples.
    pub(super) placing: Option<Placing<'a>>,
    has_lines: bool,
    has_steps: bool,
    has_values: bool,
    has_handlers: bool,
    has_waits: bool,
    /// The wait that began last and has not ended.
    waiting: Option<WaitEvent>,
    /// The values of open calls, if more than events is read: they contain the versions of methods.
    values: Option<Values>,
    /// What follows the first event of a mark with values.
    held: VecDeque<TimelineEvent>,
    pub(super) stages: Stages<'a>,
    /// Events to be returned.
    pub(super) ready: VecDeque<TimelineEvent>,
}

/// A record, and how many of its exits are done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    offset: Offset,
    record: Record,
    /// Where a range of the thread ended, if these are the exits of the frames open there.
    part_end: Option<Position>,
    done: u64,
}

/// How far a thread was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    Reading,
    /// The events cannot be read further; marks can.
    Failed,
    Ended,
    PastEnd,
}

impl<'a> Timeline<'a> {
    fn new(events: Events, known: Known) -> Self {
        Self {
            events,
            known,
            record: None,
            calls: 0,
            open: 0,
            is_unwinding: false,
            now: When::UNKNOWN,
            progress: Progress::Reading,
            placing: None,
            has_lines: false,
            has_steps: false,
            has_values: false,
            has_handlers: false,
            has_waits: false,
            waiting: None,
            values: None,
            held: VecDeque::new(),
            stages: Stages::default(),
            ready: VecDeque::new(),
        }
    }

    /// Adds the samples of the thread.
    #[doc(hidden)]
    #[must_use]
    pub fn with_samples(mut self, samples: &'a StackSamples, thread: ThreadId) -> Self {
        let by_time = self.known.is_from_start();
        self.placing = Some(Placing::new(samples, thread, by_time));
        self
    }

    /// Adds the lines that were reached.
    #[must_use]
    pub fn with_lines(self) -> Self {
        Self { has_lines: true, values: Some(Values::default()), ..self }
    }

    /// Adds the steps of instructions that ran, for [`Executions`](super::Executions).
    #[must_use]
    pub fn with_instructions(self) -> Self {
        Self { has_steps: true, values: Some(Values::default()), ..self }
    }

    /// Adds the values that were recorded.
    #[must_use]
    pub fn with_values(self) -> Self {
        Self { has_values: true, values: Some(Values::default()), ..self }
    }

    /// Adds the exceptions that reached handlers.
    #[must_use]
    pub fn with_handlers(self) -> Self {
        Self { has_handlers: true, values: Some(Values::default()), ..self }
    }

    /// Adds where the thread began to wait, and where it no longer did.
    #[must_use]
    pub fn with_waits(self) -> Self {
        Self { has_waits: true, values: Some(Values::default()), ..self }
    }

    /// Numbers calls from this many on, where the timeline does not begin with the thread.
    #[doc(hidden)]
    #[must_use]
    pub fn counting_from(self, calls: u64) -> Self {
        Self { calls, ..self }
    }

    /// Leaves out calls of methods that are not selected; their callees move up to the nearest caller that
    /// is. Exits of frames entered before recording began are left out too.
    #[must_use]
    pub fn select(self, selection: &'a Selection) -> Self {
        if selection.is_all() { self } else { self.select_outermost(selection, u64::MAX) }
    }

    /// Like [`select`](Self::select); also leaves out calls with `depth` or more selected frames below them.
    #[must_use]
    pub fn select_outermost(mut self, selection: &'a Selection, depth: u64) -> Self {
        self.stages.select = Some(Box::new(Select::new(selection, depth)));
        self
    }

    /// Leaves out events outside the limits, and calls that are too short; calls that begin before the limits
    /// or continue after them are cut there. An event without a known time counts as one at `start_ns`.
    ///
    /// Calls are held back until they are long enough.
    #[doc(hidden)]
    #[must_use]
    pub fn limit(mut self, limits: TimeLimits, start_ns: u64) -> Self {
        let limit = || Box::new(Limit::new(limits, start_ns));
        self.stages.limit = (limits != TimeLimits::NONE).then(limit);
        self
    }

    /// Lets no estimate be earlier than `latest_ns`, the estimate for an earlier event which was read before.
    #[doc(hidden)]
    #[must_use]
    pub fn not_before(mut self, latest_ns: u64) -> Self {
        self.known.begin_at(latest_ns);
        self
    }

    /// Position, time and number of calls of the last event that was read, left out or not. At the end, with
    /// calls still open: the time up to which the thread is known to have run.
    #[doc(hidden)]
    #[must_use]
    pub fn now(&self) -> Stamp {
        let time = self.stages.limit.as_ref().map_or(self.now, |limit| limit.cut(self.now));
        Stamp { position: Position::before(self.offset()), time, calls: self.calls }
    }

    /// Returns whether the timeline ended at the end of its limits, before the end of the thread.
    #[doc(hidden)]
    #[must_use]
    pub fn is_past_end(&self) -> bool {
        self.progress == Progress::PastEnd
    }

    /// How far the events have been read.
    #[must_use]
    pub fn offset(&self) -> Offset {
        self.events.position()
    }

    /// How the events ended, once all are read.
    #[must_use]
    pub fn tail(&self) -> Tail {
        self.events.tail()
    }

    /// The error of the marks, if there was one in those that were read.
    #[must_use]
    pub fn into_damage(self) -> Option<Error> {
        self.known.damage
    }

    /// The next event before anything is left out.
    #[inline]
    fn next_of_all(&mut self) -> Option<Result<TimelineEvent>> {
        match self.next_quiet() {
            Some(mut event) => {
                event.number = self.known.number(event.position, event.count());
                Some(Ok(event))
            }
            None => self.next_by_marks(None).or_else(|| {
                self.end();
                None
            }),
        }
    }

    /// The next event, of a record that may have marks.
    #[inline(never)]
    pub(super) fn next_by_marks(&mut self, limit: Option<&Limit>) -> Option<Result<TimelineEvent>> {
        if let Some(event) = self.next_sample() {
            return Some(Ok(event));
        }
        let pending = match self.record.take() {
            Some(pending) => pending,
            None if self.progress == Progress::Reading => match self.events.next_record() {
                Ok(Some((offset, record))) => {
                    self.calls = self.events.take_calls_before().unwrap_or(self.calls);
                    Pending { offset, record, part_end: self.events.part_end(), done: 0 }
                }
                Ok(None) => return self.next_at_end().map(Ok),
                Err(error) => {
                    if matches!(error, Error::Io { .. }) {
                        self.progress = Progress::Failed;
                    }
                    return Some(Err(error));
                }
            },
            None if self.progress == Progress::Failed => return self.next_at_end().map(Ok),
            None => return None,
        };
        let Pending { offset, record, part_end, done } = pending;
        let position = part_end.unwrap_or(Position { offset, exits: done });
        // A mark at the end of a range may belong to the adjacent range.
        let is_before = |at: Position| at < position || (at == position && part_end.is_none());
        if let Some(event) = self.next_mark(is_before) {
            self.record = Some(pending);
            return Some(Ok(event));
        }
        if let Some(event) = self.sample_before(position) {
            self.record = Some(pending);
            return Some(Ok(event));
        }
        let kind = match (record, part_end) {
            (Record::Enter(method), _) => {
                self.now = self.known.when(position);
                if limit.is_some_and(|limit| limit.is_over(self.now)) {
                    self.progress = Progress::PastEnd;
                    return None;
                }
                self.is_unwinding = false;
                self.open = self.open.saturating_add(1);
                let mut event = self.event(position, EventKind::Enter(method));
                event.number = self.known.number(position, NonZeroU64::MIN);
                self.calls = self.calls.saturating_add(1);
                self.known.record_done(offset);
                return Some(Ok(event));
            }
            (Record::Exit(frames), Some(end)) => {
                self.now = self.known.when_ended(end);
                self.is_unwinding = false;
                self.open = self.open.saturating_sub(frames.get());
                EventKind::RangeEnd { frames }
            }
            (Record::Exit(all), None) => {
                self.now = self.known.when(position);
                let unwound = self.known.unwound(position);
                let was_unwinding = std::mem::replace(&mut self.is_unwinding, unwound.is_some());
                if let Some(unwound) = unwound.as_ref().filter(|_| !was_unwinding && self.open > 0)
                {
                    self.record = Some(pending);
                    return Some(Ok(self.event(position, EventKind::Throw(unwound.clone()))));
                }
                let until = self.known.same_until(position, all.get());
                if until < all.get() {
                    self.record = Some(Pending { done: until, ..pending });
                }
                let count = NonZeroU64::new(until - done).unwrap_or(NonZeroU64::MIN);
                self.open = self.open.saturating_sub(count.get());
                EventKind::Exit { count, unwound }
            }
        };
        if self.record.is_none() {
            self.known.record_done(offset);
        }
        let mut event = self.event(position, kind);
        if part_end.is_none() {
            event.number = self.known.number(position, event.count());
        }
        Some(Ok(event))
    }

    /// Ends the thread. Calls that are open last as long as the thread is known to have run.
    #[cold]
    pub(super) fn end(&mut self) {
        if self.progress == Progress::Reading {
            self.progress = Progress::Ended;
            if self.open > 0 {
                self.now = self.known.when(Position::before(self.events.position()));
            }
        }
    }

    /// The next event that comes from a mark, if it is before an event.
    #[inline]
    fn next_mark(&mut self, is_before: impl Fn(Position) -> bool) -> Option<TimelineEvent> {
        if let Some(held) = self.held.pop_front() {
            return Some(held);
        }
        while self.known.may_have_mark() {
            let (position, mark) = self.known.next_mark(&is_before)?;
            let kind = match mark {
                Mark::Note(text) => EventKind::Note(text),
                Mark::Test(test) => EventKind::Test(test),
                Mark::Gap { events } => EventKind::Gap { events },
                Mark::Line(line) if self.has_lines => EventKind::Line(line),
                Mark::Step(step) if self.has_steps => EventKind::Step(step),
                Mark::Values(pieces) => match self.of_values(position, &pieces) {
                    Some(kind) => kind,
                    None => continue,
                },
                Mark::Paused => EventKind::Pause,
                Mark::Resumed => EventKind::Resume,
                Mark::Stacks { first_ns, last_ns } => {
                    let Some(placing) = &mut self.placing else { continue };
                    placing.place_marked(position, first_ns, last_ns);
                    match self.next_sample() {
                        Some(event) => return Some(event),
                        None => continue,
                    }
                }
                _ => continue,
            };
            if let (EventKind::Gap { .. } | EventKind::Pause, Some(values)) =
                (&kind, &mut self.values)
            {
                values.clear();
            }
            self.now = self.known.when_marked(position);
            return Some(self.event(position, kind));
        }
        None
    }

    /// Returns the first event for a mark with pieces of values, and keeps the others.
    fn of_values(&mut self, position: Position, pieces: &[u8]) -> Option<EventKind> {
        let place = (self.calls, self.open);
        let (version, values) = self.values.as_mut()?.add(pieces, place);
        let mut kinds: Vec<_> = version.map(EventKind::Version).into_iter().collect();
        for value in values {
            if let Role::WaitBegin | Role::WaitEnd = value.role {
                let wait = self.of_wait(&value).filter(|_| self.has_waits);
                kinds.extend(wait.map(EventKind::Wait));
                continue;
            }
            match (value.handled, kinds.last_mut()) {
                (Some(handled), _) if self.has_handlers => {
                    let class = handled.exception.class;
                    let class = class.and_then(|class| self.known.class(class));
                    kinds.push(EventKind::Handled(HandledException::new(
                        *handled,
                        class,
                        value.value,
                    )));
                }
                (Some(_), _) => {}
                (None, _) if !self.has_values => {}
                (None, Some(EventKind::Values(values))) => {
                    values.push(CallValue { handled: None, ..value });
                }
                (None, _) => {
                    kinds.push(EventKind::Values(vec![CallValue { handled: None, ..value }]));
                }
            }
        }
        let mut kinds = kinds.into_iter();
        let first = kinds.next()?;
        if kinds.len() > 0 {
            self.now = self.known.when_marked(position);
            let rest: Vec<_> = kinds.map(|kind| self.event(position, kind)).collect();
            self.held.extend(rest);
        }
        Some(first)
    }

    /// Returns the begin or the end of a wait; `None` for the end of one that began before the events that are read.
    fn of_wait(&mut self, value: &CallValue) -> Option<WaitEvent> {
        let at_ns = match value.value {
            Value::Primitive(Primitive::Long(at_ns)) => at_ns.cast_unsigned(),
            _ => return None,
        };
        Some(match value.wait.as_deref() {
            None => WaitEvent { end_ns: Some(at_ns), ..self.waiting.take()? },
            Some(BegunWait { kind, object, holder }) => {
                let class = object.and_then(|object| object.class);
                let class = class.and_then(|class| self.known.class(class));
                let hash = object.map(|object| object.hash);
                let on = WaitedFor { kind: *kind, class, hash, holder: *holder };
                let begun = WaitEvent { on, begin_ns: at_ns, end_ns: None };
                self.waiting.insert(begun).clone()
            }
        })
    }

    /// The next sample that has been placed.
    #[inline]
    fn next_sample(&mut self) -> Option<TimelineEvent> {
        let (position, sample) = self.placing.as_mut()?.next()?;
        self.now = self.known.when_sampled(sample.at_ns);
        Some(self.event(position, EventKind::Sample(sample)))
    }

    /// The next sample without a mark, if it was taken before the event at a position.
    #[inline]
    fn sample_before(&mut self, position: Position) -> Option<TimelineEvent> {
        let placing = self.placing.as_mut()?;
        // The whole thread is read, so the position is not the end of a part.
        let from_ns = self.known.earliest_ns(position);
        if placing.is_before(from_ns) {
            placing.place_before(position, from_ns);
        }
        self.next_sample()
    }

    /// The next mark or sample after all events.
    fn next_at_end(&mut self) -> Option<TimelineEvent> {
        self.next_mark(|_| true).or_else(|| {
            let position = Position::before(self.events.position());
            let placing = self.placing.as_mut()?;
            if placing.is_before(u64::MAX) {
                placing.place_before(position, u64::MAX);
            }
            self.next_sample()
        })
    }

    #[inline]
    fn event(&self, position: Position, kind: EventKind) -> TimelineEvent {
        TimelineEvent { position, time: self.now, calls: self.calls, number: None, kind }
    }
}

impl Iterator for Timeline<'_> {
    type Item = Result<TimelineEvent>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.stages.is_empty() && self.ready.is_empty() {
            return self.next_of_all();
        }
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            let mut ready = std::mem::take(&mut self.ready);
            let visited = self.visit_staged(&mut ready);
            self.ready = ready;
            match visited {
                Err(error) => return Some(Err(error)),
                Ok(Visited::All) if self.ready.is_empty() => return None,
                Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroU64;

    use super::super::event::Unwound;
    use super::*;
    use crate::format::marks::MarkEncoder;
    use crate::read::{Bounds, Trace};

    fn at(offset: u64, exits: u64) -> Position {
        Position { offset: Offset::new(offset), exits }
    }

    fn thread(events: &[u8], marks: &[(Position, Mark)]) -> (tempfile::TempDir, ThreadFile) {
        let dir = tempfile::tempdir().unwrap();
        let (mut encoder, mut bytes) = (MarkEncoder::with_header(), Vec::new());
        marks.iter().for_each(|(position, mark)| encoder.encode(*position, mark, &mut bytes));
        encoder.finish(&mut bytes);
        fs::write(dir.path().join("thread-1.flow"), events).unwrap();
        fs::write(dir.path().join("thread-1.marks"), bytes).unwrap();
        let file = Trace::open(dir.path()).unwrap().files.remove(0);
        (dir, file)
    }

    fn show(timeline: Timeline<'_>) -> Vec<String> {
        let words = |event: Result<TimelineEvent>| {
            let TimelineEvent { time, kind, .. } = event.unwrap();
            let class = |unwound: &Unwound| unwound.class.as_deref().unwrap_or("?").to_owned();
            let what = match kind {
                EventKind::Enter(method) => format!("enter {method}"),
                EventKind::Exit { count, unwound: None } => format!("exit {count}"),
                EventKind::Exit { count, unwound: Some(by) } => {
                    format!("unwind {count} {}", class(&by))
                }
                EventKind::Throw(by) => format!("throw {}", class(&by)),
                EventKind::RangeEnd { frames } => format!("end {frames}"),
                EventKind::Note(text) => format!("note {text}"),
                kind => format!("{kind:?}"),
            };
            match time.estimate_ns {
                Some(ns) => format!("{what} @{ns}"),
                None => what,
            }
        };
        timeline.map(words).collect()
    }

    fn note(text: &str) -> Mark {
        Mark::Note(text.to_owned())
    }

    #[test]
    fn runs_of_exits_are_split_where_marks_are() {
        let two = NonZeroU64::new(2).unwrap();
        let thrown = Some("x.Oops".to_owned());
        // 0 > 1 > 2 > 3 > 4 > 5, then all are left at once.
        let (_dir, file) = thread(
            &[0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x05],
            &[
                (at(0, 0), note("first")),
                (at(1, 0), Mark::Time { by_ns: 100, from_ns: 100, ran_us: None }),
                (at(6, 1), Mark::Unwound { exits: two, thrown }),
                (at(6, 4), Mark::Time { by_ns: 1000, from_ns: 2000, ran_us: None }),
                (at(6, 5), note("in the run")),
                (at(9, 0), Mark::Paused),
            ],
        );
        let expected = [
            "note first @100",
            "enter 0 @100",
            "enter 1 @550",
            "enter 2 @550",
            "enter 3 @550",
            "enter 4 @550",
            "enter 5 @550",
            "exit 1 @550",
            "throw x.Oops @550",
            "unwind 2 x.Oops @550",
            "exit 1 @550",
            "exit 1 @2000",
            "note in the run @2000",
            "exit 1 @2000",
            "Pause @2000",
        ];
        assert_eq!(show(file.timeline().unwrap()), expected);
        let order = ["enter 0", "enter 1", "enter 2", "enter 3", "enter 4", "enter 5", "exit 6"];
        assert_eq!(show(file.timeline_without_marks().unwrap()), order);
        // From a record on, earlier notes are not repeated.
        assert_eq!(show(file.timeline_from(Offset::new(4)).unwrap()), expected[5..]);
    }

    #[test]
    fn an_instant_is_of_one_exit_only() {
        let instant = |at_ns| Mark::Instant { at_ns };
        let (_dir, file) = thread(
            &[0x80, 0x81, 0x02, 0x82],
            &[(at(0, 0), instant(10)), (at(2, 0), instant(30)), (at(3, 0), instant(90))],
        );
        let exits: Vec<_> = file
            .timeline()
            .unwrap()
            .map(|event| event.unwrap())
            .filter(|event| matches!(event.kind, EventKind::Exit { .. }))
            .map(|event| (event.position.exits, event.time.bounds))
            .collect();
        let bounds = |from_ns, by_ns| Bounds { from_ns, by_ns };
        assert_eq!(exits, [(0, bounds(30, 30)), (1, bounds(30, 90))]);
    }

    #[test]
    fn marks_at_one_place_have_their_times_in_order() {
        let time = |ns| Mark::Time { by_ns: ns, from_ns: ns, ran_us: None };
        let place = [time(10), note("one"), time(90), note("two"), time(95)];
        let marks = [&place.map(|mark| (at(1, 0), mark))[..], &[(at(2, 0), time(100))]].concat();
        let (_dir, file) = thread(&[0x80, 0x00, 0x81], &marks);
        let notes = ["note one @10", "note two @90"];
        let all = ["enter 0 @10", notes[0], notes[1], "exit 1 @97", "enter 1 @100"];
        assert_eq!(show(file.timeline().unwrap()), all);
        assert_eq!(show(file.timeline_of_marks()), notes);
    }

    #[test]
    fn notes_at_the_ends_of_a_range_belong_to_the_adjacent_ranges() {
        let marks =
            [(at(1, 0), note("before")), (at(2, 0), note("inside")), (at(3, 0), note("after"))];
        let (_dir, file) = thread(&[0x80, 0x81, 0x82, 0x83], &marks);
        let part = file.only("", &[at(1, 0)..at(3, 0)]);
        let expected = ["enter 1", "note inside", "enter 2", "end 2"];
        assert_eq!(show(part.timeline().unwrap()), expected);
    }

    /// Samples of thread 1 at these times; those with `false` found that the thread had not run.
    fn samples(dir: &std::path::Path, at: &[(u64, bool)]) -> StackSamples {
        use crate::format::samples::{BatchEncoder, Cause, Found, Sample, SampleClock, Sampling};
        let sampling = Sampling { clock: SampleClock::Wall, interval_ns: 1000 };
        let mut batch = BatchEncoder::new(sampling);
        for (at_ns, ran) in at {
            batch.add(&Sample {
                thread: ThreadId::new(1),
                at_ns: *at_ns,
                intervals: 1,
                ran_us: Some(u64::from(*ran)),
                found: Found::Missed(Cause::NO_ROOM),
            });
        }
        fs::write(dir.join("samples"), batch.finish().unwrap()).unwrap();
        StackSamples::read(&Trace::open(dir).unwrap(), |_| true).unwrap().unwrap()
    }

    #[test]
    fn samples_are_at_their_marks_or_else_where_their_time_is() {
        let time = |ns| Mark::Time { by_ns: ns, from_ns: ns, ran_us: None };
        let stacks = |first_ns, last_ns| Mark::Stacks { first_ns, last_ns };
        let marks = [
            (at(0, 0), time(100)),
            (at(2, 0), stacks(110, 150)),
            (at(2, 1), stacks(500, 500)),
            (at(2, 2), time(1000)),
        ];
        // 0 > 1, then both are left, and another call follows.
        let (dir, file) = thread(&[0x80, 0x81, 0x01, 0x82, 0x00], &marks);
        let taken = [
            (50, true),
            (110, true),
            (150, true),
            (400, false),
            (500, true),
            (700, true),
            (2000, true),
        ];
        let samples = samples(dir.path(), &taken);
        let placed = |timeline: Timeline<'_>| -> Vec<String> {
            timeline
                .map(|event| match event.unwrap() {
                    TimelineEvent { kind: EventKind::Sample(sample), time, .. } => {
                        assert_eq!(time.bounds.from_ns, time.bounds.by_ns);
                        sample.at_ns.to_string()
                    }
                    TimelineEvent { kind: EventKind::Enter(method), .. } => {
                        format!("enter {method}")
                    }
                    _ => "exit".to_owned(),
                })
                .collect()
        };
        let all = [
            // Certainly before the first event.
            "50", "enter 0", "enter 1", "110", "150", "400", "exit", "500", "exit", "700",
            "enter 2", "exit", "2000",
        ];
        let id = ThreadId::new(1);
        assert_eq!(placed(file.timeline().unwrap().with_samples(&samples, id)), all);
        let selection = Selection::all();
        let staged = file.timeline().unwrap().select_outermost(&selection, 9);
        assert_eq!(placed(staged.with_samples(&samples, id)), all);
        // Of a part, only the marks are known.
        let part = file.timeline_from(Offset::new(1)).unwrap().with_samples(&samples, id);
        let expected = ["enter 1", "110", "150", "400", "exit", "500", "exit", "enter 2", "exit"];
        assert_eq!(placed(part), expected);
        assert_eq!(placed(file.timeline().unwrap()).len(), 6);
    }

    #[test]
    fn damage_of_marks_leaves_the_rest_without_times_and_nothing_else() {
        let (dir, file) = thread(&[0x80, 0x81, 0x01], &[(at(0, 0), note("one"))]);
        let path = dir.path().join("thread-1.marks");
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend([0xFF; 9]);
        fs::write(&path, bytes).unwrap();
        let mut timeline = file.timeline().unwrap();
        let seen = timeline.by_ref().filter(|event| event.is_ok()).count();
        assert_eq!((seen, timeline.into_damage().is_some()), (4, true));
    }

    #[test]
    fn waits_are_events_whose_ends_have_their_begins() {
        use crate::ThreadId;
        use crate::format::values::{BegunWait, Identity, Role, Value, waits::WaitKind};
        let object = Some(Identity { class: None, hash: 9 });
        let holder = Some(ThreadId::new(26));
        let lock = BegunWait { kind: WaitKind::Lock, object, holder };
        let sleep = BegunWait { kind: WaitKind::Sleep, object: None, holder: None };
        let argument = CallValue::new(Role::Argument(0), Value::Null);
        let mut bytes = Vec::new();
        // The first end has no begin, and the last begin no end.
        for value in [
            BegunWait::ended(5),
            argument.clone(),
            lock.began(10),
            BegunWait::ended(30),
            sleep.began(40),
        ] {
            value.encode(&mut bytes);
        }
        let (_dir, file) = thread(&[0x81, 0x00], &[(at(1, 0), Mark::Values(bytes))]);
        let kinds = |timeline: Timeline<'_>| -> Vec<EventKind> {
            let kinds = timeline.map(|event| event.unwrap().kind);
            kinds
                .filter(|kind| !matches!(kind, EventKind::Enter(_) | EventKind::Exit { .. }))
                .collect()
        };
        let on = WaitedFor { kind: WaitKind::Lock, class: None, hash: Some(9), holder };
        let begun = WaitEvent { on, begin_ns: 10, end_ns: None };
        let ended = WaitEvent { end_ns: Some(30), ..begun.clone() };
        let on = WaitedFor { kind: WaitKind::Sleep, class: None, hash: None, holder: None };
        let open = WaitEvent { on, begin_ns: 40, end_ns: None };
        let waits = [begun, ended, open].map(EventKind::Wait);
        let timeline = || file.timeline().unwrap();
        assert_eq!(kinds(timeline().with_waits()), waits);
        assert_eq!(kinds(timeline().with_values()), [EventKind::Values(vec![argument])]);
    }

    #[test]
    fn exceptions_that_reached_handlers_are_events_of_their_own() {
        use crate::format::values::{Handled, Identity, Primitive, Role, Value};
        let int = Value::Primitive(Primitive::Int(5));
        let argument = CallValue::new(Role::Argument(0), int.clone());
        let exception = Identity { class: None, hash: 9 };
        let handled = Handled { line: Some(43), exception, created_in: None, created_at: None };
        let handled = CallValue::handled(handled, Value::Null);
        let mut bytes = Vec::new();
        for value in [&argument, &handled, &argument, &handled] {
            value.encode(&mut bytes);
        }
        let (first, rest) = bytes.split_at(9);
        let marks =
            [(at(1, 0), Mark::Values(first.to_vec())), (at(1, 0), Mark::Values(rest.to_vec()))];
        let (_dir, file) = thread(&[0x81, 0x00], &marks);
        let kinds = |timeline: Timeline<'_>| -> Vec<EventKind> {
            let kinds = timeline.map(|event| event.unwrap().kind);
            kinds
                .filter(|kind| !matches!(kind, EventKind::Enter(_) | EventKind::Exit { .. }))
                .collect()
        };
        let values = EventKind::Values(vec![argument]);
        let EventKind::Handled(found) = kinds(file.timeline().unwrap().with_handlers()).remove(0)
        else {
            panic!("an exception")
        };
        assert_eq!((found.line, found.hash, found.class.as_deref()), (Some(43), 9, None));
        let handled = EventKind::Handled(found);
        let both = file.timeline().unwrap().with_values().with_handlers();
        assert_eq!(kinds(both), [&values, &handled, &values, &handled].map(Clone::clone));
        let alone = kinds(file.timeline().unwrap().with_handlers());
        assert_eq!(alone, [&handled, &handled].map(Clone::clone));
        let without = kinds(file.timeline().unwrap().with_values());
        assert_eq!(without, [&values, &values].map(Clone::clone));
        assert_eq!(kinds(file.timeline().unwrap()), []);
    }
}
