//! The defects that a trace can have, one variant each.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::Offset;

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// A defect of a trace, or a failure to read it. Messages name what is wrong, where, what was expected and
/// found, and what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to read or list a file or directory.
    Io {
        /// The file or directory; empty for a stream without a name.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The directory holds no trace.
    NoTrace {
        /// The directory that was searched.
        path: PathBuf,
    },
    /// A record's number does not fit in 63 bits, or never ends.
    OversizedNumber {
        /// The file; empty for a stream without a name.
        path: PathBuf,
        /// Where the record begins.
        offset: Offset,
        /// Where the next record begins that can be decoded reliably.
        next: Offset,
    },
    /// A line of a text file violates the format.
    BadLine {
        /// The file; empty for a stream without a name.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What a line should be.
        expected: &'static str,
        /// What the line contains, cut to a readable length.
        found: String,
    },
    /// A file was written by a newer flow.
    UnsupportedVersion {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The newest version this build reads.
        newest: u32,
    },
    /// The journal violates the format.
    BadJournal {
        /// The file.
        path: PathBuf,
        /// The position in the journal.
        offset: Offset,
        /// What the format requires there.
        expected: &'static str,
        /// What the journal contains there.
        found: String,
    },
    /// A container violates the format. Everything else in it is read.
    BadContainer {
        /// The file.
        path: PathBuf,
        /// The position in the file.
        offset: Offset,
        /// What is there instead of a block.
        found: String,
    },
    /// The marks of a thread violate the format.
    BadMarks {
        /// The file; empty for a stream without a name.
        path: PathBuf,
        /// The position in the file.
        offset: Offset,
        /// What the format requires there.
        expected: String,
    },
    /// The samples violate the format. Those of other batches are read.
    BadSamples {
        /// The file; empty for a stream without a name.
        path: PathBuf,
        /// The position in the file.
        offset: Offset,
        /// What is there instead.
        found: String,
    },
    /// A log of samples violates the format. Everything before the position was read.
    BadLog {
        /// The file; empty for a stream without a name.
        path: PathBuf,
        /// The position in the file.
        offset: Offset,
        /// What the format requires there.
        expected: &'static str,
        /// The first byte there.
        found: u8,
    },
    /// A thread's file ends before the position at which the journal continues it.
    Gap {
        /// The thread's file.
        path: PathBuf,
        /// Where its whole records end.
        end: Offset,
        /// Where the journal continues.
        next: Offset,
        /// Entries and exits in the journal that are not read.
        events: u64,
    },
    /// The end of a thread's file differs from the journal, which should contain the same events.
    Conflict {
        /// The thread's file.
        path: PathBuf,
        /// The first position at which they differ.
        offset: Offset,
    },
    /// A file has other content when it is read again.
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file is not valid JSON, or lacks a field.
    BadJson {
        /// The file; empty for a stream without a name.
        path: PathBuf,
        /// What is wrong, and where.
        found: String,
    },
}

impl Error {
    /// Adds the file to an error that came from a stream without a name.
    #[doc(hidden)]
    #[must_use]
    pub fn in_file(mut self, file: &std::path::Path) -> Self {
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

/// Longer lines are cut in messages.
const QUOTED_CHARS: usize = 60;

/// Cuts `text` to a length that fits in a message.
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
                 or a .flowtrace file, as `flow record` and `flow export` write them",
                path.display()
            ),
            Self::OversizedNumber { path, offset, next } => {
                if !path.as_os_str().is_empty() {
                    write!(f, "{}: ", path.display())?;
                }
                write!(
                    f,
                    "offset {offset}: expected a record of at most {} bytes with a number of at most 63 \
                     bits; skipped up to offset {next}",
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
            Self::BadContainer { path, offset, found } => {
                write!(f, "{}: offset {offset}: expected a block, found {found}", path.display())
            }
            Self::BadMarks { path, offset, expected } => {
                if !path.as_os_str().is_empty() {
                    write!(f, "{}: ", path.display())?;
                }
                write!(f, "offset {offset}: expected {expected}; the marks after it are not read")
            }
            Self::BadSamples { path, offset, found } => {
                if !path.as_os_str().is_empty() {
                    write!(f, "{}: ", path.display())?;
                }
                write!(f, "offset {offset}: expected a batch of samples, found {found}")
            }
            Self::BadLog { path, offset, expected, found } => {
                if !path.as_os_str().is_empty() {
                    write!(f, "{}: ", path.display())?;
                }
                write!(
                    f,
                    "offset {offset}: expected {expected}, found byte {found:02X}; what follows is not read"
                )
            }
            Self::Gap { path, end, next, events } => write!(
                f,
                "{}: whole records end at offset {end}, but the journal continues at offset {next}; its \
                 {events} events are not read",
                path.display()
            ),
            Self::Conflict { path, offset } => write!(
                f,
                "{}: offset {offset}: expected the events that the journal holds for the thread, found \
                 other bytes",
                path.display()
            ),
            Self::Changed { path } => write!(
                f,
                "{}: changed while it was being read; read it again when no program writes to it",
                path.display()
            ),
            Self::BadJson { path, found } => write!(f, "{}: {found}", path.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
