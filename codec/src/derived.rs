//! What readers derive from the events of a thread and store beside its file: an index, shapes. Of a trace in one file, it is
//! in another file beside it.
//!
//! Derived data is never needed, and is never believed against the events. Its [header](crate::format::of_events) has their
//! length and a checksum of a sample of them, and one rule says whether it is valid.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::format::container::StreamKind;
use crate::format::dag::DagFile;
use crate::format::index::IndexFile;
use crate::format::of_events::{Fingerprint, sum_of_sample};
use crate::read::{Content, ThreadFile};
use crate::store::{Container, create_private};
use crate::write::{Compression, ContainerWriter};
use crate::{Error, Result, ThreadId};

/// Stored files may always have this many bytes.
const SMALLEST_LIMIT: u64 = 4096;
/// A stored index that is larger than a quarter of its thread file is not read. flow writes 0.1 %. Stored shapes may have as
/// many bytes as the events.
const LARGEST_PART_OF_INDEX: u64 = 4;

/// Where what is stored beside the events of a thread comes from: an index, or shapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// From its file.
    Stored,
    /// From its file, and from the events by which the thread file has grown since; an index only.
    Extended,
    /// From the events: there is no file.
    Built,
    /// From the events: the file is unusable, for this reason.
    Rebuilt(&'static str),
}

/// Stores the file of this kind of a thread, in place of an earlier one. Returns the size in bytes.
///
/// # Errors
/// The file cannot be written.
pub fn store(file: &ThreadFile, kind: StreamKind, bytes: &[u8]) -> Result<u64> {
    let path = file.path_beside(kind);
    let mut new = path.clone().into_os_string();
    new.push(".new");
    let new = PathBuf::from(new);
    let written = match file.is_in_one_file() {
        true => write_all(&new, &path, (kind, file.id), bytes),
        false => create(&new).and_then(|mut file| file.write_all(bytes)),
    };
    written.and_then(|()| fs::rename(&new, &path)).map_err(|source| {
        let _ = fs::remove_file(&new);
        Error::Io { path: path.clone(), source }
    })?;
    Ok(bytes.len() as u64)
}

/// Reads the stored file of this kind of a thread. `Err(None)` if there is none, otherwise the reason why it is not used:
/// it may have at most `limit` bytes.
fn read(
    file: &ThreadFile,
    kind: StreamKind,
    limit: u64,
) -> std::result::Result<Vec<u8>, Option<&'static str>> {
    let unreadable = |_| Some("it cannot be read");
    let input = file.open_beside(kind).map_err(unreadable)?.ok_or(None)?;
    let mut bytes = Vec::new();
    let read = input.reader().take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if read as u64 > limit {
        return Err(Some("it is too large"));
    }
    Ok(bytes)
}

/// What identifies the events and the marks of a thread.
///
/// # Errors
/// The events or the marks cannot be read.
pub fn fingerprints(file: &ThreadFile, content: &Content) -> io::Result<[Fingerprint; 2]> {
    let bytes = content.len();
    let events = Fingerprint { bytes, sample: content.stored_sample(bytes)? };
    Ok([events, of_marks(file)?])
}

/// What identifies the marks of a thread.
fn of_marks(file: &ThreadFile) -> io::Result<Fingerprint> {
    let Some(marks) = file.open_marks().map_err(io::Error::other)? else {
        return Ok(Fingerprint::default());
    };
    let bytes = marks.len()?;
    let sample = sum_of_sample(file.trace, bytes, |offset, buffer| {
        marks.read_exact_at(offset, buffer)?;
        Ok(buffer.len())
    });
    Ok(Fingerprint { bytes, sample: sample? })
}

/// Returns whether a stored file of this kind is of a thread: of the first bytes of its events, and of its marks if it depends on
/// them.
fn is_of(
    (file, content): (&ThreadFile, &Content),
    kind: StreamKind,
    thread: ThreadId,
    events: Fingerprint,
    marks: Option<Fingerprint>,
) -> bool {
    thread == file.id
        // What is in the file of its events was written with them.
        && (file.stored_inside(kind).is_some()
            || content.stored_sample(events.bytes).is_ok_and(|sample| sample == events.sample)
                && marks.is_none_or(|marks| of_marks(file).is_ok_and(|found| found == marks)))
}

/// The bytes of the stored file of this kind; 0 if there is none.
pub fn stored_bytes(file: &ThreadFile, kind: StreamKind) -> u64 {
    let stored = file.open_beside(kind).ok().flatten();
    stored.and_then(|stored| stored.len().ok()).unwrap_or(0)
}

/// Writes a stream of a thread, and the other ones that the old file has.
fn write_all(
    new: &Path,
    old: &Path,
    stream: (StreamKind, ThreadId),
    bytes: &[u8],
) -> io::Result<()> {
    // A file of another kind is replaced.
    let old = Container::in_file(old).ok().flatten().map(Arc::new);
    let mut writer = ContainerWriter::new(BufWriter::new(create(new)?), Compression::Off)?;
    for kind in [StreamKind::Index, StreamKind::Dag] {
        for (other, stored) in old.iter().flat_map(|old| old.streams(kind)) {
            if (kind, other) != stream {
                writer.write_stream(kind, Some(other), stored.reader())?;
            }
        }
    }
    writer.write_stream(stream.0, Some(stream.1), bytes)?;
    writer.finish().map(|_| ())
}

/// Creates a file that is as private as the trace, in place of another one, and follows no link.
fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    create_private(path)
}

/// Reads the stored index of a thread, which may cover only the start of the events. `Err(None)` if there is none, otherwise the
/// reason why it is not used.
pub(crate) fn read_index(
    file: &ThreadFile,
    content: &Content,
) -> std::result::Result<IndexFile, Option<&'static str>> {
    let limit = (content.len_in_file() / LARGEST_PART_OF_INDEX).max(SMALLEST_LIMIT);
    let stored = IndexFile::decode(&read(file, StreamKind::Index, limit)?).map_err(Some)?;
    let covered = stored.covered().filter(|covered| *covered <= content.len_in_file());
    let Some(bytes) = covered else { return Err(Some("the thread file is shorter")) };
    let events = Fingerprint { bytes, sample: stored.sample };
    if !is_of((file, content), StreamKind::Index, stored.thread, events, None) {
        return Err(Some("it belongs to other events"));
    }
    Ok(stored)
}

/// Reads the stored shapes of a thread and the bytes of their file. `Err(None)` if there are none, otherwise the reason why they
/// are not used.
///
/// # Errors
/// There are no shapes, or they are too large, violate the format, or belong to other events.
pub fn read_shapes(
    file: &ThreadFile,
    content: &Content,
) -> std::result::Result<(DagFile, Vec<u8>), Option<&'static str>> {
    if file.open.is_some() {
        return Err(None);
    }
    let bytes = read(file, StreamKind::Dag, content.len().max(SMALLEST_LIMIT))?;
    let stored = DagFile::decode(&bytes).map_err(Some)?;
    let (events, marks) = (stored.events, Some(stored.marks));
    if events.bytes != content.len()
        || !is_of((file, content), StreamKind::Dag, stored.thread, events, marks)
    {
        return Err(Some("it belongs to other events"));
    }
    Ok((stored, bytes))
}
