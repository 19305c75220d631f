//! The trace directory: which JVM may write where.
//!
//! - A directory belongs to the JVM that holds the lock on its `.lock`, until the recording is over or the
//!   process ends; the system releases the lock with the process, however it ends.
//! - The JVM that gets the lock moves an earlier trace to `DIR.old`, file by file: the directory itself and
//!   its lock stay, so two JVMs never both believe that they own it, and a mount point works too. If its own
//!   trace has no calls in the end, it puts the earlier one back.
//! - A JVM that does not get it uses `DIR/jvm-<pid>-<start>`. While such a JVM lives, nothing is moved. A JVM
//!   that finds a trace of its own session, which must not be moved away, does the same.
//! - JVMs that start at the same time decide one after the other: all of this happens under the lock on
//!   `.gate`, which is held no longer than that.
//! - A trace in one file needs no directory of its own: `one_file` has its rules.
//! - Files are created anew and never opened through a link: anything else in their place is refused.

mod earlier;
mod locks;
mod names;
mod one_file;
mod owned;
mod replacement;
#[cfg(test)]
mod tests;

pub(super) use names::unique_name;
pub use names::{expand, host};
pub(super) use owned::NewSnapshot;
pub use owned::{DirectoryError, TraceDirectory};
pub(super) use replacement::Replacement;
