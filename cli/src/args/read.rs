//! Arguments of the verbs that show a trace without adding it up.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use flow_codec::write::Compression;

use crate::input::flags::{FilterArgs, PartArgs, SourceArgs, ThreadArgs};
use crate::input::place::From;
use crate::input::values::{count, nanoseconds, positive};
use crate::output::Format;

/// Columns to sort threads by.
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
    /// Sort threads by this column
    ///
    /// Numbers: the largest first, except for ids.
    #[arg(long, value_name = "COLUMN", default_value = "thread")]
    pub(crate) sort: ThreadKey,
    /// Name the methods that the engine left out, and show each thread
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Show each thread, not one line for those with the same name
    #[arg(long)]
    pub(crate) all_threads: bool,
    /// Show at most N threads; 0 for all [default: 40 in text, else all]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
}

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Show only calls of methods that match this pattern, with all they called; repeatable
    ///
    /// In order of time across all threads if the trace has times (json and csv: by thread), each after its start,
    /// duration, thread and nearest callers, or all callers with --verbose. With --depth 1, the calls are rows of a
    /// table. Patterns are those of --include.
    #[arg(long, value_name = "GLOB")]
    pub(crate) method: Vec<String>,
    /// Begin at a call, event, offset, time or pattern
    ///
    /// N (the Nth call of the thread), THREAD:N or 'N in THREAD' (with the id of its thread, as flow shapes shows it), event:N,
    /// offset:N, a time since the start of the trace such as 1.5s, or a pattern (the first call that matches); 'a.B#c > d.E#f'
    /// is a call of f below c.
    #[arg(long, value_name = "PLACE", conflicts_with_all = ["follow", "patterns_of_tests"])]
    pub(crate) from: Option<From>,
    /// Show only the N outermost calls of a stack
    ///
    /// With --method, of each such call.
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) depth: Option<u64>,
    /// Stop after N calls; 0 for all
    ///
    /// With --collapse, after N lines.
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
    /// Show consecutive calls of a method as one line (text only)
    ///
    /// If they have no visible callees, or did the same: ×1,204 the same, with the callees of the first. The latter
    /// needs flow index.
    #[arg(long)]
    pub(crate) collapse: bool,
    /// Show start and duration of each call, exceptions (!) and notes
    ///
    /// As precisely as the times are known. Exceptions are those that ended calls, notes those of the program. With
    /// --follow, a call that has not ended yet has the time since its start, and notes are left out.
    #[arg(long, conflicts_with = "collapse")]
    pub(crate) time: bool,
    /// Hide calls shorter than TIME, for example 5ms; implies --time
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    #[arg(conflicts_with = "collapse")]
    pub(crate) min_duration: Option<u64>,
    /// Show in which lines samples found each call, of a trace with samples; implies --time
    ///
    /// Samples that follow each other in the same line of a call are one row, with their time, how much of it the thread
    /// waited, and the method that the call had called by then, if that is not recorded.
    #[arg(long, conflicts_with_all = ["collapse", "follow"])]
    pub(crate) samples: bool,
    /// Show the lines that calls reached, of methods whose lines are recorded; implies --time
    ///
    /// A line that follows itself is one row with the number of times (text only).
    #[arg(long, conflicts_with_all = ["collapse", "follow", "merged", "min_duration"])]
    pub(crate) lines: bool,
    /// Show arguments, results, messages of exceptions, and accesses to fields, if they are recorded; implies --time
    #[arg(long, conflicts_with_all = ["collapse", "follow", "merged", "min_duration"])]
    pub(crate) values: bool,
    /// Show the instructions that calls executed, of methods whose instructions are recorded; implies --time
    #[arg(long, conflicts_with_all = ["collapse", "follow", "merged", "min_duration"])]
    pub(crate) instructions: bool,
    /// Show the text of lines, from source files below this folder; repeatable
    #[arg(long = "source", value_name = "DIR", requires = "lines", value_hint = ValueHint::DirPath)]
    pub(crate) sources: Vec<PathBuf>,
    /// Show the calls of all threads in one order of time, instead of thread by thread
    ///
    /// A heading shows each change of thread. Times are known within bounds only: ~ in a heading means that what
    /// follows may have happened before some of the calls above it; without ~, it happened after all of them.
    #[arg(long, conflicts_with = "follow")]
    pub(crate) merged: bool,
    /// Show descriptors, source files, lines and class loaders
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Continue with new calls while the trace is being recorded, until it ends or Ctrl-C
    #[arg(long, conflicts_with = "patterns_of_tests")]
    pub(crate) follow: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Show the marks instead: times, exits by exception, tests, notes of the program, gaps and pauses
    #[arg(long)]
    pub(crate) marks: bool,
    /// Show the JVM descriptor of each method
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Stop after N records; 0 for all
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct IndexArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Remove the indexes and shapes
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ConvertArgs {
    /// The trace, a directory or a file
    #[arg(value_name = "IN", value_hint = ValueHint::AnyPath)]
    pub(crate) dir: PathBuf,
    /// What to write: a file if the name ends in .flowtrace, else a directory
    #[arg(value_name = "OUT", value_hint = ValueHint::AnyPath)]
    pub(crate) out: PathBuf,
    /// How to compress a file: off, lz4, or zstd:N with a level N from 1 to 19 [default: zstd:6]
    #[arg(long, value_name = "HOW")]
    pub(crate) compress: Option<Compression>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Complete the trace of a killed JVM
    ///
    /// Everything that is replaced or cut off is kept in DIR/before-repair. A trace in one file is written anew.
    #[arg(long)]
    pub(crate) repair: bool,
    /// Show at most N findings; 0 for all [default: 40 in text, else all]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
}

impl ReplayArgs {
    /// Returns whether calls are rows of a table, each alone.
    pub(crate) fn is_table(&self) -> bool {
        !self.method.is_empty() && self.depth == Some(1) && !self.collapse
    }

    /// Returns whether lines, values or instructions are shown.
    pub(crate) fn shows_details(&self) -> bool {
        self.lines || self.values || self.instructions
    }

    /// Returns whether times are shown.
    pub(crate) fn is_timed(&self) -> bool {
        self.time || self.min_duration.is_some() || self.samples || self.shows_details()
    }

    /// Whether text without times has a line where an exception leaves calls: it is the text of all calls. With times, each
    /// call has its exception.
    pub(crate) fn shows_unwinding(&self) -> bool {
        let FilterArgs { include, exclude, own } = &self.part.filter;
        let has_all = include.is_empty() && exclude.is_empty() && !own && self.method.is_empty();
        let has_lines = has_all && self.depth.is_none() && !self.collapse;
        self.source.format == Format::Text && has_lines && !self.is_timed()
    }
}
