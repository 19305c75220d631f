//! The shapes of threads that ran tests.

use std::collections::HashMap;

use flow_codec::ThreadId;
use flow_codec::read::ThreadFile;

use crate::dag::{Dag, REPEATS};
use crate::reading::{Listener, open_dag};
use crate::shapes::{keep_for_others, most_words};

/// The shapes of a thread that has none are built once this part of its events was read for tests: that takes less time than to
/// read all tests. Small threads are no exception: the events of a test are found quickly, but its marks only by reading all marks
/// before them.
const PART_BEFORE_SHAPES: u64 = 8;

/// What is known of threads that have shapes: those that are stored, or of which enough is read that it takes less time to build
/// them.
pub(super) struct TestThreads<S> {
    threads: HashMap<ThreadId, Source<S>>,
    /// How many words the shapes of further threads may take.
    words_left: usize,
}

/// What the calls of a thread are read from.
enum Source<S> {
    Shapes(Box<S>),
    /// The events, of which this many bytes were read.
    Events(u64),
    /// The events: there are no shapes, or they cannot be used.
    OnlyEvents,
}

impl<S> Default for TestThreads<S> {
    fn default() -> Self {
        Self { threads: HashMap::new(), words_left: most_words() }
    }
}

impl<S> TestThreads<S> {
    /// Everything that is known.
    pub(super) fn known(&mut self) -> impl Iterator<Item = &mut S> {
        self.threads.values_mut().filter_map(|source| match source {
            Source::Shapes(known) => Some(&mut **known),
            Source::Events(_) | Source::OnlyEvents => None,
        })
    }

    /// What is known of a thread of which this many bytes are read now; `None` if its events are read. `know` returns `None` for
    /// shapes that are of no use.
    pub(super) fn of(
        &mut self,
        file: &ThreadFile,
        bytes: u64,
        know: impl Fn(Dag) -> Option<S>,
        progress: &mut impl Listener,
    ) -> Option<&mut S> {
        let words_left = &mut self.words_left;
        let mut known = |dag: Dag| {
            let left = words_left.checked_sub(dag.size());
            match left.and_then(|left| Some((left, know(dag)?))) {
                Some((left, known)) => {
                    *words_left = left;
                    Source::Shapes(Box::new(known))
                }
                None => Source::OnlyEvents,
            }
        };
        let source = self.threads.entry(file.id()).or_insert_with(|| {
            Dag::open_small(file, file.bytes(), REPEATS).map_or(Source::Events(0), &mut known)
        });
        if let Source::Events(read) = source {
            *read = read.saturating_add(bytes);
            if *read > file.bytes() / PART_BEFORE_SHAPES {
                let built = build(&file.whole(), progress);
                *source = built.map_or(Source::OnlyEvents, known);
            }
        }
        match source {
            Source::Shapes(known) => Some(known),
            Source::Events(_) | Source::OnlyEvents => None,
        }
    }
}

/// Builds the shapes of a thread, and stores them. `None` if its calls repeat too little, or if its events are damaged: then their
/// reader learns of it.
fn build(file: &ThreadFile, progress: &mut impl Listener) -> Option<Dag> {
    progress.expect_more(file.bytes());
    let opened = open_dag(file, most_words(), progress);
    progress.file_done(file.bytes());
    let (built, origin, content) = opened.ok()?;
    keep_for_others(file, &content, &built, origin);
    let is_sound = built.not_stored(file, &content).is_none();
    built.into_dag().filter(|_| is_sound)
}
