//! `flow report --tree`: calls or samples by path, as a tree; with `--callers` or `--callees`, those of some methods.

mod print;
pub(crate) mod select;

use flow_codec::read::Selection;
use flow_query::rows::GraphRow;

use super::counted::{counted, samples_of, without};
use super::filter::Filter;
use crate::args::{Format, PercentOf, ReportArgs, ThreadsBy};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Out, Progress, Unit};
use flow_query::select::methods;
use print::TreePrinter;

/// Paths shown in text by default.
const DEFAULT_MAX: u64 = 100;

/// Shows the trees of a source.
pub(super) fn run(
    source: &Source,
    of_samples: bool,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<Status, Failure> {
    let (rows, format) = (&args.rows, args.source.format);
    let roots = methods(&args.view.methods, &source.traces)?;
    let sides = rows.sides();
    let globs = if of_samples { Vec::new() } else { methods(&sides, &source.traces)? };
    let max = line_limit(args.max, format, DEFAULT_MAX);
    let without = without(args.rows.threads(), args.frames().is_some());
    let mut answer = Answer::without::<GraphRow<'_>>(&without, source, format, max, out)?;
    let mut status = source.status;
    for trace in &source.traces {
        let samples = samples_of(source, trace, of_samples, &args.part, args.rows.gaps(), out)?;
        let mut progress = Progress::new(source.bytes(), out);
        let counted = counted(trace, samples.as_ref(), args)?;
        let globs = if of_samples { counted.globs(&sides)? } else { globs.clone() };
        let roots = Selection::new(trace.methods(), &roots, &[]);
        answer.begin(trace, out)?;
        let groups = counted.groups(rows.threads());
        let all = match rows.percent_of {
            Some(PercentOf::All) if groups.len() > 1 => {
                let groups = counted.groups(ThreadsBy::Merged);
                groups.first().map(|group| group.sums(&counted, &mut progress).total)
            }
            _ => None,
        };
        let is_whole = !rows.has_sides() && rows.conditions.is_empty();
        let filter = Filter::new(&rows.conditions, &counted);
        let mut print = TreePrinter::new(args, &mut answer, trace, &counted, all, is_whole);
        for group in &groups {
            // Programs read all paths, or their numbers.
            print.is_pruned = counted.unit == Unit::Calls && is_whole && all.is_none();
            let is_part = format == Format::Text && print.is_pruned;
            let limits = |weight| print.limits(weight);
            let limits = is_part.then_some(&limits as &dyn Fn(u64) -> _);
            let mut read = group.tree(&roots, limits, &mut progress);
            status = status.and(read.status);
            let summary = group.summary(&read.tree);
            read.tree = counted.sides(read.tree, rows, &globs);
            if !rows.conditions.is_empty() {
                let tree = &read.tree;
                read.tree = tree.only(|path| {
                    let (Some(row), Some(weight)) = (tree.row(path), print.weight(tree, path))
                    else {
                        return false;
                    };
                    filter.holds(row.method, group.name(), weight, tree.weight())
                });
            }
            print.tree(&read, group, summary, out)?;
        }
        print.end(out)?;
    }
    Ok(status)
}
