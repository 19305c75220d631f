//! What a program says while it runs: a note, to suspend recording, to go on.
//!
//! Each thread follows by itself, where it hands over: there it takes its frames as left and parks, or goes on
//! with those it has.

use std::sync::atomic::Ordering;

use flow_codec::format::marks::Mark;

use super::{Recorder, ThreadRecorder};

impl Recorder {
    /// Leaves a note of the program in the trace of the current thread. What it recorded is handed over
    /// first: then it is known where that ends.
    pub fn note(&self, thread: &ThreadRecorder, text: &str) {
        if self.is_recording() {
            self.hand_over(thread, Some(Mark::Note(text.to_owned())));
        }
    }

    /// Suspends recording, or goes on. Each thread follows with its next entry, so that nobody has to wait.
    pub fn set_paused(&self, paused: bool) {
        if self.paused.swap(paused, Ordering::SeqCst) == paused || !self.is_on() {
            return;
        }
        if paused {
            self.was_paused.store(true, Ordering::SeqCst);
            self.threads.each().for_each(|thread| thread.call_for_attention());
        }
        // Threads that are parked already ask no more, or ask again.
        if let Some(switch) = self.probes_off {
            switch.store(u64::from(paused), Ordering::SeqCst);
        }
        // It may have ended meanwhile, for good.
        if !self.is_on() {
            self.switch_off();
        }
    }

    /// Whether recording is suspended.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    /// To be called before anything of the current thread is recorded: where it was suspended, and goes on
    /// now, exits of all `frames` it has will be seen.
    pub fn expect_exits(&self, thread: &ThreadRecorder, frames: impl FnOnce() -> u32) {
        let is_paused = thread.lock_out().is_paused;
        if is_paused {
            let frames = frames();
            thread.lock_out().expect_exits(frames);
        }
    }
}
