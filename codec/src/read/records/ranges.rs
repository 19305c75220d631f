//! Reads parts of a thread as if nothing else had happened: what is open where a part ends is left there, and
//! exits of frames that were entered before it began are left out.

use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

use super::Tail;
use crate::Offset;
use crate::format::flow::Record;
use crate::format::marks::Position;
use crate::read::Parts;

/// What is read next of some parts.
#[derive(Debug)]
pub(crate) struct PartCursor {
    ranges: Arc<[Range<Position>]>,
    /// The part that is being read, or will be.
    current: usize,
    has_begun: bool,
    /// Frames entered in the part and still open.
    open: u64,
    /// Between two parts, where the first of them ended.
    pub(crate) end: Option<Offset>,
    /// The same, if what was handed on last are the exits of what was open there.
    pub(crate) left_at: Option<Position>,
    /// How the thread ended, once that has been seen.
    pub(crate) tail: Tail,
}

/// What a record of the thread is for a reader of the part.
pub(crate) enum Seen {
    /// This.
    Record(Record),
    /// Nothing.
    Nothing,
    /// It lies behind the part.
    End,
}

impl PartCursor {
    /// Of what lies behind an offset, as if the parts had begun there.
    pub(crate) fn new(parts: &Parts, from: Offset) -> Self {
        let from = Position::before(from);
        let ranges = parts.ranges.iter().filter(|range| range.end > from);
        Self {
            ranges: ranges.map(|range| range.start.max(from)..range.end).collect(),
            current: 0,
            has_begun: false,
            open: 0,
            end: None,
            left_at: None,
            tail: Tail::Complete,
        }
    }

    /// Where a part begins that has not been begun, to be read from there on; `None` within one.
    pub(crate) fn begin(&mut self) -> Option<Offset> {
        let start = self.ranges.get(self.current)?.start.offset;
        if std::mem::replace(&mut self.has_begun, true) {
            return None;
        }
        self.end = None;
        self.left_at = None;
        Some(start)
    }

    /// Whether there is nothing more to read.
    pub(crate) fn is_done(&self) -> bool {
        self.current >= self.ranges.len()
    }

    /// What a record is that begins at `offset`.
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

    /// The part has ended, while records were read up to `position`; answers how many frames are still to be
    /// left there: before what happened behind the part.
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
