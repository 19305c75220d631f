//! HOT: the time while records are passed on.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::cell::Cell;
use std::num::NonZeroU64;

use crate::MethodId;
use crate::format::flow::{encoded_enter_len, encoded_exits_len};
use crate::read::{Bounds, TimeInterval, Visit};

/// Fractions of a nanosecond that are distinguished, so that many short calls add up to their common
/// duration.
const PARTS_BITS: u32 = 10;
/// Later instants, 208 days after the start, are recorded as this one.
const LATEST_NS: u64 = u64::MAX >> PARTS_BITS;

/// The current time in the thread that is being read, for the receiver of its records. Events between two
/// marks are assumed to be evenly spaced, so each takes time in proportion to its bytes.
#[derive(Debug, Default)]
pub struct Clock {
    /// In fractions of a nanosecond, as all of these.
    now: Cell<u64>,
    per_byte: Cell<u64>,
    /// The time does not advance beyond this.
    end: Cell<u64>,
    bounds: Cell<Bounds>,
    interval: Cell<u64>,
}

/// The times of one event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// In fractions of a nanosecond.
    pub(crate) now: u64,
    pub(crate) bounds: Bounds,
    interval: u64,
}

impl Clock {
    /// The estimated time of the record that is being passed on, in fractions of a nanosecond, for sums that
    /// [`to_ns`](Self::to_ns) converts.
    #[must_use]
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.now.get()
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
        self.bounds.get()
    }

    /// The number of the current interval between two marks. No two intervals have the same number, not even
    /// of different threads.
    #[must_use]
    #[inline]
    pub(crate) fn interval(&self) -> u64 {
        self.interval.get()
    }

    /// All current times.
    #[inline]
    pub(crate) fn moment(&self) -> Moment {
        Moment { now: self.now.get(), bounds: self.bounds.get(), interval: self.interval.get() }
    }

    /// Sets all times, to go back or forward.
    #[inline]
    pub(crate) fn set(&self, moment: Moment) {
        self.now.set(moment.now);
        self.bounds.set(moment.bounds);
        self.interval.set(moment.interval);
    }

    /// Converts an instant to fractions of a nanosecond.
    pub(crate) fn parts(ns: u64) -> u64 {
        ns.min(LATEST_NS) << PARTS_BITS
    }

    /// Begins a thread.
    pub(crate) fn begin_thread(&self) {
        self.now.set(0);
        self.begin(TimeInterval { bounds: Bounds::UNKNOWN, estimates: None, bytes: 0 });
    }

    /// Begins an interval.
    pub(crate) fn begin(&self, interval: TimeInterval) {
        self.interval.set(self.interval.get() + 1);
        self.extend(interval);
    }

    /// Continues the same interval, with the times at the current position.
    pub(crate) fn extend(&self, interval: TimeInterval) {
        self.bounds.set(interval.bounds);
        let (begin, end) = interval.estimates.unwrap_or_default();
        // An earlier interval may have ended later, if the marks contradict each other.
        let begin = Self::parts(begin).max(self.now.get());
        let end = Self::parts(end).max(begin);
        self.now.set(begin);
        self.end.set(end);
        self.per_byte.set((end - begin) / interval.bytes.max(1));
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
        let taken = bytes.saturating_mul(self.per_byte.get());
        self.now.set(self.now.get().saturating_add(taken).min(self.end.get()));
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
