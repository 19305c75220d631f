//! Notes runs without a call. After such a run, the trace of an earlier run stays in its place, or is the newest one in the folder
//! of recordings, and a reader may take it for the trace of the new run. So `flow record` leaves an empty, hidden file there, and
//! verbs that read the trace report it.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use flow_codec::read::Trace;

const SUFFIX: &str = ".flow-empty-run";

/// Notes that a run without calls has ended, and that a trace of an earlier run is in its place, or in this folder.
pub(crate) fn note(trace: &Path) {
    let place = place(trace);
    let _ = fs::remove_file(&place);
    // A link is not followed. If the file cannot be written, only the report of the run itself says so.
    let _ = OpenOptions::new().write(true).create_new(true).open(&place);
}

/// Warns of a trace that is in the place of a later run.
pub(crate) fn warning(trace: &Trace) -> Option<String> {
    warning_in(trace.dir(), trace.dir(), trace.manifest()?.start_unix_ns)
}

/// Warns of a trace, and when it began, if a later run without calls was noted in a place.
pub(crate) fn warning_in(noted: &Path, trace: &Path, start_unix_ns: u64) -> Option<String> {
    let ended = fs::symlink_metadata(place(noted)).and_then(|found| found.modified()).ok()?;
    let started = UNIX_EPOCH.checked_add(Duration::from_nanos(start_unix_ns))?;
    // A trace that began after that run is not an earlier one.
    (started < ended).then(|| {
        let (dir, started) = (trace.display(), humantime::format_rfc3339_seconds(started));
        format!("{dir}: a later run recorded 0 calls; this is the trace of the run before it, begun at {started}")
    })
}

fn place(trace: &Path) -> PathBuf {
    if trace.is_dir() {
        return trace.join(SUFFIX);
    }
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    trace.with_file_name(format!(".{name}{SUFFIX}"))
}
