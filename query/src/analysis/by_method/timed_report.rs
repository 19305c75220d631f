//! HOT: sums of times by method.
//!
//! In the total of a method that calls itself only the outermost call counts. The self weight is the time
//! while the method was the innermost frame, regardless of its caller.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use super::report::Precision;
use crate::analysis::numbering::{Numbering, index};
use crate::analysis::{AddSampled, AddShapes, Report, ReportRow};
use crate::dag::Dag;
use flow_codec::MethodId;
use flow_codec::read::{Clock, Elapsed, Selection, TimeAxis, Visit};

#[derive(Clone, Copy, Default, Debug)]
struct Sum {
    calls: u64,
    total: Elapsed,
    own: Elapsed,
    /// The total wall-clock time, if weights are CPU time.
    wall_ns: u64,
    /// The number of open frames; for the outermost one, when it was entered.
    open: u64,
    entered: Elapsed,
    entered_wall_ns: u64,
}

/// Adds up the times of any number of threads, one after the other: CPU time, and wall-clock time for what is
/// waiting; or if not `CPU`, wall-clock time alone. It reads the time from a clock that is advanced while it
/// receives records.
///
/// ```no_run
/// use flow_codec::read::{Clock, Trace};
/// use flow_query::analysis::TimedReport;
/// use flow_query::reading::{Selected, add_times};
///
/// let trace = Trace::open("flow-trace")?;
/// let clock = Clock::default();
/// let mut report = TimedReport::<false>::new(&clock);
/// for file in trace.files() {
///     add_times(file, &Selected::all(), &mut (), &mut report).report(file, &());
/// }
/// for row in report.rows() {
///     println!("{} ns: {}", row.total, trace.methods().display(row.method));
/// }
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Debug)]
pub struct TimedReport<'c, const CPU: bool> {
    clock: &'c Clock,
    numbering: Numbering,
    /// By number of the method; 0 has what passes while no frame is open.
    sums: Vec<Sum>,
    /// Numbers of the open frames' methods.
    stack: Vec<usize>,
    /// The interval of the last event, and the times there.
    interval: u64,
    last: Elapsed,
    last_wall_ns: u64,
    /// The wall-clock time while a frame was open.
    wall_ns: u64,
    /// How many calls an entry counts as: none if they are counted elsewhere.
    calls_an_entry: u64,
}

impl<const CPU: bool> Visit for TimedReport<'_, CPU> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        self.pass();
        let number = self.number_of(method);
        let Some(sum) = self.sums.get_mut(number) else { return };
        sum.calls += self.calls_an_entry;
        if sum.open == 0 {
            (sum.entered, sum.entered_wall_ns) = (self.last, self.last_wall_ns);
        }
        sum.open += 1;
        self.stack.push(number);
    }

    // Half of all calls make no others, and no time passes in them.
    #[inline]
    fn call(&mut self, method: MethodId, exits: NonZeroU64) {
        self.pass();
        let number = self.number_of(method);
        if let Some(sum) = self.sums.get_mut(number) {
            sum.calls += self.calls_an_entry;
        }
        if let Some(further) = NonZeroU64::new(exits.get() - 1) {
            self.exit(further);
        }
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.pass();
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        let rest = self.stack.len().saturating_sub(count);
        for number in self.stack.drain(rest..) {
            debug_assert!(number < self.sums.len(), "there is a sum for each number");
            let Some(sum) = self.sums.get_mut(number) else { continue };
            sum.open -= 1;
            if sum.open == 0 {
                sum.total.add(self.last.since(sum.entered));
                sum.wall_ns += self.last_wall_ns.saturating_sub(sum.entered_wall_ns);
            }
        }
    }
}

impl<'c, const CPU: bool> AddSampled<'c> for TimedReport<'c, CPU> {
    fn clock(&self) -> &'c Clock {
        self.clock
    }

    fn add_calls(&mut self, dag: &Dag, selection: &Selection) -> bool {
        let mut calls = Report::default();
        let is_added = calls.add_shapes(dag, selection);
        for row in calls.rows() {
            let number = self.number_of(row.method);
            if let Some(sum) = self.sums.get_mut(number) {
                sum.calls = sum.calls.saturating_add(row.calls);
            }
        }
        is_added
    }

    fn set_calls_an_entry(&mut self, calls: u64) {
        self.calls_an_entry = calls;
    }

    fn end_thread(&mut self) {
        self.end_thread();
    }
}

impl<'c, const CPU: bool> TimedReport<'c, CPU> {
    const AXIS: TimeAxis = if CPU { TimeAxis::Cpu } else { TimeAxis::Wall };

    /// Creates an empty report of the times of a clock.
    #[must_use]
    pub fn new(clock: &'c Clock) -> Self {
        Self {
            clock,
            numbering: Numbering::default(),
            sums: vec![Sum::default()],
            stack: Vec::new(),
            interval: clock.interval(),
            last: Elapsed::default(),
            last_wall_ns: 0,
            wall_ns: 0,
            calls_an_entry: 1,
        }
    }

    /// Ends a thread. Frames that are still open count up to its last known instant.
    pub fn end_thread(&mut self) {
        self.exit(NonZeroU64::MAX);
        (self.last, self.last_wall_ns) = (Elapsed::default(), 0);
    }

    #[inline]
    fn number_of(&mut self, method: MethodId) -> usize {
        let number = index(self.numbering.number(method));
        if number >= self.sums.len() {
            self.sums.resize(number + 1, Sum::default());
        }
        number
    }

    /// Adds what has passed since the last event to the innermost frame.
    #[inline(always)]
    fn pass(&mut self) {
        if self.interval != self.clock.interval() {
            self.sample();
        }
    }

    #[inline(never)]
    fn sample(&mut self) {
        self.interval = self.clock.interval();
        let (now, wall_ns) = (self.clock.now(Self::AXIS), self.clock.now(TimeAxis::Wall).ns);
        let innermost = self.stack.last().copied().unwrap_or_default();
        if let Some(sum) = self.sums.get_mut(innermost) {
            sum.own.add(now.since(self.last));
        }
        if innermost > 0 {
            self.wall_ns += wall_ns.saturating_sub(self.last_wall_ns);
        }
        (self.last, self.last_wall_ns) = (now, wall_ns);
    }

    /// All calls so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.sums.iter().map(|sum| sum.calls).sum()
    }

    /// How long all methods together ran: the time of all threads while a frame was open.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.sums.iter().skip(1).map(|sum| sum.own.ns).sum()
    }

    /// How long all threads together waited while a frame was open, if CPU time is added up; otherwise 0.
    #[must_use]
    pub fn waiting_ns(&self) -> u64 {
        if CPU { self.wall_ns.saturating_sub(self.total_ns()) } else { 0 }
    }

    /// The rows, the largest total first.
    #[must_use]
    pub fn rows(&self) -> Vec<ReportRow> {
        let row = |(&method, sum): (&MethodId, &Sum)| ReportRow {
            method,
            calls: sum.calls,
            waiting_ns: if CPU { sum.wall_ns.saturating_sub(sum.total.ns) } else { 0 },
            total: sum.total.ns,
            self_weight: sum.own.ns,
            precision: Precision::of(sum.total, sum.own),
        };
        let methods = self.numbering.methods().iter().zip(self.sums.iter().skip(1));
        let mut rows: Vec<_> = methods.map(row).collect();
        rows.sort_by(|a, b| (b.total, b.calls, a.method).cmp(&(a.total, a.calls, b.method)));
        rows
    }
}
