//! The file behind open chunks; its content is specified in [`flow_codec::format::journal`].

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use flow_codec::format::names;
use rustix::fs::{FallocateFlags, Mode, fallocate};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::TraceDirectory;
use super::budget::Budget;

/// A file whose content is to be mapped. It only grows.
#[derive(Debug)]
pub struct JournalFile {
    file: File,
    budget: Budget,
}

impl JournalFile {
    /// Creates the journal of a trace.
    ///
    /// # Errors
    /// It cannot be created, or should not be mapped on this file system.
    pub fn create(directory: &TraceDirectory, budget: Budget) -> io::Result<Self> {
        let file = directory.create_to_map(names::JOURNAL)?;
        // The program dies of SIGBUS when somebody cuts the file short, so nobody may write it by accident: an
        // owner's editor or log rotation is refused. Our descriptor stays writable.
        rustix::fs::fchmod(&file, Mode::RUSR)?;
        if let Err(why) = super::mounts::expect_safe(&file) {
            let _ = directory.remove(names::JOURNAL);
            return Err(io::Error::other(why));
        }
        Ok(Self { file, budget })
    }

    /// The file itself.
    #[must_use]
    pub fn as_file(&self) -> &File {
        &self.file
    }

    /// Gets space on disk for these bytes, which are zero. Those in front have it already.
    ///
    /// # Errors
    /// There is no space.
    pub fn reserve(&self, from: usize, to: usize) -> io::Result<()> {
        let (start, end) = (from as u64, to as u64);
        // Asked first: exceeding it sends a signal.
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| end > limit) {
            return Err(Errno::FBIG.into());
        }
        self.budget.take(to - from).map_err(io::Error::other)?;
        loop {
            match fallocate(&self.file, FallocateFlags::empty(), start, end - start) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.write_zeros(start, end)
    }

    /// For file systems that cannot set space aside: it is theirs once it is written.
    fn write_zeros(&self, start: u64, end: u64) -> io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start))?;
        let mut zeros = io::repeat(0).take(end - start);
        let mut buffered = BufWriter::with_capacity(64 * 1024, file);
        io::copy(&mut zeros, &mut buffered)?;
        // Dropped with something in it, it would not tell of a full disk.
        buffered.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_full_disk_is_told_to_the_last_byte() {
        let file = File::options().write(true).open("/dev/full").unwrap();
        let journal = JournalFile { file, budget: Budget::new(None) };
        assert!(journal.write_zeros(0, 4096).is_err());
    }

    #[test]
    fn space_is_zero_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        let directory = TraceDirectory::open(&dir.path().join("t"), None).unwrap();
        let journal = JournalFile::create(&directory, Budget::new(Some(10_000))).unwrap();
        journal.reserve(0, 4096).unwrap();
        journal.write_zeros(4096, 8192).unwrap();
        let path = directory.path().join("journal");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o400, "nobody writes it by accident");
        assert_eq!(std::fs::read(&path).unwrap(), vec![0; 8192]);
        let error = journal.reserve(8192, 16384).unwrap_err();
        assert!(error.to_string().contains("max-size"), "{error}");
        assert!(JournalFile::create(&directory, Budget::new(None)).is_err(), "one a trace");
    }
}
