//! The calls that are shown: the rows on the screen, and the one that is chosen.

use std::collections::BTreeMap;

use flow_codec::read::{Selection, ThreadFile, Trace};
use flow_codec::{Error, Glob, Offset};
use flow_query::ask::{HotPath, PathEnd};
use flow_query::tree::{Direction, Node, SelectedTree};

use super::clock::{RowTimes, TimesOfRows};
use super::forest::{Forest, Revealed};
use super::tree::{CallTree, Row};
use crate::input::place::From;
use crate::output::{Format, Labels, escaped};
use flow_query::select::{file_title, thread_title};

/// This many callers of the outermost call on the screen are named.
const NAMED_CALLERS: usize = 4;

/// The calls of a thread, or of a request on several threads.
pub(super) struct Calls<'a> {
    pub(super) trace: &'a Trace,
    pub(super) forest: Forest,
    /// The open threads, by their places among all of them.
    threads: BTreeMap<usize, OfThread<'a>>,
    /// The name of the request, if one is shown.
    pub(super) request: Option<String>,
    /// A call to go to when the threads that handed it over are open, and the place of its thread.
    wanted: Option<(usize, Node)>,
    /// The place of a thread that has to be opened for that.
    needed: Option<usize>,
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

/// A thread of which calls are shown.
pub(super) struct OfThread<'a> {
    /// What of the thread is shown: all of it, or what a test called, or what belongs to a request.
    pub(super) part: &'a ThreadFile,
    /// All of the thread.
    pub(super) file: ThreadFile,
    /// The name of the thread, and of the test.
    pub(super) title: String,
    /// How many calls the thread has, and how many of these are selected.
    pub(super) all: u64,
    pub(super) count: u64,
    pub(super) clock: TimesOfRows,
}

impl<'a> OfThread<'a> {
    fn new(trace: &Trace, part: &'a ThreadFile, tree: &mut SelectedTree) -> Result<Self, Error> {
        let file = part.whole();
        Ok(Self {
            part,
            title: file_title(trace, part),
            all: tree.whole().end().enters,
            count: tree.count_in(0..u64::MAX)?,
            clock: TimesOfRows::new(&file),
            file,
        })
    }
}

impl<'a> Calls<'a> {
    /// The calls of a thread, with its place among all threads. Begins with the outermost calls. A single one is unfolded.
    pub(super) fn of_thread(
        trace: &'a Trace,
        (thread, part): (usize, &'a ThreadFile),
        mut tree: SelectedTree,
        height: usize,
    ) -> Result<Self, Error> {
        let of_thread = OfThread::new(trace, part, &mut tree)?;
        let mut calls = Self::new(trace, Forest::of_thread(thread, tree)?, height);
        calls.threads.insert(thread, of_thread);
        calls.begin()?;
        Ok(calls)
    }

    /// The calls of a request, which is named by a title. No thread is open yet.
    pub(super) fn of_request(
        trace: &'a Trace,
        forest: Forest,
        title: String,
        height: usize,
    ) -> Self {
        Self { request: Some(title), ..Self::new(trace, forest, height) }
    }

    fn new(trace: &'a Trace, forest: Forest, height: usize) -> Self {
        let own = flow_query::select::own_patterns(trace);
        let own: Vec<_> = own.iter().map(|pattern| Glob::new(pattern)).collect();
        Self {
            trace,
            forest,
            threads: BTreeMap::new(),
            request: None,
            wanted: None,
            needed: None,
            labels: Labels::new(trace.methods(), Format::Text, false),
            own: (!own.is_empty()).then(|| Selection::new(trace.methods(), &own, &[])),
            rows: Vec::new(),
            chosen: 0,
            callers: Vec::new(),
            height: height.max(1),
        }
    }

    fn begin(&mut self) -> Result<(), Error> {
        let Some(mut first) = self.forest.first()? else { return Ok(()) };
        if self.forest.after(&first)?.is_none() && first.has_callees() {
            first = self.unfold_row(&first)?;
        }
        self.show(first, 0)
    }

    /// Adds the calls of a thread to those of the request.
    pub(super) fn add(
        &mut self,
        (thread, part): (usize, &'a ThreadFile),
        mut tree: SelectedTree,
    ) -> Result<(), Error> {
        self.threads.insert(thread, OfThread::new(self.trace, part, &mut tree)?);
        self.forest.open(thread, tree)?;
        if self.needed.take().is_some()
            && let Some((thread, node)) = self.wanted.take()
        {
            return self.go_to(thread, &node);
        }
        match self.row() {
            Some(row) => self.show(row, self.chosen),
            None => self.begin(),
        }
    }

    /// The place of a thread that has rows to be shown and is not open.
    pub(super) fn missing(&self) -> Option<usize> {
        self.needed.or_else(|| self.forest.missing(&self.rows))
    }

    /// The thread of the chosen row, or the first one, and its place among all threads.
    pub(super) fn thread(&self) -> Option<(usize, &OfThread<'a>)> {
        let chosen = self.row().and_then(|row| self.threads.get_key_value(&row.thread));
        chosen.or_else(|| self.threads.first_key_value()).map(|(place, thread)| (*place, thread))
    }

    /// The thread of a row.
    pub(super) fn thread_of(&self, row: &Row) -> Option<&OfThread<'a>> {
        self.threads.get(&row.thread)
    }

    /// How the thread of an outermost row of a request is named there.
    pub(super) fn part_title(&self, row: &Row) -> Option<String> {
        self.request.as_ref()?;
        let arrow = if self.forest.given(row.part).is_some() { "⇢ " } else { "" };
        row.is_outermost.then(|| format!("{arrow}{} ", escaped(&self.thread_title(row))))
    }

    /// The thread of a row, by its id and name.
    pub(super) fn thread_title(&self, row: &Row) -> String {
        let thread = self.thread_of(row);
        thread.map_or_else(String::new, |thread| thread_title(self.trace, thread.file.id()))
    }

    /// What is known of the times of a row.
    pub(super) fn times(&self, row: &Row) -> Option<&RowTimes> {
        self.thread_of(row)?.clock.get(row)
    }

    /// The calls of the thread of the chosen row, and the thread.
    pub(super) fn here(&mut self) -> Option<(&mut CallTree, &OfThread<'a>)> {
        let (place, _) = self.thread()?;
        Some((self.forest.tree(place)?, self.threads.get(&place)?))
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
            let Some(before) = self.forest.before(&first)? else { break };
            above.push(before);
            first = before;
        }
        let mut rows: Vec<_> = above.into_iter().rev().collect();
        let mut chosen = rows.len();
        let mut last = row;
        rows.push(row);
        while rows.len() < self.height {
            let Some(after) = self.forest.after(&last)? else { break };
            rows.push(after);
            last = after;
        }
        // At the end of the thread, the screen is full, too.
        while rows.len() < self.height
            && let Some(top) = rows.first().copied()
        {
            let Some(before) = self.forest.before(&top)? else { break };
            rows.insert(0, before);
            chosen += 1;
        }
        (self.rows, self.chosen) = (rows, chosen);
        self.settle()
    }

    /// Reads what else is on the screen, after the rows have changed.
    fn settle(&mut self) -> Result<(), Error> {
        self.callers.clear();
        let mut inner = self.rows.iter().min_by_key(|row| row.depth).copied();
        while let Some(row) = inner.take() {
            if self.callers.len() == NAMED_CALLERS {
                self.callers.push("…".to_owned());
                break;
            }
            inner = self.forest.caller(&row)?;
            self.callers.extend(inner.map(|caller| self.labels.short(caller.method())));
        }
        self.callers.reverse();
        for (place, thread) in &mut self.threads {
            let Some(tree) = self.forest.tree(*place) else { continue };
            let rows = self.rows.iter().filter(|row| row.thread == *place);
            thread.clock.read(rows, &mut tree.selected)?;
        }
        Ok(())
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
        let more = if is_down { self.forest.after(&edge)? } else { self.forest.before(&edge)? };
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
        self.forest.first()?.map_or(Ok(()), |row| self.show(row, 0))
    }

    pub(super) fn go_to_last(&mut self) -> Result<(), Error> {
        self.forest.last()?.map_or(Ok(()), |row| self.show(row, self.height))
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
                let row = self.unfold_row(&row)?;
                self.show(row, self.chosen)
            }
            _ => Ok(()),
        }
    }

    /// Returns the row, which may be one of several now.
    fn unfold_row(&mut self, row: &Row) -> Result<Row, Error> {
        self.forest.tree(row.thread).map_or(Ok(()), |tree| tree.unfold(row))?;
        self.forest.again(row)
    }

    /// Shows as much of what is in the chosen call as fits on the screen, the largest calls first.
    pub(super) fn unfold_largest(&mut self) -> Result<(), Error> {
        let Some(row) = self.row().filter(Row::has_callees) else { return Ok(()) };
        let rows = self.height.saturating_sub(1);
        let row = self.forest.unfold_largest(&row, rows)?;
        self.show(row, 0)
    }

    /// Goes from the chosen call to the one in which its time was spent, and returns why the path ends there; `None` at a
    /// call without callees.
    pub(super) fn go_to_hot(&mut self) -> Result<Option<&'static str>, Error> {
        let Some(row) = self.row() else { return Ok(None) };
        let Some((tree, thread)) = self.here() else { return Ok(None) };
        let path = HotPath::of(&mut tree.selected, &thread.file, row.node)?;
        if let Some(last) = path.calls.last() {
            self.reveal(row.thread, last, path.calls.len().min(self.height.saturating_sub(2)))?;
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
            if let Some(tree) = self.forest.tree(row.thread) {
                tree.fold(&row);
            }
            let row = self.forest.again(&row)?;
            return self.show(row, self.chosen);
        }
        let caller = self.forest.caller(&row)?;
        caller.map_or(Ok(()), |caller| self.go_to_row(caller))
    }

    /// Chooses the next call of the same caller, or the one before.
    pub(super) fn go_to_sibling(&mut self, direction: Direction) -> Result<(), Error> {
        let Some(row) = self.row() else { return Ok(()) };
        let sibling = self.forest.sibling(&row, direction)?;
        sibling.map_or(Ok(()), |sibling| self.go_to_row(sibling))
    }

    /// Shows equal calls in a row one by one, or as one line.
    pub(super) fn collapse(&mut self) -> Result<(), Error> {
        self.forest.collapse();
        let Some(row) = self.row() else { return Ok(()) };
        let row = self.forest.again(&row)?;
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

    /// Unfolds the callers of a call of a thread and chooses it; if it is not selected, the nearest one that is.
    pub(super) fn go_to(&mut self, thread: usize, node: &Node) -> Result<(), Error> {
        let Some(tree) = self.forest.tree(thread) else { return Ok(()) };
        let Some(node) = tree.nearest(node)? else { return Ok(()) };
        self.reveal(thread, &node, self.height / 3)
    }

    /// Goes to a call of the thread of the chosen row.
    pub(super) fn go_to_here(&mut self, node: &Node) -> Result<(), Error> {
        self.thread().map(|(thread, _)| thread).map_or(Ok(()), |thread| self.go_to(thread, node))
    }

    /// Unfolds the callers of a call of a thread, and chooses it, in this line of the screen if possible.
    fn reveal(&mut self, thread: usize, node: &Node, line: usize) -> Result<(), Error> {
        match self.forest.reveal(thread, node)? {
            Some(Revealed::Row(row)) => self.show(row, line),
            Some(Revealed::Needs(needed)) => {
                (self.wanted, self.needed) = (Some((thread, *node)), Some(needed));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Goes to the call of a thread with a number. Returns whether there is one.
    fn go_to_number(&mut self, thread: usize, number: u64) -> Result<bool, Error> {
        let Some(tree) = self.forest.tree(thread) else { return Ok(false) };
        let node = tree.selected.whole().call(number)?;
        node.map_or(Ok(false), |node| self.go_to(thread, &node).map(|()| true))
    }

    /// Goes to the first call of the thread at an offset or after it, or to the one that is open there.
    pub(super) fn go_to_offset(&mut self, offset: Offset) -> Result<bool, Error> {
        let Some((thread, _)) = self.thread() else { return Ok(false) };
        let Some(tree) = self.forest.tree(thread) else { return Ok(false) };
        let place = tree.selected.whole().offset(offset)?;
        let node = place.map(|place| tree.call_at(place)).transpose()?.flatten();
        node.map_or(Ok(false), |node| self.go_to(thread, &node).map(|()| true))
    }

    /// Goes to a position. Returns whether the thread has it.
    pub(super) fn go_to_position(&mut self, position: &From) -> Result<bool, Error> {
        let Some((place, thread)) = self.thread() else { return Ok(false) };
        match position {
            From::Call(number) => self.go_to_number(place, *number),
            From::CallIn(number, thread) => {
                let of = self.threads.iter().find(|(_, of)| of.file.id() == *thread);
                let place = of.map(|(place, _)| *place);
                place.map_or(Ok(false), |place| self.go_to_number(place, *number))
            }
            From::Offset(offset) => self.go_to_offset(Offset::new(*offset)),
            From::Time(at_ns) => match thread.file.offset_at(*at_ns)? {
                Some(offset) => self.go_to_offset(offset),
                None => Ok(false),
            },
            From::Event(number) => {
                let Some(tree) = self.forest.tree(place) else { return Ok(false) };
                let place = tree.selected.whole().event(*number)?;
                place.map_or(Ok(false), |place| self.go_to_offset(place.offset))
            }
            From::Path(_) => Ok(false),
        }
    }

    /// Goes to a part of the events between the first and the last selected call, in percent.
    pub(super) fn go_to_percent(&mut self, percent: u64) -> Result<bool, Error> {
        let Some((tree, _)) = self.here() else { return Ok(false) };
        let mut edge = |number, direction| tree.selected.nearest(number, direction);
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
