//! `flow report --never-called`: methods that were recorded and never called.

use std::io::Write;

use flow_codec::MethodId;
use flow_query::ask::never_called;
use flow_query::rows::{Cell, NeverCalledRow, RowNames};

use super::limit::max_lines;
use crate::args::ReportArgs;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Labels, Out, Progress, Table, grouped, plural, short_line};

/// What the list cannot have.
const UNKNOWN: &str = "classes that no JVM loaded are not known; nor is what ran before the recording, or while it was paused";

/// Prints the methods that no trace of the run called.
pub(super) fn run(source: &Source, args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    let (format, max) = (args.source.format, max_lines(args));
    let mut answer = Answer::new::<NeverCalledRow<'_>>(source, format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let (mut methods, all, soundness) =
        never_called(&source.traces, &args.part.filter.filter(), &mut progress);
    let status = source.status.and(soundness);
    let Some(first) = source.traces.first() else { return Ok(status) };
    let count = grouped(methods.len() as u64);
    let more = answer.cut(&mut methods);
    let place = |of: &(usize, MethodId)| {
        let method = source.traces.get(of.0).and_then(|trace| trace.methods().get(of.1));
        method.map(|method| (method.info(), method.info().line))
    };
    let is_text = answer.is_text();
    if is_text {
        writeln!(out, "{count} of {} were never called\n", plural(all, "recorded method"))?;
        let traces = source.traces.iter();
        let labels: Vec<_> =
            traces.map(|trace| Labels::new(trace.methods(), format, args.verbose)).collect();
        let method = |of: &(usize, MethodId)| {
            labels.get(of.0).map_or(Cell::text(""), |labels| labels.cell(of.1))
        };
        let line = |of| place(of).and_then(|(info, line)| Some(short_line(info, line?)));
        let mut table = Table::default();
        table.column("method", methods.iter().map(method));
        table.column("line", methods.iter().map(|of| Cell::text(line(of).unwrap_or_default())));
        table.print(out)?;
    }
    let of_trace = methods.chunk_by(|one, next| one.0 == next.0);
    for methods in of_trace.filter(|_| !is_text) {
        let number = methods.first().map_or(0, |(number, _)| *number);
        let Some(trace) = source.traces.get(number) else { continue };
        answer.begin(trace, out)?;
        let mut names = RowNames::new(trace.methods());
        let rows = methods.iter().map(|of| NeverCalledRow {
            method: names.get(of.1),
            source: place(of).map(|(info, _)| info.source_path().into_owned()),
            line: place(of).and_then(|(_, line)| line),
        });
        answer.rows(rows.collect::<Vec<_>>(), out)?;
    }
    answer.more(first, more, "more method", out)?;
    answer.remark(first, UNKNOWN, out)?;
    Ok(status)
}
