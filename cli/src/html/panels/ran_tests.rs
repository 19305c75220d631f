//! The tests of a page, those that failed first.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use flow_codec::ThreadId;
use flow_codec::read::{EventKind, TestRun, Trace};
use flow_query::ask::{RanTest, RanTests};
use flow_query::reading::Listener;
use flow_query::select::{Select, outcome, result_rank};
use serde::Serialize;

use crate::html::numbers::{cut, exact};

/// The most tests of a page.
const TESTS: usize = 3000;
/// The most characters of a name, and of the reason of a result.
const NAME_CHARS: usize = 200;
const DETAIL_CHARS: usize = 300;

/// The numbers of the calls of the page that were made in each test, by the thread and the name of the test.
#[derive(Default, Debug)]
pub(in crate::html) struct TestCalls {
    calls: HashMap<(ThreadId, String), VecDeque<Range<u64>>>,
}

impl TestCalls {
    /// Notes that a thread that has made `calls` calls starts or ends a test, if the event is that.
    pub(in crate::html) fn add(&mut self, thread: ThreadId, kind: &EventKind, calls: u64) {
        let EventKind::Test(test) = kind else { return };
        let runs = self.calls.entry((thread, test.name.clone())).or_default();
        match test.outcome {
            None => runs.push_back(calls..u64::MAX),
            Some(_) => {
                let open = runs.back_mut().filter(|run| run.end == u64::MAX);
                open.into_iter().for_each(|run| run.end = calls);
            }
        }
    }

    /// Takes those of the next test of this name, if it made any.
    fn next(&mut self, run: &TestRun) -> Option<[i64; 2]> {
        let calls = self.calls.get_mut(&(run.thread, run.name.clone()))?.pop_front()?;
        (!calls.is_empty()).then_some([exact(calls.start), exact(calls.end)])
    }
}

/// A test in the list of the page.
#[derive(Serialize)]
struct Row {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    title: String,
    result: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
    calls: u64,
    ns: Option<u64>,
    thread: ThreadId,
    /// The numbers of its calls in the thread, if it has any: from the first one up to the one after the last.
    within: Option<[i64; 2]>,
}

/// The tests of a page.
#[derive(Default, Serialize)]
pub(in crate::html) struct PageTests {
    rows: Vec<Row>,
    /// How many further tests there are.
    more: usize,
}

impl PageTests {
    /// Reads the tests of a trace whose threads are read as a whole.
    pub(in crate::html) fn read(
        trace: &Trace,
        select: Select,
        mut calls: TestCalls,
        listener: &mut impl Listener,
    ) -> Self {
        let (runs, _) = TestRun::read_all(trace);
        if runs.is_empty() || trace.files().iter().any(|file| file.parts().is_some()) {
            return Self::default();
        }
        let (tests, _) = RanTests::all().select(select).read(trace, runs, listener);
        let mut tests: Vec<_> =
            tests.into_iter().map(|test| (calls.next(&test.run), test)).collect();
        tests.sort_by_key(|(_, test)| result_rank(&test.run));
        let more = tests.len().saturating_sub(TESTS);
        let row = |(within, test): (Option<[i64; 2]>, RanTest)| Row {
            name: cut(&test.run.name, NAME_CHARS),
            title: cut(&test.run.title, NAME_CHARS),
            result: outcome(&test.run),
            detail: cut(&test.run.detail, DETAIL_CHARS),
            calls: test.calls,
            ns: test.run.elapsed_ns(),
            thread: test.run.thread,
            within: within.filter(|_| test.calls > 0),
        };
        Self { rows: tests.into_iter().take(TESTS).map(row).collect(), more }
    }
}
