//! `flow report --tree`: calls by path, as a tree.

mod print;
mod select;

use flow_codec::read::Selection;
use flow_query::rows::GraphRow;

use crate::args::{Format, GraphArgs};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::pattern::methods;
use crate::input::source::answer::Answer;
use crate::input::source::{Source, file_title};
use crate::input::times::{selected, weight_of};
use crate::output::{Out, Progress, Unit};
use flow_query::reading::ContextTree;
use print::GraphPrinter;

/// Paths shown in text by default.
const DEFAULT_MAX: u64 = 100;

/// Shows the tree of a source whose threads are not selected yet.
pub(crate) fn run(args: &GraphArgs, mut source: Source, out: &mut Out) -> Result<Status, Failure> {
    source.choose_part(&args.part)?;
    args.when.expect_in(&source.traces)?;
    let roots = methods(&args.methods, &source.traces)?;
    source.report_losses();
    let max = line_limit(args.max, args.source.format, DEFAULT_MAX);
    let mut answer = Answer::new::<GraphRow<'_>>(&source, args.source.format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let chosen = selected(trace, &args.part.filter, &args.when)?;
        let roots = Selection::new(&trace.methods, &roots, &[]);
        let unit = weight_of(args.weight.by, trace)?;
        answer.begin(trace, out)?;
        let mut print = GraphPrinter::new(args, &mut answer, trace);
        let groups: Vec<_> = match args.per_thread {
            true => trace.files.chunks(1).collect(),
            false => vec![&trace.files[..]],
        };
        for files in groups {
            // Programs read all paths, or their numbers.
            let is_part = args.source.format == Format::Text && unit == Unit::Calls;
            let limits = |weight| print.limits(weight);
            let largest = match is_part {
                true => ContextTree::largest(files, &chosen, &roots, limits, &mut progress),
                false => None,
            };
            let read = largest.unwrap_or_else(|| {
                ContextTree::read(files, &chosen, &roots, unit.axis(), &mut progress)
            });
            status = status.and(read.status);
            let title = match files {
                [file] if args.per_thread => Some((file.id, file_title(trace, file))),
                _ => None,
            };
            print.tree(&read.tree, read.threads, title, out)?;
        }
        print.end(unit, out)?;
    }
    Ok(status)
}
