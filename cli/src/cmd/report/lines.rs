//! `report --lines`: the lines in which samples found each method, beside its calls.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;

use flow_codec::read::Trace;
use flow_codec::{MethodId, Name, ThreadId};
use flow_query::analysis::{ReportRow, Run};
use flow_query::profile::{FrameGrouping, Numbers, Profile, ProfileRow, ThreadGrouping};

use super::max_lines;
use super::table::sums;
use crate::args::{Format, ReportArgs, SortKey};
use crate::cmd::trace_field;
use crate::failure::{Failure, Status};
use crate::input::profile::read_samples;
use crate::input::source::Source;
use crate::input::times::{no_samples, selected, weight_of};
use crate::output::{
    Align, Labels, Out, Progress, Table, Unit, csv_fields, grouped, left_out, message, percent,
    plural, signed_duration,
};

/// A line of a method, and the calls of the method.
struct LineRow<'a> {
    sampled: ProfileRow<'a>,
    source: Option<&'a str>,
    line: Option<u32>,
    of_method: ReportRow,
}

/// Prints the lines of each trace.
pub(super) fn run(source: &Source, args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    let format = args.source.format;
    if format == Format::Csv {
        let method = Labels::COLUMNS;
        writeln!(
            out,
            "trace,{method},source,line,samples,self_samples,waiting_ns,calls,total,self,unit"
        )?;
    }
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let unit = weight_of(args.weight.by(), trace)?;
        let chosen = selected(trace, &args.part.filter, &args.when)?;
        let Some(read) = read_samples(trace, &args.part.tests)? else {
            return Err(no_samples(trace));
        };
        for error in &read.damage {
            status = Status::Damaged;
            message(&error.to_string());
        }
        let mut profile = Profile::new(FrameGrouping::Line, ThreadGrouping::Merged);
        profile.add_samples(
            Run::Before,
            &read.profile,
            |id, _| {
                let id = u64::try_from(id).ok().map(ThreadId::new);
                id.is_some_and(|id| args.part.threads.include(trace, id))
            },
            |_| true,
        );
        let profile = profile.flat();
        let sums = sums(trace, &chosen, unit, &mut progress);
        status = status.and(sums.status);
        let by_name: HashMap<Name<'_>, ReportRow> =
            sums.rows.iter().filter_map(|row| Some((name_of(trace, row.method)?, *row))).collect();
        let mut rows = profile.rows(|row| match args.sort {
            SortKey::SelfWeight => Reverse(row.numbers[0].self_count),
            _ => Reverse(row.numbers[0].total_count),
        });
        // Methods that were sampled and not recorded are in `flow profile`.
        rows.retain(|row| row.frame.is_some());
        let found = rows.into_iter().filter_map(|sampled| {
            let frame = sampled.frame?;
            let info = &profile.methods().get(frame.method)?.info;
            let of_method = *by_name.get(&Name::from(info))?;
            let (source, line) = info.named_place(frame.line);
            Some(LineRow { sampled, source, line, of_method })
        });
        let mut lines: Vec<_> = found.collect();
        let (count, max) = (lines.len() as u64, max_lines(args));
        lines.truncate(max);
        source.begin(trace, format, out)?;
        let whole = profile.whole()[0];
        match format {
            Format::Text => text(&lines, whole, sums.calls, unit, trace, args, out)?,
            _ => {
                let trace_name = trace_field(source, trace, format);
                rows_of(&lines, knows_waiting(whole), unit, &trace_name, trace, args, out)?;
            }
        }
        let more = count - lines.len() as u64;
        if more > 0 {
            let text = left_out(&plural(more, "more line"), max);
            out.remark(format, source.place(&trace.dir).as_deref(), &text)?;
        }
    }
    Ok(status)
}

fn name_of(trace: &Trace, method: MethodId) -> Option<Name<'_>> {
    trace.methods.get(method).map(|method| Name::from(&method.info))
}

/// Whether it is known for how long threads did not run.
fn knows_waiting(whole: Numbers) -> bool {
    whole.waiting_ns != 0
}

fn text(
    lines: &[LineRow<'_>],
    whole: Numbers,
    calls: u64,
    unit: Unit,
    trace: &Trace,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    let samples = whole.total_count;
    write!(out, "{} and {}", plural(samples, "sample"), plural(calls, "call"))?;
    if knows_waiting(whole) {
        let waiting = signed_duration(whole.waiting_ns);
        write!(out, "; threads waited for {waiting} of {}", signed_duration(whole.total_ns))?;
    }
    writeln!(out, "\n")?;
    let mut labels = Labels::new(&trace.methods, Format::Text, args.verbose);
    let total = if unit == Unit::Cpu { "cpu" } else { "total" };
    let waiting = knows_waiting(whole).then_some("waiting");
    let numbers = ["samples", "%", "self", "%"].into_iter().chain(waiting).chain(["calls"]);
    let numbers = numbers.chain(unit.is_time().then_some(total));
    let columns =
        numbers.map(|title| (title, Align::Right)).chain([("method and line", Align::Left)]);
    let mut table = Table::new(&columns.collect::<Vec<_>>());
    for LineRow { sampled, source, line, of_method } in lines {
        let numbers = sampled.numbers[0];
        let mut name = labels.get(of_method.method).to_owned();
        if let Some(line) = line {
            name.push_str(&format!("  {}:{line}", source.unwrap_or("line")));
        }
        let cells = [
            grouped(numbers.total_count),
            percent(numbers.total_count, samples),
            grouped(numbers.self_count),
            percent(numbers.self_count, samples),
        ];
        let waiting = waiting.map(|_| signed_duration(numbers.waiting_ns));
        let total = unit.is_time().then(|| unit.show(of_method.total));
        let calls = [grouped(of_method.calls)];
        table.row(cells.into_iter().chain(waiting).chain(calls).chain(total).chain([name]));
    }
    Ok(table.print(out)?)
}

fn rows_of(
    lines: &[LineRow<'_>],
    knows_waiting: bool,
    unit: Unit,
    trace_name: &str,
    trace: &Trace,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    let format = args.source.format;
    let mut labels = Labels::new(&trace.methods, format, args.verbose);
    for LineRow { sampled, source, line, of_method } in lines {
        let numbers = sampled.numbers[0];
        let label = labels.get(of_method.method);
        let (samples, of_self) = (numbers.total_count, numbers.self_count);
        let ReportRow { calls, total, self_weight, .. } = *of_method;
        let unit = unit.word();
        let waiting = knows_waiting.then(|| numbers.waiting_ns.to_string());
        if format == Format::Json {
            let waiting = waiting.unwrap_or_else(|| "null".to_owned());
            let source = serde_json::Value::from(*source);
            let line = line.map_or("null".to_owned(), |line| line.to_string());
            writeln!(
                out,
                "{{\"trace\":{trace_name},{label},\"source\":{source},\"line\":{line},\
                 \"samples\":{samples},\"self_samples\":{of_self},\"waiting_ns\":{waiting},\"calls\":{calls},\
                 \"total\":{total},\"self\":{self_weight},\"unit\":\"{unit}\"}}"
            )?;
        } else {
            let source = source.map_or(String::new(), |source| csv_fields([source]));
            let line = line.map_or(String::new(), |line| line.to_string());
            let waiting = waiting.unwrap_or_default();
            writeln!(
                out,
                "{trace_name},{label},{source},{line},{samples},{of_self},{waiting},{calls},{total},\
                 {self_weight},{unit}"
            )?;
        }
    }
    Ok(())
}
