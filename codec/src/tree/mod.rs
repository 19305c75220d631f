//! Call trees: from records to nested calls. None has recursion, so depth is bounded only
//! by memory. [`call_stacks`] finds many calls in one pass.
//!
//! | | order | memory |
//! |---|---|---|
//! | [`LazyTree`] | any | an [`Index`](crate::index::Index), a thousandth of the thread file |

mod lazy;
mod parts;
mod stacks;

pub use lazy::{LazyTree, Node, Subtree};
pub use stacks::{CallStack, call_stacks};
