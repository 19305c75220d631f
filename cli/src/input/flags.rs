//! Flags of several verbs: which trace, and which part of it.

use std::ops::Range;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use flow_codec::Glob;
use flow_codec::read::TimeLimits;

use flow_codec::ThreadId;
use flow_codec::read::{OpenFrames, Selection, Trace};
use flow_query::select::{CallPlace, ContextPattern, Filter, Select, Tests, Threads};
use flow_query::select::{nanoseconds, window};

use super::values::glob;
use crate::output::Format;

/// Headings of flags in the help of verbs.
pub(crate) const SELECTION: &str = "Selection";
pub(crate) const ORDER: &str = "Order and limits";
pub(crate) const VIEWS: &str = "Views";
pub(crate) const SAMPLES: &str = "Samples";
pub(crate) const OUTPUT: &str = "Output";

/// The weight of calls.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// The number of calls, or of samples
    Calls,
    /// CPU time: for how long threads ran. Waiting is shown beside it
    Cpu,
    /// Wall-clock time, which includes waiting
    Wall,
}

/// The weight of calls that are added up.
#[derive(ClapArgs, Clone, Copy, Debug)]
pub(crate) struct WeightArgs {
    /// What is added up [default: cpu, if the trace has CPU times; else wall, if it has times; of samples: calls]
    #[arg(long, value_name = "WHAT", help_heading = ORDER)]
    pub(crate) by: Option<By>,
}

/// Where a trace is, and how to show it.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct SourceArgs {
    /// The trace: a .flowtrace file, - for such a file on standard input, a directory, the newest run in a folder of recordings, or an
    /// .hpl log of samples
    #[arg(value_name = "TRACE", default_value = DEFAULT_DIR, value_hint = ValueHint::AnyPath)]
    pub(crate) dir: PathBuf,
    /// Output format; json writes one object per line
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = OUTPUT)]
    pub(crate) format: Format,
}

/// The folder of recordings in which `record` writes and the other verbs read by default.
pub(crate) const DEFAULT_DIR: &str = "flow-trace";

/// Which threads.
#[derive(ClapArgs, Clone, Debug)]
#[command(next_help_heading = SELECTION)]
pub(crate) struct ThreadArgs {
    /// Show only this thread; repeatable
    ///
    /// The id of the thread, or its name, with * for any text.
    #[arg(long = "thread", value_name = "ID|NAME")]
    pub(crate) patterns: Vec<String>,
}

/// Which tests.
#[derive(ClapArgs, Clone, Debug, Default)]
#[command(next_help_heading = SELECTION)]
pub(crate) struct TestArgs {
    /// Show only what this test called; repeatable
    ///
    /// The name of the test in flow tests, with * for any text.
    #[arg(id = "patterns_of_tests", long = "test", value_name = "NAME")]
    pub(crate) patterns: Vec<String>,
}

/// Which calls.
#[derive(ClapArgs, Clone, Debug, Default)]
#[command(next_help_heading = SELECTION)]
pub(crate) struct FilterArgs {
    /// Show only calls of methods that match this pattern; repeatable
    ///
    /// A pattern is pkg.Class, pkg.Class#method, Class, Class#method, Class#method(int), or a name as flow shows it. *
    /// matches within a package, ** across packages. Callees of hidden calls move up to their callers.
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Hide calls of methods that match this pattern; repeatable
    ///
    /// Their callees move up to their callers. Patterns are those of --include.
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub(crate) exclude: Vec<Glob>,
    /// Show only calls of the application, without libraries
    ///
    /// The application's packages are those that flow record found, or own= named; flow info shows them. The same as
    /// --include with each of them.
    #[arg(long)]
    pub(crate) own: bool,
}

/// Which threads, tests and calls of a trace.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct PartArgs {
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) tests: TestArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Show only this call and all that it called
    ///
    /// THREAD:N, or 'N in THREAD', as other answers name a call.
    #[arg(long = "in", value_name = "CALL", conflicts_with = "patterns_of_tests", help_heading = SELECTION)]
    pub(crate) within: Option<CallPlace>,
    /// Show only this call, all that it called, and what it handed to other threads
    ///
    /// THREAD:N. Tasks of executors, completed futures, timers, coroutines, and threads that were started, if flow record
    /// --handovers recorded them; and so on, from thread to thread.
    #[arg(long, value_name = "CALL", conflicts_with_all = ["patterns_of_tests", "within"], help_heading = SELECTION)]
    pub(crate) request: Option<CallPlace>,
    /// Show only what happened while threads worked for this, and what was handed to other threads then
    ///
    /// KEY=VALUE, or a value of any key; * matches any text. Recorded by flow record --context; calls --by context lists them.
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["patterns_of_tests", "within", "request"], help_heading = SELECTION)]
    pub(crate) context: Option<ContextPattern>,
}

/// Which calls, by when they happened.
#[derive(ClapArgs, Clone, Debug)]
#[command(next_help_heading = SELECTION)]
pub(crate) struct TimeArgs {
    /// Show only what happened between two times, for example 1.5s..2s
    ///
    /// Times are those since the start of the trace. Of calls that began before or ended later, only the part in
    /// between counts.
    #[arg(id = "window", long = "time", value_name = "FROM..TO", value_parser = window)]
    window: Option<Range<u64>>,
    /// Hide calls shorter than TIME, for example 5ms
    ///
    /// Their time counts as their caller's.
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    min_duration: Option<u64>,
}

impl PartArgs {
    /// Returns whether only a call is selected, alone or with what it handed to other threads.
    pub(crate) fn is_of_one_call(&self) -> bool {
        self.within.is_some() || self.request.is_some()
    }

    /// The selection that these flags describe.
    pub(crate) fn select(&self) -> Select {
        let (threads, tests) = (&self.threads.patterns, &self.tests.patterns);
        let select = Select::all().in_threads(Threads::of(threads)).in_tests(Tests::of(tests));
        let select = select.of_methods(self.filter.filter());
        select.in_call(self.within).in_request(self.request).in_context(self.context.clone())
    }
}

impl FilterArgs {
    /// The methods that these flags select.
    pub(crate) fn filter(&self) -> Filter {
        Filter::new(&self.include, &self.exclude, self.own)
    }

    /// Returns whether nothing is left out.
    pub(crate) fn is_all(&self) -> bool {
        self.filter().is_all()
    }

    /// The flags that leave something out; `None` if there are none.
    pub(crate) fn flags(&self) -> Option<&'static str> {
        Some(match (self.own, self.include.is_empty(), self.exclude.is_empty()) {
            (false, true, true) => return None,
            (true, true, true) => "--own",
            (_, false, true) => "--include",
            (false, true, false) => "--exclude",
            _ => "one of --own, --include and --exclude",
        })
    }

    /// The selected methods of a trace.
    pub(crate) fn selection(&self, trace: &Trace) -> Selection {
        self.filter().selection(trace)
    }

    /// The selected frames of a thread that were entered before recording.
    pub(crate) fn open_frames(&self, trace: &Trace, thread: ThreadId) -> OpenFrames {
        self.filter().open_frames(trace, thread)
    }
}

impl TestArgs {
    /// The tests that these flags select.
    pub(crate) fn tests(&self) -> Tests {
        Tests::of(&self.patterns)
    }

    /// Returns whether a test is selected.
    pub(crate) fn include(&self, name: &str) -> bool {
        self.tests().include(name)
    }
}

impl ThreadArgs {
    /// Returns whether a thread is selected.
    pub(crate) fn include(&self, trace: &Trace, id: ThreadId) -> bool {
        Threads::of(&self.patterns).include(trace, id)
    }
}

impl TimeArgs {
    /// Selects calls of at least this length.
    pub(crate) const fn at_least(min_duration: Option<u64>) -> Self {
        Self { window: None, min_duration }
    }

    /// The flags that are given.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let window = self.window.as_ref().map(|_| "--time");
        window.into_iter().chain(self.min_duration.map(|_| "--min-duration")).collect()
    }

    /// Returns the selected range of time and the minimum duration.
    pub(crate) fn limits(&self) -> TimeLimits {
        let Range { start, end } = self.window.clone().unwrap_or(0..u64::MAX);
        TimeLimits { from_ns: start, to_ns: end, min_ns: self.min_duration.unwrap_or(0) }
    }
}
