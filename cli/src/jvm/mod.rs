//! Loads the agent into a running JVM with HotSpot's attach protocol. The JDK's tools do the same, but a JRE does not
//! have them.
//!
//! ```text
//! we                                            the JVM
//! create .attach_pid<PID> in its directory
//! signal QUIT                             ──▶   sees the file, listens at /tmp/.java_pid<PID>
//! connect, "load LIBRARY OPTIONS"         ──▶   Agent_OnAttach(OPTIONS)
//!                                         ◀──   whether the library was loaded, and what it returned
//! ```
//!
//! A JVM listens until it ends, so the first two steps are needed only once. The answer has no space for a message of
//! the agent, so an agent that refuses writes the reason to a file.
//!
//! With the same protocol a JVM is asked what its threads wait for.
//!
//! The QUIT signal kills a process that does not handle it. It is sent only to a JVM that does.

mod answer;
mod c_library;
mod connect;
mod disabled;
mod load;
mod process;
mod refusal;
mod threads;

pub(crate) use c_library::expect_same_c_library;
pub(crate) use load::load;
pub(crate) use process::Process;
pub(crate) use refusal::Refusal;
pub(crate) use threads::threads;
