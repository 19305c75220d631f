//! HOT: what one thread records.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Instant;

use flow_codec::format::raw;
use flow_codec::write::{EventCounts, Fold};
use flow_codec::{Offset, ThreadId};
use parking_lot::{Mutex, MutexGuard};

use super::chunk::{Chunk, ChunkMemory};
use super::control::ControlPlace;
use super::{Recorded, ThreadFacts};

/// The recorder of one thread. Its own thread appends without a lock; handing over takes one.
#[derive(Debug)]
pub struct ThreadRecorder {
    id: ThreadId,
    is_virtual: bool,
    chunk: Chunk,
    /// Held by whoever reads the chunk, and while it is reused.
    out: Mutex<Out>,
}

/// What has become of a thread's chunks so far.
#[derive(Debug, Default)]
pub(super) struct Out {
    fold: Fold,
    /// Entries minus exits; negative where frames were entered before recording began.
    open_frames: i64,
    /// Where the next folded byte goes.
    pub(super) offset: Offset,
    pub(super) state: OutState,
}

/// Whether chunks are still written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum OutState {
    /// They are.
    #[default]
    Open,
    /// One could not be written; later ones would leave a hole in front of them.
    Failed,
    /// The last one was written. What is recorded after it is after the end of the recording.
    Closed,
}

impl Out {
    /// The canonical form of `raw`, and how many events that is.
    pub(super) fn fold(&mut self, raw: &[u8], last: bool) -> (Vec<u8>, EventCounts) {
        let mut folded = Vec::new();
        let mut counts = self.fold.push(raw, &mut folded);
        if last {
            let rest = self.fold.finish(&mut folded);
            counts.enters += rest.enters;
            counts.exits += rest.exits;
        }
        self.open_frames += counts.enters.cast_signed() - counts.exits.cast_signed();
        (folded, counts)
    }

    fn open_frames(&self) -> usize {
        usize::try_from(self.open_frames).unwrap_or_default()
    }
}

impl ThreadRecorder {
    /// A recorder for the current thread.
    pub(super) fn new(facts: &ThreadFacts, memory: ChunkMemory, control: ControlPlace) -> Self {
        let ThreadFacts { id, is_virtual, frames, .. } = *facts;
        let out = Out { open_frames: i64::from(frames), ..Out::default() };
        let chunk = Chunk::new(memory, control, out.open_frames());
        Self { id, is_virtual, chunk, out: Mutex::new(out) }
    }

    /// The thread.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        self.id
    }

    pub(super) fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    #[inline]
    pub(super) fn append_enter(&self, method: Recorded) -> bool {
        self.chunk.append(method.as_bytes())
    }

    #[inline]
    pub(super) fn append_exit(&self) -> bool {
        self.chunk.append(&[raw::EXIT])
    }

    /// Appends an event a probe could not.
    pub(super) fn append_raw(&self, event: &[u8]) -> bool {
        self.chunk.append(event)
    }

    /// Sends the thread to the recorder with its next event.
    pub(super) fn call_for_attention(&self) {
        self.chunk.call_for_attention();
    }

    /// The events not yet handed over.
    pub(super) fn recorded(&self) -> Vec<u8> {
        self.chunk.recorded()
    }

    /// Empties the chunk; only for the owner, with the lock that readers hold.
    pub(super) fn reuse_chunk(&self, out: &MutexGuard<'_, Out>) {
        self.chunk.reuse(out.open_frames());
    }

    /// Whether exits may be missing.
    pub(super) fn is_overrun(&self) -> bool {
        self.chunk.is_overrun()
    }

    /// Lets the probes of the thread that calls write nowhere.
    pub(super) fn park(&self) {
        self.chunk.control().park();
    }

    /// Makes the probes of the thread that calls stay away for good.
    pub(super) fn end(&self) {
        self.chunk.control().end();
    }

    /// Gives up the memory of a thread that has ended.
    pub(super) fn into_memory(self) -> ChunkMemory {
        self.chunk.into_memory()
    }

    pub(super) fn lock_out(&self) -> MutexGuard<'_, Out> {
        self.out.lock()
    }

    pub(super) fn try_lock_out_until(&self, deadline: Instant) -> Option<MutexGuard<'_, Out>> {
        self.out.try_lock_until(deadline)
    }
}
