//! `flow graph`: calls by path, as a tree.

mod print;
mod select;

use std::io::Write;

use flow_codec::MethodId;
use flow_codec::analysis::{Graph, PathTree, Rooted, TimedGraph};
use flow_codec::read::{Clock, Selection, ThreadFile};

use crate::args::{Format, GraphArgs};
use crate::failure::{Failure, Status};
use crate::output::{Out, Progress};
use crate::pattern::globs;
use crate::reading::visit_thread;
use crate::source::{Source, file_title};
use crate::times::{by_time, visit_timed};
use print::Print;

/// Runs the verb.
pub(crate) fn run(args: &GraphArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    source.choose(&args.threads)?;
    source.choose_tests(&args.tests)?;
    let roots = globs(&args.methods, &source)?;
    source.tell_losses();
    if args.source.format == Format::Csv {
        out.write_all(print::CSV_HEADING)?;
    }
    let mut progress = Progress::new(source.bytes(), false);
    let mut status = source.status;
    for trace in &source.traces {
        let mut print = Print::new(args, &source, trace);
        let shown = args.filter.selection(trace);
        let roots = Selection::new(&trace.methods, &roots, &[]);
        let is_timed = by_time(args.by, trace)?;
        source.begin(trace, args.source.format, out)?;
        let groups: Vec<_> = match args.per_thread {
            true => trace.files.chunks(1).collect(),
            false => vec![&trace.files[..]],
        };
        for files in groups {
            let read = match is_timed {
                true => read_timed(files, &shown, &roots, &mut progress),
                false => read(files, &shown, &roots, &mut progress),
            };
            status = status.and(read.status);
            let title = match files {
                [file] if args.per_thread => Some((file.id, file_title(trace, file))),
                _ => None,
            };
            print.tree(&read.tree, read.threads, title, out)?;
        }
    }
    Ok(status)
}

struct Read {
    tree: PathTree,
    /// How many of the threads have calls.
    threads: u64,
    status: Status,
}

/// Adds up the calls of some threads that are shown, and happen in one of the roots.
fn read(
    files: &[ThreadFile],
    shown: &Selection,
    roots: &Selection,
    progress: &mut Progress,
) -> Read {
    let is_root = |method: MethodId| roots.contains(method);
    let mut graph = Graph::default();
    let (mut threads, mut status) = (0, Status::Done);
    for file in files {
        let before = graph.calls();
        let reading = if roots.is_all() {
            visit_thread(file, shown, progress, &mut graph)
        } else {
            visit_thread(file, shown, progress, &mut Rooted::new(is_root, &mut graph))
        };
        graph.end_thread();
        threads += u64::from(graph.calls() > before);
        status = status.and(reading.tell(file, progress));
    }
    Read { tree: graph.into_tree(), threads, status }
}

/// The same with the time that passed.
fn read_timed(
    files: &[ThreadFile],
    shown: &Selection,
    roots: &Selection,
    progress: &mut Progress,
) -> Read {
    let is_root = |method: MethodId| roots.contains(method);
    let clock = Clock::default();
    let mut graph = TimedGraph::new(&clock);
    let (mut threads, mut status) = (0, Status::Done);
    for file in files {
        let before = graph.calls();
        let reading = if roots.is_all() {
            visit_timed(file, shown, progress, &clock, &mut graph)
        } else {
            visit_timed(file, shown, progress, &clock, &mut Rooted::new(is_root, &mut graph))
        };
        graph.end_thread();
        threads += u64::from(graph.calls() > before);
        status = status.and(reading.tell(file, progress));
    }
    Read { tree: graph.into_tree(), threads, status }
}
