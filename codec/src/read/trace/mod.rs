//! The content of a trace directory, except for events and marks.

mod directory;
mod journal;
mod jsonl;
mod methods;
mod open_chunk;
mod regular;
mod splice;
mod text;
mod thread_file;
mod threads;

pub use self::directory::{JournalReading, Trace, TraceSet};
pub use self::journal::is_journal_elsewhere;
pub use self::methods::{Method, Methods};
pub use self::open_chunk::OpenChunk;
pub(crate) use self::open_chunk::OpenMarks;
pub(crate) use self::regular::open as open_regular;
pub use self::splice::Splice;
pub use self::thread_file::{Parts, ThreadFile};
pub use self::threads::{OpenFrames, Thread, Threads};
