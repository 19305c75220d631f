//! The table of methods.

use std::cmp::Reverse;
use std::io::Write;

use flow_codec::read::{Clock, ThreadFile, TimeAxis, Trace};
use flow_query::analysis::{Report, ReportRow, TimedReport};
use flow_query::rows::{MethodRow, RowNames};

use super::max_lines;
use crate::args::{Format, ReportArgs, SortKey};
use crate::failure::{Failure, Status};
use crate::input::own;
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::times::{scale_of, selected, times_note, weight_of};
use crate::output::{Labels, Out, Progress, Shares, Table, Unit, Weight, duration, plural};
use flow_query::reading::{
    Listener as _, Reading, Selected, add_stored, add_times, report_thread, visit_events,
};

/// The sums of the calls of a trace.
pub(super) struct ReportSums {
    pub(super) rows: Vec<ReportRow>,
    /// The calls of all methods together, their total, and how long threads waited in them.
    pub(super) calls: u64,
    total: u64,
    waiting: u64,
    /// The number of threads with calls.
    threads: u64,
    pub(super) status: Status,
}

/// Prints calls, total and self of each method.
pub(super) fn table(source: &Source, args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut answer =
        Answer::new::<MethodRow<'_>>(source, args.source.format, max_lines(args), out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let unit = weight_of(args.weight.by, trace)?;
        let chosen = selected(trace, &args.part.filter, &args.when)?;
        let sums = sums(trace, &chosen, unit, &mut progress);
        status = status.and(sums.status);
        let mut rows = sums.rows;
        match args.sort() {
            SortKey::Total => rows.sort_by_key(|row| Reverse(row.total)),
            SortKey::Calls => rows.sort_by_key(|row| Reverse(row.calls)),
            SortKey::SelfWeight => rows.sort_by_key(|row| Reverse(row.self_weight)),
            SortKey::Name => rows.sort_by_cached_key(|row| trace.methods.display(row.method)),
        }
        let calls = rows.iter().map(|row| (row.method, row.calls));
        let hint = own::hint(trace, &args.part.filter, calls).filter(|_| answer.is_text());
        let methods = plural(rows.len() as u64, "method");
        let more = answer.cut(&mut rows);
        let weights: Vec<_> = rows.iter().map(|row| Weight::from(*row)).collect();
        answer.begin(trace, out)?;
        if answer.is_text() {
            let (calls, threads) = (plural(sums.calls, "call"), plural(sums.threads, "thread"));
            let took = match unit {
                Unit::Calls => String::new(),
                Unit::Nanos => took(trace, sums.total, sums.threads),
                Unit::Cpu => ran(trace, sums.total, sums.waiting),
            };
            writeln!(out, "{calls} of {methods} in {threads}{took}\n")?;
            let labels = Labels::new(&trace.methods, Format::Text, args.verbose);
            let mut table = Table::default();
            table.weights(&weights, scale_of(trace, unit, sums.total), Shares::Both);
            table.column("method", rows.iter().map(|row| labels.cell(row.method)));
            table.print(out)?;
        } else {
            let mut names = RowNames::new(&trace.methods);
            let rows = rows.iter().zip(&weights).map(|(row, weight)| MethodRow {
                method: names.get(row.method),
                weight: weight.columns(unit),
            });
            answer.rows(rows, out)?;
        }
        answer.more(trace, more, "more method", out)?;
        if answer.is_text() && unit.is_time() {
            let is_rough = weights.iter().any(|weight| weight.is_rough());
            writeln!(out, "\n{}", times_note(trace, unit, is_rough))?;
        }
        if let Some(hint) = hint {
            out.note(&hint)?;
        }
    }
    Ok(status)
}

/// How long the calls of a trace took. Threads run at the same time, so their sum may be more than the recording.
fn took(trace: &Trace, total_ns: u64, threads: u64) -> String {
    let all = duration(total_ns);
    let end = trace.manifest.as_ref().and_then(|manifest| manifest.end.as_ref());
    match end {
        _ if threads < 2 => format!(" took {all}"),
        Some(end) => format!(" took {all}, added up, in a recording of {}", duration(end.at_ns)),
        None => format!(" took {all}, added up"),
    }
}

/// How long threads ran and waited, and how long the recording took.
fn ran(trace: &Trace, cpu_ns: u64, waiting_ns: u64) -> String {
    let (cpu, waiting) = (duration(cpu_ns), duration(waiting_ns));
    let end = trace.manifest.as_ref().and_then(|manifest| manifest.end.as_ref());
    let recording =
        end.map_or(String::new(), |end| format!(", in a recording of {}", duration(end.at_ns)));
    format!(" ran for {cpu} and waited for {waiting}{recording}")
}

/// Adds up the calls of a trace.
pub(super) fn sums(
    trace: &Trace,
    chosen: &Selected,
    unit: Unit,
    progress: &mut Progress,
) -> ReportSums {
    match unit.axis() {
        None => counted(trace, chosen, progress),
        Some(TimeAxis::Wall) => timed::<false>(trace, chosen, progress),
        Some(TimeAxis::Cpu) => timed::<true>(trace, chosen, progress),
    }
}

fn counted(trace: &Trace, chosen: &Selected, progress: &mut Progress) -> ReportSums {
    let mut report = Report::default();
    let (mut threads, mut status) = (0, Status::Done);
    for file in &trace.files {
        let before = report.calls();
        let reading = read(file, chosen, progress, &mut report);
        threads += u64::from(report.calls() > before);
        status = status.and(reading.report(file, progress));
    }
    let calls = report.calls();
    ReportSums { rows: report.rows(), calls, total: calls, waiting: 0, threads, status }
}

fn timed<const CPU: bool>(trace: &Trace, chosen: &Selected, progress: &mut Progress) -> ReportSums {
    let clock = Clock::default();
    let mut report = TimedReport::<CPU>::new(&clock);
    let (mut threads, mut status) = (0, Status::Done);
    for file in &trace.files {
        let before = report.calls();
        let reading = add_times(file, chosen, progress, &mut report);
        threads += u64::from(report.calls() > before);
        status = status.and(reading.report(file, progress));
    }
    let (calls, total, waiting) = (report.calls(), report.total_ns(), report.waiting_ns());
    ReportSums { rows: report.rows(), calls, total, waiting, threads, status }
}

/// Counts the calls of a thread.
fn read(
    file: &ThreadFile,
    chosen: &Selected,
    progress: &mut Progress,
    report: &mut Report,
) -> Reading {
    if let Some(reading) = add_stored(file, chosen, progress, report) {
        return reading;
    }
    if chosen.is_all()
        && let Some((parts, tail)) = report_thread(file, progress)
    {
        parts.into_iter().for_each(|part| report.add(part));
        progress.file_done(file.bytes);
        return Reading { ending: tail.into(), ..Reading::default() };
    }
    let reading = visit_events(file, chosen, progress, report);
    report.end_thread();
    reading
}
