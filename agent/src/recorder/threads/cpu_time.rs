//! How long threads ran on a processor.
//!
//! The sampler reads the CPU clock of a thread whenever it stores a sample of it, which takes 0.3 to 0.8 µs.
//! Of a thread that stays where it is it is read too, to know whether it runs there or waits: again and again while it runs,
//! and more and more rarely while it waits, so threads that wait long cost nothing. A thread that hands over stores a sample of itself;
//! if it was sampled shortly before, it counts as having run since then, and the next reading corrects that.
//!
//! A virtual thread has no such clock, and has a share of what its [carriers](super::carriers) ran.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use flow_codec::ThreadId;

use super::carriers::Carriers;
use crate::sys::clock::{self, ThreadClock};

/// A thread that hands over and was not sampled for longer than this may have waited, or run.
const MAX_ASSUMED_NS: u64 = 250_000;
const NS_A_US: u64 = 1_000;

/// The CPU time of one thread.
#[derive(Debug)]
pub(in crate::recorder) struct CpuTime {
    runs: Runs,
    /// How much of its own clock was counted, and what that showed last; of a virtual thread, the latter is the sum of what was
    /// counted.
    counted_us: AtomicU64,
    read_ns: AtomicU64,
}

/// How is known for how long a thread runs.
#[derive(Debug)]
enum Runs {
    /// By its clock.
    Own(ThreadClock),
    /// A virtual thread, on carriers.
    On(Arc<Carriers>, ThreadId),
    Unknown,
}

impl CpuTime {
    /// CPU time of a thread without times.
    pub(in crate::recorder) fn unknown() -> Self {
        Self::new(Runs::Unknown)
    }

    /// CPU time of the calling thread, from now on.
    pub(in crate::recorder) fn of_current() -> Self {
        let cpu = Self::new(ThreadClock::of_current().map_or(Runs::Unknown, Runs::Own));
        cpu.skip();
        cpu
    }

    /// CPU time of a virtual thread, from now on.
    pub(in crate::recorder) fn of_virtual(thread: ThreadId, carriers: &Arc<Carriers>) -> Self {
        Self::new(Runs::On(Arc::clone(carriers), thread))
    }

    fn new(runs: Runs) -> Self {
        Self { runs, counted_us: AtomicU64::new(0), read_ns: AtomicU64::new(0) }
    }

    /// Does not count what the calling thread, whose time this is, ran until now.
    pub(in crate::recorder) fn skip(&self) {
        if let Runs::Own(_) = self.runs {
            self.counted_us.store(clock::cpu_time() / NS_A_US, Ordering::Relaxed);
        }
    }

    /// Returns for how long the thread has run, in microseconds that were not counted before. It has been at
    /// a new position for at most this time.
    pub(in crate::recorder) fn ran_us(&self, since_ns: u64) -> u32 {
        match &self.runs {
            Runs::Own(clock) => self.read_us(*clock),
            Runs::On(carriers, thread) => {
                self.count_ns(carriers.ran_ns(*thread, since_ns).unwrap_or_default())
            }
            Runs::Unknown => in_u32(since_ns / NS_A_US),
        }
    }

    /// Returns whether the thread has not run since its clock was read last. The clock of a thread that runs has advanced in
    /// the time that it takes to read it.
    pub(in crate::recorder) fn stands_still(&self) -> bool {
        let clock = match &self.runs {
            Runs::Own(clock) => clock,
            Runs::On(carriers, thread) => return !carriers.carry(*thread),
            Runs::Unknown => return false,
        };
        let ns = clock.read().unwrap_or_default();
        ns == self.read_ns.swap(ns, Ordering::Relaxed)
    }

    /// Returns for how long a thread that has not advanced has run since then, at most this time if it is a virtual one; `None`
    /// if that is not known, and of a virtual thread that does not run.
    pub(in crate::recorder) fn ran_in_place_us(&self, since_ns: u64) -> Option<u32> {
        match &self.runs {
            Runs::Own(clock) => Some(self.read_us(*clock)),
            Runs::On(carriers, thread) => {
                carriers.ran_ns(*thread, since_ns).map(|ns| self.count_ns(ns))
            }
            Runs::Unknown => None,
        }
    }

    /// The same for a thread that hands over. Its clock is read only if it may have run much more or less than
    /// `since_ns`: if it stayed at one position for a while, or was not sampled for long.
    pub(in crate::recorder) fn ran_us_until_handed_over(
        &self,
        since_ns: u64,
        has_stayed: bool,
    ) -> u32 {
        let assumed_us = since_ns / NS_A_US;
        let Runs::Own(clock) = self.runs else { return self.ran_us(since_ns) };
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

    /// Counts more nanoseconds, and returns the whole microseconds that this adds.
    fn count_ns(&self, ns: u64) -> u32 {
        let before_ns = self.read_ns.fetch_add(ns, Ordering::Relaxed);
        in_u32((before_ns + ns) / NS_A_US - before_ns / NS_A_US)
    }
}

fn in_u32(us: u64) -> u32 {
    u32::try_from(us).unwrap_or(u32::MAX - 1)
}

/// How the sampler takes its samples of all threads.
#[derive(Debug)]
pub(in crate::recorder) struct Look {
    /// Whether threads do not have to stop for it, so that one whose clock stands still waits.
    pub(in crate::recorder) leaves_threads_alone: bool,
    processors: usize,
}

impl Look {
    pub(in crate::recorder) fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self { leaves_threads_alone: false, processors }
    }

    /// Returns whether a thread whose clock stands still counts as waiting. With one processor it may have stopped for the
    /// sampler. With more, one that runs on another processor does not stand still, and such threads show what runs.
    pub(in crate::recorder) fn shows_waits(&self) -> bool {
        self.leaves_threads_alone || self.processors > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_run_as_long_as_its_clock_says_whatever_was_assumed() {
        let before_us = clock::cpu_time() / NS_A_US;
        let cpu = CpuTime::of_current();
        let start_us = clock::cpu_time() / NS_A_US;
        let mut sum = u64::from(cpu.ran_us_until_handed_over(200_000, false));
        assert_eq!(sum, 200);
        // It may have waited.
        sum += u64::from(cpu.ran_us_until_handed_over(MAX_ASSUMED_NS + 1, false));
        sum += u64::from(cpu.ran_us_until_handed_over(200_000, true));
        while clock::cpu_time() / NS_A_US - start_us < 3_000 {
            sum += u64::from(cpu.ran_us(0));
        }
        sum += u64::from(cpu.ran_us(0));
        let most_us = clock::cpu_time() / NS_A_US - before_us;
        assert!((2_999..=most_us + 1).contains(&sum), "{sum} of {most_us}");
        // What was not recorded.
        while clock::cpu_time() / NS_A_US - start_us < 6_000 {}
        cpu.skip();
        assert!(cpu.ran_us(0) < 3_000);
    }

    #[test]
    fn virtual_threads_have_whole_microseconds_of_what_they_ran() {
        let cpu = CpuTime::unknown();
        assert_eq!([cpu.count_ns(700), cpu.count_ns(700), cpu.count_ns(2_600)], [0, 1, 3]);
    }
}
