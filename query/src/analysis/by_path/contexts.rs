//! The calling-context tree, from shapes.
//!
//! A path has the nodes that its last method has on it, each with the number of calls and the first of these. From them
//! follow the paths that are one method longer. So each path is made once, however often it was entered.

use std::collections::BTreeMap;

use super::paths::{PathNode, ROOT, at};
use crate::analysis::nodes::{NO_METHOD, Nodes};

/// Calls of a node on one path.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct Calls {
    /// The number of the node's method, and the node: in one word, because most of the work is to sort by them.
    key: u64,
    pub(in crate::analysis) count: u64,
    /// How many calls of the thread come before the first one.
    pub(in crate::analysis) first: u64,
}

const NODE_BITS: u32 = 32;

impl Calls {
    /// Nodes have numbers of 32 bits: there are fewer shapes, and an open frame has one in a stack of [`u32`].
    #[inline(always)]
    fn new(method: u32, node: usize, count: u64, first: u64) -> Self {
        Self { key: u64::from(method) << NODE_BITS | node as u64, count, first }
    }

    /// Adds other calls of the same node.
    #[inline(always)]
    fn add(&mut self, more: Self) {
        self.count = self.count.saturating_add(more.count);
        self.first = self.first.min(more.first);
    }

    #[inline(always)]
    pub(in crate::analysis) fn method(&self) -> u32 {
        u32::try_from(self.key >> NODE_BITS).unwrap_or(NO_METHOD)
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    pub(in crate::analysis) fn node(&self) -> usize {
        self.key as u32 as usize
    }
}

/// Returns the paths of a thread in the order in which they were first entered, after the root: methods by their
/// numbers in `nodes`. Only calls of selected methods and what they call have a path if there is a selection; nested
/// ones begin no path of their own. `None` if that takes longer than to read events, or if there are `limit` of them.
pub(in crate::analysis) fn paths_of(
    nodes: &Nodes<'_>,
    roots: Option<&dyn Fn(u32) -> bool>,
    limit: u32,
) -> Option<Vec<PathNode<u64>>> {
    let mut made = Made { limit, ..Made::default() };
    let mut calls = first_calls(nodes, roots);
    let callees = Callees::of(nodes);
    let mut steps = nodes.max_steps();
    made.add(nodes, ROOT, &mut calls)?;
    let mut of_path = Vec::new();
    while let Some((path, start)) = made.to_do.pop() {
        of_path.clear();
        of_path.extend(made.pending.drain(start..));
        callees.called_by(&of_path, &mut calls);
        steps = steps.checked_sub(calls.len() as u64)?;
        made.add(nodes, path, &mut calls)?;
    }
    Some(made.sorted())
}

/// The calls that each node makes once, sorted: those of a node that is on many paths need not be sorted for each of
/// them.
struct Callees {
    /// For one call of the node, which is the first of the thread. Of methods that are not selected first, as if they
    /// had none.
    calls: Vec<Calls>,
    ends: Vec<usize>,
}

impl Callees {
    fn of(nodes: &Nodes<'_>) -> Self {
        let mut calls: Vec<Calls> = Vec::with_capacity(nodes.runs());
        let mut ends = Vec::with_capacity(nodes.len());
        let mut recent = Recent::default();
        for caller in 0..nodes.len() {
            let start = calls.len();
            each_callee(nodes, Calls::new(NO_METHOD, caller, 1, 0), |node, count, first| {
                let method = nodes.method(node);
                let shown = if nodes.is_shown_method(method) { method } else { NO_METHOD };
                recent.push(&mut calls, start, Calls::new(shown, node, count, first));
            });
            let joined = join(calls.get_mut(start..).unwrap_or_default());
            calls.truncate(start + joined);
            ends.push(calls.len());
        }
        Self { calls, ends }
    }

    /// The calls that a node makes.
    fn of_node(&self, node: usize) -> &[Calls] {
        let end = self.ends.get(node).copied().unwrap_or_default();
        let start = node.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        self.calls.get(start.unwrap_or_default()..end).unwrap_or_default()
    }

    /// The selected calls that others make, sorted. What is called by one that is not selected counts as called by its
    /// caller.
    fn called_by(&self, of: &[Calls], calls: &mut Vec<Calls>) {
        let mut hidden = BTreeMap::new();
        let mut take = |hidden: &mut BTreeMap<_, _>, caller: Calls| {
            for callee in self.of_node(caller.node()) {
                let count = caller.count.saturating_mul(callee.count);
                let first = caller.first.saturating_add(callee.first);
                match callee.method() {
                    NO_METHOD => add(hidden, callee.node(), count, first),
                    _ => calls.push(Calls { key: callee.key, count, first }),
                }
            }
        };
        of.iter().for_each(|caller| take(&mut hidden, *caller));
        let is_sorted = of.len() == 1 && hidden.is_empty();
        while let Some((node, (count, first))) = hidden.pop_last() {
            take(&mut hidden, Calls::new(NO_METHOD, node, count, first));
        }
        if !is_sorted {
            calls.sort_unstable_by_key(|calls| calls.key);
        }
    }
}

/// Where calls of a node were added last, as far as it has not been forgotten. A call that makes many others makes calls
/// of few nodes, so most of them need not be sorted.
struct Recent {
    places: Vec<u32>,
}

impl Default for Recent {
    fn default() -> Self {
        Self { places: vec![0; Self::PLACES] }
    }
}

impl Recent {
    const PLACES: usize = 1 << 12;

    /// Adds calls to those from `start` on.
    fn push(&mut self, calls: &mut Vec<Calls>, start: usize, next: Calls) {
        let Some(place) = self.places.get_mut(next.node() % Self::PLACES) else { return };
        let last = at(*place);
        match calls.get_mut(last).filter(|calls| last >= start && calls.key == next.key) {
            Some(calls) => calls.add(next),
            None => {
                *place = u32::try_from(calls.len()).unwrap_or(u32::MAX);
                calls.push(next);
            }
        }
    }
}

/// Sorts calls, so that those of a method are together. Those of one node become one. Returns how many are left, at the
/// beginning.
fn join(calls: &mut [Calls]) -> usize {
    calls.sort_unstable_by_key(|calls| calls.key);
    let mut end = 0;
    for at in 0..calls.len() {
        let Some(next) = calls.get(at).copied() else { break };
        match calls.get_mut(..end).and_then(<[Calls]>::last_mut) {
            Some(last) if last.key == next.key => last.add(next),
            _ => {
                calls.get_mut(end).into_iter().for_each(|place| *place = next);
                end += 1;
            }
        }
    }
    end
}

/// The selected calls that others make, by method. What is called by one that is not selected counts as called by its
/// caller.
pub(in crate::analysis) fn called_by(nodes: &Nodes<'_>, of: &[Calls]) -> Vec<Calls> {
    let (mut calls, mut hidden, mut recent) = (Vec::new(), BTreeMap::new(), Recent::default());
    let mut take = |hidden: &mut BTreeMap<_, _>, caller: Calls| {
        each_callee(nodes, caller, |node, count, first| {
            let method = nodes.method(node);
            match nodes.is_shown_method(method) {
                true => recent.push(&mut calls, 0, Calls::new(method, node, count, first)),
                false => add(hidden, node, count, first),
            }
        });
    };
    of.iter().for_each(|caller| take(&mut hidden, *caller));
    while let Some((node, (count, first))) = hidden.pop_last() {
        take(&mut hidden, Calls::new(NO_METHOD, node, count, first));
    }
    let joined = join(&mut calls);
    calls.truncate(joined);
    calls
}

/// The outermost calls, by method: of selected methods that are in no other one if there is a selection.
pub(in crate::analysis) fn first_calls(
    nodes: &Nodes<'_>,
    roots: Option<&dyn Fn(u32) -> bool>,
) -> Vec<Calls> {
    let Some(is_root) = roots else {
        return called_by(nodes, &[Calls::new(NO_METHOD, nodes.thread(), 1, 0)]);
    };
    let mut calls = Vec::new();
    let mut found = BTreeMap::from([(nodes.thread(), (1_u64, 0_u64))]);
    while let Some((node, (count, first))) = found.pop_last() {
        let method = nodes.method(node);
        if nodes.is_shown_method(method) && is_root(method) {
            calls.push(Calls::new(method, node, count, first));
        } else {
            each_callee(nodes, Calls::new(method, node, count, first), |node, count, first| {
                add(&mut found, node, count, first);
            });
        }
    }
    // No node was found twice.
    calls.sort_unstable_by_key(|calls: &Calls| calls.key);
    calls
}

fn add(found: &mut BTreeMap<usize, (u64, u64)>, node: usize, count: u64, first: u64) {
    let (sum, before) = found.entry(node).or_insert((0, u64::MAX));
    *sum = sum.saturating_add(count);
    *before = first.min(*before);
}

/// Passes the nodes that are called, how often, and the number of calls before the first one.
fn each_callee(nodes: &Nodes<'_>, caller: Calls, mut each: impl FnMut(usize, u64, u64)) {
    let first = caller.first.saturating_add(nodes.is_call(caller.node()).into());
    let calls = |callee| nodes.all_calls_in(callee);
    nodes.each_run_after(caller.node(), calls, |callee, count, before| {
        each(callee, caller.count.saturating_mul(count), first.saturating_add(before));
    });
}

/// Paths in the order in which they were made.
#[derive(Default)]
struct Made {
    /// There are fewer paths than this, the root included.
    limit: u32,
    /// Each with the number of calls before its first one.
    paths: Vec<(u64, PathNode<u64>)>,
    /// Paths whose callees have none yet, and where their calls begin in `pending`; the last one has the last calls.
    to_do: Vec<(u32, usize)>,
    pending: Vec<Calls>,
}

impl Made {
    /// Adds paths with one more method, of calls that are sorted. `None` if there are too many.
    fn add(&mut self, nodes: &Nodes<'_>, parent: u32, calls: &mut Vec<Calls>) -> Option<()> {
        let mut rest = calls.drain(..).peekable();
        while let Some(mut of_node) = rest.next() {
            let method = of_node.method();
            let path =
                u32::try_from(self.paths.len() + 1).ok().filter(|path| *path < self.limit)?;
            let (mut count, mut first, start) = (0_u64, u64::MAX, self.pending.len());
            loop {
                while let Some(more) = rest.next_if(|next| next.key == of_node.key) {
                    of_node.add(more);
                }
                count = count.saturating_add(of_node.count);
                first = first.min(of_node.first);
                if nodes.has_runs(of_node.node()) {
                    self.pending.push(of_node);
                }
                match rest.next_if(|next| next.method() == method) {
                    Some(next) => of_node = next,
                    None => break,
                }
            }
            let node = PathNode { counts: count, parent, method, ..PathNode::default() };
            self.paths.push((first, node));
            if start < self.pending.len() {
                self.to_do.push((path, start));
            }
        }
        Some(())
    }

    /// The paths in the order of their first calls, the root first.
    fn sorted(self) -> Vec<PathNode<u64>> {
        // No call is on two paths.
        let mut order: Vec<_> = (1..).zip(self.paths.iter().map(|(first, _)| *first)).collect();
        order.sort_unstable_by_key(|(_, first)| *first);
        let mut places = vec![ROOT; self.paths.len() + 1];
        for (place, (path, _)) in (1..).zip(&order) {
            places.iter_mut().skip(at(*path)).take(1).for_each(|at| *at = place);
        }
        let mut sorted = vec![PathNode::default()];
        sorted.extend(order.iter().filter_map(|(path, _)| {
            let (_, node) = self.paths.get(at(*path).checked_sub(1)?)?;
            let parent = places.get(at(node.parent)).copied().unwrap_or(ROOT);
            Some(PathNode { parent, ..node.clone() })
        }));
        sorted
    }
}
