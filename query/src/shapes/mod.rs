//! The shapes of threads: equal calls are one. Of several threads and traces they are joined, methods by their names.

mod join;
mod memory;
mod whole;

pub use self::join::{JoinedMethods, JoinedNames, JoinedThread, Joiner, Joins, NotJoined};
pub use self::memory::{default_words, words_of};
pub use self::whole::read_shapes;
pub(crate) use self::whole::{WholeThread, read_whole, too_many_shapes};
