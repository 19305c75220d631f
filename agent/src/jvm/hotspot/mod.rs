//! What HotSpot keeps in its own memory and no interface of the JVM shows.
//!
//! | module | what |
//! |---|---|
//! | `structs` | where the JVM has its fields, as it exports that |
//! | `parameters` | names of parameters of loaded methods |
//! | `threads` | the objects for threads (safe) |

pub(super) mod parameters;
mod structs;
mod threads;

pub(super) use threads::{NativeThread, Offsets};
