//! Tests of the crate from outside: one module per subject, in one test binary, so that it is linked once.

mod analysis;
mod checks;
mod container;
mod corpus;
mod corrupt;
mod examples;
mod file_damage;
mod generated;
mod golden;
mod index;
mod journal;
mod journal_damage;
#[cfg(target_os = "linux")]
mod limits;
mod naive;
mod parts;
mod profile;
mod raw;
mod resync;
mod round_trip;
mod shapes;
mod shares;
mod support;
mod timed;
