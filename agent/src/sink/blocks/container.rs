//! Everything in one file.

use std::sync::Arc;
use std::time::Instant;

use flow_codec::ThreadId;
use flow_codec::format::container::StreamKind;
use flow_codec::format::manifest::Totals;

use super::{BlockFile, Pack};
use crate::sink::{CanonicalChunk, Home, LastChunk, Sink, SinkError};

/// Appends chunks and marks of all threads to the one file of the trace.
#[derive(Debug)]
pub struct ContainerSink {
    file: Arc<BlockFile>,
}

impl ContainerSink {
    /// Writes into this file.
    #[must_use]
    pub const fn new(file: Arc<BlockFile>) -> Self {
        Self { file }
    }
}

impl Sink for ContainerSink {
    fn write_chunk(&self, chunk: &CanonicalChunk<'_>) -> Result<u64, SinkError> {
        let CanonicalChunk { thread, offset, bytes, pack, is_last, .. } = *chunk;
        if !bytes.is_empty() {
            self.file.wait_for_room();
            self.file.append((Some(thread), StreamKind::Events), offset.get(), bytes, pack)?;
        }
        if is_last {
            self.file.wrote_last(thread);
        }
        Ok(bytes.len() as u64)
    }

    fn write_marks(
        &self,
        thread: ThreadId,
        _: Home,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), SinkError> {
        self.file.append((Some(thread), StreamKind::Marks), offset, bytes, Pack::IfFree)
    }

    fn write_last(&self, threads: &[LastChunk<'_>]) -> Result<u64, SinkError> {
        self.file.wait_for_room();
        self.file.append_last(threads)
    }

    fn takes_lines(&self) -> bool {
        true
    }

    fn has_one_file(&self) -> bool {
        true
    }

    fn write_lines(&self, offset: u64, lines: &[u8]) -> Result<(), SinkError> {
        self.file.append((None, StreamKind::Threads), offset, lines, Pack::IfFree)
    }

    fn write_open_chunk(&self, thread: ThreadId, journal: &[u8]) -> Result<(), SinkError> {
        self.file.append((Some(thread), StreamKind::Open), 0, journal, Pack::IfFree)
    }

    fn limit(&self) -> Option<&SinkError> {
        self.file.limit()
    }

    fn responds(&self, deadline: Instant) -> bool {
        self.file.responds(deadline)
    }

    fn given_up(&self) -> Totals {
        self.file.given_up()
    }

    fn refuse(&self) {
        self.file.refuse();
    }

    fn close(&self) {
        self.file.close();
    }
}
