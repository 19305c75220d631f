//! Why a question has no answer.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use flow_codec::ThreadId;

use crate::text::{grouped, plural};

/// The most names that a message lists.
const LISTED: usize = 12;
/// What to do about tests of a lock whose classes a run does not have.
const KEEP_OR_REMOVE: &str = "--gone keep keeps such tests in the lock: the run had some tests only; --gone remove removes them: they no longer exist";
/// The most tests and directories that a message lists.
const FEW: usize = 3;

/// A question that cannot be answered. Messages name what is wrong, and what may be meant. Names in them are as the trace has
/// them: [`escaped`](crate::text::escaped) makes them harmless to a terminal.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A trace cannot be read at all.
    Trace(flow_codec::Error),
    /// A temporary file cannot be created, written or read.
    TemporaryFile(io::Error),
    /// A text does not have the form of what it should be: what was expected, and what was found.
    Text(String),
    /// A directory has no trace, but there are traces inside.
    TracesInside {
        /// The directory.
        path: PathBuf,
        /// The directories and files with traces.
        traces: Vec<PathBuf>,
    },
    /// There are several traces where one is needed.
    SeveralTraces {
        /// The directory, or the file of the first trace.
        path: PathBuf,
        /// A path that names each trace alone.
        traces: Vec<PathBuf>,
    },
    /// No method matches a pattern.
    NoMethod {
        /// The pattern.
        pattern: String,
        /// The most similar names, the most similar first.
        nearest: Vec<String>,
    },
    /// Several methods have a name that should mean one method.
    SeveralMethods {
        /// The name.
        name: String,
        /// The methods, as patterns.
        patterns: Vec<String>,
    },
    /// No thread with events matches a pattern.
    NoThread {
        /// The pattern.
        pattern: String,
        /// The threads of each run, by their ids and names.
        threads: Vec<Vec<String>>,
    },
    /// A thread has no call with this number.
    NoCall {
        /// The thread.
        thread: ThreadId,
        /// The number of the call.
        number: u64,
        /// How many calls the thread has.
        calls: u64,
    },
    /// No key of a context had a value.
    NoContext {
        /// The key and the value, or the value.
        pattern: String,
    },
    /// No test matches a pattern.
    NoTest {
        /// The pattern.
        pattern: String,
        /// The most similar names, the most similar first.
        nearest: Vec<String>,
        /// The names of all tests, in order.
        tests: Vec<String>,
    },
    /// The first of two runs has no method of the name before.
    NotRenamed {
        /// The name before and after.
        renamed: String,
    },
    /// A trace does not know the application's packages.
    NoOwnPackages {
        /// The trace.
        path: PathBuf,
        /// A pattern for the package that is probably the application's.
        likely: Option<String>,
    },
    /// The calls of tests that passed cannot be left out of a trace.
    NotShrunk {
        /// The trace.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Tests of a lock are not in the run by whose tests they are to be replaced.
    #[doc(hidden)]
    ClassesNotRun(ClassesNotRun),
    /// An answer needs calls of tests that were left out of a trace.
    CallsLeftOut {
        /// The first such test.
        test: String,
        /// What helps.
        remedy: &'static str,
    },
    /// An answer needs calls, and a trace has only lines.
    NoCallsRecorded {
        /// The trace.
        path: PathBuf,
    },
    /// Which lines each test reached was not recorded.
    LinesOfRun {
        /// The trace.
        path: PathBuf,
    },
    /// A trace has no times.
    NoTimes {
        /// The trace.
        path: PathBuf,
    },
    /// What an answer is about was not recorded.
    NotRecorded {
        /// The trace.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// The flag of `flow record` that records it.
        flag: &'static str,
    },
    /// An answer cannot be restricted in a way that is requested.
    NotSelectable {
        /// What is asked for.
        what: &'static str,
        /// By what it cannot be selected.
        by: &'static str,
    },
    /// A selection begins after the end of the recording.
    AfterEnd {
        /// The first selected time, in nanoseconds since the start of the trace.
        from_ns: u64,
        /// How long the recording took, in nanoseconds.
        end_ns: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::TemporaryFile(error) => write!(f, "cannot create a temporary file: {error}"),
            Self::Text(text) => f.write_str(text),
            Self::TracesInside { path, traces } => {
                let names = traces.iter().map(|trace| trace.display().to_string()).collect();
                write!(f, "{}: no trace here; inside are: {}", path.display(), listed(names, FEW))
            }
            Self::SeveralTraces { path, traces } => {
                let names = traces.iter().map(|trace| trace.display().to_string()).collect();
                write!(f, "{}: several traces: {}", path.display(), listed(names, FEW))
            }
            Self::NoMethod { pattern, nearest } if nearest.is_empty() => write!(
                f,
                "no method matches '{pattern}'; a pattern is pkg.Class, pkg.Class#method, Class, Class#method or \
                 Class#method(int), with * for anything within a package and ** across packages, or a name as flow shows it"
            ),
            Self::NoMethod { pattern, nearest } => {
                write!(f, "no method matches '{pattern}'; the nearest: {}", nearest.join(", "))
            }
            Self::SeveralMethods { name, patterns } => {
                let count = grouped(patterns.len() as u64);
                let patterns = listed(patterns.clone(), LISTED);
                write!(f, "{count} methods are called '{name}'; choose one: {patterns}")
            }
            Self::NoThread { pattern, threads } => {
                let names = |names: &Vec<String>| match names.is_empty() {
                    true => "none".to_owned(),
                    false => listed(names.clone(), LISTED),
                };
                let threads: Vec<_> = threads.iter().map(names).collect();
                write!(f, "no thread '{pattern}' with events; there are: {}", threads.join("; "))
            }
            Self::NoCall { thread, calls: 0, .. } => write!(f, "thread {thread} has no calls"),
            Self::NoCall { thread, number, calls } => write!(
                f,
                "thread {thread} has no call {}: its calls have the numbers 0 to {}",
                grouped(*number),
                grouped(calls - 1)
            ),
            Self::NoContext { pattern } => write!(
                f,
                "no thread worked for '{pattern}'; flow calls --by context shows what they worked for"
            ),
            Self::NoTest { pattern, nearest, tests } => {
                f.write_str(&no_test(pattern, nearest, tests))
            }
            Self::NotRenamed { renamed } => write!(
                f,
                "--renamed {renamed}: the first run has no method of the name before the '='"
            ),
            Self::NoOwnPackages { path, likely } => {
                let path = path.display();
                let what = "the trace does not know the application's packages (agent option own=)";
                match likely {
                    Some(likely) => write!(f, "{path}: {what}; they may be '{likely}'"),
                    None => write!(f, "{path}: {what}"),
                }
            }
            Self::ClassesNotRun(classes) => write!(f, "{classes}; {KEEP_OR_REMOVE}"),
            Self::CallsLeftOut { test, remedy } => write!(
                f,
                "calls of tests that passed, such as {test}, were left out of the recording: {remedy}"
            ),
            Self::NotShrunk { path, why } => write!(f, "{}: {why}", path.display()),
            Self::NoTimes { path } => {
                write!(f, "{}: no times were recorded (clock=off, or format=jsonl)", path.display())
            }
            Self::NotRecorded { path, what, flag } => {
                let path = path.display();
                write!(f, "{path}: {what} was not recorded: flow record {flag} does that")
            }
            Self::NoCallsRecorded { path } => of(path, NO_CALLS, f),
            Self::LinesOfRun { path } => of(path, LINES_OF_RUN, f),
            Self::NotSelectable { what, by } => write!(f, "{what} cannot be selected by {by}"),
            Self::AfterEnd { from_ns, end_ns } => {
                write!(f, "nothing was recorded after {from_ns} ns: the recording took {end_ns} ns")
            }
        }
    }
}

const NO_CALLS: &str = "calls were not recorded, only lines (calls=off)";
const LINES_OF_RUN: &str =
    "each line was recorded once in the run (lines-once=run), so the lines of a test are not known";

/// What is to be said of a trace.
fn of(path: &Path, text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}: {text}", path.display())
}

/// No test matches a pattern.
fn no_test(pattern: &str, nearest: &[String], tests: &[String]) -> String {
    let others = match (tests.is_empty(), nearest.is_empty()) {
        (true, _) => "no tests are marked in this trace".to_owned(),
        (false, true) => format!("there are: {}", listed(tests.to_vec(), FEW)),
        (false, false) => format!("the nearest: {}", nearest.join(", ")),
    };
    format!("no test matches '{pattern}'; {others}")
}

/// Joins the first names, and says how many more there are.
fn listed(mut names: Vec<String>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    names.truncate(most);
    if more > 0 {
        names.push(format!("… {more} more"));
    }
    names.join(", ")
}

impl std::error::Error for Error {}

/// Classes of a lock of which a run has no test.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ClassesNotRun {
    /// How many classes.
    pub classes: u64,
    /// How many tests of the lock are in them.
    pub tests: u64,
    /// The first of these tests.
    pub first: String,
}

impl fmt::Display for ClassesNotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { classes, tests, first } = self;
        let classes = match classes {
            1 => "a class".to_owned(),
            _ => format!("{} classes", grouped(*classes)),
        };
        write!(
            f,
            "the run has no test of {classes} of the lock, which has {} there, such as {first}",
            plural(*tests, "test")
        )
    }
}

impl From<flow_codec::Error> for Error {
    fn from(error: flow_codec::Error) -> Self {
        Self::Trace(error)
    }
}
