//! HOT: who calls some methods, or whom they call, and how long that took.
//!
//! Each such call is told to a [`TimedReport`] as if its method were the neighbour, all others as if they were
//! one method more. So a neighbour's total and self are what a report says of methods: recursion counts once.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::{NonZeroU32, NonZeroU64};

use super::TimedReport;
use super::numbering::{Numbering, index};
use crate::MethodId;
use crate::read::{Bounds, Clock, Visit};

/// Which neighbours of a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Those that call it.
    Callers,
    /// Those it calls.
    Callees,
}

/// What is said of one neighbour of some methods: of the calls it makes to them, or of those they make to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedNeighbour {
    /// The neighbour. `None`: called by nobody that was recorded.
    pub method: Option<MethodId>,
    /// How many calls there were.
    pub calls: u64,
    /// Nanoseconds while one of these calls was on the stack.
    pub total_ns: u64,
    /// The same while it was the innermost.
    pub own_ns: u64,
    /// The total for sure.
    pub total: Bounds,
}

/// Adds up the calls next to some methods, in any number of threads, one after the other.
#[derive(Debug)]
pub struct TimedNeighbours<'c, F> {
    clock: &'c Clock,
    side: Side,
    chosen: F,
    numbering: Numbering,
    /// By number of the method: its calls, if it is chosen.
    calls: Vec<Option<u64>>,
    /// The methods of the open frames.
    stack: Vec<NonZeroU32>,
    report: TimedReport<'c>,
    /// How many chosen frames are open, since when, and for how long some were before.
    inside: u64,
    since: u64,
    took: u128,
}

/// What a call counts for in the report; a neighbour's label is the number of its method and one.
const NOBODY: u64 = 0;
const OTHERS: u64 = 1;

impl<F: FnMut(MethodId) -> bool> Visit for TimedNeighbours<'_, F> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        let callee = self.numbering.number(method);
        if index(callee) >= self.calls.len() {
            let is_chosen = (self.chosen)(method);
            self.calls.push(is_chosen.then_some(0));
        }
        let caller = self.stack.last().copied();
        let neighbour = match self.side {
            Side::Callers if self.is_chosen(callee) => {
                caller.map_or(NOBODY, |caller| u64::from(caller.get()) + 1)
            }
            Side::Callees if caller.is_some_and(|caller| self.is_chosen(caller)) => {
                u64::from(callee.get()) + 1
            }
            _ => OTHERS,
        };
        if let Some(Some(calls)) = self.calls.get_mut(index(callee)) {
            *calls += 1;
            if self.inside == 0 {
                self.since = self.clock.now();
            }
            self.inside += 1;
        }
        self.stack.push(callee);
        if let Some(label) = MethodId::new(neighbour) {
            self.report.enter(label);
        }
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.report.exit(count);
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        for _ in 0..count.min(self.stack.len()) {
            let left = self.stack.pop();
            if left.is_some_and(|method| self.is_chosen(method)) {
                self.inside -= 1;
                if self.inside == 0 {
                    self.took += u128::from(self.clock.now().saturating_sub(self.since));
                }
            }
        }
    }
}

impl<'c, F: FnMut(MethodId) -> bool> TimedNeighbours<'c, F> {
    /// Of the methods that `chosen` says yes to, by this clock. It is asked once for each method.
    pub fn new(clock: &'c Clock, side: Side, chosen: F) -> Self {
        Self {
            clock,
            side,
            chosen,
            numbering: Numbering::default(),
            calls: vec![None],
            stack: Vec::new(),
            report: TimedReport::new(clock),
            inside: 0,
            since: 0,
            took: 0,
        }
    }

    #[inline]
    fn is_chosen(&self, method: NonZeroU32) -> bool {
        matches!(self.calls.get(index(method)), Some(Some(_)))
    }

    /// A thread has ended: frames that are still open count up to the last instant that is known of it.
    pub fn end_thread(&mut self) {
        self.exit(NonZeroU64::MAX);
        self.report.end_thread();
    }

    /// The chosen methods that were met, with their calls.
    #[must_use]
    pub fn chosen(&self) -> Vec<(MethodId, u64)> {
        let calls = self.calls.iter().skip(1);
        let methods = self.numbering.methods().iter().copied();
        methods.zip(calls).filter_map(|(method, calls)| Some((method, (*calls)?))).collect()
    }

    /// Nanoseconds while one of the chosen methods was on the stack.
    #[must_use]
    pub fn took_ns(&self) -> u64 {
        Clock::to_ns(self.took)
    }

    /// The neighbours, the largest total first.
    #[must_use]
    pub fn rows(&self) -> Vec<TimedNeighbour> {
        let rows = self.report.rows().into_iter().filter_map(|row| {
            let method = match row.method.get() {
                NOBODY => None,
                OTHERS => return None,
                label => Some(self.numbering.method(u32::try_from(label - 1).ok()?)?),
            };
            let (calls, total_ns, own_ns, total) = (row.calls, row.total_ns, row.own_ns, row.total);
            Some(TimedNeighbour { method, calls, total_ns, own_ns, total })
        });
        rows.collect()
    }
}
