//! Start and end of the recording; owns the one [`Recorder`](crate::recorder::Recorder) of the process.
//!
//! ```text
//!             Agent_OnLoad            VMStart                VMDeath
//!   nothing ──────────────▶ loaded ───────────▶ recording ───────────▶ ended
//!      │  bad options,        │                     │ write error,        ▲
//!      │  directory           │                     │ panic of ours       │
//!      └─▶ JVM does not start └─────────────────────┴─────────────────────┘
//!
//!             Agent_OnAttach                            Agent_OnAttach
//!   nothing ─────────────────────────────▶ recording ──────────────────▶ ended ─▶ released: nothing
//! ```
//!
//! - Every callback first checks [`Recorder::is_on`](crate::recorder::Recorder::is_on) and returns if the
//!   recording has ended: the JVM still delivers some events after VMDeath.
//! - After a detach the recording is [released](release): its files, its lock and its memory are freed when
//!   the last thread that is still in it leaves it. Each callback, and each thread of the agent, holds a
//!   reference.
//! - VMDeath switches recording off, writes every live thread's open chunk without waiting for the thread,
//!   and replaces the manifest. What the thread records after that goes into a chunk that is no longer read,
//!   until its next entry finds that recording is off and parks it.
//! - A fault of ours ends the recording, never the JVM, and is reported once.

mod agent;
mod current;
mod manifest;
mod notice;
mod opening;
mod snapshot;
mod start;

pub use agent::{Agent, change_filters_by};
pub use current::{agent, agent_of_events, release};
pub use notice::{Notice, notify};
pub use opening::{Start, StartError};
pub use start::{on_error, start};
