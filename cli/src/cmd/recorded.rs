//! Which trace is meant, by verbs that take the id of a process, too.

use std::fs;
use std::path::{Path, PathBuf};

use flow_codec::format::names;

use crate::failure::Failure;
use crate::input::source::run_of;
use crate::jvm::Process;
use crate::output::flow_command;

/// The trace of a path, the newest run of a folder of recordings, or the trace that the process with an id records.
pub(in crate::cmd) fn trace_of(source: &str) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(source);
    let pid = source.parse().ok().filter(|pid| *pid > 0 && !path.exists());
    let Some(pid) = pid else { return Ok(run_of(&path)) };
    recorded_by(&Process::find(pid)?).ok_or_else(|| {
        Failure::Failed(format!(
            "process {pid}: no trace is recorded there, or of another user; {} begins a recording",
            flow_command(&format!("attach {pid}"))
        ))
    })
}

/// The trace that a process writes: it keeps the lock of its directory open, or the file.
pub(in crate::cmd) fn recorded_by(process: &Process) -> Option<PathBuf> {
    let open = fs::read_dir(format!("/proc/{}/fd", process.pid())).ok()?;
    let open: Vec<_> = open.flatten().filter_map(|fd| fs::read_link(fd.path()).ok()).collect();
    let has_name = |path: &Path, name: &str| path.file_name().is_some_and(|found| found == name);
    let directory =
        open.iter().find(|path| has_name(path, names::LOCK)).and_then(|lock| lock.parent());
    let is_file =
        |path: &&PathBuf| path.extension().is_some_and(|end| end == names::CONTAINER_EXTENSION);
    let found = directory.or_else(|| open.iter().find(is_file).map(PathBuf::as_path));
    found.map(|place| process.seen_here(place))
}
