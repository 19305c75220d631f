//! Leaves out calls by their time: those that are too short, and what lies outside a window of time.
//!
//! A call is held back until it is known to be long enough, and then passed on with the time of its entry:
//! the clock goes back for that moment. Its callers were passed on before, so the order is kept.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::clock::Moments;
use crate::MethodId;
use crate::read::{Clock, TimeAxis, Visit};

/// Which calls are passed on, by their time. Instants are nanoseconds since the start of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeLimits {
    /// Events before this are left out. Calls that began before and continue count from here.
    pub from_ns: u64,
    /// Events after this are left out. Calls that continue count up to here.
    pub to_ns: u64,
    /// Shorter calls are left out, however much of them lies between the two; their callees are shorter
    /// still.
    pub min_ns: u64,
}

impl TimeLimits {
    /// Leaves nothing out.
    pub const NONE: Self = Self { from_ns: 0, to_ns: u64::MAX, min_ns: 0 };
}

/// Passes on the calls that are within limits. It sets the clock to times and bounds that are cut off at the
/// limits. One for each thread. Memory: 48 bytes for each open frame that is held back.
#[derive(Debug)]
pub(crate) struct TimeLimited<'c, V> {
    clock: &'c Clock,
    limits: TimeLimits,
    /// The limits in fractions of a nanosecond.
    from: u64,
    to: u64,
    min: u64,
    inner: V,
    /// Open frames that were passed on, and those above that were not.
    emitted: u64,
    held: VecDeque<(MethodId, Moments)>,
    /// Both times at the last event, and the CPU time at the limits, as far as they have been passed.
    last: (u64, u64),
    cpu_from: u64,
    cpu_to: u64,
    /// Frames entered after the end, while an earlier frame is held back.
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
            self.emit(self.clock.moments(), |inner| inner.enter(method));
        } else {
            self.held.push_back((method, self.clock.moments()));
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
            self.emit(self.clock.moments(), |inner| inner.exit(emitted));
        }
    }
}

impl<'c, V: Visit> TimeLimited<'c, V> {
    /// Begins a thread.
    pub(crate) fn new(inner: V, clock: &'c Clock, limits: TimeLimits) -> Self {
        // Otherwise there would be no instant at all.
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
            last: (0, 0),
            cpu_from: 0,
            cpu_to: u64::MAX,
            later: 0,
            is_over: false,
        }
    }

    /// Returns whether everything that follows is left out, so that nothing more need be read.
    #[must_use]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Passes on what is within the limits up to the time that the clock shows.
    pub(crate) fn reach(&mut self) {
        self.pass();
    }

    /// The visitor.
    pub(crate) fn visitor(&mut self) -> &mut V {
        &mut self.inner
    }

    /// Continues where this many frames are open that the visitor knows, at a time within the limits that the clock shows.
    pub(crate) fn reopen(&mut self, frames: u64) {
        self.held.clear();
        self.emitted = frames;
        self.last = (self.clock.now(), self.clock.on(TimeAxis::Cpu));
    }

    /// Ends the thread: open frames that are long enough are passed on up to now.
    pub(crate) fn end_thread(&mut self) {
        self.pass();
        self.held.clear();
        self.later = 0;
        if self.clock.now() > self.to {
            self.end();
        }
    }

    /// Passes on the calls that are long enough by now, and ends those that were passed on where the window
    /// ends.
    #[inline]
    fn pass(&mut self) {
        let now = self.clock.now();
        self.pass_limits(now);
        if now < self.from || self.is_over {
            return;
        }
        while let Some(&(method, entered)) = self.held.front()
            && now.saturating_sub(entered.wall.now) >= self.min
        {
            self.held.pop_front();
            self.emitted += 1;
            self.emit(entered, |inner| inner.enter(method));
        }
        if now > self.to && self.held.is_empty() {
            self.end();
        }
    }

    /// Notes the CPU time at a limit that was passed since the last event.
    #[inline]
    fn pass_limits(&mut self, now: u64) {
        let last = std::mem::replace(&mut self.last, (now, self.clock.on(TimeAxis::Cpu)));
        if last.0 < self.from && self.from <= now {
            self.cpu_from = self.cpu_at(self.from, last);
        }
        if last.0 <= self.to && self.to < now {
            self.cpu_to = self.cpu_at(self.to, last);
        }
    }

    /// The CPU time at a wall-clock time between two events, as if both times advanced evenly where nothing else is
    /// known.
    #[cold]
    fn cpu_at(&self, wall: u64, last: (u64, u64)) -> u64 {
        let [end, begin] = self.clock.corners();
        let mut before = last;
        for after in [end, begin, self.last] {
            if after.0 < before.0 || after.1 < before.1 {
                continue;
            }
            if wall <= after.0 {
                let ran = u128::from(after.1 - before.1) * u128::from(wall - before.0);
                let ran = ran / u128::from((after.0 - before.0).max(1));
                return before.1 + u64::try_from(ran).unwrap_or_default();
            }
            before = after;
        }
        before.1
    }

    #[cold]
    fn end(&mut self) {
        self.is_over = true;
        self.later = 0;
        if let Some(emitted) = NonZeroU64::new(std::mem::take(&mut self.emitted)) {
            self.emit(self.clock.moments(), |inner| inner.exit(emitted));
        }
    }

    /// Passes something on with the time of a moment, cut off at the limits.
    #[inline]
    fn emit(&mut self, moments: Moments, event: impl FnOnce(&mut V)) {
        let now = self.clock.moments();
        let TimeLimits { from_ns, to_ns, .. } = self.limits;
        let wall = moments.wall.within(self.from, self.to, from_ns, to_ns);
        let (from, to) = (self.cpu_from, self.cpu_to.max(self.cpu_from));
        let cpu = moments.cpu.within(from, to, Clock::whole_ns(from), Clock::whole_ns(to));
        self.clock.set(Moments { wall, cpu, ..moments });
        event(&mut self.inner);
        self.clock.set(now);
    }
}
