//! The stored index, next to its thread file.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use super::{Index, Place, beside};
use crate::format::container::StreamKind;
use crate::format::index::{IndexFile, IntervalSums, sample};
use crate::read::{Content, ThreadFile};
use crate::scan::Summary;
use crate::{Error, Offset, Result};

/// A stored index that is larger than a quarter of its thread file is not read. flow writes 0.1 %.
const LARGEST_PART: u64 = 4;
const SMALLEST_LIMIT: u64 = 4096;

/// The source of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// From its file.
    Stored,
    /// From its file, and from the events by which the thread file has grown since.
    Extended,
    /// From the events: there is no file.
    Built,
    /// From the events: the file is unusable, for this reason.
    Rebuilt(&'static str),
}

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
        beside::stored_bytes(file, StreamKind::Index)
    }

    /// Returns the index of a thread: the stored one if it is usable, extended to the end of the events, or a
    /// new one. `progress` counts the bytes that have been read.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn open(
        file: &ThreadFile,
        content: &Content,
        progress: &AtomicU64,
    ) -> Result<(Self, Origin)> {
        Self::open_until(file, content, Offset::new(content.len()), progress)
    }

    /// The same, but a stored index is extended only to `until`, and a new one ends there.
    pub(crate) fn open_until(
        file: &ThreadFile,
        content: &Content,
        until: Offset,
        progress: &AtomicU64,
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
    pub fn build(file: &ThreadFile, content: &Content, progress: &AtomicU64) -> Result<Self> {
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
        let limit = (content.len_in_file() / LARGEST_PART).max(SMALLEST_LIMIT);
        let bytes = beside::read(file, StreamKind::Index, limit)?;
        let stored = IndexFile::decode(&bytes).map_err(Some)?;
        let covered = stored.covered().filter(|covered| *covered <= content.len_in_file());
        let Some(covered) = covered else { return Err(Some("the thread file is shorter")) };
        if stored.thread != content.thread()
            || sample_of(content, covered).map_err(|_| None)? != stored.sample
        {
            return Err(Some("it belongs to other events"));
        }
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
        let encoded = self.encoded(file, content, content.len_in_file())?;
        beside::store(file, StreamKind::Index, &encoded)
    }

    /// The bytes of the index as it is stored, of the content before `until`.
    pub(crate) fn encoded(
        &self,
        file: &ThreadFile,
        content: &Content,
        until: u64,
    ) -> Result<Vec<u8>> {
        let io_error = |source| Error::Io { path: file.path(), source };
        Ok(self.stored(content, until).map_err(io_error)?.encode())
    }

    fn stored(&self, content: &Content, until: u64) -> io::Result<IndexFile> {
        let ends = (0..self.intervals.len()).map(|interval| self.end_of(interval));
        let intervals: Vec<_> = self
            .intervals
            .iter()
            .zip(ends)
            .take_while(|(_, end)| end.offset.get() <= until && end.exits < COUNTED_EXITS)
            .map(|(interval, end)| entry(interval, end))
            .collect();
        let covered = intervals.iter().map(|interval| interval.bytes).sum();
        let sample = sample_of(content, covered)?;
        Ok(IndexFile { thread: content.thread(), sample, intervals })
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

pub(crate) fn sample_of(content: &Content, covered: u64) -> io::Result<u32> {
    let mut crc = crc32fast::Hasher::new();
    for piece in sample(covered) {
        let len = usize::try_from(piece.end - piece.start).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len];
        let read = content.fill_at(Offset::new(piece.start), &mut bytes)?;
        crc.update(bytes.get(..read).unwrap_or_default());
    }
    Ok(crc.finalize())
}
