//! Tests that failed once and passed another time, in one recording or in several.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flow_codec::format::test_marks::{Outcome, invocation};
use flow_codec::read::TestRun;

use crate::Error;
use crate::open::{Recordings, Traces};
use crate::select::Tests;

/// Parameters with which JUnit calls a repeated test. Those of other tests have values.
const OF_REPETITIONS: [&str; 4] = ["", "(RepetitionInfo)", "(TestInfo)", "(TestReporter)"];

/// Asks which tests failed once and passed another time: when a build ran them again, when they were repeated, or in another run
/// of the folder.
///
/// ```no_run
/// use std::path::Path;
/// use flow_query::ask::FlakyTests;
/// use flow_query::select::Tests;
///
/// let found = FlakyTests::of(Tests::default()).find(Path::new("flow-trace"))?;
/// for test in &found.tests {
///     println!("{} failed {} times", test.name, test.failed);
/// }
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct FlakyTests {
    tests: Tests,
}

/// What was found.
#[derive(Debug)]
#[non_exhaustive]
pub struct FoundFlaky {
    /// The tests: those first that failed and passed in one recording, each by name.
    pub tests: Vec<FlakyTest>,
    /// How many tests the recordings have.
    pub searched: usize,
    /// The recordings that were searched, the oldest first.
    pub recordings: Vec<PathBuf>,
    /// The recordings that cannot be opened.
    pub unreadable: Vec<(PathBuf, Error)>,
}

/// A test that failed once and passed another time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlakyTest {
    /// The name of the test.
    pub name: String,
    /// How often it passed.
    pub passed: usize,
    /// How often it failed.
    pub failed: usize,
    /// The attempts that are compared: one that passed, then one that failed. In one recording if there are such, and as near to each
    /// other as possible.
    pub pair: [TestAttempt; 2],
}

/// One run of a test.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TestAttempt {
    /// The recording, as [`Traces::open`] opens it.
    pub recording: PathBuf,
    /// The trace in it.
    pub trace: PathBuf,
    /// Which attempt of the test it was in this recording, from 1 on.
    pub number: usize,
    /// The run.
    pub run: TestRun,
    /// The number of the recording, from the oldest on.
    pub place: usize,
}

impl FlakyTests {
    /// Asks only for these tests.
    #[must_use]
    pub fn of(tests: Tests) -> Self {
        Self { tests }
    }

    /// Searches a recording, or all that are in a folder.
    ///
    /// # Errors
    /// There is no recording, the only one cannot be opened, or a pattern matches no test.
    pub fn find(&self, path: &Path) -> Result<FoundFlaky, Error> {
        let folder = Recordings::of(path);
        let runs = folder.iter().flat_map(Recordings::runs).map(|run| run.path().to_path_buf());
        let mut recordings: Vec<_> = runs.collect();
        if recordings.is_empty() {
            recordings.push(path.to_path_buf());
        }
        let (mut attempts, mut unreadable) = (BTreeMap::new(), Vec::new());
        let mut all = Vec::new();
        for (place, recording) in recordings.iter().enumerate() {
            match Traces::open(recording) {
                Ok(mut traces) => {
                    let runs = traces.read_tests();
                    for (trace, runs) in traces.iter().zip(runs) {
                        self.add(trace.dir(), (place, recording), &runs, &mut attempts);
                        all.push(runs);
                    }
                }
                Err(error) if recordings.len() > 1 => unreadable.push((recording.clone(), error)),
                Err(error) => return Err(error),
            }
        }
        self.tests.expect_in(&all)?;
        let searched = attempts.len();
        let mut tests: Vec<_> = attempts.into_values().filter_map(FlakyTest::of).collect();
        tests.sort_by_key(|test| !test.is_in_one_recording());
        Ok(FoundFlaky { tests, searched, recordings, unreadable })
    }

    fn add(
        &self,
        trace: &Path,
        (place, recording): (usize, &Path),
        runs: &[TestRun],
        attempts: &mut BTreeMap<String, Vec<TestAttempt>>,
    ) {
        for run in runs.iter().filter(|run| self.tests.include(&run.name)) {
            let of_test =
                attempts.entry(without_repetition(&run.name, &run.title).to_owned()).or_default();
            let earlier = of_test.iter().filter(|attempt| attempt.place == place).count();
            of_test.push(TestAttempt {
                recording: recording.to_path_buf(),
                trace: trace.to_path_buf(),
                number: earlier + 1,
                run: run.clone(),
                place,
            });
        }
    }
}

impl FlakyTest {
    /// The attempts of a test, if it is flaky.
    fn of(attempts: Vec<TestAttempt>) -> Option<Self> {
        let result = |TestAttempt { run, place, .. }: &TestAttempt| {
            let has_calls = !run.ranges.is_empty() && run.left_out.is_none();
            (*place, run.outcome.filter(|_| has_calls))
        };
        let results: Vec<_> = attempts.iter().map(result).collect();
        let (passed, failed, [one, other]) = nearest(&results)?;
        let pair = [attempts.get(one)?.clone(), attempts.get(other)?.clone()];
        let name = without_repetition(&pair[0].run.name, &pair[0].run.title).to_owned();
        Some(Self { name, passed, failed, pair })
    }

    /// Returns whether it failed and passed in one recording. Between two, its code may have changed.
    #[must_use]
    pub fn is_in_one_recording(&self) -> bool {
        let [passed, failed] = &self.pair;
        passed.place == failed.place
    }
}

/// How often a test passed and failed, and the nearest two such attempts, of these the newest; `None` if it did not do both. Each
/// attempt has the number of its recording, and a result if it was run.
fn nearest(attempts: &[(usize, Option<Outcome>)]) -> Option<(usize, usize, [usize; 2])> {
    let with = |is: &dyn Fn(usize, Outcome) -> bool| -> Vec<usize> {
        let all = attempts.iter().enumerate().rev();
        let found = all.filter(|(_, (place, outcome))| outcome.is_some_and(|one| is(*place, one)));
        found.map(|(at, _)| at).collect()
    };
    let passed = with(&|_, outcome| outcome == Outcome::Passed);
    let place = |at: usize| attempts.get(at).map_or(0, |(place, _)| *place);
    // Some extensions report an attempt that they repeat as aborted or skipped.
    let failed = with(&|of, outcome| match outcome {
        Outcome::Failed => true,
        Outcome::Aborted | Outcome::Skipped => passed.iter().any(|at| place(*at) == of),
        Outcome::Passed => false,
    });
    let distance =
        |[one, other]: [usize; 2]| (place(one).abs_diff(place(other)), one.abs_diff(other));
    let pairs = failed.iter().flat_map(|failed| passed.iter().map(|passed| [*passed, *failed]));
    let pair = pairs.min_by_key(|pair| distance(*pair))?;
    Some((passed.len(), failed.len(), pair))
}

/// The name of a test without the number of its repetition: `@RepeatedTest`, and extensions that run a failed test again, number the
/// attempts of one test as if they were tests with different arguments.
fn without_repetition<'a>(name: &'a str, title: &str) -> &'a str {
    let Some((stripped, number)) = invocation(name) else { return name };
    let types = stripped.find('(').and_then(|at| stripped.get(at..)).unwrap_or_default();
    let title = title.to_ascii_lowercase();
    let counted = title.strip_prefix(&format!("[{number}]"));
    let is_counted = counted.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        || title.contains("repetition") && title.contains(&format!(" {number} of "));
    if OF_REPETITIONS.contains(&types) && is_counted { stripped } else { name }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, nearest, without_repetition};

    #[test]
    fn repetitions_are_attempts_of_one_test() {
        for (name, title, expected) in [
            ("a.B.m[2]", "repetition 2 of 3", "a.B.m"),
            ("a.B.m[3]", "m() :: repetition 3 of 3", "a.B.m"),
            ("a.B.m(RepetitionInfo)[1]", "repetition 1 of 3", "a.B.m(RepetitionInfo)"),
            ("a.B.m[1]", "Repetition if test failed 1 of 2", "a.B.m"),
            ("a.B.m[2]", "[2] m()", "a.B.m"),
            ("a.B.m[2]", "[2]", "a.B.m"),
            ("a.B.m[2]", "[2]m", "a.B.m[2]"),
            // Parameters, and tests that a factory makes.
            ("a.B.m(int)[2]", "[2] 7", "a.B.m(int)[2]"),
            ("a.B.m[2]", "adds 2", "a.B.m[2]"),
            ("a.B.m", "m()", "a.B.m"),
        ] {
            assert_eq!(without_repetition(name, title), expected, "{name} {title}");
        }
    }

    #[test]
    fn the_nearest_attempts_are_compared() {
        use Outcome::{Aborted, Failed, Passed, Skipped};
        let flaky = |attempts: &[(usize, Outcome)]| {
            let run: Vec<_> = attempts.iter().map(|(at, outcome)| (*at, Some(*outcome))).collect();
            nearest(&run)
        };
        assert_eq!(flaky(&[(0, Failed), (0, Passed)]), Some((1, 1, [1, 0])));
        let runs = [(0, Failed), (1, Failed), (1, Passed), (2, Passed)];
        assert_eq!(flaky(&runs), Some((2, 2, [2, 1])));
        assert_eq!(flaky(&[(0, Passed), (1, Passed), (2, Failed)]), Some((2, 1, [1, 2])));
        assert_eq!(flaky(&[(0, Passed), (1, Passed)]), None);
        assert_eq!(flaky(&[(0, Failed), (1, Failed)]), None);
        // Run again by an extension; an assumption that does not hold in one run.
        assert_eq!(flaky(&[(0, Aborted), (0, Passed)]), Some((1, 1, [1, 0])));
        assert_eq!(flaky(&[(0, Skipped), (1, Passed)]), None);
        assert_eq!(nearest(&[(0, None), (0, Some(Passed))]), None);
    }
}
