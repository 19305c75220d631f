//! `flow report --exceptions`: which exceptions ended calls or reached handlers, and which methods caught them.

use crate::input::times::selected;
use flow_query::reading::{read_marked, start_ns};
use std::io::Write;

use flow_codec::format::marks::Mark;
use flow_codec::read::{Timeline, Trace};
use flow_query::analysis::{ExceptionRow, Exceptions};
use flow_query::rows::{Cell, ExceptionColumns, RowNames};

use crate::args::ReportArgs;
use crate::cmd::report::limit::max_lines;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Labels, Out, Progress, Table, plural, short_line};

/// What caught exceptions that left all recorded methods of their thread.
const OUTSIDE: &str = "(outside of recorded methods)";

/// Prints the exceptions of each trace.
pub(in crate::cmd::report) fn run(
    source: &Source,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<Status, Failure> {
    let (format, max) = (args.source.format, max_lines(args));
    let mut answer = Answer::new::<ExceptionColumns<'_>>(source, format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let chosen = selected(trace, &args.part.filter, &args.when)?;
        let mut exceptions = Exceptions::default();
        for file in trace.files() {
            let timeline = chosen.timeline(file, start_ns(trace, file));
            let timeline = timeline.map(Timeline::with_handlers);
            // Values may be those of handlers.
            let is_needed = |mark: &Mark| {
                matches!(mark, Mark::Unwound { .. } | Mark::Thrown { .. } | Mark::Values(_))
            };
            let end = |sums: &mut Exceptions, _: &Timeline<'_>| sums.end_thread();
            let reading =
                read_marked(file, timeline, is_needed, &mut progress, &mut exceptions, end);
            status = status.and(reading.report(file, &progress));
        }
        let mut rows = exceptions.rows();
        answer.begin(trace, out)?;
        if answer.is_text() {
            heading(&rows, exceptions.ended(), out)?;
        }
        let more = answer.cut(&mut rows);
        if answer.is_text() {
            table(&rows, trace, &Labels::new(trace.methods(), format, args.verbose), out)?;
        } else {
            let mut names = RowNames::new(trace.methods());
            let rows = rows.into_iter().map(|row| ExceptionColumns {
                line: line_of(trace, &row).map(|(_, line)| line),
                created_in: row.handler.as_ref().and_then(|handler| handler.created_in.clone()),
                created_line: row.handler.as_ref().and_then(|handler| handler.created_at),
                message: row.message,
                exception: row.class,
                method: names.get(row.method),
                thrown: row.thrown,
                passed: row.passed,
                caught: row.caught,
            });
            answer.rows(rows, out)?;
        }
        answer.more(trace, more, "more line", out)?;
        if let Some(text) = unseen(trace) {
            answer.remark(trace, &text, out)?;
        }
    }
    Ok(status)
}

/// What was not recorded of exceptions, if anything.
fn unseen(trace: &Trace) -> Option<String> {
    let manifest = trace.manifest()?;
    match manifest.options.get("exceptions").map(String::as_str) {
        None => Some(
            "only exceptions that ended a call of a recorded method are counted; with --exceptions '**', 'flow record' also \
             records those that a method catches in the same call, or gets from code that is not recorded"
                .to_owned(),
        ),
        Some("**") => {
            let left_out = manifest.end.iter().flat_map(|end| &end.not_recorded);
            let left_out = left_out.filter(|left_out| left_out.reason == "without-exceptions");
            let count = left_out.map(|left_out| left_out.count).sum();
            (count > 0).then(|| {
                let methods = plural(count, "method");
                format!("in {methods}, some handlers were not recorded; 'flow info --verbose' names these methods")
            })
        }
        Some(patterns) => Some(format!(
            "exceptions that reached a handler are counted in methods that match {patterns}; in others only those that ended a call"
        )),
    }
}

/// The line of the handler of a row: as it is shown, and its number in its file.
fn line_of(trace: &Trace, row: &ExceptionRow) -> Option<(String, u32)> {
    let line = row.handler.as_ref()?.line?.into();
    let method = row.method.and_then(|method| trace.methods().get(method));
    Some(match method {
        Some(method) => (short_line(method.info(), line), method.info().named_line(line).1),
        None => (line.to_string(), line),
    })
}

fn heading(rows: &[ExceptionRow], ended: u64, out: &mut Out) -> Result<(), Failure> {
    let thrown: u64 = rows.iter().map(|row| row.thrown).sum();
    if rows.is_empty() {
        return Ok(writeln!(out, "no exception ended a call")?);
    }
    let (thrown, ended) = (plural(thrown, "exception"), plural(ended, "call"));
    // Some may have ended none.
    let which = if rows.iter().any(|row| row.handler.is_some()) { ", which" } else { "" };
    Ok(writeln!(out, "{thrown}{which} ended {ended}\n")?)
}

fn table(
    rows: &[ExceptionRow],
    trace: &Trace,
    labels: &Labels<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    let mut table = Table::default();
    table.column("thrown", rows.iter().map(|row| Cell::Count(row.thrown)));
    table.column("passed", rows.iter().map(|row| Cell::Count(row.passed)));
    table.column("caught", rows.iter().map(|row| Cell::Count(row.caught)));
    let class = |row: &'_ ExceptionRow| Cell::text(row.class.as_deref().unwrap_or("?").to_owned());
    table.column("exception", rows.iter().map(class));
    let method = |row: &ExceptionRow| row.method.map_or(Cell::text(OUTSIDE), |id| labels.cell(id));
    table.column("method", rows.iter().map(method));
    if rows.iter().any(|row| row.handler.is_some()) {
        let line = |row: &ExceptionRow| line_of(trace, row).map_or(String::new(), |(line, _)| line);
        table.column("line", rows.iter().map(|row| Cell::text(line(row))));
        table.column("created in", rows.iter().map(|row| Cell::text(created(row))));
        let message = |row: &ExceptionRow| row.message.clone().unwrap_or_default();
        table.column("message", rows.iter().map(|row| Cell::text(message(row))));
    }
    Ok(table.print(out)?)
}

/// Where the exceptions of a row were created.
fn created(row: &ExceptionRow) -> String {
    let Some(handler) = &row.handler else { return String::new() };
    let line = handler.created_at.map_or(String::new(), |line| format!(":{line}"));
    handler.created_in.as_ref().map_or(String::new(), |method| format!("{method}{line}"))
}
