//! The verbs that add up what a trace holds.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};

use super::shared::{
    By, DEFAULT_DIR, FilterArgs, Format, PartArgs, SortKey, SourceArgs, TestArgs, TimeArgs,
};
use super::values::percentage;

#[derive(ClapArgs, Debug)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    #[command(flatten)]
    pub(crate) when: TimeArgs,
    /// Calls: how often it was called; total: how long it ran, or without times the calls made while it
    /// ran, its own included; self: the time, or the calls, of its own
    #[arg(long, value_name = "COLUMN", default_value = "total")]
    pub(crate) sort: SortKey,
    /// What total and self mean [default: time, where times were recorded]
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["slowest", "html"])]
    pub(crate) by: Option<By>,
    /// Show at most N lines; 0 for all [default: 40 in text, else all]
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<u64>,
    /// Show the descriptor of each method
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Instead: the N calls that took longest
    #[arg(long, value_name = "N", group = "instead", conflicts_with_all = ["sort", "max"])]
    pub(crate) slowest: Option<usize>,
    /// Instead: who calls methods like this, pkg.Class, pkg.Class#method or a name as it is shown, and how
    /// often; repeatable
    #[arg(long, value_name = "GLOB", group = "instead", conflicts_with = "sort")]
    pub(crate) callers: Vec<String>,
    /// Instead: whom methods like this call
    #[arg(long, value_name = "GLOB", group = "instead", conflicts_with = "sort")]
    pub(crate) callees: Vec<String>,
    /// Instead: one path through the calls, or several
    #[arg(long, value_name = "WHICH", group = "instead", conflicts_with = "sort")]
    pub(crate) paths: Option<PathsKind>,
    /// Instead: a page for a browser, in which to look at all of it: threads, calls in order, flame
    /// graph, methods; - for standard output
    #[arg(long, value_name = "FILE", group = "instead", conflicts_with_all = ["sort", "max", "format"])]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}

/// Which paths of calls.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathsKind {
    /// From the outermost call on, always to where most time was spent, or most calls were made
    Longest,
    /// The stack with the most frames
    Deepest,
    /// The stacks that calls were made on most often; with --by time those that took most of their own
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
    /// Only what happens in methods like this, pkg.Class, pkg.Class#method or a name as it is shown;
    /// repeatable
    #[arg(long = "method", value_name = "GLOB")]
    pub(crate) methods: Vec<String>,
    /// A tree for each thread
    #[arg(long)]
    pub(crate) per_thread: bool,
    /// Show the N outermost calls of a path only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) depth: Option<u64>,
    /// Show paths with at least this part of all calls [default: 1 in text, else 0]
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub(crate) min: Option<f64>,
    /// Show at most N paths, those with most calls; 0 for all [default: 100 in text, else all]
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<u64>,
    /// What comes first of the calls a method makes
    #[arg(long, value_name = "COLUMN", default_value = "total")]
    pub(crate) sort: SortKey,
    /// What total and self mean [default: time, where times were recorded]
    #[arg(long, value_name = "WHAT")]
    pub(crate) by: Option<By>,
    /// Show the descriptor of each method
    #[arg(long)]
    pub(crate) verbose: bool,
}

/// What tests are sorted by.
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
    /// What tests are sorted by; results: failed ones first; of numbers the largest comes first
    #[arg(long, value_name = "COLUMN", default_value = "start")]
    pub(crate) sort: TestKey,
    /// Add why a test failed, and the methods that no test before it called
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Show at most N tests; 0 for all [default: 100 in text, else all]
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<u64>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct DiffArgs {
    /// The trace directory of the first run
    #[arg(value_name = "BEFORE", default_value = DEFAULT_DIR, value_hint = ValueHint::DirPath)]
    pub(crate) before: PathBuf,
    /// The trace directory of the second run; without it, two tests of the first are compared
    #[arg(value_name = "AFTER", value_hint = ValueHint::DirPath)]
    pub(crate) after: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// What results look like; json has an object a line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
    /// What is compared: how often paths were called, or how long they took
    #[arg(long, value_name = "WHAT", default_value = "calls")]
    pub(crate) by: By,
    /// Show what changed in the N outermost calls of a path only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) depth: Option<u64>,
    /// Show at most N differences, the largest; 0 for all [default: 40 in text, else all]
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<u64>,
    /// Show the descriptor of each method
    #[arg(long)]
    pub(crate) verbose: bool,
}
