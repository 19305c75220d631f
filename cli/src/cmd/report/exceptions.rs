//! `flow report --exceptions`: which exceptions ended calls, and which methods caught them.

use crate::input::times::selected;
use std::io::Write;

use flow_codec::read::{ThreadFile, Trace};
use flow_query::analysis::{ExceptionRow, Exceptions};

use super::max_lines;
use crate::args::{Format, ReportArgs};
use crate::cmd::trace_field;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::output::{
    Align, Labels, Out, Progress, Table, csv_fields, escaped, grouped, left_out, plural,
};
use flow_query::reading::{Reading, Selected, read_timeline, start_ns};

/// What caught exceptions that left all recorded methods of their thread.
const OUTSIDE: &str = "(outside of recorded methods)";

/// Prints the exceptions of each trace.
pub(super) fn run(source: &Source, args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    let format = args.source.format;
    if format == Format::Csv {
        writeln!(out, "trace,exception,{},thrown,passed,caught", Labels::COLUMNS)?;
    }
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let chosen = selected(trace, &args.part.filter, &args.when)?;
        let mut exceptions = Exceptions::default();
        for file in &trace.files {
            let reading = read(trace, file, &chosen, &mut exceptions, &mut progress);
            status = status.and(reading.report(file, &progress));
        }
        let mut rows = exceptions.rows();
        source.begin(trace, format, out)?;
        let (all, max) = (rows.len(), max_lines(args));
        if format == Format::Text {
            heading(&rows, out)?;
        }
        rows.truncate(max);
        let labels = Labels::new(&trace.methods, format, args.verbose);
        match format {
            Format::Text => table(&rows, labels, out)?,
            _ => lines(&rows, (format, labels), &trace_field(source, trace, format), out)?,
        }
        if rows.len() < all {
            let text = left_out(&plural((all - rows.len()) as u64, "more line"), max);
            out.remark(format, source.place(&trace.dir).as_deref(), &text)?;
        }
    }
    Ok(status)
}

/// Reads a thread.
fn read(
    trace: &Trace,
    file: &ThreadFile,
    chosen: &Selected,
    exceptions: &mut Exceptions,
    progress: &mut Progress,
) -> Reading {
    let mut timeline = match chosen.timeline(file, start_ns(trace, file)) {
        Ok(timeline) => timeline,
        Err(error) => return Reading::failed(error),
    };
    let mut reading = read_timeline(file, &mut timeline, progress, exceptions);
    exceptions.end_thread();
    reading.marks = timeline.marks_damage();
    reading
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

fn table(rows: &[ExceptionRow], mut labels: Labels<'_>, out: &mut Out) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("thrown", Align::Right),
        ("passed", Align::Right),
        ("caught", Align::Right),
        ("exception", Align::Left),
        ("method", Align::Left),
    ]);
    for row in rows {
        table.row([
            grouped(row.thrown),
            grouped(row.passed),
            grouped(row.caught),
            escaped(row.class.as_deref().unwrap_or("?")).into_owned(),
            row.method.map_or(OUTSIDE, |method| labels.get(method)).to_owned(),
        ]);
    }
    Ok(table.print(out)?)
}

fn lines(
    rows: &[ExceptionRow],
    (format, mut labels): (Format, Labels<'_>),
    trace_name: &str,
    out: &mut Out,
) -> Result<(), Failure> {
    let [json, csv] = Labels::NOTHING;
    for row in rows {
        let ExceptionRow { class, method, thrown, passed, caught, .. } = row;
        if format == Format::Json {
            let label = method.map_or(json, |method| labels.get(method));
            let class = serde_json::Value::from(class.as_deref());
            writeln!(
                out,
                "{{\"trace\":{trace_name},\"exception\":{class},{label},\"thrown\":{thrown},\
                 \"passed\":{passed},\"caught\":{caught}}}"
            )?;
        } else {
            let label = method.map_or(csv, |method| labels.get(method));
            let class =
                class.as_deref().map_or(String::new(), |class| csv_fields([&*escaped(class)]));
            writeln!(out, "{trace_name},{class},{label},{thrown},{passed},{caught}")?;
        }
    }
    Ok(())
}
