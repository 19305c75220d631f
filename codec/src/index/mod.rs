//! Positions from which a thread's events can be read: how many events came before, and how many frames are
//! open there.
//!
//! An [`Index`] is built in one pass, on several cores if there are any, and can be [stored](Index::store)
//! next to the thread file for the next reader. It is never needed, and never trusted: its sums for an
//! interval are compared with the events whenever the interval is read
//! (`LazyTree` of `flow-query` does that); if they differ, the index is built anew.
//!
//! Memory: 40 bytes for each [`INTERVAL_BYTES`] of the thread file, 0.1 % of it.

mod store;

use std::io;

use crate::Offset;
use crate::parallel::BytesRead;
use crate::read::Content;
use crate::scan::{Damage, Depths, Summary, sweep};

/// About how many bytes of events an interval has. Reading one takes about 10 µs.
pub const INTERVAL_BYTES: usize = 32 * 1024;

/// The events of a smaller thread are read as fast as an index of them is opened.
pub const SMALLEST_INDEXED_BYTES: u64 = 4 << 20;

/// A position between two records of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Place {
    /// Where the next record begins.
    pub offset: Offset,
    /// Entries before it.
    pub enters: u64,
    /// Exits before it.
    pub exits: u64,
    /// Frames open here.
    pub frames: u64,
}

impl Place {
    /// Entries and exits before it.
    #[must_use]
    pub fn events(self) -> u64 {
        self.enters.saturating_add(self.exits)
    }

    /// The position after some records.
    #[must_use]
    pub(crate) fn after(self, records: Summary) -> Self {
        Self {
            offset: Offset::new(self.offset.get().saturating_add(records.bytes)),
            enters: self.enters.saturating_add(records.enters),
            exits: self.exits.saturating_add(records.exits),
            frames: records.frames_after(self.frames),
        }
    }
}

/// Positions in the events of a thread, about every [`INTERVAL_BYTES`], and the sums between them.
#[derive(Clone, Default, Debug)]
pub struct Index {
    intervals: Vec<Interval>,
    end: Place,
    damage: Damage,
    /// About how many bytes further intervals will have.
    interval_bytes: usize,
}

/// An interval: consecutive records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Interval {
    /// Where it begins.
    pub start: Place,
    /// How far the depth falls in it, as if there were infinitely many frames.
    pub fall: u64,
}

impl Interval {
    /// The fewest frames that are open at once in it.
    #[must_use]
    pub fn fewest_frames(&self) -> u64 {
        self.start.frames.saturating_sub(self.fall)
    }
}

impl Index {
    /// An empty index.
    fn empty() -> Self {
        Self::with_intervals_of(INTERVAL_BYTES)
    }

    /// An empty index with intervals of about this many bytes.
    #[doc(hidden)]
    #[must_use]
    pub fn with_intervals_of(interval_bytes: usize) -> Self {
        let (intervals, end, damage) = Default::default();
        Self { intervals, end, damage, interval_bytes }
    }

    /// Adds the whole records before `until` that the index does not cover yet. `progress` counts the bytes
    /// read, for other threads.
    ///
    /// # Errors
    /// The events cannot be read.
    #[doc(hidden)]
    pub fn extend(
        &mut self,
        content: &Content,
        until: Offset,
        progress: &BytesRead,
    ) -> io::Result<()> {
        if until <= self.end.offset {
            return Ok(());
        }
        self.forget_short_end();
        let range = self.end.offset..until;
        let swept = sweep(content, range, self.interval_bytes, Depths::Lowest, progress)?;
        swept.summaries.into_iter().for_each(|records| self.push(records));
        self.damage.append(swept.damage);
        Ok(())
    }

    /// Adds the next interval.
    fn push(&mut self, records: Summary) {
        if records.bytes == 0 {
            return;
        }
        let start = self.end;
        self.intervals.push(Interval { start, fall: records.lowest.unsigned_abs() });
        self.end = start.after(records);
    }

    /// Removes the last interval if it is short, so that a longer one takes its place: a file that is read
    /// repeatedly while it grows would otherwise get many short ones.
    fn forget_short_end(&mut self) {
        let (wanted, end) = (self.interval_bytes as u64, self.end.offset);
        // Damage in it would be found again.
        let last_damage = self.damage.places.last().map(|place| place.start);
        if let Some(last) = self.intervals.pop_if(|last| {
            let start = last.start.offset;
            end.get() - start.get() < wanted && last_damage < Some(start)
        }) {
            self.end = last.start;
        }
    }

    /// The places that were skipped when the events were read; a stored index has none.
    #[must_use]
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    /// The intervals, in order.
    #[must_use]
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Where the last interval ends: after the last whole record.
    #[must_use]
    pub fn end(&self) -> Place {
        self.end
    }

    /// Where an interval ends.
    #[must_use]
    pub fn end_of(&self, interval: usize) -> Place {
        self.intervals.get(interval + 1).map_or(self.end, |next| next.start)
    }

    /// The index of the last interval that begins where `count` is at most `wanted`; 0 if there is none.
    #[must_use]
    pub fn interval_at(&self, count: impl Fn(Place) -> u64, wanted: u64) -> usize {
        let later = self.intervals.partition_point(|interval| count(interval.start) <= wanted);
        later.saturating_sub(1)
    }
}
