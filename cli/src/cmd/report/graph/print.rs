//! Prints trees of calls.

use std::io::Write;

use flow_codec::ThreadId;
use flow_codec::read::{TimeAxis, Trace};
use flow_query::analysis::{PathLimits, PathTree};
use flow_query::rows::{Cell, GraphRow, RowNames};

use super::select::{Selected, select};
use crate::args::{Format, GraphArgs};
use crate::failure::Failure;
use crate::input::source::answer::Answer;
use crate::input::times::{scale_of, times_note};
use crate::output::{
    Labels, Out, Shares, Table, Unit, Weight, beyond, duration, indent, percent, plural,
};

/// The least share of paths in text by default.
const DEFAULT_MIN_PERCENT: f64 = 1.0;

/// Prints the trees of one trace.
pub(super) struct GraphPrinter<'a, 's> {
    args: &'a GraphArgs,
    answer: &'a mut Answer<'s>,
    trace: &'a Trace,
    begun: bool,
    /// Whether a weight that was printed is rough.
    is_rough: bool,
}

impl<'a, 's> GraphPrinter<'a, 's> {
    pub(super) fn new(args: &'a GraphArgs, answer: &'a mut Answer<'s>, trace: &'a Trace) -> Self {
        Self { args, answer, trace, begun: false, is_rough: false }
    }

    /// Prints one tree: that of a thread, with its title, or that of all threads.
    pub(super) fn tree(
        &mut self,
        tree: &PathTree,
        threads: u64,
        thread: Option<(ThreadId, String)>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let args = self.args;
        let limits = self.limits(tree.weight());
        let selected = select(tree, &self.trace.methods, args.sort, limits);
        let (id, title) = thread.unzip();
        if self.answer.is_text() {
            if std::mem::replace(&mut self.begun, true) {
                out.write_all(b"\n")?;
            }
            let calls = plural(tree.calls(), "call");
            match &title {
                Some(title) => {
                    out.heading(&format!("thread {title}"))?;
                    writeln!(out, "{calls}")?;
                }
                None => writeln!(out, "{calls} in {}", plural(threads, "thread"))?,
            }
            self.text(tree, &selected, out)?;
        } else {
            self.rows(tree, &selected, id, out)?;
        }
        let title = title.map(|title| format!("thread {title}"));
        for remark in self.left_out(tree, &selected, limits) {
            self.answer.remark_in(self.trace, title.as_deref(), &remark, out)?;
        }
        Ok(())
    }

    /// Ends the trace, with a note about the precision of its times.
    pub(super) fn end(&self, unit: Unit, out: &mut Out) -> Result<(), Failure> {
        if self.answer.is_text() && unit.is_time() {
            writeln!(out, "\n{}", times_note(self.trace, unit, self.is_rough))?;
        }
        Ok(())
    }

    /// What is shown of a tree with this weight.
    pub(super) fn limits(&self, weight: u64) -> PathLimits {
        let depth = self.args.depth.and_then(|depth| usize::try_from(depth).ok());
        PathLimits {
            depth: depth.unwrap_or(usize::MAX),
            min_total: part_of(weight, self.min_percent()),
            max: self.answer.max,
        }
    }

    fn min_percent(&self) -> f64 {
        self.args.min.unwrap_or(if self.answer.is_text() { DEFAULT_MIN_PERCENT } else { 0.0 })
    }

    fn text(&mut self, tree: &PathTree, selected: &Selected, out: &mut Out) -> Result<(), Failure> {
        if tree.is_empty() {
            return Ok(());
        }
        let scale = scale_of(self.trace, Unit::new(tree.axis()), tree.weight());
        let rows =
            selected.paths.iter().filter_map(|(path, depth)| Some((*depth, tree.row(*path)?)));
        let rows: Vec<_> = rows.collect();
        let weights: Vec<_> = rows.iter().map(|(_, row)| Weight::from(*row)).collect();
        self.is_rough |= weights.iter().any(|weight| weight.is_rough());
        let labels = Labels::new(&self.trace.methods, Format::Text, self.args.verbose);
        let mut table = Table::default();
        table.weights(&weights, scale, Shares::Total);
        let names = rows.iter().map(|(depth, row)| {
            let mut name = String::new();
            indent(*depth, &mut name);
            Cell::method(name + &labels.name(row.method))
        });
        table.column("method", names);
        out.write_all(b"\n")?;
        Ok(table.print(out)?)
    }

    /// Describes what is left out, and by which options.
    fn left_out(&self, tree: &PathTree, selected: &Selected, limits: PathLimits) -> Vec<String> {
        let mut remarks = Vec::new();
        let shown = selected.paths.iter().filter_map(|(path, _)| tree.row(*path));
        let (calls, weight) = shown.fold((tree.calls(), tree.weight()), |(calls, weight), row| {
            (calls - row.calls, weight.saturating_sub(row.self_weight))
        });
        // Each path has a call or more.
        if calls > 0 {
            let of_all = percent(weight, tree.weight());
            let calls = plural(calls, "call");
            let calls = match tree.axis() {
                None => format!("{calls} ({of_all})"),
                Some(TimeAxis::Wall) => format!("{calls} and {of_all} of the time"),
                Some(TimeAxis::Cpu) => {
                    let waiting = duration(waiting_left_out(tree, selected));
                    format!("{calls}, {of_all} of the CPU time and {waiting} of waiting")
                }
            };
            let (min, max, depth) = (self.min_percent(), limits.max, limits.depth);
            let why: Vec<_> = [
                selected.is_cut_at_depth.then(|| format!("--depth {depth}")),
                selected.is_cut_at_min.then(|| format!("--min {min}")),
                selected.is_cut_at_max.then(|| format!("--max {max}")),
            ]
            .into_iter()
            .flatten()
            .collect();
            let why = why.join(", ");
            let hint = match selected.is_cut_at_min || selected.is_cut_at_max {
                true => "; 0 for all",
                false => "",
            };
            remarks.push(format!("… {calls} on other paths left out ({why}{hint})"));
        }
        if tree.beyond() > 0 {
            remarks.push(beyond(tree.beyond(), "counted"));
        }
        remarks
    }

    fn rows(
        &mut self,
        tree: &PathTree,
        selected: &Selected,
        thread: Option<ThreadId>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let unit = Unit::new(tree.axis());
        let mut names = RowNames::new(&self.trace.methods);
        let rows = selected.paths.iter().filter_map(|(path, depth)| {
            let row = tree.row(*path)?;
            let parent = tree.parent(*path).filter(|parent| *parent != tree.root());
            Some(GraphRow {
                thread,
                path: path.get(),
                parent: parent.map(|parent| parent.get()),
                depth: *depth,
                method: names.get(row.method),
                weight: Weight::from(row).columns(unit),
            })
        });
        self.answer.rows(rows, out)
    }
}

/// How long threads waited in the paths that are left out.
fn waiting_left_out(tree: &PathTree, selected: &Selected) -> u64 {
    let own = |path| {
        let inside = tree.children(path).map(|child| tree.waiting_ns(child));
        tree.waiting_ns(path).saturating_sub(inside.sum())
    };
    let shown: u64 = selected.paths.iter().map(|(path, _)| own(*path)).sum();
    tree.waiting_ns(tree.root()).saturating_sub(shown)
}

/// The smallest weight that is at least this share of the whole.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a number of calls, where one more or less is all the same"
)]
fn part_of(calls: u64, percent: f64) -> u64 {
    (calls as f64 * percent / 100.0).ceil() as u64
}
