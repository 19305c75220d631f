//! Prints the tests of traces.

use std::io::Write;

use flow_codec::format::test_marks::Outcome;
use flow_codec::read::Trace;
use flow_codec::{MethodNames, NameForm};
use flow_query::rows::{Cell, Members, TestColumns};

use crate::args::TestsArgs;
use crate::cmd::line_limit;
use crate::failure::Failure;
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Out, Table, duration, escaped, grouped, plural};
use flow_query::ask::RanTest;
use flow_query::select::outcome;

/// Lines shown in text by default.
const DEFAULT_MAX: u64 = 100;

/// Prints the tests of one trace after another.
pub(super) struct TestPrinter<'a> {
    args: &'a TestsArgs,
    source: &'a Source,
    answer: Answer<'a>,
    begun: bool,
}

impl<'a> TestPrinter<'a> {
    pub(super) fn new(
        args: &'a TestsArgs,
        source: &'a Source,
        out: &mut Out,
    ) -> Result<Self, Failure> {
        let format = args.format.of_rows();
        let max = line_limit(args.max, format, DEFAULT_MAX);
        let mut answer = Answer::new::<TestColumns<'_>>(source, format, max, out)?;
        answer.records.sort_keys();
        Ok(Self { args, source, answer, begun: false })
    }

    pub(super) fn trace(
        &mut self,
        trace: &Trace,
        rows: &[RanTest],
        out: &mut Out,
    ) -> Result<(), Failure> {
        let shown = rows.get(..self.answer.max).unwrap_or(rows);
        if self.answer.is_text() {
            if std::mem::replace(&mut self.begun, true) {
                out.write_all(b"\n")?;
            }
            if self.source.several {
                out.heading(&format!("trace {}", trace.dir().display()))?;
            }
            self.text(trace, shown, rows, out)?;
        } else {
            self.answer.records.begin(&self.source.name(trace.dir()));
            self.answer.rows(shown.iter().map(|row| columns(trace, row)), out)?;
        }
        self.answer.more(trace, (rows.len() - shown.len()) as u64, "more test", out)
    }

    fn text(
        &self,
        trace: &Trace,
        shown: &[RanTest],
        rows: &[RanTest],
        out: &mut Out,
    ) -> Result<(), Failure> {
        writeln!(out, "{}", summary(rows.iter().map(|row| row.run.outcome)))?;
        if shown.is_empty() {
            return Ok(());
        }
        out.write_all(b"\n")?;
        if self.args.verbose {
            return shown.iter().try_for_each(|row| verbose(trace, row, out));
        }
        let time = |row: &RanTest| row.run.elapsed_ns().map_or(Cell::number(""), Cell::Nanos);
        let mut table = Table::default();
        table.column("result", shown.iter().map(|row| Cell::text(outcome(&row.run))));
        table.column("calls", shown.iter().map(|row| Cell::Count(row.calls)));
        table.column("time", shown.iter().map(time));
        table.column("new", shown.iter().map(|row| Cell::Count(row.methods.len() as u64)));
        table.column("test", shown.iter().map(|row| Cell::text(&*row.run.name)));
        Ok(table.print(out)?)
    }
}

/// This many methods that no test before called are named, so that the failures of other tests stay in sight.
const MOST_NEW: usize = 10;

/// `47 tests: 40 passed, 4 failed`.
pub(crate) fn summary(outcomes: impl Iterator<Item = Option<Outcome>>) -> String {
    let outcomes: Vec<_> = outcomes.collect();
    let words = [
        (Some(Outcome::Passed), "passed"),
        (Some(Outcome::Failed), "failed"),
        (Some(Outcome::Aborted), "aborted"),
        (Some(Outcome::Skipped), "skipped"),
        (None, "unfinished"),
    ];
    let counts: Vec<_> = words
        .into_iter()
        .map(|(outcome, word)| (outcomes.iter().filter(|other| **other == outcome).count(), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{} {word}", grouped(count as u64)))
        .collect();
    let tests = plural(outcomes.len() as u64, "test");
    if counts.is_empty() { tests } else { format!("{tests}: {}", counts.join(", ")) }
}

fn verbose(trace: &Trace, row: &RanTest, out: &mut Out) -> Result<(), Failure> {
    let run = &row.run;
    let calls = plural(row.calls, "call");
    let time = run.elapsed_ns().map_or(String::new(), |ns| format!(", {}", duration(ns)));
    out.heading(&escaped(&format!("{} {}", outcome(run), run.name)))?;
    writeln!(out, "  {calls}{time}")?;
    for text in [&run.title, &run.detail].into_iter().filter(|text| !text.is_empty()) {
        writeln!(out, "  {}", escaped(text))?;
    }
    if !run.helpers.is_empty() {
        let threads = plural(run.helpers.len() as u64, "thread");
        writeln!(out, "  with {threads} that lived only in it")?;
    }
    let names = MethodNames::new(trace.methods());
    for method in row.methods.iter().take(MOST_NEW) {
        writeln!(out, "  new {}", escaped(&names.get(*method, NameForm::Readable)))?;
    }
    if let more @ 1.. = row.methods.len().saturating_sub(MOST_NEW) as u64 {
        writeln!(out, "  … {} (--format json has all)", plural(more, "more new method"))?;
    }
    Ok(())
}

fn columns<'a>(trace: &Trace, row: &'a RanTest) -> TestColumns<'a> {
    let run = &row.run;
    TestColumns {
        test: &run.name,
        title: &run.title,
        result: outcome(run),
        detail: &run.detail,
        calls: row.calls,
        duration_ns: run.elapsed_ns(),
        new: Members(row.methods.iter().map(|method| trace.methods().display(*method)).collect()),
        thread: run.thread,
        helpers: Members(run.helpers.clone()),
    }
}
