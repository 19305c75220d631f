//! Leaves out calls by their time: those that are too short, and what is outside of a window of time.
//!
//! Calls are held back until they are long enough. Their callers were long enough before, so what is passed on
//! stays in order.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::event::{EventKind, TimelineEvent, When};
use crate::read::TimeLimits;

/// The calls within limits. Memory: the open frames that are held back.
#[derive(Debug)]
pub(super) struct Limit {
    limits: TimeLimits,
    start_ns: u64,
    /// Open frames that were passed on, and the entries of those above that were not.
    passed: u64,
    /// Each has the version of its method, if that is known.
    held: VecDeque<(TimelineEvent, Option<TimelineEvent>)>,
    /// Frames entered after the end, while something from before it is held back.
    later: u64,
}

impl Limit {
    /// Events without a known time count as events at `start_ns`.
    pub(super) fn new(limits: TimeLimits, start_ns: u64) -> Self {
        // Otherwise there would be no instant at all.
        let limits = TimeLimits { to_ns: limits.to_ns.max(limits.from_ns), ..limits };
        Self { limits, start_ns, passed: 0, held: VecDeque::new(), later: 0 }
    }

    /// Returns whether nothing that begins now or later is passed on, and nothing is held back.
    pub(super) fn is_over(&self, now: When) -> bool {
        self.at(now) > self.limits.to_ns && self.held.is_empty()
    }

    /// Passes on an event if it is within the limits, after the entries of calls that have become long enough
    /// by then.
    #[inline]
    pub(super) fn pass(&mut self, event: TimelineEvent, mut to: impl FnMut(TimelineEvent)) {
        let TimeLimits { from_ns, to_ns, .. } = self.limits;
        let now = self.at(event.time);
        match event.kind {
            EventKind::Enter(_) => {
                self.release(now, &mut to);
                if now > to_ns {
                    self.later += 1;
                    return;
                }
                if self.held.is_empty() && self.limits.min_ns == 0 && from_ns <= now {
                    self.passed += 1;
                    to(TimelineEvent { time: self.cut(event.time), ..event });
                    return;
                }
                self.held.push_back((event, None));
                self.release(now, &mut to);
            }
            EventKind::Exit { count, .. } | EventKind::RangeEnd { frames: count } => {
                self.release(now, &mut to);
                let later = count.get().min(self.later);
                self.later -= later;
                let count = count.get() - later;
                let held = usize::try_from(count).unwrap_or(usize::MAX).min(self.held.len());
                self.held.truncate(self.held.len() - held);
                let left = (count - held as u64).min(self.passed);
                self.passed -= left;
                let Some(left) = NonZeroU64::new(left) else { return };
                let kind = match event.kind {
                    EventKind::Exit { unwound, .. } => EventKind::Exit { count: left, unwound },
                    _ => EventKind::RangeEnd { frames: left },
                };
                to(TimelineEvent { time: self.cut(event.time), kind, ..event });
            }
            EventKind::Version(_) => {
                self.release(now, &mut to);
                match self.held.back_mut() {
                    _ if self.later > 0 => {}
                    // What follows is of this version, also if that is known before the call is passed on.
                    Some((_, version)) => *version = Some(event),
                    None if (from_ns..=to_ns).contains(&now) => to(event),
                    None => {}
                }
            }
            EventKind::Line(_)
            | EventKind::Values(_)
            | EventKind::Handled(_)
            | EventKind::Wait(_)
            | EventKind::Step(_) => {
                self.release(now, &mut to);
                if self.held.is_empty() && self.later == 0 && (from_ns..=to_ns).contains(&now) {
                    to(event);
                }
            }
            _ if (from_ns..=to_ns).contains(&now) => to(event),
            _ => {}
        }
    }

    /// Passes on the calls that are long enough at the end, whose time is that of `last`. At the end of the
    /// limits, all calls that are open are left.
    pub(super) fn finish(
        &mut self,
        last: TimelineEvent,
        is_past_end: bool,
        mut to: impl FnMut(TimelineEvent),
    ) {
        self.release(self.at(last.time), &mut to);
        if let Some(frames) = NonZeroU64::new(self.passed).filter(|_| is_past_end) {
            let (time, kind) = (self.cut(last.time), EventKind::RangeEnd { frames });
            to(TimelineEvent { time, kind, ..last });
        }
    }

    /// A time, moved to the nearest limit if it is outside.
    pub(super) fn cut(&self, time: When) -> When {
        let TimeLimits { from_ns, to_ns, .. } = self.limits;
        let mut bounds = time.bounds;
        bounds.from_ns = bounds.from_ns.clamp(from_ns, to_ns);
        bounds.by_ns = bounds.by_ns.clamp(from_ns, to_ns);
        When { bounds, estimate_ns: Some(self.at(time).clamp(from_ns, to_ns)), ..time }
    }

    fn at(&self, time: When) -> u64 {
        time.estimate_ns.unwrap_or(self.start_ns)
    }

    /// Passes on the calls that are long enough by now.
    #[inline]
    fn release(&mut self, now: u64, to: &mut impl FnMut(TimelineEvent)) {
        let TimeLimits { from_ns, min_ns, .. } = self.limits;
        while let Some((entry, _)) = self.held.front() {
            let begin = self.at(entry.time);
            if now < from_ns || now.saturating_sub(begin) < min_ns {
                break;
            }
            let time = self.cut(entry.time);
            let Some((entry, version)) = self.held.pop_front() else { break };
            to(TimelineEvent { time, ..entry });
            if let Some(version) = version {
                to(TimelineEvent { time, ..version });
            }
            self.passed += 1;
        }
    }
}
