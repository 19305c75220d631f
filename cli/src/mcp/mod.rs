//! Questions of programs and coding agents: the Model Context Protocol on standard input and output.
//!
//! Each [tool](tools) is a verb with some of its flags under other names, and its answer is what the verb prints. So a program
//! gets the rows that a person gets, and no tool computes anything. A question runs in a process of its own: it can be
//! cancelled, and one that fails or needs much memory ends alone.
//!
//! ```text
//! client ─▶ Server ─▶ Tool::command (parameters to flags) ─▶ run (a process of flow) ─▶ answer (text that fits) ─▶ client
//! ```
//!
//! The crate `rmcp` negotiates the version of the protocol, and reads and writes its messages.

mod answer;
mod install;
mod parameter;
mod run;
mod server;
mod tools;
mod traces;

use std::path::PathBuf;

pub(crate) use self::install::Client;
use crate::failure::{Failure, Status};
use crate::input::flags::DEFAULT_DIR;
use crate::output::message;

/// What `flow mcp` does.
#[derive(Debug)]
pub(crate) struct Request {
    /// A trace, or a folder of traces; by default the current directory.
    pub(crate) path: Option<PathBuf>,
    /// Whether clients may run programs.
    pub(crate) may_record: bool,
    /// Flags of every verb with which questions are answered, such as `--memory`.
    pub(crate) flags: Vec<String>,
    /// A client into whose settings flow is entered, instead of serving, with the command that starts flow.
    pub(crate) install: Option<(Client, Option<String>)>,
}

/// Serves questions, or enters flow into the settings of a client.
pub(crate) fn run(request: &Request) -> Result<Status, Failure> {
    let Request { path, may_record, flags, install } = request;
    let Some((client, program)) = install else {
        let served = server::serve(path.as_deref(), DEFAULT_DIR, *may_record, flags);
        served.map_err(Failure::Failed)?;
        return Ok(Status::Done);
    };
    let program = program.as_deref().unwrap_or("flow");
    let path = path.iter().map(|path| path.display().to_string());
    let record = may_record.then(|| "--allow-record".to_owned());
    let flags = flags.iter().cloned();
    let arguments = ["mcp".to_owned()].into_iter().chain(flags).chain(record).chain(path);
    let arguments: Vec<_> = arguments.collect();
    let here = std::env::current_dir().map_err(|error| Failure::Failed(error.to_string()))?;
    let file = install::install(*client, &here, program, &arguments).map_err(Failure::Failed)?;
    let file = file.display();
    message(&format!("{file} has flow now; restart the client, or reload its servers"));
    Ok(Status::Done)
}
