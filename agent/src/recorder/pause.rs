//! What a program or a collector requests while it runs: to add a note or a test mark, to pause recording, to resume it;
//! to let threads wait.
//!
//! Each thread follows by itself when it hands over: there it leaves all frames and parks, or resumes with
//! the frames it has.

use flow_codec::format::marks::Mark;

use super::{Recorder, ThreadRecorder};
use crate::sys::sampling;

impl Recorder {
    /// Adds a mark that the program requests, a note or a test mark, to the trace of the current thread. The
    /// thread's events are handed over first, so that the mark's position is known.
    pub fn mark(&self, thread: &ThreadRecorder, mark: Mark) {
        if let Mark::Test(test) = &mark
            && !self.methods.filter().lines_of_run
        {
            self.methods.reached().note_test(thread.id(), test);
        }
        if self.is_recording() {
            self.hand_over.make_room(thread, Some(mark));
        }
    }

    /// Pauses or resumes recording. Each thread follows at its next entry, so that the caller need not wait.
    pub fn set_paused(&self, paused: bool) {
        let switch = &self.shared().switch;
        if !switch.set_paused(paused) || !switch.is_on() {
            return;
        }
        if paused {
            switch.note_pause();
            self.shared().threads.each().for_each(|thread| thread.call_for_attention());
        }
        if !paused {
            // Some may have been reached just before the pause began.
            self.methods.reached().clear();
        }
        // Threads that are parked no longer call the recorder, or call it again.
        switch.switch_probes(paused);
        sampling::set_on(!paused);
        // It may have ended meanwhile, for good.
        if !switch.is_on() {
            switch.switch_off();
        }
    }

    /// Lets each thread wait at its next entry, or lets all continue. A thread that waits is in native code, where it holds
    /// up neither safepoints nor the end of the JVM, but it keeps its locks. Returns whether that has changed.
    pub fn set_held(&self, held: bool) -> bool {
        let has_changed = self.shared().switch.hold.set(held);
        if has_changed && held {
            self.shared().threads.each().for_each(|thread| thread.call_for_attention());
        }
        has_changed
    }

    /// Whether threads wait at their next entry.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.shared().switch.hold.is_on()
    }

    /// Lets what threads have recorded be written soon: what they have handed over now, and the rest when each of them
    /// calls a method the next time.
    pub fn flush(&self) {
        if let Some(queue) = &self.hand_over.queue {
            queue.flush_all();
        }
        if self.is_recording() {
            let threads =
                self.shared().threads.each().filter(|thread| thread.has_moved_since_copied());
            threads.for_each(|thread| thread.call_for_attention());
        }
    }

    /// Returns whether recording is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.shared().switch.is_paused()
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
