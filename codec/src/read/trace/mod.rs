//! The content of a trace directory, except for events and marks.

mod blocks;
mod container;
mod directory;
mod groups;
mod journal;
mod jsonl;
mod kept;
mod listing;
mod methods;
mod open_chunk;
mod parts;
mod place;
mod recent;
mod regular;
mod set;
mod splice;
mod stored;
mod stream;
mod text;
mod thread_file;
mod threads;
mod walk;
mod window;

pub(crate) use self::container::Container;
pub use self::directory::{JournalReading, Trace};
pub use self::journal::is_journal_elsewhere;
pub use self::methods::{Method, Methods};
pub use self::open_chunk::OpenChunk;
pub(crate) use self::open_chunk::OpenMarks;
pub use self::parts::parts_beside;
pub use self::set::TraceSet;
pub use self::splice::Splice;
pub(crate) use self::stored::{Stored, StoredReader};
pub use self::thread_file::{Parts, ThreadFile};
pub use self::threads::{OpenFrames, Thread, Threads};
pub use self::walk::{BlockWalk, NoBlock};
