//! The stored sections of a thread, next to its file.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{Built, Sections};
use crate::format::container::StreamKind;
use crate::format::names::EventFormat;
use crate::format::sections::{SectionsFile, Source};
use crate::index::{Origin, beside};
use crate::read::{Content, Stored, Tail, ThreadFile};
use crate::{Error, Offset, Result};

const KIND: StreamKind = StreamKind::Sections;
/// A stored file may always have this many bytes, and otherwise as many as the events.
const SMALLEST_LIMIT: u64 = 64 << 10;

impl Sections {
    /// Returns the sections of a thread: the stored ones if they are usable, or new ones. `progress` counts the bytes that
    /// have been read.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn open(
        file: &ThreadFile,
        content: &Content,
        progress: &AtomicU64,
    ) -> Result<(Built, Origin)> {
        let origin = match load(file, content) {
            Ok(sections) => {
                let built = Built { sections, is_damaged: false, tail: Tail::Complete };
                return Ok((built, Origin::Stored));
            }
            Err(None) => Origin::Built,
            Err(Some(reason)) => Origin::Rebuilt(reason),
        };
        Ok((Self::build(file, progress)?, origin))
    }

    /// Returns the stored sections of a thread; `None` if there are none, or if they are unusable.
    #[must_use]
    pub fn open_stored(file: &ThreadFile) -> Option<Self> {
        let content = Content::open(file).ok()?;
        load(file, &content).ok()
    }

    /// The bytes of the stored sections; 0 if there are none.
    #[must_use]
    pub fn stored_bytes(file: &ThreadFile) -> u64 {
        beside::stored_bytes(file, KIND)
    }

    /// Where the sections of a thread are stored.
    #[must_use]
    pub fn path(file: &ThreadFile) -> PathBuf {
        file.path_beside(KIND)
    }

    /// The stored sections, if they are those of the events.
    pub(crate) fn stored(file: &ThreadFile, content: &Content) -> Option<Vec<u8>> {
        load(file, content).ok()?;
        beside::read(file, KIND, limit(content)).ok()
    }
}

impl Built {
    /// Returns why the sections cannot be stored, if they cannot: because what they were made of is damaged, or still changes.
    #[must_use]
    pub fn not_stored(&self, file: &ThreadFile) -> Option<&'static str> {
        Some(match () {
            () if file.open.is_some() => "events are in the journal",
            () if file.format() != EventFormat::Binary => "events are stored as JSON",
            () if self.is_damaged => "damaged",
            () if self.tail != Tail::Complete => "cut short",
            () => return None,
        })
    }

    /// Stores the sections next to the thread's file. Returns the size in bytes. The caller has checked that they
    /// [can be stored](Self::not_stored).
    ///
    /// # Errors
    /// The file cannot be written, or the events not be read.
    pub fn store(&self, file: &ThreadFile, content: &Content) -> Result<u64> {
        let io_error = |source| Error::Io { path: file.path(), source };
        let [events, marks] = beside::fingerprints(file, content).map_err(io_error)?;
        let sections = self.sections.sections.clone();
        let stored = SectionsFile { thread: file.id, events, marks, sections };
        beside::store(file, KIND, &stored.encode().map_err(io_error)?)
    }
}

impl Source for Stored {
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(at, buffer)
    }
}

/// The most bytes that a file may have.
fn limit(content: &Content) -> u64 {
    content.len().max(SMALLEST_LIMIT)
}

/// The stored sections. `Err(None)` if there are none, otherwise the reason why they are unusable.
fn load(
    file: &ThreadFile,
    content: &Content,
) -> std::result::Result<Sections, Option<&'static str>> {
    if file.open.is_some() {
        return Err(None);
    }
    let unreadable = |_| Some("it cannot be read");
    let source = file.open_beside(KIND).map_err(unreadable)?.ok_or(None)?;
    let bytes = source.len().map_err(unreadable)?;
    if bytes > limit(content) {
        return Err(Some("it is too large"));
    }
    let stored = SectionsFile::open(Arc::new(source), bytes).map_err(Some)?;
    let is_of_thread = stored.thread == file.id;
    if !is_of_thread || !beside::is_of(file, content, KIND, [stored.events, stored.marks]) {
        return Err(Some("it belongs to other events"));
    }
    Ok(Sections { sections: stored.sections, end: Offset::new(stored.events.bytes) })
}
