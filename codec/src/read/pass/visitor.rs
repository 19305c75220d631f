//! One pass over the records of a thread, as fast as they can be decoded.

use super::limits::TimeLimited;
use super::timed::TimedEvents;
use super::{Clock, TimeLimits};
use crate::read::{Events, Filtered, ReadRecords, Selection, Tail, ThreadFile, Visit};
use crate::{Error, Offset, Result};

/// Passes the records of a thread to a visitor: those of selected calls, and with a [`Clock`] their times.
#[derive(Debug)]
pub struct Pass<'a, V> {
    source: Source<'a>,
    stage: Stage<'a, V>,
}

#[derive(Debug)]
enum Source<'a> {
    Events(Events),
    Timed(Box<TimedEvents<'a>>),
}

/// The filter between the records and the visitor.
#[derive(Debug)]
enum Stage<'a, V> {
    All(&'a mut V),
    Selected(Filtered<'a, &'a mut V>),
    Limited(Box<Filtered<'a, TimeLimited<'a, &'a mut V>>>),
}

impl ThreadFile {
    /// Opens a pass over the calls of selected methods.
    ///
    /// # Errors
    /// The events cannot be opened.
    #[doc(hidden)]
    pub fn pass<'a, V: Visit>(
        &self,
        selection: &'a Selection,
        visitor: &'a mut V,
    ) -> Result<Pass<'a, V>> {
        let source = Source::Events(self.events()?);
        Ok(Pass { source, stage: Stage::new(selection, visitor) })
    }

    /// Opens a pass that sets a clock before each record, over the selected calls that are within limits. An
    /// error in the marks is returned by [`finish`](Pass::finish).
    ///
    /// # Errors
    /// The events cannot be opened.
    #[doc(hidden)]
    pub fn timed_pass<'a, V: Visit>(
        &self,
        selection: &'a Selection,
        limits: TimeLimits,
        clock: &'a Clock,
        visitor: &'a mut V,
    ) -> Result<Pass<'a, V>> {
        let source = Source::Timed(Box::new(TimedEvents::open(self, clock)?));
        let stage = if limits == TimeLimits::NONE {
            Stage::new(selection, visitor)
        } else {
            let limited = TimeLimited::new(visitor, clock, limits);
            Stage::Limited(Box::new(Filtered::new(limited, selection)))
        };
        Ok(Pass { source, stage })
    }
}

impl<'a, V: Visit> Stage<'a, V> {
    fn new(selection: &'a Selection, visitor: &'a mut V) -> Self {
        if selection.is_all() {
            Self::All(visitor)
        } else {
            Self::Selected(Filtered::new(visitor, selection))
        }
    }
}

impl Source<'_> {
    fn visit_some(&mut self, visitor: &mut impl Visit) -> Result<bool> {
        match self {
            Self::Events(events) => events.visit_some(visitor),
            Self::Timed(events) => events.visit_some(visitor),
        }
    }
}

impl<V: Visit> Pass<'_, V> {
    /// Passes some more records to the visitor. Returns whether there may be more.
    ///
    /// # Errors
    /// As those of [`ReadRecords::next_record`]; the records before the error were passed.
    pub fn visit_some(&mut self) -> Result<bool> {
        let Self { source, stage } = self;
        match stage {
            Stage::All(visitor) => source.visit_some(*visitor),
            Stage::Selected(visitor) => source.visit_some(visitor),
            // Nothing after the end of the limits need be read.
            Stage::Limited(visitor) => {
                Ok(source.visit_some(visitor.as_mut())? && !visitor.inner().is_over())
            }
        }
    }

    /// How far the records have been read.
    #[must_use]
    pub fn offset(&self) -> Offset {
        match &self.source {
            Source::Events(events) => events.position(),
            Source::Timed(events) => events.position(),
        }
    }

    /// How the records ended, once all are read.
    #[must_use]
    pub fn tail(&self) -> Tail {
        match &self.source {
            Source::Events(events) => events.tail(),
            Source::Timed(events) => events.tail(),
        }
    }

    /// Returns whether it ended at the end of its limits, before the end of the thread.
    #[must_use]
    pub fn is_past_end(&self) -> bool {
        matches!(&self.stage, Stage::Limited(visitor) if visitor.inner().is_over())
    }

    /// Ends the thread: calls that are still open count up to here. Returns the error of the marks, if there
    /// was one.
    pub fn finish(self) -> Option<Error> {
        if let Stage::Limited(visitor) = self.stage {
            visitor.into_inner().end_thread();
        }
        match self.source {
            Source::Events(_) => None,
            Source::Timed(events) => events.into_damage(),
        }
    }
}
