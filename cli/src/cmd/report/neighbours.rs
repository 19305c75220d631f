//! `flow report --callers` and `--callees`: who calls some methods, and whom they call.

use std::io::Write;

use flow_codec::MethodId;
use flow_codec::analysis::{Neighbours, Side, TimedNeighbour, TimedNeighbours};
use flow_codec::read::{Bounds, Clock, Selection, Trace};

use super::default_max;
use crate::args::{Format, ReportArgs};
use crate::failure::{Failure, Status};
use crate::output::{
    Align, Labels, Out, Progress, Table, csv_fields, duration, grouped, left_out, neutral, percent,
    plural,
};
use crate::pattern::globs;
use crate::reading::{Chosen, visit_thread, visit_timed};
use crate::source::Source;
use crate::times::{by_time, caution};

/// Who is in the caller's place where a thread begins.
const NOBODY: &str = "(nobody that was recorded)";

const CSV_TITLES: &[u8] =
    b"trace,method,class,name,descriptor,calls,total_ns,self_ns,total_from_ns,total_by_ns\n";

/// Runs the verb for this side of the methods that the patterns mean.
pub(super) fn run(
    side: Side,
    patterns: &[String],
    source: &Source,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<Status, Failure> {
    let globs = globs(patterns, source)?;
    let format = args.source.format;
    if format == Format::Csv {
        out.write_all(CSV_TITLES)?;
    }
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let shown = Chosen::new(trace, &args.part.filter, &args.when)?;
        let asked = Selection::new(&trace.methods, &globs, &[]);
        let found = if by_time(args.by, trace)? {
            timed(side, trace, &shown, &asked, &mut progress)
        } else {
            counted(side, trace, &shown, &asked, &mut progress)
        };
        status = status.and(found.status);
        source.begin(trace, format, out)?;
        found.print(side, source, trace, args, out)?;
    }
    Ok(status)
}

/// A neighbour of the methods that were asked for.
struct Row {
    /// `None`: nobody that was recorded.
    method: Option<MethodId>,
    calls: u64,
    times: Option<Times>,
}

/// How long its calls took.
struct Times {
    total_ns: u64,
    own_ns: u64,
    total: Bounds,
}

/// What was found in a trace.
struct Found {
    /// The methods that were asked for and met, with their calls.
    chosen: Vec<(MethodId, u64)>,
    /// How long they took, in a trace with times.
    took_ns: Option<u64>,
    /// The first comes first.
    rows: Vec<Row>,
    status: Status,
}

/// Counts calls.
fn counted(
    side: Side,
    trace: &Trace,
    shown: &Chosen,
    asked: &Selection,
    progress: &mut Progress,
) -> Found {
    let mut neighbours = Neighbours::new(|method| asked.contains(method));
    let mut status = Status::Done;
    for file in &trace.files {
        let reading = visit_thread(file, shown, progress, &mut neighbours);
        neighbours.end_thread();
        status = status.and(reading.tell(file, progress));
    }
    let row = |method, calls| Row { method, calls, times: None };
    let rows = match side {
        Side::Callers => {
            neighbours.callers().into_iter().map(|(method, calls)| row(method, calls)).collect()
        }
        Side::Callees => neighbours
            .callees()
            .into_iter()
            .map(|(method, calls)| row(Some(method), calls))
            .collect(),
    };
    Found { chosen: neighbours.chosen(), took_ns: None, rows, status }
}

/// The same with how long they took.
fn timed(
    side: Side,
    trace: &Trace,
    shown: &Chosen,
    asked: &Selection,
    progress: &mut Progress,
) -> Found {
    let clock = Clock::default();
    let mut neighbours = TimedNeighbours::new(&clock, side, |method| asked.contains(method));
    let mut status = Status::Done;
    for file in &trace.files {
        let reading = visit_timed(file, shown, progress, &clock, &mut neighbours);
        neighbours.end_thread();
        status = status.and(reading.tell(file, progress));
    }
    let row = |row: TimedNeighbour| {
        let TimedNeighbour { method, calls, total_ns, own_ns, total } = row;
        Row { method, calls, times: Some(Times { total_ns, own_ns, total }) }
    };
    let rows = neighbours.rows().into_iter().map(row).collect();
    Found { chosen: neighbours.chosen(), took_ns: Some(neighbours.took_ns()), rows, status }
}

impl Found {
    fn print(
        &self,
        side: Side,
        source: &Source,
        trace: &Trace,
        args: &ReportArgs,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let (format, max) = (args.source.format, default_max(args));
        let (shown, left) = self.rows.split_at(max.min(self.rows.len()));
        match format {
            Format::Text => {
                writeln!(out, "{}", neutral(&self.heading(side, trace)))?;
                if self.rows.is_empty() {
                    return Ok(());
                }
                out.write_all(b"\n")?;
                self.table(shown, side, trace, out)?;
            }
            _ => lines(shown, &source.name(&trace.dir), trace, format, out)?,
        }
        if !left.is_empty() {
            let more = plural(left.len() as u64, &format!("more {}", title(side)));
            let calls = plural(left.iter().map(|row| row.calls).sum(), "call");
            let text = left_out(&format!("{more} with {calls}"), max);
            out.remark(format, source.place(&trace.dir).as_deref(), &text)?;
        }
        if format == Format::Text && self.took_ns.is_some() {
            writeln!(out, "\n{}; --format json has bounds", caution(trace))?;
        }
        Ok(())
    }

    fn heading(&self, side: Side, trace: &Trace) -> String {
        let methods = match &self.chosen[..] {
            [] => "methods that were never called".to_owned(),
            [(method, _)] => trace.methods.display(*method),
            chosen => plural(chosen.len() as u64, "method"),
        };
        let calls = self.chosen.iter().map(|(_, calls)| calls).sum();
        let made = plural(self.rows.iter().map(|row| row.calls).sum(), "call");
        let took = self.took_ns.map(|ns| format!("took {}", duration(ns)));
        match (side, took) {
            (Side::Callers, None) => format!("callers of {methods}: {}", plural(calls, "call")),
            (Side::Callers, Some(took)) => {
                format!("callers of {methods}: {} {took}", plural(calls, "call"))
            }
            (Side::Callees, None) => format!("{methods}, called {}×, made {made}", grouped(calls)),
            (Side::Callees, Some(took)) => {
                format!("{methods}, called {}×, {took} and made {made}", grouped(calls))
            }
        }
    }

    fn table(
        &self,
        shown: &[Row],
        side: Side,
        trace: &Trace,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let mut labels = Labels::new(&trace.methods, Format::Text);
        let name = (title(side), Align::Left);
        let right = |title| (title, Align::Right);
        let mut table = match self.took_ns {
            None => Table::new(&[right("calls"), right("%"), name]),
            Some(_) => {
                Table::new(&[right("calls"), right("total"), right("%"), right("self"), name])
            }
        };
        let all = self.rows.iter().map(|row| row.calls).sum();
        for Row { method, calls, times } in shown {
            let label = method.map_or(NOBODY, |method| labels.get(method));
            let calls_cell = grouped(*calls);
            match (times, self.took_ns) {
                (Some(Times { total_ns, own_ns, .. }), Some(took)) => table.row([
                    calls_cell.as_str(),
                    &duration(*total_ns),
                    &percent(*total_ns, took),
                    &duration(*own_ns),
                    label,
                ]),
                _ => table.row([calls_cell.as_str(), &percent(*calls, all), label]),
            }
        }
        Ok(table.print(out)?)
    }
}

fn title(side: Side) -> &'static str {
    match side {
        Side::Callers => "caller",
        Side::Callees => "callee",
    }
}

fn lines(
    rows: &[Row],
    name: &str,
    trace: &Trace,
    format: Format,
    out: &mut Out,
) -> Result<(), Failure> {
    let mut labels = Labels::new(&trace.methods, format);
    let is_json = format == Format::Json;
    let name = if is_json { serde_json::Value::from(name).to_string() } else { csv_fields([name]) };
    for Row { method, calls, times } in rows {
        let nobody = match is_json {
            true => r#""method":null,"class":null,"name":null,"descriptor":null"#,
            false => ",,,",
        };
        let label = method.map_or(nobody, |method| labels.get(method));
        let times = times.as_ref().map(|Times { total_ns, own_ns, total }| {
            let Bounds { from_ns, by_ns } = total;
            match is_json {
                true => format!(
                    ",\"total_ns\":{total_ns},\"self_ns\":{own_ns},\
                     \"total_from_ns\":{from_ns},\"total_by_ns\":{by_ns}"
                ),
                false => format!(",{total_ns},{own_ns},{from_ns},{by_ns}"),
            }
        });
        match is_json {
            true => {
                let times = times.unwrap_or_default();
                writeln!(out, "{{\"trace\":{name},{label},\"calls\":{calls}{times}}}")?;
            }
            false => {
                let times = times.unwrap_or_else(|| ",,,,".to_owned());
                writeln!(out, "{name},{label},{calls}{times}")?;
            }
        }
    }
    Ok(())
}
