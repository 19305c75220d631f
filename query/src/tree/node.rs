//! What a tree of calls consists of.

use flow_codec::index::Place;
use flow_codec::{Depth, MethodId};

/// One call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Node {
    /// Where it is entered. The number of entries before this place is the call's number in its thread.
    pub place: Place,
    /// The method.
    pub method: MethodId,
}

impl Node {
    /// How many frames are below it.
    #[must_use]
    pub fn depth(&self) -> Depth {
        Depth::new(self.place.frames)
    }
}

/// The extent of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Subtree {
    /// Calls in it, including itself.
    pub calls: u64,
    /// Where the record of its exit begins; `None` if it is open at the end.
    pub left: Option<Place>,
}

/// Consecutive calls of one caller that did the same, as far as that is known: from events, each call is alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EqualCalls {
    /// The first of them.
    pub first: Node,
    /// How many they are.
    pub count: u64,
    /// The calls in each of them, including itself.
    pub calls: u64,
}

impl EqualCalls {
    /// The number among these calls, from 0, of one of them; `None` if the call is not one of them.
    #[must_use]
    pub fn number_of(&self, node: &Node) -> Option<u64> {
        let after = node.place.enters.checked_sub(self.first.place.enters)?;
        let number = after / self.calls.max(1);
        let is_it = number < self.count && node.depth() == self.first.depth();
        is_it.then_some(number)
    }
}
