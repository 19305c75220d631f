//! `flow report` of a trace with a clock: how long methods ran.

use std::cmp::Reverse;
use std::io::Write;

use flow_codec::MethodMap;
use flow_codec::analysis::{Report, ReportRow, TimedReport, TimedRow};
use flow_codec::read::{Clock, Trace};

use super::{Line, default_max, left_out};
use crate::args::{Format, ReportArgs, SortKey};
use crate::failure::{Failure, Status};
use crate::output::{Align, Out, Progress, Table, csv_fields, duration, grouped, percent, plural};
use crate::reading::{Chosen, visit_timed};
use crate::source::Source;
use crate::times::caution;

/// Prints the rows of one trace.
pub(super) fn table(
    source: &Source,
    trace: &Trace,
    args: &ReportArgs,
    progress: &mut Progress,
    out: &mut Out,
) -> Result<Status, Failure> {
    let format = args.source.format;
    let chosen = Chosen::new(trace, &args.part.filter, &args.when)?;
    let clock = Clock::default();
    // Programs get calls beside times.
    let (mut report, mut by_calls) = (TimedReport::new(&clock), Report::default());
    let mut status = Status::Done;
    for file in &trace.files {
        let reading = if format == Format::Text {
            visit_timed(file, &chosen, progress, &clock, &mut report)
        } else {
            let mut both = (&mut report, &mut by_calls);
            visit_timed(file, &chosen, progress, &clock, &mut both)
        };
        report.end_thread();
        by_calls.end_thread();
        status = status.and(reading.tell(file, progress));
    }
    let mut rows = report.rows();
    match args.sort {
        SortKey::Total => {}
        SortKey::Calls => rows.sort_by_key(|row| Reverse(row.calls)),
        SortKey::Own => rows.sort_by_key(|row| Reverse(row.own_ns)),
        SortKey::Name => rows.sort_by_cached_key(|row| trace.methods.display(row.method)),
    }
    let (methods, max) = (rows.len(), default_max(args));
    let calls: u64 = rows.iter().map(|row| row.calls).sum();
    rows.truncate(max);
    match format {
        Format::Text => {
            source.begin(trace, format, out)?;
            let (calls, total) = (plural(calls, "call"), duration(report.total_ns()));
            writeln!(out, "{calls} of {} took {total}\n", plural(methods as u64, "method"))?;
            print(&rows, report.total_ns(), trace, out)?;
        }
        Format::Json | Format::Csv => {
            let name = source.name(&trace.dir);
            let mut calls = MethodMap::<Option<ReportRow>>::default();
            for row in by_calls.rows() {
                *calls.or_default(row.method) = Some(row);
            }
            for row in &rows {
                let Some(Some(by_calls)) = calls.get(row.method) else { continue };
                let line = Line::new(by_calls, &name, trace).with_times(row);
                if format == Format::Json {
                    serde_json::to_writer(&mut *out, &line)?;
                    out.write_all(b"\n")?;
                } else {
                    let fields = line.fields();
                    writeln!(out, "{}", csv_fields(fields.iter().map(String::as_str)))?;
                }
            }
        }
    }
    left_out(methods - rows.len(), max, (source, trace), format, out)?;
    if format == Format::Text {
        writeln!(out, "\n{}; --format json has bounds", caution(trace))?;
    }
    Ok(status)
}

fn print(rows: &[TimedRow], total_ns: u64, trace: &Trace, out: &mut Out) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("calls", Align::Right),
        ("total", Align::Right),
        ("%", Align::Right),
        ("self", Align::Right),
        ("%", Align::Right),
        ("method", Align::Left),
    ]);
    for row in rows {
        table.row([
            grouped(row.calls),
            duration(row.total_ns),
            percent(row.total_ns, total_ns),
            duration(row.own_ns),
            percent(row.own_ns, total_ns),
            trace.methods.display(row.method),
        ]);
    }
    Ok(table.print(out)?)
}
