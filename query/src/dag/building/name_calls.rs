//! Names what calls did while they are read, in the memory of the open frames: of a timeline, or of shapes that have names.

use std::num::NonZeroU64;

use crate::dag::shape::kinds::Outcome;
use crate::dag::shape::names::{Behaviour, left};
use flow_codec::format::shape_name::{CallOrder, MethodKey, Named, Namer};
use flow_codec::format::test_marks::LeftOut;
use flow_codec::read::{EventKind, Methods, Stamp, TimelineEvent, Unwound, VisitTimeline};
use flow_codec::{MethodId, MethodMap};

/// Names what a thread, or ranges of it, did.
#[derive(Debug)]
pub struct NameCalls<'a> {
    methods: &'a Methods,
    order: CallOrder,
    keys: MethodMap<Option<Option<MethodKey>>>,
    /// The thread, then the open frames; those after `depth` are kept for further ones.
    frames: Vec<Frame>,
    depth: usize,
    /// Whether recording is suspended.
    is_paused: bool,
}

#[derive(Debug)]
struct Frame {
    /// None of the thread, and of a call that is left out.
    key: Option<MethodKey>,
    namer: Namer,
    calls: u64,
}

impl<'a> NameCalls<'a> {
    /// Names calls of a trace with these methods, in their order or in any.
    #[must_use]
    pub fn of(methods: &'a Methods, order: CallOrder) -> Self {
        let mut named = Self {
            methods,
            order,
            keys: MethodMap::default(),
            frames: Vec::new(),
            depth: 0,
            is_paused: false,
        };
        named.begin(None);
        named
    }

    /// Begins a frame, or the thread.
    fn begin(&mut self, key: Option<MethodKey>) {
        if self.frames.len() == self.depth {
            let namer = Namer::with(self.order);
            self.frames.push(Frame { key: None, namer, calls: 0 });
        }
        if let Some(frame) = self.frames.get_mut(self.depth) {
            (frame.key, frame.calls) = (key, 0);
            frame.namer.begin(key.map_or(Named::Thread, Named::Returned));
        }
        self.depth += 1;
    }

    /// Enters a frame.
    pub(crate) fn enter_frame(&mut self, method: MethodId) {
        let methods = self.methods;
        let key = *self.keys.or_default(method).get_or_insert_with(|| methods.stable_key(method));
        self.begin(key);
    }

    /// Leaves a frame, if one is open.
    fn leave(&mut self, outcome: Outcome) {
        if self.depth < 2 {
            return;
        }
        self.depth -= 1;
        let Some(frame) = self.frames.get_mut(self.depth) else { return };
        let Some(key) = frame.key else { return };
        let name = frame.namer.finish_as(left(outcome, key));
        let calls = frame.calls.saturating_add(1);
        self.add(Behaviour { name, calls }, 1);
    }

    /// Leaves all frames that are open at the end of a range.
    pub(crate) fn end_range(&mut self) {
        while self.depth > 1 {
            self.leave(Outcome::Returned);
        }
    }

    /// Adds consecutive calls.
    pub(crate) fn add(&mut self, behaviour: Behaviour, count: u64) {
        if let Some(frame) = self.frames.get_mut(self.depth - 1) {
            frame.namer.add(behaviour.name, count);
            frame.calls = frame.calls.saturating_add(behaviour.calls.saturating_mul(count));
        }
    }

    fn add_break(&mut self, what: Named) {
        let mut namer = Namer::default();
        namer.begin(what);
        self.add(Behaviour { name: namer.finish(), calls: 0 }, 1);
    }

    /// Returns what was done, and begins anew.
    pub fn take(&mut self) -> Behaviour {
        self.end_range();
        let thread = self.frames.first_mut();
        let behaviour =
            thread.map(|thread| Behaviour { name: thread.namer.finish(), calls: thread.calls });
        (self.depth, self.is_paused) = (0, false);
        self.begin(None);
        behaviour.unwrap_or_default()
    }
}

impl Behaviour {
    /// Returns what a test did whose calls were left out.
    #[must_use]
    pub(crate) fn left_of(left: &LeftOut) -> Self {
        Self { name: left.behaviour, calls: left.counted }
    }

    /// What several threads did together: a test, then the threads that lived only in it.
    #[must_use]
    pub(crate) fn together(self, mut helpers: Vec<Self>) -> Self {
        helpers.retain(|helper| helper.calls > 0);
        if helpers.is_empty() {
            return self;
        }
        // They ran at the same time.
        helpers.sort_unstable();
        let mut namer = Namer::default();
        namer.begin(Named::Threads);
        let mut calls = 0_u64;
        for part in std::iter::once(&self).chain(&helpers) {
            namer.add(part.name, 1);
            calls = calls.saturating_add(part.calls);
        }
        Self { name: namer.finish(), calls }
    }
}

impl VisitTimeline for NameCalls<'_> {
    fn enter(&mut self, method: MethodId, _: Stamp) -> bool {
        self.is_paused = false;
        self.enter_frame(method);
        true
    }

    fn exit(&mut self, count: NonZeroU64, _: Stamp, unwound: Option<&Unwound>) -> bool {
        let outcome = match (unwound, self.is_paused) {
            (Some(_), _) => Outcome::Unwound,
            (None, true) => Outcome::Cut,
            (None, false) => Outcome::Returned,
        };
        let open = self.depth as u64 - 1;
        (0..count.get().min(open)).for_each(|_| self.leave(outcome));
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        match event.kind {
            EventKind::Gap { .. } => self.add_break(Named::Gap),
            EventKind::Pause => {
                self.add_break(Named::Pause);
                self.is_paused = true;
            }
            EventKind::Resume => self.is_paused = false,
            _ => {}
        }
        true
    }
}
