//! The shapes of threads: equal calls are one. Of several threads and traces they are joined, methods by their names.

mod facts;
mod join;
mod whole;

pub use self::facts::{ShapeFact, read_facts};
pub use self::join::{JoinedMethods, JoinedNames, JoinedThread, Joiner, Joins, NotJoined};
pub use self::whole::read_shapes;
pub(crate) use self::whole::{WholeThread, keep_for_others, read_whole, too_many_shapes};
pub use crate::dag::{default_words, words_of};
