//! Calls of a trace added up by path, weighed by how many they are or how long they took.

use flow_codec::MethodId;
use flow_codec::analysis::{Graph, PathTree, Rooted, TimedGraph};
use flow_codec::read::{Clock, Selection, ThreadFile, Visit};

use crate::failure::Status;
use crate::output::Progress;
use crate::reading::{Chosen, Reading, visit_thread, visit_timed};

/// What reading threads has come to.
pub(crate) struct ByPath {
    pub(crate) tree: PathTree,
    /// How many of the threads have calls.
    pub(crate) threads: u64,
    pub(crate) status: Status,
}

/// What weighs calls by path.
trait Weigh: Visit {
    fn calls(&self) -> u64;
    fn end_thread(&mut self);
}

impl Weigh for Graph {
    fn calls(&self) -> u64 {
        self.calls()
    }

    fn end_thread(&mut self) {
        self.end_thread();
    }
}

impl Weigh for TimedGraph<'_> {
    fn calls(&self) -> u64 {
        self.calls()
    }

    fn end_thread(&mut self) {
        self.end_thread();
    }
}

impl ByPath {
    /// Reads the chosen calls of some threads, as far as they happen in one of the roots.
    pub(crate) fn read(
        files: &[ThreadFile],
        chosen: &Chosen,
        roots: &Selection,
        is_timed: bool,
        progress: &mut Progress,
    ) -> Self {
        if is_timed {
            let clock = Clock::default();
            let mut graph = TimedGraph::new(&clock);
            let (threads, status) =
                add(files, progress, &mut graph, |file, progress, graph| match roots.is_all() {
                    true => visit_timed(file, chosen, progress, &clock, graph),
                    false => visit_timed(file, chosen, progress, &clock, &mut rooted(roots, graph)),
                });
            Self { tree: graph.into_tree(), threads, status }
        } else {
            let mut graph = Graph::default();
            let (threads, status) =
                add(files, progress, &mut graph, |file, progress, graph| match roots.is_all() {
                    true => visit_thread(file, chosen, progress, graph),
                    false => visit_thread(file, chosen, progress, &mut rooted(roots, graph)),
                });
            Self { tree: graph.into_tree(), threads, status }
        }
    }
}

fn rooted<'a, V: Visit>(
    roots: &'a Selection,
    graph: &'a mut V,
) -> Rooted<'a, impl FnMut(MethodId) -> bool + 'a, V> {
    Rooted::new(|method| roots.contains(method), graph)
}

/// Adds threads, and answers how many of them have calls.
fn add<G: Weigh>(
    files: &[ThreadFile],
    progress: &mut Progress,
    graph: &mut G,
    visit: impl Fn(&ThreadFile, &mut Progress, &mut G) -> Reading,
) -> (u64, Status) {
    let (mut threads, mut status) = (0, Status::Done);
    for file in files {
        let before = graph.calls();
        let reading = visit(file, progress, graph);
        graph.end_thread();
        threads += u64::from(graph.calls() > before);
        status = status.and(reading.tell(file, progress));
    }
    (threads, status)
}
