//! `flow report --percentiles`: how long the calls of each method lasted.

use std::io::Write;

use flow_codec::read::Bounds;
use flow_query::analysis::{MethodPercentiles, Percentiles};
use flow_query::reading::{read_thread, start_ns};
use flow_query::rows::{self, Cell, RowNames};

use super::limit::max_lines;
use crate::args::ReportArgs;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::times::{has_clock, no_clock, precision_note, selected};
use crate::output::{Labels, Out, Progress, Table, Unit, bounded_duration, plural};

/// Prints the methods of each trace.
pub(super) fn run(source: &Source, args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    let (format, max) = (args.source.format, max_lines(args));
    let mut answer = Answer::new::<rows::PercentileRow<'_>>(source, format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        if !has_clock(trace) {
            return Err(no_clock(trace));
        }
        let chosen = selected(trace, &args.part.filter, &args.when)?;
        let mut percentiles = Percentiles::default();
        for file in trace.files() {
            let timeline = chosen.timeline(file, start_ns(trace, file));
            let reading =
                read_thread(file, timeline, &mut progress, &mut percentiles, |found, _| {
                    found.end_thread();
                });
            status = status.and(reading.report(file, &progress));
        }
        let mut rows = percentiles.rows();
        answer.begin(trace, out)?;
        let (calls, methods) = (rows.iter().map(|row| row.calls).sum(), rows.len() as u64);
        let more = answer.cut(&mut rows);
        if answer.is_text() {
            let (calls, methods) = (plural(calls, "call"), plural(methods, "method"));
            writeln!(out, "{calls} of {methods}\n")?;
            let labels = Labels::new(trace.methods(), format, args.verbose);
            table(&rows, &labels).print(out)?;
        } else {
            let mut names = RowNames::new(trace.methods());
            let rows = rows.iter().map(|row| columns(row, &mut names));
            answer.rows(rows.collect::<Vec<_>>(), out)?;
        }
        answer.more(trace, more, "more method", out)?;
        if percentiles.unended() > 0 {
            let calls = plural(percentiles.unended(), "call");
            answer.remark(trace, &format!("without {calls} that had not ended"), out)?;
        }
        answer.remark(trace, &precision_note(trace, Unit::Nanos), out)?;
    }
    Ok(status)
}

fn table<'a>(rows: &'a [MethodPercentiles], labels: &Labels<'a>) -> Table<'a> {
    let mut table = Table::default();
    table.column("calls", rows.iter().map(|row| Cell::Count(row.calls)));
    let duration = |of: fn(&MethodPercentiles) -> Bounds| {
        rows.iter().map(move |row| Cell::number(bounded_duration(of(row))))
    };
    table.column("p50", duration(|row| row.p50));
    table.column("p90", duration(|row| row.p90));
    table.column("p99", duration(|row| row.p99));
    table.column("max", duration(|row| row.max));
    table.column("method", rows.iter().map(|row| labels.cell(row.method)));
    table
}

fn columns<'a>(row: &MethodPercentiles, names: &mut RowNames<'a>) -> rows::PercentileRow<'a> {
    let by = |bounds: Bounds| (bounds.by_ns < u64::MAX).then_some(bounds.by_ns);
    rows::PercentileRow {
        method: names.get(row.method),
        calls: row.calls,
        p50_from_ns: row.p50.from_ns,
        p50_by_ns: by(row.p50),
        p90_from_ns: row.p90.from_ns,
        p90_by_ns: by(row.p90),
        p99_from_ns: row.p99.from_ns,
        p99_by_ns: by(row.p99),
        max_from_ns: row.max.from_ns,
        max_by_ns: by(row.max),
    }
}
