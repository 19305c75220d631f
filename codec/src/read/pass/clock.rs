//! HOT: the time while records are passed on.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::cell::Cell;
use std::num::NonZeroU64;

use crate::MethodId;
use crate::format::flow::{encoded_enter_len, encoded_exits_len};
use crate::read::{Bounds, TimeAxis, TimeInterval, TimeSpan, Visit};

/// Fractions of a nanosecond that are distinguished, so that many short calls add up to their common
/// duration.
const PARTS_BITS: u32 = 10;
/// Later instants, 208 days after the start, are recorded as this one.
const LATEST_NS: u64 = u64::MAX >> PARTS_BITS;

/// The current time in the thread that is being read, for the receiver of its records. Events between two
/// marks are assumed to be evenly spaced, so each takes time in proportion to its bytes.
#[derive(Debug, Default)]
pub struct Clock {
    wall: Line,
    cpu: Line,
    /// Bytes of records since the two began.
    passed: Cell<u64>,
    interval: Cell<u64>,
    /// Both times at the end of the interval before.
    end_before: Cell<(u64, u64)>,
}

/// How the time on one axis advances within an interval.
#[derive(Debug, Default)]
struct Line {
    /// In fractions of a nanosecond, as all of these.
    begin: Cell<u64>,
    per_byte: Cell<u64>,
    /// The time does not advance beyond this.
    end: Cell<u64>,
    bounds: Cell<Bounds>,
}

impl Line {
    #[inline(always)]
    fn after(&self, bytes: u64) -> u64 {
        let taken = bytes.saturating_mul(self.per_byte.get());
        self.begin.get().saturating_add(taken).min(self.end.get())
    }

    #[inline]
    fn moment(&self, bytes: u64) -> Moment {
        Moment { now: self.after(bytes), bounds: self.bounds.get() }
    }

    #[inline]
    fn set(&self, moment: Moment) {
        self.begin.set(moment.now);
        self.end.set(self.end.get().max(moment.now));
        self.bounds.set(moment.bounds);
    }

    /// Continues with an interval of this many bytes; `now` is the time so far.
    fn extend(&self, span: TimeSpan, now: u64, bytes: u64) {
        self.bounds.set(span.bounds);
        let (begin, end) = span.estimates.unwrap_or_default();
        // An earlier interval may have ended later, if the marks contradict each other.
        let begin = Clock::parts(begin).max(now);
        let end = Clock::parts(end).max(begin);
        self.begin.set(begin);
        self.end.set(end);
        self.per_byte.set((end - begin) / bytes.max(1));
    }
}

/// The time of one event on one axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// In fractions of a nanosecond.
    pub(crate) now: u64,
    pub(crate) bounds: Bounds,
}

impl Moment {
    /// It, moved to the nearest limit if it is outside; its bounds likewise.
    #[inline]
    pub(crate) fn within(self, from: u64, to: u64, from_ns: u64, to_ns: u64) -> Self {
        let Bounds { from_ns: not_before, by_ns } = self.bounds;
        let bounds = Bounds {
            from_ns: not_before.clamp(from_ns, to_ns),
            by_ns: by_ns.clamp(from_ns, to_ns),
        };
        Self { now: self.now.clamp(from, to), bounds }
    }
}

/// The times of one event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) wall: Moment,
    pub(crate) cpu: Moment,
    pub(crate) interval: u64,
}

impl Clock {
    /// The estimated time of the record that is being passed on, in fractions of a nanosecond, for sums that
    /// [`to_ns`](Self::to_ns) converts.
    #[must_use]
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.wall.after(self.passed.get())
    }

    /// The same on an axis.
    #[must_use]
    #[inline(always)]
    pub fn on(&self, axis: TimeAxis) -> u64 {
        match axis {
            TimeAxis::Wall => self.now(),
            TimeAxis::Cpu => self.cpu.after(self.passed.get()),
        }
    }

    /// Converts a sum of differences of [`now`](Self::now) to nanoseconds.
    #[must_use]
    pub fn to_ns(parts: u128) -> u64 {
        u64::try_from((parts + (1 << (PARTS_BITS - 1))) >> PARTS_BITS).unwrap_or(u64::MAX)
    }

    /// The bounds of that time.
    #[must_use]
    #[inline]
    pub(crate) fn bounds(&self) -> Bounds {
        self.wall.bounds.get()
    }

    /// The same on an axis.
    #[must_use]
    #[inline]
    pub(crate) fn bounds_on(&self, axis: TimeAxis) -> Bounds {
        match axis {
            TimeAxis::Wall => self.wall.bounds.get(),
            TimeAxis::Cpu => self.cpu.bounds.get(),
        }
    }

    /// The number of the current interval between two marks. No two intervals have the same number, not even
    /// of different threads.
    #[must_use]
    #[inline]
    pub(crate) fn interval(&self) -> u64 {
        self.interval.get()
    }

    /// Wall-clock time and CPU time where they stop advancing evenly: the end of the interval before, after which the
    /// thread may have waited, and the beginning of this one.
    pub(crate) fn corners(&self) -> [(u64, u64); 2] {
        [self.end_before.get(), (self.wall.begin.get(), self.cpu.begin.get())]
    }

    /// All current times.
    #[inline]
    pub(crate) fn moments(&self) -> Moments {
        let passed = self.passed.get();
        let (wall, cpu) = (self.wall.moment(passed), self.cpu.moment(passed));
        Moments { wall, cpu, interval: self.interval.get() }
    }

    /// Sets all times, to go back or forward.
    #[inline]
    pub(crate) fn set(&self, moments: Moments) {
        self.wall.set(moments.wall);
        self.cpu.set(moments.cpu);
        self.passed.set(0);
        self.interval.set(moments.interval);
    }

    /// The nanoseconds of an instant, rounded up; without a limit, as many as there can be.
    pub(crate) fn whole_ns(parts: u64) -> u64 {
        if parts == u64::MAX { u64::MAX } else { parts.div_ceil(1 << PARTS_BITS) }
    }

    /// Converts an instant to fractions of a nanosecond.
    pub(crate) fn parts(ns: u64) -> u64 {
        ns.min(LATEST_NS) << PARTS_BITS
    }

    /// Begins a thread.
    pub(crate) fn begin_thread(&self) {
        self.passed.set(0);
        for line in [&self.wall, &self.cpu] {
            line.begin.set(0);
            line.end.set(0);
        }
        self.begin(TimeInterval::UNKNOWN);
    }

    /// Begins an interval.
    pub(crate) fn begin(&self, interval: TimeInterval) {
        self.interval.set(self.interval.get() + 1);
        self.end_before.set((self.wall.end.get(), self.cpu.end.get()));
        self.extend(interval);
    }

    /// Continues the same interval, with the times at the current position.
    pub(crate) fn extend(&self, interval: TimeInterval) {
        let passed = self.passed.replace(0);
        let TimeInterval { wall, cpu, bytes } = interval;
        self.wall.extend(wall, self.wall.after(passed), bytes);
        self.cpu.extend(cpu, self.cpu.after(passed), bytes);
    }

    /// Advances by the entry of a method: the next event comes after it.
    #[inline(always)]
    pub(crate) fn pass_enter(&self, method: MethodId) {
        self.pass(encoded_enter_len(method) as u64);
    }

    /// Advances by a run of exits.
    #[inline(always)]
    pub(crate) fn pass_exit(&self, count: NonZeroU64) {
        self.pass(encoded_exits_len(count) as u64);
    }

    /// Advances by a record of this many bytes.
    #[inline(always)]
    fn pass(&self, bytes: u64) {
        self.passed.set(self.passed.get().saturating_add(bytes));
    }
}

/// Advances a clock while it passes on records. It is the outermost filter, so calls that are left out take
/// their time.
#[derive(Debug)]
pub(crate) struct Clocked<'c, V> {
    pub(crate) clock: &'c Clock,
    pub(crate) inner: V,
}

impl<V: Visit> Visit for Clocked<'_, V> {
    #[inline(always)]
    fn enter(&mut self, method: MethodId) {
        self.inner.enter(method);
        self.clock.pass_enter(method);
    }

    #[inline(always)]
    fn exit(&mut self, count: NonZeroU64) {
        self.inner.exit(count);
        self.clock.pass_exit(count);
    }

    #[inline(always)]
    fn call(&mut self, method: MethodId, exits: NonZeroU64) {
        self.inner.timed_call(self.clock, method, exits);
    }
}
