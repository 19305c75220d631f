//! What a long reading passes to its caller meanwhile.

use flow_codec::{Error, Offset};

use crate::Remark;

/// Receives how far reading has come, and messages about damage. `()` ignores everything.
pub trait Listener {
    /// Receives the position up to which the current thread was read; called occasionally.
    fn at(&mut self, position: Offset) {
        let _ = position;
    }

    /// Receives the position as [`at`](Self::at) does; called for every event. `position` is computed rarely.
    #[inline]
    fn step(&mut self, position: impl FnOnce() -> Offset) {
        let _ = position;
    }

    /// Receives the number of bytes that will be read in addition.
    fn expect_more(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// A thread of this size has been read.
    fn file_done(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// Receives a message for a person.
    fn message(&self, text: &str);

    /// Receives an error in what was read. It is skipped, and everything else is read: see
    /// [`Soundness`](super::Soundness).
    fn damage(&self, error: &Error) {
        self.message(&error.to_string());
    }

    /// Receives a remark about the answer.
    fn remark(&self, remark: &Remark) {
        self.message(&remark.to_string());
    }
}

/// Ignores everything.
impl Listener for () {
    fn message(&self, _: &str) {}
}
