//! Forces what is recorded to disk, with `durability=system`.
//!
//! All of it happens on a thread of the agent: a thread of the program only records which file it has
//! written. In each round, everything recorded before the round reaches the disk, in this order:
//!
//! 1. The open chunks are copied to `checkpoint.new`.
//! 2. Files that have changed are forced to disk. By then they hold everything before the copied chunks.
//! 3. The copy is forced to disk and replaces `checkpoint`; then the names of the files are forced to disk.

use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use flow_codec::format::names;
use parking_lot::Mutex;

use super::directory::TraceDirectory;

/// More files than this are not forced to disk one by one: each may cost a commit of the file system's
/// journal.
const MAX_SINGLE: usize = 64;
/// How long the end of the program waits for the disk: users of this option want it to wait.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// Text files, which grow occasionally.
const TEXTS: [&str; 3] = [names::IDS, names::METHODS, names::THREADS];

/// Forces a trace to disk, again and again.
#[derive(Debug)]
pub struct Syncer {
    directory: TraceDirectory,
    period: Duration,
    changed: Mutex<BTreeSet<String>>,
    end: (Sender<Sender<()>>, Receiver<Sender<()>>),
}

/// What has reached the disk.
#[derive(Debug, Default, PartialEq, Eq)]
struct Synced {
    open_chunks: u64,
    texts: [i64; TEXTS.len()],
}

impl Syncer {
    /// For the files of a directory, with this time between two rounds.
    #[must_use]
    pub fn new(directory: TraceDirectory, period: Duration) -> Self {
        Self { directory, period, changed: Mutex::default(), end: bounded(1) }
    }

    /// Records that a file of this name was written.
    pub fn note_change(&self, name: &str) {
        let mut changed = self.changed.lock();
        if !changed.contains(name) {
            changed.insert(name.to_owned());
        }
    }

    /// Runs rounds until the [end](Self::end). `copy` yields the open chunks in the form of a journal. An
    /// error of the disk is passed to `report`, and the round is tried again.
    pub fn run(
        &self,
        copy: impl Fn(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()>,
        report: impl Fn(&io::Error),
    ) {
        let mut synced = Synced::default();
        let begin = || {
            // In a trace in one file, it is in the file that has changed.
            self.sync(names::MANIFEST)?;
            self.directory.sync_names()?;
            let parent =
                self.directory.path().parent().map_or(Ok(()), |parent| {
                    File::open(parent).and_then(|parent| parent.sync_all())
                });
            // The directory may be in one that only its owner can read.
            parent.or_else(|error| match error.kind() {
                ErrorKind::PermissionDenied => Ok(()),
                _ => Err(error),
            })
        };
        let mut outcome = begin();
        loop {
            outcome
                .and_then(|()| self.round(&copy, &mut synced))
                .unwrap_or_else(|error| report(&error));
            match self.end.1.recv_timeout(self.period) {
                Err(RecvTimeoutError::Timeout) => outcome = Ok(()),
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(done) => {
                    self.finish().unwrap_or_else(|error| report(&error));
                    let _ = done.send(());
                    return;
                }
            }
        }
    }

    /// Forces the trace of a recording that has ended to disk, and waits for that, within limits. Returns
    /// whether it succeeded.
    pub fn end(&self) -> bool {
        let (done, is_done) = bounded(1);
        self.end.0.try_send(done).is_ok() && is_done.recv_timeout(END_TIMEOUT).is_ok()
    }

    fn round(
        &self,
        copy: &impl Fn(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()>,
        synced: &mut Synced,
    ) -> io::Result<()> {
        let mut hasher = DefaultHasher::new();
        copy(&mut |bytes| {
            hasher.write(bytes);
            Ok(())
        })?;
        let found = Synced {
            open_chunks: hasher.finish(),
            texts: TEXTS.map(|name| self.directory.file_len(name)),
        };
        // A program that waits should cost nothing.
        if found == *synced && self.changed.lock().is_empty() {
            return Ok(());
        }
        let new = self.directory.reserve(names::CHECKPOINT, 0)?;
        let mut to = BufWriter::new(new.as_file());
        copy(&mut |bytes| to.write_all(bytes))?;
        to.flush()?;
        drop(to);
        self.sync_changed()?;
        new.finish_synced(&[])?;
        self.directory.sync_names()?;
        *synced = found;
        Ok(())
    }

    /// Forces the rest to disk: the trace has an end, and everything recorded is in files.
    fn finish(&self) -> io::Result<()> {
        self.sync_changed()?;
        // The journal, if it is still needed.
        self.sync(names::JOURNAL)?;
        self.sync(names::MANIFEST)?;
        self.directory.sync_names()?;
        // A trace with an end needs no checkpoint.
        self.directory.remove(names::CHECKPOINT)
    }

    fn sync_changed(&self) -> io::Result<()> {
        TEXTS.iter().try_for_each(|name| self.sync(name))?;
        let changed = std::mem::take(&mut *self.changed.lock());
        let outcome = match changed.len() {
            0..=MAX_SINGLE => changed.iter().try_for_each(|name| self.sync(name)),
            _ => self.directory.sync_file_system(),
        };
        if outcome.is_err() {
            self.changed.lock().extend(changed);
        }
        outcome
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        match self.directory.sync_file(name) {
            // It has been removed.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            outcome => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_round_leaves_a_checkpoint_and_the_end_removes_it() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("t");
        let directory = TraceDirectory::open(&out, None).unwrap();
        for name in TEXTS.iter().chain(&[names::MANIFEST, "thread-1.flow"]) {
            directory.create(name).unwrap();
        }
        let syncer = Syncer::new(directory, Duration::from_secs(3600));
        syncer.note_change("thread-1.flow");
        let mut synced = Synced::default();
        syncer.round(&|put| put(b"open"), &mut synced).unwrap();
        assert!(syncer.changed.lock().is_empty());
        assert_eq!(fs::read(out.join("checkpoint")).unwrap(), b"open");
        fs::remove_file(out.join("checkpoint")).unwrap();
        syncer.round(&|put| put(b"open"), &mut synced).unwrap();
        assert!(!out.join("checkpoint").exists(), "nothing was new");
        syncer.round(&|put| put(b"more"), &mut synced).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| syncer.run(|put| put(b"more"), |error| panic!("{error}")));
            assert!(syncer.end());
        });
        assert!(!out.join("checkpoint").exists() && !out.join("checkpoint.new").exists());
    }

    #[test]
    fn a_file_that_cannot_be_synced_is_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("t");
        let syncer = Syncer::new(TraceDirectory::open(&out, None).unwrap(), Duration::ZERO);
        std::os::unix::fs::symlink("elsewhere", out.join("thread-1.flow")).unwrap();
        syncer.note_change("thread-1.flow");
        assert!(syncer.round(&|put| put(b"open"), &mut Synced::default()).is_err());
        assert_eq!(syncer.changed.lock().len(), 1);
        assert!(!out.join("checkpoint").exists());
    }
}
