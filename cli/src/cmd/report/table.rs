//! The table of methods.

use std::cmp::Reverse;
use std::io::Write;

use flow_codec::read::Trace;
use flow_query::rows::{Cell, MethodRow, RowNames};

use super::counted::{Counted, Group, counted, samples_of, without};
use super::filter::{Filter, NONE_MEETS};
use super::limit::max_lines;
use super::sums::ReportSums;
use crate::args::{Format, PercentOf, ReportArgs, SortKey, ThreadsBy};
use crate::failure::{Failure, Status};
use crate::input::library::library_hint;
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Labels, Out, Progress, Shares, Table, Unit, Weight, duration, plural};

/// Prints calls or samples, total and self of each method.
pub(super) fn table(
    source: &Source,
    of_samples: bool,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<Status, Failure> {
    let (format, max) = (args.source.format, max_lines(args));
    let without = without(args.rows.threads(), args.frames().is_some());
    let mut answer = Answer::without::<MethodRow<'_>>(&without, source, format, max, out)?;
    let mut status = source.status;
    for trace in &source.traces {
        let samples = samples_of(source, trace, of_samples, &args.part, args.rows.gaps(), out)?;
        let mut progress = Progress::new(source.bytes(), out);
        let counted = counted(trace, samples.as_ref(), args)?;
        answer.begin(trace, out)?;
        let groups = counted.groups(args.rows.threads());
        let all = match args.rows.percent_of {
            Some(PercentOf::All) if groups.len() > 1 => {
                let groups = counted.groups(ThreadsBy::Merged);
                groups.first().map(|group| group.sums(&counted, &mut progress).total)
            }
            _ => None,
        };
        for (number, group) in groups.iter().enumerate() {
            if number > 0 && answer.is_text() {
                out.write_all(b"\n")?;
            }
            let mut sums = group.sums(&counted, &mut progress);
            status = status.and(sums.status);
            sums.rows.iter_mut().for_each(|(_, weight)| weight.whole = all);
            List { trace, counted: &counted, args }.print(group, sums, &mut answer, out)?;
        }
    }
    Ok(status)
}

/// The lists of a trace.
struct List<'a> {
    trace: &'a Trace,
    counted: &'a Counted<'a>,
    args: &'a ReportArgs,
}

impl List<'_> {
    fn print(
        &self,
        group: &Group<'_>,
        sums: ReportSums,
        answer: &mut Answer<'_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let Self { trace, counted, args } = *self;
        let (unit, mut rows) = (counted.unit, sums.rows);
        match args.sort() {
            SortKey::Total => rows.sort_by_key(|(_, weight)| Reverse(weight.total)),
            SortKey::Calls => rows.sort_by_key(|(_, weight)| Reverse(weight.count())),
            SortKey::SelfWeight => rows.sort_by_key(|(_, weight)| Reverse(weight.self_weight)),
            SortKey::Name => {
                let name = |row| counted.methods().display(counted.frame(row).method);
                rows.sort_by_cached_key(|(row, _)| name(*row));
            }
        }
        let filter = Filter::new(&args.rows.conditions, counted);
        let min = args.rows.min.unwrap_or(0.0);
        let methods = plural(rows.len() as u64, "method");
        let calls = rows.iter().filter_map(|(row, weight)| Some((*row, weight.calls?)));
        let hint = library_hint(trace, &args.part.filter, calls).filter(|_| answer.is_text());
        rows.retain(|(row, weight)| {
            weight.percents(sums.total)[0] >= min
                && filter.holds(*row, group.name(), *weight, sums.total)
        });
        let more = answer.cut(&mut rows);
        let weights: Vec<Weight> = rows.iter().map(|(_, weight)| *weight).collect();
        if answer.is_text() {
            if let Some(title) = &group.title {
                out.heading(&format!("thread {title}"))?;
            }
            let summary = sums.summary.unwrap_or_else(|| {
                let took = match unit {
                    Unit::Calls | Unit::Samples => String::new(),
                    Unit::Nanos => took(trace, sums.total, sums.threads),
                    Unit::Cpu => ran(trace, sums.total, sums.waiting),
                };
                let (calls, threads) = (plural(sums.calls, "call"), plural(sums.threads, "thread"));
                format!("{calls} of {methods} in {threads}{took}")
            });
            writeln!(out, "{summary}\n")?;
            if weights.is_empty() && !args.rows.conditions.is_empty() {
                return Ok(writeln!(out, "{NONE_MEETS}")?);
            }
            let labels = Labels::new(counted.methods(), Format::Text, args.verbose);
            let mut table = Table::default();
            table.weights(&weights, counted.scale(sums.total), Shares::Both);
            let names = rows.iter().map(|(row, _)| Cell::method(counted.name(*row, &labels)));
            table.column("method", names);
            table.print(out)?;
        } else {
            let mut names = RowNames::new(counted.methods());
            let rows = rows.iter().map(|(row, weight)| MethodRow {
                threads: group.columns(),
                method: names.get(counted.frame(*row).method),
                place: args.frames().map(|_| counted.place(*row)),
                weight: weight.columns(unit),
            });
            answer.rows(rows, out)?;
        }
        answer.more(trace, more, "more method", out)?;
        let is_rough = weights.iter().any(|weight| weight.is_rough());
        if answer.is_text()
            && let Some(note) = counted.note(is_rough)
        {
            writeln!(out, "\n{note}")?;
        }
        hint.map_or(Ok(()), |hint| Ok(out.note(&hint)?))
    }
}

/// How long the calls of a trace took. Threads run at the same time, so their sum may be more than the recording.
fn took(trace: &Trace, total_ns: u64, threads: u64) -> String {
    let all = duration(total_ns);
    let end = trace.manifest().and_then(|manifest| manifest.end.as_ref());
    match end {
        _ if threads < 2 => format!(" took {all}"),
        Some(end) => format!(" took {all}, added up, in a recording of {}", duration(end.at_ns)),
        None => format!(" took {all}, added up"),
    }
}

/// How long threads ran and waited, and how long the recording took.
fn ran(trace: &Trace, cpu_ns: u64, waiting_ns: u64) -> String {
    let (cpu, waiting) = (duration(cpu_ns), duration(waiting_ns));
    let end = trace.manifest().and_then(|manifest| manifest.end.as_ref());
    let recording =
        end.map_or(String::new(), |end| format!(", in a recording of {}", duration(end.at_ns)));
    format!(" ran for {cpu} and waited for {waiting}{recording}")
}
