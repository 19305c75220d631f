//! `flow report --paths`: the longest path, the deepest stack, the most frequent stacks.

use std::io::Write;

use flow_codec::MethodId;
use flow_codec::analysis::{Deepest, Graph, PathId, PathTree};
use flow_codec::read::Trace;

use super::default_max;
use crate::args::{Format, PathsKind, ReportArgs};
use crate::failure::{Failure, Status};
use crate::output::{
    Align, Labels, Out, Progress, Table, chain, csv_fields, grouped, percent, plural,
};
use crate::reading::visit_thread;
use crate::source::{Source, file_title};

/// How many frames are named at either end of a stack.
const CHAIN_ENDS: usize = 3;

/// Runs the verb for these paths.
pub(super) fn run(
    kind: PathsKind,
    source: &Source,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<Status, Failure> {
    if args.source.format == Format::Csv {
        let rest: &[u8] = match kind {
            PathsKind::Longest => b"depth,method,class,name,descriptor,calls,total\n",
            PathsKind::Deepest => b"thread,event,depth,method,class,name,descriptor\n",
            PathsKind::Frequent => b"depth,method,class,name,descriptor,calls,path\n",
        };
        out.write_all(b"trace,")?;
        out.write_all(rest)?;
    }
    let mut progress = Progress::new(source.bytes(), false);
    let mut status = source.status;
    for trace in &source.traces {
        let shown = args.filter.selection(trace);
        let mut paths = Paths {
            trace,
            name: match args.source.format {
                Format::Csv => csv_fields([source.name(&trace.dir).as_str()]),
                _ => serde_json::Value::from(source.name(&trace.dir)).to_string(),
            },
            labels: Labels::new(&trace.methods, args.source.format),
            format: args.source.format,
            max: default_max(args),
        };
        if kind == PathsKind::Deepest {
            let mut deepest = Deepest::default();
            for file in &trace.files {
                let reading = visit_thread(file, &shown, &mut progress, &mut deepest);
                deepest.end_thread();
                status = status.and(reading.tell(file, &progress));
            }
            source.begin(trace, args.source.format, out)?;
            // Of calls that are left out nobody knows how many there were.
            let event = shown.is_all().then(|| deepest.event());
            paths.deepest(&deepest, event, out)?;
            continue;
        }
        let mut graph = Graph::default();
        for file in &trace.files {
            let reading = visit_thread(file, &shown, &mut progress, &mut graph);
            graph.end_thread();
            status = status.and(reading.tell(file, &progress));
        }
        let tree = graph.into_tree();
        source.begin(trace, args.source.format, out)?;
        match kind {
            PathsKind::Longest => paths.longest(&tree, out)?,
            _ => paths.frequent(&tree, out)?,
        }
    }
    Ok(status)
}

/// Prints the paths of one trace.
struct Paths<'a> {
    trace: &'a Trace,
    /// Of the trace, as a field.
    name: String,
    labels: Labels<'a>,
    format: Format,
    max: usize,
}

impl Paths<'_> {
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
            writeln!(out, "{}\n", crate::output::neutral(&line))?;
        }
        let nothing = if self.format == Format::Json { "null" } else { "" };
        let event = event.map_or(nothing.to_owned(), |event| event.to_string());
        let mut table = Table::new(&[("depth", Align::Right), ("method", Align::Left)]);
        for frame in ends(stack, self.max) {
            let (depth, method) = match frame {
                Frame::Shown(depth, method) => (depth, method),
                Frame::Hidden(count) => {
                    table.row(["", &self.hidden(count)]);
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
        let mut table = Table::new(&[
            ("total", Align::Right),
            ("%", Align::Right),
            ("calls", Align::Right),
            ("method", Align::Left),
        ]);
        for frame in ends(&path, self.max) {
            let (depth, path) = match frame {
                Frame::Shown(depth, path) => (depth, path),
                Frame::Hidden(count) => {
                    table.row(["", "", "", &self.hidden(count)]);
                    continue;
                }
            };
            let Some(row) = tree.row(*path) else { continue };
            let (calls, total) = (row.calls, row.total);
            let label = self.labels.get(row.method);
            let name = &self.name;
            match self.format {
                Format::Text => {
                    let percent = percent(total, tree.calls());
                    table.row([grouped(total).as_str(), &percent, &grouped(calls), label]);
                }
                Format::Json => writeln!(
                    out,
                    "{{\"trace\":{name},\"depth\":{depth},{label},\"calls\":{calls},\"total\":{total}}}"
                )?,
                Format::Csv => writeln!(out, "{name},{depth},{label},{calls},{total}")?,
            }
        }
        if self.format == Format::Text {
            table.print(out)?;
        }
        Ok(())
    }

    /// A method without its descriptor, where it is told in passing.
    fn short(&self, method: MethodId) -> String {
        match self.trace.methods.get(method).map(|method| &method.info) {
            Some(info) => format!("{}.{}", info.class, info.name),
            None => self.trace.methods.display(method),
        }
    }

    fn hidden(&self, count: u64) -> String {
        let frames = plural(count, "frame");
        format!("… {frames} left out (--max {}; 0 for all)", self.max)
    }

    fn frequent(&mut self, tree: &PathTree, out: &mut Out) -> Result<(), Failure> {
        if self.format == Format::Text {
            let (paths, calls) = (plural(tree.len() as u64, "path"), plural(tree.calls(), "call"));
            writeln!(out, "{calls} by {paths}")?;
        }
        let mut shown_calls = 0;
        let shown = tree.most_called(self.max);
        let width = shown
            .first()
            .and_then(|path| tree.row(*path))
            .map_or(0, |row| grouped(row.calls).len());
        for path in &shown {
            shown_calls += self.frequent_one(tree, *path, width, out)?;
        }
        if self.format == Format::Text && shown.len() < tree.len() {
            let more = plural((tree.len() - shown.len()) as u64, "more path");
            let calls = plural(tree.calls() - shown_calls, "call");
            writeln!(out, "\n… {more} with {calls} left out (--max {}; 0 for all)", self.max)?;
        }
        Ok(())
    }

    /// Prints one path, and answers its calls.
    fn frequent_one(
        &mut self,
        tree: &PathTree,
        path: PathId,
        width: usize,
        out: &mut Out,
    ) -> Result<u64, Failure> {
        let Some(row) = tree.row(path) else { return Ok(0) };
        let stack = tree.stack(path);
        let (calls, depth) = (row.calls, stack.len() - 1);
        let label = self.labels.get(row.method);
        let name = &self.name;
        let display = |method: &MethodId| self.trace.methods.display(*method);
        match self.format {
            Format::Text => {
                let percent = percent(calls, tree.calls());
                let calls = grouped(calls);
                writeln!(out, "\n{calls:>width$}  {percent:>6}  {label}")?;
                if let Some((_, callers)) =
                    stack.split_last().filter(|(_, callers)| !callers.is_empty())
                {
                    let callers: Vec<_> = callers.iter().map(|id| self.short(*id)).collect();
                    let callers = chain(&callers, CHAIN_ENDS);
                    let blank = " ".repeat(width + 10);
                    writeln!(out, "{blank}in {}", crate::output::neutral(&callers))?;
                }
            }
            Format::Json => {
                let path: Vec<_> = stack.iter().map(display).collect();
                let path = serde_json::to_string(&path)?;
                writeln!(
                    out,
                    "{{\"trace\":{name},\"depth\":{depth},{label},\"calls\":{calls},\"path\":{path}}}"
                )?;
            }
            Format::Csv => {
                let path: Vec<_> = stack.iter().map(display).collect();
                let path = csv_fields([path.join(" > ").as_str()]);
                writeln!(out, "{name},{depth},{label},{calls},{path}")?;
            }
        }
        Ok(calls)
    }
}

/// One line of a stack.
enum Frame<'a, T> {
    /// A frame and its depth.
    Shown(usize, &'a T),
    /// So many are left out here.
    Hidden(u64),
}

/// The outermost and innermost frames of a stack, `max` in all.
fn ends<T>(frames: &[T], max: usize) -> impl Iterator<Item = Frame<'_, T>> {
    let hidden = frames.len().saturating_sub(max);
    let outer = max.div_ceil(2).min(frames.len());
    let shown = frames.iter().enumerate().map(|(depth, frame)| Frame::Shown(depth, frame));
    let inner = shown.clone().skip(outer + hidden);
    let gap = (hidden > 0).then_some(Frame::Hidden(hidden as u64));
    shown.take(outer).chain(gap).chain(inner)
}
