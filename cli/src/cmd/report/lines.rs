//! `report --lines`: the lines in which samples found each method, beside its calls.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;

use flow_codec::read::Trace;
use flow_codec::{MethodId, Name, ThreadId};
use flow_query::analysis::{ReportRow, Run};
use flow_query::profile::{FrameGrouping, Numbers, Profile, ThreadGrouping};
use flow_query::rows::{Cell, LineRow, RowNames};

use super::max_lines;
use super::table::sums;
use crate::args::{Format, ReportArgs, SortKey};
use crate::failure::{Failure, Status};
use crate::input::profile::read_samples;
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::times::{no_samples, selected, weight_of};
use crate::output::{Labels, Out, Progress, Table, Unit, message, plural, signed_duration};

/// Prints the lines of each trace.
pub(super) fn run(source: &Source, args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut answer = Answer::new::<LineRow<'_>>(source, args.source.format, max_lines(args), out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let unit = weight_of(args.weight.by, trace)?;
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
        let mut rows = profile.rows(|row| match args.sort() {
            SortKey::SelfWeight => Reverse(row.numbers[0].self_count),
            _ => Reverse(row.numbers[0].total_count),
        });
        // Methods that were sampled and not recorded are in `flow report --samples`.
        rows.retain(|row| row.frame.is_some());
        let whole = profile.whole()[0];
        let mut names = RowNames::new(&trace.methods);
        let found = rows.into_iter().filter_map(|sampled| {
            let frame = sampled.frame?;
            let info = &profile.methods().get(frame.method)?.info;
            let of_method = *by_name.get(&Name::from(info))?;
            let (source, line) = info.named_place(frame.line);
            let numbers = sampled.numbers[0];
            let row = LineRow {
                method: names.get(of_method.method),
                source,
                line,
                samples: numbers.total_count,
                self_samples: numbers.self_count,
                waiting_ns: knows_waiting(whole).then_some(numbers.waiting_ns),
                calls: of_method.calls,
                total: of_method.total,
                self_weight: of_method.self_weight,
                unit: unit.word(),
            };
            Some((of_method.method, row))
        });
        let mut lines: Vec<_> = found.collect();
        let more = answer.cut(&mut lines);
        answer.begin(trace, out)?;
        if answer.is_text() {
            let labels = Labels::new(&trace.methods, Format::Text, args.verbose);
            text(&lines, whole, sums.calls, unit, &labels, out)?;
        } else {
            answer.rows(lines.into_iter().map(|(_, row)| row), out)?;
        }
        answer.more(trace, more, "more line", out)?;
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
    lines: &[(MethodId, LineRow<'_>)],
    whole: Numbers,
    calls: u64,
    unit: Unit,
    labels: &Labels<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    let samples = whole.total_count;
    write!(out, "{} and {}", plural(samples, "sample"), plural(calls, "call"))?;
    if knows_waiting(whole) {
        let waiting = signed_duration(whole.waiting_ns);
        write!(out, "; threads waited for {waiting} of {}", signed_duration(whole.total_ns))?;
    }
    writeln!(out, "\n")?;
    let rows = || lines.iter().map(|(_, row)| row);
    let share = |part| Cell::Share { part, whole: samples };
    let mut table = Table::default();
    table.column("samples", rows().map(|row| Cell::Count(row.samples)));
    table.column("%", rows().map(|row| share(row.samples)));
    table.column("self", rows().map(|row| Cell::Count(row.self_samples)));
    table.column("%", rows().map(|row| share(row.self_samples)));
    if knows_waiting(whole) {
        let waiting = |row: &LineRow<'_>| Cell::SignedNanos(row.waiting_ns.unwrap_or(0));
        table.column("waiting", rows().map(waiting));
    }
    table.column("calls", rows().map(|row| Cell::Count(row.calls)));
    if unit.is_time() {
        let total = if unit == Unit::Cpu { "cpu" } else { "total" };
        table.column(total, rows().map(|row| Cell::Nanos(row.total)));
    }
    let names = lines.iter().map(|(method, LineRow { source, line, .. })| {
        let place = line.map(|line| format!("  {}:{line}", source.unwrap_or("line")));
        Cell::method(labels.name(*method) + &place.unwrap_or_default())
    });
    table.column("method and line", names);
    Ok(table.print(out)?)
}
