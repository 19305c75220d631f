//! HOT: the memory one thread records into.
//!
//! Only the owning thread appends and reuses. Another thread may read at any instant: it sees the
//! whole events in front of the length it loads. Bytes behind it may change under it, bytes in
//! front change only in [`Chunk::reuse`], which the owner calls under the lock that every reader
//! holds (`ThreadRecorder::out`).

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::ffi::zeroed_bytes;

/// A raw chunk: whole events, see [`flow_codec::write`].
#[derive(Debug)]
pub(super) struct Chunk {
    bytes: Box<[AtomicU8]>,
    len: AtomicUsize,
}

impl Chunk {
    fn new(bytes: usize) -> Self {
        Self { bytes: zeroed_bytes(bytes), len: AtomicUsize::new(0) }
    }

    /// Appends a whole event; `false` when there is no room for it.
    #[inline]
    pub(super) fn append(&self, event: &[u8]) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        let end = len + event.len();
        let Some(space) = self.bytes.get(len..end) else {
            return false;
        };
        for (slot, byte) in space.iter().zip(event) {
            slot.store(*byte, Ordering::Relaxed);
        }
        // Pairs with the load in `recorded`: who sees the length sees the event.
        self.len.store(end, Ordering::Release);
        true
    }

    /// A copy of the events so far.
    pub(super) fn recorded(&self) -> Vec<u8> {
        // Pairs with the store in `append`.
        let len = self.len.load(Ordering::Acquire);
        let bytes = self.bytes.get(..len).unwrap_or_default();
        bytes.iter().map(|byte| byte.load(Ordering::Relaxed)).collect()
    }

    /// Empties the chunk. Only for the owner, when its events have been handed over.
    pub(super) fn reuse(&self) {
        self.len.store(0, Ordering::Release);
    }
}

/// Chunks of one size; those of ended threads serve new ones.
#[derive(Debug)]
pub(super) struct ChunkPool {
    chunk_bytes: usize,
    spare: Receiver<Chunk>,
    give: Sender<Chunk>,
}

/// More spare chunks than this go back to the system.
const MAX_SPARE: usize = 64;

impl ChunkPool {
    pub(super) fn new(chunk_bytes: usize) -> Self {
        let (give, spare) = bounded(MAX_SPARE);
        Self { chunk_bytes, spare, give }
    }

    /// An empty chunk.
    pub(super) fn take(&self) -> Chunk {
        self.spare.try_recv().unwrap_or_else(|_| Chunk::new(self.chunk_bytes))
    }

    /// Takes back a chunk that nobody reads any more.
    pub(super) fn give_back(&self, chunk: Chunk) {
        chunk.reuse();
        // Full: the chunk is dropped.
        let _ = self.give.try_send(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_does_not_fit_leaves_the_chunk_as_it_is() {
        let chunk = Chunk::new(4);
        assert!(chunk.append(&[0x81]));
        assert!(chunk.append(&[0xC0, 0x01]));
        assert!(!chunk.append(&[0xC0, 0x01]));
        assert_eq!(chunk.recorded(), [0x81, 0xC0, 0x01]);
        chunk.reuse();
        assert!(chunk.recorded().is_empty());
    }

    #[test]
    fn spare_chunks_come_back_empty() {
        let pool = ChunkPool::new(16);
        let chunk = pool.take();
        chunk.append(&[0x81]);
        pool.give_back(chunk);
        assert!(pool.take().recorded().is_empty());
    }

    #[test]
    fn a_reader_sees_whole_events_only() {
        let chunk = Chunk::new(30_000);
        std::thread::scope(|scope| {
            scope.spawn(|| while chunk.append(&[0xC1, 0x82, 0x03]) {});
            loop {
                let seen = chunk.recorded();
                assert_eq!(seen.len() % 3, 0);
                assert!(seen.chunks(3).all(|event| event == [0xC1, 0x82, 0x03]));
                if seen.len() == 30_000 {
                    break;
                }
            }
        });
    }
}
