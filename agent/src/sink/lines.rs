//! Text files that grow by whole lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use flow_codec::format::container::StreamKind;
use parking_lot::Mutex;

use super::{BlockFile, Budget, Pack, Scope, SinkError};

/// Fewer bytes are not worth compressing.
const MIN_PACKED_BYTES: usize = 128;

/// A text that only grows, each time by one system call: a reader, or a kill, finds whole lines.
#[derive(Debug)]
pub struct LineFile {
    /// Locked for a whole append: a short write is continued, and nothing may come between. `None` once the
    /// recording is over.
    place: Mutex<Option<Place>>,
    name: String,
    budget: Budget,
}

/// Where lines go.
#[derive(Debug)]
enum Place {
    File(File),
    /// The stream has this many bytes so far.
    Blocks(Arc<BlockFile>, StreamKind, u64),
}

impl LineFile {
    /// Takes a file opened for appending; `name` is for messages.
    #[must_use]
    pub fn new(file: File, name: &str, budget: Budget) -> Self {
        Self { place: Mutex::new(Some(Place::File(file))), name: name.to_owned(), budget }
    }

    /// Appends lines to a stream of a file with blocks.
    #[must_use]
    pub fn in_blocks(file: Arc<BlockFile>, kind: StreamKind) -> Self {
        let place = Mutex::new(Some(Place::Blocks(file, kind, 0)));
        // The file counts what it stores.
        Self { place, name: String::new(), budget: Budget::new(None) }
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
        *self.place.lock() = None;
    }

    /// Appends whole lines.
    ///
    /// # Errors
    /// They cannot be written; the last one may be there in part.
    pub fn append(&self, lines: &[u8]) -> Result<(), SinkError> {
        self.budget.take(lines.len())?;
        match &mut *self.place.lock() {
            Some(Place::File(file)) => file
                .write_all(lines)
                .map_err(|error| SinkError::io(Scope::Trace, &self.name, &error)),
            Some(Place::Blocks(file, kind, len)) => {
                let pack = if lines.len() < MIN_PACKED_BYTES { Pack::No } else { Pack::IfFree };
                file.append((None, *kind), *len, lines, pack)?;
                *len += lines.len() as u64;
                Ok(())
            }
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
