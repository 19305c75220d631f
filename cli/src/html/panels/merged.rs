//! What all threads of a page did, in one order: a column for each thread, a row for each thing it did.

use std::collections::BTreeMap;

use flow_codec::ThreadId;
use flow_codec::format::values::Role;
use flow_codec::read::{StackSamples, Trace};
use flow_query::in_order::{Detail, DetailKind, Interleaved, Interleaving, MergedKind, MergedRow};
use flow_query::select::Selected;
use serde::Serialize;

use crate::html::names::PageMethods;
use crate::html::of_calls::details::Texts;
use crate::output::{DetailRow, Labels};

/// The most rows of a page.
const ROWS: usize = 6000;
/// The most events that are read for them.
const EVENTS: u64 = 3_000_000;
/// If there are more rows: how many are kept at each end of what a thread did alone.
const ALONE: usize = 40;

/// The rows of a page; none if only one thread did anything, or if no order is known.
#[derive(Default, Serialize)]
pub(in crate::html) struct PageMerged {
    /// The threads, in the order in which they began.
    threads: Vec<ThreadId>,
    rows: Vec<Row>,
    texts: Vec<String>,
    /// When the rest happened that is not on the page, in nanoseconds; `None` if there is none, or if that is not known.
    rest_ns: Option<u64>,
    /// Whether there is a rest.
    has_rest: bool,
    /// Whether things that a thread did alone are left out.
    is_reduced: bool,
    /// Whether events could not be read.
    is_damaged: bool,
}

/// What is on a row: `thread`, `depth`, `at` (-1 if unknown), `method` (-1 for none), `text` (a place in `texts`, or -1), `call` (its
/// number, or -1), `exits`, `thrown` (a place in `texts`, or -1), `kind`, and 1 if it may have happened before what is above it.
#[derive(Serialize)]
struct Row(usize, usize, i64, i64, i64, i64, u64, i64, Kind, u8);

/// What a row is.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Enter,
    Leave,
    /// What a call was given.
    Given,
    Detail,
    /// A read of a field or an element.
    Read,
    /// A write to one.
    Write,
    /// `exits` is how many rows are left out.
    Alone,
}

impl PageMerged {
    /// Reads what all threads of a trace did. `has_numbers`: calls have the numbers that they have on the page.
    pub(in crate::html) fn read(
        trace: &Trace,
        selected: &Selected,
        samples: Option<&StackSamples>,
        (names, labels): (&PageMethods, &Labels<'_>),
        has_numbers: bool,
    ) -> Self {
        let is_ordered = trace.has_numbers() || !trace.timing().0.is_off();
        if !is_ordered || trace.files().len() < 2 {
            return Self::default();
        }
        let (max_rows, max_events) = (ROWS, EVENTS);
        let all = Interleaved { selected, samples, max_rows, max_events, alone: usize::MAX };
        let found = all.read(trace);
        let found = match found.unread {
            None => found,
            Some(_) => Interleaved { alone: ALONE, ..all }.read(trace),
        };
        let page = Page {
            texts: Texts::default(),
            columns: BTreeMap::new(),
            trace,
            names,
            labels,
            has_numbers,
        };
        page.finish(found)
    }
}

/// Makes rows.
struct Page<'a> {
    texts: Texts,
    /// The columns of threads.
    columns: BTreeMap<usize, usize>,
    trace: &'a Trace,
    names: &'a PageMethods,
    labels: &'a Labels<'a>,
    has_numbers: bool,
}

impl Page<'_> {
    fn finish(mut self, Interleaving { rows, unread, is_damaged }: Interleaving) -> PageMerged {
        let is_reduced = rows.iter().any(|row| matches!(row.kind, MergedKind::Alone(_)));
        let mut made: Vec<Row> = Vec::with_capacity(rows.len());
        let mut threads = Vec::new();
        for row in rows {
            let next = self.columns.len();
            let column = *self.columns.entry(row.thread).or_insert(next);
            if column == next {
                threads.extend(self.trace.files().get(row.thread).map(|file| file.id()));
            }
            let row = self.row(column, &row);
            match made.last_mut().filter(|last| last.takes(&row)) {
                // The arguments of the call that has just begun.
                Some(last) => (last.4, last.6, last.7) = (row.4, row.6, row.7),
                None => made.push(row),
            }
        }
        if threads.len() < 2 {
            return PageMerged::default();
        }
        PageMerged {
            threads,
            rows: made,
            texts: self.texts.into_list(),
            rest_ns: unread.and_then(|time| time.estimate_ns),
            has_rest: unread.is_some(),
            is_reduced,
            is_damaged,
        }
    }

    fn text(&mut self, text: &str) -> i64 {
        i64::try_from(self.texts.place(text)).unwrap_or(-1)
    }

    fn row(&mut self, column: usize, row: &MergedRow) -> Row {
        let number = |of: u64| i64::try_from(of).unwrap_or(-1);
        let (mut method, mut text) = (-1, -1);
        let mut exits = row.exits;
        let kind = match &row.kind {
            MergedKind::Enter(id) => {
                method = self.names.in_shapes(*id).into();
                Kind::Enter
            }
            MergedKind::Leave(id) => {
                method = id.map_or(-1, |id| self.names.in_shapes(id).into());
                Kind::Leave
            }
            MergedKind::Detail(detail) => {
                let none = &mut |_: &str, _| None;
                let shown = DetailRow::new(detail, self.trace.methods(), self.labels, none).shown;
                text = self.text(&shown);
                kind_of(detail)
            }
            MergedKind::Alone(count) => {
                exits = *count;
                Kind::Alone
            }
            _ => Kind::Detail,
        };
        let call = row.call.filter(|_| self.has_numbers).map_or(-1, number);
        let at = row.time.estimate_ns.map_or(-1, number);
        let thrown = row.thrown.as_deref().map_or(-1, |class| self.text(class));
        Row(
            column,
            row.depth,
            at,
            method,
            text,
            call,
            exits,
            thrown,
            kind,
            u8::from(!row.is_certain),
        )
    }
}

fn kind_of(detail: &Detail) -> Kind {
    let DetailKind::Values { values, .. } = &detail.kind else { return Kind::Detail };
    match values.first().map(|value| value.role) {
        Some(Role::Read) => Kind::Read,
        Some(Role::Write) => Kind::Write,
        Some(Role::Argument(_) | Role::This) => Kind::Given,
        _ => Kind::Detail,
    }
}

impl Row {
    /// Returns whether a row has what the call of this one was given.
    fn takes(&self, next: &Self) -> bool {
        let is_entry = matches!(self.8, Kind::Enter) && self.4 < 0 && self.6 == 0;
        is_entry && matches!(next.8, Kind::Given) && next.0 == self.0 && next.9 == self.9
    }
}
