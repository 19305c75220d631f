//! Sums by path: the methods from the outermost call to a call.

mod contexts;
mod graph;
mod largest;
pub(super) mod path_tree;
pub(super) mod paths;
mod rooted;

pub use self::graph::{CallWeight, Graph, TimeWeight, Weight};
pub use self::largest::{LargestPaths, PathLimits};
pub(crate) use self::path_tree::StackSums;
pub use self::path_tree::{PathId, PathRow, PathTree};
pub use self::paths::{PathNode, Paths, ROOT};
pub use self::rooted::Rooted;
