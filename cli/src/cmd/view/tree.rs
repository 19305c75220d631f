//! The calls of a thread as rows, of which only those on the screen exist. Each is found from its neighbour, so a caller of
//! billions of calls costs no more than one of ten.

use std::collections::{BTreeMap, BTreeSet};

use flow_codec::index::Place;
use flow_codec::{Error, MethodId};
use flow_query::ask::Overview;
use flow_query::tree::{Direction, Node, SelectedTree};

/// A line of the tree: a call, or several in a row that did the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// The place of the part that it belongs to.
    pub(super) part: usize,
    /// The place of its thread among all of them.
    pub(super) thread: usize,
    /// The first of the calls.
    pub(super) node: Node,
    /// How many they are.
    pub(super) count: u64,
    /// The calls in each of them, including itself, whether they are selected or not.
    pub(super) calls: u64,
    /// How many of these are selected.
    pub(super) selected: u64,
    /// How many of its callers are selected.
    pub(super) depth: u64,
    /// Where the last of them is left; `None` if it is still open at the end.
    pub(super) left: Option<Place>,
    pub(super) is_unfolded: bool,
    /// Whether it handed something to another thread.
    pub(super) hands_over: bool,
    /// Whether it is an outermost call of its part.
    pub(super) is_outermost: bool,
}

impl Row {
    /// The number of its first call in the thread.
    pub(super) fn number(&self) -> u64 {
        self.node.place.enters
    }

    pub(super) fn method(&self) -> MethodId {
        self.node.method
    }

    /// Returns whether there are rows for what it called.
    pub(super) fn has_callees(&self) -> bool {
        self.selected > 1 || self.hands_over
    }

    /// All selected calls that the row represents, with those below.
    pub(super) fn all_calls(&self) -> u64 {
        self.selected.saturating_mul(self.count)
    }
}

/// The selected calls of a thread, of which some are unfolded. Memory: that of the [`SelectedTree`], and a number for each
/// unfolded call.
#[derive(Debug)]
pub(super) struct CallTree {
    pub(super) selected: SelectedTree,
    /// The numbers of calls whose callees are shown because a person unfolded them.
    unfolded: BTreeSet<u64>,
    /// The number of a call that has a row of its own because a person went there, and those of its callers, whose callees
    /// are shown for that.
    alone: Option<u64>,
    revealed: BTreeSet<u64>,
    /// Whether calls in a row that did the same are one row.
    pub(super) collapses: bool,
    /// By the number of a call, what it handed over: the part that the call belongs to, and that which was handed over. Each of these calls
    /// has a row of its own.
    pub(super) handed: BTreeMap<u64, Vec<(usize, usize)>>,
    /// The place of the thread among all of them.
    thread: usize,
}

/// If a call made only one call, and that only one, at most this many are unfolded together.
const CHAIN: usize = 8;

impl CallTree {
    pub(super) fn new(selected: SelectedTree, thread: usize) -> Self {
        let (unfolded, revealed) = (BTreeSet::new(), BTreeSet::new());
        let handed = BTreeMap::new();
        Self { selected, unfolded, alone: None, revealed, collapses: true, handed, thread }
    }

    fn is_unfolded(&self, number: u64) -> bool {
        self.unfolded.contains(&number) || self.revealed.contains(&number)
    }

    /// What a call handed over, of those that belong to a part.
    pub(super) fn handed_by(
        &self,
        part: usize,
        number: u64,
    ) -> impl DoubleEndedIterator<Item = usize> {
        let handed = self.handed.get(&number).into_iter().flatten();
        handed.filter(move |(of, _)| *of == part).map(|(_, handed)| *handed)
    }

    /// The row that a call is in, of a part whose outermost calls have this depth.
    pub(super) fn row_of(&mut self, node: &Node, part: usize, base: u64) -> Result<Row, Error> {
        let run = self.selected.equal_calls(node)?;
        let number = run.number_of(node).unwrap_or(0);
        let (first, last) = match self.collapses {
            true => self.around(run.first.place.enters, run.calls, run.count, number),
            false => (number, number),
        };
        let whole = self.selected.whole();
        let mut nth = |number: u64| match number.checked_sub(1) {
            None => Ok(run.first),
            Some(skip) => {
                let found = whole.siblings_after(&run.first, skip, 1)?;
                Ok(found.first().copied().unwrap_or(*node))
            }
        };
        let (first_node, last_node) = (nth(first)?, nth(last)?);
        let number = first_node.place.enters;
        let depth = self.selected.depth(&first_node)?.get();
        Ok(Row {
            part,
            thread: self.thread,
            node: first_node,
            count: last - first + 1,
            calls: run.calls,
            selected: self.selected.subtree(&first_node)?.calls,
            depth: base.saturating_add(depth),
            left: self.selected.whole().subtree(&last_node)?.left,
            is_unfolded: first == last && self.is_unfolded(number),
            hands_over: self.handed_by(part, number).next().is_some(),
            is_outermost: depth == 0,
        })
    }

    /// Of the calls of a run, given by its first number, the calls in each and their count: those around one that are not
    /// separated from it by a call with a row of its own. Returns the numbers in the run of the first and the last.
    fn around(&self, start: u64, calls: u64, count: u64, number: u64) -> (u64, u64) {
        let end = start.saturating_add(calls.saturating_mul(count));
        let unfolded = self.unfolded.range(start..end).chain(self.revealed.range(start..end));
        let alone = self.alone.iter().filter(|alone| (start..end).contains(*alone));
        let handed = self.handed.range(start..end).map(|(number, _)| number);
        let apart = unfolded.chain(alone).chain(handed);
        let apart = apart.filter(|at| (**at - start).is_multiple_of(calls.max(1)));
        let (mut first, mut last) = (0, count - 1);
        for at in apart.map(|at| (at - start) / calls.max(1)) {
            match at.cmp(&number) {
                std::cmp::Ordering::Less => first = first.max(at + 1),
                std::cmp::Ordering::Equal => return (number, number),
                std::cmp::Ordering::Greater => last = last.min(at - 1),
            }
        }
        (first, last)
    }

    /// Shows what the first call of a row called, and if that is only one call, what that called.
    pub(super) fn unfold(&mut self, row: &Row) -> Result<(), Error> {
        let mut node = row.node;
        for _ in 0..CHAIN {
            self.unfolded.insert(node.place.enters);
            let [only] = self.selected.children(Some(&node), 2)?[..] else { break };
            if self.selected.subtree(&only)?.calls == 1 {
                break;
            }
            node = only;
        }
        Ok(())
    }

    /// Shows what is in the first call of a row, the largest calls first, in at most this many rows if its callees have no more.
    pub(super) fn unfold_largest(&mut self, row: &Row, rows: usize) -> Result<(), Error> {
        let overview = Overview { levels: u64::MAX, most: rows as u64 };
        self.fold(row);
        // It may have handed something over, and called nothing.
        self.unfolded.insert(row.number());
        self.unfolded.extend(overview.to_unfold(&mut self.selected, row.node)?);
        Ok(())
    }

    /// Hides what a call called, and forgets what was unfolded below.
    pub(super) fn fold(&mut self, row: &Row) {
        let below = row.number()..row.number().saturating_add(row.calls);
        self.unfolded.retain(|number| !below.contains(number));
        self.revealed.retain(|number| !below.contains(number));
    }

    /// Folds what was unfolded because a person went to a call.
    pub(super) fn forget_revealed(&mut self) {
        self.revealed.clear();
        self.alone = None;
    }

    /// Unfolds all callers of a call, and gives it a row of its own.
    pub(super) fn reveal(&mut self, node: &Node) -> Result<(), Error> {
        let callers = self.selected.frames(node)?;
        self.revealed.extend(callers.iter().map(|caller| caller.place.enters));
        self.alone = Some(node.place.enters);
        Ok(())
    }

    /// Unfolds a call and all its callers.
    pub(super) fn reveal_below(&mut self, node: &Node) -> Result<(), Error> {
        self.reveal(node)?;
        self.revealed.insert(node.place.enters);
        Ok(())
    }

    /// The call with a number if it is selected, or else its innermost selected caller.
    pub(super) fn shown(&mut self, number: u64) -> Result<Option<Node>, Error> {
        match self.selected.whole().call(number)? {
            Some(node) if self.selected.has(&node) => Ok(Some(node)),
            Some(node) => self.selected.parent(&node),
            None => Ok(None),
        }
    }

    /// The call at a place, or the innermost one that is open there.
    pub(super) fn call_at(&mut self, place: Place) -> Result<Option<Node>, Error> {
        let whole = self.selected.whole();
        if let Some(node) = whole.call(place.enters)?
            && node.place.offset == place.offset
        {
            return Ok(Some(node));
        }
        match place.frames.checked_sub(1) {
            Some(depth) => whole.frame_at(place, flow_codec::Depth::new(depth)),
            None => Ok(None),
        }
    }

    /// A call if it is selected; or else its innermost selected caller, or the next selected call, or the last one.
    pub(super) fn nearest(&mut self, node: &Node) -> Result<Option<Node>, Error> {
        if self.selected.has(node) {
            return Ok(Some(*node));
        }
        if let Some(caller) = self.selected.parent(node)? {
            return Ok(Some(caller));
        }
        match self.selected.nearest(node.place.enters, Direction::Forwards)? {
            Some(next) => Ok(Some(next)),
            None => self.selected.nearest(u64::MAX, Direction::Backwards),
        }
    }
}
