//! The verbs that record.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};

use super::values::key_value;

/// How the agent writes events.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventFormat {
    Binary,
    Jsonl,
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
    /// How times are recorded: tick (default), tick:PERIOD, exact or off
    #[arg(long, value_name = "KIND")]
    pub(crate) clock: Option<String>,
    /// Stop recording when the trace has this size, such as 500m or 2g
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<String>,
    /// Begin recording now (default) or paused, until the program calls Flow.resume()
    #[arg(long, value_name = "WHEN")]
    pub(crate) start: Option<String>,
    /// How events are written
    #[arg(long, value_name = "FORMAT")]
    pub(crate) event_format: Option<EventFormat>,
    /// Keep the method ids of this ids.properties; new methods follow
    #[arg(long, value_name = "FILE", conflicts_with = "optimize")]
    pub(crate) ids: Option<PathBuf>,
    /// Number methods by their calls in this earlier trace, for a smaller one
    #[arg(long, value_name = "DIR")]
    pub(crate) optimize: Option<PathBuf>,
    /// Keep the journal, the open chunks that survive a kill, in this directory, such as /dev/shm
    #[arg(long, value_name = "DIR")]
    pub(crate) journal: Option<PathBuf>,
    /// Memory for each thread's events, such as 64k
    #[arg(long, value_name = "SIZE")]
    pub(crate) chunk: Option<String>,
    /// Leave the program's command line out of the trace; else values that look like secrets are masked
    #[arg(long)]
    pub(crate) no_command: bool,
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
