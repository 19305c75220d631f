//! What the marks of a thread show about its positions, requested in order. Each mark is decoded once.

use std::num::NonZeroU64;
use std::sync::Arc;

use super::event::{Unwound, When};
use crate::format::flow::Record;
use crate::format::marks::{Mark, Position};
use crate::read::{Bounds, Classes, Events, Pace, Parts, StoredBytes, Times};
use crate::read::{ReadRecords, ThreadFile};
use crate::{Error, MethodId, Offset};

/// What is known about a thread.
#[derive(Debug)]
pub(super) struct Known {
    /// `None` if there are no marks.
    times: Option<Times<StoredBytes>>,
    /// The ranges that are read, if not all.
    parts: Option<Arc<Parts>>,
    /// Marks of earlier records are skipped.
    from: Offset,
    /// The names of classes, and the class of the exits whose mark is next at a position.
    classes: Arc<Classes>,
    thrown: Option<(Position, MethodId)>,
    /// Exits by exception: the first one, how many of its run, and the class.
    unwound: Option<(Position, u64, Unwound)>,
    /// The time of the position requested last, and the time mark since which it holds.
    last: Option<(Offset, Option<Position>, When)>,
    /// How time passes after the last record.
    pace: Pace,
    numbers: Numbers,
    /// The error of the marks.
    pub(super) damage: Option<Error>,
}

/// The sequence numbers of events.
#[derive(Debug, Default)]
struct Numbers {
    /// That of the next event.
    next: Option<u64>,
    /// The last mark, and the number that it has.
    marked: (Position, Option<u64>),
    skipped: Option<Box<Skipped>>,
}

/// Counts events of a thread of which not all is read.
#[derive(Debug)]
struct Skipped {
    whole: ThreadFile,
    reader: Option<Reader>,
    /// The position of the last mark, and how many events were read before it.
    marked: Option<(Position, u64)>,
}

/// Reads a thread from a mark on.
#[derive(Debug)]
struct Reader {
    events: Events,
    next: Option<(Offset, Record)>,
    /// How many events come before `next`.
    count: u64,
}

/// A mark that is further away is opened instead of being reached.
const FAR_BYTES: u64 = 64 << 10;

impl Skipped {
    fn new(file: &ThreadFile) -> Self {
        let mut whole = file.clone();
        whole.parts = None;
        Self { whole, reader: None, marked: None }
    }

    /// The number of events between a mark and a later position; `None` if they cannot be read.
    fn between(&mut self, mark: Position, position: Position) -> Option<u64> {
        let before = match self.marked {
            Some((at, before)) if at == mark => before,
            _ => {
                let is_near = |reader: &Reader| {
                    reader.next.is_some_and(|(next, _)| {
                        (next.get()..next.get() + FAR_BYTES).contains(&mark.offset.get())
                    })
                };
                if !self.reader.as_ref().is_some_and(is_near) {
                    self.reader = Some(Reader::open(&self.whole, mark.offset)?);
                }
                let before = self.reader.as_mut()?.count(mark)?;
                self.marked = Some((mark, before));
                before
            }
        };
        self.reader.as_mut()?.count(position)?.checked_sub(before)
    }
}

impl Reader {
    fn open(file: &ThreadFile, from: Offset) -> Option<Self> {
        let mut events = file.events_from(from).ok()?;
        let next = events.next_record().ok()?;
        Some(Self { events, next, count: 0 })
    }

    /// The number of events from the first mark up to a position.
    fn count(&mut self, position: Position) -> Option<u64> {
        while let Some((_, record)) = self.next.filter(|(next, _)| *next < position.offset) {
            self.count += match record {
                Record::Enter(_) => 1,
                Record::Exit(exits) => exits.get(),
            };
            self.next = self.events.next_record().ok()?;
        }
        self.count.checked_add(position.exits)
    }
}

impl Numbers {
    /// Begins after a mark.
    fn begin(&mut self, position: Position, number: Option<u64>) {
        (self.next, self.marked) = (number, (position, number));
    }

    /// Takes those of some events at a position, which follow each other. Returns the first one.
    #[inline]
    fn take(&mut self, position: Position, events: NonZeroU64) -> Option<u64> {
        let first = match (&mut self.skipped, self.marked) {
            (None, _) => self.next?,
            (Some(skipped), (mark, number)) => {
                number?.checked_add(skipped.between(mark, position)?)?
            }
        };
        self.next = first.checked_add(events.get());
        Some(first)
    }
}

impl Known {
    /// Nothing is known.
    pub(super) fn nothing() -> Self {
        Self {
            times: None,
            parts: None,
            from: Offset::default(),
            classes: Arc::default(),
            thrown: None,
            unwound: None,
            last: None,
            pace: Pace::UNKNOWN,
            numbers: Numbers::default(),
            damage: None,
        }
    }

    /// The name of a class, if it is known.
    pub(super) fn class(&self, class: MethodId) -> Option<Arc<str>> {
        self.classes.get(&class).cloned()
    }

    /// Opens the marks of a thread, from a record on.
    pub(super) fn open(file: &ThreadFile, from: Offset) -> Self {
        let (times, damage) = match file.marks() {
            Ok(marks) => (marks.map(Times::with_others), None),
            Err(error) => (None, Some(error)),
        };
        let pace = if times.is_some() { Pace::NONE } else { Pace::UNKNOWN };
        let (parts, classes) = (file.parts.clone(), Arc::clone(&file.classes));
        let mut known = Self { times, parts, classes, from, pace, ..Self::nothing() };
        known.damage = damage;
        if !known.is_from_start() && known.times.is_some() {
            known.numbers.skipped = Some(Box::new(Skipped::new(file)));
        }
        known
    }

    /// The sequence number of the first of some events at a position, which follow each other. To be called for all events
    /// in order.
    #[inline]
    pub(super) fn number(&mut self, position: Position, events: NonZeroU64) -> Option<u64> {
        self.numbers.take(position, events)
    }

    /// No numbers are known up to the next mark.
    pub(super) fn forget_number(&mut self) {
        (self.numbers.next, self.numbers.marked.1) = (None, None);
    }

    /// Returns whether all of the thread is read, from its start.
    pub(super) fn is_from_start(&self) -> bool {
        let has_all = self.parts.as_ref().is_none_or(|parts| *parts.ranges == [Parts::ALL]);
        has_all && self.from == Offset::default()
    }

    /// The last estimate, if there is one.
    pub(super) fn latest_ns(&self) -> u64 {
        self.times.as_ref().map_or(0, Times::latest_ns)
    }

    /// Makes no later estimate earlier than this one.
    pub(super) fn begin_at(&mut self, latest_ns: u64) {
        self.times.iter_mut().for_each(|times| times.begin_at(latest_ns));
    }

    /// The same for CPU time.
    pub(super) fn begin_cpu_at(&mut self, latest_ns: u64) {
        self.times.iter_mut().for_each(|times| times.begin_cpu_at(latest_ns));
    }

    /// Returns whether there are marks at all.
    #[inline]
    pub(super) fn may_have_mark(&self) -> bool {
        self.times.is_some()
    }

    /// The next mark that is before an event and inside the ranges that are read, except for times and exits
    /// by exception.
    #[inline]
    pub(super) fn next_mark(
        &mut self,
        is_before: impl Fn(Position) -> bool,
    ) -> Option<(Position, Mark)> {
        let times = self.times.as_mut()?;
        loop {
            let next = times.next_other(&is_before).or_else(|error| {
                self.damage = Some(error);
                times.next_other(&is_before)
            });
            let (position, mark) = next.ok().flatten()?;
            match mark {
                Mark::Order { number } => {
                    self.numbers.begin(position, number);
                }
                _ if position.offset < self.from => {}
                Mark::Thrown { class } => self.thrown = Some((position, class)),
                Mark::Unwound { exits, thrown } => {
                    let last = self.unwound.as_ref().and_then(|(.., last)| last.class.as_ref());
                    let known = self.thrown.take().filter(|(of, _)| *of == position);
                    let known = known.and_then(|(_, class)| self.classes.get(&class));
                    let class = known.cloned().or_else(|| {
                        thrown.map(|class| match last {
                            Some(last) if **last == *class => Arc::clone(last),
                            _ => class.into(),
                        })
                    });
                    self.unwound = Some((position, exits.get(), Unwound { class }));
                }
                mark if is_inside(self.parts.as_deref(), position) => {
                    return Some((position, mark));
                }
                _ => {}
            }
        }
    }

    /// Ends the record at `offset`. Finds out up to where no record has a mark.
    #[inline]
    pub(super) fn record_done(&mut self, offset: Offset) {
        if let Some(times) = &self.times {
            self.pace = times.pace(offset).unwrap_or(Pace::NONE);
        }
    }

    /// How time passes at the next records, up to one that may have a mark.
    #[inline]
    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    /// Returns when the event at a position happened. Positions must be requested in order. All exits of a
    /// run up to the next time mark happen at once.
    #[inline]
    pub(super) fn when(&mut self, position: Position) -> When {
        if let Some(when) = self.when_last(position) {
            return when;
        }
        let Some(times) = &mut self.times else { return When::UNKNOWN };
        let (bounds, estimate_ns) = times.when(position, &mut self.damage);
        let when = When { bounds, estimate_ns, cpu_ns: times.cpu() };
        let is_instant = times.is_instant(position);
        self.last = (!is_instant).then(|| (position.offset, times.since(), when));
        when
    }

    /// The same, if the last result still applies.
    #[inline]
    fn when_last(&self, position: Position) -> Option<When> {
        let times = self.times.as_ref()?;
        let (offset, since, when) = self.last?;
        let is_same = (offset, since) == (position.offset, times.since())
            && times.until().is_none_or(|next| position < next);
        is_same.then_some(when)
    }

    /// The position of the next time mark after the position requested last, if there is one.
    pub(super) fn next_time(&self) -> Option<Position> {
        self.times.as_ref()?.until()
    }

    /// Returns when the [mark](Self::next_mark) that was returned last was made, which is at this position.
    pub(super) fn when_marked(&mut self, position: Position) -> When {
        if let Some(when) = self.when_last(position) {
            return when;
        }
        let Some(times) = &mut self.times else { return When::UNKNOWN };
        let (bounds, estimate_ns) = times.when_marked(position);
        // Marks have no callees that could be added up.
        When { bounds, estimate_ns, cpu_ns: None }
    }

    /// The earliest time at which the event at a position can have happened.
    pub(super) fn earliest_ns(&mut self, position: Position) -> u64 {
        let Some(times) = &mut self.times else { return 0 };
        let bounds = times.at(position).or_else(|error| {
            self.damage = Some(error);
            times.at(position)
        });
        bounds.map_or(0, |bounds| bounds.from_ns)
    }

    /// The time of a sample. No later estimate is earlier.
    pub(super) fn when_sampled(&mut self, at_ns: u64) -> When {
        self.last = None;
        let latest_ns = at_ns.max(self.latest_ns());
        self.begin_at(latest_ns);
        let bounds = Bounds { from_ns: at_ns, by_ns: at_ns };
        When { bounds, estimate_ns: Some(latest_ns), cpu_ns: None }
    }

    /// Returns when everything before a position had happened.
    pub(super) fn when_ended(&mut self, position: Position) -> When {
        let Some(times) = &mut self.times else { return When::UNKNOWN };
        self.last = None;
        let (bounds, estimate_ns) = times.when_ended(position, &mut self.damage);
        When { bounds, estimate_ns, cpu_ns: times.cpu_ended(position) }
    }

    /// Returns whether the exit at a position was by exception, once there is no [mark](Self::next_mark)
    /// before it.
    #[inline]
    pub(super) fn unwound(&self, position: Position) -> Option<Unwound> {
        let (first, exits, unwound) = self.unwound.as_ref()?;
        let is_it = first.offset == position.offset
            && position.exits.checked_sub(first.exits).is_some_and(|number| number < *exits);
        is_it.then(|| unwound.clone())
    }

    /// Of a run of `count` exits, how many come before the first one after `position` that differs from the
    /// one there in its time or in another way.
    #[inline]
    pub(super) fn same_until(&self, position: Position, count: u64) -> u64 {
        let Some(times) = &self.times else { return count };
        let unwound = self.unwound.as_ref().map(|(first, exits, _)| Position {
            exits: first.exits.saturating_add(*exits),
            ..*first
        });
        let own = times.is_instant(position);
        let own = own.then(|| Position { exits: position.exits + 1, ..position });
        [own, times.until(), times.other(), unwound]
            .into_iter()
            .flatten()
            .filter(|at| at.offset == position.offset && at.exits > position.exits)
            .fold(count, |until, at| until.min(at.exits))
    }
}

/// A mark at the beginning or end of a range may belong to the adjacent range.
fn is_inside(parts: Option<&Parts>, at: Position) -> bool {
    let Some(parts) = parts else { return true };
    let next = parts.ranges.partition_point(|range| range.end <= at);
    parts.ranges.get(next).is_some_and(|range| range.start < at || *range == Parts::ALL)
}
