//! The tests of a trace, and the threads on which they ran.

use std::collections::HashMap;

use flow_codec::ThreadId;
use flow_codec::format::test_marks::Outcome;
use flow_codec::read::{Parts, TestRun, ThreadFile, Trace};
use flow_query::analysis::{Called, CalledShapes};
use flow_query::dag::{Dag, REPEATS};

use super::flags::TestArgs;
use super::pattern::nearest;
use super::source::{Source, is_like};
use crate::failure::{Failure, Status};
use crate::output::{Progress, flow_command, message};
use flow_query::reading::{Listener as _, Reading, Selected, bytes_read, visit_events};

/// If there are more names than this, a message counts the others.
const NAMED_TESTS: usize = 3;

impl TestArgs {
    /// Returns whether a test is selected.
    pub(crate) fn include(&self, name: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| is_test(name, pattern))
    }

    /// Checks that each pattern matches at least one test of the traces.
    pub(crate) fn expect_in(&self, runs: &[Vec<TestRun>]) -> Result<(), Failure> {
        let runs = || runs.iter().flatten();
        let is_missing = |pattern: &&String| !runs().any(|run| is_test(&run.name, pattern));
        match self.patterns.iter().find(is_missing) {
            None => Ok(()),
            Some(pattern) => Err(Failure::Failed(format!(
                "no test matches '{pattern}'; {}",
                names(pattern, runs())
            ))),
        }
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

    /// Replaces the threads by the ranges of the selected tests, as one thread for each test and thread.
    pub(crate) fn choose_tests(&mut self, args: &TestArgs) -> Result<(), Failure> {
        if args.patterns.is_empty() {
            return Ok(());
        }
        let mut status = self.status;
        let runs: Vec<_> =
            self.traces.iter().map(|trace| Self::tests(trace, &mut status)).collect();
        self.status = status;
        args.expect_in(&runs)?;
        for (trace, runs) in self.traces.iter_mut().zip(runs) {
            let chosen = runs.iter().filter(|run| args.include(&run.name));
            trace.files = chosen.flat_map(|run| files(trace, run)).collect();
        }
        Ok(())
    }
}

/// The ranges of threads in which a test ran: those of its own thread, then its helper threads.
pub(crate) fn files(trace: &Trace, run: &TestRun) -> Vec<ThreadFile> {
    let file = |id: ThreadId| trace.files.iter().find(|file| file.id == id);
    let title = format!("test {} ({})", run.name, outcome(run));
    let of_test = file(run.thread).map(|file| file.only(&title, &run.ranges));
    let helpers =
        run.helpers.iter().filter_map(|id| file(*id)).map(|file| file.only(&title, &[Parts::ALL]));
    of_test.into_iter().chain(helpers).collect()
}

/// The name of the test that a title of [`files`] has.
pub(crate) fn test_of(title: &str) -> &str {
    let test = title.strip_prefix("test ").unwrap_or(title);
    test.rsplit_once(" (").map_or(test, |(name, _)| name)
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

/// The result of a test, as a word.
pub(crate) fn outcome(run: &TestRun) -> &'static str {
    run.outcome.map_or("unfinished", Outcome::word)
}

/// Returns whether a pattern matches the name of a test, with its package or without.
fn is_test(name: &str, pattern: &str) -> bool {
    let method = name.split(['(', '[']).next().unwrap_or_default();
    let mut dots = method.rmatch_indices('.').map(|(at, _)| at);
    let class = dots.nth(1).and_then(|dot| name.get(dot + 1..));
    is_like(name, pattern) || class.is_some_and(|name| is_like(name, pattern))
}

/// Names the tests that come nearest to a pattern, or some of them.
fn names<'a>(pattern: &str, runs: impl Iterator<Item = &'a TestRun>) -> String {
    let mut names: Vec<_> = runs.map(|run| run.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return format!("no tests are marked in this trace ({})", flow_command("help tests"));
    }
    let list = flow_command("tests");
    let nearest = nearest(pattern, names.iter().map(|name| (*name).to_owned()));
    if !nearest.is_empty() {
        return format!("the nearest: {} ({list} lists all)", nearest.join(", "));
    }
    let more = names.len().saturating_sub(NAMED_TESTS);
    names.truncate(NAMED_TESTS);
    let more = if more > 0 { format!(", … {more} more") } else { String::new() };
    format!("there are: {}{more} ({list} lists them)", names.join(", "))
}
