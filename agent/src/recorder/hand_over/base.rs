//! What handing over takes: buffers, the queue, and what waits to be written.

use std::sync::Arc;

use parking_lot::Mutex;

use super::batch::Ended;
use super::queue::Queue;
use crate::recorder::ThreadRecorder;
use crate::recorder::memory::buffers::Buffers;
use crate::recorder::shared::SharedState;

/// Takes chunks from threads, and passes them to the sink: see [`hand_over`](super).
pub(in crate::recorder) struct HandOver {
    pub(in crate::recorder) shared: SharedState,
    pub(in crate::recorder) buffers: Buffers,
    /// The queue for chunks, if a thread of the agent writes them.
    pub(in crate::recorder) queue: Option<Queue>,
    pub(super) ended: Ended,
    /// How many bytes of a thread that thread writes at once.
    pub(in crate::recorder) gathered_bytes: usize,
    /// Whether a thread of the agent encodes chunks while they are filled.
    pub(in crate::recorder) encodes_ahead: bool,
    /// Held while a thread of the agent encodes a chunk ahead, or compresses and writes one: never both at once, so that
    /// together they take one core at most.
    pub(super) turn: Mutex<()>,
    /// Threads that have ended but were held by the thread that encodes, and where their last chunk ends.
    pub(in crate::recorder) leaving: Mutex<Vec<(Arc<ThreadRecorder>, u64)>>,
}

impl HandOver {
    /// Writes chunks in the threads that fill them.
    pub(in crate::recorder) fn new(shared: SharedState) -> Self {
        Self {
            shared,
            buffers: Buffers::new(),
            queue: None,
            ended: Ended::default(),
            gathered_bytes: 0,
            encodes_ahead: false,
            turn: Mutex::default(),
            leaving: Mutex::default(),
        }
    }
}
