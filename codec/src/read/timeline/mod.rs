//! The timeline of a thread: its events and marks in one order, with the time of each.
//!
//! ```text
//! events ─┐
//!         ├─▶ merge (exit runs split at marks) ─▶ select ─▶ window, min_duration ─▶ Timeline ─▶ calls
//! marks ──┘
//! ```
//!
//! Exports, `flow replay`, the page, the longest calls and the tests of a thread are read this way. Sums over
//! whole traces use a [`Pass`](crate::read::Pass), which is faster and follows the same rules; tests compare
//! the two.
//!
//! **Time.** Times are bounds and an estimate, as `docs/time.md` defines them; estimates never go back. All exits of a run
//! up to the next time mark happen at once, at the time of the first of them. A note, a gap or a pause has the time of the
//! time mark before it, in the order of the marks.
//!
//! Memory: the marks up to the next time mark, and what each stage needs.

mod ahead;
mod calls;
mod event;
mod executions;
mod known;
mod limit;
mod merge;
mod merged;
mod moments;
mod placing;
mod select;
mod stages;
mod test_runs;
mod values;
mod visit;

pub use self::ahead::CallTimes;
pub use self::calls::{Call, Calls};
pub use self::event::{
    EventKind, HandledException, TimelineEvent, Unwound, WaitEvent, WaitedFor, When,
};
pub use self::merge::Timeline;
pub use self::test_runs::TestRun;

#[doc(hidden)]
pub use self::{
    ahead::Lookahead,
    calls::{CallStack, KeepAccesses},
    event::{Stamp, VisitTimeline, Visited},
    executions::{Executed, Executions, Operands, This},
    merged::{EventsOfThread, Merged, MergedItem, MergedState, Turn},
    moments::Moments,
    test_runs::TestsOfThread,
};
