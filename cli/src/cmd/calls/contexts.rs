//! `flow calls --by context`: what threads worked for.

use flow_query::ask::ContextSum;
use flow_query::rows::{Cell, ContextRow};

use super::following_contexts;
use crate::args::ContextsArgs;
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Out, Progress, Table, bounded_duration, instant, message, plural};
use flow_query::Error;
use flow_query::reading::Soundness;

/// Values shown by default.
const DEFAULT_MAX: u64 = 20;

pub(super) fn run(args: &ContextsArgs, out: &mut Out) -> Result<Status, Failure> {
    if args.follow {
        return following_contexts::run(args, out);
    }
    let source = Source::open(&args.source)?;
    source.report_losses();
    let max = line_limit(args.max, args.source.format, DEFAULT_MAX);
    let mut answer = Answer::new::<ContextRow<'_>>(&source, args.source.format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let found = args.asked.find(trace, &mut progress);
        let is_recorded = found.is_ok();
        let (mut sums, soundness) = match found {
            Err(error @ Error::NotRecorded { .. }) => {
                message(&error.to_string());
                (Vec::new(), Soundness::Whole)
            }
            read => read?,
        };
        status = status.and(soundness);
        answer.begin(trace, out)?;
        if answer.is_text() {
            out.heading(&plural(sums.len() as u64, "value"))?;
        }
        if sums.is_empty() && is_recorded {
            message("no method that gives a key a value was called while it was recorded");
        }
        let more = answer.cut(&mut sums);
        match answer.is_text() {
            true => table(&sums, out)?,
            false => answer.rows(sums.iter().map(row).collect::<Vec<_>>(), out)?,
        }
        answer.more(trace, more, "more value", out)?;
    }
    Ok(status)
}

fn row(sum: &ContextSum) -> ContextRow<'_> {
    let (start_ns, end_ns) = (sum.begun.estimate_ns, sum.ended.estimate_ns);
    ContextRow {
        key: &sum.key,
        value: &sum.value,
        start_ns,
        duration_ns: start_ns.zip(end_ns).map(|(start, end)| end.saturating_sub(start)),
        threads: sum.threads as u64,
        calls: sum.calls,
        thrown: sum.thrown,
        thread: sum.thread,
        call: sum.call,
        shape: Some(sum.shape.to_string()),
        alike: Some(sum.alike),
        odd: Some(sum.is_odd),
    }
}

fn table(sums: &[ContextSum], out: &mut Out) -> Result<(), Failure> {
    if sums.is_empty() {
        return Ok(());
    }
    let mut table = Table::default();
    if sums.iter().any(|sum| sum.begun.estimate_ns.is_some()) {
        let start = |sum: &ContextSum| {
            sum.begun.estimate_ns.map_or(Cell::Nothing, |ns| Cell::number(instant(ns)))
        };
        let duration = |sum: &ContextSum| {
            Cell::number(bounded_duration(sum.begun.bounds.until(sum.ended.bounds)))
        };
        table.column("start", sums.iter().map(start));
        table.column("duration", sums.iter().map(duration));
    }
    table.column("threads", sums.iter().map(|sum| Cell::Count(sum.threads as u64)));
    table.column("calls", sums.iter().map(|sum| Cell::Count(sum.calls)));
    if sums.iter().any(|sum| sum.thrown > 0) {
        table.column("!", sums.iter().map(|sum| Cell::Count(sum.thrown)));
    }
    if sums.iter().any(|sum| sum.is_odd) {
        let odd = |sum: &ContextSum| if sum.is_odd { Cell::text("odd") } else { Cell::Nothing };
        table.column("", sums.iter().map(odd));
    }
    table.column("alike", sums.iter().map(|sum| Cell::Count(sum.alike)));
    table.column("shape", sums.iter().map(|sum| Cell::text(sum.shape.to_string())));
    table.column(
        "first call",
        sums.iter().map(|sum| Cell::text(format!("{}:{}", sum.thread, sum.call))),
    );
    let text = |sum: &ContextSum| Cell::text(format!("{}={}", sum.key, sum.value));
    table.column("works for", sums.iter().map(text));
    Ok(table.print(out)?)
}
