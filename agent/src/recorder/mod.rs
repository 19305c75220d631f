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

mod ahead;
mod asked;
mod buffers;
mod checkpoint;
mod chunk;
mod config;
mod counts;
mod cpu_time;
mod end;
mod ended;
mod filters;
mod frames;
mod hand_over;
mod idle;
mod ids;
mod journal;
mod known;
mod left_out;
mod lines;
mod losses;
mod marks;
mod methods;
mod missing_exits;
mod pause;
mod queue;
mod recording;
pub mod sampler;
mod samples;
mod stacks;
#[cfg(test)]
mod tests;
mod thread;
mod thread_life;
mod threads;
mod writer;

pub use crate::sys::{Control, ControlPlace};
pub use config::{Config, SideBand};
pub use end::Timeout;
pub use filters::{Entered, FilterNumber};
pub use frames::Frames;
pub use ids::{Assigned, IdTable, StartIds};
pub use journal::Journal;
pub use methods::{
    DescribeMethod, Loader, MethodFacts, MethodTable, RawMethod, Recorded, ResolvedMethod,
};
pub use queue::{OpenChunks, TooSlow, WhenFull};
pub use recording::{Left, Recorder};
pub use stacks::{ClassHandle, DescribeClasses, Stacks, ThreadHandle};
pub use thread::ThreadRecorder;
pub use threads::{OpenAt, ThreadFacts};
