//! Clocks of the system, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};

/// Reads the clock of `System.nanoTime`, which never goes backwards.
pub(crate) fn nano_time() -> u64 {
    read(ClockId::Monotonic)
}

/// Returns how long the calling thread has run on a processor, in its whole life.
pub(crate) fn cpu_time() -> u64 {
    read(ClockId::ThreadCPUTime)
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
}
