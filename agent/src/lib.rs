//! The agent: a library that a JVM loads with `-agentpath` and that records every method call.
//!
//! # The life of one event
//!
//! 1. The JVM calls back ([`jvm`]): "this thread enters that method". If recording has ended, or the thread
//!    is inside a call of ours, nothing happens.
//! 2. The engine ([`engine`]) asks the [`recorder`]: is the method recorded, and with which id? A known
//!    method is one look-up in a small table. For a new one, the JVM is asked for a description, the
//!    [`filter`] decides, an id is assigned, and its name is written, before the event is.
//! 3. The event is appended to the thread's chunk: the encoded id, or one byte for an exit. The chunk is a
//!    part of the journal, a file that outlives the process.
//! 4. A full chunk is encoded as canonical `.flow` and passed to the [`sink`].
//! 5. When the thread or the JVM ends, the rest follows ([`lifecycle`]).
//!
//! These are the steps with `engine=events`. With `engine=instrument`, a probe in the rewritten method does
//! step 3 itself, in compiled Java code, and calls the recorder only if the chunk has no room.
//!
//! The library exports its entry points `Agent_OnLoad`, `Agent_OnAttach` and `Agent_OnUnload`,
//! `flow_agent_recording` for other copies of itself, and nothing else. The Rust items are public for tests.

mod certain;
pub mod engine;
pub mod jvm;
pub mod lifecycle;
pub mod logging;
pub mod recorder;
pub mod request;
pub mod rewrite;
mod secrets;
pub mod sink;
pub mod sys;
mod text;

pub use flow_options as options;
pub use flow_options::filter;
