//! The shapes of threads: equal calls are one. Of several threads and traces they are joined, methods by their names.

mod facts;
mod join;
mod whole;

pub use self::join::{JoinedMethods, JoinedNames, JoinedThread, NotJoined};

pub(crate) use self::whole::{WholeThread, keep_for_others, read_whole, too_many_shapes};
#[doc(hidden)]
pub use self::{
    facts::{ShapeFact, read_facts},
    join::{Joiner, Joins},
    whole::read_shapes,
};
#[doc(hidden)]
pub use crate::dag::{limit_memory, most_words, words_of};
