//! Chunks that wait for the thread of the agent that writes them: with `overload=drop` or `overflow=drop`, or in a trace in one
//! file, where that thread compresses them.
//!
//! With `overload=drop` a thread of the program never waits for the disk to take its events: a chunk that finds no
//! room in the queue is [condensed](flow_codec::write::Condensed) and counted as lost. Otherwise the thread waits
//! for room. The slot of a queued chunk stays open in the journal until the chunk is written, like the slot that the
//! thread records into meanwhile, so a kill loses neither.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flow_codec::ThreadId;
use parking_lot::{Condvar, Mutex};

use crate::recorder::ThreadRecorder;
use crate::recorder::account::counts::Counts;
use crate::recorder::threads::out::{After, EncodedChunk, OpenChunks};
use crate::sys::allocator;

/// Bytes of raw chunks that may wait, so that a disk that is slow for a moment costs no events.
const QUEUE_BYTES: usize = 32 << 20;
/// But at most this number of full chunks.
const QUEUE_CHUNKS: usize = 512;
/// Every chunk counts at least this much, for the memory that it takes in addition to its bytes.
const MIN_BYTES: usize = 256;
/// How often a thread that waits for room checks whether the recording has ended meanwhile.
const CHECK_PERIOD: Duration = Duration::from_millis(50);

/// What a thread does whose chunk finds no room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenFull {
    /// It waits.
    Wait,
    /// It drops the chunk.
    Drop(TooSlow),
}

/// The reason why chunks are dropped: something is slower than the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooSlow {
    /// The disk is slower, with `overload=drop`.
    Disk,
    /// The collector is slower, with `overflow=drop`.
    Collector,
}

impl TooSlow {
    /// Returns the message for lost events.
    pub(in crate::recorder) const fn reason(self) -> &'static str {
        match self {
            Self::Disk => {
                "the disk was slower than the program: chunks were dropped (overload=drop)"
            }
            Self::Collector => {
                "the collector was slower than the program: chunks were dropped (overflow=drop)"
            }
        }
    }
}

/// An encoded chunk in the queue.
#[derive(Debug)]
pub(in crate::recorder) struct QueuedChunk {
    pub(in crate::recorder) chunk: EncodedChunk,
    /// The thread, if it has ended with this chunk, and the position up to which it used its slot. The slot is then free for
    /// another thread.
    pub(in crate::recorder) ended: Option<(Arc<ThreadRecorder>, u64)>,
}

impl QueuedChunk {
    /// Returns whether nothing of the thread follows.
    pub(in crate::recorder) fn is_last(&self) -> bool {
        self.ended.is_some() || matches!(self.chunk.slot, After::Close(_))
    }
}

/// What the thread that writes is to do next.
#[derive(Debug)]
pub(in crate::recorder) enum Next {
    /// Write this chunk, perhaps with later ones.
    Write(QueuedChunk),
    /// Keep nothing back: threads wait for room.
    MakeRoom,
    /// Keep nothing back, also not what does not pass the queue.
    Flush,
    /// Copy open chunks to the file.
    CopyOpen(OpenChunks),
    /// Keep nothing back, and end.
    End,
}

/// The queue. Chunks are written in the order in which they are [sent](Self::send).
#[derive(Debug)]
pub(in crate::recorder) struct Queue {
    when_full: WhenFull,
    max_bytes: usize,
    state: Mutex<State>,
    /// Notified when the thread that writes has something to do.
    work: Condvar,
    /// Notified when there is room, and when everything is written.
    progress: Condvar,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<QueuedChunk>,
    /// Bytes of chunks that are not written yet, or that room is reserved for.
    bytes: usize,
    /// How many chunks have room and are still to be sent.
    promised: usize,
    /// How many threads wait for room.
    waiting: usize,
    /// Nothing may be kept back.
    wants_room: bool,
    wants_flush: bool,
    wants_copies: Option<OpenChunks>,
    /// Events of chunks that the thread that writes has taken and not written yet.
    taken: Counts,
    /// The end has counted what was not written.
    is_counted: bool,
    is_ending: bool,
    is_written: bool,
}

impl Queue {
    pub(in crate::recorder) fn new(chunk_bytes: usize, when_full: WhenFull) -> Self {
        Self {
            when_full,
            max_bytes: chunk_bytes.saturating_mul(QUEUE_CHUNKS).min(QUEUE_BYTES),
            state: Mutex::default(),
            work: Condvar::new(),
            progress: Condvar::new(),
            ended: AtomicBool::new(false),
        }
    }

    /// Makes room for the parts of chunks as well as for their slots.
    pub(in crate::recorder) fn make_room_for_parts(&mut self) {
        self.max_bytes = self.max_bytes.saturating_mul(2);
    }

    /// How much of the room a chunk takes: if it may be joined with others, all of its slot, which stays open until
    /// then.
    pub(in crate::recorder) fn cost(&self, bytes: usize, slot_bytes: usize) -> usize {
        match self.when_full {
            WhenFull::Wait => slot_bytes,
            WhenFull::Drop(_) => bytes,
        }
    }

    /// Reserves room for a chunk, and waits for it if chunks are not dropped. Fails if there is none and the chunk may be
    /// dropped.
    pub(in crate::recorder) fn reserve(&self, bytes: usize, must: bool) -> Result<usize, TooSlow> {
        let bytes = bytes.max(MIN_BYTES);
        let mut state = self.state.lock();
        loop {
            // One chunk may always wait, however large it is.
            let has_room = state.bytes == 0 || state.bytes.saturating_add(bytes) <= self.max_bytes;
            if has_room || must || !self.takes_chunks() {
                state.bytes = state.bytes.saturating_add(bytes);
                state.promised += 1;
                return Ok(bytes);
            }
            if let WhenFull::Drop(too_slow) = self.when_full {
                return Err(too_slow);
            }
            state.waiting += 1;
            state.wants_room = true;
            self.work.notify_one();
            let _ = self.progress.wait_for(&mut state, CHECK_PERIOD);
            state.waiting -= 1;
        }
    }

    /// Whether a thread waits for room.
    #[cfg(test)]
    pub(in crate::recorder) fn is_awaited(&self) -> bool {
        self.state.lock().waiting > 0
    }

    /// Lets the thread that writes keep nothing back for now.
    pub(in crate::recorder) fn flush(&self) {
        self.state.lock().wants_room = true;
        self.work.notify_one();
    }

    /// The same, also for what does not pass the queue.
    pub(in crate::recorder) fn flush_all(&self) {
        self.state.lock().wants_flush = true;
        self.work.notify_one();
    }

    /// Lets the thread that writes copy open chunks to the file.
    pub(in crate::recorder) fn copy_open(&self, which: OpenChunks) {
        let mut state = self.state.lock();
        let has_all = state.wants_copies == Some(OpenChunks::All);
        state.wants_copies = Some(if has_all { OpenChunks::All } else { which });
        self.work.notify_one();
    }

    /// Returns whether chunks of a thread wait.
    pub(in crate::recorder) fn has_chunks_of(&self, thread: ThreadId) -> bool {
        self.state.lock().chunks.iter().any(|queued| queued.chunk.thread == thread)
    }

    /// Gives up reserved room.
    pub(in crate::recorder) fn give_back(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.bytes = state.bytes.saturating_sub(bytes);
        if state.waiting > 0 {
            self.progress.notify_all();
        }
    }

    /// Whether half of the room is taken: then writing should not take long.
    pub(in crate::recorder) fn is_half_full(&self) -> bool {
        self.state.lock().bytes > self.max_bytes / 2
    }

    /// Whether threads wait for room.
    pub(in crate::recorder) fn waits(&self) -> bool {
        self.when_full == WhenFull::Wait
    }

    /// Whether marks wait in the queue too.
    pub(in crate::recorder) fn takes_marks(&self) -> bool {
        !self.waits() && self.takes_chunks()
    }

    /// Appends a chunk for which room was reserved. Never waits. Returns it if there is no memory, or after the end.
    #[must_use]
    pub(in crate::recorder) fn send(&self, queued: QueuedChunk) -> Option<QueuedChunk> {
        let mut state = self.state.lock();
        state.promised = state.promised.saturating_sub(1);
        let is_late = state.is_written || !self.takes_chunks();
        if is_late || allocator::try_to(|| state.chunks.try_reserve(1)).is_err() {
            self.work.notify_one();
            return Some(queued);
        }
        state.chunks.push_back(queued);
        self.work.notify_one();
        None
    }

    /// Waits until everything that was sent is written. If that takes too long, returns the number of events
    /// that are not written; they stay in the journal. From now on, threads write their chunks themselves.
    pub(in crate::recorder) fn end(&self, deadline: Instant) -> Option<Counts> {
        let mut state = self.state.lock();
        state.is_ending = true;
        self.work.notify_one();
        let _ = self.progress.wait_while_until(&mut state, |state| !state.is_written, deadline);
        self.ended.store(true, Ordering::SeqCst);
        self.progress.notify_all();
        if state.is_written {
            return None;
        }
        state.is_counted = true;
        let mut left = state.taken;
        while let Some(queued) = state.chunks.pop_front() {
            left.add(queued.chunk.counts);
        }
        Some(left)
    }

    /// Passes the counts of chunks that were written, or could not be, to `count`, unless the [end](Self::end) has
    /// counted them already.
    pub(in crate::recorder) fn count_taken(&self, counts: Counts, count: impl FnOnce(Counts)) {
        let mut state = self.state.lock();
        state.taken.remove(counts);
        if !state.is_counted {
            drop(state);
            count(counts);
        }
    }

    /// Returns whether chunks may still be sent.
    pub(in crate::recorder) fn takes_chunks(&self) -> bool {
        !self.ended.load(Ordering::SeqCst)
    }

    /// Waits for something to do. For the thread that writes.
    pub(in crate::recorder) fn next(&self) -> Next {
        let mut state = self.state.lock();
        loop {
            if let Some(queued) = state.chunks.pop_front() {
                state.taken.add(queued.chunk.counts);
                return Next::Write(queued);
            }
            if std::mem::take(&mut state.wants_room) {
                return Next::MakeRoom;
            }
            if std::mem::take(&mut state.wants_flush) {
                return Next::Flush;
            }
            if let Some(which) = state.wants_copies.take() {
                return Next::CopyOpen(which);
            }
            // A thread that has ended may be about to send its last chunk.
            if state.is_ending && (state.promised == 0 || !self.takes_chunks()) {
                return Next::End;
            }
            self.work.wait(&mut state);
        }
    }

    /// Everything is written. For the thread that writes, at the end.
    pub(in crate::recorder) fn wrote_all(&self) {
        self.state.lock().is_written = true;
        self.progress.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use flow_codec::Offset;

    use super::*;
    use crate::sink::Home;

    #[test]
    fn there_is_room_up_to_a_limit_or_for_one_chunk() {
        let queue = Queue { max_bytes: 1000, ..Queue::new(0, WhenFull::Drop(TooSlow::Disk)) };
        assert_eq!(queue.reserve(5000, false), Ok(5000), "one");
        assert_eq!(queue.reserve(1, false), Err(TooSlow::Disk));
        assert_eq!(queue.reserve(1, true), Ok(256), "one that must be kept");
        queue.give_back(5256);
        assert_eq!(queue.reserve(600, false), Ok(600));
        assert_eq!(queue.reserve(401, false), Err(TooSlow::Disk));
        assert_eq!(queue.reserve(400, false), Ok(400));
        assert_eq!(queue.end(Instant::now()), Some(Counts::default()), "no thread writes");
    }

    #[test]
    fn a_thread_waits_for_room_and_asks_for_it() {
        let queue = Queue { max_bytes: 1000, ..Queue::new(0, WhenFull::Wait) };
        assert_eq!(queue.reserve(900, false), Ok(900));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| queue.reserve(500, false));
            assert!(matches!(queue.next(), Next::MakeRoom));
            assert!(!waits.is_finished());
            queue.give_back(900);
            assert_eq!(waits.join().unwrap(), Ok(500));
        });
        assert_eq!(queue.reserve(900, true), Ok(900), "the end does not wait");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| queue.reserve(500, false));
            assert!(queue.end(Instant::now()).is_some());
            assert_eq!(waits.join().unwrap(), Ok(500), "nothing waits after the end");
        });
    }

    #[test]
    fn the_end_waits_for_a_chunk_that_has_room_and_is_not_sent_yet() {
        let queue = Queue::new(64, WhenFull::Wait);
        let reserved = queue.reserve(100, false).unwrap();
        let chunk = |reserved| QueuedChunk {
            chunk: EncodedChunk {
                thread: ThreadId::new(1),
                home: Home::Shared,
                offset: Offset::default(),
                bytes: vec![0x81],
                counts: Counts { threads: 1, enters: 1, exits: 0 },
                marks: None,
                reserved,
                slot: After::Nothing,
            },
            ended: None,
        };
        std::thread::scope(|scope| {
            let end = scope.spawn(|| queue.end(Instant::now() + Duration::from_secs(60)));
            let writer = scope.spawn(|| {
                let mut written = 0;
                while let Next::Write(_) = queue.next() {
                    written += 1;
                }
                queue.wrote_all();
                written
            });
            while !queue.state.lock().is_ending {
                std::thread::yield_now();
            }
            assert!(queue.send(chunk(reserved)).is_none());
            assert_eq!((end.join().unwrap(), writer.join().unwrap()), (None, 1));
        });
        assert!(queue.send(chunk(0)).is_some(), "nobody would write it");
    }
}
