//! From a trace directory to events.
//!
//! [`FlowReader`] reads one thread's bytes from any stream, in constant memory. [`Trace`] opens a
//! directory: its manifest, methods and threads, and each thread's events, in whatever file they stand.
//! Nothing here trusts what it reads: lengths are
//! checked before memory is reserved, and damage is reported with its place.

mod flow;
mod journal;
mod jsonl;
mod methods;
mod open_chunk;
mod splice;
mod text;
mod thread_file;
mod threads;
mod trace;

pub use flow::{FlowReader, Tail};
pub use jsonl::JsonlReader;
pub use methods::{Method, Methods};
pub use open_chunk::{OpenChunk, OpenChunkBytes};
pub use splice::Splice;
pub use thread_file::{Events, ThreadFile};
pub use threads::{OpenFrames, Thread, Threads};
pub use trace::{JournalReading, Trace, TraceSet};

use crate::format::flow::Record;
use crate::{Offset, Result};

/// A source of one thread's records.
pub trait ReadRecords {
    /// The next record and where it begins, or `None` at the end.
    ///
    /// # Errors
    /// The stream cannot be read, or violates the format. After an error there are no more records.
    fn next_record(&mut self) -> Result<Option<(Offset, Record)>>;

    /// How the stream ended, once [`next_record`](Self::next_record) has returned `None`.
    fn tail(&self) -> Tail;

    /// Where the next record begins: how far the stream has been read.
    fn position(&self) -> Offset;

    /// Records so far that flow would have written otherwise: exit runs in several records, numbers
    /// with superfluous bytes.
    fn non_canonical(&self) -> u64 {
        0
    }
}
