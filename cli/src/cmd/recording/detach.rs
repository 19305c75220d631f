//! `flow detach`: ends the recording of a running JVM.

use std::path::Path;

use flow_codec::format::manifest::{Manifest, Unmatched};
use flow_codec::read::Trace;

use crate::args::DetachArgs;
use crate::cmd::recording::agent::{self, as_text};
use crate::cmd::recording::choose;
use crate::failure::{Failure, Status};
use crate::jvm::{self, Process, Refusal};
use crate::output::{message, report_unmatched, shell_quoted};

pub(crate) fn run(args: &DetachArgs) -> Result<Status, Failure> {
    let process = choose::jvm(args.pid.as_deref())?;
    let pid = process.pid();
    let library = loaded_library(&process, args.library.as_deref())?;
    let trace = process.recorded_trace();
    let refusal = Refusal::create(&process)?;
    let (key, file) = refusal.option();
    jvm::load(&process, &library, &format!("detach,{key}={file}"), &refusal)?;
    message(&format!("recording of process {pid} ended"));
    let manifest = trace.as_ref().and_then(|trace| Trace::manifest_of(trace).ok()?);
    for Unmatched { option, patterns } in manifest.iter().flat_map(unmatched) {
        patterns.iter().for_each(|pattern| report_unmatched(option, pattern));
    }
    if let Some(trace) = trace.filter(|trace| trace.starts_with(process.root())) {
        let trace = shell_quoted(&trace.to_string_lossy());
        message(&format!(
            "the trace is in the file system of that process: copy {trace} before the process ends"
        ));
    }
    Ok(Status::Done)
}

fn unmatched(manifest: &Manifest) -> &[Unmatched] {
    manifest.end.as_ref().map_or(&[], |end| &end.unmatched)
}

/// The given library, or the copy that the process has loaded: another copy would not know of the recording.
pub(in crate::cmd) fn loaded_library(
    process: &Process,
    given: Option<&Path>,
) -> Result<String, Failure> {
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
