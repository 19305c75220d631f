//! The frames of a thread by the events of `engine=events`: how many are open, and which method returned last.
//!
//! `Thread.stop`, or a debugger that stops a thread, may interrupt a return after the JVM has reported it. The JVM then reports
//! a second exit of the same frame, by the exception. So an exit by an exception right after a return from the same method is
//! compared with the stack.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use crate::recorder::RawMethod;

/// How a method was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// By a return.
    Returned,
    /// By an exception.
    Unwound,
}

/// Frames of a thread whose entries were recorded. For the thread itself.
#[derive(Debug, Default)]
pub struct Frames {
    open: AtomicI64,
    /// The method of the last event, if that was a return.
    returned: AtomicUsize,
}

impl Frames {
    /// A recorded frame begins.
    #[inline]
    pub fn enter(&self) {
        self.open.store(self.open() + 1, Ordering::Relaxed);
        self.returned.store(0, Ordering::Relaxed);
    }

    /// A recorded frame ends.
    #[inline]
    pub fn leave(&self, method: RawMethod, how: Left) {
        self.open.store(self.open() - 1, Ordering::Relaxed);
        let returned = if how == Left::Returned { method.0 } else { 0 };
        self.returned.store(returned, Ordering::Relaxed);
    }

    /// Returns whether the last event was a return from this method.
    #[inline]
    #[must_use]
    pub fn has_just_returned(&self, method: RawMethod) -> bool {
        self.returned.load(Ordering::Relaxed) == method.0
    }

    /// Returns how many frames are open.
    #[inline]
    #[must_use]
    pub fn open(&self) -> i64 {
        self.open.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_has_just_returned_until_the_next_event() {
        let (frames, [outer, inner]) = (Frames::default(), [8, 16].map(RawMethod));
        frames.enter();
        frames.enter();
        frames.leave(inner, Left::Returned);
        assert!(frames.has_just_returned(inner) && !frames.has_just_returned(outer));
        assert_eq!(frames.open(), 1);
        frames.enter();
        assert!(!frames.has_just_returned(inner));
        frames.leave(inner, Left::Unwound);
        assert!(!frames.has_just_returned(inner));
        frames.leave(outer, Left::Returned);
        assert!(frames.has_just_returned(outer));
        assert_eq!(frames.open(), 0);
    }
}
