//! Arguments of the verb that receives traces.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use flow_options::StreamAddress;

use crate::input::flags::FilterArgs;
use crate::input::values::nanoseconds;

/// What `flow listen` prints.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReportKind {
    Methods,
    Exceptions,
    Graph,
    Notes,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ListenArgs {
    /// Where JVMs connect: unix:PATH, tcp:PORT, or tcp:HOST:PORT to let other machines connect
    #[arg(value_name = "ADDR", value_parser = address)]
    pub(crate) address: StreamAddress,
    /// The file for the trace of the first JVM; each further one gets a file beside it
    #[arg(short, long, value_name = "FILE", default_value = "live.flowtrace")]
    pub(crate) out: PathBuf,
    /// Print every call to standard output as it is received, a JSON object a line, as flow replay --format json does
    #[arg(long)]
    pub(crate) jsonl: bool,
    /// Print what methods do, while it is received
    ///
    /// methods and exceptions: calls, time and calls that ended by an exception, of each interval. graph: who called whom how
    /// often, when a recording ends. notes: what the program notes, and its tests.
    #[arg(long, value_name = "WHAT", conflicts_with = "jsonl")]
    pub(crate) report: Option<ReportKind>,
    /// The length of an interval of --report
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = nanoseconds, requires = "report")]
    pub(crate) every: u64,
    /// Print --report as JSON, one object per line
    #[arg(long, requires = "report")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// The file with the secret that JVMs must show [default: with tcp, ~/.config/flow/stream-token, which is made]
    #[arg(long, value_name = "FILE")]
    pub(crate) token: Option<PathBuf>,
}

/// Parses an address.
pub(super) fn address(text: &str) -> Result<StreamAddress, String> {
    text.parse().map_err(|()| format!("expected {}", StreamAddress::FORM))
}
