//! HOT: the calling-context tree, added up call by call; with a clock, event by event.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use super::contexts::paths_of;
use super::innermost::{Innermost, SelfTime};
use super::nodes::{AddShapes, Nodes};
use super::numbering::Numbering;
use super::path_tree::{PathBounds, PathTree};
use super::paths::{BEYOND, Paths, ROOT, at};
use crate::MethodId;
use crate::dag::Dag;
use crate::read::{Bounds, Clock, Selection, TimeAxis, Visit};

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
    /// By path: the time while its last method was the innermost frame; the same by wall-clock time, if that is CPU time;
    /// and the time of the intervals between two marks in which it was on the stack all the time, and not only it was
    /// innermost.
    self_time: Vec<SelfTime>,
    self_wall: Vec<u128>,
    within: Vec<u64>,
    innermost: Innermost,
    /// The least number of open frames in the current interval.
    low: usize,
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

    /// The number of the current interval between two marks, if the weight is time.
    fn interval(&self) -> u64 {
        0
    }

    /// The bounds of the events there.
    fn bounds(&self) -> Bounds {
        Bounds::UNKNOWN
    }

    /// Ends a thread.
    fn end_thread(&mut self) {}
}

/// Each call weighs 1.
#[derive(Clone, Copy, Default, Debug)]
pub struct CallWeight;

/// Calls weigh their duration, or if `CPU` the CPU time in it, by the clock that is advanced while records are received.
/// Memory: 40 bytes more a path, and 16 more for CPU time.
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

    #[inline]
    fn interval(&self) -> u64 {
        self.clock.interval()
    }

    fn bounds(&self) -> Bounds {
        self.clock.bounds_on(Self::TIME)
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
        let path = self.path_to(method);
        self.stack.push(path);
    }

    // Half of all calls make no others: no frame is needed for them.
    #[inline]
    fn timed_call(&mut self, clock: &Clock, method: MethodId, exits: NonZeroU64) {
        self.pass();
        let path = self.path_to(method);
        clock.pass_enter(method);
        self.pass_on(path);
        if let Some(further) = NonZeroU64::new(exits.get() - 1) {
            self.exit(further);
        }
        clock.pass_exit(exits);
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.pass();
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        let rest = self.stack.len().saturating_sub(count);
        if W::AXIS.is_some() && rest < self.low {
            self.lower(rest);
        }
        self.stack.truncate(rest);
    }
}

impl AddShapes for Graph {
    fn add_shapes(&mut self, dag: &Dag, selection: &Selection) -> bool {
        self.add_nodes(&Nodes::new(dag, selection), None)
    }
}

impl Graph {
    /// Adds the selected calls of a thread, if there are roots only what happens in these. Returns `false` if there
    /// are too many paths; then nothing was added.
    pub(super) fn add_nodes(
        &mut self,
        nodes: &Nodes<'_>,
        roots: Option<&dyn Fn(u32) -> bool>,
    ) -> bool {
        let Some(paths) = paths_of(nodes, roots, self.paths.limit()) else { return false };
        let Self { numbering, paths: known, calls, beyond, .. } = self;
        let number = |method| Some(numbering.number(nodes.numbering.method(method)?));
        known.merge_distinct(&paths, number, |sum, count| {
            *calls = calls.saturating_add(*count);
            let sum = match sum {
                Some(sum) => sum,
                None => &mut *beyond,
            };
            *sum = sum.saturating_add(*count);
        });
        true
    }
}

impl<W: Weight> Graph<W> {
    /// Creates an empty graph with this weight.
    #[must_use]
    pub fn new(weight: W) -> Self {
        Self::with_paths(weight, Paths::default())
    }

    /// Creates an empty graph that keeps fewer paths than this, the root included. Calls on further ones are
    /// [counted](PathTree::beyond) together.
    #[must_use]
    pub fn with_limit(weight: W, paths: u32) -> Self {
        Self::with_paths(weight, Paths::with_limit(paths))
    }

    fn with_paths(weight: W, paths: Paths<u64>) -> Self {
        Self {
            weight,
            numbering: Numbering::default(),
            paths,
            self_time: Vec::new(),
            self_wall: Vec::new(),
            within: Vec::new(),
            innermost: Innermost::default(),
            low: 0,
            stack: Vec::new(),
            calls: 0,
            beyond: 0,
        }
    }

    /// Counts a call in the innermost frame. Returns its path.
    #[inline]
    fn path_to(&mut self, method: MethodId) -> u32 {
        let number = self.numbering.number(method);
        let parent = self.stack.last().copied().unwrap_or(ROOT);
        let path = self.paths.child(parent, number);
        match self.paths.counts_mut(path) {
            Some(calls) => *calls += 1,
            None => self.beyond += 1,
        }
        self.calls += 1;
        if W::AXIS.is_some() {
            match self.self_time.get_mut(at(path)) {
                Some(time) => self.innermost.enter(at(path), time),
                None => self.enter_new(path),
            }
        }
        path
    }

    #[cold]
    fn enter_new(&mut self, path: u32) {
        self.self_time.resize(self.paths.nodes().len(), SelfTime::default());
        if let Some(time) = self.self_time.get_mut(place(path)) {
            self.innermost.enter(place(path), time);
        }
    }

    /// Adds what has passed since the last event to the innermost frame.
    #[inline]
    fn pass(&mut self) {
        self.pass_on(self.stack.last().copied().unwrap_or(ROOT));
        if W::AXIS.is_some() && self.weight.interval() != self.innermost.interval() {
            self.begin_interval();
        }
    }

    /// Adds what has passed since the last event to a path.
    #[inline]
    fn pass_on(&mut self, path: u32) {
        if W::AXIS.is_none() {
            return;
        }
        let (passed, wall) = self.weight.pass();
        if let Some(time) = self.self_time.get_mut(at(path)) {
            time.add(passed);
        }
        if W::AXIS == Some(TimeAxis::Cpu) && wall > 0 {
            add(&mut self.self_wall, path, wall, &self.paths);
        }
    }

    #[inline(never)]
    fn begin_interval(&mut self) {
        self.end_interval();
        let innermost = self.stack.last().map_or(0, |path| place(*path));
        if self.self_time.is_empty() {
            self.self_time.push(SelfTime::default());
        }
        let Some(time) = self.self_time.get_mut(innermost) else { return };
        let (interval, bounds) = (self.weight.interval(), self.weight.bounds());
        self.innermost.begin(interval, bounds, innermost, time);
        self.low = self.stack.len();
    }

    /// Frames that were entered in earlier intervals are left. They, and the one below, are innermost for the first time
    /// in this interval.
    #[inline(never)]
    fn lower(&mut self, rest: usize) {
        let outer = self.stack.get(rest.saturating_sub(1)..self.low).unwrap_or_default();
        let root = (rest == 0).then_some(0);
        for number in outer.iter().map(|path| place(*path)).chain(root) {
            let Some(time) = self.self_time.get_mut(number) else { continue };
            self.innermost.enter(number, time);
        }
        self.low = rest;
    }

    /// Ends an interval. The frames below the lowest depth were open all the time, and the last of them was innermost at
    /// that depth.
    fn end_interval(&mut self) {
        let times = &mut self.self_time;
        let width_ns = self.innermost.end_interval(|number| times.get_mut(number));
        let low = self.low.checked_sub(1).and_then(|top| self.stack.get(top));
        let low = low.map_or(0, |path| place(*path));
        if width_ns > 0 && low >= self.within.len() {
            self.within.resize(self.paths.nodes().len(), 0);
        }
        if let Some(within) = self.within.get_mut(low) {
            *within = within.saturating_add(width_ns);
        }
    }

    /// Ends a thread: the next entry is an outermost call.
    pub fn end_thread(&mut self) {
        self.pass();
        self.end_interval();
        self.innermost.end_thread();
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
    pub fn into_tree(mut self) -> PathTree {
        // Nothing was on the stack.
        self.self_time.iter_mut().take(1).for_each(|root| *root = SelfTime::default());
        self.self_wall.iter_mut().take(1).for_each(|root| *root = 0);
        let len = self.paths.nodes().len();
        let bounds = |path| {
            let within = self.within.get(path).copied().unwrap_or_default();
            let time = self.self_time.get(path).copied().unwrap_or_default();
            PathBounds::new(self.innermost.bounds(path, time), within)
        };
        let bounds = W::AXIS.map(|_| (0..len).map(bounds).collect());
        let in_ns = |sums: &mut dyn Iterator<Item = u128>| {
            let mut sums: Vec<_> = sums.map(Clock::to_ns).collect();
            sums.resize(len, 0);
            sums
        };
        let self_weight = W::AXIS.map(|_| in_ns(&mut self.self_time.iter().map(|time| time.get())));
        let self_wall =
            (W::AXIS == Some(TimeAxis::Cpu)).then(|| in_ns(&mut self.self_wall.iter().copied()));
        let nodes = self.paths.into_nodes();
        PathTree::new(self.numbering, nodes, self.beyond, self_weight, self_wall, bounds)
    }
}

/// The number of a path for [`Innermost`]. Those for which there was no room count as the root.
#[inline]
fn place(path: u32) -> usize {
    if path == BEYOND { 0 } else { at(path) }
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
        let mut graph = Graph::with_limit(CallWeight, 2);
        // 1 > (2 > 1), then 1 again.
        add(&mut graph, &[0x81, 0x82, 0x81, 0x02, 0x81, 0x00]);
        let tree = graph.clone().into_tree();
        assert_eq!((tree.beyond(), tree.calls()), (2, 2));
        assert_eq!(lines(graph), ["1: 2 2"]);
    }
}
