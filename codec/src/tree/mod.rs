//! Call trees: from records to nested calls. None has recursion, so depth is bounded only
//! by memory. [`call_stacks`] finds many calls in one pass.
//!
//! | | order | memory |
//! |---|---|---|
//! | [`Walk`] | from the first call to the last | an id for each open frame |
//! | [`LazyTree`] | any | an [`Index`](crate::index::Index), a thousandth of the thread file |
//! | [`Tree`] | any | 48 bytes for each call |

mod lazy;
mod parts;
mod stacks;
mod time;
mod walk;
mod whole;

pub use lazy::{LazyTree, Node, Subtree};
pub use stacks::{CallStack, call_stacks};
pub use walk::{Step, Walk, WalkTotals};
pub use whole::{Tree, TreeNode};
