//! Adds up the calls of a trace by path, weighted by their number or time.

use crate::analysis::{
    CallWeight, Graph, LargestPaths, PathLimits, PathTree, Rooted, TimeWeight, Weight,
};
use flow_codec::MethodId;
use flow_codec::read::{Clock, Selection, ThreadFile, TimeAxis};

use super::events::visit_timed;
use super::sums::{add_times, all_shapes, visit_thread};
use super::{Listener, Reading, Selected, Soundness, bytes_read};

/// The most paths that are kept, the root included; further calls are only counted.
pub const MOST_PATHS: u32 = 1 << 20;

/// Calls added up by path.
#[derive(Debug)]
pub struct ContextTree {
    tree: PathTree,
    threads: u64,
    soundness: Soundness,
}

impl ContextTree {
    /// Returns the paths with their sums.
    #[must_use]
    pub fn tree(&self) -> &PathTree {
        &self.tree
    }

    /// Returns the paths with their sums, by value.
    #[must_use]
    pub fn into_tree(self) -> PathTree {
        self.tree
    }

    /// Returns the number of threads with calls.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.threads
    }

    /// Returns whether everything was read.
    #[must_use]
    pub fn soundness(&self) -> Soundness {
        self.soundness
    }

    /// Reads the selected calls of some threads, if they are calls of the roots or inside one.
    pub fn read(
        files: &[ThreadFile],
        selected: &Selected,
        roots: &Selection,
        axis: Option<TimeAxis>,
        progress: &mut impl Listener,
    ) -> Self {
        match axis {
            None => add(
                Graph::with_limit(CallWeight, MOST_PATHS),
                files,
                progress,
                |file, progress, graph| match roots.is_all() {
                    true => visit_thread(file, selected, progress, graph),
                    false => visit_thread(file, selected, progress, &mut rooted(roots, graph)),
                },
            ),
            Some(TimeAxis::Wall) => timed::<false>(files, selected, roots, progress),
            Some(TimeAxis::Cpu) => timed::<true>(files, selected, roots, progress),
        }
    }

    /// Reads the largest paths by calls, and those that are one method longer, from shapes. `None`
    /// if some of these are not stored.
    #[doc(hidden)]
    pub fn largest(
        files: &[ThreadFile],
        selected: &Selected,
        roots: &Selection,
        limits: impl FnOnce(u64) -> PathLimits,
        progress: &mut impl Listener,
    ) -> Option<Self> {
        let dags = all_shapes(files, selected)?;
        let LargestPaths { tree, threads, .. } =
            LargestPaths::of(&dags, &selected.selection, roots, limits)?;
        files.iter().for_each(|file| progress.file_done(bytes_read(file, file.bytes())));
        // Neither are there shapes of damaged events.
        Some(Self { tree, threads, soundness: Soundness::Whole })
    }
}

fn timed<const CPU: bool>(
    files: &[ThreadFile],
    selected: &Selected,
    roots: &Selection,
    progress: &mut impl Listener,
) -> ContextTree {
    let clock = Clock::default();
    let graph = Graph::with_limit(TimeWeight::<CPU>::new(&clock), MOST_PATHS);
    add(graph, files, progress, |file, progress, graph| match roots.is_all() {
        true => add_times(file, selected, progress, graph),
        false => visit_timed(file, selected, progress, &clock, &mut rooted(roots, graph)),
    })
}

fn rooted<'a, G>(
    roots: &'a Selection,
    graph: &'a mut G,
) -> Rooted<'a, impl FnMut(MethodId) -> bool + 'a, G> {
    Rooted::new(|method| roots.contains(method), graph)
}

/// Adds up threads.
fn add<W: Weight, L: Listener>(
    mut graph: Graph<W>,
    files: &[ThreadFile],
    progress: &mut L,
    visit: impl Fn(&ThreadFile, &mut L, &mut Graph<W>) -> Reading,
) -> ContextTree {
    let (mut threads, mut soundness) = (0, Soundness::Whole);
    for file in files {
        let before = graph.calls();
        let reading = visit(file, progress, &mut graph);
        graph.end_thread();
        threads += u64::from(graph.calls() > before);
        soundness = soundness.and(reading.report(file, progress));
    }
    ContextTree { tree: graph.into_tree(), threads, soundness }
}
