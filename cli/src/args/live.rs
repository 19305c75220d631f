//! Arguments of the verbs that serve: `listen` receives traces, `mcp` answers questions.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use flow_options::StreamAddress;

use crate::input::flags::{FilterArgs, OUTPUT};
use crate::mcp::{Client, Request};
use flow_query::select::nanoseconds;

/// What `flow listen` prints.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReportKind {
    Methods,
    Exceptions,
    Graph,
    Notes,
    Calls,
}

/// Formats of what `flow listen` prints.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum ListenFormat {
    Text,
    Json,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ListenArgs {
    /// Where JVMs connect: unix:PATH, tcp:PORT, or tcp:HOST:PORT to let other machines connect
    #[arg(value_name = "ADDR", value_parser = address)]
    pub(crate) address: StreamAddress,
    /// The file for the trace of the first JVM; each further one gets a file beside it
    #[arg(short, long, value_name = "FILE", default_value = "live.flowtrace")]
    pub(crate) out: PathBuf,
    /// Print what JVMs do, while it is received
    ///
    /// methods and exceptions: calls, time and calls that were left by an exception, of each interval. graph: who called whom
    /// how often, when a recording ends. notes: what the program notes, and its tests. calls: each call, as flow replay
    /// --format json prints it; only with --format json.
    #[arg(long, value_name = "WHAT")]
    pub(crate) report: Option<ReportKind>,
    /// The length of an interval of --report
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = nanoseconds, requires = "report")]
    pub(crate) every: u64,
    /// Output format of --report; json writes one object per line
    #[arg(long, value_name = "FORMAT", requires = "report", help_heading = OUTPUT)]
    format: Option<ListenFormat>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// The file with the secret that JVMs must show [default: with tcp, ~/.config/flow/stream-token, which is made]
    #[arg(long, value_name = "FILE")]
    pub(crate) token: Option<PathBuf>,
}

impl ListenArgs {
    /// Returns whether JSON is printed.
    pub(crate) fn is_json(&self) -> bool {
        self.format == Some(ListenFormat::Json)
    }
}

/// Parses an address.
pub(super) fn address(text: &str) -> Result<StreamAddress, String> {
    text.parse().map_err(|()| format!("expected {}", StreamAddress::FORM))
}

#[derive(ClapArgs, Debug)]
pub(crate) struct McpArgs {
    /// A folder with traces, or a trace, which is then the default one: clients can read the traces in this folder, or beside this
    /// trace, and no others [default: this directory]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,
    /// Let clients run programs in this directory, to record them
    ///
    /// Without it nothing is started or changed, except for derived data beside traces.
    #[arg(long)]
    pub(crate) allow_record: bool,
    /// Enter flow into the settings of a client in this directory, and end
    #[arg(long, value_name = "CLIENT")]
    pub(crate) install: Option<Client>,
    /// With --install: the command that starts flow [default: flow]
    #[arg(long, value_name = "COMMAND", requires = "install", value_hint = ValueHint::CommandName)]
    pub(crate) program: Option<String>,
}

impl McpArgs {
    /// What is requested.
    pub(crate) fn request(&self, flags: Vec<String>) -> Request {
        let (path, may_record) = (self.path.clone(), self.allow_record);
        let install = self.install.map(|client| (client, self.program.clone()));
        Request { path, may_record, flags, install }
    }
}
