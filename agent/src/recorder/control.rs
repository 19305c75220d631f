//! HOT: the words by which a thread's chunk is found and switched off.
//!
//! | offset | word | value |
//! |---:|---|---|
//! | 0 | position | address of the next byte to be written; 0 before the thread's first event |
//! | 8 | limit | a position below it leaves room for a probe's store; 0 calls for attention: no chunk, or recording is off |
//! | 16 | ended | not 0 once the thread has ended |
//! | 24 | last | the last address at which an exit can begin: exits, which ask for no limit, stop there |
//!
//! The probes (`agent/java`) read and write position and limit of the blocks in the table of
//! [`ffi`](crate::ffi). The block of thread 0, which does not exist, is the table's own: its third word
//! switches all probes off.
//!
//! An exit stores its byte without asking. So a block that a thread has met once always has a position
//! that can be written to: [`Control::park`] gives it one where there is no chunk.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The control block of one thread.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Control {
    pub(super) position: AtomicU64,
    /// Sequentially consistent, with `Recorder::on`: of a thread that sets it up and another that ends
    /// the recording, one at least sees the other.
    pub(super) limit: AtomicU64,
    ended: AtomicU64,
    pub(super) last: AtomicU64,
}

/// Where the exits of parked threads go, with times too.
static PARKED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

impl Control {
    /// Lets exits of the thread go nowhere. For the thread itself, while it has no chunk.
    pub fn park(&self) {
        let nowhere = ptr::from_ref(&PARKED).expose_provenance() as u64;
        self.limit.store(0, Ordering::SeqCst);
        self.last.store(nowhere, Ordering::Relaxed);
        self.position.store(nowhere, Ordering::Relaxed);
    }

    /// As [`park`](Self::park), for a thread that has never had a chunk.
    pub fn park_unless_used(&self) {
        if self.position.load(Ordering::Relaxed) == 0 {
            self.park();
        }
    }

    /// Whether the thread has ended, which may have its last probes still before it.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed) != 0
    }

    pub(super) fn end(&self) {
        self.ended.store(1, Ordering::Relaxed);
        self.park();
    }

    /// The word that is not 0 while probes shall do nothing; of the block of thread 0 only.
    #[must_use]
    pub fn off_switch(&self) -> &AtomicU64 {
        &self.ended
    }
}

/// Where a control block stands.
#[derive(Debug)]
pub enum ControlPlace {
    /// In the table that probes know.
    Table(&'static Control),
    /// Anywhere: no probe looks for it.
    Own(Box<Control>),
}

impl Deref for ControlPlace {
    type Target = Control;

    #[inline]
    fn deref(&self) -> &Control {
        match self {
            Self::Table(control) => control,
            Self::Own(control) => control,
        }
    }
}
