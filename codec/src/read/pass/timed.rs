//! The records of a thread with the time.

use std::num::NonZeroU64;

use super::clock::Clocked;
use crate::format::flow::Record;
use crate::format::marks::Position;
use crate::read::{
    Clock, Events, MarksInput, ReadRecords, Tail, ThreadFile, TimeInterval, Times, Visit,
};
use crate::{Error, Offset, Result};

/// The records of a thread, handed on while a [`Clock`] tells when they happened: from one time mark to the
/// next as fast as without. Marks that are damaged leave the rest of the thread without times, and nothing
/// else.
#[derive(Debug)]
pub(crate) struct TimedEvents<'c> {
    events: Events,
    /// `None` where there are no marks.
    times: Option<Times<MarksInput>>,
    clock: &'c Clock,
    /// A run of exits that a mark stands in: how many were handed on, and how many there are.
    run: Option<(Offset, u64, u64)>,
    /// Whether not all of the thread is read.
    in_parts: bool,
    /// How far the interval reaches that has begun, if one has.
    interval_end: Option<Option<Position>>,
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
        Ok(Self { events, times, clock, run: None, in_parts, interval_end: None, damage })
    }

    /// Hands on some further records, and answers whether there may be more.
    ///
    /// # Errors
    /// As those of [`ReadRecords::next_record`]; the records before were handed on.
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
        let mut visitor = Clocked { clock: self.clock, inner: visitor };
        match (self.run, end) {
            (Some((offset, done, all)), end) => {
                let until = end.filter(|end| end.offset == offset).map_or(all, |end| end.exits);
                let until = until.min(all);
                if let Some(count) = NonZeroU64::new(until - done) {
                    visitor.exit(count);
                }
                self.run = (until < all).then_some((offset, until, all));
                Ok(true)
            }
            (None, None) => self.events.visit_some(&mut visitor),
            (None, Some(end)) if offset < end.offset => {
                self.events.visit_until(end.offset, &mut visitor)
            }
            // The mark stands in a run of exits: or that is what it says.
            (None, Some(_)) => match self.events.next_record()? {
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

    /// Hands on the next record of a part: where that begins and ends, time does not go evenly.
    fn visit_one(&mut self, visitor: &mut impl Visit) -> Result<bool> {
        match (self.events.next_record()?, self.events.part_end()) {
            (Some((offset, Record::Enter(method))), _) => {
                self.begin_interval(|times| times.interval(Position::before(offset)));
                Clocked { clock: self.clock, inner: visitor }.enter(method);
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

    /// Sets the clock. Answers up to where it then goes evenly.
    fn begin_interval(
        &mut self,
        interval: impl Fn(&mut Times<MarksInput>) -> Result<TimeInterval>,
    ) -> Option<Position> {
        let times = self.times.as_mut()?;
        loop {
            match interval(times) {
                Ok(interval) => {
                    let end = times.until();
                    let continues = self.interval_end.replace(end) == Some(end);
                    if continues && interval.bounds == self.clock.bounds() {
                        self.clock.extend(interval);
                    } else {
                        self.clock.begin(interval);
                    }
                    return end;
                }
                // It goes on with what was read before.
                Err(error) => self.damage = Some(error),
            }
        }
    }

    /// What is wrong with the marks, if anything is.
    #[must_use]
    pub(crate) fn into_damage(self) -> Option<Error> {
        self.damage
    }

    /// How far the records have been read.
    #[must_use]
    pub(crate) fn position(&self) -> Offset {
        self.events.position()
    }

    /// How they ended.
    #[must_use]
    pub(crate) fn tail(&self) -> Tail {
        self.events.tail()
    }
}
