//! Which tests are selected, and the ranges of threads in which they ran.

use flow_codec::ThreadId;
use flow_codec::format::test_marks::Outcome;
use flow_codec::read::{Parts, TestRun, ThreadFile, Trace};

use super::pattern::nearest;
use crate::text::is_like;
use crate::{Error, Remark};

/// The tests whose name matches one of some patterns; without patterns, everything, in tests or not.
#[derive(Clone, Default, Debug)]
pub struct Tests {
    patterns: Vec<String>,
}

impl Tests {
    /// Selects the tests that match one of these patterns: a name with its package or without, with `*` for any text.
    #[must_use]
    pub fn of(patterns: &[String]) -> Self {
        Self { patterns: patterns.to_vec() }
    }

    pub(super) fn add(&mut self, pattern: &str) {
        self.patterns.push(pattern.to_owned());
    }

    /// Returns whether everything is selected, in tests or not.
    #[must_use]
    pub(crate) fn is_all(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns whether a test is selected.
    #[must_use]
    pub fn include(&self, name: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| is_test(name, pattern))
    }

    /// Checks that each pattern matches at least one test of the traces.
    ///
    /// # Errors
    /// A pattern matches none.
    pub fn expect_in(&self, runs: &[Vec<TestRun>]) -> Result<(), Error> {
        let runs = || runs.iter().flatten();
        let is_missing = |pattern: &&String| !runs().any(|run| is_test(&run.name, pattern));
        let Some(pattern) = self.patterns.iter().find(is_missing) else { return Ok(()) };
        let mut tests: Vec<_> = runs().map(|run| run.name.clone()).collect();
        tests.sort_unstable();
        tests.dedup();
        let nearest = nearest(pattern, tests.iter().cloned());
        Err(Error::NoTest { pattern: pattern.clone(), nearest, tests })
    }

    /// Replaces the threads of traces by the ranges of the selected tests, as one thread for each test and thread. Appends
    /// the errors in the marks of tests, which may hide a test.
    ///
    /// # Errors
    /// A pattern matches no test.
    pub(crate) fn keep_in(
        &self,
        traces: &mut [Trace],
        remarks: &mut Vec<Remark>,
    ) -> Result<(), Error> {
        if self.patterns.is_empty() {
            return Ok(());
        }
        let mut runs = Vec::new();
        for trace in &*traces {
            let (of_trace, errors) = TestRun::read_all(trace);
            remarks.extend(errors.into_iter().map(Remark::Damage));
            runs.push(of_trace);
        }
        self.expect_in(&runs)?;
        for (trace, runs) in traces.iter_mut().zip(runs) {
            let chosen = runs.iter().filter(|run| self.include(&run.name));
            trace.set_files(chosen.flat_map(|run| threads_of_test(trace, run)).collect());
        }
        Ok(())
    }
}

/// The ranges of threads in which a test ran: those of its own thread, then its helper threads.
#[must_use]
pub fn threads_of_test(trace: &Trace, run: &TestRun) -> Vec<ThreadFile> {
    let file = |id: ThreadId| trace.files().iter().find(|file| file.id() == id);
    let title = format!("test {} ({})", run.name, outcome(run));
    let of_test = file(run.thread).map(|file| file.only(&title, &run.ranges));
    let helpers =
        run.helpers.iter().filter_map(|id| file(*id)).map(|file| file.only(&title, &[Parts::ALL]));
    of_test.into_iter().chain(helpers).collect()
}

/// The name of the test that a title of [`threads_of_test`] has.
#[must_use]
pub fn test_of(title: &str) -> &str {
    let test = title.strip_prefix("test ").unwrap_or(title);
    test.rsplit_once(" (").map_or(test, |(name, _)| name)
}

/// The result of a test, as a word.
#[must_use]
pub fn outcome(run: &TestRun) -> &'static str {
    run.outcome.map_or("unfinished", Outcome::word)
}

/// The order of results: what needs attention comes first.
#[must_use]
pub fn result_rank(run: &TestRun) -> u8 {
    match run.outcome {
        Some(Outcome::Failed) => 0,
        None => 1,
        Some(Outcome::Aborted) => 2,
        Some(Outcome::Skipped) => 3,
        Some(Outcome::Passed) => 4,
    }
}

/// Returns whether a pattern matches the name of a test, with its package or without.
fn is_test(name: &str, pattern: &str) -> bool {
    let method = name.split(['(', '[']).next().unwrap_or_default();
    let mut dots = method.rmatch_indices('.').map(|(at, _)| at);
    let class = dots.nth(1).and_then(|dot| name.get(dot + 1..));
    is_like(name, pattern) || class.is_some_and(|name| is_like(name, pattern))
}
