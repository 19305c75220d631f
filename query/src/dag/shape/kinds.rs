//! What shapes and the calls of a thread are made of.

use flow_codec::MethodId;

/// A shape of a [`Dag`](crate::dag::Dag), by number: dense from 0, larger than those of the calls that it makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ShapeId(pub(in crate::dag) u32);

impl ShapeId {
    /// The shape with this index.
    pub(crate) fn at(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The number.
    #[must_use]
    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    /// The number as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a call was left.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// The call returned, or there are no marks that could tell.
    Returned = 0,
    /// By an exception.
    Unwound = 1,
    /// Recording was suspended.
    Cut = 2,
}

impl Outcome {
    /// The outcome in JSON and CSV.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Unwound => "unwound",
            Self::Cut => "cut",
        }
    }

    /// The outcome for people.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Unwound => "left by an exception",
            Self::Cut => "not left before recording ended or paused",
        }
    }
}

/// A place where events are missing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Break {
    /// The events were lost, or are damaged.
    Gap = 0,
    /// Recording was suspended.
    Pause = 1,
}

/// What has a shape.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A call of a method.
    Call(MethodId, Outcome),
    /// A break in the calls, which is no call.
    Break(Break),
    /// All calls of a thread, in [joined](crate::dag::Join) shapes.
    Thread,
}

/// Consecutive calls, or something else that is outermost in a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// This many consecutive calls of a shape.
    Calls(ShapeId, u64),
    /// Exits of frames that were entered before recording began.
    UnseenExits(u64),
    /// A frame that was entered and not left. The roots that follow are in it.
    Open(MethodId),
}
