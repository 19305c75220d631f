//! HOT: the memory one thread records into.
//!
//! Only the owning thread appends and reuses: by [`Chunk::append`], or by a probe, which does the same
//! in Java. Another thread may read at any instant: it sees the whole events in front of the position
//! it loads. Bytes behind it may change under it, bytes in front change only in [`Chunk::reuse`], which
//! the owner calls under the lock that every reader holds (`ThreadRecorder::out`).
//!
//! A probe that passed its limit just before that was taken away still writes one event, and exits ask
//! for no limit at all: a chunk that a live thread knows is never freed.
//!
//! ```text
//! start            limit                                        last
//! ├─ events ────────┤─ exits, of all frames open when it is reached ─┤
//! ```
//!
//! How many these can be is known whenever a chunk is handed over: the frames open then, and as many as
//! the next chunk can open. Where the memory is too small for that, the thread gets larger memory.
//!
//! The memory is made of words, so that a reader copies eight bytes at a time.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};
use once_cell::sync::OnceCell;

use super::control::{Control, ControlPlace};
use crate::ffi::zeroed_words;

/// The widest store at a position below the limit: the longest event.
const STORE_BYTES: usize = 16;

const WORD_BYTES: usize = 8;

/// The memory of a chunk: its bytes in the order of the words, the lowest of each first.
pub(super) type ChunkMemory = Box<[AtomicU64]>;

/// A raw chunk: whole events, see [`flow_codec::format::raw`].
#[derive(Debug)]
pub(super) struct Chunk {
    memory: Memory,
    /// Where the limit is.
    fill_bytes: usize,
    control: ControlPlace,
}

#[derive(Debug)]
struct Memory {
    words: ChunkMemory,
    /// What took its place, for the same reason as above without freeing it.
    larger: OnceCell<Box<Memory>>,
}

impl Chunk {
    /// A chunk that `control` tells of from now on. For the owning thread.
    pub(super) fn new(words: ChunkMemory, control: ControlPlace, open_frames: usize) -> Self {
        let fill_bytes = (words.len() * WORD_BYTES).saturating_sub(EXIT_SPACE_BYTES) / 2;
        let memory = Memory { words, larger: OnceCell::new() };
        let chunk = Self { memory, fill_bytes, control };
        chunk.reuse(open_frames);
        chunk
    }

    /// The words that tell where to write.
    pub(super) fn control(&self) -> &Control {
        &self.control
    }

    #[inline]
    fn words(&self) -> &[AtomicU64] {
        let mut memory = &self.memory;
        while let Some(larger) = memory.larger.get() {
            memory = larger;
        }
        &memory.words
    }

    /// Appends a whole event; `false` when there is no room for it, or the owner's attention is called.
    #[inline]
    pub(super) fn append(&self, event: &[u8]) -> bool {
        let position = self.control.position.load(Ordering::Relaxed);
        if position >= self.control.limit.load(Ordering::Relaxed) {
            return false;
        }
        let words = self.words();
        for (at, byte) in (self.len(words, position)..).zip(event) {
            put(words, at, *byte);
        }
        // Pairs with the load in `recorded`: who sees the position sees the event.
        self.control.position.store(position + event.len() as u64, Ordering::Release);
        true
    }

    /// A copy of the events so far.
    pub(super) fn recorded(&self) -> Vec<u8> {
        // Pairs with the store in `append`. A probe's stores are plain ones, which x86 keeps in order;
        // elsewhere the newest event may be read before its bytes are there.
        let words = self.words();
        let len = self.len(words, self.control.position.load(Ordering::Acquire));
        let words = words.get(..len.div_ceil(WORD_BYTES)).unwrap_or_default();
        let mut bytes = Vec::with_capacity(words.len() * WORD_BYTES);
        for word in words {
            bytes.extend_from_slice(&(!word.load(Ordering::Relaxed)).to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }

    /// Empties the chunk. Only for the owner, which has this many frames open, when its events have been
    /// handed over.
    pub(super) fn reuse(&self, open_frames: usize) {
        let needed = 2 * self.fill_bytes + open_frames + STORE_BYTES;
        if self.words().len() * WORD_BYTES < needed {
            self.grow(needed + open_frames);
        }
        let words = self.words();
        let start = start(words);
        let last = start + (words.len() * WORD_BYTES) as u64 - 1;
        self.control.last.store(last, Ordering::Relaxed);
        self.control.position.store(start, Ordering::Release);
        self.control.limit.store(start + self.fill_bytes as u64, Ordering::SeqCst);
    }

    /// Whether exits may be missing: more followed each other than there was space for.
    pub(super) fn is_overrun(&self) -> bool {
        let last = self.control.last.load(Ordering::Relaxed);
        last != 0 && self.control.position.load(Ordering::Relaxed) == last
    }

    #[cold]
    fn grow(&self, bytes: usize) {
        let mut memory = &self.memory;
        while let Some(larger) = memory.larger.get() {
            memory = larger;
        }
        let words = zeroed_words(bytes.div_ceil(WORD_BYTES));
        // Only the owner grows its chunk, so nobody else sets it.
        let _ = memory.larger.set(Box::new(Memory { words, larger: OnceCell::new() }));
    }

    /// Sends the owner down its slow path at the next event.
    pub(super) fn call_for_attention(&self) {
        self.control.limit.store(0, Ordering::SeqCst);
    }

    /// Gives up the memory, when nobody writes into it any more.
    pub(super) fn into_memory(self) -> ChunkMemory {
        self.memory.words
    }

    #[inline]
    fn len(&self, words: &[AtomicU64], position: u64) -> usize {
        usize::try_from(position.wrapping_sub(start(words))).unwrap_or(usize::MAX)
    }
}

fn start(words: &[AtomicU64]) -> u64 {
    words.as_ptr().expose_provenance() as u64
}

/// Stores the complement of a byte. Only the owner writes, so nothing comes between the load and the
/// store.
#[inline]
fn put(words: &[AtomicU64], at: usize, byte: u8) {
    if let Some(word) = words.get(at / WORD_BYTES) {
        let shift = at % WORD_BYTES * 8;
        let others = word.load(Ordering::Relaxed) & !(0xFF << shift);
        word.store(others | u64::from(!byte) << shift, Ordering::Relaxed);
    }
}

/// Chunks of one size; those of ended threads serve new ones.
#[derive(Debug)]
pub(super) struct ChunkPool {
    chunk_bytes: usize,
    spare: Receiver<ChunkMemory>,
    give: Sender<ChunkMemory>,
}

/// Space for exits beyond what the chunk itself can open.
const EXIT_SPACE_BYTES: usize = 1024;

/// More spare chunks than this go back to the system.
const MAX_SPARE: usize = 64;

impl ChunkPool {
    pub(super) fn new(chunk_bytes: usize) -> Self {
        let (give, spare) = bounded(MAX_SPARE);
        Self { chunk_bytes, spare, give }
    }

    /// Memory for a chunk.
    pub(super) fn take(&self) -> ChunkMemory {
        self.spare.try_recv().unwrap_or_else(|_| zeroed_words(self.memory_words()))
    }

    /// Room for events, as much again for exits, and some to spare for the frames of most stacks.
    fn memory_words(&self) -> usize {
        self.chunk_bytes.div_ceil(WORD_BYTES) * 2 + EXIT_SPACE_BYTES / WORD_BYTES
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

    /// A chunk with room for this many bytes of events.
    fn chunk(bytes: usize) -> Chunk {
        let words = (2 * bytes + EXIT_SPACE_BYTES) / WORD_BYTES;
        Chunk::new(zeroed_words(words), ControlPlace::Own(Box::default()), 0)
    }

    /// What the exit probe does.
    fn exit(chunk: &Chunk) {
        let Control { position, last, .. } = chunk.control();
        let at = position.load(Ordering::Relaxed);
        put(chunk.words(), chunk.len(chunk.words(), at), 0);
        let moves = u64::from(at < last.load(Ordering::Relaxed));
        position.store(at + moves, Ordering::Relaxed);
    }

    #[test]
    fn an_event_that_does_not_fit_leaves_the_chunk_as_it_is() {
        let chunk = chunk(16);
        (0..6).for_each(|_| assert!(chunk.append(&[0xC1, 0x82, 0x03])));
        assert!(!chunk.append(&[0x81]));
        assert_eq!(chunk.recorded(), [0xC1, 0x82, 0x03].repeat(6));
        chunk.reuse(0);
        assert!(chunk.recorded().is_empty());
    }

    #[test]
    fn below_the_limit_there_is_room_for_the_widest_store() {
        let chunk = chunk(64);
        let Control { limit, last, .. } = chunk.control();
        let (limit, last) = (limit.load(Ordering::Relaxed), last.load(Ordering::Relaxed));
        assert!(limit - 1 + STORE_BYTES as u64 <= last + 1);
    }

    #[test]
    fn all_frames_can_exit_behind_the_limit() {
        for open_frames in [0, 10, 5000, 1_000_000] {
            let chunk = chunk(64);
            chunk.append(&[0x81]);
            chunk.reuse(open_frames);
            let mut entered = 0;
            while chunk.append(&[0x81]) {
                entered += 1;
            }
            (0..open_frames + entered).for_each(|_| exit(&chunk));
            assert!(!chunk.is_overrun());
            let recorded = chunk.recorded();
            assert_eq!(recorded.len(), open_frames + 2 * entered);
            assert!(recorded.iter().skip(entered).all(|byte| *byte == 0));
        }
    }

    #[test]
    fn exits_without_frames_stop_at_the_last_byte() {
        let chunk = chunk(64);
        (0..100_000).for_each(|_| exit(&chunk));
        assert!(chunk.is_overrun());
        assert!(chunk.recorded().len() <= 2 * 64 + EXIT_SPACE_BYTES);
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
