//! Call trees: from records to nested calls, in three ways. None has recursion, so depth is bounded only
//! by memory.
//!
//! | | order | memory |
//! |---|---|---|
//! | [`Walk`] | from the first call to the last | an id for each open frame |
//! | [`LazyTree`] | any | an [`Index`](crate::index::Index), a thousandth of the thread file |
//! | [`Tree`] | any | 48 bytes for each call |

mod lazy;
mod walk;
mod whole;

pub use lazy::{LazyTree, Node, Subtree};
pub use walk::{Step, Walk, WalkTotals};
pub use whole::{Tree, TreeNode};
