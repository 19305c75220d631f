//! The shapes of a thread as nodes of one graph: those of its [`Dag`], one for each frame that is still open, and one
//! for the thread.
//!
//! A node has a larger number than those of the calls that it makes, so each sum over nodes is one loop: upwards if it
//! depends on what is called, downwards if it depends on who calls. The thread is the last node, and occurs once.

use super::numbering::{Numbering, index};
use crate::dag::{Dag, Kind, Root, ShapeId, Shapes};
use flow_codec::MethodId;
use flow_codec::read::Selection;

/// Sums that can be added up from shapes as well as from events, with the same result.
pub trait AddShapes {
    /// Adds the selected calls of a thread. Nothing of the thread was received before, and its end is signalled
    /// afterwards, as after its last event. Returns `false` if events are needed for this; then nothing was added.
    #[doc(hidden)]
    fn add_shapes(&mut self, dag: &Dag, selection: &Selection) -> bool;
}

/// The number of a node that is no call: a break, or the thread.
pub(super) const NO_METHOD: u32 = 0;

/// To follow a call from shape to shape takes about as long as to read the events of this many calls.
const CALLS_A_STEP: u64 = 8;
/// The steps that are taken in any case.
const LEAST_STEPS: u64 = 1 << 18;

/// The calls of a thread.
#[derive(Debug)]
pub(super) struct Nodes<'a> {
    shapes: &'a Shapes,
    /// The runs of the nodes that are no shapes, one node after the other, and where each node ends.
    runs: Vec<(usize, u64)>,
    ends: Vec<usize>,
    /// Exits without entries, each with the number of runs of the thread before it.
    unseen_exits: Vec<(usize, u64)>,
    /// The methods in the order of their first calls.
    pub(super) numbering: Numbering,
    /// By node: the number of its method, how often it occurs, and its calls, including itself.
    methods: Vec<u32>,
    counts: Vec<u64>,
    calls: Vec<u64>,
    /// By number: whether calls of the method are selected.
    shown: Vec<bool>,
}

impl<'a> Nodes<'a> {
    pub(super) fn new(dag: &'a Dag, selection: &Selection) -> Self {
        let shapes = dag.shapes();
        let mut nodes = Self {
            shapes,
            runs: Vec::new(),
            ends: Vec::new(),
            unseen_exits: Vec::new(),
            numbering: Numbering::default(),
            methods: Vec::new(),
            counts: Vec::new(),
            calls: Vec::new(),
            shown: vec![false],
        };
        let open = nodes.add_roots(dag);
        nodes.number(&open, selection);
        nodes.count(selection.is_all());
        nodes
    }

    /// Makes nodes of what is outermost. Returns the methods of the frames that are still open, the innermost first.
    fn add_roots(&mut self, dag: &Dag) -> Vec<MethodId> {
        let mut frames: Vec<Vec<(usize, u64)>> = vec![Vec::new()];
        let mut open = Vec::new();
        for root in dag.roots() {
            match root {
                Root::Calls(shape, count) => {
                    frames
                        .last_mut()
                        .into_iter()
                        .for_each(|runs| runs.push((shape.index(), count)));
                }
                Root::UnseenExits(count) => {
                    let before = frames.first().map_or(0, Vec::len);
                    self.unseen_exits.push((before, count));
                }
                Root::Open(method) => {
                    open.push(method);
                    frames.push(Vec::new());
                }
            }
        }
        open.reverse();
        let mut inner = None;
        for runs in frames.into_iter().rev() {
            self.runs.extend(runs);
            self.runs.extend(inner.map(|frame| (frame, 1)));
            inner = Some(self.shapes.len() + self.ends.len());
            self.ends.push(self.runs.len());
        }
        open
    }

    /// Numbers the methods in the order of their first calls: a shape that was met makes no first call.
    fn number(&mut self, open: &[MethodId], selection: &Selection) {
        self.methods = vec![NO_METHOD; self.len()];
        let mut is_met = vec![false; self.len()];
        let mut to_do = vec![self.thread()];
        while let Some(node) = to_do.pop() {
            match is_met.get_mut(node) {
                Some(is_met) if !*is_met => *is_met = true,
                _ => continue,
            }
            let method = match node.checked_sub(self.shapes.len()) {
                Some(frame) => open.get(frame).copied(),
                None => match self.shapes.kind(ShapeId::at(node)) {
                    Kind::Call(method, _) => Some(method),
                    _ => None,
                },
            };
            if let (Some(method), Some(place)) = (method, self.methods.get_mut(node)) {
                *place = self.numbering.number(method).get();
                if index(self.numbering.number(method)) == self.shown.len() {
                    self.shown.push(selection.contains(method));
                }
            }
            let first = to_do.len();
            self.each_run(node, |callee, _| {
                if is_met.get(callee).is_some_and(|is_met| !is_met) {
                    to_do.push(callee);
                }
            });
            to_do.get_mut(first..).unwrap_or_default().reverse();
        }
    }

    /// Adds up calls and occurrences. If `is_all`, the calls of shapes are known.
    fn count(&mut self, is_all: bool) {
        let shapes = self.shapes;
        self.calls = Vec::with_capacity(self.len());
        if is_all {
            self.calls.extend(shapes.iter().map(|shape| shapes.calls(shape)));
        }
        for node in self.calls.len()..self.len() {
            let mut calls = u64::from(self.is_shown(node));
            self.each_run(node, |callee, count| {
                let of_callee = self.calls(callee).saturating_mul(count);
                calls = calls.saturating_add(of_callee);
            });
            self.calls.push(calls);
        }
        let mut counts = vec![0; self.len()];
        counts.last_mut().into_iter().for_each(|count| *count = 1);
        for node in (0..self.len()).rev() {
            let of_node: u64 = counts.get(node).copied().unwrap_or_default();
            if of_node > 0 {
                self.each_run(node, |callee, count| {
                    let more = of_node.saturating_mul(count);
                    counts
                        .get_mut(callee)
                        .into_iter()
                        .for_each(|sum| *sum = sum.saturating_add(more));
                });
            }
        }
        self.counts = counts;
    }

    /// How often calls may be followed before events are read in less time.
    pub(super) fn max_steps(&self) -> u64 {
        LEAST_STEPS.max(self.all_calls() / CALLS_A_STEP)
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.shapes.len() + self.ends.len()
    }

    /// The number of runs of all nodes.
    pub(super) fn runs(&self) -> usize {
        self.shapes.edges() + self.runs.len()
    }

    /// The node of the thread.
    pub(super) fn thread(&self) -> usize {
        self.len() - 1
    }

    /// The calls that a node makes, in the order of the first ones: each node with the number of calls that are made there.
    #[inline]
    pub(super) fn each_run(&self, node: usize, mut each: impl FnMut(usize, u64)) {
        match node.checked_sub(self.shapes.len()) {
            None => {
                let runs = self.shapes.totals(ShapeId::at(node));
                runs.for_each(|(callee, count)| each(callee.index(), count));
            }
            Some(frame) => {
                let end = self.ends.get(frame).copied().unwrap_or_default();
                let start = frame.checked_sub(1).and_then(|before| self.ends.get(before));
                let runs = self.runs.get(start.copied().unwrap_or_default()..end);
                runs.unwrap_or_default().iter().for_each(|(callee, count)| each(*callee, *count));
            }
        }
    }

    /// The calls that a node makes, as [`each_run`](Self::each_run) passes them, each with the weight of all calls that the node makes
    /// before the first of these. `weight` is that of a call of a node.
    pub(super) fn each_run_after(
        &self,
        node: usize,
        weight: impl Fn(usize) -> u64,
        mut each: impl FnMut(usize, u64, u64),
    ) {
        let mut before = 0_u64;
        if node >= self.shapes.len() {
            return self.each_run(node, |callee, count| {
                each(callee, count, before);
                before = before.saturating_add(weight(callee).saturating_mul(count));
            });
        }
        for part in self.shapes.parts(ShapeId::at(node)) {
            let mut of_part = 0_u64;
            for (callee, count) in part.runs() {
                let callee = callee.index();
                each(callee, count.saturating_mul(part.times), before.saturating_add(of_part));
                of_part = of_part.saturating_add(weight(callee).saturating_mul(count));
            }
            before = before.saturating_add(of_part.saturating_mul(part.times));
        }
    }

    /// The number of the node's method.
    #[inline]
    pub(super) fn method(&self, node: usize) -> u32 {
        self.methods.get(node).copied().unwrap_or(NO_METHOD)
    }

    /// How often the node occurs in the thread.
    #[inline]
    pub(super) fn occurrences(&self, node: usize) -> u64 {
        self.counts.get(node).copied().unwrap_or_default()
    }

    /// The selected calls of the node, including itself.
    #[inline]
    pub(super) fn calls(&self, node: usize) -> u64 {
        self.calls.get(node).copied().unwrap_or_default()
    }

    /// The calls of the node, including itself, those that are not selected too.
    pub(super) fn all_calls_in(&self, node: usize) -> u64 {
        match node.checked_sub(self.shapes.len()) {
            None => self.shapes.calls(ShapeId::at(node)),
            // What follows a frame that is still open is in it.
            Some(_) => u64::MAX,
        }
    }

    /// Returns whether the node is a call, selected or not.
    pub(super) fn is_call(&self, node: usize) -> bool {
        self.method(node) != NO_METHOD
    }

    /// Returns whether the node makes calls.
    pub(super) fn has_runs(&self, node: usize) -> bool {
        match node.checked_sub(self.shapes.len()) {
            None => self.shapes.runs(ShapeId::at(node)).next().is_some(),
            Some(_) => true,
        }
    }

    /// All selected calls.
    pub(super) fn all_calls(&self) -> u64 {
        self.calls(self.thread())
    }

    /// Returns whether the node is a selected call.
    pub(super) fn is_shown(&self, node: usize) -> bool {
        self.is_shown_method(self.method(node))
    }

    /// The same by the number of its method.
    #[inline]
    pub(super) fn is_shown_method(&self, method: u32) -> bool {
        usize::try_from(method).is_ok_and(|at| self.shown.get(at).copied().unwrap_or_default())
    }

    /// How many numbers there are, [`NO_METHOD`] included.
    pub(super) fn numbers(&self) -> usize {
        self.shown.len()
    }

    /// The calls of each method, by number.
    pub(super) fn calls_of_methods(&self) -> Vec<u64> {
        let mut calls = vec![0_u64; self.numbers()];
        for node in 0..self.len() {
            let method = usize::try_from(self.method(node)).ok();
            if let Some(sum) = method.and_then(|method| calls.get_mut(method)) {
                *sum = sum.saturating_add(self.occurrences(node));
            }
        }
        calls
    }

    /// By node: the most selected frames that are open at once in it, including its own.
    pub(super) fn levels(&self) -> Vec<usize> {
        let mut levels: Vec<usize> = Vec::with_capacity(self.len());
        for node in 0..self.len() {
            let mut most = 0;
            self.each_run(node, |callee, _| {
                most = most.max(levels.get(callee).copied().unwrap_or_default());
            });
            levels.push(most + usize::from(self.is_shown(node)));
        }
        levels
    }

    /// Exits without entries before a run of the thread.
    pub(super) fn unseen_exits_before(&self, run: usize) -> u64 {
        let before = self.unseen_exits.iter().take_while(|(runs, _)| *runs <= run);
        before.fold(0, |sum, (_, exits)| sum.saturating_add(*exits))
    }
}
