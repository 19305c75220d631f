//! The calls of several threads as one tree: below a call is what it handed to other threads, and then what it called.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use flow_codec::read::Parts;
use flow_codec::{Error, ThreadId};
use flow_query::open::{GivenBy, Request};
use flow_query::tree::{Direction, Node, SelectedTree};

use super::tree::{CallTree, Row};

/// Parts of threads as rows. The threads are opened one by one, when rows of them are to be shown.
#[derive(Debug)]
pub(super) struct Forest {
    threads: BTreeMap<usize, CallTree>,
    parts: Vec<Part>,
}

/// Calls of a thread that belong together.
#[derive(Debug)]
struct Part {
    /// The place of its thread among all of them.
    thread: usize,
    /// The ranges of the thread; `None` for all of it.
    ranges: Option<Parts>,
    /// The numbers of its calls, if its thread is open.
    numbers: Vec<Range<u64>>,
    /// The call that handed it over, and the place of its thread.
    given: Option<(GivenBy, usize)>,
    /// This call, or its innermost shown caller, and its part; `None` until its thread is open, or if none is shown.
    giver: Option<(usize, Node)>,
}

/// A row, or the place of a thread that has to be opened first.
pub(super) enum Revealed {
    Row(Row),
    Needs(usize),
}

impl Forest {
    /// The selected calls of a thread.
    pub(super) fn of_thread(thread: usize, tree: SelectedTree) -> Result<Self, Error> {
        let part = Part { thread, ranges: None, numbers: Vec::new(), given: None, giver: None };
        let mut forest = Self { threads: BTreeMap::new(), parts: vec![part] };
        forest.open(thread, tree)?;
        Ok(forest)
    }

    /// The parts of a request, no thread of which is open yet. `place_of` finds the place of a thread.
    pub(super) fn of_request(
        request: &Request,
        place_of: impl Fn(ThreadId) -> Option<usize>,
    ) -> Self {
        let parts = request.parts().iter().filter_map(|part| {
            let file = part.file();
            let given = match part.given() {
                Some(given) => Some((*given, place_of(given.call.thread())?)),
                None => None,
            };
            let (thread, ranges) = (place_of(file.id())?, file.parts().cloned());
            Some(Part { thread, ranges, numbers: Vec::new(), given, giver: None })
        });
        Self { threads: BTreeMap::new(), parts: parts.collect() }
    }

    /// How many parts of threads there are.
    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Whether a thread is open.
    pub(super) fn is_open(&self, thread: usize) -> bool {
        self.threads.contains_key(&thread)
    }

    /// The calls of a thread, if it is open.
    pub(super) fn tree(&mut self, thread: usize) -> Option<&mut CallTree> {
        self.threads.get_mut(&thread)
    }

    /// The call that handed over the part of a row.
    pub(super) fn given(&self, part: usize) -> Option<&GivenBy> {
        self.parts.get(part)?.given.as_ref().map(|(given, _)| given)
    }

    /// Adds the selected calls of a thread.
    pub(super) fn open(&mut self, thread: usize, tree: SelectedTree) -> Result<(), Error> {
        let mut tree = CallTree::new(tree, thread);
        for part in self.parts.iter_mut().filter(|part| part.thread == thread) {
            part.numbers = match &part.ranges {
                Some(ranges) => tree.selected.numbers_in(ranges)?,
                None => std::iter::once(0..u64::MAX).collect(),
            };
        }
        for handed in 0..self.parts.len() {
            let Some((given, place)) = self.parts.get(handed).and_then(|part| part.given) else {
                continue;
            };
            if place != thread {
                continue;
            }
            let number = given.call.number();
            let Some(of) = self.part_of(thread, number) else { continue };
            let Some(giver) = tree.shown(number)? else { continue };
            tree.handed.entry(giver.place.enters).or_default().push((of, handed));
            if let Some(part) = self.parts.get_mut(handed) {
                part.giver = Some((of, giver));
            }
        }
        self.threads.insert(thread, tree);
        Ok(())
    }

    /// The first part of a thread that has a call.
    fn part_of(&self, thread: usize, number: u64) -> Option<usize> {
        let has = |part: &Part| {
            part.thread == thread && part.numbers.iter().any(|range| range.contains(&number))
        };
        self.parts.iter().position(has)
    }

    /// The thread whose first part comes after that of a thread, or the one before.
    pub(super) fn thread_beside(&self, thread: usize, direction: Direction) -> Option<usize> {
        let mut seen = HashSet::new();
        let all = self.parts.iter().map(|part| part.thread).filter(|of| seen.insert(*of));
        let all: Vec<_> = all.collect();
        let at = all.iter().position(|of| *of == thread)?;
        let beside = match direction {
            Direction::Forwards => at.checked_add(1)?,
            Direction::Backwards => at.checked_sub(1)?,
        };
        all.get(beside).copied()
    }

    /// Shows what is in a call, the largest calls first, and what they handed over, in at most this many rows if its callees have no
    /// more.
    pub(super) fn unfold_largest(&mut self, row: &Row, rows: usize) -> Result<Row, Error> {
        if let Some(tree) = self.tree(row.thread) {
            tree.unfold_largest(row, rows)?;
        }
        let first = self.again(row)?;
        let mut last = first;
        for left in (0..rows).rev() {
            let next = self.after(&last)?.filter(|next| next.depth > first.depth);
            let Some(next) = next else { break };
            let is_link = next.hands_over || next.is_outermost;
            if is_link
                && next.has_callees()
                && !next.is_unfolded
                && let Some(tree) = self.tree(next.thread)
            {
                tree.unfold_largest(&next, left)?;
            }
            last = self.again(&next)?;
        }
        Ok(first)
    }

    /// Shows equal calls in a row one by one, or as one line.
    pub(super) fn collapse(&mut self) {
        self.threads.values_mut().for_each(|tree| tree.collapses ^= true);
    }

    /// A thread that is not open, and has outermost rows, or rows below one of these.
    pub(super) fn missing(&self, rows: &[Row]) -> Option<usize> {
        let own = self.parts.iter().filter(|part| part.given.is_none()).map(|part| part.thread);
        let below = rows.iter().filter(|row| row.is_unfolded).flat_map(|row| {
            let tree = self.threads.get(&row.thread);
            let handed = tree.into_iter().flat_map(|tree| tree.handed_by(row.part, row.number()));
            handed.filter_map(|part| Some(self.parts.get(part)?.thread))
        });
        own.chain(below).find(|thread| !self.is_open(*thread))
    }

    /// The row that a call of a part is in.
    pub(super) fn row_of(&mut self, part: usize, node: &Node) -> Result<Option<Row>, Error> {
        let mut base = 0_u64;
        let mut of = part;
        // Each part was handed over by one before it.
        while let Some((giver_part, giver)) = self.parts.get(of).and_then(|part| part.giver) {
            let tree = self.tree_of(giver_part);
            base += tree.map_or(Ok(0), |tree| tree.selected.depth(&giver).map(|d| d.get()))? + 1;
            of = giver_part;
        }
        self.tree_of(part).map(|tree| tree.row_of(node, part, base)).transpose()
    }

    fn tree_of(&mut self, part: usize) -> Option<&mut CallTree> {
        let thread = self.parts.get(part)?.thread;
        self.threads.get_mut(&thread)
    }

    /// The outermost call of a part after all calls before a number, or the one before the call with this number.
    fn outermost(
        &mut self,
        part: usize,
        number: u64,
        direction: Direction,
    ) -> Result<Option<(usize, Node)>, Error> {
        let Some(Part { thread, numbers, .. }) = self.parts.get(part) else { return Ok(None) };
        let Some(tree) = self.threads.get_mut(thread) else { return Ok(None) };
        let mut rest = numbers.iter().filter_map(|range| {
            let rest = match direction {
                Direction::Forwards => range.start.max(number)..range.end,
                Direction::Backwards => range.start..range.end.min(number),
            };
            (rest.start < rest.end).then_some(rest)
        });
        let mut next = || match direction {
            Direction::Forwards => rest.next(),
            Direction::Backwards => rest.next_back(),
        };
        while let Some(rest) = next() {
            if let Some(node) = tree.selected.outermost(rest, direction)? {
                return Ok(Some((part, node)));
            }
        }
        Ok(None)
    }

    /// The first outermost call of some parts, or the last one.
    fn edge(
        &mut self,
        parts: &[usize],
        direction: Direction,
    ) -> Result<Option<(usize, Node)>, Error> {
        for at in 0..parts.len() {
            let (at, number) = match direction {
                Direction::Forwards => (at, 0),
                Direction::Backwards => (parts.len() - 1 - at, u64::MAX),
            };
            let Some(part) = parts.get(at) else { continue };
            if let Some(found) = self.outermost(*part, number, direction)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The outermost call after all calls before a number, or the one before the call with this number: of a part, or of the
    /// parts after or before it that the same call handed over, or, like it, none.
    fn beside(
        &mut self,
        part: usize,
        number: u64,
        direction: Direction,
    ) -> Result<Option<(usize, Node)>, Error> {
        if let Some(found) = self.outermost(part, number, direction)? {
            return Ok(Some(found));
        }
        let all = match self.parts.get(part).and_then(|part| part.giver) {
            Some((giver_part, giver)) => self.handed_by(giver_part, &giver),
            None => self.own(),
        };
        let at = all.iter().position(|other| *other == part).unwrap_or(0);
        let others = match direction {
            Direction::Forwards => all.get(at + 1..),
            Direction::Backwards => all.get(..at),
        };
        self.edge(others.unwrap_or_default(), direction)
    }

    fn own(&self) -> Vec<usize> {
        let own = self.parts.iter().enumerate().filter(|(_, part)| part.given.is_none());
        own.map(|(at, _)| at).collect()
    }

    /// What a call of a part handed over.
    fn handed_by(&self, part: usize, node: &Node) -> Vec<usize> {
        let tree = self.parts.get(part).and_then(|part| self.threads.get(&part.thread));
        let handed = tree.into_iter().flat_map(|tree| tree.handed_by(part, node.place.enters));
        handed.collect()
    }

    fn row(&mut self, found: Option<(usize, Node)>) -> Result<Option<Row>, Error> {
        found.map_or(Ok(None), |(part, node)| self.row_of(part, &node))
    }

    pub(super) fn first(&mut self) -> Result<Option<Row>, Error> {
        let first = self.edge(&self.own(), Direction::Forwards)?;
        self.row(first)
    }

    pub(super) fn last(&mut self) -> Result<Option<Row>, Error> {
        let last = self.edge(&self.own(), Direction::Backwards)?;
        self.last_below(last)
    }

    /// The next row.
    pub(super) fn after(&mut self, row: &Row) -> Result<Option<Row>, Error> {
        let (mut part, mut node, mut skip) = (row.part, row.node, row.count - 1);
        if row.is_unfolded {
            let handed = self.handed_by(part, &node);
            let first = match self.edge(&handed, Direction::Forwards)? {
                None => self.first_callee(part, &node)?,
                found => found,
            };
            if let Some(row) = self.row(first)? {
                return Ok(Some(row));
            }
        }
        loop {
            let Some(tree) = self.tree_of(part) else { return Ok(None) };
            if let Some(caller) = tree.selected.parent(&node)? {
                if let Some(next) = tree.selected.next_sibling(&node, skip)? {
                    return self.row_of(part, &next);
                }
                (node, skip) = (caller, 0);
                continue;
            }
            let calls = tree.selected.whole().subtree(&node)?.calls;
            let end = node.place.enters.saturating_add(calls.saturating_mul(skip + 1));
            let giver = self.parts.get(part).and_then(|part| part.giver);
            let next = match (self.beside(part, end, Direction::Forwards)?, giver) {
                (None, Some((giver_part, giver))) => self.first_callee(giver_part, &giver)?,
                (next, _) => next,
            };
            if let Some(row) = self.row(next)? {
                return Ok(Some(row));
            }
            let Some(giver) = giver else { return Ok(None) };
            (part, node, skip) = (giver.0, giver.1, 0);
        }
    }

    fn first_callee(&mut self, part: usize, node: &Node) -> Result<Option<(usize, Node)>, Error> {
        let Some(tree) = self.tree_of(part) else { return Ok(None) };
        Ok(tree.selected.children(Some(node), 1)?.first().map(|first| (part, *first)))
    }

    /// The row before.
    pub(super) fn before(&mut self, row: &Row) -> Result<Option<Row>, Error> {
        let Some(tree) = self.tree_of(row.part) else { return Ok(None) };
        let Some(caller) = tree.selected.parent(&row.node)? else {
            return match self.beside(row.part, row.number(), Direction::Backwards)? {
                None => self.caller(row),
                before => self.last_below(before),
            };
        };
        if let Some(node) = tree.selected.previous_sibling(&row.node)? {
            return self.last_below(Some((row.part, node)));
        }
        let handed = self.handed_by(row.part, &caller);
        match self.edge(&handed, Direction::Backwards)? {
            None => self.row_of(row.part, &caller),
            last => self.last_below(last),
        }
    }

    /// The row of the caller, or of the call that handed it over.
    pub(super) fn caller(&mut self, row: &Row) -> Result<Option<Row>, Error> {
        let Some(tree) = self.tree_of(row.part) else { return Ok(None) };
        let caller = match tree.selected.parent(&row.node)? {
            Some(caller) => Some((row.part, caller)),
            None => self.parts.get(row.part).and_then(|part| part.giver),
        };
        self.row(caller)
    }

    /// The next row with the same caller, or the one before.
    pub(super) fn sibling(
        &mut self,
        row: &Row,
        direction: Direction,
    ) -> Result<Option<Row>, Error> {
        let Some(tree) = self.tree_of(row.part) else { return Ok(None) };
        if tree.selected.parent(&row.node)?.is_some() {
            let found = match direction {
                Direction::Forwards => tree.selected.next_sibling(&row.node, row.count - 1)?,
                Direction::Backwards => tree.selected.previous_sibling(&row.node)?,
            };
            return self.row(found.map(|node| (row.part, node)));
        }
        let number = match direction {
            Direction::Forwards => row.number().saturating_add(row.calls.saturating_mul(row.count)),
            Direction::Backwards => row.number(),
        };
        let found = self.beside(row.part, number, direction)?;
        self.row(found)
    }

    /// The last row of a call and what is unfolded below it.
    fn last_below(&mut self, found: Option<(usize, Node)>) -> Result<Option<Row>, Error> {
        let Some(mut row) = self.row(found)? else { return Ok(None) };
        while row.is_unfolded {
            let Some(tree) = self.tree_of(row.part) else { break };
            let last = match tree.selected.last_child(Some(&row.node))? {
                Some(node) => Some((row.part, node)),
                None => {
                    let handed = self.handed_by(row.part, &row.node);
                    self.edge(&handed, Direction::Backwards)?
                }
            };
            let Some(last) = self.row(last)? else { break };
            row = last;
        }
        Ok(Some(row))
    }

    /// The row again, after some were unfolded or folded.
    pub(super) fn again(&mut self, row: &Row) -> Result<Row, Error> {
        Ok(self.row_of(row.part, &row.node)?.unwrap_or(*row))
    }

    /// Unfolds all callers of a call, and what handed its part over, and gives it a row of its own. `None` if no part has the call.
    pub(super) fn reveal(&mut self, thread: usize, node: &Node) -> Result<Option<Revealed>, Error> {
        let Some(part) = self.part_of(thread, node.place.enters) else { return Ok(None) };
        let mut givers = Vec::new();
        let mut of = part;
        while let Some(Part { given: Some((_, thread)), giver, .. }) = self.parts.get(of) {
            if !self.is_open(*thread) {
                return Ok(Some(Revealed::Needs(*thread)));
            }
            let Some(giver) = *giver else { return Ok(None) };
            givers.push(giver);
            of = giver.0;
        }
        self.threads.values_mut().for_each(CallTree::forget_revealed);
        for (part, giver) in givers {
            self.tree_of(part).map_or(Ok(()), |tree| tree.reveal_below(&giver))?;
        }
        self.tree_of(part).map_or(Ok(()), |tree| tree.reveal(node))?;
        Ok(self.row_of(part, node)?.map(Revealed::Row))
    }
}
