//! `flow report --exceptions`: which exceptions ended calls, and which methods caught them.

use crate::input::times::selected;
use flow_query::reading::{read_thread, start_ns};
use std::io::Write;

use flow_query::analysis::{ExceptionRow, Exceptions};
use flow_query::rows::{Cell, ExceptionColumns, RowNames};

use super::limit::max_lines;
use crate::args::ReportArgs;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Labels, Out, Progress, Table, plural};

/// What caught exceptions that left all recorded methods of their thread.
const OUTSIDE: &str = "(outside of recorded methods)";

/// Prints the exceptions of each trace.
pub(super) fn run(source: &Source, args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    let (format, max) = (args.source.format, max_lines(args));
    let mut answer = Answer::new::<ExceptionColumns<'_>>(source, format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let chosen = selected(trace, &args.part.filter, &args.when)?;
        let mut exceptions = Exceptions::default();
        for file in trace.files() {
            let timeline = chosen.timeline(file, start_ns(trace, file));
            let reading = read_thread(file, timeline, &mut progress, &mut exceptions, |sums, _| {
                sums.end_thread();
            });
            status = status.and(reading.report(file, &progress));
        }
        let mut rows = exceptions.rows();
        answer.begin(trace, out)?;
        if answer.is_text() {
            heading(&rows, out)?;
        }
        let more = answer.cut(&mut rows);
        if answer.is_text() {
            table(&rows, &Labels::new(trace.methods(), format, args.verbose), out)?;
        } else {
            let mut names = RowNames::new(trace.methods());
            let rows = rows.into_iter().map(|row| ExceptionColumns {
                exception: row.class,
                method: names.get(row.method),
                thrown: row.thrown,
                passed: row.passed,
                caught: row.caught,
            });
            answer.rows(rows, out)?;
        }
        answer.more(trace, more, "more line", out)?;
    }
    Ok(status)
}

fn heading(rows: &[ExceptionRow], out: &mut Out) -> Result<(), Failure> {
    let thrown: u64 = rows.iter().map(|row| row.thrown).sum();
    let passed: u64 = rows.iter().map(|row| row.passed).sum();
    if rows.is_empty() {
        return Ok(writeln!(out, "no exception ended a call")?);
    }
    let calls = plural(thrown.saturating_add(passed), "call");
    Ok(writeln!(out, "{} ended {calls}\n", plural(thrown, "exception"))?)
}

fn table(rows: &[ExceptionRow], labels: &Labels<'_>, out: &mut Out) -> Result<(), Failure> {
    let mut table = Table::default();
    table.column("thrown", rows.iter().map(|row| Cell::Count(row.thrown)));
    table.column("passed", rows.iter().map(|row| Cell::Count(row.passed)));
    table.column("caught", rows.iter().map(|row| Cell::Count(row.caught)));
    let class = |row: &'_ ExceptionRow| Cell::text(row.class.as_deref().unwrap_or("?").to_owned());
    table.column("exception", rows.iter().map(class));
    let method = |row: &ExceptionRow| row.method.map_or(Cell::text(OUTSIDE), |id| labels.cell(id));
    table.column("method", rows.iter().map(method));
    Ok(table.print(out)?)
}
