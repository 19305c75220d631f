//! The records of a thread with the time.

use std::num::NonZeroU64;

use crate::format::flow::Record;
use crate::format::marks::Position;
use crate::read::{
    Clock, Events, ReadRecords, StoredBytes, Tail, ThreadFile, TimeInterval, Times, Visit,
};
use crate::{Error, Offset, Result};

/// Passes on the records of a thread while a [`Clock`] shows when they happened; between two time marks this
/// is as fast as without a clock. If the marks are damaged, the rest of the thread has no times, and nothing
/// else is lost.
#[derive(Debug)]
pub(crate) struct TimedEvents<'c> {
    events: Events,
    /// `None` if there are no marks.
    times: Option<Times<StoredBytes>>,
    clock: &'c Clock,
    /// A run of exits with a mark inside: how many were passed on, and how many there are.
    run: Option<(Offset, u64, u64)>,
    /// Whether only ranges of the thread are read.
    in_parts: bool,
    /// The current interval.
    interval: TimeInterval,
    damage: Option<Error>,
}

impl<'c> TimedEvents<'c> {
    /// Opens a thread.
    ///
    /// # Errors
    /// Its events cannot be opened.
    pub(crate) fn open(file: &ThreadFile, clock: &'c Clock) -> Result<Self> {
        clock.begin_thread();
        let (marks, damage) = match file.marks() {
            Ok(marks) => (marks, None),
            Err(error) => (None, Some(error)),
        };
        let (events, times) = (file.events()?, marks.map(Times::new));
        let in_parts = file.parts.is_some();
        let interval = TimeInterval::default();
        Ok(Self { events, times, clock, run: None, in_parts, interval, damage })
    }

    /// Passes on some more records. Returns whether there may be more.
    ///
    /// # Errors
    /// As those of [`ReadRecords::next_record`]; the records before the error were passed on.
    pub(crate) fn visit_some(&mut self, visitor: &mut impl Visit) -> Result<bool> {
        if self.in_parts && self.run.is_none() {
            return self.visit_one(visitor);
        }
        let (offset, exits) = match self.run {
            Some((offset, done, _)) => (offset, done),
            None => (self.events.position(), 0),
        };
        let position = Position { offset, exits };
        let end = self.begin_interval(|times| times.interval(position));
        // What follows before the next mark happened at a later time, which is not known.
        let is_instant = self.times.as_ref().is_some_and(|times| times.is_instant(position));
        match (self.run, end) {
            (Some((offset, done, all)), end) => {
                let until = end.filter(|end| end.offset == offset).map_or(all, |end| end.exits);
                let until = until.min(if is_instant { done + 1 } else { all });
                if let Some(count) = NonZeroU64::new(until - done) {
                    visitor.exit(count);
                }
                self.run = (until < all).then_some((offset, until, all));
                Ok(true)
            }
            (None, None) if !is_instant => self.events.visit_some(visitor),
            (None, Some(end)) if offset < end.offset && !is_instant => {
                self.events.visit_until(end.offset, visitor)
            }
            // One event only, or the mark is inside a run of exits, or its position is wrong.
            (None, _) => match self.events.next_record()? {
                Some((offset, Record::Exit(count))) => {
                    self.run = Some((offset, 0, count.get()));
                    Ok(true)
                }
                Some((_, Record::Enter(method))) => {
                    visitor.enter(method);
                    Ok(true)
                }
                None => Ok(false),
            },
        }
    }

    /// Passes on the next record of a range.
    fn visit_one(&mut self, visitor: &mut impl Visit) -> Result<bool> {
        match (self.events.next_record()?, self.events.part_end()) {
            (Some((offset, Record::Enter(method))), _) => {
                self.begin_interval(|times| times.interval(Position::before(offset)));
                visitor.enter(method);
            }
            (Some((_, Record::Exit(count))), Some(end)) => {
                self.begin_interval(|times| times.interval_end(end));
                visitor.exit(count);
            }
            (Some((offset, Record::Exit(count))), None) => {
                self.run = Some((offset, 0, count.get()))
            }
            (None, _) => return Ok(false),
        }
        Ok(true)
    }

    /// Sets the clock. Returns up to where the time holds.
    fn begin_interval(
        &mut self,
        interval: impl Fn(&mut Times<StoredBytes>) -> Result<TimeInterval>,
    ) -> Option<Position> {
        let times = self.times.as_mut()?;
        loop {
            match interval(times) {
                Ok(interval) => {
                    if std::mem::replace(&mut self.interval, interval) != interval {
                        self.clock.begin(interval);
                    }
                    return times.until();
                }
                // It continues with the marks read before.
                Err(error) => self.damage = Some(error),
            }
        }
    }

    /// The error of the marks, if there is one.
    #[must_use]
    pub(crate) fn into_damage(self) -> Option<Error> {
        self.damage
    }

    /// How far the records have been read.
    #[must_use]
    pub(crate) fn position(&self) -> Offset {
        self.events.position()
    }

    /// How the records ended.
    #[must_use]
    pub(crate) fn tail(&self) -> Tail {
        self.events.tail()
    }
}
