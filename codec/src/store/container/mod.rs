//! Reads a [`container`](crate::format::container): where the pieces of its streams are, and their bytes, as any other
//! bytes of a trace.

mod blocks;
mod groups;
mod open;
mod pieces;
mod recent;
mod stored;
mod stream;
mod walk;
mod window;

pub(crate) use self::pieces::Container;
pub(crate) use self::stored::{Stored, StoredReader};
pub(crate) use self::stream::Stream;
pub use self::walk::{BlockWalk, NoBlock};
