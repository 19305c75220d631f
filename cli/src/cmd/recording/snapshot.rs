//! `flow snapshot`: writes what a running JVM has recorded until now to a file of its own.

use crate::args::SnapshotArgs;
use crate::cmd::recording::choose;
use crate::cmd::recording::detach::loaded_library;
use crate::failure::{Failure, Status};
use crate::jvm::{self, Refusal};
use crate::output::message;

pub(crate) fn run(args: &SnapshotArgs) -> Result<Status, Failure> {
    let process = choose::jvm(Some(&args.pid))?;
    let library = loaded_library(&process, args.library.as_deref())?;
    let answer = Refusal::create(&process)?;
    let (key, file) = answer.option();
    let name = args.name.replace(',', r"\,");
    jvm::load(&process, &library, &format!("snapshot={name},{key}={file}"), &answer)?;
    let path = answer.reason().unwrap_or_default();
    message(&format!("{path} has what was recorded until now; recording continues"));
    Ok(Status::Done)
}
