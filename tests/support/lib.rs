//! Shared by the end-to-end tests: JDKs, the harness, runs under the agent, and a reader of traces that
//! shares no code with the tested one.

mod cli;
mod compiled;
mod counter;
mod decoder;
mod faults;
mod harness;
mod jdk;
mod natives;
mod rounds;
mod run;
mod stepper;
mod tree;

pub use cli::{assert_verbs_agree, check};
pub use counter::{Counter, Counts};
pub use decoder::{Decoded, DecodedThread, LeftOut, decode_trace, decode_trace_without, has_trace};
pub use faults::Fault;
pub use flow_model::{Blinky, Event, Mark, encode};
pub use harness::{compile_for_java_8, golden, harness, lib};
pub use jdk::{Jdk, jdk_8, jdks};
pub use natives::Natives;
pub use rounds::{Reach, Rounds, Way, Workers};
pub use run::{
    Engine, Finished, Program, Running, flow, in_one_file, library, remove_in_use, target_dir,
};
pub use stepper::{Stepped, Stepper};
pub use tree::{Call, Golden, ThreadTree, escaped};
