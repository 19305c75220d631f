//! `flow attach`: records a running JVM.

use crate::args::AttachArgs;
use crate::cmd::agent::{self, AgentOptions, TraceDir, as_text};
use crate::failure::{Failure, Status};
use crate::jvm::{self, Process, Refusal};
use crate::output::{message, shell_quoted};

pub(crate) fn run(args: &AttachArgs) -> Result<Status, Failure> {
    let library = agent::library(args.agent.library.as_deref())?;
    let dir = TraceDir::of(&args.agent)?;
    let mut options = AgentOptions::of(&args.agent, &dir)?;
    let process = Process::find(args.pid)?;
    let refusal = Refusal::create(&process)?;
    let (key, file) = refusal.option();
    options.add(key, file)?;
    jvm::load(&process, as_text(&library)?, &options.encode()?, &refusal)?;
    let out = shell_quoted(&dir.out.to_string_lossy());
    let pid = args.pid;
    message(&format!("recording process {pid} into {out}; stop with: flow detach {pid}"));
    Ok(Status::Done)
}
