//! Arguments of the verb that receives traces.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use flow_options::StreamAddress;

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
    /// The file with the secret that JVMs must show [default: with tcp, ~/.config/flow/stream-token, which is made]
    #[arg(long, value_name = "FILE")]
    pub(crate) token: Option<PathBuf>,
}

/// Parses an address.
pub(super) fn address(text: &str) -> Result<StreamAddress, String> {
    text.parse().map_err(|()| format!("expected {}", StreamAddress::FORM))
}
