//! Where an export goes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output::{Out, Progress};

/// A file, or standard output.
#[derive(Debug)]
pub(super) enum Destination<'a> {
    /// Its path is for messages.
    File(BufWriter<File>, PathBuf),
    Out(&'a mut Out),
}

impl<'a> Destination<'a> {
    /// Begins to write; a file that is there is replaced.
    pub(super) fn new(path: Option<&Path>, out: &'a mut Out) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::Out(out)) };
        match File::create(path) {
            Ok(file) => Ok(Self::File(BufWriter::new(file), path.to_path_buf())),
            Err(error) => Err(Failure::Failed(format!("{}: {error}", path.display()))),
        }
    }

    /// A bar for a read of so many bytes, which is out of the way of what is written.
    pub(super) fn progress(&mut self, bytes: u64) -> Progress {
        match self {
            Self::File(..) => Progress::without_results(bytes),
            Self::Out(out) => Progress::new(bytes, out),
        }
    }

    /// Writes.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_all(bytes).map_err(|error| self.failure(error))
    }

    /// Writes what is buffered.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.flush().map_err(|error| self.failure(error))
    }

    /// What an error in writing means.
    pub(super) fn failure(&self, error: io::Error) -> Failure {
        match self {
            Self::File(_, path) => {
                let path = path.display();
                Failure::Failed(format!("{path}: {error}; what was written so far is not whole"))
            }
            Self::Out(_) => Failure::Output(error),
        }
    }
}

impl Write for Destination<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file, _) => file.write(buffer),
            Self::Out(out) => out.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file, _) => file.flush(),
            Self::Out(out) => out.flush(),
        }
    }
}
