//! How long threads ran on a processor.
//!
//! The sampler reads the CPU clock of a thread whenever it stores a sample of it, which takes 0.3 to 0.8 µs.
//! Of a thread that stays where it is it is read too, to know whether it runs there or waits: again and again while it runs,
//! and more and more rarely while it waits, so threads that wait long cost nothing. A thread that hands over stores a sample of itself;
//! if it was sampled shortly before, it counts as having run since then, and the next reading corrects that.
//!
//! A virtual thread has no such clock: it runs on the threads of others. If it has advanced, it counts as
//! having run since it was last seen at its old position; if more virtual threads did so than there are
//! processors, they share these.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::sys::clock::{self, ThreadClock};

/// A thread that hands over and was not sampled for longer than this may have waited, or run.
const MAX_ASSUMED_NS: u64 = 250_000;
const NS_A_US: u64 = 1_000;

/// The CPU time of one thread.
#[derive(Debug)]
pub(in crate::recorder) struct CpuTime {
    /// `None`: it has none.
    clock: Option<ThreadClock>,
    /// How much of the clock was counted, and what it showed last.
    counted_us: AtomicU64,
    read_ns: AtomicU64,
}

impl CpuTime {
    /// That of the calling thread, from now on.
    pub(in crate::recorder) fn of_current(is_virtual: bool) -> Self {
        let clock = if is_virtual { None } else { ThreadClock::of_current() };
        let cpu = Self { clock, counted_us: AtomicU64::new(0), read_ns: AtomicU64::new(0) };
        cpu.skip();
        cpu
    }

    /// Does not count what the calling thread, whose time this is, ran until now.
    pub(in crate::recorder) fn skip(&self) {
        if self.clock.is_some() {
            self.counted_us.store(clock::cpu_time() / NS_A_US, Ordering::Relaxed);
        }
    }

    /// Returns for how long the thread has run, in microseconds that were not counted before. It has been at
    /// a new position for at most this time.
    pub(in crate::recorder) fn ran_us(&self, since_ns: u64, look: &mut Look) -> u32 {
        match self.clock {
            Some(clock) => self.read_us(clock),
            None => in_u32(look.share_ns(since_ns) / NS_A_US),
        }
    }

    /// Returns whether the thread has not run since its clock was read last. The clock of a thread that runs has advanced in
    /// the time that it takes to read it.
    pub(in crate::recorder) fn stands_still(&self) -> bool {
        let Some(clock) = self.clock else { return false };
        let ns = clock.read().unwrap_or_default();
        ns == self.read_ns.swap(ns, Ordering::Relaxed)
    }

    /// Returns for how long a thread that has not advanced has run since then; `None` if it has no clock.
    pub(in crate::recorder) fn ran_in_place_us(&self) -> Option<u32> {
        self.clock.map(|clock| self.read_us(clock))
    }

    /// The same for a thread that hands over. Its clock is read only if it may have run much more or less than
    /// `since_ns`: if it stayed at one position for a while, or was not sampled for long.
    pub(in crate::recorder) fn ran_us_until_handed_over(
        &self,
        since_ns: u64,
        has_stayed: bool,
    ) -> u32 {
        let assumed_us = since_ns / NS_A_US;
        let Some(clock) = self.clock else { return in_u32(assumed_us) };
        if has_stayed || since_ns > MAX_ASSUMED_NS {
            return self.read_us(clock);
        }
        self.counted_us.fetch_add(assumed_us, Ordering::Relaxed);
        in_u32(assumed_us)
    }

    fn read_us(&self, clock: ThreadClock) -> u32 {
        // No time for a thread that has just died.
        let ns = clock.read().unwrap_or_default();
        self.read_ns.store(ns, Ordering::Relaxed);
        let us = ns / NS_A_US;
        let counted = self.counted_us.fetch_max(us, Ordering::Relaxed);
        in_u32(us.saturating_sub(counted))
    }
}

fn in_u32(us: u64) -> u32 {
    u32::try_from(us).unwrap_or(u32::MAX - 1)
}

/// One look at all threads, and what is known from the one before.
#[derive(Debug)]
pub(in crate::recorder) struct Look {
    /// Whether threads do not have to stop for it, so that one whose clock stands still waits.
    pub(in crate::recorder) leaves_threads_alone: bool,
    processors: u64,
    /// Virtual threads that had advanced in the previous look, and so far in this one.
    before: u64,
    now: u64,
}

impl Look {
    pub(in crate::recorder) fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, |count| count.get() as u64);
        Self { leaves_threads_alone: false, processors, before: 0, now: 0 }
    }

    /// Returns whether a thread whose clock stands still counts as waiting. With one processor it may have stopped for the
    /// sampler. With more, one that runs on another processor does not stand still, and such threads show what runs.
    pub(in crate::recorder) fn shows_waits(&self) -> bool {
        self.leaves_threads_alone || self.processors > 1
    }

    pub(in crate::recorder) fn begin(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }

    /// Returns how much of this time a virtual thread may have had a processor.
    fn share_ns(&mut self, since_ns: u64) -> u64 {
        self.now += 1;
        let sharing = self.before.max(self.now).max(self.processors);
        since_ns / sharing * self.processors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_run_as_long_as_its_clock_says_whatever_was_assumed() {
        let before_us = clock::cpu_time() / NS_A_US;
        let cpu = CpuTime::of_current(false);
        let start_us = clock::cpu_time() / NS_A_US;
        let mut look = Look::new();
        let mut sum = u64::from(cpu.ran_us_until_handed_over(200_000, false));
        assert_eq!(sum, 200);
        // It may have waited.
        sum += u64::from(cpu.ran_us_until_handed_over(MAX_ASSUMED_NS + 1, false));
        sum += u64::from(cpu.ran_us_until_handed_over(200_000, true));
        while clock::cpu_time() / NS_A_US - start_us < 3_000 {
            sum += u64::from(cpu.ran_us(0, &mut look));
        }
        sum += u64::from(cpu.ran_us(0, &mut look));
        let most_us = clock::cpu_time() / NS_A_US - before_us;
        assert!((2_999..=most_us + 1).contains(&sum), "{sum} of {most_us}");
        // What was not recorded.
        while clock::cpu_time() / NS_A_US - start_us < 6_000 {}
        cpu.skip();
        assert!(cpu.ran_us(0, &mut look) < 3_000);
    }

    #[test]
    fn virtual_threads_share_the_processors() {
        let mut look = Look { processors: 2, ..Look::new() };
        let cpu = CpuTime::of_current(true);
        let ran = |look: &mut Look| cpu.ran_us(120_000, look);
        look.begin();
        assert_eq!([ran(&mut look), ran(&mut look), ran(&mut look)], [120, 120, 80]);
        look.begin();
        assert_eq!([ran(&mut look), ran(&mut look)], [80, 80]);
        look.begin();
        assert_eq!(ran(&mut look), 120);
    }
}
