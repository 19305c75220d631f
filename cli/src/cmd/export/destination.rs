//! The destination of an export.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::input::source::refuse_trace;
use crate::output::{Out, Progress, bytes, message, shell_quoted};

/// A file, or standard output.
pub(super) struct Destination<'a> {
    pub(super) to: Box<dyn Write + 'a>,
    /// The path of a file, for messages.
    path: Option<PathBuf>,
}

impl<'a> Destination<'a> {
    /// Creates the file, or replaces it. Also returns a progress bar for a read of `bytes`, which does not
    /// disturb the output.
    pub(super) fn new(
        path: Option<&Path>,
        bytes: u64,
        out: &'a mut Out,
    ) -> Result<(Self, Progress), Failure> {
        let Some(path) = path else {
            let progress = Progress::new(bytes, out);
            return Ok((Self { to: Box::new(out), path: None }, progress));
        };
        refuse_trace(path)?;
        let file = File::create(path);
        let file = file.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
        let to = Box::new(BufWriter::new(file));
        Ok((Self { to, path: Some(path.to_path_buf()) }, Progress::without_results(bytes)))
    }

    /// Appends bytes.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.to.write_all(bytes).map_err(|error| self.failure(error))
    }

    /// Writes what is buffered, and prints what is in the file.
    pub(super) fn finish(mut self, what: &str) -> Result<(), Failure> {
        self.to.flush().map_err(|error| self.failure(error))?;
        self.path.iter().for_each(|path| report(what, path));
        Ok(())
    }

    /// Describes an error in writing.
    pub(super) fn failure(&self, error: io::Error) -> Failure {
        match &self.path {
            Some(path) => {
                let path = path.display();
                Failure::Failed(format!("{path}: {error}; the file is incomplete"))
            }
            None => Failure::Output(error),
        }
    }
}

/// Prints what was written, how large it is, and where: to a file, or a directory of tables, but not a pipe or a device.
pub(super) fn report(what: &str, path: &Path) {
    if let Some(size) = size(path) {
        let path = path.to_string_lossy();
        message(&format!("{what} in {}: {}", bytes(size), shell_quoted(&path)));
    }
}

fn size(path: &Path) -> Option<u64> {
    let metadata = fs::metadata(path).ok()?;
    if metadata.is_file() {
        return Some(metadata.len());
    }
    let entries = fs::read_dir(path).ok()?.flatten();
    Some(entries.filter_map(|entry| size(&entry.path())).sum())
}
