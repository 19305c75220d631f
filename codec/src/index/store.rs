//! The stored index, next to its thread file.

use std::path::PathBuf;

use super::{Index, Place};
use crate::derived::{self, Origin};
use crate::format::container::StreamKind;
use crate::format::index::{IndexFile, IntervalSums};
use crate::parallel::BytesRead;
use crate::read::{Content, ThreadFile};
use crate::scan::Summary;
use crate::{Error, Offset, Result, ThreadId};

impl Index {
    /// Where the index of a thread is stored.
    #[must_use]
    pub fn path(file: &ThreadFile) -> PathBuf {
        file.path_beside(StreamKind::Index)
    }

    /// Returns whether the file with the thread's events has its index too, so that none is stored beside it.
    #[must_use]
    pub fn is_inside(file: &ThreadFile) -> bool {
        file.stored_inside(StreamKind::Index).is_some()
    }

    /// The bytes of the stored index; 0 if there is none.
    #[must_use]
    pub fn stored_bytes(file: &ThreadFile) -> u64 {
        derived::stored_bytes(file, StreamKind::Index)
    }

    /// Returns the index of a thread: the stored one if it is usable, extended to the end of the events, or a
    /// new one. `progress` counts the bytes that have been read.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn open(
        file: &ThreadFile,
        content: &Content,
        progress: &BytesRead,
    ) -> Result<(Self, Origin)> {
        Self::open_until(file, content, Offset::new(content.len()), progress)
    }

    /// The same, but a stored index is extended only to `until`, and a new one ends there.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn open_until(
        file: &ThreadFile,
        content: &Content,
        until: Offset,
        progress: &BytesRead,
    ) -> Result<(Self, Origin)> {
        let (mut index, origin) = match Self::load(file, content) {
            Ok(index) if index.end.offset.get() == content.len() => (index, Origin::Stored),
            Ok(index) => (index, Origin::Extended),
            Err(None) => (Self::empty(), Origin::Built),
            Err(Some(reason)) => (Self::empty(), Origin::Rebuilt(reason)),
        };
        let io_error = |source| Error::Io { path: file.path(), source };
        index.extend(content, until, progress).map_err(io_error)?;
        Ok((index, origin))
    }

    /// The index of a thread, built anew.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn build(file: &ThreadFile, content: &Content, progress: &BytesRead) -> Result<Self> {
        let mut index = Self::empty();
        let io_error = |source| Error::Io { path: file.path(), source };
        index.extend(content, Offset::new(content.len()), progress).map_err(io_error)?;
        Ok(index)
    }

    /// `Err(None)` if there is none, otherwise the reason why it is unusable.
    fn load(
        file: &ThreadFile,
        content: &Content,
    ) -> std::result::Result<Self, Option<&'static str>> {
        let stored = derived::read_index(file, content)?;
        let mut index = Self::empty();
        for interval in &stored.intervals {
            index.push(summary(interval).ok_or(Some("its intervals do not add up"))?);
        }
        Ok(index)
    }

    /// Stores the index next to the thread's file. It covers the content of that file only, because the
    /// content of the journal will move. Returns the size in bytes.
    ///
    /// # Errors
    /// The file cannot be written, or the events not be read.
    pub fn store(&self, file: &ThreadFile, content: &Content) -> Result<u64> {
        let mut stored = self.file_of(content.thread(), content.len_in_file());
        let sample = content.stored_sample(stored.covered().unwrap_or(0));
        stored.sample = sample.map_err(|source| Error::Io { path: file.path(), source })?;
        derived::store(file, StreamKind::Index, &stored.encode())
    }

    /// The bytes of the index for a copy of the content, in which the events of a journal are like all others.
    pub(crate) fn for_copy(&self, file: &ThreadFile, content: &Content) -> Result<Vec<u8>> {
        let mut stored = self.file_of(content.thread(), content.len());
        let sample = content.sample(stored.covered().unwrap_or(0));
        stored.sample = sample.map_err(|source| Error::Io { path: file.path(), source })?;
        Ok(stored.encode())
    }

    /// The file of the index of the bytes before `until`, without its sample.
    fn file_of(&self, thread: ThreadId, until: u64) -> IndexFile {
        let ends = (0..self.intervals.len()).map(|interval| self.end_of(interval));
        let intervals: Vec<_> = self
            .intervals
            .iter()
            .zip(ends)
            .take_while(|(_, end)| end.offset.get() <= until && end.exits < COUNTED_EXITS)
            .map(|(interval, end)| entry(interval, end))
            .collect();
        IndexFile { thread, sample: 0, intervals }
    }
}

fn entry(&super::Interval { start, fall }: &super::Interval, end: Place) -> IntervalSums {
    IntervalSums {
        bytes: end.offset.get() - start.offset.get(),
        enters: end.enters - start.enters,
        exits: end.exits - start.exits,
        fall,
    }
}

/// With more exits than this, sums stop at the largest number, and entries and exits no longer determine the
/// depth.
const COUNTED_EXITS: u64 = 1 << 62;

/// `None` if an interval contradicts itself, or does not determine the depth.
fn summary(&IntervalSums { bytes, enters, exits, fall }: &IntervalSums) -> Option<Summary> {
    let end = i128::from(enters) - i128::from(exits);
    let end = i64::try_from(end.max(i64::MIN.into())).ok()?;
    let lowest = 0_i64.checked_sub_unsigned(fall)?;
    let summary = Summary { bytes, enters, exits, end, lowest, ..Summary::default() };
    (lowest <= end && exits < COUNTED_EXITS).then_some(summary)
}
