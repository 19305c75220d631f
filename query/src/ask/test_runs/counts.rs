//! Counts the calls of tests.

use flow_codec::read::ThreadFile;

use super::threads::TestThreads;
use crate::analysis::{Called, CalledShapes};
use crate::reading::{Listener, Reading, visit_events};
use crate::select::{Selected, bytes_read};

/// Counts the calls of tests: from the shapes of their threads, or from events.
pub(super) struct TestCalls<'a> {
    selected: &'a Selected,
    threads: TestThreads<CalledShapes>,
}

impl<'a> TestCalls<'a> {
    /// Counts the selected calls of a trace.
    pub(super) fn new(selected: &'a Selected) -> Self {
        Self { selected, threads: TestThreads::default() }
    }

    /// Begins other sums, in which no method is known.
    pub(super) fn forget(&mut self) {
        self.threads.known().for_each(CalledShapes::forget);
    }

    /// Adds the ranges of a thread in which a test ran to the sums to which all earlier ones were added.
    pub(super) fn add(
        &mut self,
        file: &ThreadFile,
        progress: &mut impl Listener,
        called: &mut Called,
    ) -> Reading {
        let (selection, bytes) = (&self.selected.selection, bytes_read(file, file.bytes()));
        let know = |dag| Some(CalledShapes::new(dag, selection));
        match (self.threads.of(file, bytes, know, progress), file.parts()) {
            (Some(shapes), Some(parts)) => {
                shapes.add(parts.ranges(), called);
                progress.file_done(bytes);
                Reading::default()
            }
            _ => visit_events(file, self.selected, progress, called),
        }
    }
}
