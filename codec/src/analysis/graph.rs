//! HOT: the calling-context tree, added up call by call; with a clock, event by event.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use super::numbering::Numbering;
use super::path_tree::PathTree;
use super::paths::{BEYOND, Paths, ROOT, at};
use crate::MethodId;
use crate::read::{Clock, TimeAxis, Visit};

/// Adds up the calls of any number of threads, one after the other: calls with the same methods on the
/// stack count as one path. Memory: about 32 bytes a path, 4 bytes an open frame.
///
/// ```
/// use flow_codec::analysis::Graph;
/// use flow_codec::read::{FlowReader, ReadRecords};
///
/// // 1 calls 2, twice; then 2 is called as an outermost call.
/// let bytes: &[u8] = &[0x81, 0x82, 0x00, 0x82, 0x01, 0x82, 0x00];
/// let mut graph = Graph::default();
/// FlowReader::new(bytes).visit_all(&mut graph)?;
/// graph.end_thread();
/// let tree = graph.into_tree();
/// let rows: Vec<_> = tree.rows().map(|(_, row)| row).collect();
/// assert_eq!((rows[0].method.get(), rows[0].calls, rows[0].total), (1, 1, 3));
/// assert_eq!((rows[1].method.get(), rows[1].calls, rows[1].total), (2, 2, 2));
/// assert_eq!((rows[2].method.get(), rows[2].calls, rows[2].total), (2, 1, 1));
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Graph<W = CallWeight> {
    weight: W,
    numbering: Numbering,
    paths: Paths<u64>,
    /// By path: the weight that passed while its last method was the innermost frame, and the wall-clock time
    /// if the weight is CPU time.
    self_weight: Vec<u128>,
    self_wall: Vec<u128>,
    /// The paths of the open frames, after the root.
    stack: Vec<u32>,
    calls: u64,
    /// Calls for whose paths there was no room.
    beyond: u64,
}

/// The weight of a path.
pub trait Weight {
    /// What time the weight is; `None` if it is no time. Calls are counted in any case.
    const AXIS: Option<TimeAxis>;

    /// Returns the weight that passed since the last event, and the wall-clock time if the weight is CPU time.
    fn pass(&mut self) -> (u64, u64);

    /// Ends a thread.
    fn end_thread(&mut self) {}
}

/// Each call weighs 1.
#[derive(Clone, Copy, Default, Debug)]
pub struct CallWeight;

/// Calls weigh their duration, or if `CPU` the CPU time in it, by the clock that is advanced while records are received.
/// Memory: 16 bytes more a path, and as much again for CPU time.
#[derive(Clone, Debug)]
pub struct TimeWeight<'c, const CPU: bool> {
    clock: &'c Clock,
    /// When the last event happened, on that axis and by wall-clock time.
    last: u64,
    last_wall: u64,
}

impl Weight for CallWeight {
    const AXIS: Option<TimeAxis> = None;

    #[inline]
    fn pass(&mut self) -> (u64, u64) {
        (0, 0)
    }
}

impl<'c, const CPU: bool> TimeWeight<'c, CPU> {
    const TIME: TimeAxis = if CPU { TimeAxis::Cpu } else { TimeAxis::Wall };

    /// Creates a weight by the time of a clock.
    #[must_use]
    pub fn new(clock: &'c Clock) -> Self {
        Self { clock, last: 0, last_wall: 0 }
    }
}

impl<const CPU: bool> Weight for TimeWeight<'_, CPU> {
    const AXIS: Option<TimeAxis> = Some(Self::TIME);

    #[inline]
    fn pass(&mut self) -> (u64, u64) {
        let now = self.clock.on(Self::TIME);
        let passed = now.saturating_sub(std::mem::replace(&mut self.last, now));
        if !CPU {
            return (passed, 0);
        }
        let wall = self.clock.now();
        let all = wall.saturating_sub(std::mem::replace(&mut self.last_wall, wall));
        (passed, all)
    }

    fn end_thread(&mut self) {
        (self.last, self.last_wall) = (0, 0);
    }
}

impl Default for Graph {
    fn default() -> Self {
        Self::new(CallWeight)
    }
}

impl<W: Weight> Visit for Graph<W> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        self.pass();
        let number = self.numbering.number(method);
        let parent = self.stack.last().copied().unwrap_or(ROOT);
        let path = self.paths.child(parent, number);
        match self.paths.counts_mut(path) {
            Some(calls) => *calls += 1,
            None => self.beyond += 1,
        }
        self.stack.push(path);
        self.calls += 1;
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.pass();
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.stack.truncate(self.stack.len().saturating_sub(count));
    }
}

impl<W: Weight> Graph<W> {
    /// Creates an empty graph with this weight.
    #[must_use]
    pub fn new(weight: W) -> Self {
        Self::with_paths(weight, Paths::default())
    }

    fn with_paths(weight: W, paths: Paths<u64>) -> Self {
        let (self_weight, self_wall) = (Vec::new(), Vec::new());
        let (numbering, stack) = (Numbering::default(), Vec::new());
        Self { weight, numbering, paths, self_weight, self_wall, stack, calls: 0, beyond: 0 }
    }

    /// Adds what has passed since the last event to the innermost frame.
    #[inline]
    fn pass(&mut self) {
        let (passed, wall) = self.weight.pass();
        let Some(&path) = self.stack.last() else { return };
        if passed > 0 {
            add(&mut self.self_weight, path, passed, &self.paths);
        }
        if W::AXIS == Some(TimeAxis::Cpu) && wall > 0 {
            add(&mut self.self_wall, path, wall, &self.paths);
        }
    }

    /// Ends a thread: the next entry is an outermost call.
    pub fn end_thread(&mut self) {
        self.pass();
        self.weight.end_thread();
        self.stack.clear();
    }

    /// All calls so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Returns the tree of all calls added. Frames that are open count up to here.
    #[must_use]
    pub fn into_tree(self) -> PathTree {
        let in_ns = |sums: Vec<u128>| {
            let mut sums: Vec<_> = sums.into_iter().map(Clock::to_ns).collect();
            sums.resize(self.paths.nodes().len(), 0);
            sums
        };
        let self_weight = W::AXIS.map(|_| in_ns(self.self_weight));
        let self_wall = (W::AXIS == Some(TimeAxis::Cpu)).then(|| in_ns(self.self_wall));
        let nodes = self.paths.into_nodes();
        PathTree::new(self.numbering, nodes, self.beyond, self_weight, self_wall)
    }
}

/// Adds to the sum of a path.
#[inline]
fn add(sums: &mut Vec<u128>, path: u32, passed: u64, paths: &Paths<u64>) {
    match sums.get_mut(at(path)) {
        Some(sum) => *sum += u128::from(passed),
        None => meet(sums, path, passed, paths),
    }
}

#[cold]
fn meet(sums: &mut Vec<u128>, path: u32, passed: u64, paths: &Paths<u64>) {
    if path != BEYOND {
        sums.resize(paths.nodes().len(), 0);
        debug_assert!(at(path) < sums.len(), "there is a weight for each path");
        if let Some(sum) = sums.get_mut(at(path)) {
            *sum += u128::from(passed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::PathRow;
    use crate::read::{FlowReader, ReadRecords};

    fn add(graph: &mut Graph, bytes: &[u8]) {
        FlowReader::new(bytes).visit_all(graph).unwrap();
        graph.end_thread();
    }

    /// Each path as its methods, with calls and total.
    fn lines(graph: Graph) -> Vec<String> {
        let tree = graph.into_tree();
        let line = |(path, row): (_, PathRow)| {
            let methods: Vec<_> = tree.stack(path).iter().map(MethodId::to_string).collect();
            format!("{}: {} {}", methods.join(">"), row.calls, row.total)
        };
        tree.rows().map(line).collect()
    }

    #[test]
    fn recursion_is_a_path_of_its_own_and_open_frames_count() {
        let mut graph = Graph::default();
        // 1 > 1 > 2, left; then 1, open.
        add(&mut graph, &[0x81, 0x81, 0x82, 0x02, 0x81]);
        assert_eq!(lines(graph), ["1: 2 4", "1>1: 1 2", "1>1>2: 1 1"]);
    }

    #[test]
    fn exits_of_earlier_frames_leave_no_recorded_frame() {
        let mut graph = Graph::default();
        add(&mut graph, &[0x05, 0x81, 0x05, 0x82, 0x00]);
        assert_eq!(lines(graph), ["1: 1 1", "2: 1 1"]);
    }

    #[test]
    fn calls_for_which_there_is_no_room_are_counted() {
        let mut graph = Graph::with_paths(CallWeight, Paths::with_limit(2));
        // 1 > (2 > 1), then 1 again.
        add(&mut graph, &[0x81, 0x82, 0x81, 0x02, 0x81, 0x00]);
        let tree = graph.clone().into_tree();
        assert_eq!((tree.beyond(), tree.calls()), (2, 2));
        assert_eq!(lines(graph), ["1: 2 2"]);
    }
}
