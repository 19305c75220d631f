//! `flow report --slowest`: the longest calls, with their stacks.

use std::io::Write;

use flow_codec::index::INTERVAL_BYTES;
use flow_codec::read::{Selection, ThreadFile, Trace};
use flow_codec::{Error, MethodId};
use flow_query::analysis::{SlowCall, Slowest};

use crate::args::{Format, ReportArgs};
use crate::cmd::trace_field;
use crate::failure::{Failure, Status};
use crate::input::source::{Source, file_title};
use crate::input::times::{has_clock, no_clock, selected};
use crate::output::{Align, Labels, Out, Progress, Table, bounded_duration, chain, instant};
use flow_query::reading::{Reading, Selected, find_stacks, open_tree, read_timeline, start_ns};

/// The number of intervals of the index that a lookup in the tree reads, for the call and for its frames.
const INTERVALS_A_LOOKUP: usize = 4;
/// Up to this many calls are looked up one by one, even in a small thread.
const FEW_LOOKUPS: usize = 8;

/// The frames that are named at each end of a stack.
const CHAIN_ENDS: usize = 3;

const CSV_TIMES: &str = "start_ns,start_from_ns,start_by_ns,duration_ns,duration_from_ns,\
                         duration_by_ns,open,depth";

/// Runs the verb for the `count` longest calls of each trace.
pub(super) fn run(
    count: usize,
    source: &Source,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<Status, Failure> {
    let format = args.source.format;
    if format == Format::Csv {
        writeln!(out, "trace,thread,call,{},{CSV_TIMES}", Labels::COLUMNS)?;
    }
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        if !has_clock(trace) {
            return Err(no_clock(trace));
        }
        let chosen = selected(trace, &args.part.filter, &args.when)?;
        let mut slowest = Slowest::new(count);
        for file in &trace.files {
            let reading = read(trace, file, &chosen, &mut slowest, &mut progress);
            status = status.and(reading.report(file, &progress));
        }
        let mut calls = slowest.into_calls();
        let stacks = stacks(&mut calls, trace, &chosen.selection, &mut progress);
        source.begin(trace, format, out)?;
        let labels = Labels::new(&trace.methods, format, args.verbose);
        match format {
            Format::Text => print(&calls, &stacks, trace, labels, out)?,
            _ => lines(
                &calls,
                &stacks,
                trace,
                &trace_field(source, trace, format),
                (format, labels),
                out,
            )?,
        }
    }
    Ok(status)
}

/// Reads a thread.
fn read(
    trace: &Trace,
    file: &ThreadFile,
    chosen: &Selected,
    slowest: &mut Slowest,
    progress: &mut Progress,
) -> Reading {
    let mut timeline = match chosen.timeline(file, start_ns(trace, file)) {
        Ok(timeline) => timeline,
        Err(error) => return Reading::failed(error),
    };
    let mut reading = read_timeline(file, &mut timeline, progress, slowest);
    slowest.end_thread(&timeline);
    reading.marks = timeline.marks_damage();
    reading
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
    mut labels: Labels<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("duration", Align::Right),
        ("start", Align::Right),
        ("thread", Align::Left),
        ("method", Align::Left),
    ]);
    for (call, stack) in calls.iter().zip(stacks) {
        let thread = trace.files.get(call.thread).map(|file| file_title(trace, file));
        let call = &call.call;
        let open = if call.is_open { ", still open" } else { "" };
        table.row([
            &format!("{}{open}", bounded_duration(call.duration())),
            &instant(call.start.estimate_ns.unwrap_or(0)),
            &thread.unwrap_or_default(),
            labels.get(call.method),
        ]);
        if !stack.is_empty() {
            let callers = chain(stack, CHAIN_ENDS, |method| labels.short(*method));
            table.row(["", "", "", &format!("in {callers}")]);
        }
    }
    Ok(table.print(out)?)
}

fn lines(
    calls: &[SlowCall],
    stacks: &[Vec<MethodId>],
    trace: &Trace,
    name: &str,
    (format, mut labels): (Format, Labels<'_>),
    out: &mut Out,
) -> Result<(), Failure> {
    for (call, stack) in calls.iter().zip(stacks) {
        let Some(file) = trace.files.get(call.thread) else { continue };
        let duration_ns = call.duration_ns();
        let call = &call.call;
        let (thread, depth) = (file.id, stack.len());
        let label = labels.get(call.method).to_owned();
        let (number, start, duration, is_open) =
            (call.number, call.start, call.duration(), call.is_open);
        let start_ns = start.estimate_ns.unwrap_or(0);
        let (start_from, start_by) = (start.bounds.from_ns, start.bounds.by_ns);
        let duration_from = duration.from_ns;
        if format == Format::Json {
            let duration_by = known(duration.by_ns).map_or("null".to_owned(), |ns| ns.to_string());
            let stack: Vec<_> = stack.iter().map(|method| labels.name(*method)).collect();
            let stack = serde_json::Value::from(stack);
            writeln!(
                out,
                "{{\"trace\":{name},\"thread\":{thread},\"call\":{number},{label},\
                 \"start_ns\":{start_ns},\"start_from_ns\":{start_from},\"start_by_ns\":{start_by},\
                 \"duration_ns\":{duration_ns},\"duration_from_ns\":{duration_from},\
                 \"duration_by_ns\":{duration_by},\"open\":{is_open},\"depth\":{depth},\"stack\":{stack}}}"
            )?;
        } else {
            let duration_by = known(duration.by_ns).map_or(String::new(), |ns| ns.to_string());
            writeln!(
                out,
                "{name},{thread},{number},{label},{start_ns},{start_from},{start_by},{duration_ns},\
                 {duration_from},{duration_by},{is_open},{depth}"
            )?;
        }
    }
    Ok(())
}

/// An upper bound; `None` if it is unknown.
fn known(by_ns: u64) -> Option<u64> {
    (by_ns != u64::MAX).then_some(by_ns)
}
