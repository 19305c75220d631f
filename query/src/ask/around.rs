//! The surroundings of a call: its callers, its neighbours, what it called, and the calls of its method nearest to it.

use flow_codec::read::{Selection, ThreadFile};
use flow_codec::{MethodId, Result};

use super::CallRun;
use crate::reading::{Listener, open_selected};
use crate::tree::{Direction, Node, SearchStep, SelectedTree};

/// Intervals of the index that are searched for the next call of a method, if a thread has no shapes: about 64 MB of events.
const MOST_INTERVALS: usize = 2_000;

/// Asks for what is around a call.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// The number of the call in its thread.
    pub call: u64,
    /// The most neighbours on each side, and the most callees.
    pub most: usize,
}

/// What is around a call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Surroundings {
    /// Shown callers, the outermost first.
    pub callers: Vec<CallRun>,
    /// Calls of the same caller before it, in order.
    pub before: Vec<CallRun>,
    /// The call.
    pub call: CallRun,
    /// What it called, in order.
    pub callees: Vec<CallRun>,
    /// Calls of the same caller after it, in order.
    pub after: Vec<CallRun>,
    /// The call of the same method before it, in the order in which they begin.
    pub previous: Option<CallRun>,
    /// The next call of the same method.
    pub next: Option<CallRun>,
}

impl Around {
    /// Finds what is around the call in a thread; `None` if there is no such call.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn of_thread(
        &self,
        file: &ThreadFile,
        selection: &Selection,
        listener: &mut impl Listener,
    ) -> Result<Option<Surroundings>> {
        let mut tree = open_selected(file, selection, listener)?;
        let Some(node) = tree.whole().call(self.call)?.filter(|node| tree.has(node)) else {
            return Ok(None);
        };
        let frames = tree.frames(&node)?;
        let depth = frames.len() as u64;
        let mut callers = Vec::with_capacity(frames.len());
        for (depth, frame) in (0..).zip(&frames) {
            callers.push(alone(&mut tree, frame, depth)?);
        }
        let (mut before, mut first) = (Vec::new(), node);
        while let Some(previous) =
            tree.previous_sibling(&first)?.filter(|_| before.len() < self.most)
        {
            // Calls that did the same are one line, which begins with the first of them.
            first = tree.equal_calls(&previous)?.first;
            if first.place.enters > node.place.enters || !tree.has(&first) {
                first = previous;
            }
            let run = CallRun::at(&mut tree, &first, depth)?;
            let each = run.calls.max(1);
            let until = node.place.enters.saturating_sub(first.place.enters) / each;
            before.push(CallRun { count: run.count.min(until.max(1)), ..run });
        }
        before.reverse();
        let after = tree.next_sibling(&node, 0)?;
        let after = self.from(&mut tree, after, depth)?;
        let callees = tree.children(Some(&node), 1)?.first().copied();
        let callees = self.from(&mut tree, callees, depth + 1)?;
        let mut near = |direction| -> Result<Option<CallRun>> {
            let near = of_method(&mut tree, &node, direction)?;
            let run = near.map(|near| {
                let depth = tree.frames(&near)?.len() as u64;
                alone(&mut tree, &near, depth)
            });
            run.transpose()
        };
        let (previous, next) = (near(Direction::Backwards)?, near(Direction::Forwards)?);
        let call = alone(&mut tree, &node, depth)?;
        Ok(Some(Surroundings { callers, before, call, callees, after, previous, next }))
    }

    /// The runs from a call on.
    fn from(
        &self,
        tree: &mut SelectedTree,
        mut next: Option<Node>,
        depth: u64,
    ) -> Result<Vec<CallRun>> {
        let mut runs = Vec::new();
        while let Some(node) = next.filter(|_| runs.len() < self.most) {
            let run = CallRun::at(tree, &node, depth)?;
            next = tree.next_sibling(&node, run.count - 1)?;
            runs.push(run);
        }
        Ok(runs)
    }
}

/// A single call.
fn alone(tree: &mut SelectedTree, node: &Node, depth: u64) -> Result<CallRun> {
    Ok(CallRun { count: 1, ..CallRun::at(tree, node, depth)? })
}

/// The nearest call of the same method.
fn of_method(tree: &mut SelectedTree, of: &Node, direction: Direction) -> Result<Option<Node>> {
    let method: MethodId = of.method;
    let number = match direction {
        Direction::Forwards => of.place.enters.saturating_add(1),
        Direction::Backwards => of.place.enters,
    };
    if let Some(calls) = tree.calls_of(|other| other == method) {
        return calls.nearest(tree.whole(), number, direction);
    }
    match tree.search(number, direction, |other| other == method, MOST_INTERVALS)? {
        SearchStep::Found(node) => Ok(Some(node)),
        SearchStep::Reached(_) | SearchStep::End => Ok(None),
    }
}
