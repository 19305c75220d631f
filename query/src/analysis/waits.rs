//! What threads waited for, from a recording with `waits=on`.

use std::num::NonZeroU64;
use std::ops::Range;

use flow_codec::format::marks::Position;
use flow_codec::read::{
    EventKind, Methods, Parts, Selection, Stamp, TimelineEvent, Unwound, VisitTimeline, WaitEvent,
    WaitedFor,
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
    /// How many calls of the thread began before the selected one in which it waited; `None` outside of these.
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

/// Finds the waits in the timelines of whole threads, which are read [with waits](flow_codec::read::Timeline::with_waits), and
/// passes each on when it ends. Memory: two words for each open frame.
#[derive(Debug)]
pub struct FindWaits<'a, F> {
    methods: &'a Methods,
    selection: &'a Selection,
    own: Own,
    thread: ThreadId,
    /// Only waits that begin in these ranges are passed on.
    ranges: Vec<Range<Position>>,
    /// Open calls: how many calls of the thread began before each, and their methods.
    open: Vec<(u64, MethodId)>,
    /// The wait that has not ended, and how many calls were open when it began.
    waiting: Option<(FoundWait, usize)>,
    each: F,
}

impl<'a, F: FnMut(FoundWait)> FindWaits<'a, F> {
    /// Passes the waits of a trace to `each`. A wait belongs to the nearest selected call. `own` are patterns for the program's own
    /// classes.
    pub(crate) fn new(
        methods: &'a Methods,
        selection: &'a Selection,
        own: &[String],
        each: F,
    ) -> Self {
        let (thread, own) = (ThreadId::new(0), Own::new(own));
        let (ranges, open, waiting) = (Vec::new(), Vec::new(), None);
        Self { methods, selection, own, thread, ranges, open, waiting, each }
    }

    /// Begins a thread, of which only waits in these ranges count.
    pub(crate) fn begin_thread(&mut self, thread: ThreadId, ranges: Vec<Range<Position>>) {
        (self.thread, self.ranges) = (thread, ranges);
    }

    /// Ends a thread. What it waits for has not ended.
    pub(crate) fn end_thread(&mut self) {
        if let Some((wait, _)) = self.waiting.take() {
            (self.each)(FoundWait { is_open: true, ..wait });
        }
        self.open.clear();
    }

    fn waits(&mut self, WaitEvent { on, begin_ns, end_ns }: WaitEvent, at: Position) {
        if end_ns.is_some() {
            if let Some((wait, _)) = self.waiting.take() {
                (self.each)(FoundWait { end_ns, ..wait });
            }
            return;
        }
        self.lose_end();
        // Where a range begins or ends, the wait is before the first event or after the last one.
        let is_in = |range: &Range<Position>| range.start < at && at < range.end;
        if !self.ranges.iter().any(|range| *range == Parts::ALL || is_in(range)) {
            return;
        }
        let selected = { self.open.iter().rev() }.skip_while(|it| !self.selection.contains(it.1));
        let (call, method) = selected.clone().next().copied().unzip();
        let own = selected.map(|(_, method)| *method);
        let own = { own }.find(|method| self.own.has(*method, self.methods, false));
        let (thread, is_open) = (self.thread, false);
        let wait = FoundWait { thread, on, begin_ns, end_ns: None, is_open, call, method, own };
        self.waiting = Some((wait, self.open.len()));
    }

    /// The end of a wait is missing.
    fn lose_end(&mut self) {
        if let Some((wait, _)) = self.waiting.take() {
            (self.each)(wait);
        }
    }

    /// Returns whether nothing follows that counts.
    fn is_done(&self, at: Position) -> bool {
        self.waiting.is_none() && self.ranges.iter().all(|range| range.end <= at)
    }
}

impl<F: FnMut(FoundWait)> VisitTimeline for FindWaits<'_, F> {
    #[inline]
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        self.open.push((at.calls, method));
        !self.is_done(at.position)
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, _at: Stamp, _unwound: Option<&Unwound>) -> bool {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.open.truncate(self.open.len().saturating_sub(count));
        // `Object.wait` without the monitor has no end: it throws an exception instead.
        if self.waiting.as_ref().is_some_and(|(_, open)| *open > self.open.len()) {
            self.lose_end();
        }
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        match event.kind {
            EventKind::Wait(wait) => self.waits(wait, event.position),
            EventKind::Gap { .. } | EventKind::Pause | EventKind::Resume => {
                self.lose_end();
                self.open.clear();
            }
            _ => {}
        }
        true
    }
}
