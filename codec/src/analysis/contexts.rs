//! The calling-context tree, from shapes.
//!
//! A path has the nodes that its last method has on it, each with the number of calls and the first of these. From them
//! follow the paths that are one method longer. So each path is made once, however often it was entered.

use std::collections::BTreeMap;

use super::nodes::Nodes;
use super::paths::{PathNode, ROOT, at};

/// Calls of a node on one path.
#[derive(Clone, Copy, Debug)]
struct Calls {
    /// The number of the node's method.
    method: u32,
    node: usize,
    count: u64,
    /// How many calls of the thread come before the first one.
    first: u64,
}

/// Returns the paths of a thread in the order in which they were first entered, after the root: methods by their
/// numbers in `nodes`. Only calls of selected methods and what they call have a path if there is a selection; nested
/// ones begin no path of their own. `None` if that takes longer than to read events.
pub(super) fn paths_of(
    nodes: &Nodes<'_>,
    roots: Option<&dyn Fn(u32) -> bool>,
) -> Option<Vec<PathNode<u64>>> {
    let mut made = Made::default();
    let mut calls = Vec::new();
    match roots {
        None => callees(
            nodes,
            &[Calls { method: 0, node: nodes.thread(), count: 1, first: 0 }],
            &mut calls,
        ),
        Some(is_root) => outermost(nodes, is_root, &mut calls),
    }
    let mut steps = nodes.max_steps();
    made.add(nodes, ROOT, &mut calls)?;
    let mut of_path = Vec::new();
    while let Some((path, start)) = made.to_do.pop() {
        of_path.clear();
        of_path.extend(made.pending.drain(start..));
        callees(nodes, &of_path, &mut calls);
        steps = steps.checked_sub(calls.len() as u64)?;
        made.add(nodes, path, &mut calls)?;
    }
    Some(made.sorted())
}

/// The calls of selected methods that are in no other one.
fn outermost(nodes: &Nodes<'_>, is_root: &dyn Fn(u32) -> bool, calls: &mut Vec<Calls>) {
    let mut found = BTreeMap::from([(nodes.thread(), (1_u64, 0_u64))]);
    while let Some((node, (count, first))) = found.pop_last() {
        let method = nodes.method(node);
        if nodes.is_shown_method(method) && is_root(method) {
            calls.push(Calls { method, node, count, first });
        } else {
            each_callee(nodes, Calls { method, node, count, first }, |node, count, first| {
                add(&mut found, node, count, first);
            });
        }
    }
}

/// The calls that others make.
fn callees(nodes: &Nodes<'_>, of: &[Calls], calls: &mut Vec<Calls>) {
    // Those that are not selected, whose callees count as those of their callers.
    let mut hidden = BTreeMap::new();
    let mut take = |hidden: &mut BTreeMap<_, _>, caller: Calls| {
        each_callee(nodes, caller, |node, count, first| {
            let method = nodes.method(node);
            match nodes.is_shown_method(method) {
                true => calls.push(Calls { method, node, count, first }),
                false => add(hidden, node, count, first),
            }
        });
    };
    of.iter().for_each(|caller| take(&mut hidden, *caller));
    while let Some((node, (count, first))) = hidden.pop_last() {
        take(&mut hidden, Calls { method: 0, node, count, first });
    }
}

fn add(found: &mut BTreeMap<usize, (u64, u64)>, node: usize, count: u64, first: u64) {
    let (sum, before) = found.entry(node).or_insert((0, u64::MAX));
    *sum = sum.saturating_add(count);
    *before = first.min(*before);
}

/// Passes the nodes that are called, how often, and the number of calls before the first one.
fn each_callee(nodes: &Nodes<'_>, caller: Calls, mut each: impl FnMut(usize, u64, u64)) {
    let mut first = caller.first.saturating_add(nodes.is_call(caller.node).into());
    nodes.each_run(caller.node, |callee, count| {
        each(callee, caller.count.saturating_mul(count), first);
        first = first.saturating_add(nodes.all_calls_in(callee).saturating_mul(count));
    });
}

/// Paths in the order in which they were made.
#[derive(Default)]
struct Made {
    /// Each with the number of calls before its first one.
    paths: Vec<(u64, PathNode<u64>)>,
    /// Paths whose callees have none yet, and where their calls begin in `pending`; the last one has the last calls.
    to_do: Vec<(u32, usize)>,
    pending: Vec<Calls>,
}

impl Made {
    /// Adds paths with one more method. `None` if there are too many.
    fn add(&mut self, nodes: &Nodes<'_>, parent: u32, calls: &mut Vec<Calls>) -> Option<()> {
        calls.sort_unstable_by_key(|calls| (calls.method, calls.node));
        let mut rest = calls.drain(..).peekable();
        while let Some(mut of_node) = rest.next() {
            let method = of_node.method;
            let path = u32::try_from(self.paths.len() + 1).ok()?;
            let (mut count, mut first, start) = (0_u64, u64::MAX, self.pending.len());
            loop {
                while let Some(more) = rest.next_if(|next| next.node == of_node.node) {
                    of_node.count = of_node.count.saturating_add(more.count);
                    of_node.first = of_node.first.min(more.first);
                }
                count = count.saturating_add(of_node.count);
                first = first.min(of_node.first);
                if nodes.has_runs(of_node.node) {
                    self.pending.push(of_node);
                }
                match rest.next_if(|next| next.method == method) {
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
