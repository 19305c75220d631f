//! The agent: a library that a JVM loads with `-agentpath` and that records every method call.
//!
//! # The life of one event
//!
//! 1. The JVM calls back ([`ffi`]): "this thread enters that method". Ended already, or inside a call
//!    of our own? Then nothing happens.
//! 2. The engine ([`engine`]) asks the [`recorder`]: is the method recorded, and by which id? Known
//!    methods are one look into a small table. A new one is described by the JVM, judged by the
//!    [`filter`], given an id, and its name written, before the event is.
//! 3. The event is appended to the thread's chunk: the encoded id, or one byte for an exit. The chunk is a
//!    part of the journal, a file that outlives the process.
//! 4. A full chunk is folded into canonical `.flow` and handed to the [`sink`].
//! 5. When the thread or the JVM ends, what is left follows ([`lifecycle`]).
//!
//! The library has three entry points, `Agent_OnLoad`, `Agent_OnAttach` and `Agent_OnUnload`, and
//! exports nothing else. The Rust items are public for tests.

pub mod engine;
pub mod ffi;
pub mod filter;
pub mod lifecycle;
pub mod logging;
pub mod mains;
pub mod options;
pub mod recorder;
pub mod rewrite;
mod secrets;
pub mod sink;
mod text;
mod time;
