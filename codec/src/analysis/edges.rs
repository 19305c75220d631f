//! HOT: who calls some methods, or whom they call, and what these calls come to.
//!
//! A report gets each such call as if its method were the neighbour, and all others as if they were one more
//! method. So a neighbour's total and self are what a report shows of methods: recursion counts once.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::{NonZeroU32, NonZeroU64};

use super::numbering::{Numbering, index};
use super::{Report, ReportRow, TimedReport};
use crate::MethodId;
use crate::read::{Clock, Visit};

/// Which neighbours of a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Those that call it.
    Callers,
    /// Those it calls.
    Callees,
}

/// One neighbour of some methods: the calls it makes to them, or those they make to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EdgeRow {
    /// The neighbour. `None`: called by nobody that was recorded.
    pub method: Option<MethodId>,
    /// How many calls there were.
    pub calls: u64,
    /// Calls made while one of these calls was on the stack, themselves included; or nanoseconds.
    pub total: u64,
    /// Calls, or the time while one of them was the innermost frame.
    pub self_weight: u64,
    /// Bounds of the total.
    pub total_from: u64,
    /// The upper one.
    pub total_by: u64,
}

/// A report, by either weight.
pub trait Sums: Visit {
    /// Calls so far, or the time in parts of a nanosecond.
    fn now(&self) -> u64;
    /// A sum of differences of [`now`](Self::now) in calls or nanoseconds.
    fn amount(sum: u128) -> u64;
    /// A thread has ended.
    fn end_thread(&mut self);
    /// What was added up, the largest total first.
    fn rows(&self) -> Vec<ReportRow>;
}

impl Sums for Report {
    fn now(&self) -> u64 {
        self.calls()
    }

    fn amount(sum: u128) -> u64 {
        u64::try_from(sum).unwrap_or(u64::MAX)
    }

    fn end_thread(&mut self) {
        self.end_thread();
    }

    fn rows(&self) -> Vec<ReportRow> {
        self.rows()
    }
}

impl Sums for TimedReport<'_> {
    #[inline]
    fn now(&self) -> u64 {
        self.now()
    }

    fn amount(sum: u128) -> u64 {
        Clock::to_ns(sum)
    }

    fn end_thread(&mut self) {
        self.end_thread();
    }

    fn rows(&self) -> Vec<ReportRow> {
        self.rows()
    }
}

/// Adds up the calls next to some methods, in any number of threads, one after the other. A method that calls
/// itself is its own caller and callee. Memory: some bytes a method and an open frame.
///
/// ```
/// use flow_codec::MethodId;
/// use flow_codec::analysis::{Edges, Report, Side};
/// use flow_codec::read::{FlowReader, ReadRecords};
///
/// // 1 calls 2, which calls itself.
/// let bytes: &[u8] = &[0x81, 0x82, 0x82, 0x02];
/// let (one, two) = (MethodId::new(1).unwrap(), MethodId::new(2).unwrap());
/// let mut callers = Edges::new(Report::default(), Side::Callers, |method| method == two);
/// FlowReader::new(bytes).visit_all(&mut callers)?;
/// callers.end_thread();
/// let rows: Vec<_> = callers.rows().iter().map(|row| (row.method, row.calls, row.total)).collect();
/// assert_eq!(rows, [(Some(one), 1, 2), (Some(two), 1, 1)]);
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Debug)]
pub struct Edges<S, F> {
    side: Side,
    chosen: F,
    numbering: Numbering,
    /// By number of the method: its calls, if it is chosen.
    calls: Vec<Option<u64>>,
    /// The methods of the open frames.
    stack: Vec<NonZeroU32>,
    report: S,
    /// How many chosen frames are open, since when, and what came of earlier ones.
    inside: u64,
    since: u64,
    total: u128,
}

/// What a call counts for in the report; a neighbour's label is the number of its method and one.
const NOBODY: u64 = 0;
const OTHERS: u64 = 1;

impl<S: Sums, F: FnMut(MethodId) -> bool> Visit for Edges<S, F> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        let callee = self.numbering.number(method);
        if index(callee) >= self.calls.len() {
            let is_chosen = (self.chosen)(method);
            self.calls.push(is_chosen.then_some(0));
        }
        let caller = self.stack.last().copied();
        let other = match self.side {
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
                self.since = self.report.now();
            }
            self.inside += 1;
        }
        self.stack.push(callee);
        if let Some(label) = MethodId::new(other) {
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
                    self.total += u128::from(self.report.now().saturating_sub(self.since));
                }
            }
        }
    }
}

impl<S: Sums, F: FnMut(MethodId) -> bool> Edges<S, F> {
    /// Of the methods that `chosen` selects, weighed as this empty report does. It is called once for each
    /// method.
    pub fn new(report: S, side: Side, chosen: F) -> Self {
        Self {
            side,
            chosen,
            numbering: Numbering::default(),
            calls: vec![None],
            stack: Vec::new(),
            report,
            inside: 0,
            since: 0,
            total: 0,
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

    /// Calls made while one of the chosen methods was on the stack, or nanoseconds.
    #[must_use]
    pub fn total(&self) -> u64 {
        S::amount(self.total)
    }

    /// The neighbours, the largest total first.
    #[must_use]
    pub fn rows(&self) -> Vec<EdgeRow> {
        let rows = self.report.rows().into_iter().filter_map(|row| {
            let method = match row.method.get() {
                NOBODY => None,
                OTHERS => return None,
                label => Some(self.numbering.method(u32::try_from(label - 1).ok()?)?),
            };
            let ReportRow { calls, total, self_weight, total_from, total_by, .. } = row;
            Some(EdgeRow { method, calls, total, self_weight, total_from, total_by })
        });
        rows.collect()
    }
}
