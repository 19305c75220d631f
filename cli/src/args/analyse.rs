//! Arguments of `flow tests` and `flow diff`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Command, FromArgMatches, ValueEnum, ValueHint};
use flow_codec::format::test_lock::MAGIC;
use flow_query::ask::{GoneTests, Renamed, Tolerance};

use super::given::{Given, expect, given};
use super::report::{OF_ROWS, OF_SAMPLES, OF_TREES};
use super::rows::RowArgs;
use crate::failure::{Failure, Status};
use crate::input::flags::{
    By, DEFAULT_DIR, FilterArgs, ORDER, OUTPUT, PartArgs, SELECTION, SourceArgs, TestArgs, VIEWS,
};
use crate::input::values::{count, positive};
use crate::output::Format;

/// Columns to sort tests by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TestKey {
    Start,
    Result,
    Calls,
    Time,
    New,
    Name,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct TestsArgs {
    #[command(flatten)]
    pub(crate) tests: TestArgs,
    /// Show only tests that reach this code, with the number of their calls of it: a pattern for methods, or Orders.java:12
    ///
    /// A line belongs to the method that begins last at or before it, and after a lambda expression, an anonymous class or a switch of
    /// an enum to the method around that, too; in a file of this name, or of this path below the folder of its package.
    #[arg(long, value_name = "METHOD|FILE:LINE", help_heading = SELECTION)]
    #[arg(conflicts_with_all = ["include", "exclude", "own"])]
    pub(crate) reaching: Option<String>,
    /// Show only tests that a change in git may affect: A..B, A...B, or one commit to compare the working tree with
    ///
    /// The recording should be of the state before the change. The repository is that of the current directory.
    #[arg(long, value_name = "GIT-RANGE", help_heading = SELECTION)]
    #[arg(conflicts_with_all = ["reaching", "include", "exclude", "own", "lock"])]
    pub(crate) affected_by: Option<String>,
    /// With --affected-by: files that affect no test, by their paths in the repository, with * for any text; repeatable
    ///
    /// Files that are neither source files nor documents affect all tests otherwise.
    #[arg(long, value_name = "PATH", requires = "affected_by", help_heading = SELECTION)]
    pub(crate) ignore_files: Vec<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Sort by this column
    ///
    /// result: failed tests first; numbers: the largest first.
    #[arg(long, value_name = "COLUMN", default_value = "start", help_heading = ORDER)]
    pub(crate) sort: TestKey,
    /// Show why a test failed, and the methods that no earlier test called
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) verbose: bool,
    /// Show at most N tests; 0 for all [default: 100 in text, else all]
    #[arg(long, value_name = "N", value_parser = count, help_heading = ORDER)]
    pub(crate) max: Option<u64>,
    /// Write what each test did to a file, flow.lock by default, with which flow diff flow.lock compares other runs
    ///
    /// A line for each test, for version control: the name of its behaviour, the number of its calls, and its name. With --test,
    /// only the lines of these tests are replaced.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = MAGIC)]
    #[arg(value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub(crate) lock: Option<PathBuf>,
    /// With --lock: what to do about tests of the file that the run does not have: keep them if the run had some tests only, or
    /// remove them
    ///
    /// Without it, they are removed if other tests of their class ran, and else the lock is not written.
    #[arg(long, value_name = "WHAT", requires = "lock", help_heading = OUTPUT)]
    pub(crate) gone: Option<Gone>,
    /// Show tests that failed once and passed another time, in one recording or in several of a folder, with the first call, value or
    /// exception by which such a pair of attempts differs
    ///
    /// Builds run failed tests again (rerunFailingTestsCount of Surefire, test-retry of Gradle, extensions of JUnit); @RepeatedTest
    /// repeats them. Of the default folder, all recordings are searched. With --max, this many tests are compared.
    #[arg(long, conflicts_with_all = ["lock", "affected_by"], help_heading = OUTPUT)]
    pub(crate) flaky: bool,
    /// With --lock: name what a test did without the order in which calls made others, which the JVM may not promise
    ///
    /// For sets of objects without hashCode, and parallel streams. The lock has it in its header, so that flow diff does the same.
    #[arg(long, requires = "lock", help_heading = OUTPUT)]
    pub(crate) unordered: bool,
    /// The trace: a .flowtrace file, - for such a file on standard input, a directory, or the newest run in a folder of recordings
    #[arg(value_name = "TRACE", default_value = DEFAULT_DIR, value_hint = ValueHint::AnyPath)]
    pub(crate) dir: PathBuf,
    /// Output format; json writes one object per line; the last three are for --affected-by
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = OUTPUT)]
    pub(crate) format: TestsFormat,
}

/// What to do about tests of a lock that a run does not have.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gone {
    /// The run had some tests only: leave the others as they are.
    Keep,
    /// They no longer exist: remove them.
    Remove,
}

impl Gone {
    pub(crate) const fn tests(self) -> GoneTests {
        match self {
            Self::Keep => GoneTests::Keep,
            Self::Remove => GoneTests::Remove,
        }
    }
}

/// Output formats of tests.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TestsFormat {
    Text,
    Json,
    Csv,
    /// Arguments for Maven: -Dtest=a.ATest#one+two,a.BTest
    Surefire,
    /// Arguments for Gradle: --tests a.ATest.one --tests a.BTest
    Gradle,
    /// The name of a class or test a line
    Plain,
}

impl TestsFormat {
    /// The format of rows; that of other documents is text.
    pub(crate) fn of_rows(self) -> Format {
        match self {
            Self::Json => Format::Json,
            Self::Csv => Format::Csv,
            Self::Text | Self::Surefire | Self::Gradle | Self::Plain => Format::Text,
        }
    }

    /// The format of what a terminal may show in its own way; `None` for what other programs read.
    pub(crate) fn of_screen(self) -> Option<Format> {
        let is_selection = matches!(self, Self::Surefire | Self::Gradle | Self::Plain);
        (!is_selection).then(|| self.of_rows())
    }
}

impl TestsArgs {
    /// Where the trace is.
    pub(crate) fn source(&self) -> SourceArgs {
        SourceArgs { dir: self.dir.clone(), format: self.format.of_rows() }
    }

    /// Refuses forms for other tools, if all tests are shown.
    pub(crate) fn expect_rows(&self) -> Result<(), Failure> {
        match self.format.of_screen() {
            Some(_) => Ok(()),
            None => Err(Failure::Usage(
                "--format surefire, gradle and plain select tests: add --affected-by".to_owned(),
            )),
        }
    }

    /// Refuses flags that do not apply to tests that a change affects.
    pub(crate) fn expect_affected(&self) -> Result<(), Failure> {
        let all = given(&[
            ("--sort", self.sort != TestKey::Start),
            ("--verbose", self.verbose),
            ("--max with this format", self.max.is_some() && self.format.of_screen().is_none()),
        ]);
        expect("tests that a change affects", &all, &[])
    }

    /// Refuses flags that do not apply to flaky tests.
    pub(crate) fn expect_flaky(&self) -> Result<(), Failure> {
        let mut all = self.of_list();
        all.extend(given(&[("--verbose", self.verbose)]));
        expect("flaky tests", &all, &[])
    }

    /// The flags that only a list of tests has.
    fn of_list(&self) -> Vec<Given> {
        given(&[
            ("--reaching", self.reaching.is_some()),
            ("--include", !self.filter.include.is_empty()),
            ("--exclude", !self.filter.exclude.is_empty()),
            ("--own", self.filter.own),
            ("--sort", self.sort != TestKey::Start),
        ])
    }

    /// Refuses flags that do not apply to a lock.
    pub(crate) fn expect_lock(&self) -> Result<(), Failure> {
        let mut all = self.of_list();
        all.extend(given(&[
            ("--verbose", self.verbose),
            ("--max", self.max.is_some()),
            ("--format", self.format != TestsFormat::Text),
        ]));
        expect("a lock of tests", &all, &[])
    }
}

/// Output formats of differences.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DiffFormat {
    Text,
    Json,
    Csv,
    /// A table for a pull request
    Markdown,
    /// Annotations of a workflow of GitHub
    Github,
    /// A report of tests in XML
    Junit,
    /// A sequence diagram of what differs, for Mermaid
    Mermaid,
    /// A sequence diagram of what differs, for PlantUML
    #[value(name = "plantuml")]
    PlantUml,
}

impl DiffFormat {
    /// The format of rows; that of other documents is text. Beside a diagram, there is no text.
    pub(crate) fn of_rows(self) -> Format {
        match self {
            Self::Json | Self::Mermaid | Self::PlantUml => Format::Json,
            Self::Csv => Format::Csv,
            Self::Text | Self::Markdown | Self::Github | Self::Junit => Format::Text,
        }
    }

    /// The format of what a terminal may show in its own way; `None` for documents that are not changed.
    pub(crate) fn of_screen(self) -> Option<Format> {
        (!self.is_of_lock() && !self.is_diagram()).then(|| self.of_rows())
    }

    /// Returns whether it is for a comparison with a lock only.
    fn is_of_lock(self) -> bool {
        matches!(self, Self::Markdown | Self::Github | Self::Junit)
    }

    /// Returns whether it is a sequence diagram.
    pub(crate) fn is_diagram(self) -> bool {
        matches!(self, Self::Mermaid | Self::PlantUml)
    }
}

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct DiffArgs {
    /// The trace of the first run: a directory, a .flowtrace file or an .hpl log of samples. Or flow.lock, a file of flow
    /// tests --lock; with --exact also one of flow export --to baseline. Or a call, as THREAD:NUMBER, or TRACE:THREAD:NUMBER in another trace. Without any, flow
    /// compares the last two runs
    #[arg(value_name = "BEFORE", default_value = DEFAULT_DIR, value_hint = ValueHint::AnyPath)]
    pub(crate) before: PathBuf,
    /// The trace of the second run, or the second call; without it, flow compares two tests or two threads of the first, or the last two
    /// runs if that is a folder of recordings. A test or thread of another trace is --test TRACE::NAME or --thread TRACE::NAME
    #[arg(value_name = "AFTER", value_hint = ValueHint::AnyPath)]
    pub(crate) after: Option<PathBuf>,
    /// The trace that has the calls BEFORE and AFTER [default: flow-trace]
    #[arg(value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Whether each side is one test or one thread, by names that each have their trace.
    #[arg(skip)]
    pub(crate) has_named_sides: bool,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Output format; json writes one object per line; markdown, github and junit are for a comparison with flow.lock, mermaid and
    /// plantuml for one with --exact
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = OUTPUT)]
    pub(crate) format: DiffFormat,
    /// With flow.lock: exit with status 1 only if a test makes more calls than +10%, fewer than -10%, or either with 10%
    ///
    /// Tests that do something else are shown, too.
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, help_heading = OUTPUT)]
    pub(crate) max_calls: Option<Tolerance>,
    /// With flow.lock: replace its tests by those of the run
    #[arg(long, conflicts_with_all = ["exit_code", "max_calls"], help_heading = OUTPUT)]
    pub(crate) accept: bool,
    /// With flow.lock: what to do about tests of the lock that the run does not have: keep them and compare only tests that ran, or,
    /// with --accept, remove them
    ///
    /// Without it, they are shown as gone, and --accept removes them only if other tests of their class ran.
    #[arg(long, value_name = "WHAT", help_heading = OUTPUT)]
    pub(crate) gone: Option<Gone>,
    /// Compare the number of calls or samples, their CPU time (cpu), or their time with waiting (wall)
    #[arg(long, value_name = "WHAT", default_value = "calls", help_heading = ORDER, hide_possible_values = true)]
    pub(crate) by: By,
    /// Compare only the N outermost calls of a path
    #[arg(long, value_name = "N", value_parser = positive, help_heading = ORDER)]
    pub(crate) depth: Option<u64>,
    /// Show at most N differences, the largest, with --exact the first; 0 for all [default: 40 in text, 20 with --exact, 1000 on
    /// a page, else all]
    #[arg(long, value_name = "N", value_parser = count, help_heading = ORDER)]
    pub(crate) max: Option<u64>,
    /// Compare call by call, in order: show the smallest calls that differ, the first one first, and values that differ in calls that
    /// both sides made
    #[arg(long, conflicts_with_all = ["by", "depth", "samples", "methods"], help_heading = VIEWS)]
    pub(crate) exact: bool,
    /// With --exact: leave out calls of methods that match this pattern, and all that they call; repeatable
    ///
    /// For what differs from run to run. Patterns are those of --include.
    #[arg(long, value_name = "GLOB", help_heading = VIEWS)]
    pub(crate) ignore: Vec<String>,
    /// Compare as with --exact, but not what methods do that match this pattern: their calls, arguments and results have to be the
    /// same; repeatable
    ///
    /// Checks that a change of these methods changes nothing else. Patterns are those of --include.
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["by", "depth", "samples", "methods"], help_heading = VIEWS)]
    pub(crate) expect: Vec<String>,
    /// With --exact: compare what is called OLD before with what is called NEW after; repeatable
    ///
    /// Classes with those nested in them (a.B=a.C), packages (a.b.**=a.c.**), or methods (a.B#m=a.C#n).
    #[arg(long, value_name = "OLD=NEW", help_heading = VIEWS)]
    pub(crate) renamed: Vec<Renamed>,
    /// With --exact: compare which calls a call made, not in which order, and no values
    ///
    /// For what the JVM does not promise: the order of a set of objects without hashCode, of reflection, of parallel streams.
    #[arg(long, conflicts_with = "html", help_heading = VIEWS)]
    pub(crate) unordered: bool,
    /// With --exact: compare calls only, not their values
    #[arg(long, help_heading = VIEWS)]
    pub(crate) ignore_values: bool,
    /// With --exact: continue after the first N differences
    #[arg(long, value_name = "N", value_parser = count, default_value = "0", help_heading = VIEWS)]
    pub(crate) next: u64,
    /// With --exact: write a page for a browser that shows the calls that differ and unfolds all calls of both sides; - writes it
    /// to standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "verbose", "next"])]
    #[arg(value_hint = ValueHint::FilePath, help_heading = VIEWS)]
    pub(crate) html: Option<PathBuf>,
    /// Compare methods, not paths of calls: as a list, with --tree as a tree
    #[arg(long, conflicts_with = "samples", help_heading = VIEWS)]
    pub(crate) methods: bool,
    #[command(flatten)]
    pub(crate) rows: RowArgs,
    /// Exit with status 1 if there is a difference
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) exit_code: bool,
    /// Show the JVM descriptor of each method
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) verbose: bool,
}

impl DiffArgs {
    /// Compares a test of two runs call by call, and shows this many differences.
    pub(crate) fn of_test(runs: [&Path; 2], test: &str, max: u64) -> Result<Self, Failure> {
        let (test, max) = (format!("--test={test}"), format!("--max={max}"));
        let given = ["diff", "--exact", &test, &max].map(OsStr::new);
        let given = given.into_iter().chain(runs.map(Path::as_os_str));
        let parsed = Self::augment_args(Command::new("diff")).try_get_matches_from(given);
        let read = parsed.and_then(|matches| Self::from_arg_matches(&matches));
        read.map_err(|error| Failure::Usage(error.to_string()))
    }

    /// Refuses flags that do not apply to a comparison with a lock.
    pub(crate) fn expect_lock(&self) -> Result<(), Failure> {
        let mut all = self.rows.given();
        let FilterArgs { include, exclude, own } = &self.part.filter;
        all.extend(given(&[
            ("--thread", !self.part.threads.patterns.is_empty()),
            ("--in", self.part.within.is_some()),
            ("--request", self.part.request.is_some()),
            ("--context", self.part.context.is_some()),
            ("--include", !include.is_empty()),
            ("--exclude", !exclude.is_empty()),
            ("--own", *own),
            ("--by", self.by != By::Calls),
            ("--depth", self.depth.is_some()),
            ("--exact", self.exact),
            ("--expect", !self.expect.is_empty()),
            ("--renamed", !self.renamed.is_empty()),
            ("--unordered", self.unordered),
            ("--ignore", !self.ignore.is_empty()),
            ("--next", self.next > 0),
            ("--html", self.html.is_some()),
            ("--methods", self.methods),
            ("--samples", self.rows.samples),
            ("--calls", self.rows.calls),
            ("--tree", self.rows.tree),
            ("--callers", !self.rows.callers.is_empty()),
            ("--callees", !self.rows.callees.is_empty()),
        ]));
        if self.gone == Some(Gone::Remove) && !self.accept {
            return Err(Failure::Usage("--gone remove changes flow.lock: add --accept".to_owned()));
        }
        expect("a comparison with a lock", &all, &[])
    }

    /// Refuses flags of a comparison with a lock, if something else is compared.
    pub(crate) fn expect_no_lock(&self) -> Result<(), Failure> {
        let all = given(&[
            ("--accept", self.accept),
            ("--gone", self.gone.is_some()),
            ("--max-calls", self.max_calls.is_some()),
            ("--format markdown, github or junit", self.format.is_of_lock()),
        ]);
        match all.first() {
            Some(flag) => Err(Failure::Usage(format!(
                "{flag} applies to a comparison with a lock: flow diff flow.lock RUN"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses flags of a comparison call by call, if something else is compared.
    pub(crate) fn expect_exact(&self) -> Result<(), Failure> {
        let all = given(&[
            ("--ignore", !self.ignore.is_empty()),
            ("--renamed", !self.renamed.is_empty()),
            ("--unordered", self.unordered),
            ("--ignore-values", self.ignore_values),
            ("--next", self.next > 0),
            ("--html", self.html.is_some()),
            ("--format mermaid or plantuml", self.format.is_diagram()),
        ]);
        match all.first() {
            Some(flag) if !self.is_exact() => Err(Failure::Usage(format!(
                "{flag} applies to a comparison call by call: add --exact, or name two calls"
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses flags that do not apply to two calls.
    pub(crate) fn expect_calls(&self) -> Result<(), Failure> {
        let mut all = self.rows.given();
        all.extend(given(&[
            ("--thread", !self.part.threads.patterns.is_empty()),
            ("--test", !self.part.tests.patterns.is_empty()),
            ("--by", self.by != By::Calls),
            ("--depth", self.depth.is_some()),
            ("--methods", self.methods),
            ("--samples", self.rows.samples),
            ("--calls", self.rows.calls),
            ("--tree", self.rows.tree),
            ("--callers", !self.rows.callers.is_empty()),
            ("--callees", !self.rows.callees.is_empty()),
        ]));
        expect("two calls", &all, &[])
    }

    /// Returns whether calls are compared one by one.
    pub(crate) fn is_exact(&self) -> bool {
        self.exact || !self.expect.is_empty()
    }

    /// Returns whether samples are compared if both sides have nothing else.
    pub(crate) fn may_be_of_samples(&self) -> bool {
        !self.is_exact() && !self.rows.calls && !self.methods
    }

    /// Refuses flags of lists and trees of methods, where paths of calls are compared.
    pub(crate) fn expect_paths(&self) -> Result<(), Failure> {
        let mut all = self.rows.given();
        let (callers, callees) = (!self.rows.callers.is_empty(), !self.rows.callees.is_empty());
        all.extend(given(&[
            ("--tree", self.rows.tree),
            ("--callers", callers),
            ("--callees", callees),
        ]));
        let what = "paths of calls; with --methods or --samples, methods are compared";
        expect(what, &all, &[])
    }

    /// Refuses flags that a comparison of methods, by samples or by calls, does not have. Returns the second run.
    pub(crate) fn expect_methods(&self, of_samples: bool) -> Result<&PathBuf, Failure> {
        let Some(after) = self.after.as_ref().filter(|_| !self.has_named_sides) else {
            let text = "samples and methods of two runs are compared: name a second trace";
            return Err(Failure::Usage(text.to_owned()));
        };
        let mut all: Vec<Given> = self.rows.given();
        all.extend(given(&[("--depth", self.depth.is_some())]));
        let is_tree = self.rows.is_tree();
        let what = match (of_samples, is_tree) {
            (true, true) => "a tree of samples",
            (true, false) => "a list of samples",
            (false, true) => "a tree of methods",
            (false, false) => "a list of methods",
        };
        let flags: &[&str] = if is_tree { &OF_TREES } else { OF_ROWS };
        let of_source: &[&str] = if of_samples { &OF_SAMPLES } else { &[] };
        expect(what, &all, &[of_source, flags].concat())?;
        Ok(after)
    }

    /// Returns whether two parts are compared, of one run or by names that have their trace: not all that two runs have in common.
    pub(crate) fn compares_parts(&self) -> bool {
        self.after.is_none() || self.has_named_sides
    }

    /// Returns whether two threads are compared, not two tests.
    pub(crate) fn compares_threads(&self) -> bool {
        let (tests, threads) = (&self.part.tests.patterns, &self.part.threads.patterns);
        self.compares_parts() && tests.is_empty() && threads.len() == 2
    }

    /// How the verb ends if the runs differ, or do not.
    pub(crate) fn status(&self, differs: bool) -> Status {
        if differs && self.exit_code { Status::Differs } else { Status::Done }
    }
}
