//! Files that replace others.

use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, unlinkat};

use super::TraceDirectory;

/// A file that will replace another one.
#[derive(Debug)]
pub struct Replacement {
    pub(super) directory: TraceDirectory,
    pub(super) file: File,
    pub(super) name: String,
    pub(super) new: String,
}

impl Replacement {
    /// Writes the content and puts the file in its place.
    ///
    /// # Errors
    /// The content cannot be written; the old file is unchanged.
    pub fn finish(self, content: &[u8]) -> io::Result<()> {
        self.put(content, false)
    }

    /// Writes the content after what is there, and renames the file into place once the disk has it.
    ///
    /// # Errors
    /// The disk reports an error; the old file is unchanged.
    pub fn finish_synced(self, content: &[u8]) -> io::Result<()> {
        self.put(content, true)
    }

    /// The file, empty at first.
    #[must_use]
    pub fn as_file(&self) -> &File {
        &self.file
    }

    fn put(self, content: &[u8], synced: bool) -> io::Result<()> {
        let held = self.directory.held()?;
        let fd = &held.fd;
        let put = || {
            io::Write::write_all(&mut &self.file, content)?;
            // Gives back reserved space that is not needed.
            self.file.set_len(self.file.metadata()?.len())?;
            if synced {
                self.file.sync_all()?;
            }
            rustix::fs::renameat(fd, &self.new, fd, &self.name)?;
            Ok(())
        };
        put().inspect_err(|_| {
            let _ = unlinkat(fd, &self.new, AtFlags::empty());
        })
    }
}
