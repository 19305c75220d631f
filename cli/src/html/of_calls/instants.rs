//! When the calls of a thread that the page unfolds began and ended: at some of its events, within a budget.
//!
//! Times do not decrease from event to event. So an event happened not before the last point at or before it, and
//! not after the first point at or after it: these bounds hold whatever was left out. In between, events are spread
//! evenly.

use flow_codec::read::{Bounds, When};

/// When an event of a thread happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::html) struct Instant {
    /// The number of events before it: entries, and exits of frames whose entries are known.
    pub(in crate::html) event: u64,
    pub(in crate::html) bounds: Bounds,
    pub(in crate::html) estimate_ns: u64,
}

/// Collects instants of a thread. Without a budget there are none.
#[derive(Default, Debug)]
pub(in crate::html) struct Instants {
    budget: usize,
    kept: Vec<Instant>,
    /// The last event, if it was not kept.
    last: Option<Instant>,
    /// Events that are closer than this to the last one that was kept are left out.
    least_ns: u64,
    events: u64,
}

impl Instants {
    pub(in crate::html) fn with_budget(budget: usize) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Passes consecutive events that happened at the same time.
    #[inline]
    pub(in crate::html) fn pass(&mut self, count: u64, when: When) {
        let event = self.events;
        self.events = event.saturating_add(count);
        let Some(estimate_ns) = when.estimate_ns.filter(|_| self.budget > 0 && count > 0) else {
            return;
        };
        let first = Instant { event, bounds: when.bounds, estimate_ns };
        if self.kept.last().is_none_or(|kept| kept.is_apart(&first, self.least_ns)) {
            self.keep_last();
            self.kept.push(first);
            if self.kept.len() > self.budget {
                self.thin();
            }
        }
        self.last = Some(Instant { event: self.events - 1, ..first });
    }

    /// Returns what was kept.
    pub(in crate::html) fn finish(mut self) -> Vec<Instant> {
        self.keep_last();
        while self.kept.len() > self.budget.max(2) {
            self.thin();
        }
        self.kept
    }

    fn keep_last(&mut self) {
        let kept = self.kept.last().map(|kept| kept.event);
        self.kept.extend(self.last.take().filter(|last| Some(last.event) > kept));
    }

    /// Leaves out every point whose neighbours are close enough to each other.
    fn thin(&mut self) {
        while self.kept.len() > self.budget.max(2) / 2 {
            self.least_ns = (2 * self.least_ns).max(1);
            let mut kept: Vec<Instant> = Vec::with_capacity(self.budget);
            let mut all = self.kept.iter().peekable();
            while let Some(point) = all.next() {
                let is_between = match (kept.last(), all.peek()) {
                    (Some(before), Some(after)) => !before.is_apart(after, self.least_ns),
                    _ => false,
                };
                if !is_between {
                    kept.push(*point);
                }
            }
            self.kept = kept;
        }
    }
}

impl Instant {
    /// Returns whether another one is later, by its estimate or its bounds, by more than this.
    fn is_apart(&self, later: &Self, least_ns: u64) -> bool {
        let is = |one: u64, other: u64| other.saturating_sub(one) > least_ns;
        is(self.estimate_ns, later.estimate_ns)
            || is(self.bounds.from_ns, later.bounds.from_ns)
            || is(self.bounds.by_ns, later.bounds.by_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn when(from_ns: u64, by_ns: u64, estimate_ns: u64) -> When {
        let mut when = When::UNKNOWN;
        (when.bounds, when.estimate_ns) = (Bounds { from_ns, by_ns }, Some(estimate_ns));
        when
    }

    /// Random events, whose times do not decrease.
    fn events(count: u64) -> Vec<(u64, When)> {
        let mut state: u64 = 9;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) % below
        };
        let (mut from, mut by, mut estimate) = (0, 0, 0);
        (0..count)
            .map(|_| {
                if random(5) == 0 {
                    from = by + random(1000);
                    by = from + random(100_000) * random(20);
                }
                estimate = (estimate + random(30)).clamp(from, by);
                (1 + random(4), when(from, by, estimate))
            })
            .collect()
    }

    #[test]
    fn bounds_hold_whatever_is_left_out() {
        for budget in [4, 50, 1000, 100_000] {
            let all = events(20_000);
            let mut instants = Instants::with_budget(budget);
            for (count, when) in &all {
                instants.pass(*count, *when);
            }
            let kept = instants.finish();
            assert!(kept.len() <= budget && (budget > 1000 || 4 * kept.len() >= budget));
            assert!(kept.is_sorted_by_key(|point| point.event));
            let mut event = 0;
            for (count, when) in all {
                for event in [event, event + count - 1] {
                    let after = kept.partition_point(|point| point.event < event);
                    let before = kept.partition_point(|point| point.event <= event);
                    let (before, after) = (&kept[before - 1], &kept[after]);
                    assert!(before.bounds.from_ns <= when.bounds.from_ns);
                    assert!(when.bounds.by_ns <= after.bounds.by_ns);
                    let estimate = when.estimate_ns.unwrap();
                    assert!((before.estimate_ns..=after.estimate_ns).contains(&estimate));
                    if budget == 100_000 {
                        assert_eq!((before.bounds, after.bounds), (when.bounds, when.bounds));
                        let [from, to] = [before, after].map(|point| point.estimate_ns);
                        assert_eq!((from, to), (estimate, estimate), "all are kept");
                    }
                }
                event += count;
            }
        }
    }

    #[test]
    fn events_without_times_are_counted() {
        let mut instants = Instants::with_budget(10);
        instants.pass(7, When::UNKNOWN);
        instants.pass(1, when(5, 6, 5));
        let bounds = Bounds { from_ns: 5, by_ns: 6 };
        assert_eq!(instants.finish(), [Instant { event: 7, bounds, estimate_ns: 5 }]);
    }
}
