//! When single events of a thread happened, without reading its events.

use super::event::{Unwound, When};
use super::known::Known;
use crate::Offset;
use crate::format::marks::Position;
use crate::read::ThreadFile;

/// The times of positions of a thread, from its marks alone: those that its [`Timeline`](super::Timeline) has there.
#[derive(Debug)]
pub struct Moments {
    known: Known,
    /// The position requested last.
    last: Option<Position>,
}

impl ThreadFile {
    /// Opens the times of the thread.
    #[doc(hidden)]
    #[must_use]
    pub fn moments(&self) -> Moments {
        Moments { known: Known::open(self, Offset::default()), last: None }
    }
}

impl Moments {
    /// Returns when the event at a position happened. Positions must be requested in order.
    pub fn when(&mut self, position: Position) -> When {
        // Exits of a run happen at once, at the time of the first one, or of the first one after a time mark.
        let first = Position::before(position.offset);
        if self.last.is_none_or(|last| last < first) {
            self.when_at(first);
        }
        while let Some(mark) = self.known.next_time().filter(|mark| *mark <= position) {
            self.when_at(mark);
        }
        self.when_at(position)
    }

    fn when_at(&mut self, position: Position) -> When {
        while self.known.next_mark(|at| at <= position).is_some() {}
        self.last = Some(position);
        self.known.when(position)
    }

    /// Returns whether the exit at a position was by exception. To be called after [`when`](Self::when), with the same
    /// position.
    #[must_use]
    pub fn unwound(&self, position: Position) -> Option<Unwound> {
        self.known.unwound(position)
    }
}
