//! Writes an export, or refuses to if the file would be too large.

use std::borrow::Cow;

use flow_codec::read::{Selection, TestRun};
use flow_query::analysis::PathTree;

use super::destination::{Destination, report};
use super::request::Export;
use super::size::frames_that_fit;
use crate::export::{
    Blinky, Exporter, Origin, Parquet, PathFormat, Size, Stacks, Target, Viewer, viewer,
};
use crate::failure::{Failure, Status};
use crate::output::{Out, Progress, beyond, plural};
use flow_query::reading::{ContextTree, Listener as _};

impl<'a> Export<'a> {
    pub(super) fn timeline(
        &self,
        mut timeline: Box<dyn Exporter + '_>,
        out: &mut Out,
    ) -> Result<Status, Failure> {
        let viewer = viewer(self.to).filter(|_| !self.args.force);
        if self.args.estimate {
            return self.estimate()?.print(out);
        }
        if let Some(viewer) = viewer
            && let Some(size) = self.larger_than(viewer.bytes)?
        {
            let fitting = self.depth_that_fits(&viewer, size)?;
            return Err(refusal(&viewer, &size.to_string(), fitting));
        }
        let (mut to, mut progress) = Destination::new(self.args.out.as_deref(), self.bytes(), out)?;
        let emit = self.emit(u64::MAX);
        let mut write = |bytes: &[u8]| to.put(bytes);
        let (status, calls) =
            emit.trace(self.trace, timeline.as_mut(), &mut progress, &mut write)?;
        drop(progress);
        let calls = plural(calls, "call");
        // A diagram need not show all of them.
        let is_diagram = matches!(self.to, Target::Mermaid | Target::PlantUml);
        to.finish(&if is_diagram { format!("a diagram of {calls}") } else { calls })?;
        Ok(status)
    }

    pub(super) fn tables(&self) -> Result<Status, Failure> {
        let dir = self.args.new_directory("parquet")?;
        let mut progress = Progress::without_results(self.bytes());
        let tests = &self.args.part.tests;
        let is_selected = |run: &TestRun| tests.include(&run.name);
        let (service, commit) = (self.args.service.as_deref(), self.args.commit.as_deref());
        let origin = Origin::of(self.trace, service, commit);
        let mut tables = Parquet::create(
            dir,
            self.trace,
            self.scale,
            &self.tests,
            &self.of_presets,
            origin,
            is_selected,
        )?;
        let emit = self.emit(u64::MAX);
        let (status, calls) =
            emit.trace(self.trace, &mut tables, &mut progress, &mut |_| Ok(()))?;
        tables.end()?;
        drop(progress);
        report(&plural(calls, "call"), dir);
        Ok(status)
    }

    pub(super) fn instructions(
        &self,
        blinky: &mut Blinky<'a>,
        out: &mut Out,
    ) -> Result<Status, Failure> {
        let has_code = |(_, method): (_, &flow_codec::read::Method)| method.info().code.is_some();
        if !self.trace.methods().iter().any(has_code) {
            let dir = self.trace.dir().display();
            return Err(Failure::Failed(format!(
                "{dir}: no instructions; record with --instructions GLOB"
            )));
        }
        let (mut to, mut progress) = Destination::new(self.args.out.as_deref(), self.bytes(), out)?;
        let mut write = |bytes: &[u8]| to.put(bytes);
        let emit = self.emit(u64::MAX);
        let status = emit.instructions(self.trace, blinky, &mut progress, &mut write)?;
        drop(progress);
        to.finish("instructions")?;
        Ok(status)
    }

    pub(super) fn paths(&self, format: &dyn PathFormat, out: &mut Out) -> Result<Status, Failure> {
        let (tree, status) = match &self.samples {
            Some(tree) => (Cow::Borrowed(tree), Status::Done),
            None => {
                let (tree, status) = self.tree();
                (Cow::Owned(tree), status)
            }
        };
        let depth = self.args.depth.and_then(|depth| usize::try_from(depth).ok());
        let stacks = Stacks::new(&tree, depth.unwrap_or(usize::MAX));
        let stacks = if self.samples.is_some() { stacks.of_samples() } else { stacks };
        let size =
            Size { bytes: format.size(&stacks, self.trace), calls: tree.calls(), is_exact: false };
        if self.args.estimate {
            return size.print(out);
        }
        if size.bytes == 0 && !format.can_be_empty() {
            return Err(Failure::Failed("not written: there are no calls to draw".to_owned()));
        }
        if let Some(viewer) = viewer(self.to).filter(|_| !self.args.force) {
            let frames = format.frames(&stacks);
            if size.bytes > viewer.bytes || frames > viewer.frames {
                let what = format!("{size}, on up to {}", plural(frames as u64, "frame"));
                let fitting = frames_that_fit(format, &tree, self.trace, &viewer, frames);
                return Err(refusal(&viewer, &what, fitting));
            }
        }
        let (mut to, _) = Destination::new(self.args.out.as_deref(), self.bytes(), out)?;
        let written = format.write(&stacks, self.trace, &mut to.to);
        written.map_err(|error| to.failure(error))?;
        to.finish(&plural(tree.calls(), if self.samples.is_some() { "sample" } else { "call" }))?;
        Ok(status)
    }

    /// The selected calls, added up by path.
    fn tree(&self) -> (PathTree, Status) {
        let mut progress = Progress::without_results(self.bytes());
        let all = Selection::all();
        let axis = self.scale.axis();
        let read = ContextTree::read(self.trace.files(), &self.chosen, &all, axis, &mut progress);
        let mut status = Status::from(read.soundness());
        let tree = read.into_tree();
        if tree.beyond() > 0 {
            progress.message(beyond(tree.beyond(), "exported").trim_start_matches("… "));
            status = status.and(Status::Partial);
        }
        (tree, status)
    }
}

/// The refusal to write a file that its viewer cannot open, with advice on how to make it smaller.
fn refusal(viewer: &Viewer, what: &str, fitting: Option<(u64, Size)>) -> Failure {
    let depth = match fitting {
        Some((depth, size)) => format!("--depth {depth} makes it {size}; "),
        None => "try --depth, ".to_owned(),
    };
    Failure::Failed(format!(
        "not written: {what}, and {}; {depth}--thread, --include and --exclude make it smaller too; \
         --force writes it anyway",
        viewer.limit
    ))
}
