//! The calls of a thread with their times, where the trace has a clock.

use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::read::{Clock, ThreadFile, Trace, Visit};

use super::gather::{Gather, ThreadSums};
use crate::output::Progress;
use crate::reading::{Chosen, Reading, visit_timed};

/// What times are in.
pub(super) const UNIT: &str = "ns";

/// Reads a thread.
pub(super) fn read(
    trace: &Trace,
    file: &ThreadFile,
    chosen: &Chosen,
    progress: &mut Progress,
    gather: &mut Gather,
) -> (Reading, ThreadSums) {
    let thread = trace.threads.get(file.id);
    let clock = Clock::default();
    let start_ns = thread.and_then(|thread| thread.start_ns).unwrap_or(0);
    let mut timed = Timed { clock: &clock, start_ns, gather };
    let reading = visit_timed(file, chosen, progress, &clock, &mut timed);
    let last_ns = timed.now();
    let end_ns = thread.and_then(|thread| thread.end_ns);
    let trace_end = || Some(trace.manifest.as_ref()?.end.as_ref()?.at_ns);
    // Who is inside something stays there.
    let end = end_ns.or_else(trace_end).filter(|_| gather.open_frames() > 0).unwrap_or(0);
    let end = end.max(last_ns).min(chosen.limits.to_ns);
    (reading, gather.end_thread_at(end))
}

/// Hands on calls with the instants at which they are thought to have happened.
struct Timed<'a> {
    clock: &'a Clock,
    /// Of a thread without marks nothing else is known.
    start_ns: u64,
    gather: &'a mut Gather,
}

impl Timed<'_> {
    fn now(&self) -> u64 {
        Clock::to_ns(self.clock.now().into()).max(self.start_ns)
    }
}

impl Visit for Timed<'_> {
    fn enter(&mut self, method: MethodId) {
        let now = self.now();
        self.gather.enter_at(method, now);
    }

    fn exit(&mut self, count: NonZeroU64) {
        let now = self.now();
        self.gather.leave_all_at(count, now);
    }
}
