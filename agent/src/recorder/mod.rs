//! Collects the events of all threads, encodes full chunks, and passes them to the sink. Knows no JVM.
//!
//! ```text
//! engine ─▶ ThreadRecorder (one chunk per thread) ─▶ canonicalizer ─▶ Sink
//! probe  ─▶   ▲ MethodTable: which method, which id         ▼
//!             └ Journal: memory of chunks     Losses, totals
//! ```
//!
//! Only its own thread writes to a [`ThreadRecorder`], without a lock: the engine, or a probe that finds the
//! chunk through its [`Control`] block. The thread that ends the recording reads the other threads' chunks
//! while they may still be writing: `chunk` says why that is sound, [`lifecycle`](crate::lifecycle) shows the
//! protocol. `pause` has what the program itself requests.

mod account;
mod config;
mod end;
mod hand_over;
mod memory;
mod methods;
mod missing_exits;
mod pause;
mod recording;
mod sampling;
mod shared;
mod switch;
#[cfg(test)]
mod tests;
mod thread_life;
mod threads;

pub use crate::sys::{Control, ControlPlace};
pub use config::{Config, SideBand};
pub use end::Timeout;
pub use hand_over::queue::{TooSlow, WhenFull};
pub use memory::journal::Journal;
pub use methods::facts::{DescribeMethod, Loader, MethodFacts, RawMethod};
pub use methods::filters::{Entered, FilterNumber};
pub use methods::ids::{Assigned, IdTable, StartIds};
pub use methods::reached::ReachedLines;
pub use methods::table::{MethodTable, Recorded, ResolvedMethod};
pub use recording::Recorder;
pub use sampling::sampler;
pub use sampling::stacks::{ClassHandle, DescribeClasses, Stacks, ThreadHandle};
pub use threads::carriers;
pub use threads::facts::ThreadFacts;
pub use threads::frames::{Frames, Left};
pub use threads::out::OpenChunks;
pub use threads::table::OpenAt;
pub use threads::thread::ThreadRecorder;
