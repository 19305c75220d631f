//! `flow detach`: ends the recording of a running JVM.

use std::path::Path;

use crate::args::DetachArgs;
use crate::cmd::agent::{self, as_text};
use crate::cmd::choose;
use crate::failure::{Failure, Status};
use crate::jvm::{self, Process, Refusal};
use crate::output::message;

pub(crate) fn run(args: &DetachArgs) -> Result<Status, Failure> {
    let process = choose::jvm(&args.pid)?;
    let pid = process.pid();
    let library = loaded_library(&process, args.library.as_deref())?;
    let refusal = Refusal::create(&process)?;
    let (key, file) = refusal.option();
    jvm::load(&process, &library, &format!("detach,{key}={file}"), &refusal)?;
    message(&format!("recording of process {pid} ended"));
    Ok(Status::Done)
}

/// The given library, or the copy that the process has loaded: another copy would not know of the recording.
pub(super) fn loaded_library(process: &Process, given: Option<&Path>) -> Result<String, Failure> {
    if let Some(given) = given {
        return Ok(as_text(&agent::library(Some(given))?)?.to_owned());
    }
    let name = agent::file_name();
    let loaded = process.loaded(&name)?.map(str::to_owned);
    let pid = process.pid();
    loaded.ok_or_else(|| {
        Failure::Failed(format!("process {pid}: not recorded: it has not loaded {name}"))
    })
}
