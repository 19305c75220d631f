//! Steps from call to call in a [`LazyTree`], for a view of a part of it that needs nothing but the calls at its edges.

use std::ops::ControlFlow;

use super::lazy::Found;
use super::{LazyTree, Node};
use crate::format::flow::Record;
use crate::index::Place;
use crate::{Depth, MethodId, Result};

/// Consecutive calls of one caller that did the same, as far as that is known: from events, each call is alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EqualCalls {
    /// The first of them.
    pub first: Node,
    /// How many they are.
    pub count: u64,
    /// The calls in each of them, including itself.
    pub calls: u64,
}

impl EqualCalls {
    /// The number among these calls, from 0, of one of them; `None` if the call is not one of them.
    #[must_use]
    pub fn number_of(&self, node: &Node) -> Option<u64> {
        let after = node.place.enters.checked_sub(self.first.place.enters)?;
        let number = after / self.calls.max(1);
        let is_it = number < self.count && node.depth() == self.first.depth();
        is_it.then_some(number)
    }
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
    pub fn last_child(&mut self, of: Option<&Node>) -> Result<Option<Node>> {
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
    pub fn previous_sibling(&mut self, node: &Node) -> Result<Option<Node>> {
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
    pub fn equal_calls(&mut self, node: &Node) -> Result<EqualCalls> {
        if let Some(run) = self.shapes.as_ref().and_then(|shapes| shapes.equal_calls(node)) {
            return Ok(run);
        }
        Ok(EqualCalls { first: *node, count: 1, calls: self.subtree(node)?.calls })
    }

    /// Searches the events for the first call from a number on whose method is wanted. Reads at most `most` intervals of
    /// the [index](crate::index::INTERVAL_BYTES). A tree with [shapes](Self::shapes) has nothing to read: these have
    /// [matches](crate::dag::Dag::matches).
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn search_from(
        &mut self,
        number: u64,
        is_wanted: impl Fn(MethodId) -> bool,
        most: usize,
    ) -> Result<SearchStep> {
        self.ask(Place::default(), |tree, _| {
            let all = tree.index.intervals().len();
            let first = tree.index.interval_at(|place| place.enters, number);
            let end = first.saturating_add(most).min(all);
            for interval in first..end {
                let found = tree.each_in(interval, None, |place, record| match record {
                    Record::Enter(method) if place.enters >= number && is_wanted(method) => {
                        ControlFlow::Break(Node { place, method })
                    }
                    _ => ControlFlow::Continue(()),
                })?;
                if let Some(node) = found {
                    return Ok(SearchStep::Found(node));
                }
            }
            let next = tree.index.intervals().get(end);
            Ok(next
                .map_or(SearchStep::End, |next| SearchStep::Reached(next.start.enters.max(number))))
        })
    }

    /// The same for the last call before a number.
    ///
    /// # Errors
    /// As those of [`call`](Self::call).
    pub fn search_before(
        &mut self,
        number: u64,
        is_wanted: impl Fn(MethodId) -> bool,
        most: usize,
    ) -> Result<SearchStep> {
        self.ask(Place::default(), |tree, _| {
            let Some(last) = number.checked_sub(1) else { return Ok(SearchStep::End) };
            let last = tree.index.interval_at(|place| place.enters, last);
            let first = last.saturating_add(1).saturating_sub(most.max(1));
            for interval in (first..=last).rev() {
                if let Some(node) = tree.last_in(interval, number, &is_wanted)? {
                    return Ok(SearchStep::Found(node));
                }
            }
            let start = tree.index.intervals().get(first).map_or(0, |first| first.start.enters);
            Ok(if start == 0 { SearchStep::End } else { SearchStep::Reached(start) })
        })
    }

    fn last_in(
        &self,
        interval: usize,
        number: u64,
        is_wanted: &impl Fn(MethodId) -> bool,
    ) -> Found<Option<Node>> {
        let mut found = None;
        self.each_in(interval, None, |place, record| match record {
            Record::Enter(_) if place.enters >= number => ControlFlow::Break(()),
            Record::Enter(method) => {
                if is_wanted(method) {
                    found = Some(Node { place, method });
                }
                ControlFlow::Continue(())
            }
            Record::Exit(_) => ControlFlow::Continue(()),
        })?;
        Ok(found)
    }
}
