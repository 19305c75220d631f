//! Reads ranges of a thread as if nothing else had happened: frames that are open where a range ends are left
//! there, and exits of frames that were entered before it began are left out.

use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

use crate::Offset;
use crate::format::flow::Record;
use crate::format::marks::Position;
use crate::read::{Parts, Tail};

/// The progress of a reader of ranges.
#[derive(Debug)]
pub(crate) struct PartCursor {
    ranges: Arc<[Range<Position>]>,
    /// How many calls began before each range, if that is known.
    calls_before: Vec<Option<u64>>,
    /// How many calls began before the range that has begun, until it is taken.
    pub(crate) calls: Option<u64>,
    /// The range that is being read, or is read next.
    current: usize,
    has_begun: bool,
    /// Frames entered in the range and still open.
    open: u64,
    /// Between two ranges: where the first of them ended.
    pub(crate) end: Option<Offset>,
    /// The same, if the last record passed on was the exits of the frames open there.
    pub(crate) left_at: Option<Position>,
    /// How the thread ended, once that has been read.
    pub(crate) tail: Tail,
}

/// What a record of the thread becomes in a range.
pub(crate) enum Seen {
    /// This record.
    Record(Record),
    /// It is not part of the range.
    Nothing,
    /// It is after the range.
    End,
}

impl PartCursor {
    /// Starts after an offset, as if the ranges had begun there.
    pub(crate) fn new(parts: &Parts, from: Offset) -> Self {
        let from = Position::before(from);
        let calls_before = |number| parts.calls_before.as_ref()?.get(number).copied();
        let ranges = parts.ranges.iter().enumerate().filter(|(_, range)| range.end > from);
        // Of a range that is not read from its beginning, the number is not known.
        let number = |(number, range): (usize, &Range<Position>)| {
            calls_before(number).filter(|_| range.start >= from)
        };
        Self {
            ranges: ranges.clone().map(|(_, range)| range.start.max(from)..range.end).collect(),
            calls_before: ranges.map(number).collect(),
            calls: None,
            current: 0,
            has_begun: false,
            open: 0,
            end: None,
            left_at: None,
            tail: Tail::Complete,
        }
    }

    /// Returns where the next range begins, which is to be read from there on; `None` within a range.
    pub(crate) fn begin(&mut self) -> Option<Offset> {
        let start = self.ranges.get(self.current)?.start.offset;
        if std::mem::replace(&mut self.has_begun, true) {
            return None;
        }
        self.end = None;
        self.left_at = None;
        self.calls = self.calls_before.get(self.current).copied().flatten();
        Some(start)
    }

    /// Returns whether nothing more is to be read.
    pub(crate) fn is_done(&self) -> bool {
        self.current >= self.ranges.len()
    }

    /// Returns what a record that begins at `offset` becomes.
    pub(crate) fn see(&mut self, offset: Offset, record: Record) -> Seen {
        let Some(range) = self.ranges.get(self.current) else { return Seen::End };
        if (Position { offset, exits: 0 }) >= range.end {
            return Seen::End;
        }
        match record {
            Record::Enter(_) => {
                self.open += 1;
                Seen::Record(record)
            }
            Record::Exit(count) => {
                let before = if offset == range.start.offset { range.start.exits } else { 0 };
                let end = if offset == range.end.offset { range.end.exits } else { u64::MAX };
                let inside = count.get().min(end).saturating_sub(before).min(self.open);
                self.open -= inside;
                NonZeroU64::new(inside)
                    .map_or(Seen::Nothing, |count| Seen::Record(Record::Exit(count)))
            }
        }
    }

    /// Ends the range, after records were read up to `position`. Returns how many frames are still to be left
    /// there, before anything that follows the range.
    pub(crate) fn end(&mut self, position: Offset) -> Option<(Offset, Record)> {
        let end = self.ranges.get(self.current)?.end;
        // The thread may have ended before.
        let at = end.offset.min(position);
        self.end = Some(at);
        self.current += 1;
        self.has_begun = false;
        let open = NonZeroU64::new(std::mem::take(&mut self.open))?;
        self.left_at = Some(end);
        Some((at, Record::Exit(open)))
    }
}
