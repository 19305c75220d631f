//! Which trace is meant, by verbs that take the id of a process, too.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::input::source::run_of;

/// The trace of a path, the newest run of a folder of recordings, or the trace that the process with an id records.
pub(in crate::cmd) fn trace_of(source: &str) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(source);
    let pid = source.parse().ok().filter(|pid| *pid > 0 && !path.exists());
    pid.map_or_else(|| Ok(run_of(&path)), of_process)
}

/// The trace that a process records.
#[cfg(target_os = "linux")]
fn of_process(pid: i32) -> Result<PathBuf, Failure> {
    crate::jvm::Process::find(pid)?.recorded_trace().ok_or_else(|| {
        Failure::Failed(format!(
            "process {pid}: no trace is recorded there, or of another user; {} begins a recording",
            crate::output::flow_command(&format!("attach {pid}"))
        ))
    })
}

/// Refuses: only Linux shows which files a process has open.
#[cfg(not(target_os = "linux"))]
fn of_process(_: i32) -> Result<PathBuf, Failure> {
    Err(Failure::needs_linux("the id of a process"))
}
