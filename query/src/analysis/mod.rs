//! Sums over the calls of a trace, each computed in one pass over the events.
//!
//! | question | type |
//! |---|---|
//! | How often was each method called, and how much happened in it? | [`Report`] |
//! | Where did the calls go? The calling-context tree: calls with the same methods on the stack are one path. | [`Graph`], then [`PathTree`]; from shapes the largest paths alone: [`LargestPaths`] |
//! | How long did each method run? Where did the time go? | [`TimedReport`], [`Graph`] weighed by [`TimeWeight`] |
//! | How long did half of a method's calls last, and how long did 99 of 100? | [`Percentiles`] |
//! | Which calls lasted longest? | [`Slowest`] |
//! | The same, for the calls made in chosen methods only | [`Rooted`] around a [`Graph`] |
//! | Who calls a method, and whom does it call? | [`Edges`]; as a tree, with times, [`PathTree::callers`], [`PathTree::callees`] |
//! | Where did samples of stacks go? | [`PathTree`], from [`Frames`](crate::profile::Frames) |
//! | Which exceptions ended calls, and which methods caught them? | [`Exceptions`] |
//! | Which statements, requests or messages were there, by the rules of a preset? | [`Operations`](crate::ask::Operations) |
//! | What do threads hand to each other, and what do they work for, by the rules of presets? | [`Request`](crate::open::Request) |
//! | What was the deepest stack? | [`Deepest`] |
//! | How many calls were there, and of which methods the first ones? | [`Called`] |
//! | What changed between two runs? | [`Diff`] |
//!
//! Sums that need no time can also be added up from the shapes of a thread, with the same result: [`AddShapes`]. So can sums
//! of times, from its shapes and its marks: [`AddSampled`].
//!
//! All but [`Diff`] receive the events of one thread after the other, each followed by `end_thread`: records
//! ([`Visit`](flow_codec::read::Visit)), for times from a [`Pass`](flow_codec::read::Pass) whose clock they share;
//! [`Percentiles`], [`Slowest`] and [`Exceptions`] the events of a [`Timeline`](flow_codec::read::Timeline). None opens a file.

mod by_method;
mod by_path;
mod called;
mod deepest;
mod diff;
mod exceptions;
mod lines;
mod named;
mod nodes;
mod numbering;
mod operations;
mod requests;
mod sampled;
mod slowest;
mod waits;

pub use by_method::{Precision, Report, ReportRow, SumsOf, TimedReport};
pub(crate) use by_path::StackSums;
pub use by_path::{CallWeight, Graph, PathId, PathRow, PathTree};
pub(crate) use lines::{LineCounts, MethodLines, ReachedLines};
pub use nodes::AddShapes;
pub use operations::Parameter;
pub(crate) use operations::{FindOperations, recorded_roles, roles_in};
#[cfg(test)]
pub(crate) use requests::handed_tests;
pub(crate) use requests::{
    CONTEXT, COROUTINES, ContextSpan, Coroutine, FindContexts, FindCoroutines, FindHandOvers, Give,
    HANDOVERS, HandOvers, MadeTexts, NameParts, NamedPart, Section, SuspendMethods, ThreadContexts,
    ThreadPart,
};
pub use sampled::AddSampled;
pub use waits::FoundWait;

#[doc(hidden)]
pub use self::{
    by_method::{EdgeRow, Edges, MethodPercentiles, Percentiles, Side},
    by_path::{LargestPaths, PathLimits, PathNode, Paths, ROOT, Rooted, TimeWeight, Weight},
    called::{Called, CalledShapes},
    deepest::Deepest,
    diff::{Change, ChangeKind, ComparedSums, Counts, Diff, MethodName, Place, Run},
    exceptions::{ExceptionRow, Exceptions, Handler},
    named::NamedShapes,
    operations::Operation,
    slowest::{SlowCall, Slowest},
    waits::FindWaits,
};
