//! The selected calls of a thread as a tree: callees of all others move up to their callers.

use std::ops::{ControlFlow, Range};

use super::{Direction, EqualCalls, LazyTree, Node, SearchStep, Subtree};
use crate::dag::Matches;
use flow_codec::format::flow::Record;
use flow_codec::index::Place;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Parts, Selection};
use flow_codec::{Depth, MethodId, Result};

/// A [`LazyTree`] of which only some calls are shown: those of selected methods, in selected ranges. They are the calls that
/// a timeline of the same selection has, and the caller of each is the innermost selected frame of the same range. A call of
/// a range keeps its whole extent, which may be longer than the range.
///
/// Memory, beyond that of the tree: 16 bytes for each shape, or 8 for each interval of the index, if methods are selected.
#[derive(Debug)]
pub struct SelectedTree {
    whole: LazyTree,
    selection: Selection,
    calls: SelectedCalls,
    is_all: bool,
}

/// Some calls of a thread, any of which is found without passing the others.
#[derive(Debug)]
pub struct SelectedCalls {
    /// The numbers of the calls among which they are, in order.
    ranges: Vec<Range<u64>>,
    counts: Counts,
}

/// How many calls are before a call.
#[derive(Debug)]
enum Counts {
    /// All calls count.
    All,
    Shapes(Matches),
    /// By the number of an interval of the index: how many calls of selected methods are before it. The last one is their
    /// number in the thread.
    Intervals(Selection, Vec<u64>),
}

impl SelectedTree {
    /// Selects calls of a tree by method and, with `parts`, by range. If it has no shapes, and methods are selected, all
    /// events are read once, and `progress` counts their bytes.
    ///
    /// # Errors
    /// The events cannot be read. Damage is not an error: it is skipped.
    pub fn new(
        mut whole: LazyTree,
        selection: Selection,
        parts: Option<&Parts>,
        progress: &BytesRead,
    ) -> Result<Self> {
        let ranges = match parts {
            None => std::iter::once(0..u64::MAX).collect(),
            Some(parts) => whole.numbers_in(parts)?,
        };
        let counts = match whole.shapes() {
            _ if selection.is_all() => Counts::All,
            Some(dag) => Counts::Shapes(dag.matches(|method| selection.contains(method))),
            None => Counts::Intervals(selection.clone(), whole.count(&selection, progress)?),
        };
        let is_all = selection.is_all() && parts.is_none();
        Ok(Self { whole, selection, calls: SelectedCalls { ranges, counts }, is_all })
    }

    /// The tree of all calls.
    pub fn whole(&mut self) -> &mut LazyTree {
        &mut self.whole
    }

    /// The selected methods.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns whether a call is shown.
    #[must_use]
    pub fn has(&self, node: &Node) -> bool {
        let number = node.place.enters;
        self.selection.contains(node.method) && self.calls.range_of(number).is_some()
    }

    /// How many shown calls have a number in a range.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn count_in(&mut self, numbers: Range<u64>) -> Result<u64> {
        self.calls.count_in(&mut self.whole, numbers)
    }

    /// The first shown call with this number or a larger one; or the last one with a smaller number.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn nearest(&mut self, number: u64, direction: Direction) -> Result<Option<Node>> {
        self.calls.nearest(&mut self.whole, number, direction)
    }

    /// How many of its callers are shown.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn depth(&mut self, node: &Node) -> Result<Depth> {
        match self.is_all {
            true => Ok(node.depth()),
            false => Ok(Depth::new(self.frames(node)?.len() as u64)),
        }
    }

    /// The shown callers of a call, the outermost first.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn frames(&mut self, node: &Node) -> Result<Vec<Node>> {
        let mut frames = self.whole.frames(node.place)?;
        if !self.is_all {
            frames.retain(|frame| self.are_in_one_range(frame, node) && self.has(frame));
        }
        Ok(frames)
    }

    /// The innermost shown caller of a call.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn parent(&mut self, node: &Node) -> Result<Option<Node>> {
        let mut inner = *node;
        while let Some(caller) = self.whole.parent(&inner)? {
            if !self.are_in_one_range(&caller, node) {
                break;
            }
            if self.has(&caller) {
                return Ok(Some(caller));
            }
            inner = caller;
        }
        Ok(None)
    }

    fn are_in_one_range(&self, one: &Node, other: &Node) -> bool {
        self.is_all
            || self
                .calls
                .range_of(other.place.enters)
                .is_some_and(|range| range.contains(&one.place.enters))
    }

    /// The shown calls in a call, including itself if it is shown, and where it is left.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn subtree(&mut self, node: &Node) -> Result<Subtree> {
        let whole = self.whole.subtree(node)?;
        if self.is_all {
            return Ok(whole);
        }
        let inside = self.inside(Some(node))?;
        let calls = self.count_in(node.place.enters..inside.end)?;
        Ok(Subtree { calls, left: whole.left })
    }

    /// The shown calls whose innermost shown caller is this one, in order, at most `max` of them. Without a call, those
    /// that have none.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn children(&mut self, of: Option<&Node>, max: usize) -> Result<Vec<Node>> {
        if self.is_all {
            return self.whole.children(of, 0, max);
        }
        let inside = self.inside(of)?;
        self.outermost_in(inside, max)
    }

    /// The last one of them.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn last_child(&mut self, of: Option<&Node>) -> Result<Option<Node>> {
        if self.is_all {
            return self.whole.last_child(of);
        }
        let inside = self.inside(of)?;
        self.last_outermost_in(inside)
    }

    /// The next shown call of the same caller, after the calls that follow this one and [did the same](Self::equal_calls),
    /// of which `skip` are passed.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn next_sibling(&mut self, node: &Node, skip: u64) -> Result<Option<Node>> {
        if self.is_all {
            return Ok(self.whole.siblings_after(node, skip, 1)?.first().copied());
        }
        let calls = self.whole.subtree(node)?.calls.saturating_mul(skip.saturating_add(1));
        let end = node.place.enters.saturating_add(calls);
        let range = self.calls.range_of(node.place.enters);
        let caller = self.parent(node)?;
        let inside = self.inside(caller.as_ref())?;
        let rest = range.map_or(end, |range| end.min(range.end))..inside.end;
        Ok(self.outermost_in(rest, 1)?.first().copied())
    }

    /// The shown call before this one of the same caller.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn previous_sibling(&mut self, node: &Node) -> Result<Option<Node>> {
        if self.is_all {
            return self.whole.previous_sibling(node);
        }
        let caller = self.parent(node)?;
        let inside = self.inside(caller.as_ref())?;
        self.last_outermost_in(inside.start..node.place.enters)
    }

    /// The calls that did the same as a shown call, directly before and after it. They are shown, too.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn equal_calls(&mut self, node: &Node) -> Result<EqualCalls> {
        let run = self.whole.equal_calls(node)?;
        let Some(range) = self.calls.range_of(node.place.enters) else { return Ok(run) };
        let first = run.first.place.enters;
        let end = first.saturating_add(run.calls.saturating_mul(run.count));
        if range.start <= first && end <= range.end {
            return Ok(run);
        }
        // A range may begin or end between them.
        let each = run.calls.max(1);
        let before = range.start.saturating_sub(first).div_ceil(each);
        let until = range.end.saturating_sub(first).div_ceil(each).min(run.count);
        let first = match before.checked_sub(1) {
            None => Some(run.first),
            Some(skip) => self.whole.siblings_after(&run.first, skip, 1)?.first().copied(),
        };
        let first = first.unwrap_or(*node);
        Ok(EqualCalls { first, count: until.saturating_sub(before), calls: run.calls })
    }

    /// Of the shown calls with numbers in a range, the first one, or the last one, that has no shown caller among them.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn outermost(&mut self, numbers: Range<u64>, direction: Direction) -> Result<Option<Node>> {
        match direction {
            Direction::Forwards => Ok(self.outermost_in(numbers, 1)?.first().copied()),
            Direction::Backwards => self.last_outermost_in(numbers),
        }
    }

    /// The numbers of the calls in each of some ranges that has calls.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn numbers_in(&mut self, parts: &Parts) -> Result<Vec<Range<u64>>> {
        self.whole.numbers_in(parts)
    }

    /// The numbers of the calls in a call, or of all calls.
    fn inside(&mut self, of: Option<&Node>) -> Result<Range<u64>> {
        let Some(node) = of else { return Ok(0..u64::MAX) };
        let first = node.place.enters.saturating_add(1);
        let end = node.place.enters.saturating_add(self.whole.subtree(node)?.calls);
        let range = self.calls.range_of(node.place.enters);
        Ok(first..range.map_or(end, |range| end.min(range.end)))
    }

    /// Of calls whose first one is no callee of the others, those that are shown and have no shown caller among them.
    fn outermost_in(&mut self, mut numbers: Range<u64>, max: usize) -> Result<Vec<Node>> {
        let mut found = Vec::new();
        while found.len() < max {
            let next = self.nearest(numbers.start, Direction::Forwards)?;
            let Some(next) = next.filter(|next| next.place.enters < numbers.end) else { break };
            found.push(next);
            // A call that is left in another range ends with its own range.
            numbers.start = self.inside(Some(&next))?.end;
        }
        Ok(found)
    }

    /// The last one of them.
    fn last_outermost_in(&mut self, numbers: Range<u64>) -> Result<Option<Node>> {
        let last = self.nearest(numbers.end, Direction::Backwards)?;
        let Some(last) = last.filter(|last| last.place.enters >= numbers.start) else {
            return Ok(None);
        };
        let mut callers = self.frames(&last)?.into_iter();
        Ok(callers.find(|caller| caller.place.enters >= numbers.start).or(Some(last)))
    }

    /// The shown calls of some methods, if there are shapes.
    #[must_use]
    pub fn calls_of(&self, is_wanted: impl Fn(MethodId) -> bool) -> Option<SelectedCalls> {
        let dag = self.whole.shapes()?;
        let is_shown = |method| self.selection.contains(method) && is_wanted(method);
        let counts = Counts::Shapes(dag.matches(is_shown));
        Some(SelectedCalls { ranges: self.calls.ranges.clone(), counts })
    }

    /// Searches the events for a shown call whose method is wanted: forwards for the first one from a number on, backwards for the
    /// last one before it. Reads at most `most` intervals of the [index](flow_codec::index::INTERVAL_BYTES).
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn search(
        &mut self,
        number: u64,
        direction: Direction,
        is_wanted: impl Fn(MethodId) -> bool,
        most: usize,
    ) -> Result<SearchStep> {
        let Some(range) = self.calls.next_range(number, direction) else {
            return Ok(SearchStep::End);
        };
        let number = match direction {
            Direction::Forwards => number.max(range.start),
            Direction::Backwards => number.min(range.end),
        };
        let is_shown = |method| self.selection.contains(method) && is_wanted(method);
        let step = self.whole.search(number, direction, is_shown, most)?;
        Ok(match step {
            // It continues in the next range.
            SearchStep::Found(node) if !range.contains(&node.place.enters) => {
                SearchStep::Reached(match direction {
                    Direction::Forwards => range.end,
                    Direction::Backwards => range.start,
                })
            }
            step => step,
        })
    }
}

impl SelectedCalls {
    fn range_of(&self, number: u64) -> Option<Range<u64>> {
        let after = self.ranges.partition_point(|range| range.end <= number);
        self.ranges.get(after).filter(|range| range.contains(&number)).cloned()
    }

    /// The first range that has a call with this number or a larger one; or the last one that has one with a smaller number.
    fn next_range(&self, number: u64, direction: Direction) -> Option<Range<u64>> {
        match direction {
            Direction::Forwards => self.ranges.iter().find(|range| range.end > number),
            Direction::Backwards => self.ranges.iter().rfind(|range| range.start < number),
        }
        .cloned()
    }

    /// How many of them have a number in a range, in the tree that they are of.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn count_in(&self, tree: &mut LazyTree, numbers: Range<u64>) -> Result<u64> {
        let mut count = 0_u64;
        let end = tree.end().enters;
        for range in &self.ranges {
            let first = numbers.start.max(range.start);
            let last = numbers.end.min(range.end).min(end);
            if first < last {
                let before = self.counts.before(tree, first)?;
                count += self.counts.before(tree, last)?.saturating_sub(before);
            }
        }
        Ok(count)
    }

    /// The first of them with this number or a larger one; or the last one with a smaller number.
    ///
    /// # Errors
    /// As those of [`LazyTree::call`].
    pub fn nearest(
        &self,
        tree: &mut LazyTree,
        mut number: u64,
        direction: Direction,
    ) -> Result<Option<Node>> {
        while let Some(range) = self.next_range(number, direction) {
            let (found, beyond) = match direction {
                Direction::Forwards => {
                    (self.counts.first_from(tree, number.max(range.start))?, range.end)
                }
                Direction::Backwards => {
                    (self.counts.last_before(tree, number.min(range.end))?, range.start)
                }
            };
            if found.is_none_or(|found| range.contains(&found.place.enters)) {
                return Ok(found);
            }
            number = beyond;
        }
        Ok(None)
    }
}

impl Counts {
    /// How many are before the call with a number.
    fn before(&self, tree: &mut LazyTree, number: u64) -> Result<u64> {
        match self {
            Self::All => Ok(number),
            Self::Shapes(matches) => Ok(tree.shapes().map_or(0, |dag| matches.before(dag, number))),
            Self::Intervals(selection, before) => tree.ask(Place::default(), |tree, _| {
                let interval = tree.index.interval_at(|place| place.enters, number);
                let mut count = before.get(interval).copied().unwrap_or(0);
                tree.each_in(interval, None, |place, record| match record {
                    Record::Enter(_) if place.enters >= number => ControlFlow::Break(()),
                    Record::Enter(method) if selection.contains(method) => {
                        count += 1;
                        ControlFlow::Continue(())
                    }
                    _ => ControlFlow::Continue(()),
                })?;
                Ok(count)
            }),
        }
    }

    fn first_from(&self, tree: &mut LazyTree, number: u64) -> Result<Option<Node>> {
        match self {
            Self::All => tree.call(number),
            Self::Shapes(matches) => {
                let found =
                    tree.shapes().and_then(|dag| matches.call(dag, matches.before(dag, number)));
                found.map_or(Ok(None), |number| tree.call(number))
            }
            Self::Intervals(selection, before) => {
                search(tree, selection, number, Direction::Forwards, |tree, reached| {
                    let interval = tree.index.interval_at(|place| place.enters, reached);
                    let counted = before.get(interval).copied()?;
                    let next = before.partition_point(|before| *before <= counted);
                    let next = tree.index.intervals().get(next.checked_sub(1)?)?;
                    Some(next.start.enters.max(reached))
                })
            }
        }
    }

    fn last_before(&self, tree: &mut LazyTree, number: u64) -> Result<Option<Node>> {
        match self {
            Self::All => {
                let last = number.min(tree.end().enters).checked_sub(1);
                last.map_or(Ok(None), |last| tree.call(last))
            }
            Self::Shapes(matches) => {
                let found = tree
                    .shapes()
                    .and_then(|dag| matches.call(dag, matches.before(dag, number).checked_sub(1)?));
                found.map_or(Ok(None), |number| tree.call(number))
            }
            Self::Intervals(selection, before) => {
                search(tree, selection, number, Direction::Backwards, |tree, reached| {
                    let interval =
                        tree.index.interval_at(|place| place.enters, reached.checked_sub(1)?);
                    let counted = before.get(interval + 1).copied()?;
                    let last = before.partition_point(|before| *before < counted);
                    Some(tree.index.end_of(last.checked_sub(1)?).enters.min(reached))
                })
            }
        }
    }
}

/// Searches the events of an interval, and then those at the number that `next` returns for the one that was reached.
fn search(
    tree: &mut LazyTree,
    selection: &Selection,
    mut number: u64,
    direction: Direction,
    next: impl Fn(&LazyTree, u64) -> Option<u64>,
) -> Result<Option<Node>> {
    loop {
        match tree.search(number, direction, |method| selection.contains(method), 1)? {
            SearchStep::Found(node) => return Ok(Some(node)),
            SearchStep::End => return Ok(None),
            SearchStep::Reached(reached) => match next(tree, reached) {
                Some(next) => number = next,
                None => return Ok(None),
            },
        }
    }
}

impl LazyTree {
    /// For each interval of the index, and its end, how many calls of selected methods are before it.
    fn count(&mut self, selection: &Selection, progress: &BytesRead) -> Result<Vec<u64>> {
        self.ask(Place::default(), |tree, _| {
            let mut before = vec![0_u64];
            let mut count = 0;
            for interval in 0..tree.index.intervals().len() {
                tree.each_in(interval, None, |_, record| {
                    count += u64::from(
                        matches!(record, Record::Enter(method) if selection.contains(method)),
                    );
                    ControlFlow::<()>::Continue(())
                })?;
                before.push(count);
                progress.set(tree.index.end_of(interval).offset.get());
            }
            Ok(before)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lazy::tests::{Thread, canonical, events};
    use super::*;
    use flow_codec::format::marks::Position;
    use flow_codec::read::{EventKind, Methods, ThreadFile};
    use flow_codec::{Glob, Offset};

    /// The offset of a call, the number of its shown callers, and which of the calls is the innermost of them.
    type Shown = (u64, usize, Option<usize>);

    /// The calls that a timeline has.
    fn shown(file: &ThreadFile, selection: &Selection) -> Vec<Shown> {
        let (mut calls, mut open) = (Vec::new(), Vec::<usize>::new());
        for event in file.timeline().unwrap().select(selection) {
            let event = event.unwrap();
            match event.kind {
                EventKind::Enter(_) => {
                    let offset = event.position.offset.get();
                    calls.push((offset, open.len(), open.last().copied()));
                    open.push(calls.len() - 1);
                }
                EventKind::Exit { count, .. } | EventKind::RangeEnd { frames: count } => {
                    let count = usize::try_from(count.get()).unwrap();
                    open.truncate(open.len().saturating_sub(count));
                }
                _ => {}
            }
        }
        calls
    }

    fn offset(node: Option<Node>) -> Option<u64> {
        node.map(|node| node.place.offset.get())
    }

    proptest! {
        #[test]
        fn the_tree_has_the_calls_of_the_timeline(
            bytes in events(),
            interval in 1_usize..40,
            borders in prop::option::of(prop::collection::btree_set(0_u64..60, 0..5)),
            selects in any::<bool>(),
            is_shaped in any::<bool>(),
        ) {
            let bytes = canonical(&bytes);
            let thread = Thread::new(&bytes);
            let mut tree = match is_shaped {
                true => thread.tree_of_shapes(),
                false => thread.tree(interval),
            };
            // Methods without names, with odd numbers.
            let globs: Vec<_> = (1..600).step_by(2).map(|id| Glob::new(&format!("?#{id}"))).collect();
            let globs = if selects { globs } else { Vec::new() };
            let selection = Selection::new(&Methods::default(), &globs, &[]);
            prop_assert_eq!(selection.contains(MethodId::new(2).unwrap()), !selects);
            let mut file = thread.file.clone();
            if let Some(borders) = borders {
                let place = |offset| tree.offset(Offset::new(offset)).unwrap();
                let places: Vec<_> = borders.into_iter().map(place).collect();
                let mut borders: Vec<_> = places.into_iter().map(|place| match place {
                    Some(place) => Position::before(place.offset),
                    None => Parts::ALL.end,
                }).collect();
                borders.dedup();
                let ranges: Vec<_> = borders.chunks_exact(2).map(|ends| ends[0]..ends[1]).collect();
                file = file.only("", &ranges);
            }
            let expected = shown(&file, &selection);
            let parts = file.parts();
            let mut tree = SelectedTree::new(tree, selection, parts, &BytesRead::default()).unwrap();

            prop_assert_eq!(tree.count_in(0..u64::MAX).unwrap(), expected.len() as u64);
            let made_by = |caller: Option<usize>| {
                let calls = expected.iter().filter(move |(.., of)| *of == caller);
                calls.map(|(offset, ..)| *offset).collect::<Vec<_>>()
            };
            let offsets = |nodes: Vec<Node>| {
                nodes.into_iter().map(|node| node.place.offset.get()).collect::<Vec<_>>()
            };
            prop_assert_eq!(offsets(tree.children(None, usize::MAX).unwrap()), made_by(None));
            prop_assert_eq!(offset(tree.last_child(None).unwrap()), made_by(None).pop());
            for (at, &(here, depth, caller)) in expected.iter().enumerate() {
                let place = tree.whole().offset(Offset::new(here)).unwrap().unwrap();
                let node = tree.whole().call(place.enters).unwrap().unwrap();
                prop_assert!(tree.has(&node));
                prop_assert_eq!(tree.depth(&node).unwrap().get(), depth as u64);
                let parent = offset(tree.parent(&node).unwrap());
                prop_assert_eq!(parent, caller.map(|caller| expected[caller].0));
                let siblings = made_by(caller);
                let next = offset(tree.next_sibling(&node, 0).unwrap());
                prop_assert_eq!(next, siblings.iter().copied().find(|sibling| *sibling > here));
                let before = offset(tree.previous_sibling(&node).unwrap());
                prop_assert_eq!(before, siblings.iter().copied().rfind(|sibling| *sibling < here));
                let children = offsets(tree.children(Some(&node), usize::MAX).unwrap());
                prop_assert_eq!(&children, &made_by(Some(at)));
                let last = offset(tree.last_child(Some(&node)).unwrap());
                prop_assert_eq!(last, children.last().copied());
                let below = expected[at + 1..].iter().take_while(|(_, below, _)| *below > depth);
                prop_assert_eq!(tree.subtree(&node).unwrap().calls, below.count() as u64 + 1);
                let run = tree.equal_calls(&node).unwrap();
                let number = run.number_of(&node).unwrap();
                let first = siblings.iter().position(|sibling| *sibling == here).unwrap()
                    - usize::try_from(number).unwrap();
                prop_assert_eq!(siblings[first], run.first.place.offset.get());
                let after = offset(tree.next_sibling(&run.first, run.count - 1).unwrap());
                let count = usize::try_from(run.count).unwrap();
                prop_assert_eq!(after, siblings.get(first + count).copied());
            }
            for number in 0..=tree.whole().end().enters {
                let node = tree.whole().call(number).unwrap();
                let end = bytes.len() as u64;
                let at = node.map_or(end, |node| node.place.offset.get());
                let after = expected.iter().map(|(offset, ..)| *offset).find(|found| *found >= at);
                let before = expected.iter().map(|(offset, ..)| *offset).rfind(|found| *found < at);
                let found = tree.nearest(number, Direction::Forwards).unwrap();
                prop_assert_eq!(offset(found), after);
                let found = tree.nearest(number, Direction::Backwards).unwrap();
                prop_assert_eq!(offset(found), before);
                let count = expected.iter().filter(|(offset, ..)| *offset < at).count() as u64;
                prop_assert_eq!(tree.count_in(0..number).unwrap(), count);
                if is_shaped {
                    continue;
                }
                for (direction, expected) in [(Direction::Forwards, after), (Direction::Backwards, before)] {
                    let mut number = number;
                    let found = loop {
                        match tree.search(number, direction, |_| true, 1).unwrap() {
                            SearchStep::Found(node) => break Some(node),
                            SearchStep::Reached(next) => number = next,
                            SearchStep::End => break None,
                        }
                    };
                    prop_assert_eq!(offset(found), expected);
                }
            }
        }
    }
}
