//! What an opened trace has.

use std::path::{Path, PathBuf};

use super::{Methods, ThreadFile, Threads};
use crate::Error;
use crate::format::manifest::Manifest;
use crate::store::Place;

/// One trace: everything recorded by one run of a JVM.
#[derive(Debug)]
pub struct Trace {
    pub(crate) dir: PathBuf,
    pub(crate) manifest: Option<Manifest>,
    pub(crate) methods: Methods,
    pub(crate) threads: Threads,
    pub(crate) files: Vec<ThreadFile>,
    pub(crate) journal: Option<JournalReading>,
    pub(crate) missing_journal: Option<PathBuf>,
    pub(crate) damage: Vec<Error>,
    pub(super) place: Place,
}

/// How reading a journal went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct JournalReading {
    /// Whether all of it could be read, and follows its files.
    pub is_whole: bool,
    /// Whether it kept changing while it was read, so that the newest events of a thread may be missing.
    pub is_restless: bool,
    /// Whether it was the checkpoint: what was recorded after it is missing.
    pub is_checkpoint: bool,
}

impl Trace {
    /// Returns the directory, or the file.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns `trace.json`; absent in traces of writers without one.
    #[must_use]
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// Returns the names of methods.
    #[must_use]
    pub fn methods(&self) -> &Methods {
        &self.methods
    }

    /// Names methods as class files do, instead of as their sources do.
    pub fn show_raw_names(&mut self) {
        self.methods.show_raw_names();
    }

    /// Names methods as those of another trace with the same ids.
    #[doc(hidden)]
    pub fn set_methods(&mut self, methods: Methods) {
        self.methods = methods;
    }

    /// Returns names, starts and ends of threads.
    #[must_use]
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Returns the events of each thread that is read: of all, in the order of their ids, or of those that were
    /// [set](Self::set_files).
    #[must_use]
    pub fn files(&self) -> &[ThreadFile] {
        &self.files
    }

    /// Takes the threads that are read, to set some of them again, or in another order.
    #[doc(hidden)]
    #[must_use]
    pub fn take_files(&mut self) -> Vec<ThreadFile> {
        std::mem::take(&mut self.files)
    }

    /// Sets the threads that are read.
    #[doc(hidden)]
    pub fn set_files(&mut self, files: Vec<ThreadFile>) {
        self.files = files;
    }

    /// Returns how reading the journal went; `None` if there is none.
    #[doc(hidden)]
    #[must_use]
    pub fn journal(&self) -> Option<JournalReading> {
        self.journal
    }

    /// Returns where a missing journal should be; without it, the trace lacks the last events of its threads.
    #[doc(hidden)]
    #[must_use]
    pub fn missing_journal(&self) -> Option<&Path> {
        self.missing_journal.as_deref()
    }

    /// Returns the errors in the other files. Everything valid in them was read.
    #[must_use]
    pub fn damage(&self) -> &[Error] {
        &self.damage
    }
}
