//! Sums by path: the methods from the outermost call to a call.

mod contexts;
mod graph;
mod largest;
pub(super) mod path_tree;
pub(super) mod paths;
mod rooted;

pub use self::graph::CallWeight;
pub use self::graph::{Graph, TimeWeight, Weight};
pub use self::largest::LargestPaths;
pub use self::largest::PathLimits;
pub(crate) use self::path_tree::StackSums;
pub use self::path_tree::{PathId, PathRow, PathTree};
pub use self::paths::PathNode;
pub use self::paths::{Paths, ROOT};
pub use self::rooted::Rooted;
