//! Where full chunks go. A sink takes encoded chunks; further outputs are further sinks.

mod blocks;
mod budget;
mod directory;
mod file_io;
mod files;
mod free_space;
mod journal_file;
mod lines;
mod manifest_place;
mod mounts;
mod permits;
mod socket;
mod streamer;
mod syncer;

use std::fmt;
use std::io;
use std::time::Instant;

use flow_codec::format::manifest::Totals;
use flow_codec::{Offset, ThreadId};

use crate::sys::allocator::OutOfMemory;

pub use blocks::{BlockFile, ContainerSink, Pack};
pub use budget::Budget;
pub use directory::{DirectoryError, TraceDirectory, expand, host};
pub use files::FileSink;
pub use journal_file::{JournalFile, JournalPlace, MemoryFile};
pub use lines::LineFile;
pub use manifest_place::ManifestPlace;
pub use streamer::{Streamed, Streamer};
pub use syncer::Syncer;

/// Where a sink keeps what a thread records, from its first chunk to its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// In files of its own.
    Own,
    /// In a file with other threads.
    Shared,
}

/// A chunk of one thread in canonical form.
#[derive(Clone, Copy, Debug)]
pub struct CanonicalChunk<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// Where what it records is kept.
    pub home: Home,
    /// How many bytes the sink has stored for earlier chunks; 0 for the first one.
    pub offset: Offset,
    /// Whole records.
    pub bytes: &'a [u8],
    /// Whether there is time to compress them.
    pub pack: Pack,
    /// Whether no events of the thread follow.
    pub is_last: bool,
}

/// What a thread recorded last.
#[derive(Clone, Copy, Debug)]
pub struct LastChunk<'a> {
    /// Its last events.
    pub chunk: CanonicalChunk<'a>,
    /// How many bytes of marks the sink has stored.
    pub marks_offset: u64,
    /// The last marks.
    pub marks: &'a [u8],
}

/// Takes encoded chunks, those of one thread in order.
pub trait Sink: Send + Sync {
    /// Stores a chunk and returns how many bytes that took. An empty chunk takes none.
    ///
    /// # Errors
    /// The chunk is not stored whole; no further chunk of the thread may follow.
    fn write_chunk(&self, chunk: &CanonicalChunk<'_>) -> Result<u64, SinkError>;

    /// Stores marks of a thread after the first `offset` bytes of earlier marks.
    ///
    /// # Errors
    /// They are not stored whole; no further marks of the thread may follow.
    fn write_marks(
        &self,
        thread: ThreadId,
        home: Home,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), SinkError>;

    /// Stores what several threads recorded last. Returns how many bytes of events that are.
    ///
    /// # Errors
    /// Some of them may not be stored.
    fn write_last(&self, threads: &[LastChunk<'_>]) -> Result<u64, SinkError> {
        self.write_each(threads)
    }

    /// The same, one after the other.
    ///
    /// # Errors
    /// Like those of [`write_last`](Self::write_last).
    fn write_each(&self, threads: &[LastChunk<'_>]) -> Result<u64, SinkError> {
        let mut written = 0;
        for LastChunk { chunk, marks_offset, marks } in threads {
            written += self.write_chunk(chunk)?;
            if !marks.is_empty() {
                self.write_marks(chunk.thread, chunk.home, *marks_offset, marks)?;
            }
        }
        Ok(written)
    }

    /// Whether lines of threads that share a file belong into that file.
    fn takes_lines(&self) -> bool {
        false
    }

    /// Whether everything goes into one file, the lines of all threads too.
    fn has_one_file(&self) -> bool {
        false
    }

    /// Stores such lines, after `offset` bytes of earlier ones, if it [takes](Self::takes_lines) any.
    ///
    /// # Errors
    /// They are not stored whole; no further ones may follow.
    fn write_lines(&self, offset: u64, lines: &[u8]) -> Result<(), SinkError> {
        let _ = (offset, lines);
        Ok(())
    }

    /// Stores a copy of the open chunk of a thread, as a journal with one slot, for readers that get the trace but not its
    /// journal.
    ///
    /// # Errors
    /// The copy could not be stored.
    fn write_open_chunk(&self, thread: ThreadId, journal: &[u8]) -> Result<(), SinkError> {
        let _ = (thread, journal);
        Ok(())
    }

    /// Waits until what must be stored last can be. Returns `false` if another thread hangs while it stores.
    fn responds(&self, deadline: Instant) -> bool {
        let _ = deadline;
        true
    }

    /// Why the recording should end now, although everything was stored.
    fn limit(&self) -> Option<&SinkError> {
        None
    }

    /// What was removed because newer events were kept.
    fn given_up(&self) -> Totals {
        Totals::default()
    }

    /// Stores no chunks from now on: some before them are missing.
    fn refuse(&self);

    /// Closes what is open, at the end of the recording. Nothing is stored from then on.
    fn close(&self);
}

/// The scope of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The events of one thread.
    Thread,
    /// Everything: recording must stop.
    Trace,
    /// The same, because the trace has the size that the user allows. Not a fault.
    Limit,
    /// Nothing: it came after the end.
    Ended,
}

/// Something could not be stored.
#[derive(Clone, Debug)]
pub struct SinkError {
    scope: Scope,
    what: String,
}

impl SinkError {
    /// A failure that ends the recording.
    pub fn whole_trace(what: impl Into<String>) -> Self {
        Self { scope: Scope::Trace, what: what.into() }
    }

    /// The trace has its largest size, or the disk no more room for it.
    pub(crate) fn limit(what: impl Into<String>) -> Self {
        Self { scope: Scope::Limit, what: what.into() }
    }

    /// A lack of memory, which ends the recording.
    pub(crate) fn no_memory(error: OutOfMemory) -> Self {
        Self::whole_trace(error.to_string())
    }

    /// Something that comes after the end of the recording.
    pub(crate) fn ended() -> Self {
        Self { scope: Scope::Ended, what: "the recording has ended".to_owned() }
    }

    /// A failure that ends the recording of one thread.
    pub fn one_thread(what: impl Into<String>) -> Self {
        Self { scope: Scope::Thread, what: what.into() }
    }

    fn io(scope: Scope, file: &str, error: &io::Error) -> Self {
        Self { scope, what: format!("{file}: {error}") }
    }

    /// The scope of the failure.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for SinkError {}
