//! What is known about the runs in a folder of recordings.

use std::path::PathBuf;

use flow_codec::format::test_marks::Outcome;
use flow_codec::read::{TestRun, Trace};

use crate::open::{RecordedRun, State};
use crate::rows::RunRow;

/// What is known about a run, from the ends of its recordings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunInfo {
    /// The file of its first JVM.
    pub path: PathBuf,
    /// When it began, in nanoseconds since 1970.
    pub start_unix_ns: Option<u64>,
    /// From its start to the last end, in nanoseconds, if each recording has an end.
    pub duration_ns: Option<u64>,
    /// How many JVMs were recorded.
    pub jvms: usize,
    /// The version of the first JVM.
    pub version: String,
    /// The command line of the first JVM.
    pub command: Vec<String>,
    /// How many calls were recorded, if each recording has an end.
    pub calls: Option<u64>,
    /// The size of its files.
    pub bytes: u64,
    /// How many tests it ran.
    pub tests: u64,
    /// How many tests failed.
    pub failed: u64,
    /// How it ended: that of its recordings if all ended alike, else that of the first one that did not just finish.
    pub state: State,
}

impl RunInfo {
    /// Reads what is known about a run. A trace that cannot be opened adds nothing.
    #[must_use]
    pub fn of(run: &RecordedRun) -> Self {
        let traces: Vec<_> =
            run.traces().iter().filter_map(|path| Trace::open(path).ok()).collect();
        let manifests = || traces.iter().filter_map(|trace| trace.manifest());
        let ends =
            || manifests().map(|manifest| Some((manifest.start_unix_ns, manifest.end.as_ref()?)));
        let ends: Option<Vec<_>> = ends()
            .collect::<Option<_>>()
            .filter(|ends: &Vec<_>| !ends.is_empty() && ends.len() == run.traces().len());
        let start_unix_ns = manifests().map(|manifest| manifest.start_unix_ns).min();
        let last = ends.iter().flatten().map(|(start, end)| start.saturating_add(end.at_ns)).max();
        let calls = ends
            .as_ref()
            .map(|ends| ends.iter().map(|(_, end)| end.totals.enters).fold(0, u64::saturating_add));
        let (tests, failed) = tests(&traces);
        let states: Vec<_> = traces.iter().map(State::of).collect();
        let is_finished = |state: &&State| matches!(state, State::Finished { .. });
        let state = states.iter().find(|state| !is_finished(state)).or(states.first()).cloned();
        let first = manifests().next();
        Self {
            path: run.path().to_path_buf(),
            start_unix_ns,
            duration_ns: last.zip(start_unix_ns).map(|(end, start)| end.saturating_sub(start)),
            jvms: run.traces().len(),
            version: first.map_or_else(String::new, |manifest| manifest.jvm.version.clone()),
            command: first.map_or_else(Vec::new, |manifest| manifest.command.clone()),
            calls,
            bytes: run.bytes(),
            tests,
            failed,
            state: state.unwrap_or(State::Unknown),
        }
    }

    /// The row of the run.
    #[must_use]
    pub fn row(&self) -> RunRow {
        RunRow {
            run: self.path.display().to_string(),
            start_unix_ns: self.start_unix_ns,
            duration_ns: self.duration_ns,
            command: self.command.join(" "),
            jvms: self.jvms,
            version: self.version.clone(),
            calls: self.calls,
            bytes: self.bytes,
            tests: self.tests,
            failed: self.failed,
            state: self.state.word(),
        }
    }
}

/// How many tests traces have, and how many of them failed.
fn tests(traces: &[Trace]) -> (u64, u64) {
    let tests: Vec<_> = traces.iter().flat_map(|trace| TestRun::read_all(trace).0).collect();
    let failed = tests.iter().filter(|test| test.outcome == Some(Outcome::Failed)).count();
    (tests.len() as u64, failed as u64)
}
