//! Call trees: from records to nested calls. Nothing here is recursive, so depth is limited only by memory.
//! `call_stacks` finds the stacks of many calls in one pass.
//!
//! | | order | memory |
//! |---|---|---|
//! | [`LazyTree`] | any | an [`Index`](flow_codec::index::Index), a thousandth of the thread file, or its stored [shapes](crate::dag) |
//! | [`SelectedTree`] | any | the same, and a count for each shape or for each interval of the index |

mod lazy;
mod node;
mod parts;
mod selected;
mod shaped;
mod stacks;
mod steps;

pub use lazy::LazyTree;
pub use node::{EqualCalls, Node, Subtree};
pub use selected::{SelectedCalls, SelectedTree};
pub(crate) use stacks::call_stacks;
pub use steps::{Direction, SearchStep};
