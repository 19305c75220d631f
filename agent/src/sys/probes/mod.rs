//! Memory that probes read and write.
//!
//! | module | what |
//! |---|---|
//! | `blocks` | the table of control blocks, in which probes find the block of their thread by its id |
//! | `control` | the words of a control block |
//! | `place` | where the control block of a thread is (safe) |
//! | `classes` | the table in which probes find the classes of exceptions |
//! | `places` | the table in which probes find whether a place of lines was reached before (safe) |
//! | `counter` | the counter of sequence numbers (safe) |

pub(crate) mod blocks;
pub(crate) mod classes;
pub(super) mod control;
pub(crate) mod counter;
pub(super) mod place;
pub(crate) mod places;
