//! The traces of one run: those of all its JVMs.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::Trace;
use super::listing::Listing;
use crate::format::names;
use crate::{Error, Result};

impl Trace {
    /// Opens the traces of all JVMs of a run: those in a directory, its own and those of further JVMs that found it in use;
    /// or that of a file, and those of the files beside it of further JVMs. The one of the first JVM is first.
    ///
    /// # Errors
    /// There is none, or one cannot be opened.
    pub fn open_all(dir: &Path) -> Result<Vec<Self>> {
        Self::directories(dir)?.into_iter().map(Self::open).collect()
    }

    /// Returns the places of all traces that [`open_all`](Self::open_all) opens, for callers that continue when one of them cannot
    /// be opened.
    ///
    /// # Errors
    /// There is none, or `dir` cannot be listed.
    pub fn directories(dir: &Path) -> Result<Vec<PathBuf>> {
        if !dir.is_dir() {
            let first = Trace::is_container(dir).then(|| dir.to_path_buf());
            let files: Vec<_> = first.into_iter().chain(further_files(dir)).collect();
            if !files.is_empty() {
                return Ok(files);
            }
        }
        let listing = Listing::of_files(dir)?;
        let mut directories = Vec::new();
        if listing.has_trace {
            directories.push(dir.to_path_buf());
        }
        let mut of_jvms = listing.further;
        of_jvms.sort();
        for further in of_jvms {
            // A directory without a trace belongs to a JVM that was killed before it wrote anything.
            if Listing::of_files(&further).map_or(true, |listing| listing.has_trace) {
                directories.push(further);
            }
        }
        if directories.is_empty() {
            return Err(Error::NoTrace { path: dir.to_path_buf() });
        }
        Ok(directories)
    }
}

/// The files of further JVMs beside a file, in order.
fn further_files(first: &Path) -> Vec<PathBuf> {
    let Some(name) = first.file_name().and_then(OsStr::to_str) else { return Vec::new() };
    let parent = first.parent().unwrap_or(first);
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let is_further = |path: &PathBuf| {
        let of = path.file_name().and_then(OsStr::to_str);
        of.is_some_and(|of| names::further_jvm(name, of).is_some()) && Trace::is_container(path)
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    // A path without a directory stays one.
    let paths = entries.map(|entry| first.with_file_name(entry.file_name()));
    let mut files: Vec<_> = paths.filter(is_further).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_traces_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes.txt"), "hello").unwrap();
        assert!(matches!(Trace::open_all(dir.path()), Err(Error::NoTrace { .. })));
    }

    #[test]
    fn further_jvms_make_a_set() {
        let dir = tempfile::tempdir().unwrap();
        for sub in ["jvm-7-1", "jvm-8-1"] {
            fs::create_dir(dir.path().join(sub)).unwrap();
        }
        fs::write(dir.path().join("jvm-8-1/thread-1.flow"), [0x80]).unwrap();
        assert_eq!(
            Trace::directories(dir.path()).unwrap(),
            [dir.path().join("jvm-8-1")],
            "the other one wrote nothing"
        );
        let set = Trace::open_all(dir.path()).unwrap();
        assert_eq!(set.len(), 1);
        assert!(set[0].dir.ends_with("jvm-8-1"));
    }
}
