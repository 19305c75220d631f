//! The events of all threads in one order.
//!
//! With sequence numbers (`order=total`) the order is exact. What has no number, such as a note or an event after a gap,
//! comes directly after the event before it in its thread; results of calls, and accesses to fields and elements, directly before
//! the next one that has a number. Such an access happened between the two, so it [is certain](MergedItem::Event::is_certain) only
//! if no other thread did anything meanwhile. Without numbers, the order follows from times:
//!
//! Within a thread, the order of events is exact. Two events of different threads have a known order only if their
//! bounds do not overlap. The merged order contradicts no known order; where none is known, it keeps the events of a
//! thread together, and [says so](MergedItem::Event::is_certain). It follows a thread until the next event is certainly
//! later than the next event of another one, and continues with the thread whose next event certainly happened
//! first, or may have.
//!
//! ```text
//! thread 1   ├─ a ─┤  ├─ b ─┤                a, b, x, c, y: x is certainly after a, not after b;
//! thread 2            ├─ x ─┤     ├─ y ─┤    c is certainly after both, y not after c
//! thread 1                        ├─ c ─┤
//! ```
//!
//! If events have times of their own, bounds overlap only at exits of methods that made no calls: these have no time. Such
//! an exit comes directly before the next event of its thread that its bounds allow. Instructions come directly after the
//! event before them.
//!
//! Of a trace that grows, the order is read [as far as nothing can change it](Merged::as_far_as), and
//! [continued](Merged::continuing) when the trace has been opened again.
//!
//! Memory: that of the timelines of the threads that are alive at an instant.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::event::{EventKind, TimelineEvent};
use super::merge::Timeline;
use crate::format::instructions::Step;
use crate::format::manifest::{Order, Timing};
use crate::format::marks::Mark;
use crate::format::values::Role;
use crate::read::{Bounds, Tail, ThreadFile, Trace};
use crate::{Error, Offset, Result, ThreadId};

/// The start of a thread is noted when its first event has been recorded, so that event may be this much earlier.
const START_DELAY_NS: u64 = 10_000_000;

/// Up to this many events of a thread are read in advance, to know the number that comes after an access.
const MOST_AHEAD: usize = 256;

/// What a [`Merged`] order yields. Threads are indexes of [`Trace::files`].
#[derive(Debug)]
pub enum MergedItem {
    /// An event.
    Event {
        /// The thread.
        thread: usize,
        /// The event.
        event: TimelineEvent,
        /// Whether all events of other threads that came before it certainly happened before it.
        is_certain: bool,
    },
    /// Events that cannot be read. Those that can be follow.
    Damage {
        /// The thread.
        thread: usize,
        /// What is wrong.
        error: Error,
    },
    /// No events of this thread follow.
    End {
        /// The thread.
        thread: usize,
        /// How its events end.
        tail: Tail,
        /// The error of its marks, if there is one: later times are unknown.
        marks: Option<Error>,
    },
}

impl MergedItem {
    /// The thread.
    #[must_use]
    pub const fn thread(&self) -> usize {
        match self {
            Self::Event { thread, .. } | Self::Damage { thread, .. } | Self::End { thread, .. } => {
                *thread
            }
        }
    }
}

/// The events of a thread, as a [`Merged`] order reads them.
pub trait EventsOfThread: Iterator<Item = Result<TimelineEvent>> {
    /// How the events end, once all are read.
    fn tail(&self) -> Tail;

    /// The error of the marks, if there is one.
    fn into_damage(self: Box<Self>) -> Option<Error>;
}

impl EventsOfThread for Timeline<'_> {
    fn tail(&self) -> Tail {
        Timeline::tail(self)
    }

    fn into_damage(self: Box<Self>) -> Option<Error> {
        Timeline::into_damage(*self)
    }
}

/// Whether the next event of a thread may be returned, in a trace that grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// No event that is recorded later comes before it.
    Due,
    /// An event that is not there yet may come before it.
    NotYet,
    /// The time of the event is not there yet. Events that are not certainly earlier have to wait, too.
    Untimed,
}

/// How far a trace was read in one order.
#[derive(Clone, Default, Debug)]
pub struct MergedState {
    /// The thread that is followed.
    current: Option<ThreadId>,
    latest: [Option<(ThreadId, u64)>; 2],
    unnumbered: BTreeMap<ThreadId, u64>,
    number: u64,
}

/// The events of all threads of a trace in one order. It contradicts no order that is known from times; where none is
/// known, it keeps the events of a thread together, and says so.
#[derive(Debug)]
pub struct Merged<'a> {
    trace: &'a Trace,
    open: Option<Open<'a>>,
    /// The threads that are not open yet, with the earliest time of their events: the next one last.
    waiting: Vec<Waiting>,
    /// The next events of the other threads.
    heads: BinaryHeap<Head<'a>>,
    /// The thread that is followed.
    current: Option<Head<'a>>,
    latest: Latest,
    /// Whether each event has its own time.
    is_exact: bool,
    /// If events have numbers: by when the last event of a thread had happened, where that has none.
    unnumbered: Option<BTreeMap<usize, u64>>,
    /// The greatest number that was returned.
    number: u64,
    /// What comes before further events.
    ready: Vec<MergedItem>,
    /// If the trace grows.
    turns: Option<Turns<'a>>,
    /// The thread to continue with.
    resumed: Option<usize>,
    /// The thread of the last event that was returned.
    last: Option<usize>,
}

type Events<'a> = Box<dyn EventsOfThread + 'a>;

/// Opens the events of a thread.
struct Open<'a>(Box<dyn Fn(&'a ThreadFile, Offset) -> Result<Events<'a>> + 'a>);

impl std::fmt::Debug for Open<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Open")
    }
}

type TurnOf<'a> = Box<dyn Fn(usize, &TimelineEvent) -> Turn + 'a>;

/// Which of the next events of threads may be returned.
struct Turns<'a> {
    of: TurnOf<'a>,
    /// The earliest time of those whose time is not there yet.
    untimed_ns: Option<u64>,
}

impl std::fmt::Debug for Turns<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turns").field("untimed_ns", &self.untimed_ns).finish()
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// The earliest time, or number, of its events.
    start: u64,
    thread: usize,
    from: Offset,
}

/// The next event of a thread. The greatest is the one that must come first.
struct Head<'a> {
    thread: usize,
    event: TimelineEvent,
    /// If events have numbers: that of the event, or else of the one before it, or of the one after a delayed one.
    number: Option<u64>,
    /// The number before the event in its thread.
    since: u64,
    /// Whether it comes directly before the next event that has a number.
    is_delayed: bool,
    /// Whether it ought to, and that event is too far away.
    is_lost: bool,
    timeline: Events<'a>,
    /// Further events that were read.
    ahead: VecDeque<Result<TimelineEvent>>,
    turn: Turn,
}

impl Head<'_> {
    /// Lets an access come directly before the next event of its thread that has a number. One that is read with arguments
    /// becomes an event of its own: these belong to the entry.
    fn delay(&mut self) {
        let EventKind::Values(values) = &mut self.event.kind else { return };
        let is_late = |role: Role| role.is_access() || matches!(role, Role::Result | Role::Message);
        let Some(first) = values.iter().position(|value| is_late(value.role)) else { return };
        let late = values.split_off(first);
        if first > 0 {
            let TimelineEvent { position, time, calls, number, .. } = self.event;
            let kind = EventKind::Values(late);
            self.ahead.push_front(Ok(TimelineEvent { position, time, calls, number, kind }));
            return;
        }
        *values = late;
        let Some(number) = &mut self.number else { return };
        while self.ahead.len() < MOST_AHEAD && !self.ahead.iter().any(is_numbered) {
            let Some(next) = self.timeline.next() else { break };
            self.ahead.push_back(next);
        }
        let next = self.ahead.iter().find(|event| is_numbered(event));
        match next.and_then(|event| event.as_ref().ok()?.number) {
            Some(next) => (*number, self.is_delayed) = (next.max(*number), true),
            // The thread ends.
            None if self.ahead.len() < MOST_AHEAD => (*number, self.is_delayed) = (u64::MAX, true),
            // It is somewhere before a number that is far away.
            None => self.is_lost = true,
        }
    }
}

/// Returns whether an event has a number.
fn is_numbered(event: &Result<TimelineEvent>) -> bool {
    event.as_ref().is_ok_and(|event| event.number.is_some())
}

impl std::fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { thread, event, number, turn, .. } = self;
        let mut shown = f.debug_struct("Head");
        shown.field("thread", thread).field("event", event).field("number", number);
        shown.field("turn", turn).finish_non_exhaustive()
    }
}

impl Head<'_> {
    /// The number; or the latest instant at which the event may have happened, then the estimate.
    fn key(&self) -> (u64, u64, usize) {
        if let Some(number) = self.number {
            return (number, 0, self.thread);
        }
        let by_ns = self.event.time.bounds.by_ns;
        (by_ns, self.event.time.estimate_ns.unwrap_or(by_ns), self.thread)
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Head<'_> {
    /// Up to which time, or number, others may have to come first.
    fn by(&self) -> u64 {
        self.key().0
    }

    /// Returns whether a thread is followed further, though another one has this event. `is_exact` is whether events have
    /// times of their own.
    fn comes_before(&self, other: &Self, is_exact: bool) -> bool {
        let Bounds { from_ns, by_ns } = self.event.time.bounds;
        let is_step = match self.event.kind {
            // Such an item belongs to the event before it.
            EventKind::Step(Step::Operand(..)) | EventKind::Version(_) => return true,
            EventKind::Step(Step::Run(_)) => true,
            _ => false,
        };
        match self.number {
            Some(_) => self.key() <= other.key(),
            // Only an exit without a time: of a method that made no calls. The thread may wait for long after it, so it
            // comes with the next event of the thread. Before that, no other event would have a known place.
            None if is_exact && from_ns < by_ns && !is_step => self.key() <= other.key(),
            // It is not certainly later than the event that must come first.
            None => from_ns <= other.by(),
        }
    }
}

impl Eq for Head<'_> {}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// By when the events that were returned had certainly happened: of the thread for which that is latest, and of the
/// others.
#[derive(Clone, Copy, Default, Debug)]
struct Latest {
    thread: usize,
    by_ns: Option<u64>,
    others_by_ns: Option<u64>,
}

impl Latest {
    fn add(&mut self, thread: usize, by_ns: u64) {
        let by_ns = Some(by_ns);
        if thread == self.thread {
            self.by_ns = self.by_ns.max(by_ns);
        } else if by_ns > self.by_ns {
            *self = Self { thread, by_ns, others_by_ns: self.by_ns };
        } else {
            self.others_by_ns = self.others_by_ns.max(by_ns);
        }
    }

    /// Returns whether the events of other threads certainly happened before this instant of a thread.
    fn is_before(&self, thread: usize, from_ns: u64) -> bool {
        let by_ns = if thread == self.thread { self.others_by_ns } else { self.by_ns };
        by_ns.is_none_or(|by_ns| by_ns < from_ns)
    }
}

impl Trace {
    /// Returns whether the events of all threads have sequence numbers.
    #[doc(hidden)]
    #[must_use]
    pub fn has_numbers(&self) -> bool {
        self.manifest.as_ref().is_some_and(|manifest| manifest.order == Order::Total)
    }

    /// Reads all threads in one order: that of their sequence numbers, or else as far as their times show it.
    #[doc(hidden)]
    #[must_use]
    pub fn merged(&self) -> Merged<'_> {
        self.merged_from((0..self.files.len()).map(|thread| (thread, Offset::default())))
    }

    /// The same for some threads, each given as an index of [`files`](Self::files), from a record on.
    #[doc(hidden)]
    #[must_use]
    pub fn merged_from(&self, threads: impl IntoIterator<Item = (usize, Offset)>) -> Merged<'_> {
        let is_numbered = self.has_numbers();
        let start = |thread: usize| {
            let file = self.files.get(thread)?;
            if is_numbered {
                return first_number(file);
            }
            self.threads.get(file.id)?.start_ns.map(|ns| ns.saturating_sub(START_DELAY_NS))
        };
        let mut waiting: Vec<_> = threads
            .into_iter()
            .map(|(thread, from)| Waiting { start: start(thread).unwrap_or(0), thread, from })
            .collect();
        waiting.sort_by_key(|next| std::cmp::Reverse((next.start, next.thread)));
        Merged {
            trace: self,
            open: None,
            waiting,
            heads: BinaryHeap::new(),
            current: None,
            latest: Latest::default(),
            is_exact: self
                .manifest
                .as_ref()
                .is_some_and(|manifest| manifest.timing == Timing::Exact),
            unnumbered: is_numbered.then(BTreeMap::new),
            number: 0,
            ready: Vec::new(),
            turns: None,
            resumed: None,
            last: None,
        }
    }

    fn index_of(&self, thread: ThreadId) -> Option<usize> {
        self.files.iter().position(|file| file.id == thread)
    }
}

/// The number of the first event of a thread, if it has one.
fn first_number(file: &ThreadFile) -> Option<u64> {
    let mut marks = file.marks().ok()??;
    while let Some((_, mark)) = marks.next_mark().ok()? {
        if let Mark::Order { number } = mark {
            return number;
        }
    }
    None
}

impl<'a> Merged<'a> {
    /// Reads these timelines of the threads, each from an offset on. Call this before the first event is read.
    #[must_use]
    pub fn with_timelines(
        self,
        open: impl Fn(&'a ThreadFile, Offset) -> Result<Timeline<'a>> + 'a,
    ) -> Self {
        self.with_events(move |file, from| Ok(Box::new(open(file, from)?)))
    }

    /// Reads these events of the threads, each from an offset on. Call this before the first event is read.
    #[must_use]
    pub fn with_events(
        self,
        open: impl Fn(&'a ThreadFile, Offset) -> Result<Events<'a>> + 'a,
    ) -> Self {
        Self { open: Some(Open(Box::new(open))), ..self }
    }

    /// Ends before the first event that may not be returned. `turn` gets the next event of a thread, given as an index of
    /// [`Trace::files`]. Call this before the first event is read.
    #[must_use]
    pub fn as_far_as(self, turn: impl Fn(usize, &TimelineEvent) -> Turn + 'a) -> Self {
        Self { turns: Some(Turns { of: Box::new(turn), untimed_ns: None }), ..self }
    }

    /// Continues an order that was read up to here, in the same trace opened again. The threads have to begin after the last event
    /// that was returned. Call this before the first event is read.
    #[must_use]
    pub fn continuing(self, state: &MergedState) -> Self {
        let index = |thread: ThreadId| self.trace.index_of(thread);
        let mut latest = Latest::default();
        for (thread, by_ns) in state.latest.iter().flatten() {
            // A thread that is gone is another one than all that are there.
            latest.add(index(*thread).unwrap_or(usize::MAX), *by_ns);
        }
        let unnumbered = state.unnumbered.iter();
        let unnumbered = unnumbered.filter_map(|(thread, by)| Some((index(*thread)?, *by)));
        let unnumbered = self.unnumbered.is_some().then(|| unnumbered.collect());
        let resumed = state.current.and_then(index);
        Self { latest, unnumbered, number: state.number, resumed, last: resumed, ..self }
    }

    /// How far the order was read.
    #[must_use]
    pub fn state(&self) -> MergedState {
        let id = |thread: usize| self.trace.files.get(thread).map(|file| file.id);
        let Latest { thread, by_ns, others_by_ns } = self.latest;
        // Of the other threads, only one has to be another one.
        let other = self.trace.files.iter().map(|file| file.id).find(|of| Some(*of) != id(thread));
        let unnumbered = self.unnumbered.iter().flatten();
        MergedState {
            current: self.last.and_then(id),
            latest: [id(thread).zip(by_ns), other.zip(others_by_ns)],
            unnumbered: unnumbered.filter_map(|(thread, by)| Some((id(*thread)?, *by))).collect(),
            number: self.number,
        }
    }

    /// The threads of which an event was read and not returned.
    pub fn unreturned(&self) -> impl Iterator<Item = usize> {
        self.heads.iter().chain(&self.current).map(|head| head.thread)
    }

    /// Opens a thread, and reads its first event.
    fn begin(&mut self, Waiting { thread, from, .. }: Waiting) -> Option<Head<'a>> {
        let file = self.trace.files.get(thread)?;
        let timeline = match &self.open {
            Some(Open(open)) => open(file, from),
            None => file.timeline_from(from).map(|timeline| Box::new(timeline) as Events<'_>),
        };
        match timeline {
            Ok(timeline) => {
                let number = self.unnumbered.is_some().then_some(0);
                self.next_of(thread, (number, 0), timeline, VecDeque::new())
            }
            Err(error) => {
                self.ready.push(MergedItem::Damage { thread, error });
                let tail = Tail::Complete;
                self.ready.push(MergedItem::End { thread, tail, marks: None });
                None
            }
        }
    }

    /// The next event of a thread, or else what is said of its end.
    #[inline]
    fn next_of(
        &mut self,
        thread: usize,
        (last, since): (Option<u64>, u64),
        mut timeline: Events<'a>,
        mut ahead: VecDeque<Result<TimelineEvent>>,
    ) -> Option<Head<'a>> {
        loop {
            match ahead.pop_front().or_else(|| timeline.next()) {
                Some(Ok(event)) => {
                    // Whatever the marks contain, numbers never go back.
                    let number = last.map(|last| event.number.map_or(last, |own| own.max(last)));
                    let turn = self.turns.as_mut().map_or(Turn::Due, |of| of.next(thread, &event));
                    let (is_delayed, is_lost) = (false, false);
                    let mut head = Head {
                        thread,
                        event,
                        number,
                        since,
                        is_delayed,
                        is_lost,
                        timeline,
                        ahead,
                        turn,
                    };
                    // Of a trace that grows, what comes later is not there yet.
                    if number.is_some() && self.turns.is_none() {
                        head.delay();
                    }
                    return Some(head);
                }
                Some(Err(error)) => self.ready.push(MergedItem::Damage { thread, error }),
                None => {
                    let tail = timeline.tail();
                    let marks = timeline.into_damage();
                    self.ready.push(MergedItem::End { thread, tail, marks });
                    return None;
                }
            }
        }
    }

    /// Opens the threads that may have begun by this time, or number. Returns whether there were any.
    fn begin_until(&mut self, by: u64) -> bool {
        let mut found = false;
        while let Some(next) = self.waiting.pop_if(|next| next.start <= by) {
            found = true;
            let head = self.begin(next);
            self.heads.extend(head);
        }
        found
    }

    /// The event that comes next, with its thread.
    fn choose(&mut self) -> Option<Head<'a>> {
        if let Some(thread) = self.resumed.take()
            && let Some(at) = self.waiting.iter().position(|next| next.thread == thread)
        {
            let next = self.waiting.remove(at);
            self.current = self.begin(next);
        }
        if self.current.is_none() && self.heads.is_empty() {
            let first = self.waiting.last()?.start;
            self.begin_until(first);
        }
        loop {
            let next = match (self.current.take(), self.heads.peek()) {
                (Some(current), Some(first)) if current.comes_before(first, self.is_exact) => {
                    current
                }
                (Some(current), Some(_)) => {
                    self.heads.push(current);
                    self.heads.pop()?
                }
                (Some(current), None) => current,
                (None, _) => self.heads.pop()?,
            };
            if !self.begin_until(next.by()) {
                return Some(next);
            }
            self.current = Some(next);
        }
    }
}

impl Turns<'_> {
    /// The next event of a thread was read.
    fn next(&mut self, thread: usize, event: &TimelineEvent) -> Turn {
        let turn = (self.of)(thread, event);
        if turn == Turn::Untimed {
            let from_ns = event.time.bounds.from_ns;
            self.untimed_ns = Some(self.untimed_ns.map_or(from_ns, |ns| ns.min(from_ns)));
        }
        turn
    }

    /// Returns whether an event that is the first of all in the order may be returned.
    fn is_due(&self, head: &Head<'_>) -> bool {
        let is_earlier = |ns| head.number.is_some() || head.event.time.bounds.by_ns <= ns;
        head.turn == Turn::Due && self.untimed_ns.is_none_or(is_earlier)
    }
}

impl Merged<'_> {
    /// Records that this event is the next one; of a delayed one with the number before it in its thread. Returns whether all events
    /// of other threads before it certainly happened before it.
    fn place(&mut self, thread: usize, event: &TimelineEvent, delayed: Option<u64>) -> bool {
        let Bounds { from_ns, by_ns } = event.time.bounds;
        let Some(unnumbered) = &mut self.unnumbered else {
            let is_certain = self.latest.is_before(thread, from_ns);
            self.latest.add(thread, by_ns);
            return is_certain;
        };
        unnumbered.retain(|other, by_ns| *other == thread || *by_ns >= from_ns);
        let others = unnumbered.len() - usize::from(unnumbered.contains_key(&thread));
        if let Some(since) = delayed {
            return others == 0 && self.number <= since;
        }
        let is_in_order = event.number.is_none_or(|number| number >= self.number);
        match event.number {
            Some(number) => {
                self.number = number.max(self.number);
                unnumbered.remove(&thread)
            }
            // The arguments of the call that was entered.
            None if matches!(event.kind, EventKind::Values(_)) && self.turns.is_none() => None,
            None => unnumbered.insert(thread, by_ns),
        };
        others == 0 && is_in_order
    }
}

impl Iterator for Merged<'_> {
    type Item = MergedItem;

    fn next(&mut self) -> Option<MergedItem> {
        loop {
            if !self.ready.is_empty() {
                return Some(self.ready.remove(0));
            }
            let Some(head) = self.choose() else {
                if self.ready.is_empty() && self.waiting.is_empty() {
                    return None;
                }
                continue;
            };
            if self.turns.as_ref().is_some_and(|turns| !turns.is_due(&head)) {
                self.current = Some(head);
                // What is wrong before it, and the ends of other threads, are known.
                return if self.ready.is_empty() { None } else { Some(self.ready.remove(0)) };
            }
            let Head { thread, event, number, since, is_delayed, is_lost, timeline, ahead, .. } =
                head;
            self.last = Some(thread);
            let is_certain = self.place(thread, &event, is_delayed.then_some(since)) && !is_lost;
            if is_lost && let Some(unnumbered) = &mut self.unnumbered {
                unnumbered.insert(thread, event.time.bounds.by_ns);
            }
            // A run of exits has as many numbers.
            let last = event.number.map(|number| number + event.count().get() - 1);
            let since = last.map_or(since, |last| last.max(since));
            let next = self.next_of(thread, (number, since), timeline, ahead);
            self.current = next;
            let item = MergedItem::Event { thread, event, is_certain };
            if self.ready.is_empty() {
                return Some(item);
            }
            // Damage and the end of the thread come after this event.
            self.ready.insert(0, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::format::marks::{MarkEncoder, Position};

    fn random(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 40) % below
    }

    /// Writes a thread that calls a method again and again, with time marks between some of its events.
    fn write_thread(dir: &std::path::Path, id: usize, state: &mut u64) {
        let (mut events, mut marks) = (Vec::new(), Vec::new());
        let mut encoder = MarkEncoder::with_header();
        let mut now = random(state, 300);
        for offset in 0..random(state, 30) {
            events.push(if offset % 2 == 0 { 0x81 } else { 0x00 });
            now += random(state, 60);
            let mark = match random(state, 3) {
                0 => Mark::Time { by_ns: now, from_ns: now + random(state, 40), ran_us: None },
                1 => Mark::Instant { at_ns: now },
                _ => continue,
            };
            now += 50;
            encoder.encode(Position { offset: Offset::new(offset), exits: 0 }, &mark, &mut marks);
        }
        encoder.finish(&mut marks);
        fs::write(dir.join(format!("thread-{id}.flow")), events).unwrap();
        fs::write(dir.join(format!("thread-{id}.marks")), marks).unwrap();
        if random(state, 2) == 0 {
            let start = format!(
                "{{\"event\":\"start\",\"id\":{id},\"name\":\"\",\"daemon\":false,\"virtual\":false,\"at_ns\":0}}\n"
            );
            let path = dir.join("threads.jsonl");
            let before = fs::read_to_string(&path).unwrap_or_default();
            fs::write(path, before + &start).unwrap();
        }
    }

    #[test]
    fn the_order_contradicts_no_known_order_and_says_what_is_certain() {
        let mut state = 5;
        for _ in 0..200 {
            let dir = tempfile::tempdir().unwrap();
            let count = 1 + usize::try_from(random(&mut state, 5)).unwrap();
            (1..=count).for_each(|id| write_thread(dir.path(), id, &mut state));
            let trace = Trace::open(dir.path()).unwrap();
            let (mut seen, mut ended): (Vec<(usize, Bounds)>, _) = (Vec::new(), Vec::new());
            let mut of_threads = vec![Vec::new(); trace.files.len()];
            for item in trace.merged() {
                match item {
                    MergedItem::Event { thread, event, is_certain } => {
                        assert!(!ended.contains(&thread));
                        let now = event.time.bounds;
                        let others = || seen.iter().filter(|(other, _)| *other != thread);
                        assert!(others().all(|(_, earlier)| earlier.from_ns <= now.by_ns));
                        let all = others().all(|(_, earlier)| earlier.by_ns < now.from_ns);
                        assert_eq!(is_certain, all, "{seen:?} {now:?}");
                        seen.push((thread, now));
                        of_threads[thread].push(event);
                    }
                    MergedItem::End { thread, tail, marks } => {
                        assert_eq!((tail, marks.is_none()), (Tail::Complete, true));
                        ended.push(thread);
                    }
                    item @ MergedItem::Damage { .. } => panic!("{item:?}"),
                }
            }
            ended.sort_unstable();
            assert_eq!(ended, (0..trace.files.len()).collect::<Vec<_>>());
            for (file, events) in trace.files.iter().zip(of_threads) {
                let alone: Vec<_> = file.timeline().unwrap().map(|event| event.unwrap()).collect();
                assert_eq!(alone, events);
            }
        }
    }

    /// Records some threads, each event of one of them. Returns the trace.
    fn record_numbered(dir: &std::path::Path, state: &mut u64, first: u64, events: u64) -> Trace {
        use crate::format::raw::NUMBER;
        use crate::write::{Base, Canonicalizer, EncodedMarks};
        let mut threads: Vec<_> = (0..1 + random(state, 4))
            .map(|_| (Vec::new(), Canonicalizer::default(), Vec::new(), EncodedMarks::of_file()))
            .collect();
        let mut number = first;
        let mut thread = 0;
        for _ in 0..events {
            // Mostly the same thread; some numbers are missing.
            if random(state, 4) == 0 {
                thread = usize::try_from(random(state, threads.len() as u64)).unwrap();
            }
            let (raw, canonicalizer, out, marks) = &mut threads[thread];
            raw.extend((number << u8::BITS | u64::from(NUMBER)).to_le_bytes());
            raw.push(if random(state, 2) == 0 { 0x81 } else { 0x00 });
            number += 1 + u64::from(random(state, 9) == 0);
            if random(state, 20) == 0 {
                canonicalizer.push_marked(raw, &[], Base::default(), out, marks);
                raw.clear();
            }
        }
        for (id, (raw, mut canonicalizer, mut out, mut marks)) in (1..).zip(threads) {
            canonicalizer.push_marked(&raw, &[], Base::default(), &mut out, &mut marks);
            canonicalizer.finish(&mut out);
            fs::write(dir.join(format!("thread-{id}.flow")), out).unwrap();
            fs::write(dir.join(format!("thread-{id}.marks")), marks.bytes()).unwrap();
        }
        let manifest = r#"{"format_version":1,"tool":"t","engine":"events","event_format":"binary",
            "order":"total","options":{},"pid":1,"host":"h","command":[],
            "jvm":{"name":"","version":"","home":""},"start_unix_ns":0,"end":null}"#;
        fs::write(dir.join("trace.json"), manifest).unwrap();
        Trace::open(dir).unwrap()
    }

    /// The numbers of all events, each with its thread and the position of its record.
    fn numbers(merged: Merged<'_>) -> Vec<(u64, usize, Offset)> {
        let mut all = Vec::new();
        for item in merged {
            if let MergedItem::Event { thread, event, is_certain } = item {
                assert!(is_certain);
                let first = event.number.unwrap();
                let place = (thread, event.position.offset);
                let last = first + event.count().get();
                all.extend((first..last).map(|number| (number, place.0, place.1)));
            }
        }
        all
    }

    #[test]
    fn with_numbers_the_order_is_exact_from_any_place_on() {
        let mut state = 9;
        for round in 0..200 {
            let dir = tempfile::tempdir().unwrap();
            let first = if round % 2 == 0 { 0 } else { (1 << 32) - 100 };
            let trace = record_numbered(dir.path(), &mut state, first, 1 + 3 * round);
            let all = numbers(trace.merged());
            assert_eq!(all.len() as u64, 1 + 3 * round);
            assert!(all.is_sorted_by_key(|(number, ..)| *number));
            // Each thread from one of its records on.
            let starts: Vec<_> = (0..trace.files.len())
                .filter_map(|thread| {
                    let of_thread: Vec<_> = all.iter().filter(|(_, of, _)| *of == thread).collect();
                    let place = random(&mut state, of_thread.len().max(1) as u64);
                    let (.., offset) = of_thread.get(usize::try_from(place).unwrap())?;
                    Some((thread, *offset))
                })
                .collect();
            let rest = numbers(trace.merged_from(starts.iter().copied()));
            let is_in_rest = |(_, thread, offset): &&(u64, usize, Offset)| {
                starts.iter().any(|(of, from)| of == thread && offset >= from)
            };
            assert_eq!(rest, all.iter().filter(is_in_rest).copied().collect::<Vec<_>>());
        }
    }

    #[test]
    fn numbers_are_right_in_ranges_of_a_thread() {
        let mut state = 11;
        let dir = tempfile::tempdir().unwrap();
        let trace = record_numbered(dir.path(), &mut state, 7, 400);
        let all = numbers(trace.merged());
        for (thread, file) in trace.files.iter().enumerate() {
            let records: std::collections::BTreeSet<_> =
                all.iter().filter(|(_, of, _)| *of == thread).map(|(.., offset)| *offset).collect();
            let at: Vec<_> = records.iter().step_by(3).copied().map(Position::before).collect();
            let ranges: Vec<_> = at.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect();
            let part = file.only("", &ranges);
            let found: Vec<_> = part
                .timeline()
                .unwrap()
                .map(|event| event.unwrap())
                .filter(|event| !matches!(event.kind, EventKind::RangeEnd { .. }))
                .map(|event| (event.number.unwrap(), event.position.offset))
                .collect();
            let firsts = |(number, of, offset): &(u64, usize, Offset)| {
                (*of == thread).then_some((*number, *offset))
            };
            let mut expected: Vec<_> = all.iter().filter_map(firsts).collect();
            expected.retain(|(_, at)| {
                let at = Position::before(*at);
                ranges.iter().any(|range| range.contains(&at))
            });
            assert!(found.iter().all(|event| expected.contains(event)), "{found:?} {expected:?}");
            // Exits of frames from before a range are not read.
            assert!(found.len() > expected.len() / 2, "{found:?} {expected:?}");
            let entries = |file: &ThreadFile| -> Vec<(Offset, u64)> {
                let events = file.timeline().unwrap().map(|event| event.unwrap());
                let entries = events.filter(|event| matches!(event.kind, EventKind::Enter(_)));
                entries.map(|event| (event.position.offset, event.calls)).collect()
            };
            let all = entries(file);
            let before = |range: &std::ops::Range<Position>| {
                all.iter().filter(|(at, _)| *at < range.start.offset).count() as u64
            };
            let part = part.numbered(&ranges.iter().map(before).collect::<Vec<_>>());
            let in_part = entries(&part);
            assert!(!in_part.is_empty());
            assert!(in_part.iter().all(|entry| all.contains(entry)), "{in_part:?} {all:?}");
        }
    }

    #[test]
    fn what_has_no_number_makes_only_what_may_overlap_uncertain() {
        let dir = tempfile::tempdir().unwrap();
        record_numbered(dir.path(), &mut 0, 0, 0);
        let write = |id: u64, marks: &[(u64, Mark)]| {
            let mut bytes = Vec::new();
            let mut encoder = MarkEncoder::with_header();
            for (offset, mark) in marks {
                encoder.encode(Position::before(Offset::new(*offset)), mark, &mut bytes);
            }
            fs::write(dir.path().join(format!("thread-{id}.flow")), [0x81, 0x82, 0x83]).unwrap();
            fs::write(dir.path().join(format!("thread-{id}.marks")), bytes).unwrap();
        };
        let order = |number| Mark::Order { number };
        let time = |ns| Mark::Time { by_ns: ns, from_ns: ns, ran_us: None };
        // Of thread 1, the second event has no number.
        write(1, &[(0, order(Some(1))), (1, order(None)), (2, order(Some(6)))]);
        write(2, &[(0, order(Some(0))), (1, order(Some(5))), (2, order(Some(7)))]);
        // This is so late that everything else has happened.
        write(3, &[(0, order(Some(8))), (1, time(10)), (2, time(20))]);
        let trace = Trace::open(dir.path()).unwrap();
        let found: Vec<_> = trace
            .merged()
            .filter_map(|item| match item {
                MergedItem::Event { thread, event, is_certain } => {
                    Some((thread + 1, event.number, is_certain))
                }
                _ => None,
            })
            .collect();
        let expected = [
            (2, Some(0), true),
            (1, Some(1), true),
            (1, None, true),
            (2, Some(5), false),
            (1, Some(6), true),
            (2, Some(7), true),
            (3, Some(8), true),
            (3, Some(9), true),
            (3, Some(10), true),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_thread_that_begins_later_is_opened_when_it_does() {
        let dir = tempfile::tempdir().unwrap();
        let write = |id: u64, times: &[u64]| {
            let (mut events, mut marks) = (Vec::new(), Vec::new());
            let mut encoder = MarkEncoder::with_header();
            for (offset, at_ns) in (0..).zip(times) {
                events.push(0x81);
                let position = Position { offset: Offset::new(offset), exits: 0 };
                encoder.encode(position, &Mark::Instant { at_ns: *at_ns }, &mut marks);
            }
            encoder.finish(&mut marks);
            fs::write(dir.path().join(format!("thread-{id}.flow")), events).unwrap();
            fs::write(dir.path().join(format!("thread-{id}.marks")), marks).unwrap();
        };
        let second = 1_000_000_000;
        write(1, &[1, 2 * second, 4 * second]);
        write(2, &[second, 3 * second]);
        let starts = format!(
            "{{\"event\":\"start\",\"id\":2,\"name\":\"\",\"daemon\":false,\"virtual\":false,\"at_ns\":{}}}\n",
            second + 1_000
        );
        fs::write(dir.path().join("threads.jsonl"), starts).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let mut merged = trace.merged();
        let mut open = Vec::new();
        let mut order = Vec::new();
        while let Some(item) = merged.next() {
            open.push(merged.waiting.is_empty());
            if let MergedItem::Event { thread, is_certain, .. } = item {
                order.push((thread, is_certain));
            }
        }
        assert_eq!(order, [0, 1, 0, 1, 0].map(|thread| (thread, true)));
        assert!(!open[0] && open[1], "{open:?}");
    }

    #[test]
    fn an_exit_without_a_time_leaves_the_order_of_other_events_known() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = r#"{"format_version":1,"tool":"t","engine":"instrument","event_format":"binary",
            "clock":{"kind":"exact"},"options":{},"pid":1,"host":"h","command":[],
            "jvm":{"name":"","version":"","home":""},"start_unix_ns":0,"end":null}"#;
        fs::write(dir.path().join("trace.json"), manifest).unwrap();
        // Of the first thread, the exit of 2 has no time; then it waits.
        type Times<'a> = &'a [(u64, u64, u64)];
        let threads: [(&[u8], Times<'_>); 2] = [
            (
                &[0x81, 0x82, 0x00, 0x83, 0x01],
                &[(0, 0, 10), (1, 0, 20), (3, 0, 90), (4, 0, 95), (4, 1, 96)],
            ),
            (&[0x84, 0x85, 0x01], &[(0, 0, 30), (1, 0, 40), (2, 0, 50), (2, 1, 55)]),
        ];
        for (id, (events, times)) in (1..).zip(threads) {
            let (mut encoder, mut marks) = (MarkEncoder::with_header(), Vec::new());
            for (offset, exits, at_ns) in times {
                let at = Position { offset: Offset::new(*offset), exits: *exits };
                encoder.encode(at, &Mark::Instant { at_ns: *at_ns }, &mut marks);
            }
            encoder.finish(&mut marks);
            fs::write(dir.path().join(format!("thread-{id}.flow")), events).unwrap();
            fs::write(dir.path().join(format!("thread-{id}.marks")), marks).unwrap();
        }
        let trace = Trace::open(dir.path()).unwrap();
        assert_eq!(trace.manifest.as_ref().unwrap().timing, Timing::Exact);
        let mut found = Vec::new();
        for item in trace.merged() {
            if let MergedItem::Event { thread, event, is_certain } = item {
                found.push((thread, event.position.offset.get(), is_certain));
            }
        }
        let expected = [
            (0, 0, true),
            (0, 1, true),
            (1, 0, true),
            (1, 1, true),
            (1, 2, true),
            (1, 2, true),
            (0, 2, false),
            (0, 3, true),
            (0, 4, true),
            (0, 4, true),
        ];
        assert_eq!(found, expected);
    }
}
