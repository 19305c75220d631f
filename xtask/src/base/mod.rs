//! What all verbs build on: how a command ends, runs other programs, prints, and knows the source tree.

pub(crate) mod arguments;
pub(crate) mod failure;
pub(crate) mod parallel;
pub(crate) mod process;
pub(crate) mod project;
pub(crate) mod report;
