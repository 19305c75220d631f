//! `sample`: the stacks of threads, at intervals. Alone (`engine=none`) or beside an engine that sees calls.
//!
//! Signals interrupt the threads, and their handler stores what the JVM finds (`sys/sampling`). One thread of the agent runs
//! [`write_samples`]: it resolves what handlers stored, reads the stacks of threads that are not interrupted because they are
//! in native code or wait, and writes all of it. So what a kill costs is what happened
//! since this thread last wrote.

use std::time::Duration;

use flow_codec::ThreadId;
use flow_codec::format::samples::{Cause, SampleClock};

use crate::recorder::{DescribeClasses, Recorder, Stacks};
use crate::sys::sampling::{Looked, Missed};
use crate::sys::stack_ring::Shot;
use crate::sys::{clock, sampling};

/// How often samples are written to the file, and how often the ring is emptied if it cannot be filled sooner.
const WRITE_PERIOD: Duration = Duration::from_millis(100);
const DRAIN_PERIOD: Duration = Duration::from_millis(50);
/// How often it is emptied with short intervals.
const SHORT_PERIOD: Duration = Duration::from_millis(20);
const SHORT_INTERVAL: Duration = Duration::from_millis(5);
/// How often the threads that wait get their sample, and the state is checked.
const CHECK_PERIOD: Duration = Duration::from_secs(1);
/// Visiting all threads may use one part in this many of a core.
const SHARE: u32 = 50;

/// Writes samples until the recording ends.
pub fn write_samples(recorder: &Recorder, stacks: &Stacks, vm: &impl DescribeClasses) {
    let interval = Duration::from_nanos(stacks.sampling().interval_ns);
    let is_wall = stacks.sampling().clock == SampleClock::Wall;
    let drain_period = if interval < SHORT_INTERVAL { SHORT_PERIOD } else { DRAIN_PERIOD };
    let mut looks = Looks { interval, next_ns: clock::nano_time(), counted_ns: clock::nano_time() };
    let mut checked = std::time::Instant::now();
    let mut drained = checked;
    loop {
        let pause = if is_wall { looks.pause() } else { drain_period };
        let continues = stacks.wait(pause.max(Duration::from_micros(50))) && recorder.is_on();
        if is_wall && recorder.is_paused() {
            looks.skip();
        } else if is_wall && continues {
            looks.look(recorder, stacks, vm);
        }
        if !continues || drained.elapsed() >= drain_period || is_half_full() {
            drained = std::time::Instant::now();
            drain(recorder, stacks, vm);
            stacks.write(recorder, vm, if continues { WRITE_PERIOD } else { Duration::ZERO });
        }
        if checked.elapsed() >= CHECK_PERIOD {
            checked = std::time::Instant::now();
            stacks.add_waiting(clock::nano_time());
            stacks.check_classes(vm, false);
            sampling::remove_ended();
            if !sampling::is_ours() {
                recorder
                    .note_loss("another library replaced the handler of the signal for samples");
                sampling::remove_all_threads();
            }
        }
        if !continues {
            break;
        }
    }
    sampling::remove_all_threads();
    // Handlers that were running have finished now, or find no room later.
    drain(recorder, stacks, vm);
    stacks.add_waiting(clock::nano_time());
    stacks.write(recorder, vm, Duration::ZERO);
}

fn is_half_full() -> bool {
    sampling::ring().is_some_and(crate::sys::stack_ring::StackRing::is_half_full)
}

fn drain(recorder: &Recorder, stacks: &Stacks, vm: &impl DescribeClasses) {
    let Some(ring) = sampling::ring() else { return };
    // Not for ever, if handlers are faster.
    for _ in 0..2 * ring.len() {
        if !ring.take(|shot, frames| stacks.add(recorder, vm, shot, frames)) {
            break;
        }
    }
    let at_ns = clock::nano_time();
    sampling::take_missed(|thread, why, intervals| {
        let cause = match why {
            Missed::RingFull => Cause::NO_ROOM,
            Missed::Cramped => Cause::SMALL_STACK,
        };
        stacks.add_missed(ThreadId::new(thread), at_ns, cause, intervals);
    });
}

/// When threads are visited, with the clock of time that passes.
#[derive(Debug)]
struct Looks {
    interval: Duration,
    /// When the next look is due.
    next_ns: u64,
    /// Up to when intervals were counted.
    counted_ns: u64,
}

impl Looks {
    fn interval_ns(&self) -> u64 {
        u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX).max(1)
    }

    fn pause(&self) -> Duration {
        Duration::from_nanos(self.next_ns.saturating_sub(clock::nano_time())).min(CHECK_PERIOD)
    }

    /// Does not count the time until now.
    fn skip(&mut self) {
        self.counted_ns = clock::nano_time();
        self.next_ns = self.counted_ns + self.interval_ns();
    }

    fn look(&mut self, recorder: &Recorder, stacks: &Stacks, vm: &impl DescribeClasses) {
        let (now_ns, used_ns) = (clock::nano_time(), clock::cpu_time());
        if now_ns < self.next_ns {
            return;
        }
        let interval_ns = self.interval_ns();
        let intervals = now_ns.saturating_sub(self.counted_ns) / interval_ns;
        self.counted_ns += intervals * interval_ns;
        if intervals > 0 {
            let mut apart = Vec::new();
            sampling::interrupt_threads(intervals, |thread, looked| match looked {
                Looked::Waited => stacks.add_waited(ThreadId::new(thread), intervals),
                Looked::Apart { intervals, ran_us } => apart.push((thread, intervals, ran_us)),
                Looked::Interrupted => {}
            });
            if !apart.is_empty() {
                // Earlier samples of these threads come first.
                drain(recorder, stacks, vm);
            }
            for (thread, intervals, ran_us) in apart {
                let at_ns = clock::nano_time();
                let shot = Shot { thread, carrier: thread, at_ns, intervals, ran_us, frames: 0 };
                stacks.add_apart(recorder, vm, shot);
            }
        }
        let cost_ns = clock::cpu_time().saturating_sub(used_ns);
        let after_cost = now_ns + cost_ns.saturating_mul(SHARE.into());
        self.next_ns = (self.counted_ns + interval_ns).max(after_cost);
    }
}
