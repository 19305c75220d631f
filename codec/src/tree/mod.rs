//! Call trees: from records to nested calls. Nothing here is recursive, so depth is limited only by memory.
//! [`call_stacks`] finds the stacks of many calls in one pass.
//!
//! | | order | memory |
//! |---|---|---|
//! | [`LazyTree`] | any | an [`Index`](crate::index::Index), a thousandth of the thread file |

mod lazy;
mod parts;
mod stacks;

pub use lazy::{LazyTree, Node, Subtree};
pub use stacks::{CallStack, call_stacks};
