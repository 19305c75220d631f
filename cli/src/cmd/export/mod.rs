//! `flow export`: a trace in the format of another tool.

mod destination;
mod size;

use flow_codec::analysis::{Graph, PathTree, TimedGraph};
use flow_codec::read::{Clock, Selection, Trace};

use crate::args::{ExportArgs, Format, SourceArgs};
use crate::export::{
    Paths, Play, Scale, Spans, Stacks, Timeline, Viewer, Which, Writer, is_binary, viewer, writer,
};
use crate::failure::{Failure, Status};
use crate::output::{Out, Progress, plural};
use crate::reading::visit_thread;
use crate::source::Source;
use crate::times::{by_time, no_clock, visit_timed};
use destination::Destination;
use size::{Size, frames_that_fit};

/// Runs the verb.
pub(crate) fn run(args: &ExportArgs, out: &mut Out) -> Result<Status, Failure> {
    if args.out.is_none() && out.is_terminal() && is_binary(args.to) && !args.estimate {
        return Err(Failure::Usage(
            "this format is no text: name a file with --out FILE, or pipe it on".to_owned(),
        ));
    }
    let mut source = Source::open(&SourceArgs { dir: args.dir.clone(), format: Format::Text })?;
    source.choose(&args.threads)?;
    source.choose_tests(&args.tests)?;
    source.tell_losses();
    let [trace] = &source.traces[..] else {
        let dirs: Vec<_> =
            source.traces.iter().map(|trace| trace.dir.display().to_string()).collect();
        let dirs = dirs.join(", ");
        return Err(Failure::Usage(format!("here are several traces, export one of: {dirs}")));
    };
    let scale = if by_time(args.by, trace)? { Scale::Nanos } else { Scale::Calls };
    let spans = spans(args);
    if spans != Spans::ALL && scale == Scale::Calls {
        return Err(no_clock(trace));
    }
    let export = Export { args, trace, selection: args.filter.selection(trace), scale, spans };
    let status = match writer(args.to, trace, scale) {
        Writer::Timeline(timeline) => export.timeline(timeline, out)?,
        Writer::Paths(_) if spans != Spans::ALL => {
            return Err(Failure::Usage(
                "--time and --min-duration are for formats that show when calls happened"
                    .to_owned(),
            ));
        }
        Writer::Paths(format) => export.paths(format, out)?,
    };
    Ok(source.status.and(status))
}

/// What is left out by its time.
fn spans(args: &ExportArgs) -> Spans {
    Spans { min_ns: args.min_duration.unwrap_or(0), window: args.time.unwrap_or(Spans::ALL.window) }
}

/// What is exported of what.
struct Export<'a> {
    args: &'a ExportArgs,
    trace: &'a Trace,
    selection: Selection,
    scale: Scale,
    spans: Spans,
}

impl Export<'_> {
    fn which(&self) -> Which<'_> {
        Which { selection: &self.selection, depth: self.args.depth.unwrap_or(u64::MAX) }
    }

    fn play(&self, max_calls: u64) -> Play<'_> {
        Play { which: self.which(), max_calls, scale: self.scale, spans: self.spans }
    }

    /// Of all thread files.
    fn bytes(&self) -> u64 {
        self.trace.files.iter().fold(0, |sum, file| file.bytes.saturating_add(sum))
    }

    fn timeline(
        &self,
        mut timeline: Box<dyn Timeline + '_>,
        out: &mut Out,
    ) -> Result<Status, Failure> {
        let viewer = viewer(self.args.to).filter(|_| !self.args.force);
        if self.args.estimate || viewer.is_some() {
            let size = self.estimate()?;
            if self.args.estimate {
                return size.print(out);
            }
            if let Some(viewer) = viewer.filter(|viewer| size.bytes > viewer.bytes) {
                let fitting = self.depth_that_fits(&viewer, size)?;
                return Err(refusal(&viewer, &size.to_string(), fitting));
            }
        }
        let mut to = Destination::new(self.args.out.as_deref(), out)?;
        let mut progress = Progress::new(self.bytes(), to.is_terminal());
        let play = self.play(u64::MAX);
        let mut write = |bytes: &[u8]| to.put(bytes);
        let status = play.trace(self.trace, timeline.as_mut(), &mut progress, &mut write)?;
        to.finish()?;
        Ok(status)
    }

    fn paths(&self, format: &dyn Paths, out: &mut Out) -> Result<Status, Failure> {
        let (tree, status) = self.tree();
        let depth = self.args.depth.and_then(|depth| usize::try_from(depth).ok());
        let stacks = Stacks::new(&tree, depth.unwrap_or(usize::MAX));
        let size = Size { bytes: format.size(&stacks, self.trace), calls: tree.calls() };
        if self.args.estimate {
            return size.print(out);
        }
        if let Some(viewer) = viewer(self.args.to).filter(|_| !self.args.force) {
            let frames = format.frames(&stacks);
            if size.bytes > viewer.bytes || frames > viewer.frames {
                let what = format!("{size}, on up to {}", plural(frames as u64, "frame"));
                let fitting = frames_that_fit(format, &tree, self.trace, &viewer, frames);
                return Err(refusal(&viewer, &what, fitting));
            }
        }
        let mut to = Destination::new(self.args.out.as_deref(), out)?;
        let written = format.write(&stacks, self.trace, &mut to);
        written.map_err(|error| to.failure(error))?;
        to.finish()?;
        Ok(status)
    }

    /// All calls of selected methods, by path.
    fn tree(&self) -> (PathTree, Status) {
        let mut progress = Progress::new(self.bytes(), false);
        let mut status = Status::Done;
        let tree = if self.scale == Scale::Nanos {
            let clock = Clock::default();
            let mut graph = TimedGraph::new(&clock);
            for file in &self.trace.files {
                let reading = visit_timed(file, &self.selection, &mut progress, &clock, &mut graph);
                graph.end_thread();
                status = status.and(reading.tell(file, &progress));
            }
            graph.into_tree()
        } else {
            let mut graph = Graph::default();
            for file in &self.trace.files {
                let reading = visit_thread(file, &self.selection, &mut progress, &mut graph);
                graph.end_thread();
                status = status.and(reading.tell(file, &progress));
            }
            graph.into_tree()
        };
        if tree.beyond() > 0 {
            let calls = plural(tree.beyond(), "call");
            progress.message(&format!("{calls} by more than 2^32 paths are left out"));
            status = status.and(Status::Partial);
        }
        (tree, status)
    }
}

/// Why nothing is written, and what makes it small enough.
fn refusal(viewer: &Viewer, what: &str, fitting: Option<(u64, Size)>) -> Failure {
    let depth = match fitting {
        Some((depth, size)) => format!("--depth {depth} makes it {size}; "),
        None => "try --depth, ".to_owned(),
    };
    Failure::Failed(format!(
        "not written: {what}, and {}; {depth}--thread, --include and --exclude make it smaller too; \
         --force writes it all the same",
        viewer.says
    ))
}
