//! What several verbs take: where a trace is, and what of it.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use flow_codec::Glob;
use flow_codec::read::TimeLimits;

use super::values::{Window, glob, nanoseconds, window};

/// What results look like.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Text,
    Json,
    Csv,
}

/// What a report is sorted by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SortKey {
    Calls,
    Total,
    #[value(name = "self")]
    Own,
    Name,
}

/// What calls are weighed by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// How many there are
    Calls,
    /// How long they took
    Time,
}

/// Where a trace is, and how to show it.
#[derive(ClapArgs, Debug)]
pub(crate) struct SourceArgs {
    /// The trace directory
    #[arg(value_name = "DIR", default_value = DEFAULT_DIR, value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// What results look like; json has an object a line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// Where `record` writes and the other verbs read when they are not told.
pub(crate) const DEFAULT_DIR: &str = "flow-trace";

/// Which threads.
#[derive(ClapArgs, Debug)]
pub(crate) struct ThreadArgs {
    /// Only this thread: its id or its name, in which * stands for anything; repeatable
    #[arg(long = "thread", value_name = "ID|NAME")]
    pub(crate) patterns: Vec<String>,
}

/// Which tests.
#[derive(ClapArgs, Debug, Default)]
pub(crate) struct TestArgs {
    /// Only what a test called: its name as flow tests shows it, in which * stands for anything;
    /// repeatable
    #[arg(id = "patterns_of_tests", long = "test", value_name = "NAME")]
    pub(crate) patterns: Vec<String>,
}

/// Which calls.
#[derive(ClapArgs, Debug)]
pub(crate) struct FilterArgs {
    /// Show only calls of methods like this, pkg.Class, pkg.Class#method or a name as it is shown: * within
    /// a package, ** across; calls in between are left out; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Leave out calls of methods like this; what they called moves up to their caller; repeatable
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub(crate) exclude: Vec<Glob>,
}

/// Which part of a trace.
#[derive(ClapArgs, Debug)]
pub(crate) struct PartArgs {
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) tests: TestArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Which calls, by when they happened.
#[derive(ClapArgs, Clone, Copy, Debug)]
pub(crate) struct TimeArgs {
    /// Only what happened between two times since the start of the trace, such as 1.5s..2s; calls that
    /// began before, or go on, are cut off
    #[arg(id = "window", long = "time", value_name = "FROM..TO", value_parser = window)]
    window: Option<Window>,
    /// Leave out calls that took less, such as 5ms; their time is their caller's
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    min_duration: Option<u64>,
}

impl TimeArgs {
    /// What of a trace is shown.
    pub(crate) fn limits(&self) -> TimeLimits {
        let all = Window { from_ns: 0, to_ns: u64::MAX };
        let Window { from_ns, to_ns } = self.window.unwrap_or(all);
        TimeLimits { from_ns, to_ns, min_ns: self.min_duration.unwrap_or(0) }
    }
}
