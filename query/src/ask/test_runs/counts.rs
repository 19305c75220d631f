//! Counts the calls of tests.

use std::collections::HashMap;

use flow_codec::ThreadId;
use flow_codec::index::SMALLEST_INDEXED_BYTES;
use flow_codec::read::ThreadFile;

use crate::analysis::{Called, CalledShapes};
use crate::dag::{Dag, REPEATS};
use crate::reading::{Listener, Reading, open_dag, visit_events};
use crate::select::{Selected, bytes_read};
use crate::shapes::{default_words, keep_for_others};

/// The shapes of a thread that has none are built once this part of its events was read for tests: that takes less time than to
/// read all tests.
const PART_BEFORE_SHAPES: u64 = 8;

/// Counts the calls of tests: from the stored shapes of their threads, or from events.
pub(super) struct TestCalls<'a> {
    selected: &'a Selected,
    threads: HashMap<ThreadId, Source>,
    /// How many words the shapes of further threads may take.
    words_left: usize,
}

/// What the calls of a thread are counted in.
enum Source {
    Shapes(Box<CalledShapes>),
    /// The events, of which this many bytes were read.
    Events(u64),
    /// The events: there are no shapes, or they cannot be used.
    OnlyEvents,
}

impl<'a> TestCalls<'a> {
    /// Counts the selected calls of a trace.
    pub(super) fn new(selected: &'a Selected) -> Self {
        Self { selected, threads: HashMap::new(), words_left: default_words() }
    }

    /// Begins other sums, in which no method is known.
    pub(super) fn forget(&mut self) {
        for source in self.threads.values_mut() {
            if let Source::Shapes(shapes) = source {
                shapes.forget();
            }
        }
    }

    /// Adds the ranges of a thread in which a test ran to the sums to which all earlier ones were added.
    pub(super) fn add(
        &mut self,
        file: &ThreadFile,
        progress: &mut impl Listener,
        called: &mut Called,
    ) -> Reading {
        let selection = &self.selected.selection;
        let words_left = &mut self.words_left;
        let mut shapes = |dag: Dag| {
            let Some(left) = words_left.checked_sub(dag.size()) else { return Source::OnlyEvents };
            *words_left = left;
            Source::Shapes(Box::new(CalledShapes::new(dag, selection)))
        };
        let source = self.threads.entry(file.id()).or_insert_with(|| {
            Dag::open_small(file, file.bytes(), REPEATS).map_or(Source::Events(0), &mut shapes)
        });
        if let Source::Events(read) = source {
            *read = read.saturating_add(bytes_read(file, file.bytes()));
            if file.bytes() >= SMALLEST_INDEXED_BYTES && *read > file.bytes() / PART_BEFORE_SHAPES {
                let built = build(&file.whole(), progress);
                *source = built.map_or(Source::OnlyEvents, shapes);
            }
        }
        match (source, file.parts()) {
            (Source::Shapes(shapes), Some(parts)) => {
                shapes.add(parts.ranges(), called);
                progress.file_done(bytes_read(file, file.bytes()));
                Reading::default()
            }
            _ => visit_events(file, self.selected, progress, called),
        }
    }
}

/// Builds the shapes of a thread, and stores them. `None` if its calls repeat too little, or if its events are damaged: then their
/// reader learns of it.
fn build(file: &ThreadFile, progress: &mut impl Listener) -> Option<Dag> {
    progress.expect_more(file.bytes());
    let opened = open_dag(file, default_words(), progress);
    progress.file_done(file.bytes());
    let (built, origin, content) = opened.ok()?;
    keep_for_others(file, &content, &built, origin);
    let is_sound = built.not_stored(file, &content).is_none();
    built.into_dag().filter(|_| is_sound)
}
