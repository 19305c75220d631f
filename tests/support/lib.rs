//! What the end-to-end tests share: JDKs, the harness, runs under the agent, and a reader of traces
//! that shares no code with the one that is tested.

mod counter;
mod decoder;
mod harness;
mod jdk;
mod run;
mod tree;

pub use counter::{Counter, Counts};
pub use decoder::{Decoded, DecodedThread, Event, LeftOut, decode_trace, encode};
pub use harness::{golden, harness, lib};
pub use jdk::{Jdk, jdks};
pub use run::{Engine, Finished, Program, flow, library, target_dir};
pub use tree::{Call, Golden, ThreadTree, escaped};
