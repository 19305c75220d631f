//! Leaves calls out by when they happened: those that took too little, and what lies before or behind a
//! stretch of time.
//!
//! Calls are held back until it is known that they are told, and then told as of when they were entered:
//! the clock goes back for that moment. Their callers were told before, so what is told stays in order.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::clock::Moment;
use crate::MethodId;
use crate::read::{Clock, Visit};

/// Which calls are told, by when they happened. Instants are nanoseconds since the start of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeLimits {
    /// What happened before is left out. Calls that began before and go on count from here.
    pub from_ns: u64,
    /// What happened later is left out. Calls that go on count up to here.
    pub to_ns: u64,
    /// Calls that took less are left out, however much of them lies between the two; what they called took
    /// less too.
    pub min_ns: u64,
}

impl TimeLimits {
    /// Nothing is left out.
    pub const NONE: Self = Self { from_ns: 0, to_ns: u64::MAX, min_ns: 0 };
}

/// Hands on the calls that are within limits, by a clock that is kept around it. Times it tells are cut off
/// at the limits, and so are bounds. One for each thread. Memory: 48 bytes for each open frame that is not
/// told.
#[derive(Debug)]
pub(crate) struct TimeLimited<'c, V> {
    clock: &'c Clock,
    limits: TimeLimits,
    /// The same in parts of a nanosecond.
    from: u64,
    to: u64,
    min: u64,
    inner: V,
    /// Open frames that are told, and those above that are not.
    emitted: u64,
    held: VecDeque<(MethodId, Moment)>,
    /// Frames entered behind the end, while something before it is held.
    later: u64,
    is_over: bool,
}

impl<V: Visit> Visit for TimeLimited<'_, V> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        self.pass();
        if self.is_over {
            return;
        }
        let now = self.clock.now();
        if now > self.to {
            self.later += 1;
        } else if self.min == 0 && now >= self.from {
            self.emitted += 1;
            self.emit(self.clock.moment(), |inner| inner.enter(method));
        } else {
            self.held.push_back((method, self.clock.moment()));
        }
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.pass();
        let mut left = count.get();
        let later = left.min(self.later);
        self.later -= later;
        left -= later;
        while left > 0 && self.held.pop_back().is_some() {
            left -= 1;
        }
        if let Some(emitted) = NonZeroU64::new(left.min(self.emitted)) {
            self.emitted -= emitted.get();
            self.emit(self.clock.moment(), |inner| inner.exit(emitted));
        }
    }
}

impl<'c, V: Visit> TimeLimited<'c, V> {
    /// Begins a thread.
    pub(crate) fn new(inner: V, clock: &'c Clock, limits: TimeLimits) -> Self {
        // The other way round there would be no instant at all.
        let limits = TimeLimits { to_ns: limits.to_ns.max(limits.from_ns), ..limits };
        Self {
            clock,
            limits,
            from: Clock::parts(limits.from_ns),
            to: Clock::parts(limits.to_ns),
            min: Clock::parts(limits.min_ns),
            inner,
            emitted: 0,
            held: VecDeque::new(),
            later: 0,
            is_over: false,
        }
    }

    /// Whether all that comes is left out: then nothing more need be read.
    #[must_use]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The thread has ended: frames that are open are told up to now, if that is long enough.
    pub(crate) fn end_thread(&mut self) {
        self.pass();
        self.held.clear();
        self.later = 0;
        if self.clock.now() > self.to {
            self.end();
        }
    }

    /// Tells what has taken long enough by now, and ends what is told where its time is over.
    #[inline]
    fn pass(&mut self) {
        let now = self.clock.now();
        if now < self.from || self.is_over {
            return;
        }
        while let Some(&(method, entered)) = self.held.front()
            && now.saturating_sub(entered.now) >= self.min
        {
            self.held.pop_front();
            self.emitted += 1;
            self.emit(entered, |inner| inner.enter(method));
        }
        if now > self.to && self.held.is_empty() {
            self.end();
        }
    }

    #[cold]
    fn end(&mut self) {
        self.is_over = true;
        self.later = 0;
        if let Some(emitted) = NonZeroU64::new(std::mem::take(&mut self.emitted)) {
            self.emit(self.clock.moment(), |inner| inner.exit(emitted));
        }
    }

    /// Hands something on as of a moment, as far as that is within the limits.
    #[inline]
    fn emit(&mut self, moment: Moment, event: impl FnOnce(&mut V)) {
        let now = self.clock.moment();
        let TimeLimits { from_ns, to_ns, .. } = self.limits;
        let mut cut = moment;
        cut.now = moment.now.clamp(self.from, self.to);
        cut.bounds.from_ns = moment.bounds.from_ns.clamp(from_ns, to_ns);
        cut.bounds.by_ns = moment.bounds.by_ns.clamp(from_ns, to_ns);
        self.clock.set(cut);
        event(&mut self.inner);
        self.clock.set(now);
    }
}
