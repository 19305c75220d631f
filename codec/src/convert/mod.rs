//! A trace directory to a [`container`](crate::format::container) and back, without loss.
//!
//! Threads that were written as JSON lines become binary.

mod shrink;

use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::Path;

use crate::derived;
use crate::format::container::StreamKind;
use crate::format::manifest::{End, Manifest};
use crate::format::names::{self, EventFormat};
use crate::index::{Index, SMALLEST_INDEXED_BYTES};
use crate::parallel::BytesRead;
use crate::read::{Content, ThreadFile, Trace};
use crate::store::{create_private, create_private_dir};
use crate::write::{Compression, ContainerWriter};
use crate::{Error, Result, ThreadId};

pub use self::shrink::{Cut, Shrink};

/// Small writes are gathered up to this size.
const BUFFER_BYTES: usize = 1 << 20;

/// Takes the streams of a trace, one after the other.
type Take<'a> = dyn FnMut(StreamKind, Option<ThreadId>, &mut dyn Read) -> io::Result<()> + 'a;

/// Writes the trace to a new file, with an index for each large thread, and the shapes that are stored. What the journal
/// holds of a thread follows its events. `progress` gets how many bytes of the events were read, again and again. Returns the size
/// of the file.
///
/// # Errors
/// The trace cannot be read, or the file not be created and written.
pub fn to_container(
    trace: &Trace,
    path: &Path,
    compression: Compression,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let manifest = manifest_of_flow(trace);
    let written = write_file(path, compression, &mut |take| {
        pass_streams(trace, manifest.as_ref(), path, take, &mut |file, take| {
            pass_thread(file, path, take, progress)
        })
    })?;
    Ok(written.1)
}

/// Writes a trace with this end in the manifest, forced to disk.
///
/// # Errors
/// The trace cannot be read, or the file not be created and written.
pub fn to_container_with_end(
    trace: &Trace,
    end: End,
    path: &Path,
    compression: Compression,
) -> Result<()> {
    let manifest = manifest_of_flow(trace).or_else(|| trace.manifest.clone());
    let manifest = manifest.map(|manifest| Manifest { end: Some(end), ..manifest });
    let (file, _) = write_file(path, compression, &mut |take| {
        pass_streams(trace, manifest.as_ref(), path, take, &mut |file, take| {
            pass_thread(file, path, take, &mut |_| {})
        })
    })?;
    file.sync_all().map_err(|source| Error::Io { path: path.to_path_buf(), source })
}

/// Writes the trace to a new directory, with files for each thread.
///
/// # Errors
/// The trace cannot be read, or the directory and its files not be created and written.
pub fn to_directory(trace: &Trace, path: &Path, progress: &mut dyn FnMut(u64)) -> Result<()> {
    create_private_dir(path).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
    let mut take = |kind, thread: Option<ThreadId>, input: &mut dyn Read| {
        let name = names::stream_file(kind, thread.unwrap_or(ThreadId::new(0)));
        io::copy(input, &mut create_private(&path.join(name))?).map(|_| ())
    };
    pass_streams(trace, manifest_of_flow(trace).as_ref(), path, &mut take, &mut |file, take| {
        pass_thread(file, path, take, progress)
    })
}

/// Writes the threads without files of their own, and their lines, to a new file, with what the journal holds of
/// them.
///
/// # Errors
/// The trace cannot be read, or the file not be created and written.
pub fn to_shared(trace: &Trace, path: &Path) -> Result<()> {
    let (file, _) = write_file(path, Compression::Off, &mut |take| {
        if let Some(mut lines) = trace.shared_lines() {
            let io_error = |source| Error::Io { path: path.to_path_buf(), source };
            take(StreamKind::Threads, None, &mut lines).map_err(io_error)?;
        }
        let mut shared = trace.files.iter().filter(|file| file.is_shared());
        shared.try_for_each(|file| pass_thread(file, path, take, &mut |_| {}))
    })?;
    file.sync_all().map_err(|source| Error::Io { path: path.to_path_buf(), source })
}

/// Writes what `pass` passes to a new container. Returns the file and its size.
fn write_file(
    path: &Path,
    compression: Compression,
    pass: &mut dyn FnMut(&mut Take<'_>) -> Result<()>,
) -> Result<(File, u64)> {
    let io_error = |source| Error::Io { path: path.to_path_buf(), source };
    let out = BufWriter::with_capacity(BUFFER_BYTES, create_private(path).map_err(io_error)?);
    let mut writer = ContainerWriter::new(out, compression).map_err(io_error)?;
    pass(&mut |kind, thread, input| writer.write_stream(kind, thread, input).map(|_| ()))?;
    let (out, bytes) = writer.finish().map_err(io_error)?;
    let file = out.into_inner().map_err(|error| io_error(error.into_error()))?;
    Ok((file, bytes))
}

/// Passes all streams of a trace, with this manifest if it is not that of the trace. `pass` passes those of a thread.
fn pass_streams(
    trace: &Trace,
    manifest: Option<&Manifest>,
    path: &Path,
    to: &mut Take<'_>,
    pass: &mut dyn FnMut(&ThreadFile, &mut Take<'_>) -> Result<()>,
) -> Result<()> {
    let take = |to: &mut Take<'_>, kind, input: &mut dyn Read| {
        to(kind, None, input).map_err(|source| Error::Io { path: path.to_path_buf(), source })
    };
    // Names come before the events that use them.
    for kind in [StreamKind::Ids, StreamKind::Methods, StreamKind::Threads, StreamKind::Samples] {
        if let Some(mut text) = trace.text(kind)? {
            take(to, kind, &mut text)?;
        }
    }
    for file in &trace.files {
        pass(file, to)?;
    }
    match manifest {
        Some(manifest) => {
            let text = serde_json::to_string_pretty(manifest);
            let path = path.to_path_buf();
            let text =
                text.map_err(|error| Error::BadJson { path, found: error.to_string() })? + "\n";
            take(to, StreamKind::Manifest, &mut text.as_bytes())
        }
        None => match trace.text(StreamKind::Manifest)? {
            Some(mut text) => take(to, StreamKind::Manifest, &mut text),
            None => Ok(()),
        },
    }
}

fn pass_thread(
    file: &ThreadFile,
    path: &Path,
    to: &mut Take<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut take = |kind, input: &mut dyn Read| {
        to(kind, Some(file.id), input)
            .map_err(|source| Error::Io { path: path.to_path_buf(), source })
    };
    let content = Content::open(file)?;
    take(StreamKind::Events, &mut Counted { input: content.reader(), progress })?;
    if let Some(mut marks) = file.marks_bytes()? {
        take(StreamKind::Marks, &mut marks)?;
    }
    if let Some(index) = index_of(file, &content)? {
        take(StreamKind::Index, &mut &index[..])?;
    }
    if let Ok((_, shapes)) = derived::read_shapes(file, &content) {
        take(StreamKind::Dag, &mut &shapes[..])?;
    }
    Ok(())
}

/// The manifest of a trace whose threads were written as JSON lines, and are binary now.
fn manifest_of_flow(trace: &Trace) -> Option<Manifest> {
    if trace.files.iter().all(|file| file.format() == EventFormat::Binary) {
        return None;
    }
    let mut manifest = trace.manifest.clone()?;
    EventFormat::Binary.name().clone_into(&mut manifest.event_format);
    if let Some(end) = &mut manifest.end {
        end.totals.bytes = trace.files.iter().map(|file| file.bytes).sum();
    }
    Some(manifest)
}

fn index_of(file: &ThreadFile, content: &Content) -> Result<Option<Vec<u8>>> {
    if content.len() < SMALLEST_INDEXED_BYTES {
        return Ok(None);
    }
    let (index, _) = Index::open(file, content, &BytesRead::default())?;
    index.for_copy(file, content).map(Some)
}

/// Counts what is read.
struct Counted<'a, R> {
    input: R,
    progress: &'a mut dyn FnMut(u64),
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        (self.progress)(read as u64);
        Ok(read)
    }
}
