//! One file a thread in the trace directory. No file stays open between chunks, so the number of
//! threads does not count against the program's limit of open files.

use std::io::{ErrorKind, Write};

use flow_codec::format::flow::{Decoded, decode};
use flow_codec::format::jsonl;
use flow_codec::format::names::{EventFormat, thread_file};

use rustix::io::Errno;

use super::directory::TraceDirectory;
use super::{FoldedChunk, Scope, Sink, SinkError};

/// Appends chunks to `thread-<id>.flow` or `.jsonl`.
#[derive(Debug)]
pub struct FileSink {
    directory: TraceDirectory,
    format: EventFormat,
}

impl FileSink {
    /// Writes into `directory`.
    #[must_use]
    pub fn new(directory: TraceDirectory, format: EventFormat) -> Self {
        Self { directory, format }
    }
}

impl Sink for FileSink {
    fn write_chunk(&self, chunk: &FoldedChunk<'_>) -> Result<u64, SinkError> {
        if chunk.bytes.is_empty() {
            return Ok(0);
        }
        let name = thread_file(chunk.thread, self.format);
        // A file in our place is somebody else's: only that thread is affected.
        let mut file = if chunk.offset.get() == 0 {
            self.directory.create(&name)
        } else {
            self.directory.append(&name)
        }
        .map_err(|error| {
            let one_file = error.kind() == ErrorKind::AlreadyExists
                || error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
            SinkError::io(if one_file { Scope::Thread } else { Scope::Trace }, &name, &error)
        })?;
        let lines;
        let bytes = match self.format {
            EventFormat::Binary => chunk.bytes,
            EventFormat::Jsonl => {
                lines = as_lines(chunk.bytes);
                &lines
            }
        };
        file.write_all(bytes).map_err(|error| SinkError::io(Scope::Trace, &name, &error))?;
        Ok(bytes.len() as u64)
    }
}

fn as_lines(mut bytes: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(bytes.len() * 20);
    while let Decoded::Record(record, len) = decode(bytes) {
        jsonl::encode(record, &mut lines);
        bytes = bytes.get(len..).unwrap_or_default();
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::fs;

    use flow_codec::{Offset, ThreadId};

    use super::*;

    fn chunk(offset: u64, bytes: &[u8]) -> FoldedChunk<'_> {
        FoldedChunk { thread: ThreadId::new(3), offset: Offset::new(offset), bytes }
    }

    #[test]
    fn chunks_follow_one_another() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("t");
        let sink = FileSink::new(TraceDirectory::open(&out).unwrap(), EventFormat::Binary);
        assert_eq!(sink.write_chunk(&chunk(0, &[])).unwrap(), 0);
        assert_eq!(sink.write_chunk(&chunk(0, &[0x81])).unwrap(), 1);
        assert_eq!(sink.write_chunk(&chunk(1, &[0x00])).unwrap(), 1);
        assert_eq!(fs::read(out.join("thread-3.flow")).unwrap(), [0x81, 0x00]);
    }

    #[test]
    fn a_link_planted_in_our_place_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("t");
        let sink = FileSink::new(TraceDirectory::open(&out).unwrap(), EventFormat::Binary);
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
    fn jsonl_has_a_line_an_event() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("t");
        let sink = FileSink::new(TraceDirectory::open(&out).unwrap(), EventFormat::Jsonl);
        sink.write_chunk(&chunk(0, &[0x81, 0x01])).unwrap();
        let text = fs::read_to_string(out.join("thread-3.jsonl")).unwrap();
        assert_eq!(text.lines().count(), 3);
    }
}
