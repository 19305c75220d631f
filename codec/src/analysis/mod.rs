//! Answers about call trees, each computed in one pass over the events.

mod graph;
mod numbering;
mod path_tree;
mod paths;
mod report;

pub use graph::Graph;
pub use path_tree::{PathId, PathRow, PathTree};
pub use report::{Report, ReportRow};
