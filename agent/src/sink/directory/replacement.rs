//! Files that replace others.

use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, FallocateFlags, unlinkat};

use super::TraceDirectory;

/// A file that will replace another one.
#[derive(Debug)]
pub struct Replacement {
    directory: TraceDirectory,
    file: File,
    name: String,
    new: String,
}

impl TraceDirectory {
    /// Replaces a file by one with this content: a reader finds either the old or the new one.
    ///
    /// # Errors
    /// The new content cannot be written; the old file is unchanged.
    pub fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.reserve(name, 0)?.finish(content)
    }

    /// Creates the file that will replace `name` later, and reserves `bytes` for it now: then neither a full
    /// disk, nor a program that has used up its descriptors, can prevent the replacement.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn reserve(&self, name: &str, bytes: u64) -> io::Result<Replacement> {
        let new = format!("{name}.new");
        let _ = self.remove(&new);
        let file = self.create(&new)?;
        if bytes > 0 {
            // Not every file system can; then the space may be missing later.
            let _ = rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, bytes);
        }
        let [name, new] = [name, &new].map(|name| self.name(name).into_owned());
        Ok(Replacement { directory: self.clone(), file, name, new })
    }
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
