//! Adds up the calls of a trace by path, weighted by their number or time.

use flow_codec::MethodId;
use flow_codec::read::{Clock, Selection, ThreadFile, TimeAxis};
use flow_query::analysis::{
    CallWeight, Graph, LargestPaths, PathLimits, PathTree, Rooted, TimeWeight, Weight,
};

use super::reading::{
    Chosen, Reading, add_times, all_shapes, bytes_read, visit_thread, visit_timed,
};
use crate::failure::Status;
use crate::output::{MOST_PATHS, Progress, Unit};

/// Calls added up by path.
pub(crate) struct ContextTree {
    pub(crate) tree: PathTree,
    /// The number of threads with calls.
    pub(crate) threads: u64,
    pub(crate) status: Status,
}

impl ContextTree {
    /// Reads the selected calls of some threads, if they are calls of the roots or inside one.
    pub(crate) fn read(
        files: &[ThreadFile],
        chosen: &Chosen,
        roots: &Selection,
        unit: Unit,
        progress: &mut Progress,
    ) -> Self {
        match unit.axis() {
            None => add(
                Graph::with_limit(CallWeight, MOST_PATHS),
                files,
                progress,
                |file, progress, graph| match roots.is_all() {
                    true => visit_thread(file, chosen, progress, graph),
                    false => visit_thread(file, chosen, progress, &mut rooted(roots, graph)),
                },
            ),
            Some(TimeAxis::Wall) => timed::<false>(files, chosen, roots, progress),
            Some(TimeAxis::Cpu) => timed::<true>(files, chosen, roots, progress),
        }
    }

    /// The same of calls, but only the paths within the limits and those that are one method longer, from shapes. `None`
    /// if some of these are not stored.
    pub(crate) fn largest(
        files: &[ThreadFile],
        chosen: &Chosen,
        roots: &Selection,
        limits: impl FnOnce(u64) -> PathLimits,
        progress: &mut Progress,
    ) -> Option<Self> {
        let dags = all_shapes(files, chosen)?;
        let LargestPaths { tree, threads, .. } =
            LargestPaths::of(&dags, &chosen.selection, roots, limits)?;
        files.iter().for_each(|file| progress.file_done(bytes_read(file, file.bytes)));
        // Neither are there shapes of damaged events.
        Some(Self { tree, threads, status: Status::Done })
    }
}

fn timed<const CPU: bool>(
    files: &[ThreadFile],
    chosen: &Chosen,
    roots: &Selection,
    progress: &mut Progress,
) -> ContextTree {
    let clock = Clock::default();
    let graph = Graph::with_limit(TimeWeight::<CPU>::new(&clock), MOST_PATHS);
    add(graph, files, progress, |file, progress, graph| match roots.is_all() {
        true => add_times(file, chosen, progress, graph),
        false => visit_timed(file, chosen, progress, &clock, &mut rooted(roots, graph)),
    })
}

fn rooted<'a, G>(
    roots: &'a Selection,
    graph: &'a mut G,
) -> Rooted<'a, impl FnMut(MethodId) -> bool + 'a, G> {
    Rooted::new(|method| roots.contains(method), graph)
}

/// Adds up threads.
fn add<W: Weight>(
    mut graph: Graph<W>,
    files: &[ThreadFile],
    progress: &mut Progress,
    visit: impl Fn(&ThreadFile, &mut Progress, &mut Graph<W>) -> Reading,
) -> ContextTree {
    let (mut threads, mut status) = (0, Status::Done);
    for file in files {
        let before = graph.calls();
        let reading = visit(file, progress, &mut graph);
        graph.end_thread();
        threads += u64::from(graph.calls() > before);
        status = status.and(reading.report(file, progress));
    }
    ContextTree { tree: graph.into_tree(), threads, status }
}
