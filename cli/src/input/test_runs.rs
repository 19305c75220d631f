//! The tests of a trace, and the threads on which they ran.

use std::collections::HashMap;

use flow_codec::ThreadId;
use flow_codec::read::{TestRun, ThreadFile, Trace};
use flow_query::analysis::{Called, CalledShapes};
use flow_query::dag::{Dag, REPEATS};
use flow_query::reading::{Listener as _, Reading, Selected, bytes_read, visit_events};
use flow_query::select::Tests;

use super::flags::TestArgs;
use super::source::Source;
use crate::failure::{Failure, Status};
use crate::output::{Progress, message};

impl TestArgs {
    /// Returns whether a test is selected.
    pub(crate) fn include(&self, name: &str) -> bool {
        Tests::of(&self.patterns).include(name)
    }

    /// Checks that each pattern matches at least one test of the traces.
    pub(crate) fn expect_in(&self, runs: &[Vec<TestRun>]) -> Result<(), Failure> {
        Ok(Tests::of(&self.patterns).expect_in(runs)?)
    }
}

impl Source {
    /// Reads the tests of a trace, in the order in which they began. Reports errors in their marks.
    pub(crate) fn tests(trace: &Trace, status: &mut Status) -> Vec<TestRun> {
        let (runs, errors) = TestRun::read_all(trace);
        for error in errors {
            *status = Status::Damaged;
            message(&error.to_string());
        }
        runs
    }
}

/// Counts the calls of tests: from the stored shapes of their threads, or from events.
pub(crate) struct TestCalls<'a> {
    chosen: &'a Selected,
    threads: HashMap<ThreadId, Option<CalledShapes>>,
}

impl<'a> TestCalls<'a> {
    /// Counts the selected calls of a trace.
    pub(crate) fn new(chosen: &'a Selected) -> Self {
        Self { chosen, threads: HashMap::new() }
    }

    /// Begins other sums, in which no method is known.
    pub(crate) fn forget(&mut self) {
        self.threads.values_mut().flatten().for_each(CalledShapes::forget);
    }

    /// Adds the ranges of a thread in which a test ran to the sums to which all earlier ones were added.
    pub(crate) fn add(
        &mut self,
        file: &ThreadFile,
        progress: &mut Progress,
        called: &mut Called,
    ) -> Reading {
        let selection = &self.chosen.selection;
        let shapes = self.threads.entry(file.id).or_insert_with(|| {
            let dag = Dag::open_small(file, file.bytes, REPEATS)?;
            Some(CalledShapes::new(dag, selection))
        });
        match (shapes, &file.parts) {
            (Some(shapes), Some(parts)) => {
                shapes.add(&parts.ranges, called);
                progress.file_done(bytes_read(file, file.bytes));
                Reading::default()
            }
            _ => visit_events(file, self.chosen, progress, called),
        }
    }
}
