//! Arguments of the verbs that record.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use flow_options::StreamAddress;

use crate::input::values::positive;
use flow_query::select::nanoseconds;

/// Headings of the agent's options.
const WHERE: &str = "Where the trace goes";
const WHAT: &str = "What is recorded";
const HOW: &str = "How it is recorded";

/// Where a line is recorded once.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnceIn {
    /// In each test, and in what is in no test
    Test,
    /// In the run
    Run,
}

/// The tests that keep their calls.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeepTests {
    /// Tests that did not simply pass.
    Failed,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// Add the agent to Gradle's test workers with an init script, which also works if a Gradle daemon is
    /// already running; CMD runs gradle or gradlew
    #[arg(long)]
    pub(crate) gradle: bool,
    /// Keep the calls only of tests that failed, were aborted, did not end, or ran again
    ///
    /// After the command has ended, the trace is written anew without the calls of tests that simply passed. flow tests, and its
    /// lock, show them as before. Calls outside of tests stay. A trace in a directory keeps all calls.
    #[arg(help_heading = WHERE)]
    #[arg(long, value_name = "WHICH")]
    pub(crate) keep_tests: Option<KeepTests>,
    /// End the command after TIME, for example 10m: each JVM is asked what its threads wait for, and the exit status is 124
    ///
    /// flow replay --last shows what each thread waited for and its last calls. The command and all that it started get
    /// SIGTERM, and those that have not ended 10 s later SIGKILL.
    #[arg(help_heading = HOW)]
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    pub(crate) timeout: Option<u64>,
    /// Let JVMs use only their first compiler (-XX:TieredStopAtLevel=1): shorter for most test runs, longer for long computations
    ///
    /// Recorded code takes long to compile. The first compiler is much faster, and its code slower. Times in the trace are
    /// those of its code, and flow report says so.
    #[arg(help_heading = HOW)]
    #[arg(long)]
    pub(crate) quick: bool,
    /// The command to run
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    #[arg(value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct AttachArgs {
    /// The process id of the JVM; without it, the JVMs that run are listed
    pub(crate) pid: Option<String>,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct DetachArgs {
    /// The process id of the JVM; without it, the JVMs that run are listed
    pub(crate) pid: Option<String>,
    /// The agent library [default: the one that the process has loaded]
    #[arg(long = "agent", value_name = "PATH")]
    pub(crate) library: Option<PathBuf>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct SnapshotArgs {
    /// The process id of the JVM
    pub(crate) pid: String,
    /// The file to write, or a name that becomes a part of the name of a file beside the trace
    #[arg(value_name = "FILE|NAME", default_value = "1", value_hint = ValueHint::FilePath)]
    pub(crate) name: String,
    /// The agent library [default: the one that the process has loaded]
    #[arg(long = "agent", value_name = "PATH")]
    pub(crate) library: Option<PathBuf>,
}

/// Options of the agent, and its path.
#[derive(ClapArgs, Debug)]
pub(crate) struct AgentArgs {
    /// Where the trace goes: a directory, or one file if the name ends in .flowtrace [default: a new file in flow-trace]
    #[arg(help_heading = WHERE)]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Send the trace to flow listen at this address, for example unix:/run/user/1000/flow.sock or tcp:4770; with --out, store it
    /// in a file too
    #[arg(help_heading = WHERE)]
    #[arg(long, value_name = "ADDR", value_parser = super::live::address)]
    pub(crate) stream: Option<StreamAddress>,
    /// Keep the newest N runs in flow-trace and remove older ones; not with -o [default: 10]
    #[arg(help_heading = WHERE)]
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with = "out")]
    pub(crate) keep_runs: Option<u64>,
    /// Keep only the newest part of a trace in one file (for example last:64m), or all of it in memory until the end
    /// (memory)
    #[arg(help_heading = WHERE)]
    #[arg(long, value_name = "WHAT")]
    pub(crate) keep: Option<String>,
    /// Take a snapshot on method:GLOB, exception:GLOB, uncaught, oom or exit; repeatable
    #[arg(help_heading = WHERE)]
    #[arg(long, value_name = "WHAT")]
    pub(crate) snapshot_on: Vec<String>,
    /// Record only classes whose names begin with this; repeatable
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "PREFIX")]
    pub(crate) target: Vec<String>,
    /// Record only methods that match this pattern, pkg.Class or pkg.Class#method: * matches within a
    /// package, ** across packages; repeatable
    ///
    /// A method needs to match only one. extends:TYPE matches the methods of classes that extend or implement a type, @NAME those
    /// with an annotation, or in a class with it; neither matches constructors.
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Do not record methods that match this pattern; repeatable
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Record each line that methods matching this pattern reach, too; repeatable
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "GLOB")]
    pub(crate) lines: Vec<String>,
    /// Record each of these lines once in each test, and once outside of tests, not each time: enough for coverage
    ///
    /// With --lines-once=run, each line is recorded once in the whole run. This costs less, but does not show which tests reached a line.
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "IN", requires = "lines")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "test")]
    pub(crate) lines_once: Option<OnceIn>,
    /// Record no calls, only lines with --lines-once, and tests
    #[arg(help_heading = WHAT)]
    #[arg(long, requires = "lines_once")]
    pub(crate) no_calls: bool,
    /// Record arguments, results and messages of exceptions of methods that match this pattern, too; repeatable
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "GLOB")]
    pub(crate) values: Vec<String>,
    /// Record each instruction that methods matching this pattern execute, too; repeatable
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "GLOB")]
    pub(crate) instructions: Vec<String>,
    /// Record reads and writes of fields that match this pattern, too; of a class, also of elements of arrays; repeatable
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "GLOB")]
    pub(crate) fields: Vec<String>,
    /// Record exceptions that reach a handler of methods that match this pattern, too, also when they end no call; repeatable
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "GLOB")]
    pub(crate) exceptions: Vec<String>,
    /// Record what threads wait for, too: locks, notifications, parks, sleeps, sockets and files; for flow report --waits
    #[arg(help_heading = WHAT)]
    #[arg(long)]
    pub(crate) waits: bool,
    /// Leave out values of this parameter, field, class or pkg.Class#method; repeatable
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "GLOB")]
    pub(crate) redact: Vec<String>,
    /// Record SQL statements with their parameters, too, for flow calls --sql
    #[arg(help_heading = WHAT)]
    #[arg(long)]
    pub(crate) sql: bool,
    /// Record HTTP requests, received and sent, too, for flow calls --http
    #[arg(help_heading = WHAT)]
    #[arg(long)]
    pub(crate) http: bool,
    /// Record log messages, too, for flow calls --log
    #[arg(help_heading = WHAT)]
    #[arg(long)]
    pub(crate) log: bool,
    /// Record what threads hand to each other, too: tasks, and threads that are started; for replay --request
    #[arg(help_heading = WHAT)]
    #[arg(long)]
    pub(crate) handovers: bool,
    /// Record which call each resumption of a Kotlin suspend function continues, too; for calls --coroutines
    #[arg(help_heading = WHAT)]
    #[arg(long)]
    pub(crate) coroutines: bool,
    /// Record what threads work for, too: Flow.context, MDC, OpenTelemetry, routes, consumers; for calls --by context, and --context
    #[arg(help_heading = WHAT)]
    #[arg(long)]
    pub(crate) context: bool,
    /// Record what this preset is about, too: sql, http, log, handovers, coroutines, context, or one of a file; repeatable
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Vec<String>,
    /// A file with presets, or with further rules for those of flow [default: flow.presets, if it exists]
    #[arg(help_heading = WHAT)]
    #[arg(long, value_name = "FILE")]
    pub(crate) presets: Option<PathBuf>,
    /// Record libraries too, not only the application's own packages
    #[arg(help_heading = WHAT)]
    #[arg(long, conflicts_with_all = ["target", "include"])]
    pub(crate) all: bool,
    /// How calls are seen: instrument (default) or events; or none, with --sample only
    #[arg(help_heading = HOW)]
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<String>,
    /// Sample the stacks of threads at this interval, for example 10ms
    #[arg(help_heading = HOW)]
    #[arg(long, value_name = "TIME")]
    pub(crate) sample: Option<String>,
    /// How times are recorded: tick (default), tick:PERIOD, exact or off
    #[arg(help_heading = HOW)]
    #[arg(long, value_name = "KIND")]
    pub(crate) clock: Option<String>,
    /// Stop recording a JVM when its trace has this size, for example 2g; or none. Default of flow record: 20g, or half
    /// of the free disk space if that is less
    #[arg(help_heading = WHERE)]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<String>,
    /// Leave the program's command line out of the trace; by default, only values that look like secrets
    /// are masked
    #[arg(help_heading = HOW)]
    #[arg(long)]
    pub(crate) no_command: bool,
    /// A file with further options of the agent, one key=value per line
    #[arg(help_heading = HOW)]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Any other option of the agent, of which flow record --help lists all; repeatable
    #[arg(help_heading = HOW)]
    #[arg(short = 'O', value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) options: Vec<(String, String)>,
    /// The agent library [default: in the directory of this program]
    #[arg(help_heading = HOW)]
    #[arg(long = "agent", value_name = "PATH")]
    pub(crate) library: Option<PathBuf>,
}

/// The file with presets of a project.
const PROJECT_PRESETS: &str = "flow.presets";

impl AgentArgs {
    /// The presets that are chosen.
    pub(crate) fn chosen_presets(&self) -> Vec<String> {
        let flags = [
            ("sql", self.sql),
            ("http", self.http),
            ("log", self.log),
            ("handovers", self.handovers),
            ("coroutines", self.coroutines),
            ("context", self.context),
        ];
        let mut chosen: Vec<_> = flags.into_iter().filter(|(_, is_set)| *is_set).collect();
        chosen.retain(|(name, _)| !self.preset.iter().any(|other| other == name));
        let names = chosen.into_iter().map(|(name, _)| name.to_owned());
        names.chain(self.preset.iter().cloned()).collect()
    }

    /// The file with presets: the given one, or that of the project if there is one and presets are chosen.
    pub(crate) fn presets_file(&self) -> Option<PathBuf> {
        let of_project = || {
            let file = PathBuf::from(PROJECT_PRESETS);
            (!self.chosen_presets().is_empty() && file.is_file()).then_some(file)
        };
        self.presets.clone().or_else(of_project)
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Err("a key has letters, digits and '-'".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}
