//! Runs without a call, after which the trace of an earlier run stays in its place. A reader who has just recorded takes it for
//! that of the new run, so `flow record` leaves an empty, hidden file there, and verbs that read the trace report it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use flow_codec::read::Trace;

const SUFFIX: &str = ".flow-empty-run";

/// Notes that a run without calls has ended, whose place a trace has.
pub(crate) fn note(trace: &Path) {
    // Without it, only the report of the run itself says so.
    let _ = fs::write(place(trace), "");
}

/// Warns of a trace that has the place of a later run.
pub(crate) fn warning(trace: &Trace) -> Option<String> {
    let ended = fs::symlink_metadata(place(&trace.dir)).and_then(|found| found.modified()).ok()?;
    let started = trace.manifest.as_ref()?.start_unix_ns;
    let started = UNIX_EPOCH.checked_add(Duration::from_nanos(started))?;
    // What is recorded later has no calls of that run, but a place of its own.
    (started < ended).then(|| {
        let (dir, started) = (trace.dir.display(), humantime::format_rfc3339_seconds(started));
        format!("{dir}: a later run recorded 0 calls; this is the trace of the run before it, of {started}")
    })
}

fn place(trace: &Path) -> PathBuf {
    if trace.is_dir() {
        return trace.join(SUFFIX);
    }
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    trace.with_file_name(format!(".{name}{SUFFIX}"))
}
