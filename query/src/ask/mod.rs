//! Questions about calls, tests and runs: each is a struct that describes what is asked for, and returns typed answers.

mod activity;
mod around;
mod call_run;
mod calls;
mod check;
mod code;
mod coroutines;
mod difference;
mod hot_path;
mod info;
mod locked;
mod operations;
mod overview;
mod recorded_runs;
mod test_runs;

pub use self::activity::{
    ActiveMethod, ActiveThread, Activity, Deadlock, Edge, Refresh, ReportOn, Reported, Reports,
    TraceWaits, WaitSum, Waits, WaitsBy,
};
pub use self::around::{Around, Surroundings};
pub use self::call_run::CallRun;
pub use self::calls::{
    CallContexts, CallSearch, Calls, ContextSum, Contexts, ContextsInThread, CoroutineParts,
    CoroutineTimes, EndedCalls, EndedContext, EndedContexts, FoundCall, HandedCalls,
    HandedInThread, HandedPart, MethodWays, MissingEvents, NewContexts, NewlyEnded, Searched,
    ValueNames, Way, Ways,
};
pub use self::check::Check;
pub use self::code::{
    Affected, AffectedTests, ChangedFile, Coverage, Covered, CoveredFile, CoveredMethod,
    FileEffect, SelectedClass, SourceText, never_called, reached,
};
pub use self::coroutines::{SuspendFunction, resuming_methods, suspend_functions};
pub use self::difference::{
    Differences, DifferingThread, DifferingValue, DifferingValues, FirstDifference, Renamed,
    RunDifferences, ThreadTurn,
};
pub use self::hot_path::{HotPath, PathEnd};
pub use self::info::{
    AtEnd, Info, LogInfo, OpenCall, SampledThread, StoredShapes, ThreadAtEnd, ThreadInfo,
    ThreadOrder, TraceInfo,
};
pub use self::locked::{
    GoneTests, KeptTests, LockDifference, LockedChange, LockedRun, LockedTests, Tolerance, run_with,
};
pub use self::operations::{OperationSum, Operations, OperationsBy, ReadOperations};
pub use self::overview::{Overview, OverviewLines};
pub use self::test_runs::{FlakyTest, FlakyTests, FoundFlaky, RanTest, RanTests, TestAttempt};
