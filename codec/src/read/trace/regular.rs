//! Opens files of a trace, if they are regular files.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens a file; `None` if it does not exist. Other kinds of file are refused: a pipe would block, a device
/// might never end.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    let opened = fs::metadata(path).and_then(|metadata| {
        check(&metadata)?;
        File::open(path)
    });
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Also if the trace is a file, in which there can be no other.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Refuses anything but a regular file.
pub(crate) fn check(found: &fs::Metadata) -> io::Result<()> {
    if found.is_file() { Ok(()) } else { Err(io::Error::other("not a regular file")) }
}
