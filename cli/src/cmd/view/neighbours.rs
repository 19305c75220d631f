//! Callers and callees of a method in a thread.

use std::time::{Duration, Instant};

use flow_codec::analysis::{AddShapes, EdgeRow, Edges, Report, Side};
use flow_codec::read::{Events, ReadRecords, Selection, ThreadFile, Visit};
use flow_codec::tree::LazyTree;
use flow_codec::{Error, MethodId, Offset};

use super::list::{List, Target};
use crate::output::{Labels, escaped, grouped};

/// For how long events are read before the screen and keys have their turn.
const TURN: Duration = Duration::from_millis(30);

type OfMethod = Edges<Report, Box<dyn FnMut(MethodId) -> bool>>;

/// The edges of the call graph at a method, while events are added up.
pub(super) struct Neighbours {
    method: MethodId,
    callers: OfMethod,
    callees: OfMethod,
    /// `None` if all is added up.
    events: Option<Events>,
}

impl Neighbours {
    /// Adds up the shapes of a thread, or begins with its events.
    pub(super) fn new(method: MethodId, file: &ThreadFile, tree: &LazyTree) -> Result<Self, Error> {
        let edges = |side| -> OfMethod {
            Edges::new(Report::default(), side, Box::new(move |id| id == method))
        };
        let mut this = Self {
            method,
            callers: edges(Side::Callers),
            callees: edges(Side::Callees),
            events: None,
        };
        let all = Selection::all();
        let is_added = tree.shapes().is_some_and(|dag| {
            this.callers.add_shapes(dag, &all) && this.callees.add_shapes(dag, &all)
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
        let mut both = (&mut self.callers, &mut self.callees);
        while let Some(events) = &mut self.events {
            match visit_some(events, &mut both) {
                Ok(true) => {}
                Ok(false) => self.events = None,
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
        let mut list =
            List { header: format!("{:>14}  {:>14}  {name}", "calls", "total"), ..List::default() };
        for (title, rows) in [("callers", self.callers.rows()), ("callees", self.callees.rows())] {
            list.rows.push((format!("{title}: {}", rows.len()), Target::Nothing));
            list.rows.extend(rows.iter().map(|row| row_of(row, labels)));
        }
        list.chosen = 1;
        list
    }
}

fn visit_some(events: &mut Events, visitor: &mut impl Visit) -> Result<bool, Error> {
    events.visit_some(visitor)
}

fn row_of(row: &EdgeRow, labels: &mut Labels<'_>) -> (String, Target) {
    let name = match row.method {
        Some(method) => labels.get(method).to_owned(),
        None => "(outermost)".to_owned(),
    };
    let text =
        format!("{:>14}  {:>14}  {}", grouped(row.calls), grouped(row.total), escaped(&name));
    (text, row.method.map_or(Target::Nothing, Target::Method))
}
