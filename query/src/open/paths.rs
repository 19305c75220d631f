//! Which paths belong together.

use std::path::{Path, PathBuf};

use flow_codec::format::names;

/// A path without `/.` at its end.
pub(super) fn without_dot(path: &Path) -> PathBuf {
    let parts: PathBuf = path.components().collect();
    if parts.is_file() { parts } else { path.to_path_buf() }
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
