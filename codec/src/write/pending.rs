//! HOT: which constructors are calling another one, and which of them must have been unwound.
//!
//! [`raw`](crate::format::raw) states the rules and why they hold. Each function here is called before an
//! event takes effect, or after it where its documentation says so, with the depth of the stack at that
//! moment. It returns how many frames at the top have been left without an event.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::MethodId;

/// What is known about a call that a constructor made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Callee {
    /// The callee has not been entered yet.
    Expected(MethodId),
    /// The callee was entered, so nothing else will follow.
    Met,
    /// Entries prove nothing about it.
    Unknown,
}

impl Callee {
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Met => 0,
            Self::Unknown => 1,
            Self::Expected(method) => method.get() + 2,
        }
    }

    pub(super) fn from_number(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self::Met),
            1 => Some(Self::Unknown),
            _ => MethodId::new(number - 2).map(Self::Expected),
        }
    }
}

/// A constructor that called another one.
#[derive(Clone, Copy, Debug)]
struct Pending {
    depth: i64,
    callee: Callee,
}

/// The constructors of a thread that are in such a call, the topmost last. None is above the depth of the
/// stack, and no two have the same depth.
#[derive(Debug, Default)]
pub(super) struct PendingConstructors {
    pending: Vec<Pending>,
}

impl PendingConstructors {
    /// Constructors at these depths, the topmost last.
    pub(super) fn of(pending: Vec<(i64, Callee)>) -> Self {
        let pending = pending.into_iter().map(|(depth, callee)| Pending { depth, callee });
        Self { pending: pending.collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Depth and callee of each, the topmost first.
    pub(super) fn topmost_first(&self) -> impl Iterator<Item = (i64, Callee)> {
        self.pending.iter().rev().map(|pending| (pending.depth, pending.callee))
    }

    /// The depth of the topmost one.
    pub(super) fn topmost_depth(&self) -> Option<i64> {
        self.pending.last().map(|top| top.depth)
    }

    /// Removes those above a depth, and returns their depths, the lowest first. If frames above it will be
    /// `entered` again, the call of the constructor at that depth becomes unknown.
    pub(super) fn forget_above(&mut self, depth: i64, entered: bool) -> Vec<i64> {
        let kept = self.pending.iter().take_while(|pending| pending.depth <= depth).count();
        let forgotten = self.pending.drain(kept..).map(|pending| pending.depth).collect();
        if let Some(top) = self.pending.last_mut().filter(|top| entered && top.depth == depth) {
            top.callee = Callee::Unknown;
        }
        forgotten
    }

    /// How many frames are above the topmost one.
    #[inline]
    pub(super) fn frames_above(&self, depth: i64) -> u64 {
        self.pending.last().map_or(u64::MAX, |top| depth.abs_diff(top.depth))
    }

    /// A constructor calls another one. Call [`below`](Self::below) first, which finds the constructors that
    /// were unwound before.
    pub(super) fn begin(&mut self, depth: i64, callee: Option<MethodId>) {
        let callee = callee.map_or(Callee::Unknown, Callee::Expected);
        self.pending.push(Pending { depth, callee });
    }

    /// The topmost call returned.
    pub(super) fn end(&mut self) {
        self.pending.pop();
    }

    /// The topmost frame does something that a constructor cannot do in such a call.
    #[inline]
    pub(super) fn below(&mut self, depth: i64) -> u64 {
        self.unwind(depth, |_| true)
    }

    /// After a frame was left by an exception: the constructor that made the call is left by it too.
    #[inline]
    pub(super) fn unwound(&mut self, depth: i64) -> u64 {
        self.unwind(depth, |callee| callee == Callee::Met)
    }

    /// The topmost frame calls `method`.
    #[inline]
    pub(super) fn enter(&mut self, depth: i64, method: MethodId) -> u64 {
        let unwound = self.unwind(depth, |callee| callee == Callee::Met);
        if let Some(top) = self.pending.last_mut()
            && top.depth == depth.wrapping_sub_unsigned(unwound)
            && let Callee::Expected(expected) = top.callee
        {
            top.callee = if expected == method { Callee::Met } else { Callee::Unknown };
        }
        unwound
    }

    #[inline]
    fn unwind(&mut self, mut depth: i64, is_unwound: impl Fn(Callee) -> bool) -> u64 {
        let mut unwound = 0;
        while let Some(top) = self.pending.last()
            && top.depth == depth
            && is_unwound(top.callee)
        {
            self.pending.pop();
            depth -= 1;
            unwound += 1;
        }
        unwound
    }
}
