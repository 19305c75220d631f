//! Callers and callees of a method in a thread.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use flow_codec::read::{Events, ReadRecords, Selection, ShownFrames, ThreadFile, Visit};
use flow_codec::{Error, MethodId, Offset};
use flow_query::analysis::{AddShapes, EdgeRow, Edges, Side};
use flow_query::dag::Dag;
use flow_query::tree::SelectedTree;

use super::list::{List, ListRow, Target};
use crate::output::{Labels, escaped, grouped};

/// For how long events are read before the screen and keys have their turn.
const TURN: Duration = Duration::from_millis(30);

type OfMethod = Edges<Box<dyn FnMut(MethodId) -> bool>>;

/// The edges of the call graph at a method, while events are added up.
pub(super) struct Neighbours {
    method: MethodId,
    callers: OfMethod,
    callees: OfMethod,
    selection: Selection,
    /// The open frames, as far as the events were read.
    frames: ShownFrames,
    /// `None` if all is added up.
    events: Option<Events>,
}

impl Neighbours {
    /// Adds up selected calls of a thread: from its shapes, or by beginning with its events.
    pub(super) fn new(
        method: MethodId,
        file: &ThreadFile,
        tree: &mut SelectedTree,
    ) -> Result<Self, Error> {
        let edges = |side| -> OfMethod { Edges::new(side, Box::new(move |id| id == method)) };
        let mut this = Self {
            method,
            callers: edges(Side::Callers),
            callees: edges(Side::Callees),
            selection: tree.selection().clone(),
            frames: ShownFrames::default(),
            events: None,
        };
        let mut add = |dag: &Dag| {
            this.callers.add_shapes(dag, &this.selection)
                && this.callees.add_shapes(dag, &this.selection)
        };
        let is_added = tree.whole().shapes().is_some_and(|dag| match file.parts() {
            None => add(dag),
            Some(parts) => dag.only(parts.ranges()).is_some_and(|dag| add(&dag)),
        });
        if !is_added {
            (this.callers, this.callees) = (edges(Side::Callers), edges(Side::Callees));
            this.events = Some(file.events()?);
        }
        Ok(this)
    }

    /// How far the events were read.
    pub(super) fn position(&self) -> Option<Offset> {
        self.events.as_ref().map(|events| events.position())
    }

    /// Reads events for a while. Returns whether all are added up.
    pub(super) fn step(&mut self) -> Result<bool, Error> {
        let begun = Instant::now();
        let Self { callers, callees, selection, frames, events, .. } = self;
        let mut selected = Selected { both: (callers, callees), selection, frames };
        while let Some(reading) = events {
            match reading.visit_some(&mut selected) {
                Ok(true) => {}
                Ok(false) => *events = None,
                Err(error @ Error::Io { .. }) => return Err(error),
                // Damage is skipped, as in the tree.
                Err(_) => {}
            }
            if begun.elapsed() >= TURN {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The callers, and below them the callees; those with the most calls first.
    pub(super) fn list(&mut self, labels: &mut Labels<'_>) -> List {
        self.callers.end_thread();
        self.callees.end_thread();
        let name = labels.get(self.method).to_owned();
        let mut list = List {
            header: format!("{:>14}  {:>14}  {name}", "calls", "total"),
            before_name: 32,
            ..List::default()
        };
        for (title, rows) in [("callers", self.callers.rows()), ("callees", self.callees.rows())] {
            list.rows.push(ListRow::new(format!("{title}: {}", rows.len()), Target::Nothing));
            list.rows.extend(rows.iter().map(|row| row_of(row, labels)));
        }
        list.chosen = 1;
        list
    }
}

/// Passes selected calls to both sums.
struct Selected<'a> {
    both: (&'a mut OfMethod, &'a mut OfMethod),
    selection: &'a Selection,
    frames: &'a mut ShownFrames,
}

impl Visit for Selected<'_> {
    fn enter(&mut self, method: MethodId) {
        let is_selected = self.selection.contains(method);
        self.frames.enter(is_selected);
        if is_selected {
            self.both.enter(method);
        }
    }

    fn exit(&mut self, count: NonZeroU64) {
        if let Some(selected) = self.frames.exit(count) {
            self.both.exit(selected);
        }
    }
}

fn row_of(row: &EdgeRow, labels: &mut Labels<'_>) -> ListRow {
    let name = match row.method {
        Some(method) => labels.get(method).to_owned(),
        None => "(outermost)".to_owned(),
    };
    let text =
        format!("{:>14}  {:>14}  {}", grouped(row.calls), grouped(row.total), escaped(&name));
    ListRow::new(text, row.method.map_or(Target::Nothing, Target::Method))
}
