//! HOT: the calling-context tree, added up call by call; with a clock, event by event.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use super::contexts::paths_of;
use super::path_tree::{PathTimes, PathTree};
use super::paths::{BEYOND, Paths, ROOT, at};
use crate::analysis::nodes::{AddShapes, Nodes};
use crate::analysis::numbering::Numbering;
use crate::analysis::sampled::AddSampled;
use crate::dag::Dag;
use flow_codec::MethodId;
use flow_codec::read::{Clock, Elapsed, Selection, TimeAxis, Visit};

/// Adds up the calls of any number of threads, one after the other: calls with the same methods on the
/// stack count as one path. Memory: about 32 bytes a path, 4 bytes an open frame.
///
/// ```
/// use flow_query::analysis::Graph;
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
    /// By path: the time while its last method was the innermost frame; the same by wall-clock time, if that is CPU time.
    self_time: Vec<(Elapsed, u64)>,
    /// The paths of the open frames, after the root.
    stack: Vec<u32>,
    calls: u64,
    /// Calls for whose paths there was no room.
    beyond: u64,
    /// How many calls an entry counts as: none if they are counted elsewhere.
    calls_an_entry: u64,
}

/// The weight of a path.
pub trait Weight {
    /// What time the weight is; `None` if it is no time. Calls are counted in any case.
    const AXIS: Option<TimeAxis>;

    /// Returns the time that has passed since the last event, and the same by wall-clock time. `None` if none has.
    #[inline(always)]
    fn pass(&mut self) -> Option<(Elapsed, u64)> {
        None
    }

    /// Ends a thread.
    fn end_thread(&mut self) {}
}

/// Each call weighs 1.
#[derive(Clone, Copy, Default, Debug)]
pub struct CallWeight;

/// Calls weigh their duration, or if `CPU` the CPU time in it, by the clock that is advanced while records are received.
/// Memory: 32 bytes more a path.
#[derive(Clone, Debug)]
pub struct TimeWeight<'c, const CPU: bool> {
    clock: &'c Clock,
    /// The interval of the last event, and the times there.
    interval: u64,
    last: Elapsed,
    last_wall_ns: u64,
}

impl Weight for CallWeight {
    const AXIS: Option<TimeAxis> = None;
}

impl<'c, const CPU: bool> TimeWeight<'c, CPU> {
    const TIME: TimeAxis = if CPU { TimeAxis::Cpu } else { TimeAxis::Wall };

    /// Creates a weight by the time of a clock.
    #[must_use]
    pub fn new(clock: &'c Clock) -> Self {
        Self { clock, interval: clock.interval(), last: Elapsed::default(), last_wall_ns: 0 }
    }

    #[inline(never)]
    fn sample(&mut self) -> (Elapsed, u64) {
        self.interval = self.clock.interval();
        let (now, wall_ns) = (self.clock.now(Self::TIME), self.clock.now(TimeAxis::Wall).ns);
        let passed = now.since(std::mem::replace(&mut self.last, now));
        let wall_before_ns = std::mem::replace(&mut self.last_wall_ns, wall_ns);
        (passed, wall_ns.saturating_sub(wall_before_ns))
    }
}

impl<const CPU: bool> Weight for TimeWeight<'_, CPU> {
    const AXIS: Option<TimeAxis> = Some(Self::TIME);

    #[inline(always)]
    fn pass(&mut self) -> Option<(Elapsed, u64)> {
        (self.interval != self.clock.interval()).then(|| self.sample())
    }

    fn end_thread(&mut self) {
        (self.last, self.last_wall_ns) = (Elapsed::default(), 0);
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
    fn call(&mut self, method: MethodId, exits: NonZeroU64) {
        self.pass();
        self.path_to(method);
        if let Some(further) = NonZeroU64::new(exits.get() - 1) {
            self.exit(further);
        }
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.pass();
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        let rest = self.stack.len().saturating_sub(count);
        self.stack.truncate(rest);
    }
}

impl AddShapes for Graph {
    fn add_shapes(&mut self, dag: &Dag, selection: &Selection) -> bool {
        self.add_nodes(&Nodes::new(dag, selection), None)
    }
}

impl<'c, const CPU: bool> AddSampled<'c> for Graph<TimeWeight<'c, CPU>> {
    fn clock(&self) -> &'c Clock {
        self.weight.clock
    }

    fn add_calls(&mut self, dag: &Dag, selection: &Selection) -> bool {
        self.add_nodes(&Nodes::new(dag, selection), None)
    }

    fn set_calls_an_entry(&mut self, calls: u64) {
        self.calls_an_entry = calls;
    }

    fn end_thread(&mut self) {
        self.end_thread();
    }
}

impl<W: Weight> Graph<W> {
    /// Adds the selected calls of a thread, if there are roots only what happens in these. Returns `false` if there
    /// are too many paths; then nothing was added.
    pub(in crate::analysis) fn add_nodes(
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
    pub(crate) fn with_limit(weight: W, paths: u32) -> Self {
        Self::with_paths(weight, Paths::with_limit(paths))
    }

    fn with_paths(weight: W, paths: Paths<u64>) -> Self {
        Self {
            weight,
            numbering: Numbering::default(),
            paths,
            self_time: Vec::new(),
            stack: Vec::new(),
            calls: 0,
            beyond: 0,
            calls_an_entry: 1,
        }
    }

    /// Counts a call in the innermost frame. Returns its path.
    #[inline]
    fn path_to(&mut self, method: MethodId) -> u32 {
        let number = self.numbering.number(method);
        let parent = self.stack.last().copied().unwrap_or(ROOT);
        let path = self.paths.child(parent, number);
        match self.paths.counts_mut(path) {
            Some(calls) => *calls += self.calls_an_entry,
            None => self.beyond += self.calls_an_entry,
        }
        self.calls += self.calls_an_entry;
        path
    }

    /// Adds what has passed since the last event to the innermost frame.
    #[inline(always)]
    fn pass(&mut self) {
        if let Some((passed, wall_ns)) = self.weight.pass() {
            self.add_time(passed, wall_ns);
        }
    }

    #[inline(never)]
    fn add_time(&mut self, passed: Elapsed, wall_ns: u64) {
        // Paths for which there was no room count as the root, and so does what passes outside of all calls.
        let path = self.stack.last().copied().filter(|path| *path != BEYOND).map_or(0, at);
        if path >= self.self_time.len() {
            self.self_time.resize(self.paths.nodes().len(), <(Elapsed, u64)>::default());
        }
        if let Some((time, wall)) = self.self_time.get_mut(path) {
            time.add(passed);
            *wall = wall.saturating_add(wall_ns);
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
    pub fn into_tree(mut self) -> PathTree {
        // Nothing was on the stack.
        self.self_time.iter_mut().take(1).for_each(|root| *root = Default::default());
        let nodes = self.paths.into_nodes();
        let times = W::AXIS.map(|axis| {
            self.self_time.resize(nodes.len(), Default::default());
            PathTimes::new(axis, self.self_time)
        });
        PathTree::new(self.numbering, nodes, self.beyond, times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::PathRow;
    use flow_codec::read::{FlowReader, ReadRecords};

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
