//! Tests that a program ran, and what they called.

mod behaviours;
mod counts;
mod flaky;
mod threads;

pub use self::flaky::{FlakyTest, FlakyTests, FoundFlaky, TestAttempt};

use flow_codec::MethodId;
use flow_codec::format::shape_name::CallOrder;
use flow_codec::read::{Selection, TestRun, Trace};

use self::counts::TestCalls;
use crate::Error;
use crate::analysis::Called;
use crate::open::Traces;
use crate::reading::{Listener, Soundness};
use crate::select::{Select, Selected, methods, threads_of_test};

/// Which tests are asked for.
///
/// ```no_run
/// use flow_query::open::Traces;
/// use flow_query::ask::RanTests;
///
/// let mut traces = Traces::open("flow-trace")?;
/// let (tests, _) = RanTests::all().calling("Orders#total").find(&mut traces, &mut ())?;
/// for test in tests {
///     println!("{}", test.run.name);
/// }
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct RanTests {
    select: Select,
    calling: Option<String>,
    has_all_methods: bool,
    are_calling: bool,
    order: CallOrder,
}

/// A test, and what it called.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RanTest {
    /// The number of its trace among those that were searched.
    pub trace: usize,
    /// When it ran, and with which result.
    pub run: TestRun,
    /// The number of its selected calls.
    pub calls: u64,
    /// The methods that it called and no test before it, in the order of their first calls; or
    /// [all methods](RanTests::with_all_methods) that it called.
    pub methods: Vec<MethodId>,
}

impl RanTests {
    /// Asks for all tests.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Asks only for tests and calls of this selection.
    #[must_use]
    pub fn select(mut self, select: Select) -> Self {
        self.select = select;
        self
    }

    /// Asks only for tests that call a method that matches this pattern, with all methods that these call.
    #[must_use]
    pub fn calling(mut self, method: &str) -> Self {
        self.calling = Some(method.to_owned());
        self.with_all_methods()
    }

    /// Leaves out tests without selected calls.
    #[must_use]
    pub fn with_calls(mut self) -> Self {
        self.are_calling = true;
        self
    }

    /// Asks for all methods that each test called, instead of those that no test before it had called.
    #[must_use]
    pub fn with_all_methods(mut self) -> Self {
        self.has_all_methods = true;
        self
    }

    /// Names what tests did with the order of calls, or without it.
    #[must_use]
    pub(crate) fn in_order(mut self, order: CallOrder) -> Self {
        self.order = order;
        self
    }

    /// Returns the tests that are asked for, in the order in which they began, and whether everything could be read.
    ///
    /// # Errors
    /// A pattern matches nothing.
    pub fn find(
        &self,
        traces: &mut Traces,
        listener: &mut impl Listener,
    ) -> Result<(Vec<RanTest>, Soundness), Error> {
        let runs = traces.read_tests();
        self.select.tests.expect_in(&runs)?;
        let calling = methods(self.calling.as_slice(), &*traces)?;
        let (mut found, mut soundness) = (Vec::new(), Soundness::Whole);
        for (number, (trace, runs)) in traces.iter().zip(runs).enumerate() {
            let calling = Selection::new(trace.methods(), &calling, &[]);
            let (tests, of_trace) = self.read(trace, runs, listener);
            soundness = soundness.and(of_trace);
            let is_asked = |test: &RanTest| {
                calling.is_all() || test.methods.iter().any(|method| calling.contains(*method))
            };
            let tests = tests.into_iter().filter(is_asked);
            found.extend(tests.map(|test| RanTest { trace: number, ..test }));
        }
        Ok((found, soundness))
    }

    /// Reads what the selected tests of a trace called. `runs` are all its tests, in the order in which they began.
    #[doc(hidden)]
    pub fn read(
        &self,
        trace: &Trace,
        runs: Vec<TestRun>,
        listener: &mut impl Listener,
    ) -> (Vec<RanTest>, Soundness) {
        let Select { threads, tests, filter, .. } = &self.select;
        let selected = Selected::of(filter.selection(trace));
        let (mut called, mut counts) = (Called::default(), TestCalls::new(&selected));
        let (mut found, mut soundness) = (Vec::new(), Soundness::Whole);
        for run in runs {
            let is_selected = tests.include(&run.name);
            if self.has_all_methods {
                if !is_selected {
                    continue;
                }
                called = Called::default();
                counts.forget();
            }
            let files = threads_of_test(trace, &run);
            for file in files.iter().filter(|file| threads.include(trace, file.id())) {
                let reading = counts.add(file, listener, &mut called);
                soundness = soundness.and(reading.report(file, listener));
            }
            let (mut calls, methods) = called.take();
            // Those of selected methods alone are not known.
            if let Some(left) = run.left_out.filter(|_| selected.is_all()) {
                calls = left.calls;
            }
            // The new methods of a test depend on all tests before it.
            if is_selected && (calls > 0 || !self.are_calling) {
                found.push(RanTest { trace: 0, run, calls, methods });
            }
        }
        (found, soundness)
    }
}
