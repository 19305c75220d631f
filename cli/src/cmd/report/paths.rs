//! `flow report --paths`: the longest path, the deepest stack, the most frequent stacks.

use std::io::Write;

use flow_codec::read::{Selection, Trace};
use flow_query::analysis::{Deepest, PathId, PathRow, PathTree};
use flow_query::rows::{Cell, FrameRow, PathColumns, RowNames, StepRow};

use super::limit::max_lines;
use crate::args::{By, PathsKind, ReportArgs};
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::times::{scale_of, selected, times_note, weight_of};
use crate::output::{
    Labels, Out, Progress, Shares, Table, Unit, Weight, chain, duration, escaped, grouped,
    left_out, percent, plural,
};
use flow_query::reading::{ContextTree, visit_thread};
use flow_query::select::file_title;

/// The frames that are named at each end of a stack.
const CHAIN_ENDS: usize = 3;

/// Runs the verb for these paths.
pub(super) fn run(
    kind: PathsKind,
    source: &Source,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<Status, Failure> {
    if kind == PathsKind::Deepest && args.weight.by.is_some() {
        return Err(Failure::Usage("--by does not apply to --paths deepest".to_owned()));
    }
    let begin = match kind {
        PathsKind::Longest => Answer::new::<StepRow<'_>>,
        PathsKind::Deepest => Answer::new::<FrameRow<'_>>,
        PathsKind::Frequent => Answer::new::<PathColumns<'_>>,
    };
    let mut answer = begin(source, args.source.format, max_lines(args), out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let shown = selected(trace, &args.part.filter, &args.when)?;
        let labels = Labels::new(trace.methods(), args.source.format, args.verbose);
        let names = RowNames::new(trace.methods());
        if kind == PathsKind::Deepest {
            let mut deepest = Deepest::default();
            for file in trace.files() {
                let reading = visit_thread(file, &shown, &mut progress, &mut deepest);
                deepest.end_thread();
                status = status.and(reading.report(file, &progress));
            }
            answer.begin(trace, out)?;
            // The number of the event is unknown if calls were left out.
            let event = shown.is_all().then(|| deepest.event());
            PathPrinter { trace, answer: &mut answer, labels, names }
                .deepest(&deepest, event, out)?;
            continue;
        }
        // Frequent means by calls, unless --by is given.
        let by = if kind == PathsKind::Frequent {
            args.weight.by.or(Some(By::Calls))
        } else {
            args.weight.by
        };
        let (all, unit) = (Selection::all(), weight_of(by, trace)?);
        let read = ContextTree::read(trace.files(), &shown, &all, unit.axis(), &mut progress);
        status = status.and(read.soundness());
        let tree = read.into_tree();
        answer.begin(trace, out)?;
        let mut paths = PathPrinter { trace, answer: &mut answer, labels, names };
        let is_rough = match kind {
            PathsKind::Longest => paths.longest(&tree, out)?,
            _ => paths.frequent(&tree, out)?,
        };
        if unit.is_time() && answer.is_text() {
            writeln!(out, "\n{}", times_note(trace, unit, is_rough))?;
        }
    }
    Ok(status)
}

/// Prints the paths of one trace.
struct PathPrinter<'a, 's> {
    trace: &'a Trace,
    answer: &'a mut Answer<'s>,
    labels: Labels<'a>,
    names: RowNames<'a>,
}

impl PathPrinter<'_, '_> {
    fn deepest(
        &mut self,
        deepest: &Deepest,
        event: Option<u64>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let stack = deepest.stack();
        let Some(file) = self.trace.files().get(deepest.thread()).filter(|_| !stack.is_empty())
        else {
            return Ok(());
        };
        if self.answer.is_text() {
            let frames = plural(stack.len() as u64, "frame");
            let title = file_title(self.trace, file);
            let line = match event {
                Some(event) => {
                    format!("{frames}, first reached by event {} of thread {title}", grouped(event))
                }
                None => format!("{frames}, in thread {title}"),
            };
            writeln!(out, "{}\n", escaped(&line))?;
        }
        let frames: Vec<_> = stack.iter().copied().enumerate().collect();
        let ends = Ends::of(&frames, self.answer.max);
        if self.answer.is_text() {
            let mut table = Table::default();
            table.column("depth", ends.shown().map(|(depth, _)| Cell::Count(*depth as u64)));
            table.column("method", ends.shown().map(|(_, method)| self.labels.cell(*method)));
            return self.table(table, &ends, out);
        }
        let rows = ends.shown().map(|(depth, method)| FrameRow {
            thread: file.id(),
            event,
            depth: *depth,
            method: self.names.get(*method),
        });
        self.answer.rows(rows, out)?;
        self.hidden(&ends, out)
    }

    /// Prints the longest path. Returns whether a weight is rough.
    fn longest(&mut self, tree: &PathTree, out: &mut Out) -> Result<bool, Failure> {
        let unit = Unit::new(tree.axis());
        let path = tree.longest().into_iter().filter_map(|path| tree.row(path));
        let path: Vec<_> = path.enumerate().collect();
        let ends = Ends::of(&path, self.answer.max);
        let weights: Vec<_> = ends.shown().map(|(_, row)| Weight::from(*row)).collect();
        if self.answer.is_text() {
            let scale = scale_of(self.trace, unit, tree.weight());
            let mut table = Table::default();
            table.weights(&weights, scale, Shares::Both);
            table.column("method", ends.shown().map(|(_, row)| self.labels.cell(row.method)));
            self.table(table, &ends, out)?;
        } else {
            let rows = ends.shown().zip(&weights).map(|((depth, row), weight)| StepRow {
                depth: *depth,
                method: self.names.get(row.method),
                weight: weight.columns(unit),
            });
            self.answer.rows(rows, out)?;
            self.hidden(&ends, out)?;
        }
        Ok(weights.iter().any(|weight| weight.is_rough()))
    }

    /// Prints a table of frames, with a line for those that are left out.
    fn table<T>(
        &self,
        mut table: Table<'_>,
        ends: &Ends<'_, T>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        if let Some(text) = ends.left_out(self.answer.max) {
            table.note(ends.outer.len(), text);
        }
        Ok(table.print(out)?)
    }

    /// Reports the frames that are left out.
    fn hidden<T>(&self, ends: &Ends<'_, T>, out: &mut Out) -> Result<(), Failure> {
        let text = ends.left_out(self.answer.max);
        text.map_or(Ok(()), |text| self.answer.remark(self.trace, &text, out))
    }

    /// Prints the heaviest paths. Returns whether a weight is rough.
    fn frequent(&mut self, tree: &PathTree, out: &mut Out) -> Result<bool, Failure> {
        let is_text = self.answer.is_text();
        if is_text {
            let (paths, calls) = (plural(tree.len() as u64, "path"), plural(tree.calls(), "call"));
            writeln!(out, "{calls} on {paths}")?;
        }
        let unit = Unit::new(tree.axis());
        let shown = tree.heaviest(self.answer.max);
        let rows: Vec<_> =
            shown.iter().filter_map(|path| Some((*path, tree.row(*path)?))).collect();
        if is_text {
            self.stacks(tree, &rows, out)?;
        } else {
            let rows = rows.iter().map(|(path, row)| {
                let stack = tree.stack(*path);
                PathColumns {
                    depth: stack.len() - 1,
                    method: self.names.get(row.method),
                    weight: Weight::from(*row).columns(unit),
                    path: self.names.chain(&stack),
                }
            });
            self.answer.rows(rows, out)?;
        }
        if shown.len() < tree.len() {
            let more = plural((tree.len() - shown.len()) as u64, "more path");
            let shown_calls: u64 = rows.iter().map(|(_, row)| row.calls).sum();
            let shown_weight: u64 = rows.iter().map(|(_, row)| row.self_weight).sum();
            let calls = plural(tree.calls() - shown_calls, "call");
            let left = tree.weight().saturating_sub(shown_weight);
            let took = if tree.axis().is_some() {
                format!(" that took {}", duration(left))
            } else {
                String::new()
            };
            if is_text {
                out.write_all(b"\n")?;
            }
            let text = left_out(&format!("{more} with {calls}{took}"), self.answer.max);
            self.answer.remark(self.trace, &text, out)?;
        }
        Ok(rows.iter().any(|(_, row)| Weight::from(*row).is_rough()))
    }

    /// Prints paths, each with its callers below it.
    fn stacks(
        &self,
        tree: &PathTree,
        rows: &[(PathId, PathRow)],
        out: &mut Out,
    ) -> Result<(), Failure> {
        let unit = Unit::new(tree.axis());
        let scale = scale_of(self.trace, unit, tree.weight());
        let weight = |row: &PathRow| Weight::from(*row).show_self(scale);
        let width = rows.iter().map(|(_, row)| weight(row).chars().count()).max().unwrap_or(0);
        for (path, row) in rows {
            let (weight, percent) = (weight(row), percent(row.self_weight, tree.weight()));
            let calls = match unit {
                Unit::Calls | Unit::Samples => String::new(),
                Unit::Nanos | Unit::Cpu => format!("  ({})", plural(row.calls, "call")),
            };
            let label = self.labels.name(row.method);
            writeln!(out, "\n{weight:>width$}  {percent:>6}  {}{calls}", escaped(&label))?;
            let stack = tree.stack(*path);
            if let Some((_, callers @ [_, ..])) = stack.split_last() {
                let callers = chain(callers, CHAIN_ENDS, |id| self.labels.short(*id));
                let blank = " ".repeat(width + 10);
                writeln!(out, "{blank}in {}", escaped(&callers))?;
            }
        }
        Ok(())
    }
}

/// The outermost and innermost frames of a stack.
struct Ends<'a, T> {
    outer: &'a [T],
    hidden: usize,
    inner: &'a [T],
}

impl<'a, T> Ends<'a, T> {
    /// Selects `max` frames in all.
    fn of(frames: &'a [T], max: usize) -> Self {
        let hidden = frames.len().saturating_sub(max);
        let (outer, rest) = frames.split_at(max.div_ceil(2).min(frames.len()));
        Self { outer, hidden, inner: rest.get(hidden..).unwrap_or_default() }
    }

    fn shown(&self) -> impl Iterator<Item = &'a T> + use<'a, T> {
        self.outer.iter().chain(self.inner)
    }

    /// Describes the frames between them.
    fn left_out(&self, max: usize) -> Option<String> {
        (self.hidden > 0).then(|| left_out(&plural(self.hidden as u64, "frame"), max))
    }
}
