//! Files of blocks, each of which belongs to one thread: a trace in one file, and what threads of a directory share.

mod block_file;
mod container;
mod packing;
mod parts;
mod snapshot;

pub use block_file::{BlockFile, Pack};
pub use container::ContainerSink;
