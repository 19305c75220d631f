//! Counts the calls of tests.

use std::collections::HashMap;

use flow_codec::ThreadId;
use flow_codec::read::ThreadFile;

use crate::analysis::{Called, CalledShapes};
use crate::dag::{Dag, REPEATS};
use crate::reading::{Listener, Reading, visit_events};
use crate::select::{Selected, bytes_read};

/// Counts the calls of tests: from the stored shapes of their threads, or from events.
pub(super) struct TestCalls<'a> {
    selected: &'a Selected,
    threads: HashMap<ThreadId, Option<CalledShapes>>,
}

impl<'a> TestCalls<'a> {
    /// Counts the selected calls of a trace.
    pub(super) fn new(selected: &'a Selected) -> Self {
        Self { selected, threads: HashMap::new() }
    }

    /// Begins other sums, in which no method is known.
    pub(super) fn forget(&mut self) {
        self.threads.values_mut().flatten().for_each(CalledShapes::forget);
    }

    /// Adds the ranges of a thread in which a test ran to the sums to which all earlier ones were added.
    pub(super) fn add(
        &mut self,
        file: &ThreadFile,
        progress: &mut impl Listener,
        called: &mut Called,
    ) -> Reading {
        let selection = &self.selected.selection;
        let shapes = self.threads.entry(file.id()).or_insert_with(|| {
            let dag = Dag::open_small(file, file.bytes(), REPEATS)?;
            Some(CalledShapes::new(dag, selection))
        });
        match (shapes, file.parts()) {
            (Some(shapes), Some(parts)) => {
                shapes.add(parts.ranges(), called);
                progress.file_done(bytes_read(file, file.bytes()));
                Reading::default()
            }
            _ => visit_events(file, self.selected, progress, called),
        }
    }
}
