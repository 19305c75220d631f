//! What can be wrong with a trace, one variant a defect.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::Offset;

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// A defect of a trace, or a failure to read it. Messages say what, where, what was expected and
/// found, and what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to read or list something.
    Io {
        /// The file or directory; empty for a stream without a name.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory holds no trace.
    NoTrace {
        /// The directory that was looked at.
        path: PathBuf,
    },
    /// A record's number does not fit in 63 bits, or never ends.
    OversizedNumber {
        /// The file; empty for a stream without a name.
        path: PathBuf,
        /// Where the record begins.
        offset: Offset,
        /// Where the next one begins that can be told for sure.
        next: Offset,
    },
    /// A line of a text file is not what the format says.
    BadLine {
        /// The file; empty for a stream without a name.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What a line should be.
        expected: &'static str,
        /// What stands there, cut to a readable length.
        found: String,
    },
    /// A file was written by a newer flow.
    UnsupportedVersion {
        /// The file.
        path: PathBuf,
        /// The version it carries.
        found: u32,
        /// The newest version this build reads.
        newest: u32,
    },
    /// The journal is not what the format says.
    BadJournal {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: Offset,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// The marks of a thread are not what the format says.
    BadMarks {
        /// The file; empty for a stream without a name.
        path: PathBuf,
        /// Where in it.
        offset: Offset,
        /// What should stand there.
        expected: String,
    },
    /// A thread's file ends before the part of it that the journal holds.
    Gap {
        /// The thread's file.
        path: PathBuf,
        /// Where its whole records end.
        end: Offset,
        /// Where the journal goes on.
        next: Offset,
        /// Entries and exits in the journal, which are left out.
        events: u64,
    },
    /// A thread's file has something else where its end should be what the journal holds.
    Conflict {
        /// The thread's file.
        path: PathBuf,
        /// Where they differ.
        offset: Offset,
    },
    /// A file says something else when it is read again.
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file is not valid JSON, or lacks a field.
    BadJson {
        /// The file; empty for a stream without a name.
        path: PathBuf,
        /// What the JSON reader said.
        source: serde_json::Error,
    },
}

impl Error {
    /// Names the file an error of a nameless stream happened in.
    #[must_use]
    pub(crate) fn in_file(mut self, file: &std::path::Path) -> Self {
        match &mut self {
            Self::Io { path, .. }
            | Self::OversizedNumber { path, .. }
            | Self::BadLine { path, .. }
            | Self::BadMarks { path, .. }
            | Self::UnsupportedVersion { path, .. }
            | Self::BadJson { path, .. }
                if path.as_os_str().is_empty() =>
            {
                *path = file.to_path_buf();
            }
            _ => {}
        }
        self
    }
}

/// At most this much of a bad line is quoted.
const QUOTED_CHARS: usize = 60;

/// `text` cut to a length that fits in a message.
pub(crate) fn quoted(text: &str) -> String {
    let mut cut: String = text.chars().take(QUOTED_CHARS).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } if path.as_os_str().is_empty() => write!(f, "{source}"),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::NoTrace { path } => write!(
                f,
                "{}: no trace here; expected a directory with trace.json or thread-*.flow files, \
                 as `flow record` writes them",
                path.display()
            ),
            Self::OversizedNumber { path, offset, next } => {
                if !path.as_os_str().is_empty() {
                    write!(f, "{}: ", path.display())?;
                }
                write!(
                    f,
                    "offset {offset}: number of more than 63 bits; expected at most {} bytes a \
                     record; left out up to offset {next}",
                    crate::format::flow::MAX_RECORD_BYTES
                )
            }
            Self::BadLine { path, line, expected, found } => {
                write!(f, "{}:{line}: expected {expected}, found {found:?}", path.display())
            }
            Self::UnsupportedVersion { path, found, newest } => write!(
                f,
                "{}: format version {found}; this build reads up to {newest}; use a newer flow",
                path.display()
            ),
            Self::BadJournal { path, offset, expected, found } => {
                write!(f, "{}: offset {offset}: expected {expected}, found {found}", path.display())
            }
            Self::BadMarks { path, offset, expected } => {
                if !path.as_os_str().is_empty() {
                    write!(f, "{}: ", path.display())?;
                }
                write!(f, "offset {offset}: expected {expected}; marks from there on are left out")
            }
            Self::Gap { path, end, next, events } => write!(
                f,
                "{}: whole records end at offset {end}, {} bytes before what the journal holds of \
                 the thread: its {events} events are left out",
                path.display(),
                next.get().saturating_sub(end.get())
            ),
            Self::Conflict { path, offset } => write!(
                f,
                "{}: offset {offset}: expected what the journal holds of the thread, found \
                 something else",
                path.display()
            ),
            Self::Changed { path } => write!(
                f,
                "{}: changed while it was read; read it again when nobody writes it",
                path.display()
            ),
            Self::BadJson { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::BadJson { source, .. } => Some(source),
            _ => None,
        }
    }
}
