//! Steps from call to call in a [`LazyTree`], for a view of a part of it that needs nothing but the calls at its edges.

use std::ops::ControlFlow;

use super::lazy::{Found, LazyTree};
use super::node::{EqualCalls, Node};
use flow_codec::format::flow::Record;
use flow_codec::index::Place;
use flow_codec::{Depth, MethodId, Result};

/// Whether a search is for a call after a place or before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The first such call is searched for.
    Forwards,
    /// The last such call is searched for.
    Backwards,
}

/// How far a search came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchStep {
    /// To the call that was searched for.
    Found(Node),
    /// Not to the end: it continues at the call with this number.
    Reached(u64),
    /// There is no such call.
    End,
}

impl LazyTree {
    /// Of the frames open at a place, the one at a depth.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn frame_at(&mut self, place: Place, depth: Depth) -> Result<Option<Node>> {
        if let Some(shapes) = &self.shapes {
            return Ok(shapes.frame_at(place, depth.get()));
        }
        self.ask(place, |tree, place| tree.frame_in(place, depth.get()))
    }

    /// The last call that a call made directly; without a call, the last of the outermost ones.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub(crate) fn last_child(&mut self, of: Option<&Node>) -> Result<Option<Node>> {
        let (first, end, depth) = match of {
            None => (0, self.end().enters, 0),
            Some(node) => {
                let first = node.place.enters.saturating_add(1);
                let end = node.place.enters.saturating_add(self.subtree(node)?.calls);
                (first, end, node.place.frames.saturating_add(1))
            }
        };
        self.last_at(first, end, depth)
    }

    /// The call before this one that the same caller made.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub(crate) fn previous_sibling(&mut self, node: &Node) -> Result<Option<Node>> {
        self.last_at(0, node.place.enters, node.place.frames)
    }

    /// Of the calls numbered from `first` up to `end`, the last one or its caller at a depth; `None` if the last one is
    /// less deep.
    fn last_at(&mut self, first: u64, end: u64, depth: u64) -> Result<Option<Node>> {
        let Some(last) = end.checked_sub(1).filter(|last| *last >= first) else { return Ok(None) };
        let Some(last) = self.call(last)? else { return Ok(None) };
        if last.place.frames <= depth {
            return Ok(Some(last).filter(|last| last.place.frames == depth));
        }
        self.frame_at(last.place, Depth::new(depth))
    }

    /// The calls that did the same as a call, directly before and after it.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub(crate) fn equal_calls(&mut self, node: &Node) -> Result<EqualCalls> {
        if let Some(run) = self.shapes.as_ref().and_then(|shapes| shapes.equal_calls(node)) {
            return Ok(run);
        }
        Ok(EqualCalls { first: *node, count: 1, calls: self.subtree(node)?.calls })
    }

    /// Searches the events for a call whose method is wanted: forwards for the first one from a number on, backwards for the
    /// last one before it. Reads at most `most` intervals of the [index](flow_codec::index::INTERVAL_BYTES). A tree with
    /// [shapes](Self::shapes) has nothing to read: these have [matches](crate::dag::Dag::matches).
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub(crate) fn search(
        &mut self,
        number: u64,
        direction: Direction,
        is_wanted: impl Fn(MethodId) -> bool,
        most: usize,
    ) -> Result<SearchStep> {
        let first = match direction {
            Direction::Forwards => Some(number),
            Direction::Backwards => number.checked_sub(1),
        };
        let Some(first) = first else { return Ok(SearchStep::End) };
        self.ask(Place::default(), |tree, _| {
            let intervals = tree.index.intervals().len();
            let mut interval = tree.index.interval_at(|place| place.enters, first);
            for _ in 0..most.max(1) {
                if let Some(node) = tree.wanted_in(interval, number, direction, &is_wanted)? {
                    return Ok(SearchStep::Found(node));
                }
                let next = match direction {
                    Direction::Forwards => interval.checked_add(1),
                    Direction::Backwards => interval.checked_sub(1),
                };
                match next.filter(|next| *next < intervals) {
                    Some(next) => interval = next,
                    None => return Ok(SearchStep::End),
                }
            }
            Ok(SearchStep::Reached(match direction {
                Direction::Forwards => tree.index.end_of(interval - 1).enters.max(number),
                Direction::Backwards => tree.index.end_of(interval).enters,
            }))
        })
    }

    /// The first wanted call of an interval from a number on, or the last one before it.
    fn wanted_in(
        &self,
        interval: usize,
        number: u64,
        direction: Direction,
        is_wanted: &impl Fn(MethodId) -> bool,
    ) -> Found<Option<Node>> {
        let mut last = None;
        let first = self.each_in(interval, None, |place, record| {
            let Record::Enter(method) = record else { return ControlFlow::Continue(()) };
            let is_after = place.enters >= number;
            let node = Node { place, method };
            match direction {
                Direction::Forwards if is_after && is_wanted(method) => {
                    return ControlFlow::Break(Some(node));
                }
                Direction::Backwards if is_after => return ControlFlow::Break(None),
                Direction::Backwards if is_wanted(method) => last = Some(node),
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        Ok(first.flatten().or(last))
    }
}
