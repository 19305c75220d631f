//! Which tests keep their calls, where those of tests that passed are left out.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use flow_codec::ThreadId;
use flow_codec::convert::{Cut, Shrink};
use flow_codec::format::test_lock::TestLock;
use flow_codec::format::test_marks::{LeftOut, Outcome, invocation};
use flow_codec::read::{TestRun, Trace};

use super::{LockedTests, RanTests};
use crate::Error;
use crate::open::Traces;
use crate::reading::Soundness;

/// The option with which events of different threads have numbers.
const NUMBERED: &str = "order=total";

/// Writes a trace in which only tests that did not simply pass have their calls: those that failed, had nothing to test, did not
/// end, or ran again, with all their runs. Of others, what they did stays by name, with the number of their calls. Calls outside
/// of tests stay, too.
#[derive(Clone, Copy, Default, Debug)]
#[non_exhaustive]
pub struct KeptTests {
    /// How many tests the trace has.
    pub tests: u64,
    /// How many of these are left out.
    pub left_out: u64,
    /// How many passed and stay, because they did not begin and end in the same frame.
    pub unbalanced: u64,
}

impl KeptTests {
    /// Writes the rest of the trace at `path` to a new file, and reads that again: its tests must have done the same. Writes nothing
    /// if no test can be left out; what was written before an error is removed. `is_stopped` is asked again and again.
    ///
    /// # Errors
    /// The trace is damaged, or cannot be shrunk; or the file cannot be written, or differs.
    pub fn write(path: &Path, new: &Path, is_stopped: &dyn Fn() -> bool) -> Result<Self, Error> {
        let refuse = |why: &str| Error::NotShrunk { path: path.to_path_buf(), why: why.to_owned() };
        let (before, soundness) = lock_of(path)?;
        if soundness == Soundness::Damaged {
            return Err(refuse("it is damaged, or lacks events"));
        }
        let trace = Trace::open(path)?;
        if trace.has_numbers() {
            return Err(refuse(&format!("the order of its events is numbered ({NUMBERED})")));
        }
        let mut kept = Self::default();
        let Some(shrink) = kept.choose(&trace)? else { return Ok(kept) };
        if is_stopped() {
            return Err(refuse("it was interrupted, or takes too long"));
        }
        let written = shrink.write(&trace, new, is_stopped).map_err(Error::from);
        let checked = written.and_then(|_| expect_same(&before, new)).and_then(|same| {
            if same { Ok(kept) } else { Err(refuse("its tests would not be the same")) }
        });
        checked.inspect_err(|_| drop(std::fs::remove_file(new)))
    }

    /// Chooses the tests to leave out.
    fn choose(&mut self, trace: &Trace) -> Result<Option<Shrink>, Error> {
        let (runs, _) = TestRun::read_all(trace);
        self.tests = runs.len() as u64;
        let stays = not_only_passed(&runs);
        let (ran, _) = RanTests::all().read(trace, runs.clone(), &mut ());
        let (did, _) = RanTests::all().behaviours(trace, runs, &mut ());
        let mut cuts: HashMap<ThreadId, Vec<Cut>> = HashMap::new();
        for ((run, behaviour), ran) in did.into_iter().zip(ran) {
            let [range] = &run.ranges[..] else { continue };
            if stays.contains(base(&run.name)) || run.left_out.is_some() {
                continue;
            }
            let left = LeftOut {
                calls: ran.calls,
                counted: behaviour.calls,
                start_ns: run.start_ns,
                end_ns: run.end_ns,
                behaviour: behaviour.name,
            };
            let (test, range, helpers) = (run.name, range.clone(), run.helpers);
            cuts.entry(run.thread).or_default().push(Cut { test, range, helpers, left });
        }
        let mut shrink = Shrink::default();
        for file in trace.files() {
            if let Some(mut cuts) = cuts.remove(&file.id()) {
                cuts.sort_by_key(|cut| cut.range.start);
                self.unbalanced += shrink.add(file, cuts)?;
            }
        }
        self.left_out = shrink.tests();
        Ok((self.left_out > 0).then_some(shrink))
    }
}

/// The names of tests that keep their calls, without numbers of invocations: those of which a run did not pass, or that ran again.
fn not_only_passed(runs: &[TestRun]) -> HashSet<String> {
    let mut names = HashSet::new();
    let mut stays = HashSet::new();
    for run in runs {
        let ran_before = !names.insert(&*run.name);
        if ran_before || !matches!(run.outcome, Some(Outcome::Passed | Outcome::Skipped)) {
            stays.insert(base(&run.name).to_owned());
        }
    }
    stays
}

/// The name of a test without the number of its invocation.
fn base(name: &str) -> &str {
    invocation(name).map_or(name, |(base, _)| base)
}

/// What the tests of one trace did. A trace that lacks events counts as damaged.
fn lock_of(path: &Path) -> Result<(TestLock, Soundness), Error> {
    let mut traces = Traces::of(Trace::open(path)?, path);
    let is_short = !traces.missing().is_empty();
    let run = LockedTests::all().read(&mut traces, &mut ())?;
    Ok((run.lock, if is_short { Soundness::Damaged } else { run.soundness }))
}

/// Returns whether the tests of a new file did what is in a lock.
fn expect_same(before: &TestLock, new: &Path) -> Result<bool, Error> {
    let (after, soundness) = lock_of(new)?;
    Ok(soundness != Soundness::Damaged && after == *before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invocations_of_a_test_stay_together() {
        for (name, expected) in [
            ("a.B.c", "a.B.c"),
            ("a.B.c(int)[2]", "a.B.c(int)"),
            ("a.B.c(int[])[1]", "a.B.c(int[])"),
        ] {
            assert_eq!(base(name), expected);
        }
    }
}
