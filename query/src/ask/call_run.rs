//! A line of a tree of calls: one call, or consecutive ones that did the same.

use flow_codec::{MethodId, Result};

use crate::tree::{Node, SelectedTree};

/// A call, or consecutive calls of one caller that did the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CallRun {
    /// The number of the first call in its thread.
    pub number: u64,
    /// The number of its shown callers.
    pub depth: u64,
    /// The method.
    pub method: MethodId,
    /// How many calls they are.
    pub count: u64,
    /// Shown calls in one of them, including itself.
    pub calls: u64,
    /// Of the calls in the first one, those that have no line.
    pub left_out: u64,
}

impl CallRun {
    /// The run that begins with a call; `depth` is that of the call.
    pub(super) fn at(tree: &mut SelectedTree, node: &Node, depth: u64) -> Result<Self> {
        let run = tree.equal_calls(node)?;
        let (number, calls) = (node.place.enters, tree.subtree(node)?.calls);
        // The call may be in the middle of calls that did the same.
        let before = run.number_of(node).unwrap_or(0);
        let count = run.count.saturating_sub(before).max(1);
        Ok(Self {
            number,
            depth,
            method: node.method,
            count,
            calls,
            left_out: calls - calls.min(1),
        })
    }

    /// All shown calls in it.
    #[must_use]
    pub fn all_calls(&self) -> u64 {
        self.calls.saturating_mul(self.count)
    }
}
