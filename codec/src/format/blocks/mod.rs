//! Blocks with checksums: many streams in one file, and over a socket.

pub mod beginning;
pub mod container;
pub mod group;
pub mod stream;
