//! Prints the calls that were found.

use std::collections::BTreeSet;

use flow_codec::format::shape_name::ShapeName;
use flow_codec::read::{CallTimes, Trace};
use flow_codec::{MethodId, ThreadId};
use flow_query::dag::Outcome;
use flow_query::rows::{Cell, FindRow, RowNames};

use super::{Found, Runs};
use crate::args::{FindArgs, Format};
use crate::failure::Failure;
use crate::input::source::answer::Answer;
use crate::input::times::has_clock;
use crate::output::{Labels, Out, Table, bounded_duration, instant, plural, time_columns};
use flow_query::select::thread_title;

/// The innermost callers that are named in text.
const NEAREST: usize = 2;

/// Prints the calls of a trace: text as a table at the end, else line by line.
pub(super) struct Printer<'a, 's> {
    args: &'a FindArgs,
    answer: &'a mut Answer<'s>,
    trace: &'a Trace,
    runs: &'a Runs,
    names: RowNames<'a>,
    shown: usize,
    /// How many calls there are, shown or not, and of which shapes.
    count: u64,
    shapes: BTreeSet<ShapeName>,
    /// The rows of text, and their threads.
    rows: Vec<(ThreadId, Found)>,
}

impl<'a, 's> Printer<'a, 's> {
    pub(super) fn new(
        args: &'a FindArgs,
        answer: &'a mut Answer<'s>,
        trace: &'a Trace,
        runs: &'a Runs,
    ) -> Self {
        Self {
            args,
            answer,
            trace,
            runs,
            names: RowNames::new(&trace.methods),
            shown: 0,
            count: 0,
            shapes: BTreeSet::new(),
            rows: Vec::new(),
        }
    }

    /// Counts calls of these shapes.
    pub(super) fn expect(&mut self, count: u64, shapes: impl IntoIterator<Item = ShapeName>) {
        self.count = self.count.saturating_add(count);
        self.shapes.extend(shapes);
    }

    /// Returns whether no more calls are shown, once those that wait are.
    pub(super) fn is_full(&self, waiting: usize) -> bool {
        self.shown.saturating_add(waiting) >= self.answer.max
    }

    /// Prints a call.
    pub(super) fn call(
        &mut self,
        thread: ThreadId,
        found: Found,
        size: u64,
        out: &mut Out,
    ) -> Result<(), Failure> {
        self.shown += 1;
        if self.answer.is_text() {
            self.rows.push((thread, found));
            return Ok(());
        }
        let row = FindRow {
            thread,
            call: found.call.number,
            method: self.names.get(found.method),
            shape: found.name.map_or(String::new(), |name| name.to_string()),
            outcome: found.outcome.word(),
            calls: size,
            depth: found.call.depth,
            test: self.test(&found),
            times: time_columns(&found.times),
            path: self.names.chain(&found.callers),
        };
        self.answer.rows([row], out)
    }

    /// The name of the test that made a call.
    fn test(&self, found: &Found) -> Option<&'a str> {
        Some(&self.runs.get(found.test?)?.name)
    }

    /// `… > Orders.order > Db.query`: the innermost callers.
    fn callers(&self, callers: &[MethodId], labels: &Labels<'_>) -> String {
        let nearest = if self.args.verbose { callers.len() } else { NEAREST };
        let (hidden, shown) = callers.split_at(callers.len().saturating_sub(nearest));
        let names = shown.iter().map(|method| labels.short(*method));
        let start = (!hidden.is_empty()).then(|| "…".to_owned());
        start.into_iter().chain(names).collect::<Vec<_>>().join(" > ")
    }

    /// Prints the table, and how many calls are not shown.
    pub(super) fn finish(self, out: &mut Out) -> Result<(), Failure> {
        if !self.rows.is_empty() {
            self.table(out)?;
        }
        if (self.shown as u64) < self.count && self.shown >= self.answer.max {
            self.answer.more(self.trace, self.count - self.shown as u64, "more call", out)?;
        }
        Ok(())
    }

    fn table(&self, out: &mut Out) -> Result<(), Failure> {
        let labels = Labels::new(&self.trace.methods, Format::Text, self.args.verbose);
        let methods: BTreeSet<_> = self.rows.iter().map(|(_, found)| found.method).collect();
        let what = match methods.first() {
            Some(method) if methods.len() == 1 => labels.name(*method),
            _ => self.args.what.clone(),
        };
        let counts = [plural(self.count, "call"), plural(self.shapes.len() as u64, "shape")];
        out.heading(&format!("{what}: {}", counts.join(", ")))?;
        let calls = || self.rows.iter().map(|(_, found)| found);
        let mut table = Table::default();
        if has_clock(self.trace) {
            let known = |found: &Found, text: fn(&CallTimes, u64) -> String| {
                let start_ns = found.times.start.estimate_ns;
                Cell::number(start_ns.map_or("?".to_owned(), |ns| text(&found.times, ns)))
            };
            table.column("start", calls().map(|found| known(found, |_, ns| instant(ns))));
            let duration = |times: &CallTimes, _| bounded_duration(times.duration);
            table.column("duration", calls().map(|found| known(found, duration)));
        }
        if self.trace.files.len() > 1 {
            let title = |thread| Cell::text(thread_title(self.trace, thread));
            table.column("thread", self.rows.iter().map(|(thread, _)| title(*thread)));
        }
        table.column("call", calls().map(|found| Cell::Count(found.call.number)));
        table.column("depth", calls().map(|found| Cell::Count(found.call.depth)));
        let shape =
            |found: &Found| found.name.map_or(Cell::Nothing, |name| Cell::text(name.to_string()));
        table.column("shape", calls().map(shape));
        if calls().any(|found| found.outcome != Outcome::Returned) {
            let left = |found: &Found| match found.outcome {
                Outcome::Returned => Cell::Nothing,
                Outcome::Unwound => Cell::text("exception"),
                Outcome::Cut => Cell::text("pause"),
            };
            table.column("left by", calls().map(left));
        }
        if !self.runs.is_empty() {
            let test = |found| self.test(found).map_or(Cell::Nothing, Cell::text);
            table.column("test", calls().map(test));
        }
        if methods.len() > 1 {
            table.column("method", calls().map(|found| labels.cell(found.method)));
        }
        let callers = |found: &Found| Cell::text(self.callers(&found.callers, &labels));
        table.column("called by", calls().map(callers));
        Ok(table.print(out)?)
    }
}
