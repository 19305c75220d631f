//! Prints trees of calls or samples.

use std::io::Write;

use flow_codec::read::{TimeAxis, Trace};
use flow_query::analysis::{PathId, PathLimits, PathTree};
use flow_query::rows::{Cell, GraphRow, RowNames, ThreadNameColumns};

use super::super::counted::{Counted, Group, GroupTree};
use super::super::filter::NONE_MEETS;
use super::select::{Selected, Sorted, all_rows};
use crate::args::{Format, PercentOf, ReportArgs};
use crate::failure::Failure;
use crate::input::source::answer::Answer;
use crate::output::{
    Labels, Out, Shares, Table, Weight, beyond, duration, escaped, indent, percent, plural,
};

/// The least share of paths in text by default.
const DEFAULT_MIN_PERCENT: f64 = 1.0;

/// Prints the trees of one trace.
pub(super) struct TreePrinter<'a, 's> {
    args: &'a ReportArgs,
    answer: &'a mut Answer<'s>,
    trace: &'a Trace,
    counted: &'a Counted<'a>,
    /// What shares are of, if that is not the tree.
    all: Option<u64>,
    /// Whether a tree has all paths, so that sums of those that are left out are known.
    is_whole: bool,
    /// Whether trees may lack paths that would not be shown.
    pub(super) is_pruned: bool,
    begun: bool,
    /// Whether a weight that was printed is rough.
    is_rough: bool,
}

impl<'a, 's> TreePrinter<'a, 's> {
    pub(super) fn new(
        args: &'a ReportArgs,
        answer: &'a mut Answer<'s>,
        trace: &'a Trace,
        counted: &'a Counted<'a>,
        all: Option<u64>,
        is_whole: bool,
    ) -> Self {
        let (is_pruned, begun, is_rough) = Default::default();
        Self { args, answer, trace, counted, all, is_whole, is_pruned, begun, is_rough }
    }

    /// Prints the tree of a group of threads.
    pub(super) fn tree(
        &mut self,
        read: &GroupTree,
        group: &Group<'_>,
        summary: Option<String>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let (args, counted, tree) = (self.args, self.counted, &read.tree);
        let limits = self.limits(self.all.unwrap_or_else(|| tree.weight()));
        let name = |row| counted.methods().display(counted.frame(row).method);
        let sorted = Sorted { tree, sort: args.sort(), name: &name };
        let selected = Selected::new(&sorted, limits);
        if self.answer.is_text() {
            if std::mem::replace(&mut self.begun, true) {
                out.write_all(b"\n")?;
            }
            let calls = plural(tree.calls(), "call");
            if let Some(title) = &group.title {
                out.heading(&format!("thread {title}"))?;
            }
            match summary {
                Some(summary) => writeln!(out, "{summary}")?,
                None if group.title.is_some() => writeln!(out, "{calls}")?,
                None => writeln!(out, "{calls} in {}", plural(read.threads, "thread"))?,
            }
            self.text(tree, &selected, out)?;
        } else {
            self.rows(tree, &selected, group, out)?;
        }
        let title = group.title.as_ref().map(|title| format!("thread {title}"));
        for remark in self.left_out(&sorted, &selected, limits) {
            self.answer.remark_in(self.trace, title.as_deref(), &remark, out)?;
        }
        Ok(())
    }

    /// Ends the trace, with a note about the precision of its times.
    pub(super) fn end(&self, out: &mut Out) -> Result<(), Failure> {
        match self.counted.note(self.is_rough).filter(|_| self.answer.is_text()) {
            Some(note) => Ok(writeln!(out, "\n{note}")?),
            None => Ok(()),
        }
    }

    /// The weight of a path, and what it is a part of.
    pub(super) fn weight(&self, tree: &PathTree, path: PathId) -> Option<Weight> {
        let weight = self.counted.weight(tree, path)?;
        let parent = || tree.row(tree.parent(path)?).map(|row| row.total);
        let whole = match self.args.rows.percent_of {
            Some(PercentOf::Parent) => parent(),
            _ => self.all,
        };
        Some(Weight { whole, ..weight })
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
        // Methods that are asked for are shown, however small their share is.
        let is_pruned = self.answer.is_text() && !self.args.rows.has_sides();
        self.args.rows.min.unwrap_or(if is_pruned { DEFAULT_MIN_PERCENT } else { 0.0 })
    }

    fn text(&mut self, tree: &PathTree, selected: &Selected, out: &mut Out) -> Result<(), Failure> {
        if tree.is_empty() {
            return match (self.args.rows.conditions.is_empty(), self.args.rows.has_sides()) {
                (false, _) => Ok(writeln!(out, "\n{NONE_MEETS}")?),
                (true, true) => Ok(writeln!(out, "\n{}", self.no_match())?),
                (true, false) => Ok(()),
            };
        }
        let counted = self.counted;
        let rows = selected.paths.iter().filter_map(|(path, depth)| {
            Some((*depth, tree.row(*path)?.method, self.weight(tree, *path)?))
        });
        let rows: Vec<_> = rows.collect();
        let weights: Vec<_> = rows.iter().map(|(.., weight)| *weight).collect();
        self.is_rough |= weights.iter().any(|weight| weight.is_rough());
        let labels = Labels::new(counted.methods(), Format::Text, self.args.verbose);
        let mut table = Table::default();
        table.weights(&weights, counted.scale(tree.weight()), Shares::Total);
        let names = rows.iter().map(|(depth, row, _)| {
            let mut name = String::new();
            indent(*depth, &mut name);
            Cell::method(name + &counted.name(*row, &labels))
        });
        table.column("method", names);
        out.write_all(b"\n")?;
        Ok(table.print(out)?)
    }

    /// Describes that none of the methods was called whose callers or callees are requested.
    fn no_match(&self) -> String {
        let filter = &self.args.part.filter;
        let hides = match filter.flags() {
            Some(flags) => format!(" that {flags} does not hide"),
            None => String::new(),
        };
        let patterns = self.args.rows.sides().join(", ");
        escaped(&format!("no call matches {patterns}{hides}")).into_owned()
    }

    /// Describes what is left out, and by which options.
    fn left_out(
        &self,
        sorted: &Sorted<'_>,
        selected: &Selected,
        limits: PathLimits,
    ) -> Vec<String> {
        let tree = sorted.tree;
        let mut remarks = Vec::new();
        let is_beyond = tree.beyond() > 0;
        let beyond = is_beyond.then(|| beyond(tree.beyond(), "counted"));
        if !self.is_whole {
            let remark = selected.remark(sorted, self.min_percent(), limits);
            return remark.into_iter().chain(beyond).collect();
        }
        let shown = selected.paths.iter().filter_map(|(path, _)| tree.row(*path));
        let all = (tree.calls(), tree.samples(tree.root()), tree.weight());
        let (calls, samples, weight) = shown.fold(all, |(calls, samples, weight), row| {
            let of_row = row.precision.self_samples;
            (
                calls - row.calls,
                samples.saturating_sub(of_row),
                weight.saturating_sub(row.self_weight),
            )
        });
        let of_samples = self.counted.is_of_samples();
        let count = if of_samples { samples } else { calls };
        // Each path has a call or more.
        if let Some(why) = selected.why(self.min_percent(), limits).filter(|_| count > 0) {
            let of_all = percent(weight, tree.weight());
            let count = plural(count, if of_samples { "sample" } else { "call" });
            let count = match tree.axis() {
                None => format!("{count} ({of_all})"),
                Some(TimeAxis::Cpu) if !of_samples && tree.weight() > 0 => {
                    let waiting = duration(waiting_left_out(tree, selected));
                    format!("{count}, {of_all} of the CPU time and {waiting} of waiting")
                }
                Some(_) if tree.weight() == 0 => count,
                Some(_) => format!("{count} and {of_all} of the time"),
            };
            // A tree that was read for its largest paths lacks others.
            let paths = match self.is_pruned {
                true => "other paths".to_owned(),
                false => {
                    let more = all_rows(sorted).saturating_sub(selected.paths.len());
                    plural(more as u64, "other path")
                }
            };
            remarks.push(format!("… {count} on {paths} left out {why}"));
        }
        remarks.extend(beyond);
        remarks
    }

    fn rows(
        &mut self,
        tree: &PathTree,
        selected: &Selected,
        group: &Group<'_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let (args, counted) = (self.args, self.counted);
        let columns = group.columns();
        let thread = columns.as_ref().and_then(|group| group.thread);
        let thread_name = || columns.as_ref()?.thread_name;
        let mut names = RowNames::new(counted.methods());
        let rows = selected.paths.iter().filter_map(|(path, depth)| {
            let row = tree.row(*path)?.method;
            let parent = tree.parent(*path).filter(|parent| *parent != tree.root());
            Some(GraphRow {
                thread,
                threads: columns.as_ref().map(|_| ThreadNameColumns { thread_name: thread_name() }),
                path: path.get(),
                parent: parent.map(|parent| parent.get()),
                depth: *depth,
                method: names.get(counted.frame(row).method),
                place: args.frames().map(|_| counted.place(row)),
                weight: counted.weight(tree, *path)?.columns(counted.unit),
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
