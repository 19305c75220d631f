//! The command line as plain data. Doc comments are the help texts.

mod help;

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use flow_codec::Glob;

use self::help::{
    ATTACH_EXAMPLES, CHECK_HELP, COMPLETIONS_HELP, DIFF_HELP, EXAMPLES, EXPORT_HELP, INDEX_HELP,
    MAN_HELP, RECORD_EXAMPLES, TESTS_HELP,
};
use crate::cmd::replay::From;

/// Records every method call of a JVM program and shows what happened.
#[derive(Parser, Debug)]
#[command(name = "flow", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Args {
    /// Bold headings; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, display_order = 100, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Run a command and record the JVMs it starts
    #[command(after_help = RECORD_EXAMPLES, override_usage = "flow record [OPTIONS] -- <CMD>...")]
    Record(Box<RecordArgs>),
    /// Record a JVM that is running
    #[command(after_help = ATTACH_EXAMPLES)]
    Attach(Box<AttachArgs>),
    /// End the recording of a running JVM
    Detach(DetachArgs),
    /// Calls in order, indented by depth
    Replay(ReplayArgs),
    /// Calls, total and self of each method
    Report(ReportArgs),
    /// Where the calls went: calls by path, as a tree
    Graph(GraphArgs),
    /// Tests, what they came to, and how much they called
    #[command(after_help = TESTS_HELP)]
    Tests(TestsArgs),
    /// What changed between two traces, or two tests
    #[command(after_help = DIFF_HELP)]
    Diff(DiffArgs),
    /// What was run, how it ended, and its threads
    Info(InfoArgs),
    /// Raw records with their offsets and bytes
    Dump(DumpArgs),
    /// Write a trace for another tool
    #[command(after_help = EXPORT_HELP)]
    Export(ExportArgs),
    /// Make what large traces are opened with at once
    #[command(after_help = INDEX_HELP)]
    Index(IndexArgs),
    /// Verify that a trace is whole, and repair it
    #[command(after_help = CHECK_HELP)]
    Check(CheckArgs),
    /// Print a script that completes commands in a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
    /// Print the manual, as man reads it
    #[command(after_help = MAN_HELP)]
    Man(ManArgs),
}

/// When to use more than plain text.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// What results look like.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Text,
    Json,
    Csv,
}

/// How the agent writes events.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventFormat {
    Binary,
    Jsonl,
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

/// What threads are sorted by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadKey {
    Thread,
    Kind,
    Calls,
    MaxFrames,
    Bytes,
    State,
    Name,
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
    /// Show only calls of methods like this, pkg.Class or pkg.Class#method: * within a package, **
    /// across; calls in between are left out; repeatable
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub(crate) include: Vec<Glob>,
    /// Leave out calls of methods like this; what they called moves up to their caller; repeatable
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub(crate) exclude: Vec<Glob>,
}

fn glob(text: &str) -> Result<Glob, Infallible> {
    Ok(Glob::new(text))
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
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) tests: TestArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Only calls of methods like this, with all they called, each behind a line that says where it
    /// is; repeatable
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub(crate) method: Vec<Glob>,
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
    /// Add the source file, the first line and the class loader of each method
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Go on with new calls while the trace is being recorded, until that ends or Ctrl-C
    #[arg(long, conflicts_with = "patterns_of_tests")]
    pub(crate) follow: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) tests: TestArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Calls: how often it was called; total: how long it ran, or without times the calls made while it
    /// ran, its own included; self: the time, or the calls, of its own
    #[arg(long, value_name = "COLUMN", default_value = "total")]
    pub(crate) sort: SortKey,
    /// What total and self mean [default: time, where times were recorded]
    #[arg(long, value_name = "WHAT", conflicts_with = "instead")]
    pub(crate) by: Option<By>,
    /// Show at most N lines; 0 for all [default: 40 in text, else all]
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<u64>,
    /// Instead: the N calls that took longest
    #[arg(long, value_name = "N", group = "instead", conflicts_with = "sort")]
    pub(crate) slowest: Option<usize>,
    /// Instead: who calls methods like this, pkg.Class or pkg.Class#method, and how often; repeatable
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
    /// From the outermost call on, always to where most calls were made
    Longest,
    /// The stack with the most frames
    Deepest,
    /// The stacks that calls were made on most often
    Frequent,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) tests: TestArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Only what happens in methods like this, pkg.Class or pkg.Class#method; repeatable
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
    pub(crate) tests: TestArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
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
    /// Stop after N records; 0 for all
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<u64>,
}

/// For which tool.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// A timeline for ui.perfetto.dev; the most calls
    Perfetto,
    /// A timeline in the Trace Event format, which many tools read
    Chrome,
    /// A timeline for speedscope.app
    Speedscope,
    /// A timeline for profiler.firefox.com
    Firefox,
    /// Calls by path, for pprof
    Pprof,
    /// Calls by path as lines of text, for makers of flame graphs
    Collapsed,
    /// A flame graph
    Svg,
    /// A JSON object for each call
    Jsonl,
    /// A row for each call
    Csv,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ExportArgs {
    /// The trace directory
    #[arg(value_name = "DIR", default_value = DEFAULT_DIR, value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// What to write
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Target,
    /// Where to write it [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) tests: TestArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Write the N outermost calls of a stack only; paths count what is deeper for the outermost N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) depth: Option<u64>,
    /// What the width of a path means in pprof, collapsed and svg [default: time, where times were
    /// recorded]
    #[arg(long, value_name = "WHAT")]
    pub(crate) by: Option<By>,
    /// Write only what happened between two times since the start of the trace, such as 1.5s..2s; calls
    /// that began before, or go on, are cut off
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    pub(crate) time: Option<Window>,
    /// Leave out calls that took less, such as 5ms
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    pub(crate) min_duration: Option<u64>,
    /// Write it even if its viewer cannot open it
    #[arg(long)]
    pub(crate) force: bool,
    /// Say how large it would be, and write nothing
    #[arg(long)]
    pub(crate) estimate: bool,
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

#[derive(ClapArgs, Debug)]
pub(crate) struct CompletionsArgs {
    /// Of which shell
    pub(crate) shell: Shell,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ManArgs {
    /// The page of this verb
    pub(crate) verb: Option<String>,
    /// Write all pages into this directory
    #[arg(short, long, value_name = "DIR", conflicts_with = "verb")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// Reach Gradle's test workers by an init script: CMD runs gradle or gradlew, perhaps with a daemon
    /// that was started before and keeps its own environment
    #[arg(long)]
    pub(crate) gradle: bool,
    /// What to run
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    #[arg(value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct AttachArgs {
    /// The process
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) pid: i32,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct DetachArgs {
    /// The process
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) pid: i32,
    /// The agent library [default: the one that the process has loaded]
    #[arg(long = "agent", value_name = "PATH")]
    pub(crate) library: Option<PathBuf>,
}

/// What the agent is to do, and where it is.
#[derive(ClapArgs, Debug)]
pub(crate) struct AgentArgs {
    /// Where the trace goes [default: flow-trace]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Only classes whose names begin with this; repeatable
    #[arg(long, value_name = "PREFIX")]
    pub(crate) target: Vec<String>,
    /// Only methods like this, pkg.Class or pkg.Class#method: * within a package, ** across; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// No methods like this; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Leave out constructors and static initialisers
    #[arg(long)]
    pub(crate) no_constructors: bool,
    /// Record native methods too, where the engine sees them
    #[arg(long)]
    pub(crate) natives: bool,
    /// How calls are seen: instrument (default) or events
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<String>,
    /// How events are written
    #[arg(long, value_name = "FORMAT")]
    pub(crate) event_format: Option<EventFormat>,
    /// Keep the method ids of this ids.properties; new methods follow
    #[arg(long, value_name = "FILE", conflicts_with = "optimize")]
    pub(crate) ids: Option<PathBuf>,
    /// Number methods by their calls in this earlier trace, for a smaller one
    #[arg(long, value_name = "DIR")]
    pub(crate) optimize: Option<PathBuf>,
    /// Memory for each thread's events, such as 64k
    #[arg(long, value_name = "SIZE")]
    pub(crate) chunk: Option<String>,
    /// What the agent tells: off, error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// A file with further options of the agent, a key=value a line
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Any other option of the agent; repeatable
    #[arg(short = 'O', value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) options: Vec<(String, String)>,
    /// The agent library [default: beside this program]
    #[arg(long = "agent", value_name = "PATH")]
    pub(crate) library: Option<PathBuf>,
}

impl ReplayArgs {
    /// Whether times are shown.
    pub(crate) fn is_timed(&self) -> bool {
        self.time || self.min_duration.is_some()
    }
}

/// A stretch of time, in nanoseconds since the start of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

fn window(text: &str) -> Result<Window, String> {
    let expected = || format!("expected FROM..TO, such as 1.5s..2s, found '{text}'");
    let (from, to) = text.split_once("..").ok_or_else(expected)?;
    let part = |text: &str, missing| if text.is_empty() { Ok(missing) } else { nanoseconds(text) };
    let window = Window { from_ns: part(from, 0)?, to_ns: part(to, u64::MAX)? };
    if window.from_ns > window.to_ns { Err(expected()) } else { Ok(window) }
}

/// A time with its unit: `250us`, `1.5s`.
pub(crate) fn nanoseconds(text: &str) -> Result<u64, String> {
    let expected = || format!("expected a time such as 250us, 5ms or 1.5s, found '{text}'");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_ns: u64 = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(expected()),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u64 = whole.parse().map_err(|_| expected())?;
    let places =
        u32::try_from(part.len()).ok().filter(|places| *places <= 12).ok_or_else(expected)?;
    let part: u64 = part.parse().map_err(|_| expected())?;
    let part_ns = u128::from(part) * u128::from(unit_ns) / 10_u128.pow(places);
    let part_ns = u64::try_from(part_ns).map_err(|_| expected())?;
    whole.checked_mul(unit_ns).and_then(|ns| ns.checked_add(part_ns)).ok_or_else(expected)
}

fn percentage(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').parse().ok();
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| "expected a number from 0 to 100".to_owned())
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Err("a key has letters, digits and '-'".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
        for (text, ns) in [("250us", 250_000), ("1.5s", 1_500_000_000), ("0.25ms", 250_000)] {
            assert_eq!(nanoseconds(text), Ok(ns), "{text}");
        }
        for odd in ["", "5", "ms", "1..2s", "-1s", "1e3s", "999999999999h", "1.0000000000001s"] {
            assert!(nanoseconds(odd).is_err(), "{odd}");
        }
        let second = 1_000_000_000;
        assert_eq!(window("1s..2s"), Ok(Window { from_ns: second, to_ns: 2 * second }));
        assert_eq!(window("1s.."), Ok(Window { from_ns: second, to_ns: u64::MAX }));
        assert!(window("2s..1s").is_err() && window("2s").is_err());
    }

    #[test]
    fn everything_behind_the_command_is_the_commands_own() {
        let parse = |args: &[&str]| match Args::try_parse_from(args).unwrap().verb {
            Verb::Record(record) => (record.agent.natives, record.command.join(" ".as_ref())),
            _ => unreachable!("record was asked for"),
        };
        for line in [
            &["flow", "record", "--natives", "--", "java", "--help", "-o", "x"][..],
            &["flow", "record", "--natives", "java", "--help", "-o", "x"],
        ] {
            assert_eq!(parse(line), (true, "java --help -o x".into()));
        }
    }
}
