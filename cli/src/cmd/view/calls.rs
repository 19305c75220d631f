//! The calls of an open thread: the rows on the screen, and the one that is chosen.

use flow_codec::read::{Selection, ThreadFile, Trace};
use flow_codec::{Error, Glob, Offset};
use flow_query::ask::{HotPath, PathEnd};
use flow_query::tree::{Direction, Node, SelectedTree};

use super::clock::TimesOfRows;
use super::tree::{CallTree, Row};
use crate::input::place::From;
use crate::output::{Format, Labels};
use flow_query::select::file_title;

/// This many callers of the outermost call on the screen are named.
const NAMED_CALLERS: usize = 4;

/// A thread whose calls are shown.
pub(super) struct Calls<'a> {
    pub(super) trace: &'a Trace,
    /// What of the thread is shown: all of it, or what a test called.
    pub(super) part: &'a ThreadFile,
    /// All of the thread.
    pub(super) file: ThreadFile,
    /// The name of the thread, and of the test.
    pub(super) title: String,
    /// How many calls the thread has, and how many of these are selected.
    pub(super) all: u64,
    pub(super) count: u64,
    pub(super) tree: CallTree,
    pub(super) clock: TimesOfRows,
    pub(super) labels: Labels<'a>,
    /// The methods of the application, if these are known.
    pub(super) own: Option<Selection>,
    /// What is on the screen.
    pub(super) rows: Vec<Row>,
    pub(super) chosen: usize,
    /// The callers of the outermost call on the screen, if there are any: the last ones.
    pub(super) callers: Vec<String>,
    /// How many rows fit.
    height: usize,
}

impl<'a> Calls<'a> {
    /// Begins with the outermost calls. A single one is unfolded.
    pub(super) fn new(
        trace: &'a Trace,
        part: &'a ThreadFile,
        mut tree: SelectedTree,
        height: usize,
    ) -> Result<Self, Error> {
        let own = flow_query::select::own_patterns(trace);
        let own: Vec<_> = own.iter().map(|pattern| Glob::new(pattern)).collect();
        let file = part.whole();
        let mut calls = Self {
            trace,
            part,
            title: file_title(trace, part),
            all: tree.whole().end().enters,
            count: tree.count_in(0..u64::MAX)?,
            tree: CallTree::new(tree),
            clock: TimesOfRows::new(&file),
            file,
            labels: Labels::new(trace.methods(), Format::Text, false),
            own: (!own.is_empty()).then(|| Selection::new(trace.methods(), &own, &[])),
            rows: Vec::new(),
            chosen: 0,
            callers: Vec::new(),
            height: height.max(1),
        };
        if let Some(mut first) = calls.tree.first()? {
            if calls.tree.after(&first)?.is_none() {
                first = calls.tree.unfold(&first)?;
            }
            calls.show(first, 0)?;
        }
        Ok(calls)
    }

    /// The chosen row.
    pub(super) fn row(&self) -> Option<Row> {
        self.rows.get(self.chosen).copied()
    }

    /// Fills the screen around a row, which is in this line of it if possible, and chooses it.
    pub(super) fn show(&mut self, row: Row, line: usize) -> Result<(), Error> {
        let mut above = Vec::new();
        let mut first = row;
        while above.len() < line.min(self.height - 1) {
            let Some(before) = self.tree.before(&first)? else { break };
            above.push(before);
            first = before;
        }
        let mut rows: Vec<_> = above.into_iter().rev().collect();
        let mut chosen = rows.len();
        let mut last = row;
        rows.push(row);
        while rows.len() < self.height {
            let Some(after) = self.tree.after(&last)? else { break };
            rows.push(after);
            last = after;
        }
        // At the end of the thread, the screen is full, too.
        while rows.len() < self.height
            && let Some(top) = rows.first().copied()
        {
            let Some(before) = self.tree.before(&top)? else { break };
            rows.insert(0, before);
            chosen += 1;
        }
        (self.rows, self.chosen) = (rows, chosen);
        self.settle()
    }

    /// Reads what else is on the screen, after the rows have changed.
    fn settle(&mut self) -> Result<(), Error> {
        self.callers.clear();
        let outermost = self.rows.iter().min_by_key(|row| row.depth);
        let mut inner = outermost.map(|row| row.node);
        while let Some(node) = inner.take() {
            if self.callers.len() == NAMED_CALLERS {
                self.callers.push("…".to_owned());
                break;
            }
            inner = self.tree.selected.parent(&node)?;
            self.callers.extend(inner.map(|caller| self.labels.short(caller.method)));
        }
        self.callers.reverse();
        self.clock.read(&self.rows, &mut self.tree.selected)
    }

    /// From now on, this many rows fit.
    pub(super) fn resize(&mut self, height: usize) -> Result<(), Error> {
        let height = height.max(1);
        if std::mem::replace(&mut self.height, height) == height {
            return Ok(());
        }
        self.row().map_or(Ok(()), |row| self.show(row, self.chosen))
    }

    /// Chooses a row further down, or up.
    pub(super) fn move_by(&mut self, rows: isize) -> Result<(), Error> {
        for _ in 0..rows.unsigned_abs() {
            let edge = if rows > 0 { self.rows.len().saturating_sub(1) } else { 0 };
            if self.chosen == edge && !self.shift(rows > 0)? {
                break;
            }
            self.chosen = match rows > 0 {
                true => (self.chosen + 1).min(self.rows.len().saturating_sub(1)),
                false => self.chosen.saturating_sub(1),
            };
        }
        self.settle()
    }

    /// Moves the rows, and keeps the chosen one as long as it is on the screen.
    pub(super) fn scroll_by(&mut self, rows: isize) -> Result<(), Error> {
        for _ in 0..rows.unsigned_abs() {
            if !self.shift(rows > 0)? {
                break;
            }
        }
        self.settle()
    }

    /// Moves all rows by one. Returns whether there was one more.
    fn shift(&mut self, is_down: bool) -> Result<bool, Error> {
        let edge = if is_down { self.rows.last() } else { self.rows.first() };
        let Some(edge) = edge.copied() else { return Ok(false) };
        let more = if is_down { self.tree.after(&edge)? } else { self.tree.before(&edge)? };
        let Some(more) = more else { return Ok(false) };
        if is_down {
            self.rows.push(more);
            if self.rows.len() > self.height {
                self.rows.remove(0);
                self.chosen = self.chosen.saturating_sub(1);
            }
        } else {
            self.rows.insert(0, more);
            self.rows.truncate(self.height);
            self.chosen = (self.chosen + 1).min(self.rows.len() - 1);
        }
        Ok(true)
    }

    /// Chooses the row in a line of the screen. Returns whether it was chosen already.
    pub(super) fn choose(&mut self, line: usize) -> bool {
        let was_chosen = self.chosen == line;
        self.chosen = line.min(self.rows.len().saturating_sub(1));
        was_chosen
    }

    pub(super) fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(isize::MAX)
    }

    pub(super) fn go_to_first(&mut self) -> Result<(), Error> {
        self.tree.first()?.map_or(Ok(()), |row| self.show(row, 0))
    }

    pub(super) fn go_to_last(&mut self) -> Result<(), Error> {
        self.tree.last()?.map_or(Ok(()), |row| self.show(row, self.height))
    }

    /// Shows what the chosen call called, or hides it.
    pub(super) fn toggle(&mut self) -> Result<(), Error> {
        match self.row() {
            Some(row) if row.is_unfolded => self.fold(),
            _ => self.unfold(),
        }
    }

    /// Shows what the chosen call called; if that is shown, chooses the first of these calls.
    pub(super) fn unfold(&mut self) -> Result<(), Error> {
        match self.row() {
            Some(row) if row.is_unfolded => self.move_by(1),
            Some(row) if row.has_callees() => {
                let row = self.tree.unfold(&row)?;
                self.show(row, self.chosen)
            }
            _ => Ok(()),
        }
    }

    /// Shows as much of what is in the chosen call as fits on the screen, the largest calls first.
    pub(super) fn unfold_largest(&mut self) -> Result<(), Error> {
        let Some(row) = self.row().filter(Row::has_callees) else { return Ok(()) };
        let row = self.tree.unfold_largest(&row, self.height.saturating_sub(1))?;
        self.show(row, 0)
    }

    /// Goes from the chosen call to the one in which its time was spent, and returns why the path ends there; `None` at a
    /// call without callees.
    pub(super) fn go_to_hot(&mut self) -> Result<Option<&'static str>, Error> {
        let Some(row) = self.row() else { return Ok(None) };
        let path = HotPath::of(&mut self.tree.selected, &self.file, row.node)?;
        if let Some(last) = path.calls.last() {
            let row = self.tree.reveal(last)?;
            self.show(row, path.calls.len().min(self.height.saturating_sub(2)))?;
        }
        Ok(match path.end {
            PathEnd::Leaf => None,
            PathEnd::Spread => Some("the path ends here: no callee took half of this call"),
            PathEnd::TooMany => {
                Some("the path ends here: this call has too many callees to compare")
            }
        })
    }

    /// Hides what the chosen call called; if that is hidden, chooses its caller.
    pub(super) fn fold(&mut self) -> Result<(), Error> {
        let Some(row) = self.row() else { return Ok(()) };
        if row.is_unfolded {
            let row = self.tree.fold(&row)?;
            return self.show(row, self.chosen);
        }
        let caller = self.tree.caller(&row)?;
        caller.map_or(Ok(()), |caller| self.go_to_row(caller))
    }

    /// Chooses the next call of the same caller, or the one before.
    pub(super) fn go_to_sibling(&mut self, direction: Direction) -> Result<(), Error> {
        let Some(row) = self.row() else { return Ok(()) };
        let sibling = self.tree.sibling(&row, direction)?;
        sibling.map_or(Ok(()), |sibling| self.go_to_row(sibling))
    }

    /// Shows equal calls in a row one by one, or as one line.
    pub(super) fn collapse(&mut self) -> Result<(), Error> {
        self.tree.collapses ^= true;
        let Some(row) = self.row() else { return Ok(()) };
        let row = self.tree.row_of(&row.node)?;
        self.show(row, self.chosen)
    }

    /// Chooses a row, on the screen as it is if the row is on it.
    fn go_to_row(&mut self, row: Row) -> Result<(), Error> {
        match self.rows.iter().position(|shown| *shown == row) {
            Some(line) => {
                self.chosen = line;
                Ok(())
            }
            None => self.show(row, self.height / 3),
        }
    }

    /// Unfolds the callers of a call and chooses it; if it is not selected, the nearest one that is.
    pub(super) fn go_to(&mut self, node: &Node) -> Result<(), Error> {
        let Some(node) = self.tree.nearest(node)? else { return Ok(()) };
        let row = self.tree.reveal(&node)?;
        self.show(row, self.height / 3)
    }

    /// Goes to the call with a number. Returns whether there is one.
    pub(super) fn go_to_number(&mut self, number: u64) -> Result<bool, Error> {
        let node = self.tree.selected.whole().call(number)?;
        node.map_or(Ok(false), |node| self.go_to(&node).map(|()| true))
    }

    /// Goes to the first call at an offset or after it, or to the one that is open there.
    pub(super) fn go_to_offset(&mut self, offset: Offset) -> Result<bool, Error> {
        let place = self.tree.selected.whole().offset(offset)?;
        let node = place.map(|place| self.tree.call_at(place)).transpose()?.flatten();
        node.map_or(Ok(false), |node| self.go_to(&node).map(|()| true))
    }

    /// Goes to a position. Returns whether the thread has it.
    pub(super) fn go_to_position(&mut self, position: &From) -> Result<bool, Error> {
        match position {
            From::Call(number) => self.go_to_number(*number),
            From::CallIn(number, thread) if *thread == self.file.id() => self.go_to_number(*number),
            From::CallIn(..) => Ok(false),
            From::Offset(offset) => self.go_to_offset(Offset::new(*offset)),
            From::Time(at_ns) => match self.file.offset_at(*at_ns)? {
                Some(offset) => self.go_to_offset(offset),
                None => Ok(false),
            },
            From::Event(number) => {
                let place = self.tree.selected.whole().event(*number)?;
                place.map_or(Ok(false), |place| self.go_to_offset(place.offset))
            }
            From::Path(_) => Ok(false),
        }
    }

    /// Goes to a part of the events between the first and the last selected call, in percent.
    pub(super) fn go_to_percent(&mut self, percent: u64) -> Result<bool, Error> {
        let mut edge = |number, direction| self.tree.selected.nearest(number, direction);
        let first = edge(0, Direction::Forwards)?;
        let last = edge(u64::MAX, Direction::Backwards)?;
        let Some((first, last)) = first.zip(last) else { return Ok(false) };
        if percent >= 100 {
            return self.go_to_last().map(|()| true);
        }
        let (first, last) = (first.place.offset.get(), last.place.offset.get());
        let after = u128::from(last.saturating_sub(first)) * u128::from(percent) / 100;
        let after = u64::try_from(after).unwrap_or(u64::MAX);
        self.go_to_offset(Offset::new(first.saturating_add(after)))
    }
}
