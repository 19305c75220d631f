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

use std::thread;
use std::time::{Duration, Instant};

use super::Recorder;
use super::cpu_time::Look;
use crate::sys::clock;

/// Sampling, and being woken for it, may use one part in this many of a core.
const SHARE: u32 = 40;
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
    while recorder.is_on() {
        recorder.check_memory();
        let before = Instant::now();
        if recorder.sample_threads(&mut look) {
            last_event = before;
        }
        let now = Instant::now();
        let pause = if now - last_event < IDLE_AFTER { period } else { period * RARER };
        let before_ns = std::mem::replace(&mut spent_ns, clock::cpu_time());
        let cost = Duration::from_nanos(spent_ns.saturating_sub(before_ns));
        // Counted from when the sample was due: the system wakes this thread late, and half a period may have
        // passed. Missed samples are not made up for.
        due = (due + pause).max(now + period / 4).max(now + cost * SHARE);
        sleep(recorder, due - now);
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
