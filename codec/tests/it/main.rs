//! Tests of the crate from outside: one module per subject, in one test binary, so that it is linked once.

mod container;
mod file_damage;
mod generated;
mod golden;
mod journal;
mod journal_damage;
mod parts;
mod raw;
mod resync;
mod round_trip;
mod shrink;
mod support;
