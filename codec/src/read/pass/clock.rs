//! HOT: the time while records are handed on.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::cell::Cell;
use std::num::NonZeroU64;

use crate::MethodId;
use crate::format::flow::{encoded_enter_len, encoded_exits_len};
use crate::read::{Bounds, TimeInterval, Visit};

/// Parts of a nanosecond that are told apart, so that many short calls add up to what they took together.
const PARTS_BITS: u32 = 10;
/// Later instants, 208 days after the start, are taken for this one.
const LATEST_NS: u64 = u64::MAX >> PARTS_BITS;

/// What time it is in the thread that is being read, for whoever receives its records. Between two
/// marks events are thought to have come evenly, so that each takes as long as it has bytes.
#[derive(Debug, Default)]
pub struct Clock {
    /// In parts of nanoseconds, as all of these.
    now: Cell<u64>,
    per_byte: Cell<u64>,
    /// Time stands still when it has come here.
    end: Cell<u64>,
    bounds: Cell<Bounds>,
    interval: Cell<u64>,
}

/// What a clock says of one event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// In parts of a nanosecond.
    pub(crate) now: u64,
    pub(crate) bounds: Bounds,
    interval: u64,
}

impl Clock {
    /// When the record happened that is being handed on, as far as anybody can think, in parts of a
    /// nanosecond: for sums, which [`to_ns`](Self::to_ns) makes to times.
    #[must_use]
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.now.get()
    }

    /// Nanoseconds of a sum of differences of [`now`](Self::now).
    #[must_use]
    pub fn to_ns(parts: u128) -> u64 {
        u64::try_from((parts + (1 << (PARTS_BITS - 1))) >> PARTS_BITS).unwrap_or(u64::MAX)
    }

    /// When it happened for sure.
    #[must_use]
    #[inline]
    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds.get()
    }

    /// The number of the interval between two marks that it happened in: no two have the same one, of
    /// whatever thread.
    #[must_use]
    #[inline]
    pub(crate) fn interval(&self) -> u64 {
        self.interval.get()
    }

    /// All that it says now.
    #[inline]
    pub(crate) fn moment(&self) -> Moment {
        Moment { now: self.now.get(), bounds: self.bounds.get(), interval: self.interval.get() }
    }

    /// Says what it said then, or will say again.
    #[inline]
    pub(crate) fn set(&self, moment: Moment) {
        self.now.set(moment.now);
        self.bounds.set(moment.bounds);
        self.interval.set(moment.interval);
    }

    /// Parts of a nanosecond, of an instant.
    pub(crate) fn parts(ns: u64) -> u64 {
        ns.min(LATEST_NS) << PARTS_BITS
    }

    /// A thread begins.
    pub(crate) fn begin_thread(&self) {
        self.now.set(0);
        self.begin(TimeInterval { bounds: Bounds::UNKNOWN, estimates: None, bytes: 0 });
    }

    /// A interval begins.
    pub(crate) fn begin(&self, interval: TimeInterval) {
        self.interval.set(self.interval.get() + 1);
        self.extend(interval);
    }

    /// The same interval goes on, at a place of which this is known.
    pub(crate) fn extend(&self, interval: TimeInterval) {
        self.bounds.set(interval.bounds);
        let (begin, end) = interval.estimates.unwrap_or_default();
        // An earlier interval may have ended later, where marks do not agree.
        let begin = Self::parts(begin).max(self.now.get());
        let end = Self::parts(end).max(begin);
        self.now.set(begin);
        self.end.set(end);
        self.per_byte.set((end - begin) / interval.bytes.max(1));
    }

    /// The entry of a method is passed: what comes now comes behind it.
    #[inline(always)]
    pub(crate) fn pass_enter(&self, method: MethodId) {
        self.pass(encoded_enter_len(method) as u64);
    }

    /// A run of exits is passed.
    #[inline(always)]
    pub(crate) fn pass_exit(&self, count: NonZeroU64) {
        self.pass(encoded_exits_len(count) as u64);
    }

    /// A record of so many bytes is passed.
    #[inline(always)]
    fn pass(&self, bytes: u64) {
        let taken = bytes.saturating_mul(self.per_byte.get());
        self.now.set(self.now.get().saturating_add(taken).min(self.end.get()));
    }
}

/// Keeps a clock while it hands on records: around all else, so that what is left out takes its time.
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
