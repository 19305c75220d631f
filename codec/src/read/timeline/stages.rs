//! HOT: the stages of a timeline, each of which leaves something out.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::event::{EventKind, Stamp, TimelineEvent, Unwound, VisitTimeline, When};
use super::limit::Limit;
use super::select::Select;
use crate::MethodId;

/// The stages of a timeline.
#[derive(Default, Debug)]
pub(super) struct Stages<'a> {
    pub(super) select: Option<Box<Select<'a>>>,
    pub(super) limit: Option<Box<Limit>>,
}

impl Stages<'_> {
    /// Returns whether nothing is left out.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.select.is_none() && self.limit.is_none()
    }
}

/// Receives what the stages pass on.
pub(super) trait Sink {
    /// An event.
    fn put(&mut self, event: TimelineEvent);
    /// Returns whether to continue.
    fn continues(&self) -> bool;
    /// As that of a [visitor](VisitTimeline::skips_instant).
    fn skips_instant(&self) -> bool;
}

/// Collects the results of one event.
impl Sink for VecDeque<TimelineEvent> {
    fn put(&mut self, event: TimelineEvent) {
        self.push_back(event);
    }

    fn continues(&self) -> bool {
        self.is_empty()
    }

    fn skips_instant(&self) -> bool {
        false
    }
}

/// A visitor as a sink.
pub(super) struct Visiting<'v, V> {
    pub(super) visitor: &'v mut V,
    pub(super) continues: bool,
}

impl<V: VisitTimeline> Sink for Visiting<'_, V> {
    #[inline(always)]
    fn put(&mut self, event: TimelineEvent) {
        self.continues = self.continues && event.visit(self.visitor);
    }

    #[inline(always)]
    fn continues(&self) -> bool {
        self.continues
    }

    fn skips_instant(&self) -> bool {
        self.visitor.skips_instant()
    }
}

/// Stages with a sink at their end.
pub(super) struct Staged<'a, 's, S> {
    pub(super) stages: Stages<'a>,
    pub(super) sink: &'s mut S,
}

impl<S: Sink> Staged<'_, '_, S> {
    /// Passes an event through the stages. Returns whether to continue.
    #[inline(always)]
    pub(super) fn put(&mut self, event: TimelineEvent) -> bool {
        let Self { stages: Stages { select, limit }, sink } = self;
        match (select, limit) {
            (None, None) => sink.put(event),
            (None, Some(limit)) => limit.pass(event, |event| sink.put(event)),
            (Some(select), None) => select.pass(event, |event| sink.put(event)),
            (Some(select), Some(limit)) => {
                select.pass(event, |event| limit.pass(event, |event| sink.put(event)));
            }
        }
        self.sink.continues()
    }
}

impl<S: Sink> VisitTimeline for Staged<'_, '_, S> {
    #[inline(always)]
    fn enter(&mut self, method: MethodId, Stamp { position, time, calls }: Stamp) -> bool {
        let kind = EventKind::Enter(method);
        self.put(TimelineEvent { position, time, calls, number: None, kind })
    }

    #[inline(always)]
    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        let Stamp { position, time, calls } = at;
        let kind = EventKind::Exit { count, unwound: unwound.cloned() };
        self.put(TimelineEvent { position, time, calls, number: None, kind })
    }

    #[inline(always)]
    fn is_over(&self, time: When) -> bool {
        self.stages.limit.as_ref().is_some_and(|limit| limit.is_over(time))
    }

    // Limits need all calls, because whether the window is over depends on the calls that are held back.
    fn skips_instant(&self) -> bool {
        self.stages.limit.is_none() && self.sink.skips_instant()
    }
}
