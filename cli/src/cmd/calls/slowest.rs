//! `flow calls --slowest`: the longest calls, with their stacks.

use flow_codec::read::Trace;
use flow_query::ask::{Calls, FoundCall};
use flow_query::rows::{Cell, OnlyJson, RowNames, SlowRow};
use flow_query::select::file_title;

use super::list::left_by;
use crate::args::{Format, SlowestArgs};
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{
    Labels, Out, Progress, Table, bounded_duration, chain, instant, message, time_columns,
};

/// The frames that are named at each end of a stack.
const CHAIN_ENDS: usize = 3;

/// Shows the longest calls of each trace.
pub(super) fn run(args: &SlowestArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    let calls = args.method.as_deref().map_or_else(Calls::all, Calls::of_method);
    let calls = calls.longest().select(args.part.select().within(args.when.limits()));
    let calls = calls.at_most(usize::try_from(args.count).unwrap_or(usize::MAX));
    let calls = args.outcome.into_iter().fold(calls, |calls, how| calls.left_by(how.outcome()));
    let search = source.ask(|traces| calls.begin(traces))?;
    source.expect_calls()?;
    let mut answer = Answer::new::<SlowRow<'_>>(&source, args.source.format, usize::MAX, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let (mut status, mut count) = (source.status, 0);
    for (number, trace) in source.traces.iter().enumerate() {
        let mut found = Vec::new();
        let searched = search.read(&source.traces, number, &mut progress, |call| {
            found.push(call);
            Ok::<(), Failure>(())
        })?;
        status = status.and(searched.soundness);
        answer.begin(trace, out)?;
        if answer.is_text() {
            let labels = Labels::new(trace.methods(), Format::Text, args.verbose);
            print(&found, trace, &labels, out)?;
            count += found.len();
            continue;
        }
        let mut names = RowNames::new(trace.methods());
        let rows = found.iter().map(|call| SlowRow {
            thread: call.thread,
            call: call.number,
            method: names.get(call.method),
            times: time_columns(&call.times),
            open: call.is_open,
            thrown: call.thrown.as_deref(),
            depth: call.callers.len(),
            stack: OnlyJson(names.chain(&call.callers)),
        });
        answer.rows(rows, out)?;
        count += found.len();
    }
    drop(progress);
    if count == 0 && args.outcome.is_some() {
        message(
            "no call in the selected part of the trace was left in the way that --outcome names",
        );
    }
    Ok(status)
}

fn print(
    calls: &[FoundCall],
    trace: &Trace,
    labels: &Labels<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    let duration = |call: &FoundCall| {
        let open = if call.is_open { ", still open" } else { "" };
        Cell::number(format!("{}{open}", bounded_duration(call.times.duration)))
    };
    let start = |call: &FoundCall| instant(call.times.start.estimate_ns.unwrap_or(0));
    let thread =
        |call: &FoundCall| trace.files().get(call.file).map(|file| file_title(trace, file));
    let mut table = Table::default();
    table.column("duration", calls.iter().map(duration));
    table.column("start", calls.iter().map(|call| Cell::number(start(call))));
    table.column("thread", calls.iter().map(|call| Cell::text(thread(call).unwrap_or_default())));
    if calls.iter().any(|call| call.thrown.is_some()) {
        table.column("left by", calls.iter().map(left_by));
    }
    table.column("method", calls.iter().map(|call| labels.cell(call.method)));
    for (number, call) in calls.iter().enumerate().filter(|(_, call)| !call.callers.is_empty()) {
        let callers = chain(&call.callers, CHAIN_ENDS, |method| labels.short(*method));
        table.note(number + 1, format!("in {callers}"));
    }
    Ok(table.print(out)?)
}
