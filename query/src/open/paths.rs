//! Where the traces of a run are.

use std::path::{Path, PathBuf};

use flow_codec::format::names;
use flow_codec::read::Trace;

use crate::Error;

/// Returns where the traces of a run are. `DIR/.` names the trace in DIR itself, without those inside, and `FILE/.` that of the
/// first JVM.
///
/// # Errors
/// There is no trace, or the directory cannot be listed.
pub fn directories(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let is_alone = path.as_os_str().as_encoded_bytes().ends_with(b"/.");
    let file = without_dot(path);
    let found = Trace::directories(if file.is_file() { &file } else { path });
    match found {
        Ok(mut found) => {
            // The trace in the directory itself comes first, if there is one.
            if is_alone && found.first().is_some_and(|first| *first == file) {
                found.truncate(1);
            }
            Ok(found)
        }
        Err(error @ flow_codec::Error::NoTrace { .. }) => match traces_inside(path) {
            traces if traces.is_empty() => Err(error.into()),
            traces => Err(Error::TracesInside { path: path.to_path_buf(), traces }),
        },
        Err(error) => Err(error.into()),
    }
}

/// A path without `/.` at its end.
pub(super) fn without_dot(path: &Path) -> PathBuf {
    let parts: PathBuf = path.components().collect();
    if parts.is_file() { parts } else { path.to_path_buf() }
}

/// The directories and files with traces that are directly in a directory without one, in order.
fn traces_inside(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let has_trace = |path: &PathBuf| match path.is_dir() {
        true => Trace::directories(path).is_ok(),
        false => is_container_name(path) && Trace::is_container(path),
    };
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(has_trace).collect();
    let with_first: Vec<_> = found.iter().flat_map(|first| further_among(first, &found)).collect();
    found.retain(|path| !with_first.contains(path));
    found.sort();
    found
}

/// The files that belong to the run of the first one.
#[must_use]
pub fn further_among(first: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let first = name(first).unwrap_or_default();
    let is_further = |path: &&PathBuf| {
        name(path).is_some_and(|name| names::further_jvm(&first, &name).is_some())
    };
    files.iter().filter(is_further).cloned().collect()
}

/// Returns whether a path names a trace in one file.
#[must_use]
pub fn is_container_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == names::CONTAINER_EXTENSION)
}
