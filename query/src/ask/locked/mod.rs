//! What the tests of a run did, as a [lock](flow_codec::format::test_lock), and how another run differs from it.

mod accept;
mod compare;
mod kept;
mod tolerance;

pub use self::accept::GoneTests;
pub use self::compare::{LockDifference, LockedChange};
pub use self::kept::KeptTests;
pub use self::tolerance::Tolerance;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flow_codec::format::shape_name::CallOrder;
use flow_codec::format::test_lock::{LockedTest, TestLock};
use flow_codec::format::test_marks::Outcome;

use super::test_runs::RanTests;
use crate::open::{Recordings, Traces};
use crate::reading::{Listener, Soundness};
use crate::select::{Select, Tests};
use crate::{Error, Remark};

/// The options that decide which calls are recorded.
const RECORDED: [&str; 7] =
    ["constructors", "exclude", "include", "natives", "skip", "synthetic", "target"];

/// Asks what tests did.
///
/// ```no_run
/// use flow_query::ask::LockedTests;
/// use flow_query::open::Traces;
///
/// let mut traces = Traces::open("flow-trace")?;
/// let run = LockedTests::all().read(&mut traces, &mut ())?;
/// std::fs::write("flow.lock", run.lock.encode())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct LockedTests {
    tests: Tests,
    order: CallOrder,
}

/// What the tests of a run did.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct LockedRun {
    /// The lock of the run.
    pub lock: TestLock,
    /// How tests ended that did the same, in order.
    pub outcomes: BTreeMap<LockedTest, Vec<Outcome>>,
    /// Whether all that they did is known.
    pub soundness: Soundness,
}

impl LockedTests {
    /// Asks for all tests.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Asks only for these tests.
    #[must_use]
    pub fn of(tests: Tests) -> Self {
        Self { tests, order: CallOrder::Counts }
    }

    /// Names what tests did with the order of calls, or without it.
    #[must_use]
    pub fn in_order(mut self, order: CallOrder) -> Self {
        self.order = order;
        self
    }

    /// Returns what the tests of a run did. A test that did not end is as it was then, and the answer is not whole.
    ///
    /// # Errors
    /// A pattern matches no test, or the calls of a test that is to be named without their order were left out.
    pub fn read(
        &self,
        traces: &mut Traces,
        listener: &mut impl Listener,
    ) -> Result<LockedRun, Error> {
        let runs = traces.read_tests();
        self.tests.expect_in(&runs)?;
        let mut asked_for = runs.iter().flatten().filter(|run| self.tests.include(&run.name));
        if self.order == CallOrder::Ignored
            && let Some(left) = asked_for.find(|run| run.left_out.is_some())
        {
            return Err(Error::CallsLeftOut {
                test: left.name.clone(),
                remedy: "their order counts in what is kept of them, so record without --keep-tests, or compare without --unordered",
            });
        }
        let asked = RanTests::all().select(Select::all().in_tests(self.tests.clone()));
        let asked = asked.in_order(self.order);
        let mut lock = TestLock { order: self.order, ..TestLock::default() };
        let (mut outcomes, mut soundness) = (BTreeMap::new(), Soundness::Whole);
        let unfinished = runs
            .iter()
            .flatten()
            .filter(|run| run.outcome.is_none() && self.tests.include(&run.name));
        if let Some(first) = unfinished.clone().next() {
            let (count, first) = (unfinished.count() as u64, first.name.clone());
            listener.remark(&Remark::UnfinishedTests { count, first });
            soundness = Soundness::Partial;
        }
        for (trace, runs) in traces.iter().zip(runs).filter(|(_, runs)| !runs.is_empty()) {
            let options = trace.manifest().map(|manifest| &manifest.options);
            for (key, value) in options.into_iter().flatten() {
                if RECORDED.contains(&key.as_str()) {
                    lock.recorded.insert((key.clone(), value.clone()));
                }
            }
            let (found, worst) = asked.behaviours(trace, runs, listener);
            soundness = soundness.and(worst);
            for (run, behaviour) in found {
                let test = LockedTest::new(run.name, behaviour.calls, behaviour.name);
                let ended: &mut Vec<_> = outcomes.entry(test.clone()).or_default();
                ended.extend(run.outcome);
                lock.tests.push(test);
            }
        }
        lock.tests.sort_unstable();
        Ok(LockedRun { lock, outcomes, soundness })
    }
}

/// Returns the newest run of a folder of recordings in which a test did what a lock with this order has, without the run at `not`.
#[must_use]
pub fn run_with(test: &LockedTest, order: CallOrder, folder: &Path, not: &Path) -> Option<PathBuf> {
    let recordings = Recordings::all_in(folder)?;
    let asked = LockedTests::of(Tests::of(std::slice::from_ref(&test.name))).in_order(order);
    let did_it = |path: &Path| {
        let run = Traces::open(path).and_then(|mut traces| asked.read(&mut traces, &mut ()));
        run.is_ok_and(|run| run.lock.tests.contains(test))
    };
    let mut runs = recordings.runs().iter().rev().map(|run| run.path());
    runs.find(|path| *path != not && did_it(path)).map(Path::to_path_buf)
}
