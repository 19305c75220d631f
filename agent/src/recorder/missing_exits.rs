//! Finds frames that a thread has left without an exit: `Thread.stop` may do that, and debuggers.
//!
//! Where a thread hands over, it compares the frames that are open by its events with those that the JVM finds on its
//! stack. If there are too many, exits are missing, and nobody knows which. So the thread leaves all frames, as for
//! a pause, and calls that follow are at the right depth again.
//!
//! The stack may hold frames that are not recorded and look as if they were. So this finds too few of these cases, but
//! finds none where no exit is missing.

use super::threads::out::RealFrames;
use super::{Recorder, ThreadRecorder};

/// Threads that run for a shorter time are not compared.
const FIRST_AFTER_NS: u64 = 10_000_000;
/// The JVM walks the whole stack. This many times as long as that took, it is not asked again.
const REST: u64 = 100;

impl Recorder {
    /// Called before an event of the current thread that has no room is appended: asks now and then how many recorded frames
    /// the thread has, at most. `count` returns `None` if that is not known. Returns whether it was asked.
    pub fn look_at_frames(
        &self,
        thread: &ThreadRecorder,
        count: impl FnOnce() -> Option<u32>,
    ) -> bool {
        let began_ns = self.elapsed_ns();
        {
            let mut out = thread.lock_out();
            let not_before_ns = out.real.not_before_ns;
            if not_before_ns == 0 {
                out.real.not_before_ns = began_ns + FIRST_AFTER_NS;
            }
            if not_before_ns == 0 || began_ns < not_before_ns || out.is_paused || !self.is_on() {
                return false;
            }
        }
        // Without the lock: the JVM may stop the thread.
        let at_most = count();
        let ended_ns = self.elapsed_ns();
        let rest_ns = ended_ns.saturating_sub(began_ns).saturating_mul(REST);
        let not_before_ns = ended_ns.saturating_add(rest_ns);
        thread.lock_out().real = RealFrames { not_before_ns, at_most };
        true
    }

    /// Called after the event: frames may change from now on.
    pub fn forget_frames(&self, thread: &ThreadRecorder) {
        thread.lock_out().real.at_most = None;
    }
}
