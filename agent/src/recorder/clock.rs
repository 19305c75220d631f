//! The tick clock: looks again and again how far threads have come.
//!
//! A reading of a clock costs ten times what recording a call does. So threads read none: one of our own
//! looks at the position of each, and notes the time where it has changed. Nothing is added to a probe, and
//! a thread that sleeps inside a method is seen to do so.
//!
//! Time between two looks is what an event's time is uncertain by. It is longer than asked for where the
//! system does not let us run, where there are very many threads, and after a while in which nobody
//! recorded anything: nobody shall pay for a program that waits.

use std::thread;
use std::time::{Duration, Instant};

use super::Recorder;

/// Looking may take this part of a core.
const SHARE: u32 = 20;
/// After so many looks without an event they become rarer.
const PATIENCE: u32 = 1000;
/// By this factor.
const RARER: u32 = 10;

/// Looks every `period` until the recording ends.
pub fn run(recorder: &Recorder, period: Duration) {
    let mut idle = 0_u32;
    while recorder.is_on() {
        let before = Instant::now();
        idle = if recorder.look_at_threads() { 0 } else { idle.saturating_add(1) };
        let took = before.elapsed();
        let pause = if idle < PATIENCE { period } else { period * RARER };
        thread::sleep(pause.max(took * SHARE).saturating_sub(took));
    }
}
