//! The last chunks of threads that share a file, which are written together.
//!
//! A program may start and end a hundred thousand virtual threads a second. Each of them records a few bytes, and
//! a system call for each would take longer than the thread. So what a thread records last waits in memory, and
//! its slot stays open in the journal, until enough threads have ended. A kill loses none of it.

use std::sync::Arc;

use flow_codec::{Offset, ThreadId};

use super::base::HandOver;
use super::batch::{Batch, Leaving, Left};
use crate::recorder::ThreadRecorder;
use crate::recorder::account::counts::Counts;
use crate::recorder::threads::out::Out;
use crate::sink::Home;
use crate::sys::allocator;

impl HandOver {
    /// Returns whether what a thread recorded last need not be written at once.
    pub(in crate::recorder) fn can_gather(&self, out: &Out) -> bool {
        // Nothing of the thread is in the queue.
        let passes_queue = match &self.queue {
            None => true,
            Some(queue) => !queue.takes_marks() && out.offset == Offset::default(),
        };
        passes_queue
            && out.home == Home::Shared
            && out.is_open()
            && self.shared.journal.is_shared()
            && self.shared.is_on()
    }

    /// Lets what a thread recorded last wait for others. Returns whether it waits.
    pub(in crate::recorder) fn gather(
        &self,
        thread: ThreadId,
        out: &mut Out,
        events: &[u8],
        counts: Counts,
    ) -> bool {
        let marks = out.marks.as_ref().map_or((0, &[][..]), |marks| marks.unsent());
        let full = {
            let mut waiting = self.ended.waiting.lock();
            if waiting.has_failed || !waiting.batch.add(thread, out.offset, events, marks) {
                return false;
            }
            waiting.batch.counts.add(counts);
            waiting.batch.is_full().then(|| waiting.take())
        };
        if let Some(marks) = &mut out.marks {
            marks.wrote();
        }
        if let Some((batch, threads)) = full {
            self.write_batch(batch, threads);
        }
        true
    }

    /// Closes the slot of a thread that has ended and [waits](Self::gather), when it is written. `position` says
    /// how far it used the slot.
    pub(in crate::recorder) fn close_later(&self, thread: Arc<ThreadRecorder>, position: u64) {
        let left = match Arc::try_unwrap(thread) {
            Ok(thread) => Left::Chunk(thread.into_chunk()),
            Err(held) => Left::Recorder(held),
        };
        let mut waiting = self.ended.waiting.lock();
        // Without memory, the slot stays open: a reader finds the same twice.
        if !waiting.has_failed && allocator::try_reserve(&mut waiting.threads, 1).is_ok() {
            waiting.threads.push((left, position));
        }
    }

    /// Writes all that waits.
    pub(in crate::recorder) fn write_ended(&self) {
        let (batch, threads) = self.ended.waiting.lock().take();
        self.write_batch(batch, threads);
    }

    fn write_batch(&self, batch: Batch, mut threads: Vec<Leaving>) {
        if !batch.entries.is_empty() {
            let chunks: Vec<_> = batch.chunks().collect();
            let written = self.shared.sink.write_last(&chunks);
            match written {
                Ok(written) => {
                    self.shared.add(batch.counts, written);
                    self.check_limit();
                }
                Err(error) => {
                    self.ended.waiting.lock().has_failed = true;
                    // The slots stay open, and the journal.
                    return self.shared.fail(&error, batch.counts);
                }
            }
        }
        for (left, position) in threads.drain(..) {
            match left {
                Left::Chunk(chunk) => chunk.give_back(position, &self.shared.journal),
                Left::Recorder(thread) => self.close_slot(thread, position),
            }
        }
        self.ended.waiting.lock().keep_memory(batch, threads);
    }
}
