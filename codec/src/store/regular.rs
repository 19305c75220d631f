//! Opens files of a trace, if they are regular files, and creates files without a name.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, process};

use super::system::create_private;
use crate::{Error, Result};

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

/// Creates a file in the directory for temporary ones that disappears when it is closed.
pub(crate) fn nameless_file() -> Result<File> {
    let path = env::temp_dir();
    nameless_file_in(&path).map_err(|source| Error::Io { path, source })
}

fn nameless_file_in(dir: &Path) -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!("flow-{}-{number}", process::id()));
        match create_private(&path) {
            Ok(file) => return fs::remove_file(&path).map(|()| file),
            // The name is taken by an earlier process that was killed right here.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
