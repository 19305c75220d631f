//! One file per thread in the trace directory, and one for its marks; or one for many threads. No file of a
//! thread stays open between chunks, and
//! few are open at a time, so the number of threads does not count towards the program's limit of open files.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Instant;

use flow_codec::format::container::StreamKind;
use flow_codec::format::flow::records;
use flow_codec::format::jsonl;
use flow_codec::format::names::{EventFormat, marks_file, thread_file};
use flow_codec::{Offset, ThreadId};

use super::directory::TraceDirectory;
use super::file_io::{scope_of_open, write_whole};
use super::permits::Permits;
use super::{
    BlockFile, Budget, CanonicalChunk, Home, LastChunk, Pack, Scope, Sink, SinkError, Syncer,
};
use crate::sys::allocator::{self, OutOfMemory};

/// This many thread files are open at a time; further writers wait.
const MAX_OPEN: usize = 8;

/// Appends chunks to `thread-<id>.flow` or `.jsonl`.
#[derive(Debug)]
pub struct FileSink {
    directory: TraceDirectory,
    format: EventFormat,
    budget: Budget,
    syncer: Option<Arc<Syncer>>,
    /// One for each file that may be open.
    permits: Permits,
    shared: Arc<BlockFile>,
}

impl FileSink {
    /// Writes into `directory`, and into the file that threads share.
    #[must_use]
    pub fn new(
        directory: TraceDirectory,
        format: EventFormat,
        budget: Budget,
        shared: Arc<BlockFile>,
    ) -> Self {
        let (syncer, permits) = (None, Permits::new(MAX_OPEN));
        Self { directory, format, budget, syncer, permits, shared }
    }

    /// Reports files that have changed.
    #[must_use]
    pub fn synced_by(mut self, syncer: Option<Arc<Syncer>>) -> Self {
        self.syncer = syncer;
        self
    }

    /// Appends to a file of ours, when few enough are open.
    fn store(&self, name: &str, offset: Offset, bytes: &[u8]) -> Result<(), SinkError> {
        self.budget.take(bytes.len())?;
        let written = {
            let _permit = self.permits.take();
            self.append(name, offset.get(), bytes)
        };
        if let Some(syncer) = &self.syncer {
            syncer.note_change(name);
        }
        self.directory.restore_spare();
        written.map_err(|error| SinkError::io(self.scope_of(&error, offset), name, &error))
    }

    fn append(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (mut file, len) = if offset == 0 {
            (self.directory.create(name)?, 0)
        } else {
            self.directory.append(name)?
        };
        if len != offset {
            let why = format!("has {len} bytes instead of {offset}; another program changed it");
            return Err(io::Error::new(ErrorKind::AlreadyExists, why));
        }
        write_whole(&mut file, bytes, len)
    }

    /// The scope of a failure. A foreign file in our place, or a file that was removed or changed, concerns
    /// one thread; a program without descriptors may have some again later.
    fn scope_of(&self, error: &io::Error, offset: Offset) -> Scope {
        let gone = error.kind() == ErrorKind::NotFound && offset.get() > 0;
        if gone && !self.directory.is_removed() { Scope::Thread } else { scope_of_open(error) }
    }
}

impl Sink for FileSink {
    fn write_chunk(&self, chunk: &CanonicalChunk<'_>) -> Result<u64, SinkError> {
        if chunk.bytes.is_empty() {
            return Ok(0);
        }
        if chunk.home == Home::Shared && self.format == EventFormat::Binary {
            let stream = (Some(chunk.thread), StreamKind::Events);
            self.shared.append(stream, chunk.offset.get(), chunk.bytes, Pack::No)?;
            return Ok(chunk.bytes.len() as u64);
        }
        let lines;
        let bytes = match self.format {
            EventFormat::Binary => chunk.bytes,
            EventFormat::Jsonl => {
                lines = as_lines(chunk.bytes).map_err(SinkError::no_memory)?;
                &lines
            }
        };
        self.store(&thread_file(chunk.thread, self.format), chunk.offset, bytes)?;
        Ok(bytes.len() as u64)
    }

    fn write_marks(
        &self,
        thread: ThreadId,
        home: Home,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), SinkError> {
        if home == Home::Shared && self.format == EventFormat::Binary {
            return self.shared.append((Some(thread), StreamKind::Marks), offset, bytes, Pack::No);
        }
        self.store(&marks_file(thread), Offset::new(offset), bytes)
    }

    fn write_last(&self, threads: &[LastChunk<'_>]) -> Result<u64, SinkError> {
        match self.format {
            EventFormat::Jsonl => self.write_each(threads),
            EventFormat::Binary => self.shared.append_last(threads),
        }
    }

    fn responds(&self, deadline: Instant) -> bool {
        self.shared.responds(deadline)
    }

    fn refuse(&self) {
        // Each file has its own end.
        self.shared.refuse();
    }

    fn takes_lines(&self) -> bool {
        self.format == EventFormat::Binary
    }

    fn write_lines(&self, offset: u64, lines: &[u8]) -> Result<(), SinkError> {
        self.shared.append((None, StreamKind::Threads), offset, lines, Pack::IfFree)
    }

    fn close(&self) {
        self.shared.close();
    }
}

fn as_lines(bytes: &[u8]) -> Result<Vec<u8>, OutOfMemory> {
    let mut lines = Vec::new();
    allocator::try_reserve(&mut lines, bytes.len().saturating_mul(20))?;
    for (record, _) in records(bytes) {
        let more = usize::try_from(jsonl::encoded_bytes(record)).unwrap_or(usize::MAX);
        allocator::try_reserve(&mut lines, more)?;
        jsonl::encode(record, &mut lines);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use flow_codec::write::Compression;

    use super::*;

    fn sink(out: &Path, format: EventFormat) -> FileSink {
        let (directory, budget) = (TraceDirectory::open(out, None).unwrap(), Budget::new(None));
        let shared =
            BlockFile::new(directory.clone(), budget.clone(), Some(Compression::Off)).unwrap();
        FileSink::new(directory, format, budget, Arc::new(shared))
    }

    fn chunk(offset: u64, bytes: &[u8]) -> CanonicalChunk<'_> {
        let (thread, home, pack) = (ThreadId::new(3), Home::Own, Pack::No);
        let (offset, is_last) = (Offset::new(offset), false);
        CanonicalChunk { thread, home, offset, bytes, pack, is_last }
    }

    #[test]
    fn chunks_follow_one_another() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("t");
        let sink = sink(&out, EventFormat::Binary);
        assert_eq!(sink.write_chunk(&chunk(0, &[])).unwrap(), 0);
        assert_eq!(sink.write_chunk(&chunk(0, &[0x81])).unwrap(), 1);
        assert_eq!(sink.write_chunk(&chunk(1, &[0x00])).unwrap(), 1);
        assert_eq!(fs::read(out.join("thread-3.flow")).unwrap(), [0x81, 0x00]);
    }

    #[test]
    fn a_link_planted_in_our_place_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("t");
        let sink = sink(&out, EventFormat::Binary);
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, out.join("thread-3.flow")).unwrap();
        let error = sink.write_chunk(&chunk(0, &[0x81])).unwrap_err();
        assert_eq!(error.scope(), Scope::Thread);
        let error = sink.write_chunk(&chunk(1, &[0x81])).unwrap_err();
        assert_eq!(error.scope(), Scope::Thread, "{error}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn a_file_changed_by_another_program_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("t");
        let sink = sink(&out, EventFormat::Binary);
        sink.write_chunk(&chunk(0, &[0x81, 0x82])).unwrap();
        fs::write(out.join("thread-3.flow"), [0x81]).unwrap();
        let error = sink.write_chunk(&chunk(2, &[0x00])).unwrap_err();
        assert_eq!(error.scope(), Scope::Thread);
        assert!(error.to_string().contains("has 1 bytes instead of 2"), "{error}");
        assert_eq!(fs::read(out.join("thread-3.flow")).unwrap(), [0x81]);
    }

    #[test]
    fn jsonl_has_one_line_per_event() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("t");
        let sink = sink(&out, EventFormat::Jsonl);
        sink.write_chunk(&chunk(0, &[0x81, 0x01])).unwrap();
        let text = fs::read_to_string(out.join("thread-3.jsonl")).unwrap();
        assert_eq!(text.lines().count(), 3);
    }
}
