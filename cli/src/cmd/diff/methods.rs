//! `flow diff --methods` and `--samples`: calls or samples of two runs by method, as a list or a tree, by their shares.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;

use flow_codec::read::{Selection, Trace};
use flow_codec::{NameForm, ThreadId};
use flow_query::analysis::{
    ComparedSums, Counts, Diff, MethodName, PathId, PathLimits, Place, Precision, Run,
};
use flow_query::rows::{Cell, ChangeRow, GroupColumns, PlaceColumns};

use super::print::row;
use crate::args::{DiffArgs, Format, PercentOf, SortKey, ThreadsBy};
use crate::cmd::line_limit;
use crate::cmd::report::NONE_MEETS;
use crate::cmd::report::counted::{
    Counted, Group, choose, place_text, samples_of, title_of, without,
};
use crate::cmd::report::tree::select::{Selected, TreeRows};
use crate::failure::{Failure, Status};
use crate::input::conditions::Facts;
use crate::input::source::{Source, has_raw_names};
use crate::input::sources;
use crate::output::{Out, Progress, Records, Table, Unit, Weight, duration, indent, plural};
use flow_query::reading;

/// The limits of text by default: of a list, and of a tree.
const DEFAULT_MAX: u64 = 40;
const DEFAULT_TREE_MAX: u64 = 100;
const DEFAULT_TREE_PERCENT: f64 = 1.0;

/// The id and the name of threads that are one.
type Key = (Option<ThreadId>, Option<String>);

/// What is compared.
struct Compared<'a> {
    args: &'a DiffArgs,
    of_samples: bool,
    groups: BTreeMap<Key, Diff>,
    /// The source files of methods.
    files: HashMap<MethodName, String>,
    /// Describes each run.
    summaries: Vec<(&'static str, String)>,
    unit: Unit,
    status: Status,
}

/// Compares two runs, of which those that are opened already are passed.
pub(super) fn run(
    args: &DiffArgs,
    of_samples: bool,
    opened: [Option<Source>; 2],
    out: &mut Out,
) -> Result<Status, Failure> {
    let after = args.expect_methods(of_samples)?;
    let mut compared = Compared {
        args,
        of_samples,
        groups: BTreeMap::new(),
        files: HashMap::new(),
        summaries: Vec::new(),
        unit: Unit::Calls,
        status: Status::Done,
    };
    let runs = [(Run::Before, &args.before), (Run::After, after)];
    let mut sources = Vec::new();
    for ((run, path), opened) in runs.into_iter().zip(opened) {
        let open = || Source::open_for(path, of_samples);
        sources.push((run, opened.map_or_else(open, Ok)?));
    }
    for (run, source) in &mut sources {
        compared.add(*run, source, out)?;
    }
    compared.print(out)?;
    let differs = compared.groups.values().any(|diff| !diff.changes().is_empty());
    Ok(compared.status.and(args.status(differs)))
}

impl Compared<'_> {
    /// Adds a run.
    fn add(&mut self, run: Run, source: &mut Source, out: &mut Out) -> Result<(), Failure> {
        let args = self.args;
        choose(source, &args.part, args.rows.threads(), self.of_samples)?;
        if !self.of_samples {
            source.expect_calls()?;
        }
        self.status = self.status.and(source.status);
        for trace in &source.traces {
            self.add_trace(run, source, trace, out)?;
        }
        Ok(())
    }

    fn add_trace(
        &mut self,
        run: Run,
        source: &Source,
        trace: &Trace,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let args = self.args;
        let rows = &args.rows;
        let samples = samples_of(source, trace, self.of_samples, &args.part, rows.gaps(), out)?;
        let counted = match &samples {
            Some(samples) => Counted::of_samples(trace, samples, Some(args.by), rows.grouping())?,
            None => {
                let chosen = reading::Selected::of(args.part.filter.selection(trace));
                Counted::of_calls(trace, chosen, Some(args.by))?
            }
        };
        self.unit = counted.unit;
        sources::link(counted.methods(), &[], out);
        let globs = counted.globs(&rows.sides())?;
        let mut progress = Progress::new(source.bytes(), out);
        let (mut calls, mut weight, mut waiting, mut threads) = (0, 0, 0, 0);
        for group in counted.groups(rows.threads()) {
            let read = group.tree(&Selection::all(), None, &mut progress);
            self.status = self.status.and(read.status);
            let tree = read.tree;
            calls += tree.calls();
            weight += tree.weight();
            waiting += tree.waiting_ns(tree.root());
            threads += read.threads;
            let view = match rows.is_tree() {
                true => counted.sides(tree, rows, &globs),
                false => tree.flat(),
            };
            let name = |row| MethodName::new(counted.frame(row).method, counted.methods());
            if !rows.conditions.is_empty() {
                let file = |row: &_| {
                    let method = counted.methods().get(counted.frame(*row).method)?;
                    Some((name(*row), method.info().source.clone()?))
                };
                self.files.extend(view.methods().iter().filter_map(file));
            }
            let diff = self.groups.entry(key_of(&group)).or_default();
            if has_raw_names() {
                diff.show_raw_names();
            }
            diff.add_named(run, &view, |row| {
                let PlaceColumns { source, line, bci } = counted.place(row);
                let source = source.filter(|_| line.is_some()).map(str::to_owned);
                (name(row), Place { source, line, bci })
            });
        }
        let summary = counted.groups(ThreadsBy::Merged).first().and_then(Group::summary_of_all);
        let summary = summary.unwrap_or_else(|| {
            let (calls, threads) = (plural(calls, "call"), plural(threads, "thread"));
            let took = match counted.unit {
                Unit::Calls | Unit::Samples => String::new(),
                Unit::Nanos => format!(" took {}, added up", duration(weight)),
                Unit::Cpu => {
                    format!(" ran for {} and waited for {}", duration(weight), duration(waiting))
                }
            };
            format!("{calls} in {threads}{took}")
        });
        let what = if run == Run::Before { "before" } else { "after" };
        self.summaries.push((what, summary));
        Ok(())
    }

    fn print(&self, out: &mut Out) -> Result<(), Failure> {
        let (args, rows) = (self.args, &self.args.rows);
        let is_text = args.format.of_rows() == Format::Text;
        let is_tree = rows.is_tree();
        let (least, max) = match is_tree {
            true => (if is_text { DEFAULT_TREE_PERCENT } else { 0.0 }, DEFAULT_TREE_MAX),
            false => (0.0, DEFAULT_MAX),
        };
        let min = rows.min.unwrap_or(least);
        let depth = args.depth.and_then(|depth| usize::try_from(depth).ok());
        let limits = PathLimits {
            depth: depth.unwrap_or(usize::MAX),
            min_total: billionths(min),
            max: line_limit(args.max, args.format.of_rows(), max),
        };
        let mut all = Counts::default();
        self.groups.values().for_each(|diff| all.add(diff.whole()));
        if is_text {
            self.summaries
                .iter()
                .try_for_each(|(what, text)| writeln!(out, "{what:<6}  {text}"))?;
        }
        let is_same = self.groups.values().all(|diff| diff.changes().is_empty());
        if is_text && is_same && args.max != Some(0) {
            let rows = self.groups.values().map(|diff| diff.len() as u64).sum();
            let what = if is_tree { "row" } else { "method" };
            let same = if self.unit.is_time() { "the same time" } else { "equal counts" };
            return Ok(writeln!(
                out,
                "\nno difference: {} with {same} (--max 0 shows them)",
                plural(rows, what)
            )?);
        }
        let without = without(rows.threads(), rows.frames.is_some());
        let mut records =
            Records::without::<ChangeRow<'_>>(&without, args.format.of_rows(), false, out)?;
        records.sort_keys();
        let mut is_nothing = true;
        for (key, diff) in &self.groups {
            let whole = if rows.percent_of == Some(PercentOf::All) { all } else { diff.whole() };
            let shown = Rows::new(self, key, diff, whole, is_tree);
            let selected = Selected::new(&shown, limits);
            is_nothing &= shown.children.is_empty();
            match is_text {
                true => shown.text(&selected.paths, out)?,
                false => shown.lines(&selected.paths, &mut records, out)?,
            }
            if let Some(remark) = selected.remark(&shown, min, limits) {
                let place = shown.title().map(|title| format!("thread {title}"));
                out.remark(args.format.of_rows(), place.as_deref(), &remark)?;
            }
        }
        if is_text && is_nothing && !rows.conditions.is_empty() {
            writeln!(out, "\n{NONE_MEETS}")?;
        }
        Ok(())
    }
}

fn key_of(group: &Group<'_>) -> Key {
    let columns = group.columns();
    columns.map_or((None, None), |GroupColumns { thread, thread_name }| {
        (thread, thread_name.map(str::to_owned))
    })
}

/// A share in percent as a whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 100, or of sums that are nearly that"
)]
fn billionths(percent: f64) -> u64 {
    (percent * 1e7) as u64
}

/// A path in both runs.
struct Line {
    parent: Option<PathId>,
    sums: ComparedSums,
    /// The total and the self weight in each run, and of what they are parts.
    runs: [Weight; 2],
}

impl Line {
    /// The shares of total and self, of each run, in percent.
    fn shares(&self) -> [[f64; 2]; 2] {
        self.runs.map(|weight| weight.percents(0))
    }
}

/// The rows of threads that are one.
struct Rows<'a> {
    compared: &'a Compared<'a>,
    key: &'a Key,
    diff: &'a Diff,
    lines: BTreeMap<PathId, Line>,
    children: BTreeMap<Option<PathId>, Vec<PathId>>,
    /// Whether rows have others below them, which all stay if there are too many.
    is_tree: bool,
}

impl TreeRows for Rows<'_> {
    fn children(&self, path: Option<PathId>, to: &mut Vec<PathId>) {
        to.extend(self.children.get(&path).into_iter().flatten());
    }

    fn total(&self, path: PathId) -> u64 {
        let whole = self.diff.whole();
        let share = |line: &Line| {
            let of = |weight: Weight, whole| Weight { whole: Some(whole), ..weight }.percents(0)[0];
            of(line.runs[0], whole.before).max(of(line.runs[1], whole.after))
        };
        self.lines.get(&path).map_or(0, |line| billionths(share(line)))
    }

    fn rank(&self, path: PathId) -> u64 {
        if self.is_tree { self.total(path) } else { self.change(path) }
    }

    fn sort(&self, paths: &mut [PathId]) {
        match self.compared.args.rows.sort() {
            SortKey::Name => paths.sort_by_cached_key(|path| self.name(*path)),
            _ => paths.sort_by_key(|path| Reverse(self.change(*path))),
        }
    }
}

impl<'a> Rows<'a> {
    fn new(
        compared: &'a Compared<'a>,
        key: &'a Key,
        diff: &'a Diff,
        whole: Counts,
        is_tree: bool,
    ) -> Self {
        let (unit, rows) = (compared.unit, &compared.args.rows);
        let of_parent = rows.percent_of == Some(PercentOf::Parent);
        let mut lines: BTreeMap<PathId, Line> = BTreeMap::new();
        for (path, parent, sums) in diff.rows() {
            let above = parent.filter(|_| of_parent).and_then(|parent| lines.get(&parent));
            let whole = above.map_or(whole, |line| line.sums.total);
            let weight = |total, self_weight, whole| {
                let mut precision = Precision::default();
                if unit == Unit::Samples {
                    (precision.total_samples, precision.self_samples) = (total, self_weight);
                }
                let calls = (unit == Unit::Calls).then_some(self_weight);
                Weight { calls, precision, whole: Some(whole), ..Weight::of(total, self_weight) }
            };
            let ComparedSums { own, total, .. } = sums;
            let before = weight(total.before, own.before, whole.before);
            let after = weight(total.after, own.after, whole.after);
            lines.insert(path, Line { parent, sums, runs: [before, after] });
        }
        let mut shown = Self { compared, key, diff, lines, children: BTreeMap::new(), is_tree };
        let mut kept = BTreeSet::new();
        // Backwards, each row comes after those below it, and stays for them.
        for (path, line) in shown.lines.iter().rev() {
            if kept.contains(path) || shown.holds(*path, line) {
                kept.extend([Some(*path), line.parent].into_iter().flatten());
            }
        }
        for path in kept {
            let parent = shown.lines.get(&path).and_then(|line| line.parent);
            shown.children.entry(parent).or_default().push(path);
        }
        shown
    }

    /// By how much the share of self or of total differs.
    fn change(&self, path: PathId) -> u64 {
        let of_self = self.compared.args.rows.sort() == SortKey::SelfWeight;
        self.lines.get(&path).map_or(0, |line| {
            let [before, after] = line.shares().map(|shares| shares[usize::from(of_self)]);
            billionths((after - before).abs())
        })
    }

    fn holds(&self, path: PathId, line: &Line) -> bool {
        let conditions = &self.compared.args.rows.conditions;
        if conditions.is_empty() {
            return true;
        }
        let stack = self.diff.stack(path);
        let method = stack.last().copied();
        let known = method.and_then(MethodName::name);
        let file = method.and_then(|method| self.compared.files.get(method));
        let shares = line.shares();
        let facts = Facts {
            name: &self.diff.names(path, NameForm::Readable).pop().unwrap_or_default(),
            class: known.map_or("", |name| name.class),
            method: known.map_or("", |name| name.name),
            source: file.map_or("", String::as_str),
            thread: self.key.1.as_deref().unwrap_or_default(),
            runs: &[(line.runs[0], shares[0]), (line.runs[1], shares[1])],
            is_timed: self.compared.unit.is_time(),
        };
        conditions.iter().all(|condition| condition.holds(&facts))
    }

    /// The name of the end of a path, and where in the method it is.
    fn name(&self, path: PathId) -> String {
        let is_verbose = self.compared.args.verbose;
        let form = if is_verbose { NameForm::Full } else { NameForm::Readable };
        let name = self.diff.names(path, form).pop().unwrap_or_default();
        let place = self.diff.place(path).cloned().unwrap_or_default();
        name + &place_text(place.source.as_deref(), place.line, place.bci)
    }

    /// `7 main`; `None` for all threads.
    fn title(&self) -> Option<String> {
        let (id, name) = self.key;
        (id.is_some() || name.is_some()).then(|| title_of(*id, name.as_deref().unwrap_or_default()))
    }

    fn text(&self, paths: &[(PathId, usize)], out: &mut Out) -> Result<(), Failure> {
        // Threads without rows that are shown would be a heading without anything below it.
        if paths.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        if let Some(title) = self.title() {
            out.heading(&format!("thread {title}"))?;
        }
        let lines: Vec<&Line> = paths.iter().filter_map(|(path, _)| self.lines.get(path)).collect();
        let mut table = Table::default();
        for (run, title) in ["before", "after"].into_iter().enumerate() {
            let unit = self.compared.unit;
            table.column(title, lines.iter().map(|line| unit.cell(line.runs[run].total)));
            let share = |line: &&Line| {
                let Weight { total, whole, .. } = line.runs[run];
                // Of nothing, everything is 0 %.
                Cell::Share { part: total, whole: whole.unwrap_or_default().max(1) }
            };
            table.column("%", lines.iter().map(share));
        }
        for (of, title) in ["change", "self change"].into_iter().enumerate() {
            let change = |line: &&Line| {
                let [before, after] = line.shares().map(|shares| shares[of]);
                Cell::number(signed(after - before))
            };
            table.column(title, lines.iter().map(change));
        }
        let names = paths.iter().map(|(path, depth)| {
            let mut name = String::new();
            indent(*depth, &mut name);
            Cell::method(name + &self.name(*path))
        });
        table.column("method", names);
        Ok(table.print(out)?)
    }

    fn lines(
        &self,
        paths: &[(PathId, usize)],
        records: &mut Records,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let Compared { args, unit, .. } = self.compared;
        for (path, _) in paths {
            let Some(Line { sums: ComparedSums { own, total, .. }, .. }) = self.lines.get(path)
            else {
                continue;
            };
            let (thread, thread_name) = (self.key.0, self.key.1.as_deref());
            let place = self.diff.place(*path).filter(|_| args.rows.frames.is_some());
            let change = match (total.before, total.after) {
                (0, _) => "appeared",
                (_, 0) => "vanished",
                _ if (total.distance(), own.distance()) == (0, 0) => "same",
                _ => "changed",
            };
            let row = ChangeRow {
                threads: self.title().map(|_| GroupColumns { thread, thread_name }),
                place: place.map(|place| PlaceColumns {
                    source: place.source.as_deref(),
                    line: place.line,
                    bci: place.bci,
                }),
                ..row(self.diff, *path, change, [*own, *total], 1, *unit)
            };
            records.row(&row, out)?;
        }
        Ok(())
    }
}

/// `+1.2`, `-0.5`, `0.0`: a difference in percentage points.
fn signed(points: f64) -> String {
    let text = format!("{points:+.1}");
    if matches!(text.as_str(), "+0.0" | "-0.0") { "0.0".to_owned() } else { text }
}
