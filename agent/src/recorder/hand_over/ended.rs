//! The last chunks of threads that share a file, which are written together.
//!
//! A program may start and end a hundred thousand virtual threads a second. Each of them records a few bytes, and
//! a system call for each would take longer than the thread. So what a thread records last waits in memory, and
//! its slot stays open in the journal, until enough threads have ended. A kill loses none of it.

use std::sync::Arc;

use flow_codec::{Offset, ThreadId};
use parking_lot::Mutex;

use crate::recorder::account::counts::Counts;
use crate::recorder::threads::out::Out;
use crate::recorder::{Recorder, ThreadRecorder};
use crate::sink::{CanonicalChunk, Home, LastChunk, Pack};
use crate::sys::allocator;

/// This many threads are written together: each of them keeps a slot of the journal.
const MAX_THREADS: usize = 1024;
/// Or threads with this many bytes.
const MAX_BYTES: usize = 256 * 1024;

/// The threads that wait to be written.
#[derive(Debug, Default)]
pub(in crate::recorder) struct Ended {
    waiting: Mutex<Waiting>,
}

/// Threads that have ended, each with the position at which it did.
type Threads = Vec<(Arc<ThreadRecorder>, u64)>;

#[derive(Debug, Default)]
struct Waiting {
    batch: Batch,
    /// The threads whose slots can be closed when that is written, and how far they used them. Some may be
    /// missing: they follow with the next batch.
    threads: Threads,
    /// A batch could not be written. From then on nothing waits, and no slot is closed.
    has_failed: bool,
}

impl Waiting {
    /// Takes all of it.
    fn take(&mut self) -> (Batch, Threads) {
        (std::mem::take(&mut self.batch), std::mem::take(&mut self.threads))
    }

    /// Keeps the memory of what was written, if none has been allocated meanwhile.
    fn keep_memory(&mut self, mut batch: Batch, threads: Threads) {
        if self.batch.bytes.capacity() == 0 && batch.bytes.capacity() <= 2 * MAX_BYTES {
            batch.clear();
            self.batch = batch;
        }
        if self.threads.capacity() == 0 {
            self.threads = threads;
        }
    }
}

#[derive(Debug, Default)]
struct Batch {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    counts: Counts,
}

/// A thread's events and marks, which follow one another in the memory of the batch.
#[derive(Debug)]
struct Entry {
    thread: ThreadId,
    offset: Offset,
    events: usize,
    marks_offset: u64,
    marks: usize,
}

impl Batch {
    /// Adds what a thread recorded last; `false` if there is no memory for it.
    fn add(
        &mut self,
        thread: ThreadId,
        offset: Offset,
        events: &[u8],
        marks: (u64, &[u8]),
    ) -> bool {
        let (marks_offset, marks) = marks;
        let more = events.len().saturating_add(marks.len());
        if allocator::try_reserve(&mut self.bytes, more).is_err()
            || allocator::try_reserve(&mut self.entries, 1).is_err()
        {
            return false;
        }
        self.bytes.extend_from_slice(events);
        self.bytes.extend_from_slice(marks);
        let (events, marks) = (events.len(), marks.len());
        self.entries.push(Entry { thread, offset, events, marks_offset, marks });
        true
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.counts = Counts::default();
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= MAX_THREADS || self.bytes.len() >= MAX_BYTES
    }

    fn chunks(&self) -> impl Iterator<Item = LastChunk<'_>> {
        let mut rest = self.bytes.as_slice();
        self.entries.iter().map(move |entry| {
            let mut next = |len| rest.split_off(..len).unwrap_or_default();
            let Entry { thread, offset, marks_offset, .. } = *entry;
            let bytes = next(entry.events);
            let (home, pack, is_last) = (Home::Shared, Pack::No, true);
            let chunk = CanonicalChunk { thread, home, offset, bytes, pack, is_last };
            LastChunk { chunk, marks_offset, marks: next(entry.marks) }
        })
    }
}

impl Recorder {
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
            && self.journal.is_shared()
            && self.is_on()
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
        let mut waiting = self.ended.waiting.lock();
        // Without memory, the slot stays open: a reader finds the same twice.
        if !waiting.has_failed && allocator::try_reserve(&mut waiting.threads, 1).is_ok() {
            waiting.threads.push((thread, position));
        }
    }

    /// Writes all that waits.
    pub(in crate::recorder) fn write_ended(&self) {
        let (batch, threads) = self.ended.waiting.lock().take();
        self.write_batch(batch, threads);
    }

    fn write_batch(&self, batch: Batch, mut threads: Threads) {
        if !batch.entries.is_empty() {
            let chunks: Vec<_> = batch.chunks().collect();
            let written = self.sink.write_last(&chunks);
            match written {
                Ok(written) => {
                    self.add(batch.counts, written);
                    self.check_limit();
                }
                Err(error) => {
                    self.ended.waiting.lock().has_failed = true;
                    // The slots stay open, and the journal.
                    return self.fail(&error, batch.counts);
                }
            }
        }
        for (thread, position) in threads.drain(..) {
            thread.lock_out().slot().close();
            // Another thread may hold it; then its slot is not used again.
            if let Some(slot) =
                Arc::into_inner(thread).and_then(|thread| thread.into_slot(position))
            {
                self.journal.give_back(slot);
            }
        }
        self.ended.waiting.lock().keep_memory(batch, threads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_what_each_thread_recorded() {
        let mut batch = Batch::default();
        let add = |batch: &mut Batch, id, events: &[u8], marks: &[u8]| {
            assert!(batch.add(ThreadId::new(id), Offset::new(id), events, (10 * id, marks)));
        };
        add(&mut batch, 1, &[0x81, 0], &[1, 2, 3]);
        add(&mut batch, 2, &[], &[]);
        add(&mut batch, 3, &[0x82], &[4]);
        let chunks: Vec<_> = batch
            .chunks()
            .map(|last| {
                assert_eq!(last.chunk.offset.get(), last.chunk.thread.get());
                (last.chunk.bytes, last.marks_offset, last.marks)
            })
            .collect();
        let expected: [(&[u8], u64, &[u8]); 3] =
            [(&[0x81, 0], 10, &[1, 2, 3]), (&[], 20, &[]), (&[0x82], 30, &[4])];
        assert_eq!(chunks, expected);
    }
}
