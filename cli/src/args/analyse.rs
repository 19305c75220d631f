//! Arguments of the verbs that add up calls.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};

use crate::failure::Status;
use crate::input::flags::{
    By, DEFAULT_DIR, FilterArgs, PartArgs, SourceArgs, TestArgs, ThreadArgs, TimeArgs, WeightArgs,
};
use crate::input::value_conditions::ValueCondition;
use crate::input::values::{count, positive};
use crate::output::Format;

/// Columns to sort a report by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SortKey {
    Calls,
    Total,
    #[value(name = "self")]
    SelfWeight,
    Name,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct LinesArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Show the text of lines, from source files below this folder; repeatable
    #[arg(long = "source", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) sources: Vec<PathBuf>,
    /// Print a tracefile of LCOV, for tools that show coverage
    #[arg(long, conflicts_with = "format")]
    pub(crate) lcov: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    #[command(flatten)]
    pub(crate) when: TimeArgs,
    /// Sort by this column
    ///
    /// calls: how often the method was called; total: the time it was on the stack, or without times the calls made
    /// meanwhile; self: the same without its callees; name.
    #[arg(long, value_name = "COLUMN", default_value = "total")]
    pub(crate) sort: SortKey,
    #[command(flatten)]
    pub(crate) weight: WeightArgs,
    /// Show at most N lines; 0 for all [default: 40 in text, else all]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
    /// Show the JVM descriptor of each method
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Instead: show the N longest calls
    #[arg(long, value_name = "N", value_parser = positive)]
    #[arg(group = "instead", conflicts_with_all = ["sort", "max", "by", "wall"])]
    pub(crate) slowest: Option<u64>,
    /// Instead: show the callers of methods that match this pattern; repeatable
    ///
    /// And how often they call them. Patterns are those of --include.
    #[arg(long, value_name = "GLOB", group = "instead", conflicts_with = "sort")]
    pub(crate) callers: Vec<String>,
    /// Instead: show the callees of methods that match this pattern; repeatable
    #[arg(long, value_name = "GLOB", group = "instead", conflicts_with = "sort")]
    pub(crate) callees: Vec<String>,
    /// Instead: show one path of calls, or several
    #[arg(long, value_name = "WHICH", group = "instead", conflicts_with = "sort")]
    pub(crate) paths: Option<PathsKind>,
    /// Instead: show the lines in which samples found each method, beside its calls
    #[arg(long, group = "instead")]
    pub(crate) lines: bool,
    /// Instead: show which exceptions ended calls: where they were thrown, passed through, and caught
    #[arg(long, group = "instead", conflicts_with_all = ["sort", "by", "wall"])]
    pub(crate) exceptions: bool,
    /// Instead: write a page for a browser, with threads, calls in order, flame graph and methods; - writes
    /// to standard output
    #[arg(long, value_name = "FILE", group = "instead", conflicts_with_all = ["sort", "max", "format", "by"])]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// Write that page, to a temporary file without --html, and open it: with $BROWSER, or else on a desktop
    /// with xdg-open
    #[arg(long, conflicts_with_all = ["slowest", "callers", "callees", "paths", "lines", "exceptions"])]
    #[arg(conflicts_with_all = ["sort", "max", "format", "by"])]
    pub(crate) open: bool,
}

impl ReportArgs {
    /// Returns whether the page is requested.
    pub(crate) fn writes_page(&self) -> bool {
        self.html.is_some() || self.open
    }
}

/// A choice of paths.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathsKind {
    /// From the outermost call on, always the callee with the most time, or the most calls
    Longest,
    /// The stack with the most frames
    Deepest,
    /// The stacks on which most calls were made; with --by time, those with the most self time
    Frequent,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    #[command(flatten)]
    pub(crate) when: TimeArgs,
    /// Show only what methods that match this pattern call; repeatable
    ///
    /// Patterns are those of --include.
    #[arg(long = "method", value_name = "GLOB")]
    pub(crate) methods: Vec<String>,
    /// Show one tree per thread
    #[arg(long)]
    pub(crate) per_thread: bool,
    /// Show only the N outermost calls of a path
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) depth: Option<u64>,
    /// Show paths with at least this share of the whole [default: 1 in text, else 0]
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub(crate) min: Option<f64>,
    /// Show at most N paths, the largest; 0 for all [default: 100 in text, else all]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
    /// Sort the callees of a method by this column
    #[arg(long, value_name = "COLUMN", default_value = "total")]
    pub(crate) sort: SortKey,
    #[command(flatten)]
    pub(crate) weight: WeightArgs,
    /// Show the JVM descriptor of each method
    #[arg(long)]
    pub(crate) verbose: bool,
}

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
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) tests: TestArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Sort by this column
    ///
    /// result: failed tests first; numbers: the largest first.
    #[arg(long, value_name = "COLUMN", default_value = "start")]
    pub(crate) sort: TestKey,
    /// Show why a test failed, and the methods that no earlier test called
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Show at most N tests; 0 for all [default: 100 in text, else all]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct DiffArgs {
    /// The trace directory of the first run, or with --exact a file that flow shapes --baseline wrote
    #[arg(value_name = "BEFORE", default_value = DEFAULT_DIR, value_hint = ValueHint::DirPath)]
    pub(crate) before: PathBuf,
    /// The trace directory of the second run; without it, flow compares two tests or two threads of the first
    #[arg(value_name = "AFTER", value_hint = ValueHint::DirPath)]
    pub(crate) after: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Output format; json writes one object per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
    /// Compare the number of calls on each path, or their CPU time or wall-clock time
    #[arg(long, value_name = "WHAT", default_value = "calls")]
    pub(crate) by: By,
    /// Compare only the N outermost calls of a path
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) depth: Option<u64>,
    /// Show at most N differences, the largest; 0 for all [default: 40 in text, else all]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
    /// Compare call by call, in order: show the smallest calls that differ, the first one first
    #[arg(long, conflicts_with_all = ["by", "depth"])]
    pub(crate) exact: bool,
    /// Leave out calls of methods that match this pattern, and all that they call; repeatable
    ///
    /// For what differs from run to run. Patterns are those of --include.
    #[arg(long, value_name = "GLOB", requires = "exact")]
    pub(crate) ignore: Vec<String>,
    /// Write a page for a browser that shows the differences and unfolds all calls of both sides; - writes it to
    /// standard output
    #[arg(long, value_name = "FILE", requires = "exact", conflicts_with_all = ["format", "verbose", "next"])]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// Continue after the first N differences
    #[arg(long, value_name = "N", value_parser = count, requires = "exact", default_value = "0")]
    pub(crate) next: u64,
    /// Exit with status 1 if there is a difference
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// Show the JVM descriptor of each method
    #[arg(long)]
    pub(crate) verbose: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ShapesArgs {
    /// The methods: a pattern as for --include
    #[arg(value_name = "METHOD", required_unless_present = "baseline")]
    pub(crate) method: Option<String>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Instead: write what each thread did to a file, or with --test each test, for flow diff --exact FILE DIR; without
    /// METHOD
    #[arg(long, value_name = "FILE", conflicts_with_all = ["outliers", "time", "max", "verbose", "format"])]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) baseline: Option<PathBuf>,
    /// Show the rarest first
    #[arg(long)]
    pub(crate) outliers: bool,
    /// Show how long the calls of each shape lasted together, and the slowest
    ///
    /// Of whole threads. Takes a while for millions of calls.
    #[arg(long)]
    pub(crate) time: bool,
    /// Show at most N shapes of a method; 0 for all [default: 20 in text, else all]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
    /// Show the JVM descriptor of each method
    #[arg(long)]
    pub(crate) verbose: bool,
}

/// How a call was left.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HowLeft {
    /// It returned
    Returned,
    /// By an exception
    Unwound,
    /// Recording was suspended
    Cut,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct FindArgs {
    /// The name of a shape, which flow shapes shows, or methods: a pattern as for --include
    #[arg(value_name = "SHAPE|METHOD")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) tests: TestArgs,
    /// Show only calls that were left in this way
    #[arg(long, value_name = "HOW")]
    pub(crate) outcome: Option<HowLeft>,
    /// Show at most N calls; 0 for all [default: 20 in text, else all]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
    /// Show the JVM descriptor of each method, and all callers
    #[arg(long)]
    pub(crate) verbose: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct GrepArgs {
    /// The methods: a pattern as for --include
    #[arg(value_name = "METHOD")]
    pub(crate) method: String,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Show only calls with a value such as 'arg0 == null'; repeatable, then all must hold
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<ValueCondition>,
    /// Show at most N calls; 0 for all [default: 100 in text, else all]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
    /// Show the JVM descriptor of each method
    #[arg(long)]
    pub(crate) verbose: bool,
}

impl DiffArgs {
    /// Returns whether two threads of one run are compared, not two tests.
    pub(crate) fn compares_threads(&self) -> bool {
        let (tests, threads) = (&self.part.tests.patterns, &self.part.threads.patterns);
        self.after.is_none() && tests.is_empty() && threads.len() == 2
    }

    /// How the verb ends if the runs differ, or do not.
    pub(crate) fn status(&self, differs: bool) -> Status {
        if differs && self.exit_code { Status::Differs } else { Status::Done }
    }
}

pub(super) fn percentage(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').parse().ok();
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| "expected a number from 0 to 100".to_owned())
}
