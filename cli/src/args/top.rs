//! Arguments of `flow top`.

use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};

use crate::input::flags::{DEFAULT_DIR, FilterArgs, ORDER, OUTPUT, ThreadArgs};
use crate::input::values::count;
use flow_query::select::nanoseconds;

/// Columns to sort methods by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TopKey {
    #[value(name = "self")]
    SelfTime,
    Calls,
    Name,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct TopArgs {
    /// What is recorded: a trace directory, a .flowtrace file, the process id of a JVM, or where JVMs that stream connect:
    /// unix:PATH, tcp:PORT, tcp:HOST:PORT
    #[arg(value_name = "SOURCE", default_value = DEFAULT_DIR, value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// The time between two updates, for example 500ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = nanoseconds)]
    pub(crate) interval: u64,
    /// Sort methods by this column [default: self, or calls if the trace has no times]
    #[arg(long, value_name = "COLUMN", help_heading = ORDER)]
    pub(crate) sort: Option<TopKey>,
    /// Print one interval and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Output format, with --once; json writes one object per line: the whole, then methods, then threads
    #[arg(long, value_name = "FORMAT", requires = "once", help_heading = OUTPUT)]
    format: Option<TopFormat>,
    /// Show at most N methods, and N threads, with --once; 0 for all [default: 20 in text, else all]
    #[arg(long, value_name = "N", value_parser = count, requires = "once", help_heading = ORDER)]
    pub(crate) max: Option<u64>,
}

/// Formats of the output for one interval.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum TopFormat {
    Text,
    Json,
}

impl TopArgs {
    /// Returns whether an interval is printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.format == Some(TopFormat::Json)
    }

    /// The time between two updates.
    pub(crate) fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval)
    }
}
