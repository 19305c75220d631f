//! Arguments of the verbs that show a trace without adding it up.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};

use super::calls::FollowArgs;
use crate::input::flags::{
    FilterArgs, ORDER, OUTPUT, PartArgs, SELECTION, SourceArgs, ThreadArgs, TimeArgs, VIEWS,
};
use crate::input::place::From;
use crate::input::values::{count, one_of, positive, size};
use crate::output::Format;
use flow_query::ask::ThreadOrder;
use flow_query::select::nanoseconds;

/// The heading of what is shown of each call.
const DETAILS: &str = "Details of calls";

/// Columns to sort threads by.
const THREAD_ORDERS: [(&str, ThreadOrder); 8] = [
    ("thread", ThreadOrder::Thread),
    ("kind", ThreadOrder::Kind),
    ("calls", ThreadOrder::Calls),
    ("max-frames", ThreadOrder::MaxFrames),
    ("bytes", ThreadOrder::Bytes),
    ("cpu", ThreadOrder::Cpu),
    ("state", ThreadOrder::State),
    ("name", ThreadOrder::Name),
];

#[derive(ClapArgs, Debug)]
pub(crate) struct InfoArgs {
    /// List all runs in the folder of recordings
    #[arg(help_heading = VIEWS)]
    #[arg(long, conflicts_with_all = ["patterns", "sort", "verbose", "all_threads", "max"])]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Sort threads by this column
    ///
    /// Numbers: the largest first, except for ids.
    #[arg(help_heading = ORDER)]
    #[arg(long, value_name = "COLUMN", default_value = "thread", value_parser = one_of(&THREAD_ORDERS))]
    pub(crate) sort: ThreadOrder,
    /// Name the methods that the engine left out, and show each thread
    #[arg(help_heading = OUTPUT)]
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Show each thread, not one line for those with the same name
    #[arg(help_heading = OUTPUT)]
    #[arg(long)]
    pub(crate) all_threads: bool,
    /// Show at most N threads; 0 for all [default: 40 in text, else all]
    #[arg(help_heading = ORDER)]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Show only calls of methods that match this pattern, with all they called; repeatable
    ///
    /// In order of time across all threads if the trace has times (json and csv: by thread), each after its start,
    /// duration, thread and nearest callers, or all callers with --verbose. With --depth 1, the calls are rows of a
    /// table. Patterns are those of --include.
    #[arg(help_heading = SELECTION)]
    #[arg(long, value_name = "GLOB")]
    pub(crate) method: Vec<String>,
    /// Begin at a call, event, offset, time or pattern
    ///
    /// N (the Nth call of the thread), THREAD:N or 'N in THREAD' (with the id of its thread, as flow calls shows it), event:N,
    /// offset:N, a time since the start of the trace such as 1.5s, or a pattern (the first call that matches); 'a.B#c > d.E#f'
    /// is a call of f below c. With --follow, threads that do not have it yet are shown when they do.
    #[arg(help_heading = SELECTION)]
    #[arg(long, value_name = "PLACE", conflicts_with = "patterns_of_tests")]
    pub(crate) from: Option<From>,
    /// Show, of each thread that had not ended, what it waits for, the calls that it is in, and its last N calls
    ///
    /// Of a program that hangs. What threads wait for is known after record --timeout and of a snapshot. Threads that had
    /// ended are shown if all had, or with --thread.
    #[arg(help_heading = VIEWS)]
    #[arg(long, value_name = "N", value_parser = count, conflicts_with_all = ["from", "method", "merged", "follow", "budget", "patterns_of_tests", "within", "request", "context"])]
    pub(crate) last: Option<u64>,
    /// Show only the N outermost calls of a stack
    ///
    /// With --method, of each such call.
    #[arg(help_heading = ORDER)]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) depth: Option<u64>,
    /// Stop after N calls; 0 for all
    ///
    /// With --collapse, after N lines.
    #[arg(help_heading = ORDER)]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max: Option<u64>,
    /// Show consecutive calls of a method as one line
    ///
    /// If they have no visible callees, or did the same: ×1,204 the same, with the callees of the first. The latter
    /// needs shapes, which flow record or flow check --index stores. With --time, a line has the time from the start of the
    /// first call to the end of the last one; of calls that did the same, the time of the first. With --values and other
    /// details or --merged, only calls without anything to show in between are one line.
    #[arg(help_heading = VIEWS)]
    #[arg(long)]
    pub(crate) collapse: bool,
    /// Show as much as fits into SIZE bytes of text, such as 8k: the calls that contain the most calls first
    ///
    /// As with --collapse, one line for consecutive calls that did the same. A line has the number of calls below that have no
    /// line, and the place of the call for --in.
    #[arg(help_heading = VIEWS)]
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with_all = ["follow", "merged", "from", "method", "max"])]
    #[arg(conflicts_with_all = ["time", "min_duration", "samples", "lines", "values", "instructions"])]
    pub(crate) budget: Option<u64>,
    /// Show start and duration of each call, exceptions (!) and notes
    ///
    /// As precisely as the times are known. Exceptions are those that ended calls, and of record --exceptions those that were
    /// caught; notes are those of the program. With --follow, a call that has not ended yet has the time since its start.
    #[arg(help_heading = DETAILS)]
    #[arg(long)]
    pub(crate) time: bool,
    /// Hide calls shorter than TIME, for example 5ms; implies --time
    ///
    /// With --follow, a call appears when it has lasted that long.
    #[arg(help_heading = SELECTION)]
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    pub(crate) min_duration: Option<u64>,
    /// Show in which lines samples found each call, of a trace with samples; implies --time
    ///
    /// Samples that follow each other in the same line of a call are one row, with their time, how much of it the thread
    /// waited, and, if the call was inside a method that is not recorded, the
    /// name of that method.
    #[arg(help_heading = DETAILS)]
    #[arg(long, conflicts_with = "follow")]
    pub(crate) samples: bool,
    /// Show the lines that calls reached, of methods whose lines are recorded; implies --time
    ///
    /// A line that follows itself is one row with the number of times (text only).
    #[arg(help_heading = DETAILS)]
    #[arg(long)]
    pub(crate) lines: bool,
    /// Show arguments, results, messages of exceptions, and accesses to fields, if they are recorded; implies --time
    #[arg(help_heading = DETAILS)]
    #[arg(long)]
    pub(crate) values: bool,
    /// Show the instructions that calls executed, of methods whose instructions are recorded; implies --time
    #[arg(help_heading = DETAILS)]
    #[arg(long)]
    pub(crate) instructions: bool,
    /// Show the text of lines, from source files below this folder; repeatable
    #[arg(help_heading = DETAILS)]
    #[arg(long = "source", value_name = "DIR", requires = "lines", value_hint = ValueHint::DirPath)]
    pub(crate) sources: Vec<PathBuf>,
    /// Show the calls of all threads in one order of time, instead of thread by thread
    ///
    /// Values, lines, samples and other details appear as without it. A heading shows each change of thread. Times are known
    /// within bounds only: ~ in a heading means that what follows may have happened before some of the calls above it;
    /// without ~, it happened after all of them. With --follow, a call appears when no earlier one of another thread can come:
    /// after a fraction of a second.
    #[arg(help_heading = VIEWS)]
    #[arg(long)]
    pub(crate) merged: bool,
    /// With --request or --context: show the calls thread by thread, not below those that handed them over
    ///
    /// The default for json and csv, and with --collapse, --method, --from and --samples.
    #[arg(help_heading = VIEWS)]
    #[arg(long)]
    pub(crate) per_thread: bool,
    /// Show descriptors, source files, lines and class loaders
    #[arg(help_heading = DETAILS)]
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Continue with new calls while the trace is being recorded, until it ends or Ctrl-C
    ///
    /// With --from, each thread begins there, as soon as it has that place. With --method and --depth 1, text is a table of the calls of
    /// all threads, each when it has ended. With --test, each test is shown when it has ended. Not with --samples.
    #[arg(help_heading = VIEWS)]
    #[arg(long, conflicts_with_all = ["within", "request", "context"])]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct CheckArgs {
    /// Complete the trace of a killed JVM
    ///
    /// Everything that is replaced or cut off is kept in DIR/before-repair. A trace in one file is written anew.
    #[arg(long, conflicts_with = "instead")]
    pub(crate) repair: bool,
    /// Build indexes, with which large traces open and add up at once
    #[arg(long, group = "instead", help_heading = VIEWS)]
    pub(crate) index: bool,
    /// Remove the indexes and shapes
    #[arg(long, group = "instead", help_heading = VIEWS)]
    pub(crate) remove_index: bool,
    /// Print the raw records with their offsets and bytes
    #[arg(long, group = "instead", help_heading = VIEWS)]
    pub(crate) records: bool,
    /// Print the marks: times, calls left by an exception, tests, notes of the program, gaps and pauses
    #[arg(long, group = "instead", help_heading = VIEWS)]
    pub(crate) marks: bool,
    /// With one of these: only this thread; repeatable
    ///
    /// The id of the thread, or its name, with * for any text.
    #[arg(long = "thread", value_name = "ID|NAME", requires = "instead", help_heading = VIEWS)]
    pub(crate) threads: Vec<String>,
    /// Show at most N findings; 0 for all [default: 40 in text, else all]; or stop after N records or marks
    #[arg(long, value_name = "N", value_parser = count, conflicts_with_all = ["index", "remove_index"])]
    #[arg(help_heading = OUTPUT)]
    pub(crate) max: Option<u64>,
    /// With --records or --marks: show the JVM descriptor of each method
    #[arg(long, requires = "instead", conflicts_with_all = ["index", "remove_index"])]
    #[arg(help_heading = OUTPUT)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Records or marks.
#[derive(Debug)]
pub(crate) struct DumpArgs {
    pub(crate) source: SourceArgs,
    pub(crate) threads: ThreadArgs,
    pub(crate) marks: bool,
    pub(crate) verbose: bool,
    pub(crate) max: Option<u64>,
}

/// Indexes and shapes to store or remove.
#[derive(Debug)]
pub(crate) struct IndexArgs {
    pub(crate) source: SourceArgs,
    pub(crate) threads: ThreadArgs,
    pub(crate) remove: bool,
}

impl CheckArgs {
    fn threads(&self) -> ThreadArgs {
        ThreadArgs { patterns: self.threads.clone() }
    }

    /// The records or marks to print, if these are requested.
    pub(crate) fn dump(&self) -> Option<DumpArgs> {
        let Self { marks, verbose, max, .. } = *self;
        let (source, threads) = (self.source.clone(), self.threads());
        (self.records || marks).then_some(DumpArgs { source, threads, marks, verbose, max })
    }

    /// The indexes to store or remove, if that is requested.
    pub(crate) fn index(&self) -> Option<IndexArgs> {
        let (source, threads, remove) = (self.source.clone(), self.threads(), self.remove_index);
        (self.index || remove).then_some(IndexArgs { source, threads, remove })
    }
}

impl ReplayArgs {
    /// Returns whether calls are rows of a table, each alone.
    pub(crate) fn is_table(&self) -> bool {
        !self.method.is_empty() && self.depth == Some(1) && !self.collapse
    }

    /// The question that this is with `--follow`, if calls are rows of a table for people: a row comes when its call has ended.
    pub(crate) fn ended_calls(&self) -> Option<FollowArgs> {
        let is_text = self.source.format == Format::Text;
        let is_alone = self.from.is_none() && self.part.filter.is_all() && !self.lines;
        let is_table = self.follow && self.is_table() && !self.instructions;
        (is_table && is_text && is_alone).then(|| FollowArgs {
            methods: self.method.clone(),
            source: self.source.clone(),
            part: self.part.clone(),
            when: TimeArgs::at_least(self.min_duration),
            conditions: Vec::new(),
            outcome: None,
            has_values: self.values,
            max: self.max,
            verbose: self.verbose,
        })
    }

    /// Returns whether lines, values or instructions are shown.
    pub(crate) fn shows_details(&self) -> bool {
        self.lines || self.values || self.instructions
    }

    /// Returns whether times are shown.
    pub(crate) fn is_timed(&self) -> bool {
        self.time || self.min_duration.is_some() || self.samples || self.shows_details()
    }

    /// Returns whether what calls handed over is shown below them.
    pub(crate) fn is_tree_of_request(&self) -> bool {
        let is_flat = self.per_thread || self.merged || self.collapse || self.samples;
        let is_whole = self.method.is_empty() && self.from.is_none() && !is_flat;
        let has_request = self.part.request.is_some() || self.part.context.is_some();
        has_request && self.source.format == Format::Text && is_whole
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
