//! The verbs that look at a trace as it is.

use clap::{Args as ClapArgs, ValueEnum};

use super::shared::{PartArgs, SourceArgs, ThreadArgs};
use super::values::nanoseconds;
use crate::cmd::replay::From;

/// What threads are sorted by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadKey {
    Thread,
    Kind,
    Calls,
    MaxFrames,
    Bytes,
    Cpu,
    State,
    Name,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// What threads are sorted by; of numbers the largest comes first, but for ids
    #[arg(long, value_name = "COLUMN", default_value = "thread")]
    pub(crate) sort: ThreadKey,
    /// Name the methods that the engine left out
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Show at most N threads; 0 for all [default: 40 in text, else all]
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<u64>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Only calls of methods like this, with all they called, each behind a line that says where it
    /// is; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) method: Vec<String>,
    /// Begin with call N of the thread, with event:N or offset:N of it, at a time such as 1.5s since the
    /// start of the trace, or with the first call like a pattern; 'a.B#c > d.E#f' is a call of f below one of c
    #[arg(long, value_name = "PLACE", conflicts_with_all = ["follow", "patterns_of_tests"])]
    pub(crate) from: Option<From>,
    /// Show the N outermost calls of a stack only; with --method the N outermost of each such call
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) depth: Option<u64>,
    /// Stop after N calls, with --fold after N lines; 0 for all
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<u64>,
    /// One line for calls of a method that follow one another and call nothing shown (text only)
    #[arg(long)]
    pub(crate) fold: bool,
    /// Show when each call began and how long it took, as far as that is known, exceptions that ended
    /// calls (!), and what the program said
    #[arg(long, conflicts_with_all = ["fold", "follow"])]
    pub(crate) time: bool,
    /// Leave out calls that took less, such as 5ms; implies --time
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    #[arg(conflicts_with_all = ["fold", "follow"])]
    pub(crate) min_duration: Option<u64>,
    /// Show the descriptor of each method, its source file, first line and class loader
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Go on with new calls while the trace is being recorded, until that ends or Ctrl-C
    #[arg(long, conflicts_with = "patterns_of_tests")]
    pub(crate) follow: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Show the marks instead: times, exits by exception, gaps, and what the program said
    #[arg(long)]
    pub(crate) marks: bool,
    /// Show the descriptor of each method
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Stop after N records; 0 for all
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<u64>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct IndexArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Take the indexes away
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Make a plain, finished trace of one whose JVM was killed; what is replaced or cut off is kept in
    /// DIR/before-repair
    #[arg(long)]
    pub(crate) repair: bool,
    /// Show at most N findings; 0 for all [default: 40 in text, else all]
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<u64>,
}

impl ReplayArgs {
    /// Whether times are shown.
    pub(crate) fn is_timed(&self) -> bool {
        self.time || self.min_duration.is_some()
    }
}
