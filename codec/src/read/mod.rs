//! From a trace directory to events.
//!
//! | room | holds |
//! |---|---|
//! | `trace` | the content of a trace: [`Trace`], its methods and threads, and each [`ThreadFile`] |
//! | `decode` | from bytes to records and marks: [`FlowReader`], [`Marks`] |
//! | `records` | the records of a thread: [`Content`], and [`Events`] of all of it or of ranges |
//! | `marks` | what else is known about positions of a thread, above all times: [`Bounds`] |
//! | `samples`, `stacks` | where threads were when they were sampled: [`Samples`] one by one, [`StackSamples`] in memory |
//! | `timeline` | events and marks in one order: [`Timeline`], its [`Calls`], and the tests that were run |
//! | `hpl` | the samples in a log of another tool: [`HplReader`] |
//! | `pass` | records with times for the analyses of `flow-query`, as fast as without: [`Pass`] |
//!
//! Nothing here trusts its input: lengths are checked before memory is reserved, and damage is reported with
//! its place. Memory does not depend on the number of events.

mod decode;
mod hpl;
mod marks;
mod pass;
mod records;
mod samples;
mod stacks;
mod timeline;
mod trace;

pub use self::decode::*;
pub use self::marks::*;
pub use self::pass::*;
pub use self::records::*;
pub use self::stacks::StackSample;
pub use self::timeline::*;
pub use self::trace::*;

#[doc(hidden)]
pub use self::{hpl::*, samples::*, stacks::StackSamples};
#[doc(hidden)]
pub use crate::store::{BlockWalk, NoBlock, OpenChunk, is_journal_elsewhere, parts_beside};
