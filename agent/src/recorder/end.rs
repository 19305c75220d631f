//! The end of a recording: as requested, because of a fault, or in a copy of the process.

use std::time::{Duration, Instant};

use flow_codec::format::manifest::{End, Lost, Totals};

use super::Recorder;
use super::hand_over::full::Last;
use super::hand_over::queue::Queue;
use super::memory::chunk::ReadBy;
use crate::sys::allocator::{self, OutOfMemory};

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
        let shared = self.shared();
        shared.switch.switch_off();
        // A thread that began later would have events after the totals.
        shared.threads.admit_no_more();
        let deadline = Instant::now() + timeout.duration();
        for thread in shared.threads.each() {
            match thread.try_lock_out_until(deadline) {
                Some(mut out) => {
                    self.hand_over.write_out(&thread, &mut out, Last::OfRecording, ReadBy::Other);
                    self.hand_over.send(&mut out);
                    // Only now, so that entries and exits in between both come after the end.
                    thread.call_for_attention();
                }
                None => {
                    shared.journal.keep();
                    let late = format!("thread {} was still writing at the end", thread.id());
                    shared.losses.note(&late);
                }
            }
        }
        // Up to half of the queue is still to be compressed.
        let deadline = match self.hand_over.queue.as_ref().is_some_and(Queue::waits) {
            true => Instant::now() + Timeout::Long.duration(),
            false => deadline,
        };
        let left = self.hand_over.queue.as_ref().and_then(|queue| queue.end(deadline));
        if left.is_some() || !shared.sink.responds(deadline) {
            shared.journal.keep();
            // What follows is in the journal too.
            shared.sink.refuse();
            shared.add(left.unwrap_or_default(), 0);
            shared.losses.note("the disk was still busy at the end; the journal has the rest");
        } else {
            // A thread that waits is not live any more, or was so above.
            self.hand_over.write_ended();
            shared.note_unless_ended(shared.threads.finish(shared.lines_to()));
        }
        shared.switch.take_no_more_classes();
        self.methods.finish(deadline);
        let recorded = Totals { methods: self.methods.described(), ..*shared.totals.lock() };
        let given_up = shared.sink.given_up();
        End {
            at_ns: shared.elapsed_ns(),
            signal: None,
            totals: recorded.less(&given_up),
            samples: 0,
            lost: Lost {
                events: shared.losses.events(),
                stopped_at_ns: shared.switch.stopped_at_ns(),
                reasons: shared.losses.reasons(),
            },
            not_recorded: self.methods.not_recorded(),
            asked_loaders: self.asked_loaders.all(),
            filters: Vec::new(),
            unmatched: Vec::new(),
            given_up,
            left_out_tests: 0,
            repaired: None,
        }
    }

    /// Stops recording if the system has refused memory. Called where that should be noticed soon.
    #[inline]
    pub fn check_memory(&self) {
        if allocator::has_become_short() && self.is_on() {
            self.hand_over.buffers.free();
            self.stop(&OutOfMemory);
        }
    }

    /// Keeps the journal: the trace has no end.
    pub fn keep_journal(&self) {
        self.shared().journal.keep();
    }

    /// Ends the recording silently, in a process that is a fork of the recorded one.
    pub fn abandon(&self) {
        self.shared().switch.abandon();
        self.shared().journal.leave_file();
    }

    /// Closes all files after the end, for a recorder that is never dropped.
    pub fn close(&self) {
        self.shared().losses.fall_silent();
        self.methods.close();
        self.shared().threads.close();
        self.shared().sink.close();
        self.shared().journal.close_file();
    }
}
