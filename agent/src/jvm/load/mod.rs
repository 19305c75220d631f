//! How the library gets into a process, and what it does there first.
//!
//! | module | what |
//! |---|---|
//! | `entry` | `Agent_OnLoad`, `Agent_OnAttach`, `Agent_OnUnload` |
//! | `attach` | loading into a running JVM, and detaching (safe) |
//! | `process` | prepares the process for a panic and for a fork |
//! | `copies` | other copies of this library in the same process |
//! | `exports` | keeps foreign symbols out of the export table |

mod attach;
mod copies;
mod entry;
mod exports;
mod process;
