//! The calling-context tree of a complete graph.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::numbering::Numbering;
use super::paths::{PathNode, ROOT, at};
use super::{Precision, SumsOf};
use flow_codec::MethodId;
use flow_codec::read::{Elapsed, TimeAxis};

/// A path in a [`PathTree`] or a [`Diff`](super::Diff): methods from the outermost call to the innermost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PathId(u32);

impl PathId {
    pub(super) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number of the path, from 1 on, in the order in which paths were first entered. 0 is the empty
    /// path, with which a thread begins.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// The sums of one path, by its last method. Calls that end with this path are its own; so is the time while it was the whole
/// stack.
pub type PathRow = SumsOf<MethodId>;

/// The times of paths.
#[derive(Clone, Debug)]
pub(super) struct PathTimes {
    axis: TimeAxis,
    /// By path: the time while it was the whole stack, and the same by wall-clock time.
    own: Vec<(Elapsed, u64)>,
    /// By path: the time while it was on the stack, as for `own`.
    total: Vec<(Elapsed, u64)>,
}

impl PathTimes {
    /// From those while a path was the whole stack.
    pub(super) fn new(axis: TimeAxis, own: Vec<(Elapsed, u64)>) -> Self {
        Self { axis, own, total: Vec::new() }
    }

    /// Adds up the totals of some paths.
    fn add_up(&mut self, nodes: &[PathNode<u64>]) {
        self.total.clone_from(&self.own);
        // Children come after their parents.
        for path in (1..nodes.len()).rev() {
            let Some(&(time, wall)) = self.total.get(path) else { continue };
            let parent = nodes.get(path).map_or(0, |node| at(node.parent));
            if let Some((total, wall_total)) = self.total.get_mut(parent) {
                total.add(time);
                *wall_total = wall_total.saturating_add(wall);
            }
        }
    }

    fn total(&self, path: PathId) -> (Elapsed, u64) {
        self.total.get(at(path.0)).copied().unwrap_or_default()
    }

    fn own(&self, path: PathId) -> Elapsed {
        self.own.get(at(path.0)).copied().unwrap_or_default().0
    }
}

/// Calls added up by path. Memory: about 32 bytes a path.
#[derive(Clone, Debug)]
pub struct PathTree {
    numbering: Numbering,
    /// Here `last` is a node's first child, and `after` its next sibling.
    nodes: Vec<PathNode<u64>>,
    /// The calls made in each path.
    totals: Vec<u64>,
    /// `None` if the weights are the calls.
    times: Option<PathTimes>,
    calls: u64,
    beyond: u64,
}

impl PathTree {
    /// Creates a tree in which paths weigh their calls, or their times.
    pub(super) fn new(
        numbering: Numbering,
        mut nodes: Vec<PathNode<u64>>,
        beyond: u64,
        mut times: Option<PathTimes>,
    ) -> Self {
        nodes.shrink_to_fit();
        let calls = nodes.iter().map(|node| node.counts).sum();
        let mut totals: Vec<u64> = Vec::new();
        match &mut times {
            Some(times) => times.add_up(&nodes),
            None => {
                totals.extend(nodes.iter().map(|node| node.counts));
                for path in (1..nodes.len()).rev() {
                    let total = totals.get(path).copied().unwrap_or_default();
                    let parent = nodes.get(path).map_or(0, |node| at(node.parent));
                    if let Some(sum) = totals.get_mut(parent) {
                        *sum = sum.saturating_add(total);
                    }
                }
            }
        }
        link(&mut nodes);
        Self { numbering, nodes, totals, times, calls, beyond }
    }

    /// Creates a tree of some paths, of which the totals are known. The first one is the root.
    pub(super) fn of_some(
        numbering: Numbering,
        mut nodes: Vec<PathNode<u64>>,
        totals: Vec<u64>,
    ) -> Self {
        link(&mut nodes);
        let calls = totals.first().copied().unwrap_or_default();
        Self { numbering, nodes, totals, times: None, calls, beyond: 0 }
    }

    /// Creates a tree from paths that were added up elsewhere: the parent of each, which comes before it, its method, how
    /// often it was entered, and its self weight. The first one is the root. Weights are wall-clock time if `is_timed`, else
    /// they are not used.
    pub(crate) fn from_paths(
        paths: impl Iterator<Item = (u32, Option<MethodId>, u64, u64)>,
        is_timed: bool,
    ) -> Self {
        let mut numbering = Numbering::default();
        let (mut nodes, mut weights) = (Vec::new(), Vec::new());
        for (parent, method, counts, weight) in paths {
            let method = method.map_or(0, |method| numbering.number(method).get());
            nodes.push(PathNode { counts, parent, method, ..PathNode::default() });
            weights.push((Elapsed::of_ns(weight), weight));
        }
        let times = is_timed.then(|| PathTimes::new(TimeAxis::Wall, weights));
        Self::new(numbering, nodes, 0, times)
    }

    /// The calls of all paths.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The weight of all paths: calls or nanoseconds.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.total(self.root())
    }

    /// What time the weights are, in nanoseconds; `None` if they are calls.
    #[must_use]
    pub fn axis(&self) -> Option<TimeAxis> {
        self.times.as_ref().map(|times| times.axis)
    }

    /// Calls that were left out because there were more than 2^32 paths.
    #[must_use]
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    /// The methods that were called, in the order in which they were first met.
    #[must_use]
    pub fn methods(&self) -> &[MethodId] {
        self.numbering.methods()
    }

    /// How many paths there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Returns whether there is no path.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All paths, each after its parent, with their sums.
    pub fn rows(&self) -> impl Iterator<Item = (PathId, PathRow)> {
        let numbers = 1..=u32::try_from(self.len()).unwrap_or(u32::MAX);
        numbers.map(PathId).filter_map(|path| Some((path, self.row(path)?)))
    }

    /// The empty path.
    #[must_use]
    pub fn root(&self) -> PathId {
        PathId(ROOT)
    }

    /// The paths with one more method, in the order in which they were first entered.
    pub fn children(&self, path: PathId) -> impl Iterator<Item = PathId> {
        let known = |path: u32| (path != ROOT).then_some(path);
        let first = self.node(path).and_then(|node| known(node.last));
        std::iter::successors(first, move |&path| known(self.nodes.get(at(path))?.after))
            .map(PathId)
    }

    /// The path without its last method; the [`root`](Self::root) for a path of one method.
    #[must_use]
    pub fn parent(&self, path: PathId) -> Option<PathId> {
        self.node(path).filter(|_| path.0 != ROOT).map(|node| PathId(node.parent))
    }

    /// The sums of a path; `None` for the root.
    #[must_use]
    pub fn row(&self, path: PathId) -> Option<PathRow> {
        let &PathNode { counts: calls, method, .. } = self.node(path)?;
        let method = self.numbering.method(method)?;
        let (total, waiting_ns) = (self.total(path), self.waiting_ns(path));
        let (self_weight, precision) = match &self.times {
            None => (calls, Precision::default()),
            Some(times) => {
                let own = times.own(path);
                (own.ns, Precision::of(times.total(path).0, own))
            }
        };
        Some(PathRow { method, calls, total, self_weight, precision, waiting_ns })
    }

    /// If weights are CPU time: how long the threads waited while a path was on the stack; the
    /// [`root`](Self::root) is on it all the time. Otherwise 0.
    #[must_use]
    pub fn waiting_ns(&self, path: PathId) -> u64 {
        match &self.times {
            Some(times) if times.axis == TimeAxis::Cpu => {
                let (time, wall_ns) = times.total(path);
                wall_ns.saturating_sub(time.ns)
            }
            _ => 0,
        }
    }

    fn total(&self, path: PathId) -> u64 {
        match &self.times {
            Some(times) => times.total(path).0.ns,
            None => self.totals.get(at(path.0)).copied().unwrap_or_default(),
        }
    }

    /// The methods of a path, the outermost first.
    #[must_use]
    pub fn stack(&self, path: PathId) -> Vec<MethodId> {
        let mut stack: Vec<_> = std::iter::successors(Some(path), |path| self.parent(*path))
            .filter_map(|path| Some(self.row(path)?.method))
            .collect();
        stack.reverse();
        stack
    }

    /// The path along which the largest share of the weight lies: from the root on, always the child with the
    /// largest total, the first one of several.
    #[must_use]
    pub fn longest(&self) -> Vec<PathId> {
        let heaviest = |path: &PathId| {
            self.children(*path).max_by_key(|child| (self.total(*child), Reverse(*child)))
        };
        std::iter::successors(heaviest(&self.root()), heaviest).collect()
    }

    /// The `count` paths with the largest self weight: calls, or time while nothing else was on the stack. Of
    /// equal paths, the one entered first comes first. Memory: one number for each of them.
    #[must_use]
    pub fn heaviest(&self, count: usize) -> Vec<PathId> {
        let mut best = BinaryHeap::new();
        for (path, row) in self.rows() {
            best.push(Reverse((row.self_weight, Reverse(path))));
            if best.len() > count {
                best.pop();
            }
        }
        best.into_sorted_vec().into_iter().map(|Reverse((_, Reverse(path)))| path).collect()
    }

    fn node(&self, path: PathId) -> Option<&PathNode<u64>> {
        self.nodes.get(at(path.0))
    }
}

/// Links each path, which comes after its parent, with its first child and its next sibling.
fn link(nodes: &mut [PathNode<u64>]) {
    for node in nodes.iter_mut() {
        (node.last, node.after) = (ROOT, ROOT);
    }
    // Backwards, so that the first sibling is linked last.
    for path in (1..nodes.len()).rev() {
        let Some(parent) = nodes.get(path).map(|node| at(node.parent)) else { continue };
        let Some(parent) = nodes.get_mut(parent) else { continue };
        let first = std::mem::replace(&mut parent.last, u32::try_from(path).unwrap_or(ROOT));
        if let Some(node) = nodes.get_mut(path) {
            node.after = first;
        }
    }
}
