//! The destination of an export.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::input::source::refuse_trace;
use crate::output::{Out, Progress};

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

    /// Writes what is buffered.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.to.flush().map_err(|error| self.failure(error))
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
