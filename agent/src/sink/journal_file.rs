//! The file that holds open chunks; its content is specified in [`flow_codec::format::journal`].

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use flow_codec::format::names;
use parking_lot::Mutex;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, fallocate, openat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Resource, getrlimit};

use super::budget::Budget;
use super::directory::{TraceDirectory, unique_name};
use crate::sys::GrowingFile;

/// One process id cannot have more journals than this in one second.
const MAX_OF_ONE_NAME: u32 = 1000;

/// Where a journal is.
#[derive(Debug)]
pub struct JournalPlace {
    directory: Place,
    name: String,
    /// Whether the recording has started, which decides what happens to the journal at its end.
    is_used: bool,
}

#[derive(Debug)]
enum Place {
    OfTrace(TraceDirectory),
    Elsewhere { path: PathBuf, fd: OwnedFd },
}

impl JournalPlace {
    /// In the trace directory.
    #[must_use]
    pub fn in_trace(directory: &TraceDirectory) -> Self {
        let directory = Place::OfTrace(directory.clone());
        Self { directory, name: names::JOURNAL.to_owned(), is_used: false }
    }

    /// In another directory, which must exist, under a name of its own.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn elsewhere(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let fd = retry_on_intr(|| rustix::fs::open(&path, flags, Mode::empty()))?;
        let directory = Place::Elsewhere { path, fd };
        Ok(Self { directory, name: String::new(), is_used: false })
    }

    /// The path for the manifest; `None` in the trace directory.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        match &self.directory {
            Place::OfTrace(_) => None,
            Place::Elsewhere { path, .. } => Some(path.join(&self.name)),
        }
    }

    fn create(&mut self) -> io::Result<File> {
        let fd = match &self.directory {
            Place::OfTrace(directory) => return directory.create_to_map(&self.name),
            Place::Elsewhere { fd, .. } => fd,
        };
        let base = unique_name(names::JOURNAL_ELSEWHERE_PREFIX);
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for number in 1..MAX_OF_ONE_NAME {
            // In containers that share a directory, process ids are not unique.
            self.name = match number {
                1 => base.clone(),
                _ => format!("{base}-{number}"),
            };
            let name = self.name.as_str();
            match retry_on_intr(|| openat(fd, name, flags, Mode::RUSR | Mode::WUSR)) {
                Ok(file) => return Ok(file.into()),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Where the blocks of a trace in memory are: beside the journal. `None` if that is in the trace directory.
    #[must_use]
    pub fn memory(&self) -> Option<MemoryFile> {
        self.path().map(|journal| MemoryFile { path: names::memory_file(&journal) })
    }

    /// Removes these blocks, if there are any.
    pub fn remove_memory(&self) {
        if let Some(memory) = self.memory() {
            let _ = std::fs::remove_file(memory.path);
        }
    }

    /// Records that the recording has started: from now on the journal stays until it is
    /// [removed](Self::remove).
    #[must_use]
    pub fn used(mut self) -> Self {
        self.is_used = true;
        self
    }

    /// Removes the journal.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(&self) -> io::Result<()> {
        match &self.directory {
            Place::OfTrace(directory) => directory.remove(&self.name),
            Place::Elsewhere { fd, .. } => Ok(unlinkat(fd, self.name.as_str(), AtFlags::empty())?),
        }
    }
}

impl Drop for JournalPlace {
    /// Removes the journal of a recording that could not start.
    fn drop(&mut self) {
        if !self.is_used && matches!(self.directory, Place::Elsewhere { .. }) {
            self.remove_memory();
            let _ = self.remove();
        }
    }
}

/// Where the blocks of a trace in memory are.
#[derive(Debug)]
pub struct MemoryFile {
    path: PathBuf,
}

impl MemoryFile {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates it, for appending.
    pub(super) fn create(&self) -> io::Result<File> {
        self.open_with(OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL)
    }

    /// Opens it for reading.
    pub(super) fn open(&self) -> io::Result<File> {
        self.open_with(OFlags::RDONLY)
    }

    fn open_with(&self, flags: OFlags) -> io::Result<File> {
        let (flags, mode) = (flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
        Ok(retry_on_intr(|| rustix::fs::open(&self.path, flags, mode))?.into())
    }
}

/// A file whose content will be mapped. It only grows.
#[derive(Debug)]
pub struct JournalFile {
    /// `None` once the recording is over.
    file: Mutex<Option<File>>,
    budget: Budget,
}

impl JournalFile {
    /// Creates the journal of a trace in its directory.
    ///
    /// # Errors
    /// Like [`create_at`](Self::create_at).
    pub fn create(directory: &TraceDirectory, budget: Budget) -> io::Result<Self> {
        Self::create_at(&mut JournalPlace::in_trace(directory), budget)
    }

    /// Creates the journal of a trace.
    ///
    /// # Errors
    /// It cannot be created, or is on a file system where it should not be mapped.
    pub fn create_at(place: &mut JournalPlace, budget: Budget) -> io::Result<Self> {
        let file = place.create()?;
        // If the file is truncated, the program dies of SIGBUS, so nobody may write it by accident: the
        // owner's editor or log rotation is refused. Our descriptor stays writable.
        rustix::fs::fchmod(&file, Mode::RUSR)?;
        if let Err(why) = super::mounts::expect_safe(&file) {
            let _ = place.remove();
            return Err(io::Error::other(why));
        }
        Ok(Self { file: Mutex::new(Some(file)), budget })
    }

    fn reserve_in(file: &File, start: u64, end: u64) -> io::Result<()> {
        loop {
            match fallocate(file, FallocateFlags::empty(), start, end - start) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Self::write_zeros(file, start, end)
    }

    /// Writes zeros, for file systems that cannot reserve space: writing allocates it.
    fn write_zeros(mut file: &File, start: u64, end: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(start))?;
        let mut zeros = io::repeat(0).take(end - start);
        let mut buffered = BufWriter::with_capacity(64 * 1024, file);
        io::copy(&mut zeros, &mut buffered)?;
        // A buffer that is dropped with content would not report a full disk.
        buffered.flush()
    }
}

impl GrowingFile for JournalFile {
    fn with_file(&self, body: &mut dyn FnMut(&File)) {
        if let Some(file) = self.file.lock().as_ref() {
            body(file);
        }
    }

    fn reserve(&self, from: usize, to: usize) -> io::Result<()> {
        let (start, end) = (from as u64, to as u64);
        // Checked first: exceeding the limit sends a signal.
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| end > limit) {
            return Err(Errno::FBIG.into());
        }
        self.budget.take(to - from).map_err(io::Error::other)?;
        let mut reserved = Err(io::Error::other("the recording is over"));
        self.with_file(&mut |file| reserved = Self::reserve_in(file, start, end));
        reserved
    }

    fn close(&self) {
        *self.file.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_full_disk_is_reported_even_for_the_last_bytes() {
        let file = File::options().write(true).open("/dev/full").unwrap();
        assert!(JournalFile::write_zeros(&file, 0, 4096).is_err());
    }

    #[test]
    fn a_journal_elsewhere_has_a_unique_name_and_is_removed_if_the_start_fails() {
        let dir = tempfile::tempdir().unwrap();
        let mut places = [(), ()].map(|()| JournalPlace::elsewhere(dir.path()).unwrap());
        for place in &mut places {
            JournalFile::create_at(place, Budget::new(None)).unwrap();
        }
        let paths = places.each_ref().map(|place| place.path().unwrap());
        assert!(paths[0] != paths[1] && paths.iter().all(|path| path.exists()), "{paths:?}");
        drop(places);
        assert!(paths.iter().all(|path| !path.exists()), "{paths:?}");
        assert!(JournalPlace::elsewhere(&dir.path().join("none")).is_err());
    }

    #[test]
    fn space_is_zero_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        let directory = TraceDirectory::open(&dir.path().join("t"), None).unwrap();
        let journal = JournalFile::create(&directory, Budget::new(Some(10_000))).unwrap();
        journal.reserve(0, 4096).unwrap();
        let mut written = None;
        journal.with_file(&mut |file| written = Some(JournalFile::write_zeros(file, 4096, 8192)));
        written.unwrap().unwrap();
        let path = directory.path().join("journal");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o400, "not writable by accident");
        assert_eq!(std::fs::read(&path).unwrap(), vec![0; 8192]);
        let error = journal.reserve(8192, 16384).unwrap_err();
        assert!(error.to_string().contains("max-size"), "{error}");
        assert!(JournalFile::create(&directory, Budget::new(None)).is_err(), "one per trace");
    }
}
