//! A page for a browser: what happened in a trace, whatever its size.
//!
//! ```text
//! records ─▶ gather (one pass) ─┬▶ timeline  calls of a thread, as boxes ─┐
//!                               ├▶ paths     calls by path: a flame graph ├▶ data ─▶ page ─▶ one file
//!                               └▶ sums      calls, total, self           ─┘
//! ```
//!
//! What is drawn is as wide as it took: in nanoseconds where the trace has a clock (`timed`), else in
//! calls made.
//!
//! The page holds what can be seen of the calls, not the calls: every part has a budget, whatever the
//! trace, and what a budget leaves out is counted and shown as such. It is one file that loads
//! nothing. What is drawn, and what happens when somebody clicks, is in `page/`.
//!
//! Names come from class files. They reach the page as JSON in which nothing ends a script, the
//! script turns them into text and nothing else, and the page's policy forbids all code but its own.

mod chart;
mod data;
mod facts;
mod gather;
mod names;
mod page;
mod paths;
mod threads;
mod timed;
mod timeline;

use flow_codec::read::Trace;

use crate::export::Clock;
use crate::failure::{Failure, Status};
use crate::output::Progress;
use crate::reading::{Chosen, visit_thread};
use crate::times::timing;
use data::{Data, flat_boxes, flat_edges};
use facts::Facts;
pub(crate) use facts::Note;
use gather::Gather;
use names::Names;
use threads::Threads;

/// Boxes of a flame graph.
const FLAME_BOXES: usize = 15_000;

/// Reads a trace, and answers the page.
///
/// # Errors
/// Data cannot be made JSON.
pub(crate) fn page(
    trace: &Trace,
    chosen: &Chosen,
    notes: Vec<Note>,
) -> Result<(Vec<u8>, Status), Failure> {
    let bytes = trace.files.iter().map(|file| file.bytes).sum();
    let mut progress = Progress::without_results(bytes);
    let mut status = Status::Done;
    let mut gather = Gather::default();
    let mut threads = Threads::new(trace);
    let timing = timing(trace);
    for file in &trace.files {
        gather.begin_thread(threads.next_budget());
        let (reading, sums) = if !timing.is_off() {
            timed::read(trace, file, chosen, &mut progress, &mut gather)
        } else {
            let reading = visit_thread(file, chosen, &mut progress, &mut gather);
            (reading, gather.end_thread())
        };
        threads.add(file, sums, &reading);
        status = status.and(reading.tell(file, &progress));
    }
    let (methods, paths) = gather.finish();
    let (edges, more_calls) = (paths.edges(), paths.more_calls());
    let flame = paths.finish(FLAME_BOXES);
    let shown = threads.boxes().chain(&flame).map(|cell| cell.method);
    let names = Names::new(&trace.methods, &methods, shown);
    let mut facts = Facts::new(trace, notes);
    facts.timing(timing);
    if more_calls > 0 {
        facts.many_paths(more_calls);
    }
    let data = Data {
        unit: if timing.is_off() { Clock::UNIT } else { timed::UNIT },
        is_filtered: !chosen.is_all() || trace.files.iter().any(|file| file.parts.is_some()),
        flame: flat_boxes(&flame, &names),
        flame_end: flame.iter().map(|cell| cell.end).max().unwrap_or(0),
        edges: flat_edges(&edges, &names),
        threads: threads.rows(&names),
        more_threads: threads.more(),
        names: &names,
        facts,
    };
    Ok((page::page(&data)?, status))
}
