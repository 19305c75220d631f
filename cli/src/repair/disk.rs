//! What a repair does to the disk, and how that fails.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::failure::Failure;

/// The failure to read or write a file.
pub(super) fn failure(path: &Path, error: impl Into<io::Error>) -> Failure {
    let (path, error) = (path.display(), error.into());
    Failure::Failed(format!("{path}: {error}; the repair is not complete, and can be run again"))
}

/// Forces everything to disk before the next step.
pub(super) fn sync(dir: &Path) -> Result<(), Failure> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir_fd = rustix::fs::open(dir, flags, Mode::empty()).map_err(|e| failure(dir, e))?;
    rustix::fs::syncfs(dir_fd).map_err(|error| failure(dir, error))
}

/// Opens a regular file, never a link or a pipe in its place.
pub(super) fn open_for_writing(path: &Path, more: OFlags) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags | more, Mode::RUSR | Mode::WUSR)?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}
