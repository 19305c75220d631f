//! `flow detach`: ends the recording of a running JVM.

use crate::args::DetachArgs;
use crate::cmd::agent::{self, as_text};
use crate::cmd::choose;
use crate::failure::{Failure, Status};
use crate::jvm::{self, Refusal};
use crate::output::message;

pub(crate) fn run(args: &DetachArgs) -> Result<Status, Failure> {
    let process = choose::jvm(&args.pid)?;
    let pid = process.pid();
    let library = match &args.library {
        Some(given) => as_text(&agent::library(Some(given))?)?.to_owned(),
        // The copy that is loaded: another copy would not know of the recording.
        None => {
            let name = agent::file_name();
            let loaded = process.loaded(&name)?.map(str::to_owned);
            loaded.ok_or_else(|| {
                Failure::Failed(format!("process {pid}: not recorded: it has not loaded {name}"))
            })?
        }
    };
    let refusal = Refusal::create(&process)?;
    let (key, file) = refusal.option();
    jvm::load(&process, &library, &format!("detach,{key}={file}"), &refusal)?;
    message(&format!("recording of process {pid} ended"));
    Ok(Status::Done)
}
