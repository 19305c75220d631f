//! The calling-context tree of a complete graph, or of samples of stacks.

mod views;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::paths::{PathNode, Paths, ROOT, at};
use crate::analysis::numbering::Numbering;
use crate::analysis::{Precision, SumsOf};
use flow_codec::MethodId;
use flow_codec::read::{Elapsed, TimeAxis};

/// A path in a [`PathTree`] or a [`Diff`](crate::analysis::Diff): methods from the outermost call to the innermost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PathId(u32);

impl PathId {
    pub(in crate::analysis) const fn new(number: u32) -> Self {
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

/// Time, and beside it the wall-clock time; of samples of stacks, for how long of it the thread waited.
type Time = (Elapsed, u64);

/// The times of paths.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct PathTimes {
    axis: TimeAxis,
    source: TimeSource,
    /// By path: the time while it was the whole stack.
    own: Vec<Time>,
    /// By path: the time while it was on the stack.
    total: Vec<Time>,
}

/// What has times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TimeSource {
    /// Calls, whose time passed between events.
    Calls,
    /// Samples of stacks, which weigh their time.
    Samples,
    /// Samples of stacks, which weigh 1 each.
    CountedSamples,
}

/// The sums of a path, of calls or of time. Of calls without a time, `ns` is their number.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::analysis) struct PathSums {
    pub(in crate::analysis) calls: u64,
    pub(in crate::analysis) own: Time,
    pub(in crate::analysis) total: Time,
}

impl PathSums {
    /// Adds others.
    pub(in crate::analysis) fn add(&mut self, more: Self) {
        self.calls = self.calls.saturating_add(more.calls);
        for (sum, more) in [(&mut self.own, more.own), (&mut self.total, more.total)] {
            sum.0.add(more.0);
            sum.1 = sum.1.saturating_add(more.1);
        }
    }
}

impl PathTimes {
    /// From those while a path was the whole stack.
    pub(in crate::analysis) fn new(axis: TimeAxis, own: Vec<Time>) -> Self {
        Self { axis, source: TimeSource::Calls, own, total: Vec::new() }
    }

    /// What a path weighs by these.
    fn weight(&self, time: Elapsed) -> u64 {
        if self.source == TimeSource::CountedSamples { time.samples } else { time.ns }
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

    fn total(&self, path: PathId) -> Time {
        self.total.get(at(path.0)).copied().unwrap_or_default()
    }

    fn own(&self, path: PathId) -> Time {
        self.own.get(at(path.0)).copied().unwrap_or_default()
    }
}

/// Samples of stacks, added up by path: each weighs its time.
#[derive(Default, Debug)]
pub(crate) struct StackSums {
    numbering: Numbering,
    paths: Paths<Time>,
}

impl StackSums {
    /// Returns the path with one more method; the empty path is 0.
    pub(crate) fn child(&mut self, parent: u32, method: MethodId) -> u32 {
        self.paths.child(parent, self.numbering.number(method))
    }

    /// Adds samples in which a path is the whole stack: how many, their time, and for how long the thread waited.
    pub(crate) fn add(&mut self, path: u32, samples: u64, ns: u64, waiting_ns: u64) {
        if let Some((time, waiting)) = self.paths.counts_mut(path) {
            time.add(Elapsed::of_samples(samples, ns));
            *waiting = waiting.saturating_add(waiting_ns);
        }
    }

    /// Returns the tree of all samples added, which weigh their time on this axis; if there is none, 1 each.
    #[must_use]
    pub(crate) fn into_tree(self, axis: Option<TimeAxis>) -> PathTree {
        let (mut nodes, mut own) = (Vec::new(), Vec::new());
        for PathNode { counts, parent, method, .. } in self.paths.into_nodes() {
            nodes.push(PathNode { parent, method, ..PathNode::default() });
            own.push(counts);
        }
        let source = axis.map_or(TimeSource::CountedSamples, |_| TimeSource::Samples);
        let axis = axis.unwrap_or(TimeAxis::Wall);
        let times = PathTimes { source, ..PathTimes::new(axis, own) };
        PathTree::new(self.numbering, nodes, 0, Some(times))
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
    pub(in crate::analysis) fn new(
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
    pub(in crate::analysis) fn of_some(
        numbering: Numbering,
        mut nodes: Vec<PathNode<u64>>,
        totals: Vec<u64>,
    ) -> Self {
        link(&mut nodes);
        let calls = totals.first().copied().unwrap_or_default();
        Self { numbering, nodes, totals, times: None, calls, beyond: 0 }
    }

    /// Creates a tree of other paths of the same methods: the parent of each, which comes before it, its method, and its sums.
    /// The weight of the whole stays.
    pub(in crate::analysis) fn with_paths(
        &self,
        paths: impl Iterator<Item = (u32, u32, PathSums)>,
    ) -> Self {
        let root = (ROOT, 0, self.sums(self.root()));
        let (mut nodes, mut own, mut total) = (Vec::new(), Vec::new(), Vec::new());
        for (parent, method, sums) in std::iter::once(root).chain(paths) {
            nodes.push(PathNode { counts: sums.calls, parent, method, ..PathNode::default() });
            own.push(sums.own);
            total.push(sums.total);
        }
        link(&mut nodes);
        let calls = |(time, _): &Time| time.ns;
        let (totals, times) = match &self.times {
            None => (total.iter().map(calls).collect(), None),
            Some(times) => (Vec::new(), Some(PathTimes { own, total, ..*times })),
        };
        let Self { calls, beyond, .. } = *self;
        Self { numbering: self.numbering.clone(), nodes, totals, times, calls, beyond }
    }

    /// The sums of a path.
    pub(in crate::analysis) fn sums(&self, path: PathId) -> PathSums {
        let calls = self.node(path).map_or(0, |node| node.counts);
        let of = |calls| (Elapsed::of_ns(calls), 0);
        match &self.times {
            None => PathSums { calls, own: of(calls), total: of(self.total(path)) },
            Some(times) => PathSums { calls, own: times.own(path), total: times.total(path) },
        }
    }

    /// The number of the last method of a path; `None` for the root.
    pub(in crate::analysis) fn method_number(&self, path: PathId) -> Option<u32> {
        self.node(path).map(|node| node.method).filter(|method| *method != 0)
    }

    /// The calls of all paths.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The weight of all paths: calls, samples or nanoseconds.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.total(self.root())
    }

    /// What time the weights are, in nanoseconds; `None` if they are numbers of calls or of samples.
    #[must_use]
    pub fn axis(&self) -> Option<TimeAxis> {
        let timed = self.times.as_ref();
        timed.filter(|times| times.source != TimeSource::CountedSamples).map(|times| times.axis)
    }

    /// How long a path was on the stack, and was the whole stack, in nanoseconds, whatever it weighs; 0 if no time is known.
    #[must_use]
    pub fn times_ns(&self, path: PathId) -> [u64; 2] {
        let times = self.times.as_ref();
        times.map_or([0; 2], |times| [times.total(path), times.own(path)].map(|(time, _)| time.ns))
    }

    /// How many samples have a path on the stack.
    #[must_use]
    pub fn samples(&self, path: PathId) -> u64 {
        self.times.as_ref().map_or(0, |times| times.total(path).0.samples)
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
                let own = times.own(path).0;
                (times.weight(own), Precision::of(times.total(path).0, own))
            }
        };
        Some(PathRow { method, calls, total, self_weight, precision, waiting_ns })
    }

    /// If weights are CPU time, or the samples know it: how long the threads waited while a path was on the stack; the
    /// [`root`](Self::root) is on it all the time. Otherwise 0.
    #[must_use]
    pub fn waiting_ns(&self, path: PathId) -> u64 {
        match &self.times {
            Some(times) if times.source != TimeSource::Calls => times.total(path).1,
            Some(times) if times.axis == TimeAxis::Cpu => {
                let (time, wall_ns) = times.total(path);
                wall_ns.saturating_sub(time.ns)
            }
            _ => 0,
        }
    }

    fn total(&self, path: PathId) -> u64 {
        match &self.times {
            Some(times) => times.weight(times.total(path).0),
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
