//! What threads that have ended recorded last, until it is written together.

use std::sync::Arc;

use flow_codec::{Offset, ThreadId};
use parking_lot::Mutex;

use crate::recorder::ThreadRecorder;
use crate::recorder::account::counts::Counts;
use crate::recorder::memory::chunk::Chunk;
use crate::sink::{CanonicalChunk, Home, LastChunk, Pack};
use crate::sys::allocator;

/// This many threads are written together: each of them keeps a slot of the journal.
const MAX_THREADS: usize = 1024;
/// Or threads with this many bytes.
const MAX_BYTES: usize = 256 * 1024;

/// The threads that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) waiting: Mutex<Waiting>,
}

/// What becomes free when the last chunk of a thread is written, and the position at which the thread ended.
pub(super) type Leaving = (Left, u64);

/// What is left of a thread that has ended.
#[derive(Debug)]
pub(super) enum Left {
    /// The chunk. The rest is free already: the next thread gets the same memory, which this processor still has in its cache.
    Chunk(Chunk),
    /// All of it, because another thread held it.
    Recorder(Arc<ThreadRecorder>),
}

#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) batch: Batch,
    /// The threads whose slots can be closed when that is written. Some may be missing: they follow with the next batch.
    pub(super) threads: Vec<Leaving>,
    /// A batch could not be written. From then on nothing waits, and no slot is closed.
    pub(super) has_failed: bool,
}

impl Waiting {
    /// Takes all of it.
    pub(super) fn take(&mut self) -> (Batch, Vec<Leaving>) {
        (std::mem::take(&mut self.batch), std::mem::take(&mut self.threads))
    }

    /// Keeps the memory of what was written, if none has been allocated meanwhile.
    pub(super) fn keep_memory(&mut self, mut batch: Batch, threads: Vec<Leaving>) {
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
pub(super) struct Batch {
    pub(super) entries: Vec<Entry>,
    bytes: Vec<u8>,
    pub(super) counts: Counts,
}

/// A thread's events and marks, which follow one another in the memory of the batch.
#[derive(Debug)]
pub(super) struct Entry {
    thread: ThreadId,
    offset: Offset,
    events: usize,
    marks_offset: u64,
    marks: usize,
}

impl Batch {
    /// Adds what a thread recorded last; `false` if there is no memory for it.
    pub(super) fn add(
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

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.counts = Counts::default();
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= MAX_THREADS || self.bytes.len() >= MAX_BYTES
    }

    pub(super) fn chunks(&self) -> impl Iterator<Item = LastChunk<'_>> {
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
