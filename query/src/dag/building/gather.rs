//! The shapes of selected calls, or of ranges of a thread, from its timeline.

use std::num::NonZeroU64;

use super::builder::Builder;
use crate::dag::MAX_SIZE;
use crate::dag::shape::kinds::{Break, Outcome};
use crate::dag::shape::of_thread::Dag;
use crate::dag::shape::table::Folded;
use flow_codec::MethodId;
use flow_codec::read::{EventKind, Stamp, TimelineEvent, Unwound, Visit, VisitTimeline};

/// Builds shapes from a [`Timeline`](flow_codec::read::Timeline), in which calls may be left out. It takes longer than
/// [`Dag::open`], which is for all calls of a thread.
#[derive(Debug)]
pub struct Gather {
    builder: Builder<Folded>,
    /// Whether recording is suspended.
    is_paused: bool,
    events: u64,
}

impl Default for Gather {
    fn default() -> Self {
        Self::within(MAX_SIZE)
    }
}

/// How often the size is checked.
const EVENTS_AT_ONCE: u64 = 1 << 16;

impl Gather {
    /// Builds shapes if they fit into this many words, as [`MAX_SIZE`] counts them.
    #[must_use]
    pub(crate) fn within(max_size: usize) -> Self {
        Self { builder: Builder::new(max_size), is_paused: false, events: 0 }
    }

    /// Returns the shapes; `None` if the calls repeat too little.
    #[must_use]
    pub fn finish(self) -> Option<Dag> {
        self.builder.finish().map(|(shapes, roots)| Dag::new(shapes, roots))
    }

    fn may_continue(&mut self) -> bool {
        self.events += 1;
        !self.events.is_multiple_of(EVENTS_AT_ONCE) || !self.builder.is_over()
    }
}

impl VisitTimeline for Gather {
    fn enter(&mut self, method: MethodId, _: Stamp) -> bool {
        self.is_paused = false;
        self.builder.enter(method);
        self.may_continue()
    }

    fn exit(&mut self, count: NonZeroU64, _: Stamp, unwound: Option<&Unwound>) -> bool {
        let outcome = match (unwound, self.is_paused) {
            (Some(_), _) => Outcome::Unwound,
            (None, true) => Outcome::Cut,
            (None, false) => Outcome::Returned,
        };
        self.builder.exit_as(outcome, count.get());
        self.may_continue()
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        match event.kind {
            EventKind::Gap { .. } => self.builder.add_break(Break::Gap),
            EventKind::Pause => {
                self.builder.add_break(Break::Pause);
                self.is_paused = true;
            }
            EventKind::Resume => self.is_paused = false,
            _ => {}
        }
        true
    }
}
