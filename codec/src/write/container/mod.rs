//! Traces in one file: writing one from beginning to end, and what each of several parts must contain.

mod parts;
mod writer;

pub use self::parts::{PartStart, PartTracker};
pub use self::writer::{Compression, ContainerWriter, MAX_GROUPED_BYTES, PIECE_BYTES, Packer};
