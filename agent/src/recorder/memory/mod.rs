//! Memory for what threads record: slots of the journal with chunks in them, and buffers in which chunks are encoded.

pub(super) mod buffers;
pub(super) mod chunk;
pub(super) mod journal;
pub(super) mod samples;
