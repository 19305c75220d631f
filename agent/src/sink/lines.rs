//! Text files that grow by whole lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use parking_lot::Mutex;

use super::{Budget, Scope, SinkError};

/// A file that only grows, each time by one system call: a reader, or a kill, finds whole lines.
#[derive(Debug)]
pub struct LineFile {
    /// Locked for a whole append: a short write is continued, and nothing may come between. `None` once the
    /// recording is over.
    file: Mutex<Option<File>>,
    name: String,
    budget: Budget,
}

impl LineFile {
    /// Takes a file opened for appending; `name` is for messages.
    #[must_use]
    pub fn new(file: File, name: &str, budget: Budget) -> Self {
        Self { file: Mutex::new(Some(file)), name: name.to_owned(), budget }
    }

    /// Creates a file, which must not exist yet. The directory must be one that nobody else writes to.
    ///
    /// # Errors
    /// The file exists or cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        Ok(Self::new(file, &path.display().to_string(), Budget::new(None)))
    }

    /// Closes the file. What is appended from now on is not written: it is not part of the recording.
    pub fn close(&self) {
        *self.file.lock() = None;
    }

    /// Appends whole lines.
    ///
    /// # Errors
    /// They cannot be written; the last one may be there in part.
    pub fn append(&self, lines: &[u8]) -> Result<(), SinkError> {
        self.budget.take(lines.len())?;
        match &mut *self.file.lock() {
            Some(file) => file
                .write_all(lines)
                .map_err(|error| SinkError::io(Scope::Trace, &self.name, &error)),
            None => Ok(()),
        }
    }

    /// Appends one line of JSON.
    ///
    /// # Errors
    /// Like [`append`](Self::append).
    pub fn append_json(&self, value: &impl serde::Serialize) -> Result<(), SinkError> {
        let mut line = serde_json::to_vec(value)
            .map_err(|error| SinkError::whole_trace(format!("{}: {error}", self.name)))?;
        line.push(b'\n');
        self.append(&line)
    }
}
