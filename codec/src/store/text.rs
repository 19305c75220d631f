//! Opens and reads the text files of a trace, in bounded memory.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::container::{Stored, StoredReader};
use super::regular;
use crate::error::quoted;
use crate::{Error, Result};

/// Longer lines are refused before they are kept in memory. The names in a class file cannot take an eighth
/// of this.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// How much is read at once.
const BUFFER_BYTES: usize = 64 * 1024;
/// A larger manifest is refused.
const MAX_WHOLE_BYTES: u64 = 64 * 1024 * 1024;

/// A text file of a trace that was opened, or not.
#[derive(Debug)]
pub(crate) struct Text {
    /// For messages.
    pub(crate) path: PathBuf,
    input: io::Result<Option<StoredReader>>,
}

impl Text {
    pub(crate) fn new(path: PathBuf, input: io::Result<Option<Stored>>) -> Self {
        Self { path, input: input.map(|stored| stored.map(Stored::reader)) }
    }

    /// The bytes; `None` if there are none.
    pub(crate) fn into_bytes(self) -> Result<Option<StoredReader>> {
        let Self { path, input } = self;
        input.map_err(|source| Error::Io { path, source })
    }

    /// Skips bytes that were read before. Returns whether there are this many.
    pub(crate) fn skip(&mut self, bytes: u64) -> bool {
        let input = self.input.as_mut().ok().and_then(Option::as_mut);
        bytes == 0 || input.is_some_and(|input| input.skip(bytes))
    }

    /// A file of this name.
    pub(crate) fn file(path: &Path) -> Self {
        Self::new(path.to_path_buf(), regular::open(path).map(|file| file.map(Stored::file)))
    }
}

/// Reads all of a text; `None` if it does not exist.
pub(crate) fn read_whole(text: Text) -> Result<Option<String>> {
    let Text { path, input } = text;
    let read = || {
        let Some(input) = input? else {
            return Ok(None);
        };
        let mut text = String::new();
        // One more byte distinguishes a file that is too large from one that just fits.
        let read = input.take(MAX_WHOLE_BYTES + 1).read_to_string(&mut text)?;
        if read as u64 > MAX_WHOLE_BYTES {
            return Err(io::Error::other("larger than 64 MiB"));
        }
        Ok(Some(text))
    };
    read().map_err(|source| Error::Io { path, source })
}

/// More errors than this in one file are not listed: in a file of another kind every line is an error.
pub(crate) const MAX_DAMAGE: usize = 20;

/// How many complete lines a file has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct LinesRead {
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Whether the file ends inside a line.
    pub(crate) is_cut: bool,
}

/// Calls `each` for every complete line. Errors of reading, and those that `each` returns, are added to
/// `damage`; the other lines count. A missing file has no lines, and a last line without LF is left out.
pub(crate) fn for_each_line(
    text: Text,
    damage: &mut Vec<Error>,
    each: impl FnMut(&str) -> std::result::Result<(), &'static str>,
) -> LinesRead {
    for_each_line_before(u64::MAX, text, damage, each)
}

/// The same for the first `limit` bytes of the file.
pub(crate) fn for_each_line_before(
    limit: u64,
    text: Text,
    damage: &mut Vec<Error>,
    mut each: impl FnMut(&str) -> std::result::Result<(), &'static str>,
) -> LinesRead {
    let mut lines = LinesRead::default();
    let mut found = 0;
    let mut refuse = |error| {
        found += 1;
        if found <= MAX_DAMAGE {
            damage.push(error);
        }
    };
    let Text { path, input } = text;
    let io_error = |source| Error::Io { path: path.clone(), source };
    let mut input = match input {
        Ok(Some(input)) => BufReader::with_capacity(BUFFER_BYTES, input.take(limit)),
        Ok(None) => return lines,
        Err(error) => {
            refuse(io_error(error));
            return lines;
        }
    };
    let bad_line = |line, text: &str, expected| {
        let (path, found) = (path.clone(), quoted(text));
        Error::BadLine { path, line, expected, found }
    };
    let mut number = 1;
    // The start of a line that continues in the next buffer.
    let mut begun: Vec<u8> = Vec::new();
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                refuse(io_error(error));
                break;
            }
        };
        let end = memchr::memchr(b'\n', bytes);
        let read = end.map_or(bytes.len(), |end| end + 1);
        let part = bytes.get(..end.unwrap_or(read)).unwrap_or_default();
        if begun.len() + part.len() >= MAX_LINE_BYTES {
            begun.extend_from_slice(part);
            let start = String::from_utf8_lossy(begun.get(..1024).unwrap_or(&begun));
            refuse(bad_line(number, &start, "a line of less than 16 MiB"));
            break;
        }
        if end.is_none() || !begun.is_empty() {
            begun.extend_from_slice(part);
        }
        if read == 0 {
            lines.is_cut = !begun.is_empty();
            break;
        }
        if end.is_some() {
            let line = if begun.is_empty() { part } else { &begun };
            lines.bytes += line.len() as u64 + 1;
            // Twice as fast as `from_utf8_lossy` if nothing has to be replaced.
            let line = std::str::from_utf8(line)
                .map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
            if let Err(expected) = each(&line) {
                refuse(bad_line(number, &line, expected));
            }
            begun.clear();
            number += 1;
        }
        input.consume(read);
    }
    lines
}
