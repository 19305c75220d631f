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
pub use self::methods::{Field, Method, Methods};
pub use self::opened::{JournalReading, Trace};
pub use self::splice::Splice;
pub use self::thread_file::{Parts, ThreadFile};
pub use self::threads::{OpenFrames, Thread, Threads};
