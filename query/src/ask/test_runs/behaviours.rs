//! Names what tests did.

use std::collections::HashMap;

use flow_codec::ThreadId;
use flow_codec::read::{TestRun, ThreadFile, Trace};

use super::RanTests;
use super::threads::TestThreads;
use crate::analysis::NamedShapes;
use crate::dag::{Behaviour, NameCalls};
use crate::reading::{Ending, Listener, Reading, Soundness, read_timeline};
use crate::select::{Selected, bytes_read, threads_of_test};

impl RanTests {
    /// Reads what the selected tests of a trace did, in the order in which they began. `runs` are all its tests. No test is left
    /// out: where there is no memory for the shapes of its thread, its events are read.
    pub(crate) fn behaviours(
        &self,
        trace: &Trace,
        runs: Vec<TestRun>,
        listener: &mut impl Listener,
    ) -> (Vec<(TestRun, Behaviour)>, Soundness) {
        let selected = Selected::of(self.select.filter.selection(trace));
        let is_selected = |run: &TestRun| self.select.tests.include(&run.name);
        let runs: Vec<_> = runs.into_iter().filter(is_selected).collect();
        let files: Vec<_> = runs.iter().map(|run| threads_of_test(trace, run)).collect();
        let mut bytes: HashMap<ThreadId, u64> = HashMap::new();
        for file in files.iter().flatten() {
            *bytes.entry(file.id()).or_default() += bytes_read(file, file.bytes());
        }
        let (mut threads, mut named) =
            (TestThreads::default(), NameCalls::of(trace.methods(), self.order));
        let (mut found, mut soundness) = (Vec::new(), Soundness::Whole);
        for (run, files) in runs.into_iter().zip(files) {
            let (mut own, mut helpers) = (named.take(), Vec::new());
            for file in files.iter().filter(|file| self.select.threads.include(trace, file.id())) {
                let know = |dag| NamedShapes::new(dag, trace.methods(), self.order);
                let bytes = bytes.get(&file.id()).copied().unwrap_or_default();
                let shapes = selected.is_all().then(|| threads.of(file, bytes, know, listener));
                let reading = match (shapes.flatten(), file.parts()) {
                    (Some(shapes), Some(parts)) => {
                        shapes.name(parts.ranges(), &mut named);
                        listener.file_done(bytes_read(file, file.bytes()));
                        Reading::default()
                    }
                    _ => read(file, &selected, listener, &mut named),
                };
                soundness = soundness.and(reading.report(file, listener));
                match named.take() {
                    behaviour if file.id() == run.thread => own = behaviour,
                    behaviour => helpers.push(behaviour),
                }
            }
            let did = match run.left_out.filter(|_| selected.is_all()) {
                Some(left) => Behaviour::left_of(&left),
                None => own.together(helpers),
            };
            found.push((run, did));
        }
        (found, soundness)
    }
}

/// Names the selected calls of ranges of a thread, from its events.
fn read(
    file: &ThreadFile,
    selected: &Selected,
    listener: &mut impl Listener,
    named: &mut NameCalls<'_>,
) -> Reading {
    let mut timeline = match selected.timeline(file, 0) {
        Ok(timeline) => timeline,
        Err(error) => return Reading::failed(error),
    };
    let mut reading = read_timeline(file, &mut timeline, listener, named);
    reading.add_marks(timeline.into_damage());
    if reading.ending() == Ending::Stopped {
        reading.set_ending(Ending::Whole);
    }
    reading
}
