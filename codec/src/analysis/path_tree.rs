//! The calling-context tree of a complete graph.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::SumBounds;
use super::numbering::Numbering;
use super::paths::{PathNode, ROOT, at};
use crate::MethodId;
use crate::read::TimeAxis;

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

/// The sums of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PathRow {
    /// The path's last method.
    pub method: MethodId,
    /// How often the path was entered.
    pub calls: u64,
    /// Calls made in it, including itself; or the time while it was on the stack, in nanoseconds.
    pub total: u64,
    /// Calls that end with this path; or the time while it was the whole stack.
    pub self_weight: u64,
    /// The bounds of both: times are estimates.
    pub bounds: SumBounds,
    /// If the total is CPU time: how long the thread did not run while the path was on the stack.
    pub waiting_ns: u64,
}

/// What is known about the times of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathBounds {
    /// How long it was the whole stack for certain, and in addition at most.
    own: (u64, u64),
    /// The same for the time while it was on the stack.
    total: (u64, u64),
}

impl PathBounds {
    /// From the bounds of its self weight, of which a part is of intervals in which it was on the stack all the time.
    /// Its total does not have that of its callees yet.
    pub(super) fn new(own: (u64, u64), within: u64) -> Self {
        Self { own, total: (own.0.saturating_add(within), own.1.saturating_sub(within)) }
    }
}

/// Calls added up by path. Memory: about 32 bytes a path.
#[derive(Clone, Debug)]
pub struct PathTree {
    numbering: Numbering,
    /// Here `last` is a node's first child, and `after` its next sibling.
    nodes: Vec<PathNode<u64>>,
    /// By path; `None` if the weights are the calls.
    self_weight: Option<Vec<u64>>,
    totals: Vec<u64>,
    /// The total wall-clock time, if weights are CPU time.
    wall_totals: Option<Vec<u64>>,
    /// The bounds of times.
    bounds: Option<Vec<PathBounds>>,
    calls: u64,
    beyond: u64,
}

impl PathTree {
    /// Creates a tree in which paths weigh their calls, or the given numbers, one for each node. `wall` has their
    /// wall-clock time, if their weight is CPU time, and `bounds` its bounds, if it is time.
    pub(super) fn new(
        numbering: Numbering,
        mut nodes: Vec<PathNode<u64>>,
        beyond: u64,
        self_weight: Option<Vec<u64>>,
        wall: Option<Vec<u64>>,
        mut bounds: Option<Vec<PathBounds>>,
    ) -> Self {
        nodes.shrink_to_fit();
        let calls = nodes.iter().map(|node| node.counts).sum();
        let by_calls = || nodes.iter().map(|node| node.counts).collect();
        let mut totals: Vec<u64> = self_weight.clone().unwrap_or_else(by_calls);
        let mut wall_totals = wall;
        // Children come after their parents.
        for path in (1..nodes.len()).rev() {
            let (Some(node), Some(&total)) = (nodes.get(path), totals.get(path)) else { continue };
            let parent = at(node.parent);
            if let Some(sum) = totals.get_mut(parent) {
                *sum = sum.saturating_add(total);
            }
            if let Some(totals) = &mut wall_totals {
                let total = totals.get(path).copied().unwrap_or_default();
                totals
                    .iter_mut()
                    .skip(parent)
                    .take(1)
                    .for_each(|sum| *sum = sum.saturating_add(total));
            }
            if let Some(bounds) = &mut bounds {
                let sure = bounds.get(path).map_or(0, |bounds| bounds.total.0);
                bounds
                    .iter_mut()
                    .skip(parent)
                    .take(1)
                    .for_each(|of| of.total.0 = of.total.0.saturating_add(sure));
            }
        }
        link(&mut nodes);
        Self { numbering, nodes, self_weight, totals, wall_totals, bounds, calls, beyond }
    }

    /// Creates a tree of some paths, of which the totals are known. The first one is the root.
    pub(super) fn of_some(
        numbering: Numbering,
        mut nodes: Vec<PathNode<u64>>,
        totals: Vec<u64>,
    ) -> Self {
        link(&mut nodes);
        let calls = totals.first().copied().unwrap_or_default();
        let (self_weight, wall_totals, bounds, beyond) = (None, None, None, 0);
        Self { numbering, nodes, self_weight, totals, wall_totals, bounds, calls, beyond }
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
            weights.push(weight);
        }
        Self::new(numbering, nodes, 0, is_timed.then_some(weights), None, None)
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
        let timed = self.self_weight.as_ref()?;
        debug_assert_eq!(timed.len(), self.nodes.len(), "a weight for each path");
        Some(if self.wall_totals.is_some() { TimeAxis::Cpu } else { TimeAxis::Wall })
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
        let self_weight = match &self.self_weight {
            None => calls,
            Some(self_weight) => self_weight.get(at(path.0)).copied().unwrap_or_default(),
        };
        let (total, waiting_ns) = (self.total(path), self.waiting_ns(path));
        let known = self.bounds.as_ref().and_then(|bounds| bounds.get(at(path.0)));
        let bounds = known.map_or(SumBounds::exact(total, self_weight), |known| {
            SumBounds::new(known.total, known.own)
        });
        Some(PathRow { method, calls, total, self_weight, bounds, waiting_ns })
    }

    /// If weights are CPU time: how long the threads waited while a path was on the stack; the
    /// [`root`](Self::root) is on it all the time. Otherwise 0.
    #[must_use]
    pub fn waiting_ns(&self, path: PathId) -> u64 {
        let wall = self.wall_totals.as_ref().and_then(|totals| totals.get(at(path.0)));
        wall.map_or(0, |wall| wall.saturating_sub(self.total(path)))
    }

    fn total(&self, path: PathId) -> u64 {
        self.totals.get(at(path.0)).copied().unwrap_or_default()
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
