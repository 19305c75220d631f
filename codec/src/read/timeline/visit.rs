//! HOT: the events of a timeline passed to a visitor.
//!
//! Nearly all records have no mark. They have the time of the records before, so reading them takes
//! little more time than decoding them.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use super::event::{EventKind, Stamp, TimelineEvent, Unwound, VisitTimeline, Visited, When};
use super::merge::{Progress, Timeline};
use super::stages::{Sink, Staged, Visiting};
use crate::format::flow::Record;
use crate::format::marks::Position;
use crate::read::Pace;
use crate::read::ReadRecords;
use crate::{MethodId, Offset, Result};

/// How many events are passed at once where there may be marks.
const AT_ONCE: usize = 1 << 12;

impl Timeline<'_> {
    /// Passes the remaining events to a visitor, until it stops. Damage is skipped.
    #[doc(hidden)]
    pub fn visit(&mut self, visitor: &mut impl VisitTimeline) {
        while matches!(self.visit_some(visitor), Ok(Visited::Some) | Err(_)) {}
    }

    /// Passes some more events to a visitor, several times as fast as one by one.
    ///
    /// # Errors
    /// The events are damaged. The events before were passed, and more may follow.
    #[doc(hidden)]
    pub fn visit_some(&mut self, visitor: &mut impl VisitTimeline) -> Result<Visited> {
        self.known.forget_number();
        if self.stages.is_empty() && self.ready.is_empty() && !self.visit_quiet(visitor) {
            return Ok(Visited::Stopped);
        }
        let mut sink = Visiting { visitor, continues: true };
        while sink.continues
            && let Some(event) = self.ready.pop_front()
        {
            sink.put(event);
        }
        if sink.continues { self.visit_staged(&mut sink) } else { Ok(Visited::Stopped) }
    }

    /// Passes some more events through the stages.
    pub(super) fn visit_staged(&mut self, sink: &mut impl Sink) -> Result<Visited> {
        self.known.forget_number();
        let mut staged = Staged { stages: std::mem::take(&mut self.stages), sink };
        let visited = self.visit_stages(&mut staged);
        self.stages = staged.stages;
        visited
    }

    fn visit_stages<S: Sink>(&mut self, staged: &mut Staged<'_, '_, S>) -> Result<Visited> {
        if !self.visit_quiet(staged) && self.progress != Progress::PastEnd {
            return Ok(Visited::Stopped);
        }
        for _ in 0..AT_ONCE {
            let Some(event) = self.next_by_marks(staged.stages.limit.as_deref()) else {
                self.end();
                if let Some(mut limit) = staged.stages.limit.take() {
                    let Stamp { position, time, calls } = self.now();
                    let kind = EventKind::Pause;
                    let last = TimelineEvent { position, time, calls, number: None, kind };
                    let is_past_end = self.progress == Progress::PastEnd;
                    limit.finish(last, is_past_end, |event| staged.sink.put(event));
                    self.now = limit.cut(time);
                }
                let continues = staged.sink.continues();
                return Ok(if continues { Visited::All } else { Visited::Stopped });
            };
            if !staged.put(event?) {
                return Ok(Visited::Stopped);
            }
            if self.is_quiet() {
                break;
            }
        }
        Ok(Visited::Some)
    }

    /// Passes the next records, up to the first that may have a mark. Returns whether to continue.
    fn visit_quiet<V: VisitTimeline>(&mut self, visitor: &mut V) -> bool {
        if self.record.is_some() || self.progress != Progress::Reading {
            return true;
        }
        let pace = self.known.pace();
        // A sample comes first.
        if self.placing.is_some_and(|placing| placing.is_due_before(pace.bounds.from_ns)) {
            return true;
        }
        if !visitor.skips_instant() {
            return self.visit_at_hand(pace, visitor);
        }
        let mut outer = Outer { inner: visitor, entered: Vec::new() };
        let continues = self.visit_at_hand(pace, &mut outer);
        let Outer { inner, entered } = outer;
        let mut entered = entered.into_iter();
        continues
            && entered.all(|(method, offset, calls)| {
                let (position, time) = (Position::before(offset), pace.when());
                inner.enter(method, Stamp { position, time, calls })
            })
    }

    /// Passes the records in memory for which a pace holds.
    // A function of its own, because inlined into another one it runs out of registers.
    #[inline(never)]
    fn visit_at_hand<V: VisitTimeline>(&mut self, pace: Pace, visitor: &mut V) -> bool {
        let Some(mut records) = self.events.at_hand(pace.until) else { return true };
        let (mut calls, mut open, mut continues) = (self.calls, self.open, true);
        let (mut is_any, time) = (false, pace.when());
        while continues && let Some((offset, record)) = records.next() {
            is_any = true;
            let at = Stamp { position: Position::before(offset), time, calls };
            continues = match record {
                Record::Enter(_) if visitor.is_over(time) => {
                    self.progress = Progress::PastEnd;
                    false
                }
                Record::Enter(method) => {
                    (calls, open) = (calls.saturating_add(1), open.saturating_add(1));
                    visitor.enter(method, at)
                }
                Record::Exit(count) => {
                    open = open.saturating_sub(count.get());
                    visitor.exit(count, at, None)
                }
            };
        }
        if !is_any {
            return true;
        }
        let next = records.next_offset();
        self.events.pass(next);
        (self.calls, self.open, self.is_unwinding) = (calls, open, false);
        self.now = time;
        self.now.estimate_ns.into_iter().for_each(|ns| self.known.begin_at(ns));
        self.now.cpu_ns.into_iter().for_each(|ns| self.known.begin_cpu_at(ns));
        continues
    }

    /// Returns whether the next record has no mark.
    fn is_quiet(&self) -> bool {
        self.record.is_none() && self.events.position() < self.known.pace().until
    }

    /// The next event, if its record has no mark and is in memory, as nearly all are.
    #[inline]
    pub(super) fn next_quiet(&mut self) -> Option<TimelineEvent> {
        let mut next = Next(None);
        self.visit_quiet(&mut next);
        next.0
    }
}

impl Pace {
    fn when(&self) -> When {
        let Self { bounds, estimate_ns, cpu_ns, .. } = *self;
        When { bounds, estimate_ns, cpu_ns }
    }
}

/// Leaves out calls that begin and end here.
struct Outer<'a, V> {
    inner: &'a mut V,
    /// Open calls that began here: the method, its stamp, and the calls made before.
    entered: Vec<(MethodId, Offset, u64)>,
}

impl<V: VisitTimeline> VisitTimeline for Outer<'_, V> {
    #[inline(always)]
    fn is_over(&self, now: When) -> bool {
        self.inner.is_over(now)
    }

    #[inline(always)]
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        self.entered.push((method, at.position.offset, at.calls));
        true
    }

    #[inline(always)]
    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        let entered = self.entered.len() as u64;
        let left = entered.saturating_sub(count.get());
        self.entered.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        let count = NonZeroU64::new(count.get().saturating_sub(entered));
        count.is_none_or(|count| self.inner.exit(count, at, unwound))
    }
}

/// Takes one event.
struct Next(Option<TimelineEvent>);

impl VisitTimeline for Next {
    #[inline]
    fn enter(&mut self, method: MethodId, Stamp { position, time, calls }: Stamp) -> bool {
        let kind = EventKind::Enter(method);
        self.0 = Some(TimelineEvent { position, time, calls, number: None, kind });
        false
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        let Stamp { position, time, calls } = at;
        let kind = EventKind::Exit { count, unwound: unwound.cloned() };
        self.0 = Some(TimelineEvent { position, time, calls, number: None, kind });
        false
    }
}
