//! Answers about call trees, each computed in one pass over the events.
//!
//! | question | answer |
//! |---|---|
//! | How often was each method called, and how much happened in it? | [`Report`] |
//! | Where did the calls go? The aggregate tree: calls with the same methods on the stack are one path. | [`Graph`], then [`PathTree`] |
//! | The same, of what happens in some methods only | [`Rooted`] around a [`Graph`] |
//! | Who calls a method, and whom does it call? | [`Neighbours`] |
//! | What was the deepest stack? | [`Deepest`] |
//! | What changed between two runs? | [`Diff`] |
//!
//! All but the last receive records ([`Visit`](crate::read::Visit)) of one thread after the other, each
//! followed by `end_thread`. None opens a file.

mod deepest;
mod diff;
mod graph;
mod neighbours;
mod numbering;
mod path_tree;
mod paths;
mod report;
mod rooted;

pub use deepest::Deepest;
pub use diff::{Change, ChangeKind, Counts, Diff, MethodName, Run};
pub use graph::Graph;
pub use neighbours::Neighbours;
pub use path_tree::{PathId, PathRow, PathTree};
pub use report::{Report, ReportRow};
pub use rooted::Rooted;
