//! What a program or a collector requests while it runs: to add a note or a test mark, to pause recording, to resume it;
//! to let threads wait.
//!
//! Each thread follows by itself when it hands over: there it leaves all frames and parks, or resumes with
//! the frames it has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flow_codec::format::marks::Mark;

use parking_lot::{Condvar, Mutex};

use super::{Recorder, ThreadRecorder};
use crate::sys::sampling;

/// How often a thread that waits checks whether the recording has ended.
const CHECK_PERIOD: Duration = Duration::from_millis(50);

/// Whether threads wait at their next entry.
#[derive(Debug, Default)]
pub(super) struct Hold {
    /// Sequentially consistent, like `Recorder::paused`.
    is_on: AtomicBool,
    lock: Mutex<()>,
    released: Condvar,
}

impl Hold {
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    /// Waits until threads may continue, for the current thread.
    #[cold]
    pub(super) fn wait_while(&self, is_recording: impl Fn() -> bool) {
        let mut lock = self.lock.lock();
        while self.is_on() && is_recording() {
            self.released.wait_for(&mut lock, CHECK_PERIOD);
        }
    }
}

impl Recorder {
    /// Adds a mark that the program requests, a note or a test mark, to the trace of the current thread. The
    /// thread's events are handed over first, so that the mark's position is known.
    pub fn mark(&self, thread: &ThreadRecorder, mark: Mark) {
        if self.is_recording() {
            self.hand_over(thread, Some(mark));
        }
    }

    /// Pauses or resumes recording. Each thread follows at its next entry, so that the caller need not wait.
    pub fn set_paused(&self, paused: bool) {
        if self.paused.swap(paused, Ordering::SeqCst) == paused || !self.is_on() {
            return;
        }
        if paused {
            self.was_paused.store(true, Ordering::SeqCst);
            self.threads.each().for_each(|thread| thread.call_for_attention());
        }
        // Threads that are parked no longer call the recorder, or call it again.
        if let Some(switch) = self.probes_off {
            switch.store(u64::from(paused), Ordering::SeqCst);
        }
        sampling::set_on(!paused);
        // It may have ended meanwhile, for good.
        if !self.is_on() {
            self.switch_off();
        }
    }

    /// Lets each thread wait at its next entry, or lets all continue. A thread that waits is in native code, where it holds
    /// up neither safepoints nor the end of the JVM, but it keeps its locks. Returns whether that has changed.
    pub fn set_held(&self, held: bool) -> bool {
        if self.hold.is_on.swap(held, Ordering::SeqCst) == held {
            return false;
        }
        if held {
            self.threads.each().for_each(|thread| thread.call_for_attention());
        } else {
            // A thread that has checked waits now.
            drop(self.hold.lock.lock());
            self.hold.released.notify_all();
        }
        true
    }

    /// Whether threads wait at their next entry.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.hold.is_on()
    }

    /// Lets what threads have recorded be written soon: what they have handed over now, and the rest when each of them
    /// calls a method the next time.
    pub fn flush(&self) {
        if let Some(queue) = &self.queue {
            queue.flush_all();
        }
        if self.is_recording() {
            let threads = self.threads.each().filter(|thread| thread.has_moved_since_copied());
            threads.for_each(|thread| thread.call_for_attention());
        }
    }

    /// Returns whether recording is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    /// Called before anything of the current thread is recorded: if recording was paused and resumes now,
    /// exits of all `frames` it has will be seen.
    pub fn expect_exits(&self, thread: &ThreadRecorder, frames: impl FnOnce() -> u32) {
        let is_paused = thread.lock_out().is_paused;
        if is_paused {
            let frames = frames();
            thread.lock_out().expect_exits(frames);
        }
    }
}
