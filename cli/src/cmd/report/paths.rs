//! `flow report --paths`: the longest path, the deepest stack, the most frequent stacks.

use std::io::Write;

use flow_codec::MethodId;
use flow_codec::read::{Selection, Trace};
use flow_query::analysis::{Deepest, PathId, PathRow, PathTree};

use super::max_lines;
use crate::args::{By, Format, PathsKind, ReportArgs};
use crate::cmd::trace_field;
use crate::failure::{Failure, Status};
use crate::input::source::{Source, file_title};
use crate::input::times::{scale_of, selected, times_note, weight_of};
use crate::output::{
    Align, Labels, Out, Progress, Scale, Shares, Table, Unit, Weight, chain, csv_fields, duration,
    escaped, grouped, left_out, percent, plural,
};
use flow_query::reading::{ContextTree, visit_thread};

/// The frames that are named at each end of a stack.
const CHAIN_ENDS: usize = 3;

/// Runs the verb for these paths.
pub(super) fn run(
    kind: PathsKind,
    source: &Source,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<Status, Failure> {
    if kind == PathsKind::Deepest && args.weight.by().is_some() {
        return Err(Failure::Usage("--by does not apply to --paths deepest".to_owned()));
    }
    if args.source.format == Format::Csv {
        let (method, weight) = (Labels::COLUMNS, Weight::COLUMNS);
        let rest = match kind {
            PathsKind::Longest => format!("depth,{method},{weight}"),
            PathsKind::Deepest => format!("thread,event,depth,{method}"),
            PathsKind::Frequent => format!("depth,{method},{weight},path"),
        };
        writeln!(out, "trace,{rest}")?;
    }
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let shown = selected(trace, &args.part.filter, &args.when)?;
        let mut paths = PathPrinter {
            trace,
            name: trace_field(source, trace, args.source.format),
            place: source.place(&trace.dir),
            labels: Labels::new(&trace.methods, args.source.format, args.verbose),
            format: args.source.format,
            max: max_lines(args),
            is_rough: false,
        };
        if kind == PathsKind::Deepest {
            let mut deepest = Deepest::default();
            for file in &trace.files {
                let reading = visit_thread(file, &shown, &mut progress, &mut deepest);
                deepest.end_thread();
                status = status.and(reading.report(file, &progress));
            }
            source.begin(trace, args.source.format, out)?;
            // The number of the event is unknown if calls were left out.
            let event = shown.is_all().then(|| deepest.event());
            paths.deepest(&deepest, event, out)?;
            continue;
        }
        // Frequent means by calls, unless --by is given.
        let by = if kind == PathsKind::Frequent {
            args.weight.by().or(Some(By::Calls))
        } else {
            args.weight.by()
        };
        let (all, unit) = (Selection::all(), weight_of(by, trace)?);
        let read = ContextTree::read(&trace.files, &shown, &all, unit.axis(), &mut progress);
        status = status.and(read.status);
        let tree = read.tree;
        source.begin(trace, args.source.format, out)?;
        match kind {
            PathsKind::Longest => paths.longest(&tree, out)?,
            _ => paths.frequent(&tree, out)?,
        }
        if unit.is_time() && args.source.format == Format::Text {
            writeln!(out, "\n{}", times_note(trace, unit, paths.is_rough))?;
        }
    }
    Ok(status)
}

/// Prints the paths of one trace.
struct PathPrinter<'a> {
    trace: &'a Trace,
    /// The name of the trace, as a field.
    name: String,
    /// The place that remarks name.
    place: Option<String>,
    labels: Labels<'a>,
    format: Format,
    max: usize,
    /// Whether a weight that was printed is rough.
    is_rough: bool,
}

impl PathPrinter<'_> {
    fn deepest(
        &mut self,
        deepest: &Deepest,
        event: Option<u64>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let stack = deepest.stack();
        let Some(file) = self.trace.files.get(deepest.thread()).filter(|_| !stack.is_empty())
        else {
            return Ok(());
        };
        if self.format == Format::Text {
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
        let nothing = if self.format == Format::Json { "null" } else { "" };
        let event = event.map_or(nothing.to_owned(), |event| event.to_string());
        let mut table = Table::new(&[("depth", Align::Right), ("method", Align::Left)]);
        for frame in ends(stack, self.max) {
            let (depth, method) = match frame {
                StackLine::Shown(depth, method) => (depth, method),
                StackLine::Hidden(count) => {
                    let text = self.hidden(count);
                    match self.format {
                        Format::Text => table.remark(&text),
                        format => out.remark(format, self.place.as_deref(), &text)?,
                    }
                    continue;
                }
            };
            let label = self.labels.get(*method);
            let (name, thread) = (&self.name, file.id);
            match self.format {
                Format::Text => {
                    table.row([grouped(depth as u64).as_str(), label]);
                }
                Format::Json => writeln!(
                    out,
                    "{{\"trace\":{name},\"thread\":{thread},\"event\":{event},\"depth\":{depth},{label}}}"
                )?,
                Format::Csv => writeln!(out, "{name},{thread},{event},{depth},{label}")?,
            }
        }
        if self.format == Format::Text {
            table.print(out)?;
        }
        Ok(())
    }

    fn longest(&mut self, tree: &PathTree, out: &mut Out) -> Result<(), Failure> {
        let path = tree.longest();
        let unit = Unit::new(tree.axis());
        let scale = scale_of(self.trace, unit, tree.weight());
        let mut table = unit.table("method", Shares::Both);
        for frame in ends(&path, self.max) {
            let (depth, path) = match frame {
                StackLine::Shown(depth, path) => (depth, path),
                StackLine::Hidden(count) => {
                    let text = self.hidden(count);
                    match self.format {
                        Format::Text => table.remark(&text),
                        format => out.remark(format, self.place.as_deref(), &text)?,
                    }
                    continue;
                }
            };
            let Some(row) = tree.row(*path) else { continue };
            let weight = Weight::from(row);
            self.is_rough |= weight.is_rough();
            let numbers = weight.fields(unit, self.format);
            let (label, name) = (self.labels.get(row.method), &self.name);
            match self.format {
                Format::Text => {
                    let cells = weight.cells(scale, Shares::Both);
                    table.row(cells.iter().map(String::as_str).chain([label]));
                }
                Format::Json => {
                    writeln!(out, "{{\"trace\":{name},\"depth\":{depth},{label},{numbers}}}")?;
                }
                Format::Csv => writeln!(out, "{name},{depth},{label},{numbers}")?,
            }
        }
        if self.format == Format::Text {
            table.print(out)?;
        }
        Ok(())
    }

    fn hidden(&self, count: u64) -> String {
        left_out(&plural(count, "frame"), self.max)
    }

    fn frequent(&mut self, tree: &PathTree, out: &mut Out) -> Result<(), Failure> {
        if self.format == Format::Text {
            let (paths, calls) = (plural(tree.len() as u64, "path"), plural(tree.calls(), "call"));
            writeln!(out, "{calls} on {paths}")?;
        }
        let (mut shown_calls, mut shown_weight) = (0, 0);
        let shown = tree.heaviest(self.max);
        let unit = Unit::new(tree.axis());
        let rows: Vec<_> =
            shown.iter().filter_map(|path| Some((*path, tree.row(*path)?))).collect();
        let scale = scale_of(self.trace, unit, tree.weight());
        let width = rows
            .iter()
            .map(|(_, row)| Weight::from(*row).show_self(scale).chars().count())
            .max()
            .unwrap_or(0);
        for (path, row) in rows {
            self.frequent_one(tree, path, row, (scale, width), out)?;
            shown_calls += row.calls;
            shown_weight += row.self_weight;
        }
        if shown.len() < tree.len() {
            let more = plural((tree.len() - shown.len()) as u64, "more path");
            let calls = plural(tree.calls() - shown_calls, "call");
            let left = tree.weight().saturating_sub(shown_weight);
            let took = if tree.axis().is_some() {
                format!(" that took {}", duration(left))
            } else {
                String::new()
            };
            if self.format == Format::Text {
                out.write_all(b"\n")?;
            }
            let text = left_out(&format!("{more} with {calls}{took}"), self.max);
            out.remark(self.format, self.place.as_deref(), &text)?;
        }
        Ok(())
    }

    fn frequent_one(
        &mut self,
        tree: &PathTree,
        path: PathId,
        row: PathRow,
        (scale, width): (Scale, usize),
        out: &mut Out,
    ) -> Result<(), Failure> {
        let unit = Unit::new(tree.axis());
        let stack = tree.stack(path);
        let depth = stack.len() - 1;
        let weight = Weight::from(row);
        self.is_rough |= weight.is_rough();
        let numbers = weight.fields(unit, self.format);
        let (label, name) = (self.labels.get(row.method), &self.name);
        let display = |method: &MethodId| self.trace.methods.display(*method);
        match self.format {
            Format::Text => {
                let percent = percent(row.self_weight, tree.weight());
                let weight = weight.show_self(scale);
                let calls = match unit {
                    Unit::Calls => String::new(),
                    Unit::Nanos | Unit::Cpu => format!("  ({})", plural(row.calls, "call")),
                };
                writeln!(out, "\n{weight:>width$}  {percent:>6}  {label}{calls}")?;
                if let Some((_, callers)) =
                    stack.split_last().filter(|(_, callers)| !callers.is_empty())
                {
                    let callers = chain(callers, CHAIN_ENDS, |id| self.labels.short(*id));
                    let blank = " ".repeat(width + 10);
                    writeln!(out, "{blank}in {}", escaped(&callers))?;
                }
            }
            Format::Json => {
                let path: Vec<_> = stack.iter().map(display).collect();
                let path = serde_json::to_string(&path)?;
                writeln!(
                    out,
                    "{{\"trace\":{name},\"depth\":{depth},{label},{numbers},\"path\":{path}}}"
                )?;
            }
            Format::Csv => {
                let path: Vec<_> = stack.iter().map(display).collect();
                let path = csv_fields([path.join(" > ").as_str()]);
                writeln!(out, "{name},{depth},{label},{numbers},{path}")?;
            }
        }
        Ok(())
    }
}

/// One line of a stack.
enum StackLine<'a, T> {
    /// A frame and its depth.
    Shown(usize, &'a T),
    /// This many frames are left out.
    Hidden(u64),
}

/// The outermost and innermost frames of a stack, `max` in all.
fn ends<T>(frames: &[T], max: usize) -> impl Iterator<Item = StackLine<'_, T>> {
    let hidden = frames.len().saturating_sub(max);
    let outer = max.div_ceil(2).min(frames.len());
    let shown = frames.iter().enumerate().map(|(depth, frame)| StackLine::Shown(depth, frame));
    let inner = shown.clone().skip(outer + hidden);
    let gap = (hidden > 0).then_some(StackLine::Hidden(hidden as u64));
    shown.take(outer).chain(gap).chain(inner)
}
