//! What is known of each thread: its recorder with the chunk that it fills, its name, its frames, its clock.

pub mod carriers;
pub(super) mod cpu_time;
pub(super) mod facts;
pub(super) mod frames;
pub(super) mod lines;
pub(super) mod marks;
pub(super) mod out;
pub(super) mod table;
pub(super) mod thread;
