//! Sums over calls with labels, from shapes.
//!
//! A label has the calls that carry it, and the calls made while one of them was on the stack. Those of an inner one
//! count once, so what matters are the outermost calls with a label. A call is in another one with the same label only
//! if methods call each other in a circle. So all other calls are added up shape by shape; the calls in circles are
//! followed with the labels on the stack.

use std::collections::BinaryHeap;
use std::ops::Range;

use crate::analysis::nodes::{NO_METHOD, Nodes};

/// Which edges of the call graph are added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// From the callers of the chosen methods.
    Callers,
    /// To their callees.
    Callees,
}

/// The label of a call that is not added up.
pub(in crate::analysis) const NO_LABEL: u32 = u32::MAX;
/// The sums of a label.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::analysis) struct LabelSum {
    /// The calls with the label.
    pub(in crate::analysis) calls: u64,
    /// The calls made while one of them was on the stack, including themselves.
    pub(in crate::analysis) total: u64,
}

/// Adds up calls by label. `label` returns that of a call, from the numbers of caller and callee; the caller of
/// outermost calls is [`NO_METHOD`]. The label is the number of the method on this side, or [`NO_LABEL`]. `None` if that
/// takes longer than to read events.
pub(in crate::analysis) fn label_sums(
    nodes: &Nodes<'_>,
    side: Side,
    label: impl Fn(u32, u32) -> u32,
) -> Option<Vec<LabelSum>> {
    let circles = Circles::find(nodes);
    let mut sums = vec![LabelSum::default(); nodes.numbers()];
    for caller in 0..nodes.len() {
        let times = nodes.occurrences(caller);
        nodes.each_run(caller, |callee, count| {
            let label = label(nodes.method(caller), nodes.method(callee));
            let Some(sum) = sums.get_mut(at(label)) else { return };
            let times = times.saturating_mul(count);
            sum.calls = sum.calls.saturating_add(times);
            if circles.of(label) == NO_CIRCLE {
                add(&mut sum.total, nodes.calls(callee), times);
            }
        });
    }
    add_nested(nodes, &circles, side, label, &mut sums)?;
    Some(sums)
}

/// The same if each selected call has the number of its own method as its label: then a node counts once for all its
/// callers.
pub(in crate::analysis) fn method_sums(nodes: &Nodes<'_>) -> Option<Vec<LabelSum>> {
    let circles = Circles::find(nodes);
    let mut sums = vec![LabelSum::default(); nodes.numbers()];
    for node in 0..nodes.len() {
        let method = nodes.method(node);
        if !nodes.is_shown_method(method) {
            continue;
        }
        let Some(sum) = sums.get_mut(at(method)) else { continue };
        let times = nodes.occurrences(node);
        sum.calls = sum.calls.saturating_add(times);
        if circles.of(method) == NO_CIRCLE {
            add(&mut sum.total, nodes.calls(node), times);
        }
    }
    let label = |_, callee| if nodes.is_shown_method(callee) { callee } else { NO_LABEL };
    add_nested(nodes, &circles, Side::Callees, label, &mut sums)?;
    Some(sums)
}

/// Adds the totals of labels that may be in circles.
fn add_nested(
    nodes: &Nodes<'_>,
    circles: &Circles,
    side: Side,
    label: impl Fn(u32, u32) -> u32,
    sums: &mut [LabelSum],
) -> Option<()> {
    if circles.any() {
        let nested = Nested::new(nodes, circles, side, label).totals()?;
        sums.iter_mut().zip(nested).for_each(|(sum, total)| add(&mut sum.total, total, 1));
    }
    Some(())
}

/// Which methods call each other in a circle.
struct Circles {
    /// By number of the method: the number of its circle, or [`NO_CIRCLE`].
    circles: Vec<u32>,
}

const NO_CIRCLE: u32 = u32::MAX;

impl Circles {
    fn any(&self) -> bool {
        self.circles.iter().any(|circle| *circle != NO_CIRCLE)
    }

    #[inline]
    fn of(&self, method: u32) -> u32 {
        self.circles.get(at(method)).copied().unwrap_or(NO_CIRCLE)
    }

    /// Finds the circles: the strongly connected components of the graph of methods, after Tarjan, *Depth-first search
    /// and linear graph algorithms* (1972).
    fn find(nodes: &Nodes<'_>) -> Self {
        let (callees, ends) = callees(nodes);
        let of = |method: usize| {
            let start = method.checked_sub(1).and_then(|before| ends.get(before)).copied();
            let end = ends.get(method).copied().unwrap_or_default();
            callees.get(start.unwrap_or_default()..end).unwrap_or_default()
        };
        let numbers = nodes.numbers();
        let mut circles = vec![NO_CIRCLE; numbers];
        // The order in which methods are met, from 1 on; the earliest that is reached from each; those not yet assigned.
        let (mut met, mut low) = (vec![0_usize; numbers], vec![0_usize; numbers]);
        let mut is_done = vec![false; numbers];
        let (mut open, mut path): (Vec<usize>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        let mut next = 1;
        for first in 1..numbers {
            if met[first] != 0 {
                continue;
            }
            path.push((first, 0));
            while let Some((method, callee)) = path.last_mut() {
                let method = *method;
                if *callee == 0 {
                    (met[method], low[method]) = (next, next);
                    next += 1;
                    open.push(method);
                }
                if let Some(&other) = of(method).get(*callee) {
                    *callee += 1;
                    let other = at(other);
                    if met[other] == 0 {
                        path.push((other, 0));
                    } else if !is_done[other] {
                        low[method] = low[method].min(met[other]);
                    }
                    continue;
                }
                path.pop();
                if let Some((caller, _)) = path.last() {
                    low[*caller] = low[*caller].min(low[method]);
                }
                if low[method] < met[method] {
                    continue;
                }
                let start = open.iter().rposition(|other| *other == method).unwrap_or(0);
                let calls_itself = || of(method).contains(&number(method));
                let is_circle = open.len() - start > 1 || calls_itself();
                for other in open.drain(start..) {
                    is_done[other] = true;
                    if is_circle {
                        circles[other] = number(method);
                    }
                }
            }
        }
        Self { circles }
    }
}

/// The methods that each method calls, each once, and where those of each end.
fn callees(nodes: &Nodes<'_>) -> (Vec<u32>, Vec<usize>) {
    let numbers = nodes.numbers();
    // The nodes by method.
    let mut starts = vec![0_usize; numbers + 1];
    for node in 0..nodes.len() {
        starts[at(nodes.method(node)) + 1] += 1;
    }
    for method in 0..numbers {
        starts[method + 1] += starts[method];
    }
    let mut places = starts.clone();
    let mut by_method = vec![0; nodes.len()];
    for node in 0..nodes.len() {
        let place = &mut places[at(nodes.method(node))];
        by_method[*place] = node;
        *place += 1;
    }
    let (mut callees, mut ends) = (Vec::new(), Vec::with_capacity(numbers));
    let mut last_caller = vec![usize::MAX; numbers];
    for method in 0..numbers {
        if method != at(NO_METHOD) {
            for &node in &by_method[starts[method]..starts[method + 1]] {
                nodes.each_run(node, |callee, _| {
                    let callee = nodes.method(callee);
                    if callee != NO_METHOD && last_caller[at(callee)] != method {
                        last_caller[at(callee)] = method;
                        callees.push(callee);
                    }
                });
            }
        }
        ends.push(callees.len());
    }
    (callees, ends)
}

/// A call by a method of a circle.
#[derive(Clone, Copy)]
struct Edge {
    callee: u32,
    /// Its label, if that is a method of the circle.
    label: u32,
    /// How many: a run has no more.
    count: u32,
    /// Whether the callee is in the circle, and makes calls that matter.
    stays: bool,
}

/// Adds up the totals of calls that may be in others with the same label.
///
/// Calls are followed from where they enter a circle, and only in it: those with the same labels on the stack together.
/// A call counts if its label is not on the stack yet.
struct Nested<'a> {
    nodes: &'a Nodes<'a>,
    /// By node: its calls that matter, and where they end.
    edges: Vec<Edge>,
    ends: Vec<u32>,
    /// The labels on the stack.
    stack: Vec<u32>,
    is_on_stack: Vec<bool>,
    /// Nodes with these labels on the stack. The largest is next, which none of the others calls.
    calls: BinaryHeap<u32>,
    /// By node: how often it is to be looked into.
    times: Vec<u64>,
    /// Nodes with one more label on the stack: the label, the node, and how often. By node: where it was added last.
    found: Vec<(u32, u32, u64)>,
    last_found: Vec<u32>,
    /// What is left to do: the number of labels on the stack, one more label, and where its nodes begin in `pending`.
    /// The last one has the last nodes.
    to_do: Vec<(usize, u32, usize)>,
    pending: Vec<(u32, u64)>,
    totals: Vec<u64>,
}

impl<'a> Nested<'a> {
    fn new(
        nodes: &'a Nodes<'a>,
        circles: &Circles,
        side: Side,
        label: impl Fn(u32, u32) -> u32,
    ) -> Self {
        let mut nested = Self {
            nodes,
            edges: Vec::with_capacity(nodes.runs()),
            ends: Vec::with_capacity(nodes.len()),
            stack: Vec::new(),
            is_on_stack: vec![false; nodes.numbers()],
            calls: BinaryHeap::new(),
            times: vec![0; nodes.len()],
            found: Vec::new(),
            last_found: vec![0; nodes.len()],
            to_do: Vec::new(),
            pending: Vec::new(),
            totals: vec![0; nodes.numbers()],
        };
        for caller in 0..nodes.len() {
            let (times, method) = (nodes.occurrences(caller), nodes.method(caller));
            let circle = circles.of(method);
            nodes.each_run(caller, |callee, count| {
                let callee_method = nodes.method(callee);
                let other = circles.of(callee_method);
                if times == 0 || (circle, other) == (NO_CIRCLE, NO_CIRCLE) {
                    return;
                }
                let home = match side {
                    Side::Callers => circle,
                    Side::Callees => other,
                };
                let label = label(method, callee_method);
                let label_in = |circle| if home == circle { label } else { NO_LABEL };
                let callee = number(callee);
                // Nothing more happens in calls that make none.
                let is_inner = !nested.edges_of(callee).is_empty();
                if other != NO_CIRCLE && other != circle {
                    nested.meet(label_in(other), callee, times.saturating_mul(count), is_inner);
                }
                let stays = is_inner && other == circle;
                if circle != NO_CIRCLE && (stays || label_in(circle) != NO_LABEL) {
                    let (label, count) =
                        (label_in(circle), u32::try_from(count).unwrap_or(u32::MAX));
                    nested.edges.push(Edge { callee, label, count, stays });
                }
            });
            nested.ends.push(number(nested.edges.len()));
        }
        nested
    }

    /// Adds up the totals of all labels. `None` if that takes longer than to read events.
    fn totals(mut self) -> Option<Vec<u64>> {
        let mut steps = self.nodes.max_steps();
        loop {
            while let Some(node) = self.calls.pop() {
                let times = std::mem::take(&mut self.times[at(node)]);
                let edges = self.edges_of(node);
                steps = steps.checked_sub(1 + edges.len() as u64)?;
                for edge in edges {
                    let Edge { callee, label, count, stays } = self.edges[edge];
                    self.meet(label, callee, times.saturating_mul(count.into()), stays);
                }
            }
            self.keep_found();
            let Some((depth, label, start)) = self.to_do.pop() else { return Some(self.totals) };
            for label in self.stack.drain(depth..) {
                self.is_on_stack[at(label)] = false;
            }
            self.stack.push(label);
            self.is_on_stack[at(label)] = true;
            for (node, times) in self.pending.drain(start..) {
                self.calls.push(node);
                self.times[at(node)] = times;
            }
        }
    }

    /// Meets calls of a node, with the labels that are on the stack. If the node stays in the circle, it is looked into.
    fn meet(&mut self, label: u32, callee: u32, times: u64, stays: bool) {
        let is_first = self.is_on_stack.get(at(label)).is_some_and(|is| !is);
        if is_first {
            add(&mut self.totals[at(label)], self.nodes.calls(at(callee)), times);
        }
        if !stays {
            return;
        }
        match is_first {
            true => self.find(label, callee, times),
            false => {
                let sum = &mut self.times[at(callee)];
                if *sum == 0 {
                    self.calls.push(callee);
                }
                *sum = sum.saturating_add(times);
            }
        }
    }

    /// Finds calls of a node with one more label. Most of a node have the same.
    fn find(&mut self, label: u32, node: u32, times: u64) {
        let last = &mut self.last_found[at(node)];
        match self.found.get_mut(at(*last)) {
            Some((of, found, sum)) if (*of, *found) == (label, node) => {
                *sum = sum.saturating_add(times);
            }
            _ => {
                *last = number(self.found.len());
                self.found.push((label, node, times));
            }
        }
    }

    /// Keeps what was found with one more label for later.
    fn keep_found(&mut self) {
        self.found.sort_unstable();
        let mut last = None;
        for (label, node, times) in self.found.drain(..) {
            match self.pending.last_mut() {
                Some((before, sum)) if last == Some(label) && *before == node => {
                    *sum = sum.saturating_add(times);
                    continue;
                }
                _ if last == Some(label) => {}
                _ => self.to_do.push((self.stack.len(), label, self.pending.len())),
            }
            last = Some(label);
            self.pending.push((node, times));
        }
    }

    #[inline]
    fn edges_of(&self, node: u32) -> Range<usize> {
        let node = at(node);
        let start = node.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        at(start.unwrap_or_default())..at(self.ends.get(node).copied().unwrap_or_default())
    }
}

fn add(total: &mut u64, calls: u64, times: u64) {
    *total = total.saturating_add(calls.saturating_mul(times));
}

/// The number of a method as an index.
fn at(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NO_LABEL)
}
