//! HOT: self times and their bounds.
//!
//! Time consists of the waits at time marks and the intervals between them. During a wait one frame is innermost for
//! certain. In an interval each frame that is innermost at some moment may be so all the time or hardly at all; only
//! if there is no other, it has the whole interval.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::read::Bounds;

/// The time for which one of several things was innermost: a method, a path, or nothing at all. Also the last interval
/// in which it was. All is in 24 bytes, because there may be millions of them, and they are used at each event.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SelfTime {
    /// In fractions of a nanosecond; the 16 bits above are the lowest ones of `high`.
    low: u64,
    /// The number of the interval is above them.
    high: u64,
    /// The time of the intervals in which it was innermost at some moment, but not only it.
    may_be_ns: u64,
}

const HIGH_BITS: u32 = 16;
const HIGH: u64 = (1 << HIGH_BITS) - 1;

impl SelfTime {
    /// Adds time. Sums remain below 2^80, which is 37,000 years.
    #[inline(always)]
    pub(super) fn add(&mut self, passed: u64) {
        let (low, carries) = self.low.overflowing_add(passed);
        (self.low, self.high) = (low, self.high + u64::from(carries));
    }

    /// Adds those of another one.
    pub(super) fn add_sums(&mut self, time: u128, may_be_ns: u64) {
        let time = self.get().saturating_add(time);
        // It is below 2^80.
        self.low = u64::try_from(time & u128::from(u64::MAX)).unwrap_or_default();
        let high = u64::try_from(time >> u64::BITS).unwrap_or(u64::MAX);
        self.high = (self.high & !HIGH) | high.min(HIGH);
        self.may_be_ns = self.may_be_ns.saturating_add(may_be_ns);
    }

    /// Takes the time out, and in how much more it may have been innermost.
    pub(super) fn take(&mut self) -> (u128, u64) {
        let time = self.get();
        (self.low, self.high) = (0, self.high & !HIGH);
        (time, std::mem::take(&mut self.may_be_ns))
    }

    /// Returns whether this is the last interval in which it was innermost.
    #[inline(always)]
    pub(super) fn is_of(self, interval: u64) -> bool {
        self.high >> HIGH_BITS == interval
    }

    /// The time.
    pub(super) fn get(self) -> u128 {
        u128::from(self.high & HIGH) << u64::BITS | u128::from(self.low)
    }
}

/// The bounds of self times, by number, and the current interval between two time marks.
#[derive(Clone, Debug)]
pub(super) struct Innermost {
    /// For how long each was innermost for certain.
    sure_ns: Vec<u64>,
    interval: u64,
    /// The bounds of its events, and how long it is.
    bounds: Bounds,
    width_ns: u64,
    /// How many were innermost in it so far, and the last one for which that was noted.
    count: usize,
    last: usize,
}

/// The interval of those that were never innermost.
pub(super) const NO_INTERVAL: u64 = 0;

impl Default for Innermost {
    fn default() -> Self {
        let (interval, bounds) = (NO_INTERVAL, Bounds::UNKNOWN);
        let sure_ns = Vec::new();
        Self { sure_ns, interval, bounds, width_ns: 0, count: 0, last: 0 }
    }
}

impl Innermost {
    /// The number of the current interval. Each has another number, below 2^48, and none has 0.
    #[inline(always)]
    pub(super) fn interval(&self) -> u64 {
        self.interval
    }

    /// How long it is; 0 if that is not known.
    #[inline(always)]
    pub(super) fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// Begins the interval of the next event. Since the last event, this one was innermost. Before, the last interval
    /// [ended](Self::end_interval).
    pub(super) fn begin(
        &mut self,
        interval: u64,
        bounds: Bounds,
        number: usize,
        time: &mut SelfTime,
    ) {
        // The last event happened by the first of these two, and the next one not before the second.
        self.add_sure(number, bounds.from_ns.saturating_sub(self.bounds.by_ns));
        (self.interval, self.bounds) = (interval, bounds);
        // Where nothing is known, nothing can be added up.
        let Bounds { from_ns, by_ns } = bounds;
        self.width_ns = if by_ns == u64::MAX { 0 } else { by_ns.saturating_sub(from_ns) };
        self.enter(number, time);
    }

    /// Notes that one is innermost at a moment of the interval.
    #[inline(always)]
    pub(super) fn enter(&mut self, number: usize, time: &mut SelfTime) {
        // Without a branch: whether this is the first time in an interval cannot be predicted where paths are many.
        let is_first = !time.is_of(self.interval);
        time.high = (time.high & HIGH) | self.interval << HIGH_BITS;
        let width_ns = self.width_ns & u64::from(is_first).wrapping_neg();
        time.may_be_ns = time.may_be_ns.saturating_add(width_ns);
        self.count += usize::from(is_first);
        self.last = if is_first { number } else { self.last };
    }

    /// Ends an interval. Returns how long it was, if several were innermost in it. `time` has the only one otherwise.
    pub(super) fn end_interval<'s>(
        &mut self,
        time: impl FnOnce(usize) -> Option<&'s mut SelfTime>,
    ) -> u64 {
        let width_ns = std::mem::take(&mut self.width_ns);
        if std::mem::take(&mut self.count) != 1 {
            return width_ns;
        }
        if let Some(time) = time(self.last) {
            time.may_be_ns = time.may_be_ns.saturating_sub(width_ns);
            self.add_sure(self.last, width_ns);
        }
        0
    }

    /// Ends the thread, after its last interval.
    pub(super) fn end_thread(&mut self) {
        (self.interval, self.bounds) = (NO_INTERVAL, Bounds::UNKNOWN);
    }

    /// How long one was innermost for certain, and in addition at most.
    pub(super) fn bounds(&self, number: usize, time: SelfTime) -> (u64, u64) {
        (self.sure_ns.get(number).copied().unwrap_or_default(), time.may_be_ns)
    }

    /// Since the last event, this one was innermost, up to this time at least. The last interval ended.
    pub(super) fn wait(&mut self, number: usize, from_ns: u64) {
        self.add_sure(number, from_ns.saturating_sub(self.bounds.by_ns));
        self.wait_until(from_ns);
    }

    /// No frame counts before this time.
    pub(super) fn wait_until(&mut self, from_ns: u64) {
        self.bounds = Bounds { from_ns, by_ns: from_ns };
    }

    /// Takes out for how long one was innermost for certain.
    pub(super) fn take_sure(&mut self, number: usize) -> u64 {
        self.sure_ns.get_mut(number).map_or(0, std::mem::take)
    }

    /// Adds time for which one was innermost for certain.
    pub(super) fn add_sure(&mut self, number: usize, ns: u64) {
        if ns > 0 && number >= self.sure_ns.len() {
            self.sure_ns.resize(number + 1, 0);
        }
        if let Some(sure_ns) = self.sure_ns.get_mut(number) {
            *sure_ns = sure_ns.saturating_add(ns);
        }
    }
}
