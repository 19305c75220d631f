//! The files of an archive before it is written: path, mode and content.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::base::failure::{Context, Result};
use crate::base::process::output_of;

/// Files by their paths in an archive, and so sorted: the same files make the same archive on each machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(BTreeMap<String, File>);

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) kind: Kind,
    pub(super) bytes: Vec<u8>,
}

/// Whether a file is to be run. The modes of the files that are read depend on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Program,
}

impl Kind {
    /// Returns the mode of such a file.
    pub(super) fn mode(self) -> u32 {
        match self {
            Self::Data => 0o644,
            Self::Program => 0o755,
        }
    }
}

impl Files {
    /// Adds a file.
    pub(super) fn add(&mut self, path: impl Into<String>, kind: Kind, bytes: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), File { kind, bytes: bytes.into() });
    }

    /// Adds a file with the content of another one.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(super) fn read(&mut self, path: impl Into<String>, kind: Kind, from: &Path) -> Result<()> {
        self.add(path, kind, fs::read(from).context(from.display())?);
        Ok(())
    }

    /// Adds all of `files` below a directory.
    pub(super) fn add_below(&mut self, directory: &str, files: &Self) {
        for (path, file) in &files.0 {
            self.0.insert(format!("{directory}/{path}"), file.clone());
        }
    }

    /// Returns paths and files, sorted by path.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &File)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Returns all directories that files are in, the outer ones first.
    pub(super) fn directories(&self) -> BTreeSet<&str> {
        let parents = |path| Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
        let all = self.0.keys().flat_map(|path| parents(path.as_str()));
        all.filter(|path| !path.is_empty()).collect()
    }
}

/// Returns the checksum of a file, in hexadecimal. `kind` is such as `sha256`.
///
/// # Errors
///
/// If it cannot be read.
pub(super) fn checksum(kind: &str, path: &Path) -> Result<String> {
    let line = output_of(Command::new(format!("{kind}sum")).arg(path))?;
    Ok(line.split(' ').next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_and_their_directories_known() {
        let mut inner = Files::default();
        inner.add("lib/b", Kind::Data, "b");
        inner.add("bin/a", Kind::Program, "a");
        let mut files = Files::default();
        files.add_below("top", &inner);
        files.add("README", Kind::Data, "");
        let paths: Vec<_> = files.iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["README", "top/bin/a", "top/lib/b"]);
        let directories: Vec<_> = files.directories().into_iter().collect();
        assert_eq!(directories, ["top", "top/bin", "top/lib"]);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let failure = Files::default().read("a", Kind::Data, Path::new("/no/such/file"));
        assert!(failure.unwrap_err().to_string().starts_with("/no/such/file: "));
    }
}
