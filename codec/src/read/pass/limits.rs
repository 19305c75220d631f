//! Leaves out calls by their time: those that are too short, and what lies outside a window of time.
//!
//! A call is held back until it is known to be long enough, and then passed on with the time of its entry:
//! the clock goes back for that moment. Its callers were passed on before, so the order is kept.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::clock::Moments;
use crate::MethodId;
use crate::read::{Clock, Elapsed, TimeAxis, Visit};

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

/// Passes on the calls that are within limits. It sets the clock to times that are cut off at the limits. One for each thread. Memory: 64 bytes for each open frame that is held back.
#[derive(Debug)]
pub(crate) struct TimeLimited<'c, V> {
    clock: &'c Clock,
    limits: TimeLimits,
    inner: V,
    /// Open frames that were passed on, and those above that were not.
    emitted: u64,
    held: VecDeque<(MethodId, Moments)>,
    /// The last event, and both limits as far as they have been passed.
    last: Moments,
    from: Moments,
    to: Moments,
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
        let now = self.clock.now(TimeAxis::Wall).ns;
        if now > self.limits.to_ns {
            self.later += 1;
        } else if self.limits.min_ns == 0 && now >= self.limits.from_ns {
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
            inner,
            emitted: 0,
            held: VecDeque::new(),
            last: Moments::default(),
            from: Moments::default(),
            to: Moments {
                wall: Elapsed::of_ns(u64::MAX),
                cpu: Elapsed::of_ns(u64::MAX),
                ..Moments::default()
            },
            later: 0,
            is_over: false,
        }
    }

    /// Returns whether everything that follows is left out, so that nothing more need be read.
    #[must_use]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Ends the thread: open frames that are long enough are passed on up to now.
    pub(crate) fn end_thread(&mut self) {
        self.pass();
        self.held.clear();
        self.later = 0;
        if self.clock.now(TimeAxis::Wall).ns > self.limits.to_ns {
            self.end();
        }
    }

    /// Passes on the calls that are long enough by now, and ends those that were passed on where the window
    /// ends.
    #[inline]
    fn pass(&mut self) {
        let now = self.clock.now(TimeAxis::Wall).ns;
        self.pass_limits(now);
        if now < self.limits.from_ns || self.is_over {
            return;
        }
        while let Some(&(method, entered)) = self.held.front()
            && now.saturating_sub(entered.wall.ns) >= self.limits.min_ns
        {
            self.held.pop_front();
            self.emitted += 1;
            self.emit(entered, |inner| inner.enter(method));
        }
        if now > self.limits.to_ns && self.held.is_empty() {
            self.end();
        }
    }

    /// Notes what has passed up to a limit that was passed since the last event.
    #[inline]
    fn pass_limits(&mut self, now: u64) {
        let last = std::mem::replace(&mut self.last, self.clock.moments());
        let TimeLimits { from_ns, to_ns, .. } = self.limits;
        if last.wall.ns < from_ns && from_ns <= now {
            // The sample with the time around the limit has a part after it.
            self.from = self.at_limit(from_ns, last, last);
        }
        if last.wall.ns <= to_ns && to_ns < now {
            // It has a part before the limit.
            let samples_of = if last.wall.ns < to_ns { self.last } else { last };
            self.to = self.at_limit(to_ns, last, samples_of);
        }
    }

    /// What has passed up to a limit after the last event but one, as if both times had advanced evenly since then.
    #[cold]
    fn at_limit(&self, wall_ns: u64, before: Moments, samples_of: Moments) -> Moments {
        let ran = u128::from(self.last.cpu.ns.saturating_sub(before.cpu.ns));
        let share = u128::from(wall_ns.saturating_sub(before.wall.ns)) * ran;
        let share = share / u128::from(self.last.wall.ns.saturating_sub(before.wall.ns).max(1));
        let cpu_ns = before.cpu.ns + u64::try_from(share).unwrap_or_default();
        let Moments { wall, cpu, .. } = samples_of;
        let (wall, cpu) = (Elapsed { ns: wall_ns, ..wall }, Elapsed { ns: cpu_ns, ..cpu });
        Moments { wall, cpu, ..before }
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
        let wall = within(moments.wall, self.from.wall, self.to.wall);
        let cpu = within(moments.cpu, self.from.cpu, self.to.cpu);
        self.clock.set(Moments { wall, cpu, ..moments });
        event(&mut self.inner);
        self.clock.set(now);
    }
}

/// Cuts off what has passed outside of limits.
fn within(time: Elapsed, from: Elapsed, to: Elapsed) -> Elapsed {
    if time.ns <= from.ns {
        from
    } else if time.ns >= to.ns {
        to
    } else {
        time
    }
}
