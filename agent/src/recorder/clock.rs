//! The tick clock: looks again and again how far threads have come.
//!
//! A reading of a clock costs ten times what recording a call does. So threads read none: one of our own
//! looks at the position of each, and notes the time where it has changed. Nothing is added to a probe, and
//! a thread that sleeps inside a method is seen to do so.
//!
//! Time between two looks is what an event's time is uncertain by. It is longer than asked for where the
//! system does not let us run, where there are very many threads, where it is dear to wake one (some
//! virtual machines take 30 µs), and after a while in which nobody recorded anything: nobody shall pay for a
//! program that waits.

use std::thread;
use std::time::{Duration, Instant};

use super::Recorder;
use crate::time;

/// Looking, and being woken for it, may take this part of a core.
const SHARE: u32 = 40;
/// After so long without an event looks become rarer.
const PATIENCE: Duration = Duration::from_secs(2);
/// By this factor.
const RARER: u32 = 10;
/// The end of the recording is noticed after this time.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// Looks every `period` until the recording ends.
pub fn run(recorder: &Recorder, period: Duration) {
    let mut last_event = Instant::now();
    let mut due = last_event;
    let mut spent_ns = time::cpu_time();
    while recorder.is_on() {
        recorder.check_memory();
        let before = Instant::now();
        if recorder.look_at_threads() {
            last_event = before;
        }
        let now = Instant::now();
        let pause = if now - last_event < PATIENCE { period } else { period * RARER };
        let before_ns = std::mem::replace(&mut spent_ns, time::cpu_time());
        let look = Duration::from_nanos(spent_ns.saturating_sub(before_ns));
        // From when it was due: the system wakes us late, and half a period may be gone by then. But not
        // to make up for what was missed.
        due = (due + pause).max(now + period / 4).max(now + look * SHARE);
        sleep(recorder, due - now);
    }
}

/// Sleeps, but not long after the recording has ended: its files are closed when this thread ends too.
fn sleep(recorder: &Recorder, mut pause: Duration) {
    while pause > LONGEST_SLEEP && recorder.is_on() {
        thread::sleep(LONGEST_SLEEP);
        pause -= LONGEST_SLEEP;
    }
    thread::sleep(pause.min(LONGEST_SLEEP));
}
