//! `flow calls --slowest`: the longest calls, with their stacks.

use flow_codec::index::INTERVAL_BYTES;
use flow_codec::read::{Selection, ThreadFile, Trace};
use flow_codec::{Error, MethodId};
use flow_query::analysis::{SlowCall, Slowest};
use flow_query::rows::{Cell, OnlyJson, RowNames, SlowRow};

use crate::args::{Format, SlowestArgs};
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::times::{has_clock, no_clock, selected};
use crate::output::{Labels, Out, Progress, Table, bounded_duration, chain, instant, times_of};
use flow_query::reading::{find_stacks, open_tree, read_thread, start_ns};
use flow_query::select::file_title;
use flow_query::select::methods;

/// The number of intervals of the index that a lookup in the tree reads, for the call and for its frames.
const INTERVALS_A_LOOKUP: usize = 4;
/// Up to this many calls are looked up one by one, even in a small thread.
const FEW_LOOKUPS: usize = 8;

/// The frames that are named at each end of a stack.
const CHAIN_ENDS: usize = 3;

/// Shows the longest calls of each trace.
pub(super) fn run(args: &SlowestArgs, out: &mut Out) -> Result<Status, Failure> {
    let count = usize::try_from(args.count).unwrap_or(usize::MAX);
    let mut source = Source::open(&args.source)?;
    source.choose_part(&args.part)?;
    args.when.expect_in(&source.traces)?;
    let asked = methods(args.method.as_slice(), &source.traces)?;
    source.report_losses();
    let mut answer = Answer::new::<SlowRow<'_>>(&source, args.source.format, usize::MAX, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        if !has_clock(trace) {
            return Err(no_clock(trace));
        }
        let chosen = selected(trace, &args.part.filter, &args.when)?;
        let asked = Selection::new(&trace.methods, &asked, &[]);
        let mut slowest = Slowest::of(count, asked);
        for file in &trace.files {
            let timeline = chosen.timeline(file, start_ns(trace, file));
            let end = Slowest::end_thread;
            let reading = read_thread(file, timeline, &mut progress, &mut slowest, end);
            status = status.and(reading.report(file, &progress));
        }
        let mut calls = slowest.into_calls();
        let stacks = stacks(&mut calls, trace, &chosen.selection, &mut progress);
        answer.begin(trace, out)?;
        if answer.is_text() {
            let labels = Labels::new(&trace.methods, Format::Text, args.verbose);
            print(&calls, &stacks, trace, &labels, out)?;
            continue;
        }
        let mut names = RowNames::new(&trace.methods);
        let rows = calls.iter().zip(&stacks).filter_map(|(slow, stack)| {
            let call = &slow.call;
            Some(SlowRow {
                thread: trace.files.get(slow.thread)?.id,
                call: call.number,
                method: names.get(call.method),
                times: times_of(call),
                open: call.is_open,
                depth: stack.len(),
                stack: OnlyJson(names.chain(stack)),
            })
        });
        answer.rows(rows, out)?;
    }
    Ok(status)
}

/// Finds the stacks of calls, without frames that are left out; empty if the thread cannot be read again. Calls in
/// ranges of a thread get their numbers in the whole thread, which other verbs use.
fn stacks(
    calls: &mut [SlowCall],
    trace: &Trace,
    selection: &Selection,
    progress: &mut Progress,
) -> Vec<Vec<MethodId>> {
    let mut stacks = vec![Vec::new(); calls.len()];
    let mut rows: Vec<_> = calls.iter_mut().zip(&mut stacks).collect();
    // The calls of each thread are consecutive and in order.
    rows.sort_by_key(|(call, _)| (call.thread, call.call.number));
    for of_thread in rows.chunk_by_mut(|(a, _), (b, _)| a.thread == b.thread) {
        let number = of_thread.first().map(|(call, _)| call.thread);
        let Some(file) = number.and_then(|number| trace.files.get(number)) else { continue };
        // If the thread cannot be read, the first reading has reported it.
        let _ = if is_for_one_pass(file, of_thread.len()) {
            stacks_in_one_pass(file, of_thread, progress)
        } else {
            stacks_one_by_one(file, of_thread, progress)
        };
    }
    for stack in &mut stacks {
        stack.retain(|method| selection.contains(*method));
    }
    stacks
}

/// A call, and the place for its stack.
type CallAndStack<'a> = (&'a mut SlowCall, &'a mut Vec<MethodId>);

/// Returns whether finding the calls one by one would read more than the whole thread.
fn is_for_one_pass(file: &ThreadFile, rows: usize) -> bool {
    let parts = file.parts.as_ref().map_or(0, |parts| parts.ranges.len());
    let lookups = rows.saturating_mul(parts.saturating_add(1));
    let bytes = lookups.saturating_mul(INTERVALS_A_LOOKUP * INTERVAL_BYTES);
    lookups > FEW_LOOKUPS && bytes as u64 > file.bytes
}

fn stacks_in_one_pass(
    file: &ThreadFile,
    rows: &mut [CallAndStack<'_>],
    progress: &mut Progress,
) -> Result<(), Error> {
    let numbers: Vec<_> = rows.iter().map(|(call, _)| call.call.number).collect();
    for ((call, stack), found) in rows.iter_mut().zip(find_stacks(file, &numbers, progress)?) {
        call.call.number = found.call;
        **stack = found.frames;
    }
    Ok(())
}

fn stacks_one_by_one(
    file: &ThreadFile,
    rows: &mut [CallAndStack<'_>],
    progress: &mut Progress,
) -> Result<(), Error> {
    let mut tree = open_tree(file, progress)?;
    for (call, stack) in rows {
        if let Some(parts) = &file.parts {
            let Some((node, frames)) = tree.call_in(parts, call.call.number)? else { continue };
            call.call.number = node.place.enters;
            **stack = frames.iter().map(|frame| frame.method).collect();
        } else if let Some(node) = tree.call(call.call.number)? {
            **stack = tree.open_methods(node.place)?;
        }
    }
    Ok(())
}

fn print(
    calls: &[SlowCall],
    stacks: &[Vec<MethodId>],
    trace: &Trace,
    labels: &Labels<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    let duration = |slow: &SlowCall| {
        let open = if slow.call.is_open { ", still open" } else { "" };
        Cell::number(format!("{}{open}", bounded_duration(slow.call.duration())))
    };
    let start = |slow: &SlowCall| instant(slow.call.start.estimate_ns.unwrap_or(0));
    let thread = |slow: &SlowCall| trace.files.get(slow.thread).map(|file| file_title(trace, file));
    let mut table = Table::default();
    table.column("duration", calls.iter().map(duration));
    table.column("start", calls.iter().map(|slow| Cell::number(start(slow))));
    table.column("thread", calls.iter().map(|slow| Cell::text(thread(slow).unwrap_or_default())));
    table.column("method", calls.iter().map(|slow| labels.cell(slow.call.method)));
    for (number, stack) in stacks.iter().enumerate().filter(|(_, stack)| !stack.is_empty()) {
        let callers = chain(stack, CHAIN_ENDS, |method| labels.short(*method));
        table.note(number + 1, format!("in {callers}"));
    }
    Ok(table.print(out)?)
}
