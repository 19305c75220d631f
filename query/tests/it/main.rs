//! Tests of the crate from outside: one module per subject, in one test binary, so that it is linked once.

mod analysis;
mod around;
mod checks;
mod corpus;
mod corrupt;
mod examples;
mod index;
#[cfg(target_os = "linux")]
mod limits;
mod naive;
mod profile;
mod shapes;
mod shares;
mod support;
mod timed;
