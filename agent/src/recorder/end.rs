//! The end of a recording: as requested, because of a fault, or in a copy of the process.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use flow_codec::format::manifest::{End, Lost, Totals};
use log::Level;

use super::Recorder;
use super::hand_over::full::Last;
use super::hand_over::queue::Queue;
use super::memory::chunk::ReadBy;
use crate::sink::{Scope, SinkError};
use crate::sys::allocator::{self, OutOfMemory};
use crate::sys::sampling;

/// How long the end of the recording waits, in all, for threads that are writing their chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timeout {
    /// The JVM ends and must not be delayed.
    Short,
    /// The program continues: its threads will finish writing.
    Long,
}

impl Timeout {
    const fn duration(self) -> Duration {
        match self {
            // Only while a thread is really writing: a busy disk may delay it by 200 ms and more.
            Self::Short => Duration::from_secs(1),
            Self::Long => Duration::from_secs(5),
        }
    }
}

impl Recorder {
    /// Ends the recording: writes every live thread's open chunk, and adds up totals. A thread that needs
    /// longer to write its own chunk than `timeout` allows still writes all of it; only the totals lack it.
    #[must_use]
    pub fn finish(&self, timeout: Timeout) -> End {
        self.switch_off();
        // A thread that began later would have events after the totals.
        self.threads.admit_no_more();
        let deadline = Instant::now() + timeout.duration();
        for thread in self.threads.each() {
            match thread.try_lock_out_until(deadline) {
                Some(mut out) => {
                    self.write_out(&thread, &mut out, Last::OfRecording, ReadBy::Other);
                    self.send(&mut out);
                    // Only now, so that entries and exits in between both come after the end.
                    thread.call_for_attention();
                }
                None => {
                    self.journal.keep();
                    let late = format!("thread {} was still writing at the end", thread.id());
                    self.losses.note(&late);
                }
            }
        }
        // Up to half of the queue is still to be compressed.
        let deadline = match self.queue.as_ref().is_some_and(Queue::waits) {
            true => Instant::now() + Timeout::Long.duration(),
            false => deadline,
        };
        let left = self.queue.as_ref().and_then(|queue| queue.end(deadline));
        if left.is_some() || !self.sink.responds(deadline) {
            self.journal.keep();
            // What follows is in the journal too.
            self.sink.refuse();
            self.add(left.unwrap_or_default(), 0);
            self.losses.note("the disk was still busy at the end; the journal has the rest");
        } else {
            // A thread that waits is not live any more, or was so above.
            self.write_ended();
            self.note_unless_ended(self.threads.finish(self.lines_to()));
        }
        self.takes_classes.store(false, Ordering::Relaxed);
        self.methods.finish(deadline);
        let recorded = Totals { methods: self.methods.described(), ..*self.totals.lock() };
        let given_up = self.sink.given_up();
        End {
            at_ns: self.elapsed_ns(),
            totals: recorded.less(&given_up),
            samples: 0,
            lost: Lost {
                events: self.losses.events(),
                stopped_at_ns: match self.stopped_at_ns.load(Ordering::Relaxed) {
                    0 => None,
                    at => Some(at),
                },
                reasons: self.losses.reasons(),
            },
            not_recorded: self.methods.not_recorded(),
            asked_loaders: self.asked_loaders.all(),
            filters: Vec::new(),
            unmatched: Vec::new(),
            given_up,
            repaired: None,
        }
    }

    /// Ends the recording for good because of a fault. Later events are not counted.
    pub fn stop(&self, fault: &dyn fmt::Display) {
        self.end_early();
        self.losses.note_stop(&fault.to_string(), Level::Error);
    }

    /// The same because something could not be stored, which is no fault if the user limits the size.
    pub fn stop_storing(&self, error: &SinkError) {
        if error.scope() == Scope::Ended {
            return;
        }
        self.end_early();
        let level = match error.scope() {
            Scope::Limit => Level::Warn,
            Scope::Thread | Scope::Trace | Scope::Ended => Level::Error,
        };
        self.losses.note_stop(&error.to_string(), level);
    }

    /// The same because somebody wants it, which is no fault.
    pub fn stop_by_user(&self, why: &str) {
        self.end_early();
        self.losses.note_stop(why, Level::Warn);
    }

    fn end_early(&self) {
        // Otherwise the switch may belong to the next recording.
        if self.is_on() {
            self.switch_off();
            self.stopped_at_ns.store(self.elapsed_ns().max(1), Ordering::Relaxed);
        }
        self.threads.each().for_each(|thread| thread.call_for_attention());
        self.takes_classes.store(false, Ordering::Relaxed);
    }

    /// Stops recording if the system has refused memory. Called where that should be noticed soon.
    #[inline]
    pub fn check_memory(&self) {
        if allocator::has_become_short() && self.is_on() {
            self.buffers.free();
            self.stop(&OutOfMemory);
        }
    }

    /// Returns whether a fault has ended the recording.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.stopped_at_ns.load(Ordering::Relaxed) != 0
    }

    /// Keeps the reason why something could not be stored, unless it came after the end.
    pub(super) fn note_unless_ended(&self, stored: Result<(), SinkError>) {
        if let Err(error) = stored
            && error.scope() != Scope::Ended
        {
            self.losses.note(&error.to_string());
        }
    }

    /// Keeps the journal: the trace has no end.
    pub fn keep_journal(&self) {
        self.journal.keep();
    }

    /// Ends the recording silently, in a process that is a fork of the recorded one.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
        self.switch_off();
        self.takes_classes.store(false, Ordering::Relaxed);
        self.journal.leave_file();
    }

    /// Makes threads stop recording at their next slow path.
    pub(super) fn switch_off(&self) {
        sampling::set_on(false);
        // Pairs with `hand_over`, see `Control::limit`.
        self.on.store(false, Ordering::SeqCst);
        if let Some(switch) = self.probes_off {
            switch.store(1, Ordering::Relaxed);
        }
    }

    /// Closes all files after the end, for a recorder that is never dropped.
    pub fn close(&self) {
        self.losses.fall_silent();
        self.methods.close();
        self.threads.close();
        self.sink.close();
        self.journal.close_file();
    }
}
