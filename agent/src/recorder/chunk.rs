//! HOT: the memory one thread records into.
//!
//! Only the owning thread appends and reuses: by [`Chunk::append`], or by a probe, which does the same
//! in Java. Another thread may read at any instant: it sees the whole events in front of the position
//! it loads. Bytes behind it may change under it, bytes in front change only in [`Chunk::reuse`], which
//! the owner calls under the lock that every reader holds (`ThreadRecorder::out`).
//!
//! A probe that passed its limit just before that was taken away still writes one event: a chunk that a
//! live thread knows is never freed.
//!
//! The memory is made of words, so that a reader copies eight bytes at a time.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::control::{Control, ControlPlace};
use crate::ffi::zeroed_words;

/// A probe's store is this wide, whatever the event.
const STORE_BYTES: usize = 4;

const WORD_BYTES: usize = 8;

/// The memory of a chunk: its bytes in the order of the words, the lowest of each first.
pub(super) type ChunkMemory = Box<[AtomicU64]>;

/// A raw chunk: whole events, see [`flow_codec::format::raw`].
#[derive(Debug)]
pub(super) struct Chunk {
    words: ChunkMemory,
    control: ControlPlace,
}

impl Chunk {
    /// A chunk that `control` tells of from now on. For the owning thread.
    pub(super) fn new(words: ChunkMemory, control: ControlPlace) -> Self {
        let chunk = Self { words, control };
        chunk.reuse();
        chunk
    }

    /// The words that tell where to write.
    pub(super) fn control(&self) -> &Control {
        &self.control
    }

    /// Appends a whole event; `false` when there is no room for it, or the owner's attention is called.
    #[inline]
    pub(super) fn append(&self, event: &[u8]) -> bool {
        let len = self.len(Ordering::Relaxed);
        let end = len + event.len();
        if self.control.limit.load(Ordering::Relaxed) == 0 {
            return false;
        }
        if end > self.capacity() {
            return false;
        }
        for (at, byte) in (len..end).zip(event) {
            self.put(at, *byte);
        }
        // Pairs with the load in `recorded`: who sees the position sees the event.
        self.control.position.store(self.start() + end as u64, Ordering::Release);
        true
    }

    /// Only the owner writes, so nothing comes between the load and the store.
    #[inline]
    fn put(&self, at: usize, byte: u8) {
        if let Some(word) = self.words.get(at / WORD_BYTES) {
            let shift = at % WORD_BYTES * 8;
            let others = word.load(Ordering::Relaxed) & !(0xFF << shift);
            word.store(others | u64::from(byte) << shift, Ordering::Relaxed);
        }
    }

    /// A copy of the events so far.
    pub(super) fn recorded(&self) -> Vec<u8> {
        // Pairs with the store in `append`. A probe's stores are plain ones, which x86 keeps in order;
        // elsewhere the newest event may be read before its bytes are there.
        let len = self.len(Ordering::Acquire);
        let words = self.words.get(..len.div_ceil(WORD_BYTES)).unwrap_or_default();
        let mut bytes = Vec::with_capacity(words.len() * WORD_BYTES);
        for word in words {
            bytes.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }

    /// Empties the chunk. Only for the owner, when its events have been handed over.
    pub(super) fn reuse(&self) {
        self.control.position.store(self.start(), Ordering::Release);
        let limit = self.start() + self.capacity().saturating_sub(STORE_BYTES - 1) as u64;
        self.control.limit.store(limit, Ordering::SeqCst);
    }

    /// Sends the owner down its slow path at the next event.
    pub(super) fn call_for_attention(&self) {
        self.control.limit.store(0, Ordering::SeqCst);
    }

    /// Gives up the memory, when nobody writes into it any more.
    pub(super) fn into_memory(self) -> ChunkMemory {
        self.words
    }

    fn capacity(&self) -> usize {
        self.words.len() * WORD_BYTES
    }

    fn start(&self) -> u64 {
        self.words.as_ptr().expose_provenance() as u64
    }

    #[inline]
    fn len(&self, order: Ordering) -> usize {
        let len = self.control.position.load(order).wrapping_sub(self.start());
        usize::try_from(len).unwrap_or(usize::MAX)
    }
}

/// Chunks of one size; those of ended threads serve new ones.
#[derive(Debug)]
pub(super) struct ChunkPool {
    chunk_bytes: usize,
    spare: Receiver<ChunkMemory>,
    give: Sender<ChunkMemory>,
}

/// More spare chunks than this go back to the system.
const MAX_SPARE: usize = 64;

impl ChunkPool {
    pub(super) fn new(chunk_bytes: usize) -> Self {
        let (give, spare) = bounded(MAX_SPARE);
        Self { chunk_bytes, spare, give }
    }

    /// Memory for a chunk.
    pub(super) fn take(&self) -> ChunkMemory {
        self.spare.try_recv().unwrap_or_else(|_| zeroed_words(self.chunk_bytes / WORD_BYTES))
    }

    /// Takes back the memory of a chunk that nobody reads or writes any more.
    pub(super) fn give_back(&self, memory: ChunkMemory) {
        // Full: the memory is freed.
        let _ = self.give.try_send(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(bytes: usize) -> Chunk {
        Chunk::new(zeroed_words(bytes / WORD_BYTES), ControlPlace::Own(Box::default()))
    }

    #[test]
    fn an_event_that_does_not_fit_leaves_the_chunk_as_it_is() {
        let chunk = chunk(16);
        (0..4).for_each(|_| assert!(chunk.append(&[0xC1, 0x82, 0x03])));
        assert!(chunk.append(&[0x81, 0x00]));
        assert!(!chunk.append(&[0xC1, 0x82, 0x03]));
        assert_eq!(chunk.recorded()[9..], [0xC1, 0x82, 0x03, 0x81, 0x00]);
        chunk.reuse();
        assert!(chunk.recorded().is_empty());
    }

    #[test]
    fn below_the_limit_there_is_room_for_the_widest_store() {
        let chunk = chunk(64);
        let (start, limit) = (chunk.start(), chunk.control().limit.load(Ordering::Relaxed));
        assert!(limit - 1 + STORE_BYTES as u64 <= start + 64);
        assert!(limit + STORE_BYTES as u64 > start + 64, "no space is wasted");
    }

    #[test]
    fn a_call_for_attention_stops_appending_and_keeps_what_is_there() {
        let chunk = chunk(64);
        assert!(chunk.append(&[0x81]));
        chunk.call_for_attention();
        assert!(!chunk.append(&[0x82]));
        assert_eq!(chunk.recorded(), [0x81]);
    }

    #[test]
    fn a_reader_sees_whole_events_only() {
        let chunk = chunk(29_976);
        std::thread::scope(|scope| {
            scope.spawn(|| while chunk.append(&[0xC1, 0x82, 0x03]) {});
            loop {
                let seen = chunk.recorded();
                assert_eq!(seen.len() % 3, 0);
                assert!(seen.chunks(3).all(|event| event == [0xC1, 0x82, 0x03]));
                if seen.len() == 29_976 {
                    break;
                }
            }
        });
    }
}
