//! Sums over the calls of a trace, each computed in one pass over the events.
//!
//! | question | type |
//! |---|---|
//! | How often was each method called, and how much happened in it? | [`Report`] |
//! | Where did the calls go? The calling-context tree: calls with the same methods on the stack are one path. | [`Graph`], then [`PathTree`]; from shapes the largest paths alone: [`LargestPaths`] |
//! | How long did each method run? Where did the time go? | [`TimedReport`], [`Graph`] weighed by [`TimeWeight`] |
//! | Which calls lasted longest? | [`Slowest`] |
//! | The same, for the calls made in chosen methods only | [`Rooted`] around a [`Graph`] |
//! | Who calls a method, and whom does it call? For how long? | [`Edges`]; as a tree [`PathTree::callers`], [`PathTree::callees`] |
//! | The same of samples of stacks? | [`StackSums`], then [`PathTree`] |
//! | Which exceptions ended calls, and which methods caught them? | [`Exceptions`] |
//! | How often was each line reached? | [`LineCounts`] |
//! | What was the deepest stack? | [`Deepest`] |
//! | How many calls were there, and of which methods the first ones? | [`Called`] |
//! | What changed between two runs? | [`Diff`] |
//!
//! Sums that need no time can also be added up from the shapes of a thread, with the same result: [`AddShapes`]. So can sums
//! of times, from its shapes and its marks: [`AddSampled`].
//!
//! All but [`Diff`] receive the events of one thread after the other, each followed by `end_thread`: records
//! ([`Visit`](flow_codec::read::Visit)), for times from a [`Pass`](flow_codec::read::Pass) whose clock they share;
//! [`Slowest`], [`Exceptions`] and [`LineCounts`] the events of a [`Timeline`](flow_codec::read::Timeline). None opens a file.

mod called;
mod contexts;
mod deepest;
mod diff;
mod edges;
mod exceptions;
mod graph;
mod labels;
mod largest;
mod lines;
mod nodes;
mod numbering;
mod path_tree;
mod paths;
mod report;
mod rooted;
mod sampled;
mod slowest;
mod timed_report;

pub use called::{Called, CalledShapes};
pub use deepest::Deepest;
pub use diff::{Change, ChangeKind, ComparedSums, Counts, Diff, MethodName, Place, Run};
pub use edges::{EdgeRow, Edges, Sums};
pub use exceptions::{ExceptionRow, Exceptions};
pub use graph::{CallWeight, Graph, TimeWeight, Weight};
pub use labels::Side;
pub use largest::{LargestPaths, PathLimits};
pub use lines::{LineCounts, MethodLines};
pub use nodes::AddShapes;
pub use path_tree::{PathId, PathRow, PathTree, StackSums};
pub use paths::{PathNode, Paths, ROOT};
pub use report::{Precision, Report, ReportRow, SumsOf};
pub use rooted::Rooted;
pub use sampled::AddSampled;
pub use slowest::{SlowCall, Slowest};
pub use timed_report::TimedReport;
