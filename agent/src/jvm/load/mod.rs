//! How the library gets into a process, and what it does there first.
//!
//! | module | what |
//! |---|---|
//! | `entry` | `Agent_OnLoad`, `Agent_OnAttach`, `Agent_OnUnload` |
//! | `attach` | loading into a running JVM, and detaching (safe) |
//! | `copies` | other copies of this library in the same process |
//! | `exports` | keeps foreign symbols out of the export table |

pub(super) mod attach;
mod copies;
mod entry;
mod exports;
