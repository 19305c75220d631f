//! What a thread did, in as many lines as there is room for: the calls with most calls in them have lines.

use std::collections::BinaryHeap;

use flow_codec::Result;
use flow_codec::read::{Selection, ThreadFile};

use super::CallRun;
use crate::reading::{Listener, open_selected};
use crate::tree::{Node, SelectedTree};

/// How many consecutive lines a call or thread has at most, so that none takes all the room.
const MOST_CALLEES: usize = 48;

/// Asks for the largest calls of a thread, as a tree that has at most a size.
///
/// Begins with the outermost calls, and unfolds the call with most calls in it, again and again, until there is no room for
/// more. Reads only the calls that get lines, if the thread has an index or shapes. Memory: that of a [`SelectedTree`], and the
/// lines.
#[derive(Clone, Copy, Debug)]
pub struct Overview {
    /// The call that is shown with what is in it; all calls if it is not set.
    pub within: Option<u64>,
    /// The most levels.
    pub levels: u64,
    /// The size of all lines together.
    pub most: u64,
}

/// The answer: lines in the order of the calls, and what has none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct OverviewLines {
    /// The lines; [`CallRun::left_out`] are calls without a line.
    pub runs: Vec<CallRun>,
    /// Calls outside all of these.
    pub left_out: u64,
}

/// A line, and the lines below.
struct Line {
    run: CallRun,
    node: Node,
    callees: Vec<usize>,
}

/// Lines that are found, and room for more.
struct Growing<'a> {
    tree: &'a mut SelectedTree,
    lines: Vec<Line>,
    /// Lines to unfold: the number of calls in them, and their place.
    largest: BinaryHeap<(u64, usize)>,
    room: u64,
}

impl Overview {
    /// Finds the lines of a thread. `size` is that of one line.
    ///
    /// # Errors
    /// The events cannot be read, or there is no call with the requested number.
    pub fn of_thread(
        &self,
        file: &ThreadFile,
        selection: &Selection,
        listener: &mut impl Listener,
        size: impl Fn(&CallRun) -> u64,
    ) -> Result<Option<OverviewLines>> {
        let mut tree = open_selected(file, selection, listener)?;
        let root = match self.within {
            None => None,
            Some(number) => match tree.whole().call(number)?.filter(|node| tree.has(node)) {
                None => return Ok(None),
                found => found,
            },
        };
        let all = match &root {
            None => tree.count_in(0..u64::MAX)?,
            Some(node) => tree.subtree(node)?.calls,
        };
        let (lines, largest) = (Vec::new(), BinaryHeap::new());
        let mut growing = Growing { tree: &mut tree, lines, largest, room: self.most };
        let outermost = match root {
            None => growing.callees(None, 0, &size)?,
            Some(node) => {
                let run = CallRun { count: 1, ..CallRun::at(growing.tree, &node, 0)? };
                growing.add(run, node, &size);
                vec![0]
            }
        };
        while let Some((_, place)) = growing.largest.pop() {
            let Some(Line { run, node, .. }) = growing.lines.get(place) else { continue };
            let (node, depth) = (*node, run.depth + 1);
            if depth >= self.levels {
                continue;
            }
            let callees = growing.callees(Some(node), depth, &size)?;
            let shown = growing.calls_of(&callees);
            if let Some(line) = growing.lines.get_mut(place) {
                line.run.left_out = line.run.left_out.saturating_sub(shown);
                line.callees = callees;
            }
        }
        let left_out = all.saturating_sub(growing.calls_of(&outermost));
        Ok(Some(OverviewLines { runs: growing.in_order(&outermost), left_out }))
    }
}

impl Growing<'_> {
    /// Adds the callees of a call as lines, as long as there is room. Returns their places.
    fn callees(
        &mut self,
        of: Option<Node>,
        depth: u64,
        size: &impl Fn(&CallRun) -> u64,
    ) -> Result<Vec<usize>> {
        let mut places = Vec::new();
        let mut next = self.tree.children(of.as_ref(), 1)?.first().copied();
        while let Some(node) = next.filter(|_| places.len() < MOST_CALLEES) {
            let run = CallRun::at(self.tree, &node, depth)?;
            match self.add(run, node, size) {
                Some(place) => places.push(place),
                None => break,
            }
            next = self.tree.next_sibling(&node, run.count - 1)?;
        }
        Ok(places)
    }

    /// Adds a line, if there is room for it.
    fn add(&mut self, run: CallRun, node: Node, size: &impl Fn(&CallRun) -> u64) -> Option<usize> {
        self.room = self.room.checked_sub(size(&run))?;
        let place = self.lines.len();
        if run.calls > 1 {
            self.largest.push((run.all_calls(), place));
        }
        self.lines.push(Line { run, node, callees: Vec::new() });
        Some(place)
    }

    fn calls_of(&self, places: &[usize]) -> u64 {
        let runs = places.iter().filter_map(|place| self.lines.get(*place));
        runs.map(|line| line.run.all_calls()).sum()
    }

    /// The lines below these, each after its caller.
    fn in_order(&self, outermost: &[usize]) -> Vec<CallRun> {
        let mut runs = Vec::with_capacity(self.lines.len());
        let mut to_do: Vec<_> = outermost.iter().rev().copied().collect();
        while let Some(line) = to_do.pop().and_then(|place| self.lines.get(place)) {
            runs.push(line.run);
            to_do.extend(line.callees.iter().rev());
        }
        runs
    }
}
