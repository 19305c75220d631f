//! What a thread did, in as many lines as there is room for: the calls with most calls in them have lines.

use std::cmp::Reverse;
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
    /// Lines to unfold: the number of calls in them, and their place; of equal ones the first.
    largest: BinaryHeap<(u64, Reverse<usize>)>,
    room: u64,
}

impl Overview {
    /// Finds the lines of a thread. `size` is that of one line.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn of_thread(
        &self,
        file: &ThreadFile,
        selection: &Selection,
        listener: &mut impl Listener,
        size: impl Fn(&CallRun) -> u64,
    ) -> Result<OverviewLines> {
        let mut tree = open_selected(file, selection, listener)?;
        let all = tree.count_in(0..u64::MAX)?;
        let (lines, largest) = (Vec::new(), BinaryHeap::new());
        let mut growing = Growing { tree: &mut tree, lines, largest, room: self.most };
        let outermost = growing.callees(None, 0, &size)?;
        while let Some((_, Reverse(place))) = growing.largest.pop() {
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
        Ok(OverviewLines { runs: growing.in_order(&outermost), left_out })
    }

    /// Finds what to unfold below a call, for a reader who sees all callees of an unfolded call: the numbers of the calls with
    /// most calls in them, as long as the callees of all these have at most `most` lines together. The call itself is always
    /// unfolded.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn to_unfold(&self, tree: &mut SelectedTree, within: Node) -> Result<Vec<u64>> {
        let size = |_: &CallRun| 1;
        let (lines, largest) = (Vec::new(), BinaryHeap::new());
        let mut growing = Growing { tree, lines, largest, room: u64::MAX };
        let run = CallRun { count: 1, ..CallRun::at(growing.tree, &within, 0)? };
        growing.add(run, within, &size);
        growing.room = self.most;
        let mut unfolded = Vec::new();
        while let Some((_, Reverse(place))) = growing.largest.pop() {
            let Some(Line { run, node, .. }) = growing.lines.get(place) else { continue };
            let (run, node) = (*run, *node);
            if run.depth + 1 >= self.levels {
                continue;
            }
            let (room, kept) = (growing.room, growing.lines.len());
            // Of calls that did the same, the one that is unfolded gets a line of its own.
            growing.room = room.saturating_sub(u64::from(run.count > 1));
            let found = growing.callees(Some(node), run.depth + 1, &size)?;
            if growing.calls_of(&found) < run.left_out && !unfolded.is_empty() {
                growing.lines.truncate(kept);
                growing.largest.retain(|(_, Reverse(place))| *place < kept);
                growing.room = room;
                continue;
            }
            unfolded.push(run.number);
        }
        Ok(unfolded)
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
            self.largest.push((run.all_calls(), Reverse(place)));
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
