//! `flow report`: per method, how often it was called and how much happened in it.

mod html;
mod neighbours;
mod paths;
mod slowest;
mod timed;

use std::io::Write;

use flow_codec::MethodId;
use flow_codec::analysis::{Report, ReportRow, Side, TimedRow};
use flow_codec::read::{ThreadFile, Trace};
use serde::Serialize;

use crate::args::{Format, ReportArgs, SortKey};
use crate::at_once::report_thread;
use crate::failure::{Failure, Status};
use crate::output::{self, Align, Out, Progress, Table, csv_fields, grouped, percent, plural};
use crate::reading::{Chosen, Reading, visit_thread};
use crate::source::Source;
use crate::times::by_time;

/// Lines of text that are shown when nobody says how many.
const DEFAULT_ROWS: u64 = 40;

/// Runs the verb.
pub(crate) fn run(args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    if let Some(to) = &args.html {
        return html::run(to, args, out);
    }
    let mut source = Source::open(&args.source)?;
    source.choose_part(&args.part)?;
    source.tell_losses();
    if !args.callers.is_empty() {
        return neighbours::run(Side::Callers, &args.callers, &source, args, out);
    }
    if !args.callees.is_empty() {
        return neighbours::run(Side::Callees, &args.callees, &source, args, out);
    }
    if let Some(kind) = args.paths {
        return paths::run(kind, &source, args, out);
    }
    if let Some(count) = args.slowest {
        return slowest::run(count, &source, args, out);
    }
    table(&source, args, out)
}

/// How many lines are shown.
fn default_max(args: &ReportArgs) -> usize {
    let max = args.max.unwrap_or(if args.source.format == Format::Text { DEFAULT_ROWS } else { 0 });
    if max == 0 { usize::MAX } else { usize::try_from(max).unwrap_or(usize::MAX) }
}

/// Calls, total and self of each method.
fn table(source: &Source, args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    let format = args.source.format;
    if format == Format::Csv {
        out.write_all(
            b"trace,method,class,name,descriptor,calls,total,self,\
              total_ns,self_ns,total_from_ns,total_by_ns\n",
        )?;
    }
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        if by_time(args.by, trace)? {
            status = status.and(timed::table(source, trace, args, &mut progress, out)?);
            continue;
        }
        let chosen = Chosen::new(trace, &args.part.filter, &args.when)?;
        let mut report = Report::default();
        let mut threads: u64 = 0;
        for file in &trace.files {
            let before = report.calls();
            let reading = read(file, &chosen, &mut progress, &mut report);
            threads += u64::from(report.calls() > before);
            status = status.and(reading.tell(file, &progress));
        }
        let mut rows = report.rows();
        sort(&mut rows, args.sort, trace);
        let methods = rows.len();
        let max = default_max(args);
        rows.truncate(max);
        let name = source.name(&trace.dir);
        match format {
            Format::Text => {
                source.begin(trace, format, out)?;
                writeln!(
                    out,
                    "{} of {} in {}\n",
                    plural(report.calls(), "call"),
                    plural(methods as u64, "method"),
                    plural(threads, "thread")
                )?;
                print(&rows, report.calls(), trace, out)?;
            }
            Format::Json => {
                for row in &rows {
                    serde_json::to_writer(&mut *out, &Line::new(row, &name, trace))?;
                    out.write_all(b"\n")?;
                }
            }
            Format::Csv => {
                for row in &rows {
                    let fields = Line::new(row, &name, trace).fields();
                    writeln!(out, "{}", csv_fields(fields.iter().map(String::as_str)))?;
                }
            }
        }
        left_out(methods - rows.len(), max, (source, trace), format, out)?;
    }
    Ok(status)
}

/// Says how many methods are not shown.
fn left_out(
    methods: usize,
    max: usize,
    (source, trace): (&Source, &Trace),
    format: Format,
    out: &mut Out,
) -> Result<(), Failure> {
    if methods > 0 {
        let text = output::left_out(&plural(methods as u64, "more method"), max);
        out.remark(format, source.place(&trace.dir).as_deref(), &text)?;
    }
    Ok(())
}

/// Adds a thread.
fn read(
    file: &ThreadFile,
    chosen: &Chosen,
    progress: &mut Progress,
    report: &mut Report,
) -> Reading {
    if chosen.is_all()
        && let Some((parts, tail)) = report_thread(file, progress)
    {
        parts.into_iter().for_each(|part| report.add(part));
        progress.file_done(file.bytes);
        return Reading { ending: tail.into(), ..Reading::new() };
    }
    let reading = visit_thread(file, chosen, progress, report);
    report.end_thread();
    reading
}

/// Sorts rows that come with the largest total first.
fn sort(rows: &mut [ReportRow], key: SortKey, trace: &Trace) {
    match key {
        SortKey::Total => {}
        SortKey::Calls => rows.sort_by_key(|row| std::cmp::Reverse(row.calls)),
        SortKey::Own => rows.sort_by_key(|row| std::cmp::Reverse(row.own)),
        SortKey::Name => rows.sort_by_cached_key(|row| trace.methods.display(row.method)),
    }
}

fn print(rows: &[ReportRow], calls: u64, trace: &Trace, out: &mut Out) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("calls", Align::Right),
        ("total", Align::Right),
        ("%", Align::Right),
        ("self", Align::Right),
        ("method", Align::Left),
    ]);
    for row in rows {
        table.row([
            grouped(row.calls),
            grouped(row.total),
            percent(row.total, calls),
            grouped(row.own),
            trace.methods.display(row.method),
        ]);
    }
    Ok(table.print(out)?)
}

/// A row for programs.
#[derive(Serialize)]
struct Line<'a> {
    trace: &'a str,
    method: MethodId,
    class: Option<&'a str>,
    name: Option<&'a str>,
    descriptor: Option<&'a str>,
    calls: u64,
    total: u64,
    #[serde(rename = "self")]
    own: u64,
    #[serde(flatten)]
    times: Option<Times>,
}

/// How long a method ran, for programs.
#[derive(Serialize)]
struct Times {
    total_ns: u64,
    self_ns: u64,
    total_from_ns: u64,
    total_by_ns: u64,
}

impl<'a> Line<'a> {
    fn new(row: &ReportRow, name: &'a str, trace: &'a Trace) -> Self {
        let info = trace.methods.get(row.method).map(|method| &method.info);
        Self {
            trace: name,
            method: row.method,
            class: info.map(|info| info.class.as_str()),
            name: info.map(|info| info.name.as_str()),
            descriptor: info.map(|info| info.descriptor.as_str()),
            calls: row.calls,
            total: row.total,
            own: row.own,
            times: None,
        }
    }

    fn with_times(self, row: &TimedRow) -> Self {
        let times = Times {
            total_ns: row.total_ns,
            self_ns: row.own_ns,
            total_from_ns: row.total.from_ns,
            total_by_ns: row.total.by_ns,
        };
        Self { times: Some(times), ..self }
    }

    fn fields(&self) -> [String; 12] {
        let time = |time: fn(&Times) -> u64| {
            self.times.as_ref().map_or(String::new(), |times| time(times).to_string())
        };
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        [
            self.trace.to_owned(),
            self.method.to_string(),
            text(self.class),
            text(self.name),
            text(self.descriptor),
            self.calls.to_string(),
            self.total.to_string(),
            self.own.to_string(),
            time(|times| times.total_ns),
            time(|times| times.self_ns),
            time(|times| times.total_from_ns),
            time(|times| times.total_by_ns),
        ]
    }
}
