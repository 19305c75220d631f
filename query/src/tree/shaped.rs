//! The call tree of a thread from its shapes, which needs no events.

use super::node::{EqualCalls, Node, Subtree};
use crate::dag::{Call, Callees, Dag, Target};
use flow_codec::index::Place;
use flow_codec::{MethodId, Offset};

/// The answers of a [`LazyTree`](super::LazyTree) from shapes.
#[derive(Debug)]
pub(super) struct Shaped {
    pub(super) dag: Dag,
    pub(super) end: Place,
}

impl From<Call> for Node {
    fn from(call: Call) -> Self {
        Self { place: call.place, method: call.method }
    }
}

impl Shaped {
    pub(super) fn new(dag: Dag) -> Self {
        Self { end: dag.end_place(), dag }
    }

    pub(super) fn call(&self, number: u64) -> Option<Node> {
        self.dag.find_place(Target::Call(number), |_| {})?.first().map(Node::from)
    }

    pub(super) fn event(&self, number: u64) -> Option<Place> {
        self.dag.event(number)
    }

    pub(super) fn offset(&self, offset: Offset) -> Option<Place> {
        self.dag.find_place(Target::Offset(offset), |_| {}).map(|found| found.place())
    }

    pub(super) fn frames(&self, place: Place) -> Vec<Node> {
        let mut frames = Vec::new();
        self.dag.find_place(Target::Offset(place.offset), |call| frames.push(call.into()));
        frames
    }

    pub(super) fn open_methods(&self, place: Place) -> Vec<MethodId> {
        let mut frames = Vec::new();
        self.dag.find_place(Target::Offset(place.offset), |call| frames.push(call.method));
        frames
    }

    pub(super) fn parent(&self, node: &Node) -> Option<Node> {
        let mut last = None;
        self.dag.find_place(Target::Offset(node.place.offset), |call| last = Some(call));
        last.map(Node::from)
    }

    pub(super) fn frame_at(&self, place: Place, depth: u64) -> Option<Node> {
        let mut found = None;
        self.dag.find_place(Target::Offset(place.offset), |call| {
            if call.place.frames == depth {
                found = Some(call);
            }
        });
        found.map(Node::from)
    }

    pub(super) fn equal_calls(&self, node: &Node) -> Option<EqualCalls> {
        let callees = match self.parent(node) {
            None => self.dag.outermost(),
            Some(parent) => {
                let mut here = self.at(&parent)?;
                let call = here.first()?;
                here.inside(call)
            }
        };
        let (first, count, calls) = callees.run_at(node.place.offset)?;
        Some(EqualCalls { first: first.into(), count, calls })
    }

    pub(super) fn subtree(&self, node: &Node) -> Subtree {
        let call = self.at(node).and_then(|mut here| here.first());
        match call.and_then(|call| self.dag.extent_of(call)) {
            Some((calls, left)) => Subtree { calls, left: Some(left) },
            None => {
                Subtree { calls: self.end.enters.saturating_sub(node.place.enters), left: None }
            }
        }
    }

    pub(super) fn children(&self, of: Option<&Node>, skip: u64, max: usize) -> Vec<Node> {
        let callees = match of {
            None => Some(self.dag.outermost()),
            Some(node) => self.at(node).and_then(|mut here| {
                let call = here.first()?;
                Some(here.inside(call))
            }),
        };
        some(callees, skip, max)
    }

    pub(super) fn siblings_after(&self, node: &Node, skip: u64, max: usize) -> Vec<Node> {
        some(self.at(node), skip.saturating_add(1), max)
    }

    /// The calls of the same caller, from this one on.
    fn at(&self, node: &Node) -> Option<Callees<'_>> {
        self.dag.find_place(Target::Offset(node.place.offset), |_| {})
    }
}

fn some(callees: Option<Callees<'_>>, skip: u64, max: usize) -> Vec<Node> {
    let Some(mut callees) = callees else { return Vec::new() };
    callees.skip_calls(skip);
    callees.take(max).map(Node::from).collect()
}
