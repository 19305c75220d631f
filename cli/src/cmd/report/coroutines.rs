//! `flow report --coroutines`: suspend functions of Kotlin, each call once, however often it was resumed.

use std::io::Write;

use flow_query::ask::{CoroutineTimes, SuspendFunction, suspend_functions};
use flow_query::rows::{Cell, CoroutineRow, RowNames};

use super::limit::max_lines;
use crate::args::ReportArgs;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Labels, Out, Progress, Table, duration, plural};

/// Prints the suspend functions of each trace.
pub(super) fn run(source: &Source, args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    let (format, max) = (args.source.format, max_lines(args));
    let mut answer = Answer::new::<CoroutineRow<'_>>(source, format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let filter = args.part.filter.filter();
        let (mut rows, soundness) = suspend_functions(trace, &filter, &mut progress);
        status = status.and(soundness);
        answer.begin(trace, out)?;
        let sum = |of: fn(&SuspendFunction) -> u64| rows.iter().map(of).sum::<u64>();
        let (calls, resumptions) = (sum(|row| row.calls), sum(|row| row.resumptions));
        let functions = plural(rows.len() as u64, "suspend function");
        let more = answer.cut(&mut rows);
        if !answer.is_text() {
            let mut names = RowNames::new(trace.methods());
            let rows = rows.iter().map(|row| CoroutineRow {
                method: names.get(row.method),
                calls: row.calls,
                resumptions: row.resumptions,
                total_ns: row.times.map(|times| times.total_ns),
                longest_ns: row.times.map(|times| times.longest_ns),
                running_ns: row.times.map(|times| times.running_ns),
            });
            answer.rows(rows.collect::<Vec<_>>(), out)?;
        } else if rows.is_empty() {
            writeln!(
                out,
                "no suspend function was recorded with the class of its state, such as Orders$load$1"
            )?;
        } else {
            let (calls, resumptions) = (plural(calls, "call"), plural(resumptions, "resumption"));
            writeln!(out, "{calls} of {functions}, {resumptions}\n")?;
            let labels = Labels::new(trace.methods(), format, args.verbose);
            let mut table = Table::default();
            table.column("calls", rows.iter().map(|row| Cell::Count(row.calls)));
            table.column("resumptions", rows.iter().map(|row| Cell::Count(row.resumptions)));
            if rows.iter().any(|row| row.times.is_some()) {
                let time = |of: fn(&CoroutineTimes) -> u64| {
                    let cell = move |row: &SuspendFunction| {
                        row.times.map_or(Cell::Nothing, |times| Cell::number(duration(of(&times))))
                    };
                    rows.iter().map(cell).collect::<Vec<_>>()
                };
                table.column("total", time(|times| times.total_ns));
                table.column("longest", time(|times| times.longest_ns));
                table.column("running", time(|times| times.running_ns));
            }
            table.column("function", rows.iter().map(|row| labels.cell(row.method)));
            table.print(out)?;
        }
        answer.more(trace, more, "more function", out)?;
    }
    Ok(status)
}
