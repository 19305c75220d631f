//! Clocks of the system, in nanoseconds.

#![expect(
    unsafe_code,
    reason = "the CPU clock of another thread, and counts of switches, have no safe form"
)]

use std::mem::MaybeUninit;

use rustix::time::{ClockId, clock_gettime};

/// Reads the clock of `System.nanoTime`, which never goes backwards.
pub(crate) fn nano_time() -> u64 {
    read(ClockId::Monotonic)
}

/// Returns how long the calling thread has run on a processor, in its whole life.
pub(crate) fn cpu_time() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// Returns how long all threads of the process have run on processors.
pub(crate) fn process_cpu_time() -> u64 {
    read(ClockId::ProcessCPUTime)
}

/// Returns how often the system took a processor from a thread of the process that wanted to run on, to run
/// another one.
pub(crate) fn preemptions() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: there is room for the result.
    let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: the call has stored the result if it returned 0.
    let usage = (result == 0).then(|| unsafe { usage.assume_init() });
    usage.and_then(|usage| u64::try_from(usage.ru_nivcsw).ok()).unwrap_or_default()
}

/// The CPU clock of a thread, which any thread of the process can read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    /// That of the calling thread, if the system has one.
    pub(crate) fn of_current() -> Option<Self> {
        let mut clock = MaybeUninit::uninit();
        // SAFETY: has no preconditions.
        let thread = unsafe { libc::pthread_self() };
        // SAFETY: the calling thread lives, and there is room for the clock's number.
        let result = unsafe { libc::pthread_getcpuclockid(thread, clock.as_mut_ptr()) };
        // SAFETY: the call has stored the number if it returned 0.
        (result == 0).then(|| Self(unsafe { clock.assume_init() }))
    }

    /// That of a thread of this process, by its number in the system.
    pub(crate) const fn of_os_thread(os_thread: i32) -> Self {
        // The complement of the number, and the bits for a thread and its time on a processor: what
        // pthread_getcpuclockid computes.
        Self(!os_thread << 3 | 6)
    }

    /// Its number.
    pub(crate) const fn number(self) -> libc::clockid_t {
        self.0
    }

    /// Returns how long the thread has run on a processor, in its whole life; `None` if it has ended.
    pub(crate) fn read(self) -> Option<u64> {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: a number that the system checks, and room for the time.
        let result = unsafe { libc::clock_gettime(self.0, time.as_mut_ptr()) };
        // SAFETY: the call has stored the time if it returned 0.
        let time = (result == 0).then(|| unsafe { time.assume_init() })?;
        let (seconds, ns) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
        Some(seconds.wrapping_mul(1_000_000_000).wrapping_add(ns))
    }
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let (seconds, ns) = (time.tv_sec.cast_unsigned(), time.tv_nsec.cast_unsigned());
    seconds.wrapping_mul(1_000_000_000).wrapping_add(ns)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn both_clocks_count_nanoseconds() {
        let outer = Instant::now();
        let start = nano_time();
        let (inner, cpu_start) = (Instant::now(), cpu_time());
        while cpu_time() - cpu_start < 1_000_000 {}
        let (cpu, inner) = (cpu_time() - cpu_start, inner.elapsed());
        let elapsed = Duration::from_nanos(nano_time() - start);
        assert!(inner <= elapsed && elapsed <= outer.elapsed(), "{inner:?}, {elapsed:?}");
        // The kernel measures CPU time by another clock, which may run a little faster.
        assert!(Duration::from_nanos(cpu) <= elapsed + elapsed / 100, "{cpu} ns, {elapsed:?}");
    }

    #[test]
    fn preemptions_of_every_thread_count() {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let own = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
        let own: u64 = own.unwrap().trim().parse().unwrap();
        let before = preemptions();
        assert!(own <= before && before <= preemptions(), "{own}, {before}");
    }
}
