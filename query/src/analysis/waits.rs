//! What threads waited for, from a recording with `waits=on`.

use std::num::NonZeroU64;

use flow_codec::read::{
    EventKind, Methods, Stamp, TimelineEvent, Unwound, VisitTimeline, WaitEvent, WaitedFor,
};
use flow_codec::{MethodId, ThreadId};

use super::operations::Own;

/// A wait of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FoundWait {
    /// The thread that waited.
    pub thread: ThreadId,
    /// What it waited for.
    pub on: WaitedFor,
    /// When the wait began, in nanoseconds since the start of the recording.
    pub begin_ns: u64,
    /// When it ended, if that was recorded.
    pub end_ns: Option<u64>,
    /// Whether it had not ended when the trace did. `false` if the end is missing for another reason.
    pub is_open: bool,
    /// How many calls of the thread began before the one in which it waited; `None` outside of recorded calls.
    pub call: Option<u64>,
    /// The method of this call.
    pub method: Option<MethodId>,
    /// The nearest method of the program's own code that was being called.
    pub own: Option<MethodId>,
}

impl FoundWait {
    /// How long the wait lasted, if its end was recorded.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        self.end_ns.map(|end_ns| end_ns.saturating_sub(self.begin_ns))
    }
}

/// Finds the waits in the timelines of threads, which are read [with waits](flow_codec::read::Timeline::with_waits), and passes
/// each on when it ends. Memory: two words for each open frame.
#[derive(Debug)]
pub struct FindWaits<'a, F> {
    methods: &'a Methods,
    own: Own,
    thread: ThreadId,
    /// Open calls: how many calls of the thread began before each, and their methods.
    open: Vec<(u64, MethodId)>,
    waiting: Option<FoundWait>,
    each: F,
}

impl<'a, F: FnMut(FoundWait)> FindWaits<'a, F> {
    /// Passes the waits of a trace to `each`. `own` are patterns for the program's own classes.
    pub fn new(methods: &'a Methods, own: &[String], each: F) -> Self {
        let (open, waiting) = (Vec::new(), None);
        Self { methods, own: Own::new(own), thread: ThreadId::new(0), open, waiting, each }
    }

    /// Begins a thread.
    pub fn begin_thread(&mut self, thread: ThreadId) {
        self.thread = thread;
    }

    /// Ends a thread. What it waits for has not ended.
    pub fn end_thread(&mut self) {
        if let Some(wait) = self.waiting.take() {
            (self.each)(FoundWait { is_open: true, ..wait });
        }
        self.open.clear();
    }

    fn waits(&mut self, WaitEvent { on, begin_ns, end_ns }: WaitEvent) {
        if end_ns.is_some() {
            if let Some(wait) = self.waiting.take() {
                (self.each)(FoundWait { end_ns, ..wait });
            }
            return;
        }
        self.lose_end();
        let own = self.open.iter().rev().map(|(_, method)| *method);
        let own = { own }.find(|method| self.own.has(*method, self.methods, false));
        let (call, method) = self.open.last().copied().unzip();
        let thread = self.thread;
        let is_open = false;
        self.waiting =
            Some(FoundWait { thread, on, begin_ns, end_ns: None, is_open, call, method, own });
    }

    /// The end of a wait is missing.
    fn lose_end(&mut self) {
        self.waiting.take().into_iter().for_each(&mut self.each);
    }
}

impl<F: FnMut(FoundWait)> VisitTimeline for FindWaits<'_, F> {
    #[inline]
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        self.open.push((at.calls, method));
        true
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, _at: Stamp, _unwound: Option<&Unwound>) -> bool {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.open.truncate(self.open.len().saturating_sub(count));
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        match event.kind {
            EventKind::Wait(wait) => self.waits(wait),
            EventKind::Gap { .. } | EventKind::Pause | EventKind::Resume => {
                self.lose_end();
                self.open.clear();
            }
            _ => {}
        }
        true
    }
}
