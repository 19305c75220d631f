//! Prints the tests of traces.

use std::io::Write;

use flow_codec::format::test_marks::Outcome;
use flow_codec::read::Trace;
use flow_codec::{MethodNames, NameForm};
use serde_json::json;

use super::{TestRow, max};
use crate::args::{Format, TestsArgs};
use crate::failure::Failure;
use crate::input::source::Source;
use crate::input::test_runs::outcome;
use crate::output::{Align, Out, Table, csv_fields, duration, escaped, grouped, left_out, plural};

/// Prints the tests of one trace after another.
pub(super) struct TestPrinter<'a> {
    args: &'a TestsArgs,
    source: &'a Source,
    begun: bool,
}

impl<'a> TestPrinter<'a> {
    pub(super) fn new(
        args: &'a TestsArgs,
        source: &'a Source,
        out: &mut Out,
    ) -> Result<Self, Failure> {
        if args.source.format == Format::Csv {
            out.write_all(
                b"trace,test,title,result,detail,calls,duration_ns,new,thread,helpers\n",
            )?;
        }
        Ok(Self { args, source, begun: false })
    }

    pub(super) fn trace(
        &mut self,
        trace: &Trace,
        rows: &[TestRow],
        out: &mut Out,
    ) -> Result<(), Failure> {
        let name = self.source.name(&trace.dir);
        let shown = rows.get(..max(self.args)).unwrap_or(rows);
        match self.args.source.format {
            Format::Text => {
                if std::mem::replace(&mut self.begun, true) {
                    out.write_all(b"\n")?;
                }
                if self.source.several {
                    out.heading(&format!("trace {}", trace.dir.display()))?;
                }
                self.text(trace, shown, rows, out)?;
            }
            Format::Json => shown.iter().try_for_each(|row| json(&name, trace, row, out))?,
            Format::Csv => shown.iter().try_for_each(|row| csv(&name, row, out))?,
        }
        if shown.len() < rows.len() {
            let more = plural((rows.len() - shown.len()) as u64, "more test");
            let text = left_out(&more, max(self.args));
            let place = self.source.place(&trace.dir);
            out.remark(self.args.source.format, place.as_deref(), &text)?;
        }
        Ok(())
    }

    fn text(
        &self,
        trace: &Trace,
        shown: &[TestRow],
        rows: &[TestRow],
        out: &mut Out,
    ) -> Result<(), Failure> {
        writeln!(out, "{}", summary(rows.iter().map(|row| row.run.outcome)))?;
        if shown.is_empty() {
            return Ok(());
        }
        out.write_all(b"\n")?;
        if self.args.verbose {
            shown.iter().try_for_each(|row| verbose(trace, row, out))?;
        } else {
            let mut table = Table::new(&[
                ("result", Align::Left),
                ("calls", Align::Right),
                ("time", Align::Right),
                ("new", Align::Right),
                ("test", Align::Left),
            ]);
            for row in shown {
                table.row([
                    outcome(&row.run).to_owned(),
                    grouped(row.calls),
                    time(row),
                    grouped(row.new.len() as u64),
                    row.run.name.clone(),
                ]);
            }
            table.print(out)?;
        }
        Ok(())
    }
}

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

/// The duration of a test; empty if it is unknown.
fn time(row: &TestRow) -> String {
    row.run.elapsed_ns().map(duration).unwrap_or_default()
}

fn verbose(trace: &Trace, row: &TestRow, out: &mut Out) -> Result<(), Failure> {
    let run = &row.run;
    let (calls, time) = (plural(row.calls, "call"), time(row));
    let time = if time.is_empty() { time } else { format!(", {time}") };
    out.heading(&escaped(&format!("{} {}", outcome(run), run.name)))?;
    writeln!(out, "  {calls}{time}")?;
    for text in [&run.title, &run.detail].into_iter().filter(|text| !text.is_empty()) {
        writeln!(out, "  {}", escaped(text))?;
    }
    if !run.helpers.is_empty() {
        let threads = plural(run.helpers.len() as u64, "thread");
        writeln!(out, "  with {threads} that lived only in it")?;
    }
    let names = MethodNames::new(&trace.methods);
    for method in &row.new {
        writeln!(out, "  new {}", escaped(&names.get(*method, NameForm::Readable)))?;
    }
    Ok(())
}

fn json(name: &str, trace: &Trace, row: &TestRow, out: &mut Out) -> Result<(), Failure> {
    let run = &row.run;
    let new: Vec<_> = row.new.iter().map(|method| trace.methods.display(*method)).collect();
    let line = json!({
        "trace": name, "test": run.name, "title": run.title,
        "result": outcome(run), "detail": run.detail,
        "calls": row.calls, "duration_ns": run.elapsed_ns(), "new": new,
        "thread": run.thread, "helpers": run.helpers,
    });
    writeln!(out, "{line}")?;
    Ok(())
}

fn csv(name: &str, row: &TestRow, out: &mut Out) -> Result<(), Failure> {
    let run = &row.run;
    let ns = run.elapsed_ns().map_or_else(String::new, |ns| ns.to_string());
    let [calls, new, thread, helpers] =
        [row.calls, row.new.len() as u64, run.thread.get(), run.helpers.len() as u64]
            .map(|number| number.to_string());
    let fields = [
        name,
        &run.name,
        &run.title,
        outcome(run),
        &run.detail,
        &calls,
        &ns,
        &new,
        &thread,
        &helpers,
    ];
    writeln!(out, "{}", csv_fields(fields))?;
    Ok(())
}
