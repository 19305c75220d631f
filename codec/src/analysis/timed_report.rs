//! HOT: sums of times by method.
//!
//! In the total of a method that calls itself only the outermost call counts. The self weight is the time
//! while the method was the innermost frame, regardless of its caller.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod settled;

use std::num::NonZeroU64;

use super::innermost::{Innermost, NO_INTERVAL, SelfTime};
use super::numbering::{Numbering, index};
use super::{ReportRow, SumBounds};
use crate::MethodId;
use crate::read::{Clock, TimeAxis, Visit};

#[derive(Clone, Copy, Default, Debug)]
struct Sum {
    calls: u64,
    /// In fractions of a nanosecond, as [`Clock::now`].
    total: u128,
    self_weight: SelfTime,
    /// The total wall-clock time, if weights are CPU time.
    wall_total: u128,
    /// The number of open frames; for the outermost one: when it was entered, the latest time for that, and
    /// in which interval.
    open: u64,
    entered_at: u64,
    entered_at_wall: u64,
    entered_by_ns: u64,
    entered_in: u64,
    /// Time for certain, and the time of intervals in which it was entered or left; the last of these
    /// intervals.
    sure_ns: u64,
    may_be_ns: u64,
    touched: u64,
}

impl Sum {
    /// The outermost frame counts from a border on, by whose time it had been entered.
    fn enter_at(&mut self, now: u64, wall: u64, by_ns: u64) {
        (self.entered_at, self.entered_at_wall, self.entered_by_ns) = (now, wall, by_ns);
        self.entered_in = NO_INTERVAL;
    }

    /// A frame is entered in the current interval, and so is innermost for a moment. Its own does not count as open yet.
    #[inline(always)]
    fn touch_entered(&mut self, number: usize, innermost: &mut Innermost) {
        if self.open == 0 && self.touched != innermost.interval() {
            self.touch(innermost);
        } else if self.open == 0 || self.self_weight.is_of(innermost.interval()) {
            return;
        }
        innermost.enter(number, &mut self.self_weight);
    }

    /// Its outermost frame is entered or left in the current interval.
    #[inline(always)]
    fn touch(&mut self, innermost: &Innermost) {
        if self.touched != innermost.interval() {
            self.touched = innermost.interval();
            self.may_be_ns = self.may_be_ns.saturating_add(innermost.width_ns());
        }
    }
}

/// Adds up the times of any number of threads, one after the other: CPU time, and wall-clock time for what is
/// waiting; or if not `CPU`, wall-clock time alone. It reads the time from a clock that is advanced while it
/// receives records.
///
/// ```no_run
/// use flow_codec::analysis::TimedReport;
/// use flow_codec::read::{Clock, Selection, TimeLimits, Trace};
///
/// let trace = Trace::open("flow-trace")?;
/// let (all, clock) = (Selection::all(), Clock::default());
/// let mut report = TimedReport::<false>::new(&clock);
/// for file in &trace.files {
///     let mut pass = file.timed_pass(&all, TimeLimits::NONE, &clock, &mut report)?;
///     while pass.visit_some()? {}
///     report.end_thread();
/// }
/// for row in report.rows() {
///     println!("{} ns: {}", row.total, trace.methods.display(row.method));
/// }
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Debug)]
pub struct TimedReport<'c, const CPU: bool> {
    clock: &'c Clock,
    numbering: Numbering,
    /// By number of the method; 0 has what passes while no frame is open.
    sums: Vec<Sum>,
    innermost: Innermost,
    /// Numbers of the open frames' methods.
    stack: Vec<usize>,
    /// The least number of open frames in the current interval.
    low: usize,
    /// When the last event happened, on the axis that is added up.
    last: u64,
    /// The wall-clock time while a frame was open, up to the first frame that is open now, and when that was
    /// entered.
    wall: u128,
    wall_since: u64,
}

impl<const CPU: bool> Visit for TimedReport<'_, CPU> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        let number = index(self.numbering.number(method));
        if number >= self.sums.len() {
            self.sums.resize(number + 1, Sum::default());
        }
        self.pass();
        debug_assert!(number < self.sums.len(), "there is a sum for each number");
        let Some(sum) = self.sums.get_mut(number) else { return };
        sum.calls += 1;
        if sum.open == 0 {
            let (bounds, interval) = (self.clock.bounds_on(Self::AXIS), self.clock.interval());
            sum.entered_at = self.last;
            if CPU {
                sum.entered_at_wall = self.clock.now();
            }
            sum.entered_by_ns = bounds.by_ns;
            sum.entered_in = interval;
        }
        sum.touch_entered(number, &mut self.innermost);
        sum.open += 1;
        if CPU && self.stack.is_empty() {
            self.wall_since = self.clock.now();
        }
        self.stack.push(number);
    }

    // Half of all calls make no others: no frame is needed for them.
    #[inline]
    fn timed_call(&mut self, clock: &Clock, method: MethodId, exits: NonZeroU64) {
        let number = index(self.numbering.number(method));
        if number >= self.sums.len() {
            self.sums.resize(number + 1, Sum::default());
        }
        self.pass();
        let entered_at = self.last;
        let entered_at_wall = if CPU { clock.now() } else { entered_at };
        clock.pass_enter(method);
        self.last = clock.on(Self::AXIS);
        debug_assert!(number < self.sums.len(), "there is a sum for each number");
        if let Some(sum) = self.sums.get_mut(number) {
            let duration = self.last.saturating_sub(entered_at);
            sum.calls += 1;
            sum.self_weight.add(duration);
            if sum.open == 0 {
                sum.total += u128::from(duration);
                if CPU {
                    sum.wall_total += u128::from(clock.now().saturating_sub(entered_at_wall));
                }
            }
            sum.touch_entered(number, &mut self.innermost);
        }
        if CPU && self.stack.is_empty() {
            self.wall += u128::from(clock.now().saturating_sub(entered_at_wall));
        }
        if let Some(further) = NonZeroU64::new(exits.get() - 1) {
            self.exit(further);
        }
        clock.pass_exit(exits);
    }

    // Always inlined, as it is used in two places: otherwise it takes a tenth of the time more.
    #[inline(always)]
    fn exit(&mut self, count: NonZeroU64) {
        self.pass();
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        let rest = self.stack.len().saturating_sub(count);
        if rest < self.low {
            self.lower(rest);
        }
        for &number in self.stack.get(rest..).unwrap_or_default() {
            debug_assert!(number < self.sums.len(), "there is a sum for each number");
            let Some(sum) = self.sums.get_mut(number) else { continue };
            sum.open -= 1;
            if sum.open > 0 {
                continue;
            }
            sum.total += u128::from(self.last - sum.entered_at);
            if CPU {
                let wall = self.clock.now().saturating_sub(sum.entered_at_wall);
                sum.wall_total += u128::from(wall);
            }
            let interval = self.clock.interval();
            if sum.entered_in != interval {
                let bounds = self.clock.bounds_on(Self::AXIS);
                let sure = bounds.from_ns.saturating_sub(sum.entered_by_ns);
                sum.sure_ns = sum.sure_ns.saturating_add(sure);
                sum.touch(&self.innermost);
            }
        }
        if CPU && rest == 0 && !self.stack.is_empty() {
            self.wall += u128::from(self.clock.now().saturating_sub(self.wall_since));
        }
        self.stack.truncate(rest);
    }
}

impl<'c, const CPU: bool> TimedReport<'c, CPU> {
    const AXIS: TimeAxis = if CPU { TimeAxis::Cpu } else { TimeAxis::Wall };

    /// Creates an empty report of the times of a clock.
    #[must_use]
    pub fn new(clock: &'c Clock) -> Self {
        let (numbering, sums) = (Numbering::default(), vec![Sum::default()]);
        let (innermost, stack) = (Innermost::default(), Vec::new());
        Self { clock, numbering, sums, innermost, stack, low: 0, last: 0, wall: 0, wall_since: 0 }
    }

    /// Ends a thread. Frames that are still open count up to its last known instant.
    pub fn end_thread(&mut self) {
        self.pass();
        self.exit(NonZeroU64::MAX);
        self.end_interval();
        self.innermost.end_thread();
        self.last = 0;
    }

    /// The time.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.clock.on(Self::AXIS)
    }

    /// Adds what has passed since the last event to the innermost frame.
    #[inline(always)]
    fn pass(&mut self) {
        let now = self.clock.on(Self::AXIS);
        let innermost = self.stack.last().copied().unwrap_or_default();
        if let Some(sum) = self.sums.get_mut(innermost) {
            sum.self_weight.add(now.saturating_sub(self.last));
        }
        self.last = now;
        if self.clock.interval() != self.innermost.interval() {
            self.begin_interval(innermost);
        }
    }

    #[inline(never)]
    fn begin_interval(&mut self, innermost: usize) {
        self.end_interval();
        let Some(sum) = self.sums.get_mut(innermost) else { return };
        let (interval, bounds) = (self.clock.interval(), self.clock.bounds_on(Self::AXIS));
        self.innermost.begin(interval, bounds, innermost, &mut sum.self_weight);
        self.low = self.stack.len();
    }

    fn end_interval(&mut self) {
        let sums = &mut self.sums;
        self.innermost.end_interval(|number| Some(&mut sums.get_mut(number)?.self_weight));
    }

    /// Frames that were entered in earlier intervals are left. They, and the one below, are innermost for the first time
    /// in this interval.
    #[inline(never)]
    fn lower(&mut self, rest: usize) {
        let outer = self.stack.get(rest.saturating_sub(1)..self.low).unwrap_or_default();
        let none = (rest == 0).then_some(0);
        for number in outer.iter().copied().chain(none) {
            let Some(sum) = self.sums.get_mut(number) else { continue };
            self.innermost.enter(number, &mut sum.self_weight);
        }
        self.low = rest;
    }

    /// All calls so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.sums.iter().map(|sum| sum.calls).sum()
    }

    /// How long all methods together ran: the time of all threads while a frame was open.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        Clock::to_ns(self.sums.iter().skip(1).map(|sum| sum.self_weight.get()).sum())
    }

    /// How long all threads together waited while a frame was open, if CPU time is added up; otherwise 0.
    #[must_use]
    pub fn waiting_ns(&self) -> u64 {
        if CPU { Clock::to_ns(self.wall).saturating_sub(self.total_ns()) } else { 0 }
    }

    /// The rows, the largest total first.
    #[must_use]
    pub fn rows(&self) -> Vec<ReportRow> {
        let row = |(number, (&method, sum)): (usize, (&MethodId, &Sum))| {
            // A method that is entered or left between two marks ran for any part of the time between them.
            let bounds = SumBounds::new(
                (sum.sure_ns, sum.may_be_ns),
                self.innermost.bounds(number, sum.self_weight),
            );
            ReportRow {
                method,
                calls: sum.calls,
                waiting_ns: Clock::to_ns(sum.wall_total.saturating_sub(sum.total)),
                total: Clock::to_ns(sum.total),
                self_weight: Clock::to_ns(sum.self_weight.get()),
                bounds,
            }
        };
        let methods = self.numbering.methods().iter().zip(self.sums.iter().skip(1));
        let mut rows: Vec<_> = (1..).zip(methods).map(row).collect();
        rows.sort_by(|a, b| (b.total, b.calls, a.method).cmp(&(a.total, a.calls, b.method)));
        rows
    }
}
