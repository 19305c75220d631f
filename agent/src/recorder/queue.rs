//! Chunks that wait for the thread of the agent that writes them, with `overload=drop`.
//!
//! A thread of the program then never waits for the disk to take its events: a chunk that finds no room in
//! the queue is [condensed](flow_codec::write::Condensed) and counted as lost. The slot of a queued chunk
//! stays open in the journal until the chunk is written, like the slot that the thread records into
//! meanwhile, so a kill loses neither.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use flow_codec::write::EventCounts;
use flow_codec::{Offset, ThreadId};
use parking_lot::Mutex;

use super::ThreadRecorder;
use super::chunk::Chunk;
use super::journal::SlotState;
use crate::sink::Home;

/// Bytes of raw chunks that may wait, so that a disk that is slow for a moment costs no events.
const QUEUE_BYTES: usize = 32 << 20;
/// But at most this number of full chunks.
const QUEUE_CHUNKS: usize = 512;
/// Every chunk counts at least this much, for the memory that it takes in addition to its bytes.
const MIN_BYTES: usize = 256;

/// An encoded chunk that waits to be written.
#[derive(Debug)]
pub(super) struct QueuedChunk {
    pub(super) thread: ThreadId,
    pub(super) home: Home,
    pub(super) offset: Offset,
    pub(super) bytes: Vec<u8>,
    pub(super) counts: EventCounts,
    /// The length of the thread's marks file before these marks, and the marks.
    pub(super) marks: Option<(u64, Vec<u8>)>,
    /// The bytes of the queue that are reserved for it.
    pub(super) reserved: usize,
    /// The slot into which it was recorded.
    pub(super) slot: After,
}

/// What happens to the slot once its chunk is written.
#[derive(Debug)]
pub(super) enum After {
    /// Nothing: the chunk was empty, or the slot is still used.
    Nothing,
    /// The slot is closed; the thread keeps it.
    Close(SlotState),
    /// The slot is free for another thread. The position says how far it was used.
    GiveBack(Chunk, u64),
    /// Like `GiveBack`, for a thread that has ended.
    End(Arc<ThreadRecorder>, u64),
}

#[derive(Debug)]
enum Job {
    Write(Box<QueuedChunk>),
    End(Sender<()>),
}

/// The queue. Chunks are written in the order in which they are [sent](Self::send).
#[derive(Debug)]
pub(super) struct Queue {
    jobs: (Sender<Job>, Receiver<Job>),
    max_bytes: usize,
    bytes: AtomicUsize,
    ended: AtomicBool,
    /// The chunk that is being written.
    current: Mutex<Option<EventCounts>>,
}

impl Queue {
    pub(super) fn new(chunk_bytes: usize) -> Self {
        let (bytes, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        let max_bytes = chunk_bytes.saturating_mul(QUEUE_CHUNKS).min(QUEUE_BYTES);
        Self { jobs: unbounded(), max_bytes, bytes, ended, current: Mutex::default() }
    }

    /// Reserves room for a chunk; `None` if there is none and the chunk may be dropped.
    pub(super) fn reserve(&self, bytes: usize, must: bool) -> Option<usize> {
        let bytes = bytes.max(MIN_BYTES);
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // One chunk may always wait, however large it is.
        if must || before == 0 || before.saturating_add(bytes) <= self.max_bytes {
            return Some(bytes);
        }
        self.give_back(bytes);
        None
    }

    /// Gives up reserved room.
    pub(super) fn give_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Appends a chunk for which room was reserved. Never waits.
    pub(super) fn send(&self, queued: QueuedChunk) {
        // Both ends belong to the agent.
        let _ = self.jobs.0.send(Job::Write(Box::new(queued)));
    }

    /// Waits until everything that was sent is written. If that takes too long, returns the number of events
    /// that are not written; they stay in the journal. From now on, threads write their chunks themselves.
    pub(super) fn end(&self, deadline: Instant) -> Option<EventCounts> {
        let (done, is_done) = bounded(1);
        let _ = self.jobs.0.send(Job::End(done));
        let is_empty = is_done.recv_deadline(deadline).is_ok();
        self.ended.store(true, Ordering::SeqCst);
        if is_empty {
            return None;
        }
        let mut left = EventCounts::default();
        let mut add = |counts: EventCounts| {
            left.enters += counts.enters;
            left.exits += counts.exits;
        };
        while let Ok(job) = self.jobs.1.try_recv() {
            if let Job::Write(queued) = job {
                add(queued.counts);
            }
        }
        self.current.lock().take().into_iter().for_each(add);
        let (done, _) = bounded(1);
        let _ = self.jobs.0.send(Job::End(done));
        Some(left)
    }

    /// Passes the counts of the chunk that is being written to `count`, unless the [end](Self::end) has
    /// counted it already.
    pub(super) fn count_current(&self, count: impl FnOnce(EventCounts)) {
        if let Some(counts) = self.current.lock().take() {
            count(counts);
        }
    }

    /// Returns whether chunks may still be sent.
    pub(super) fn takes_chunks(&self) -> bool {
        !self.ended.load(Ordering::SeqCst)
    }

    /// Passes chunks to `write` until the [end](Self::end), which does not count them a second time. For the
    /// thread that writes.
    pub(super) fn run(&self, mut write: impl FnMut(QueuedChunk)) {
        while let Ok(job) = self.jobs.1.recv() {
            match job {
                Job::Write(queued) => {
                    let reserved = queued.reserved;
                    *self.current.lock() = Some(queued.counts);
                    write(*queued);
                    self.give_back(reserved);
                }
                Job::End(done) => {
                    let _ = done.send(());
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_up_to_a_limit_or_for_one_chunk() {
        let queue = Queue { max_bytes: 1000, ..Queue::new(0) };
        assert_eq!(queue.reserve(5000, false), Some(5000), "one");
        assert_eq!(queue.reserve(1, false), None);
        assert_eq!(queue.reserve(1, true), Some(256), "one that must be kept");
        queue.give_back(5256);
        assert_eq!(queue.reserve(600, false), Some(600));
        assert_eq!(queue.reserve(401, false), None);
        assert_eq!(queue.reserve(400, false), Some(400));
        assert_eq!(queue.end(Instant::now()), Some(EventCounts::default()), "no thread writes");
    }
}
