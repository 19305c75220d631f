//! The content of a trace directory, except for events and marks.

mod directory;
mod kept;
mod listing;
mod methods;
mod opened;
mod set;
mod splice;
mod thread_file;
mod threads;

pub(crate) use self::methods::Classes;
pub use self::methods::{Method, Methods};
pub use self::opened::Trace;
pub use self::thread_file::ThreadFile;
pub use self::threads::{OpenFrames, Thread, Threads};

#[doc(hidden)]
pub use self::{methods::Field, opened::JournalReading, splice::Splice, thread_file::Parts};
