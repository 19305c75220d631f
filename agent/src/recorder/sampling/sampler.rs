//! The sampler of `clock=tick`: samples how far threads have come.
//!
//! Reading a clock costs ten times what recording a call does. So threads read none: a thread of the agent
//! samples the position of each one, and stores the time if the position has changed. Probes need no extra
//! code, and a thread that sleeps inside a method is seen to sleep. For a thread that has advanced it also
//! stores how long the thread ran on a processor (`cpu_time.rs`).
//!
//! The time between two samples is the uncertainty of an event's time. It is longer than requested if the
//! system does not schedule this thread, if there are very many threads, if waking a thread is expensive (30
//! µs on some virtual machines), and after a while in which no thread recorded anything: a program that waits
//! should not pay for the clock.
//!
//! Samples come at random times, so that a program that repeats something at the same rate is not met at the same point
//! each time.

use std::thread;
use std::time::{Duration, Instant};

use crate::recorder::Recorder;
use crate::recorder::threads::cpu_time::Look;
use crate::sys::clock;

/// Sampling, and being woken for it, may use one part in this many of a core,
const SHARE: u32 = 40;
/// and of a core on which a thread of the program has to stop for it, which costs that thread as much again.
const STOLEN_SHARE: u32 = 200;
/// Whether threads have to stop is decided anew after this many samples.
const SAMPLES_A_LOOK: u32 = 16;
/// After this time without an event, samples become rarer,
const IDLE_AFTER: Duration = Duration::from_secs(2);
/// by this factor.
const RARER: u32 = 10;
/// The end of the recording is noticed within this time.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// Samples every `period` until the recording ends.
pub fn run(recorder: &Recorder, period: Duration) {
    let mut look = Look::new();
    let mut last_event = Instant::now();
    let mut due = last_event;
    let mut spent_ns = clock::cpu_time();
    let mut share = Share::new(clock::preemptions());
    let mut jitter = Jitter::default();
    while recorder.is_on() {
        recorder.check_memory();
        let before = Instant::now();
        if recorder.sample_threads(&look) {
            last_event = before;
        }
        look.leaves_threads_alone = !share.steals();
        let now = Instant::now();
        let pause = if now - last_event < IDLE_AFTER { period } else { period * RARER };
        let pause = jitter.next(pause);
        let before_ns = std::mem::replace(&mut spent_ns, clock::cpu_time());
        let cost = Duration::from_nanos(spent_ns.saturating_sub(before_ns));
        // Counted from when the sample was due: the system wakes this thread late, and half a period may have
        // passed. Missed samples are not made up for.
        due = (due + pause).max(now + period / 4).max(now + cost * share.next(clock::preemptions));
        sleep(recorder, due - now);
    }
}

/// Random numbers.
#[derive(Debug)]
struct Jitter(u32);

impl Default for Jitter {
    fn default() -> Self {
        Self(0x9E37_79B9)
    }
}

impl Jitter {
    /// Returns a time between a half and one and a half of this one.
    fn next(&mut self, of: Duration) -> Duration {
        // Marsaglia's xorshift: any number but 0 is followed by all others.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        of / 2 + of * (self.0 >> 16) / (1 << 16)
    }
}

/// Which part of a core may be used.
#[derive(Debug)]
struct Share {
    one_in: u32,
    samples: u32,
    preemptions: u64,
}

impl Share {
    /// Whether threads of the program have to stop for a sample.
    fn steals(&self) -> bool {
        self.one_in == STOLEN_SHARE
    }

    fn new(preemptions: u64) -> Self {
        Self { one_in: STOLEN_SHARE, samples: 0, preemptions }
    }

    /// Returns one part in how many, after another sample. `preemptions` counts how often threads had to stop so far.
    fn next(&mut self, preemptions: impl FnOnce() -> u64) -> u32 {
        self.samples += 1;
        if self.samples == SAMPLES_A_LOOK {
            self.samples = 0;
            let before = std::mem::replace(&mut self.preemptions, preemptions());
            // Some are for other reasons.
            let stolen = self.preemptions.saturating_sub(before) > u64::from(SAMPLES_A_LOOK / 4);
            self.one_in = if stolen { STOLEN_SHARE } else { SHARE };
        }
        self.one_in
    }
}

/// Sleeps, but wakes soon after the recording has ended: its files are closed when this thread ends too.
fn sleep(recorder: &Recorder, mut pause: Duration) {
    while pause > LONGEST_SLEEP && recorder.is_on() {
        thread::sleep(LONGEST_SLEEP);
        pause -= LONGEST_SLEEP;
    }
    thread::sleep(pause.min(LONGEST_SLEEP));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_is_used_where_threads_have_to_stop_for_it() {
        let mut share = Share::new(100);
        let mut after = |preemptions: u64| {
            (0..SAMPLES_A_LOOK).map(|_| share.next(|| preemptions)).last().unwrap()
        };
        assert_eq!(after(100), SHARE);
        assert_eq!(after(104), SHARE, "a few have other reasons");
        assert_eq!(after(120), STOLEN_SHARE);
        assert_eq!(after(136), STOLEN_SHARE);
        assert_eq!(after(136), SHARE);
    }

    #[test]
    fn pauses_differ_and_are_right_on_average() {
        let (mut jitter, period) = (Jitter::default(), Duration::from_millis(1));
        let pauses: Vec<_> = (0..10_000).map(|_| jitter.next(period)).collect();
        assert!(pauses.iter().all(|pause| (period / 2..period * 3 / 2).contains(pause)));
        let sum: Duration = pauses.iter().sum();
        assert!((period * 9_900..period * 10_100).contains(&sum), "{sum:?}");
        // As many in each tenth: none follows from those before.
        let mut tenths = [0; 10];
        let mut at = Duration::ZERO;
        for pause in pauses {
            at += pause;
            tenths[usize::try_from(at.as_micros() % 1000 / 100).unwrap()] += 1;
        }
        assert!(tenths.iter().all(|count| (900..1100).contains(count)), "{tenths:?}");
    }
}
