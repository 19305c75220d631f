//! What is known about the runs in a folder of recordings.

use flow_codec::format::test_marks::Outcome;
use flow_codec::read::{TestRun, Trace};

use crate::open::{RecordedRun, State};
use crate::rows::RunRow;

impl RecordedRun {
    /// Reads what is known about the run, from the ends of its recordings. A trace that cannot be opened adds nothing.
    ///
    /// A total is known if each recording has an end. The state is that of the recordings if all ended alike, else that of the
    /// first one that did not just finish.
    #[must_use]
    pub fn row(&self) -> RunRow {
        let traces: Vec<_> =
            self.traces().iter().filter_map(|path| Trace::open(path).ok()).collect();
        let manifests = || traces.iter().filter_map(|trace| trace.manifest());
        let ends =
            || manifests().map(|manifest| Some((manifest.start_unix_ns, manifest.end.as_ref()?)));
        let ends: Option<Vec<_>> = ends()
            .collect::<Option<_>>()
            .filter(|ends: &Vec<_>| !ends.is_empty() && ends.len() == self.traces().len());
        let start_unix_ns = manifests().map(|manifest| manifest.start_unix_ns).min();
        let last = ends.iter().flatten().map(|(start, end)| start.saturating_add(end.at_ns)).max();
        let calls = ends
            .as_ref()
            .map(|ends| ends.iter().map(|(_, end)| end.totals.enters).fold(0, u64::saturating_add));
        let (tests, failed) = tests(&traces);
        let states: Vec<_> = traces.iter().map(State::of).collect();
        // The first one that is not `finished`; `terminated` only if there is no other.
        let state = states.iter().rev().max_by_key(|state| match state {
            State::Finished { .. } => 0,
            State::Terminated { .. } => 1,
            _ => 2,
        });
        let first = manifests().next();
        RunRow {
            run: self.path().display().to_string(),
            start_unix_ns,
            duration_ns: last.zip(start_unix_ns).map(|(end, start)| end.saturating_sub(start)),
            command: first.map_or_else(String::new, |manifest| manifest.command.join(" ")),
            jvms: self.traces().len(),
            version: first.map_or_else(String::new, |manifest| manifest.jvm.version.clone()),
            calls,
            bytes: self.bytes(),
            tests,
            failed,
            state: state.unwrap_or(&State::Unknown).word(),
        }
    }
}

/// How many tests traces have, and how many of them failed.
fn tests(traces: &[Trace]) -> (u64, u64) {
    let tests: Vec<_> = traces.iter().flat_map(|trace| TestRun::read_all(trace).0).collect();
    let failed = tests.iter().filter(|test| test.outcome == Some(Outcome::Failed)).count();
    (tests.len() as u64, failed as u64)
}
