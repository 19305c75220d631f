//! `report --lines`: the lines in which samples found each method, beside its calls.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;

use flow_codec::read::Trace;
use flow_codec::{MethodId, Name, ThreadId};
use flow_query::profile::{FrameGrouping, Frames};
use flow_query::reading::Soundness;
use flow_query::rows::{Cell, LineRow, RowNames};

use super::limit::max_lines;
use super::sums::sums;
use crate::args::{Format, ReportArgs, SortKey};
use crate::failure::{Failure, Status};
use crate::input::samples::read_samples;
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::times::{no_samples, scale_of, selected, times_note, weight_of};
use crate::output::{Labels, Out, Progress, Scale, Table, Unit, Weight, duration, plural};

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
        status = status.and(Soundness::skipping(read.damage(), &progress));
        let frames = Frames::new(read.profile(), FrameGrouping::Line);
        let is_selected = |id| {
            let id = u64::try_from(id).ok().map(ThreadId::new);
            id.is_some_and(|id| args.part.threads.include(trace, id))
        };
        let all = frames.tree(is_selected, |_| true, None);
        let whole = Whole {
            samples: all.samples(all.root()),
            ns: all.times_ns(all.root())[0],
            waiting_ns: Some(all.waiting_ns(all.root())).filter(|ns| *ns > 0),
        };
        let flat = all.flat();
        let sums = sums(trace.files(), &chosen, unit, &mut progress);
        status = status.and(sums.status);
        let by_name: HashMap<Name<'_>, (MethodId, Weight)> =
            sums.rows.iter().filter_map(|row| Some((name_of(trace, row.0)?, *row))).collect();
        let mut rows: Vec<_> = flat.rows().map(|(_, row)| row).collect();
        rows.sort_by_key(|row| match args.sort() {
            SortKey::SelfWeight => Reverse(row.self_weight),
            _ => Reverse(row.total),
        });
        // Methods that were sampled and not recorded are in `flow report --samples`.
        let mut names = RowNames::new(trace.methods());
        let found = rows.into_iter().filter_map(|sampled| {
            let frame = frames.get(sampled.method)?;
            let info = frames.methods().get(frame.method)?.info();
            let (method, of_method) = *by_name.get(&Name::from(info))?;
            let (source, line) = info.named_place(frame.line);
            let row = LineRow {
                method: names.get(method),
                source,
                line,
                samples: sampled.total,
                self_samples: sampled.self_weight,
                waiting_ns: whole.waiting_ns.map(|_| sampled.waiting_ns),
                calls: of_method.count(),
                total: of_method.total,
                self_weight: of_method.self_weight,
                unit: unit.word(),
            };
            Some((method, of_method, row))
        });
        let mut lines: Vec<_> = found.collect();
        let scale = scale_of(trace, unit, sums.total);
        let more = answer.cut(&mut lines);
        answer.begin(trace, out)?;
        if answer.is_text() {
            let labels = Labels::new(trace.methods(), Format::Text, args.verbose);
            text(&lines, whole, sums.calls, scale, &labels, out)?;
        } else {
            answer.rows(lines.iter().map(|(.., row)| row.clone()), out)?;
        }
        answer.more(trace, more, "more line", out)?;
        if answer.is_text() && unit.is_time() {
            let is_rough = lines.iter().any(|(_, weight, _)| weight.is_marked(scale));
            writeln!(out, "\n{}", times_note(trace, unit, is_rough))?;
        }
    }
    Ok(status)
}

fn name_of(trace: &Trace, method: MethodId) -> Option<Name<'_>> {
    trace.methods().get(method).map(|method| Name::from(method.info()))
}

/// All samples.
#[derive(Clone, Copy)]
struct Whole {
    samples: u64,
    ns: u64,
    /// For how long threads did not run, if that is known.
    waiting_ns: Option<u64>,
}

fn text(
    lines: &[(MethodId, Weight, LineRow<'_>)],
    whole: Whole,
    calls: u64,
    scale: Scale,
    labels: &Labels<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    let Whole { samples, ns, waiting_ns } = whole;
    write!(out, "{} and {}", plural(samples, "sample"), plural(calls, "call"))?;
    if let Some(waiting_ns) = waiting_ns {
        write!(out, "; threads waited for {} of {}", duration(waiting_ns), duration(ns))?;
    }
    writeln!(out, "\n")?;
    let rows = || lines.iter().map(|(.., row)| row);
    let share = |part| Cell::Share { part, whole: samples };
    let mut table = Table::default();
    table.column("samples", rows().map(|row| Cell::Count(row.samples)));
    table.column("%", rows().map(|row| share(row.samples)));
    table.column("self", rows().map(|row| Cell::Count(row.self_samples)));
    table.column("%", rows().map(|row| share(row.self_samples)));
    if waiting_ns.is_some() {
        let waiting = |row: &LineRow<'_>| Cell::Nanos(row.waiting_ns.unwrap_or(0));
        table.column("waiting", rows().map(waiting));
    }
    table.column("calls", rows().map(|row| Cell::Count(row.calls)));
    if scale.unit().is_time() {
        let total = if scale.unit() == Unit::Cpu { "cpu" } else { "total" };
        let totals = lines.iter().map(|(_, weight, _)| Cell::number(weight.show_total(scale)));
        table.column(total, totals);
    }
    let names = lines.iter().map(|(method, _, LineRow { source, line, .. })| {
        let place = line.map(|line| format!("  {}:{line}", source.unwrap_or("line")));
        Cell::method(labels.name(*method) + &place.unwrap_or_default())
    });
    table.column("method and line", names);
    Ok(table.print(out)?)
}
