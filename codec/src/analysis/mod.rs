//! Answers about call trees, each computed in one pass over the events.
//!
//! | question | answer |
//! |---|---|
//! | How often was each method called, and how much happened in it? | [`Report`] |
//! | Where did the calls go? The aggregate tree: calls with the same methods on the stack are one path. | [`Graph`], then [`PathTree`] |
//! | How long did each method run? Where did the time go? | [`TimedReport`], [`Graph`] by [`Time`] |
//! | Which calls took longest? | [`Slowest`] |
//! | The same, of what happens in some methods only | [`Rooted`] around a [`Graph`] |
//! | Who calls a method, and whom does it call? For how long? | [`Edges`] |
//! | What was the deepest stack? | [`Deepest`] |
//! | What changed between two runs? | [`Diff`] |
//!
//! All but the last receive records ([`Visit`](crate::read::Visit)) of one thread after the other, each
//! followed by `end_thread`; those that ask for times receive them from
//! a [`Pass`](crate::read::Pass) with times, and hold its clock. [`Slowest`] receives the events of a
//! [`Timeline`](crate::read::Timeline). None opens a file.

mod deepest;
mod diff;
mod edges;
mod graph;
mod numbering;
mod path_tree;
mod paths;
mod report;
mod rooted;
mod slowest;
mod timed_report;

pub use deepest::Deepest;
pub use diff::{Change, ChangeKind, Counts, Diff, MethodName, Run};
pub use edges::{EdgeRow, Edges, Side, Sums};
pub use graph::{CallWeight, Graph, TimeWeight, Weight};
pub use path_tree::{PathId, PathRow, PathTree};
pub use paths::{PathNode, Paths, ROOT};
pub use report::{Report, ReportRow};
pub use rooted::Rooted;
pub use slowest::{SlowCall, Slowest};
pub use timed_report::TimedReport;
