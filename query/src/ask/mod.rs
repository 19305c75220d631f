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

pub use self::activity::{Deadlock, TraceWaits, WaitSum, Waits, WaitsBy};
pub use self::calls::{
    Calls, ContextSum, Contexts, CoroutineParts, EndedCalls, FoundCall, MethodWays, MissingEvents,
    NewlyEnded, Way, Ways,
};
pub use self::code::never_called;
pub use self::difference::{
    Differences, DifferingThread, DifferingValue, DifferingValues, FirstDifference, RunDifferences,
};
pub use self::info::{Info, ThreadInfo, TraceInfo};
pub use self::operations::{OperationSum, Operations, OperationsBy};
pub use self::test_runs::{RanTest, RanTests};

#[doc(hidden)]
pub use self::{
    activity::{ActiveMethod, ActiveThread, Activity, Edge, Refresh, ReportOn, Reported, Reports},
    around::{Around, Surroundings},
    call_run::CallRun,
    calls::{
        CallContexts, CallSearch, ContextsInThread, CoroutineTimes, EndedContext, EndedContexts,
        HandedCalls, HandedInThread, HandedPart, NewContexts, Searched, ValueNames,
    },
    check::Check,
    code::{
        Affected, AffectedTests, ChangedFile, Coverage, Covered, CoveredFile, CoveredMethod,
        FileEffect, SelectedClass, SourceText, reached,
    },
    coroutines::{SuspendFunction, resuming_methods, suspend_functions},
    difference::{Renamed, ThreadTurn},
    hot_path::{HotPath, PathEnd},
    info::{AtEnd, LogInfo, OpenCall, SampledThread, StoredShapes, ThreadAtEnd, ThreadOrder},
    locked::{
        GoneTests, KeptTests, LockDifference, LockedChange, LockedRun, LockedTests, Tolerance,
        run_with,
    },
    operations::ReadOperations,
    overview::{Overview, OverviewLines},
    test_runs::{FlakyTest, FlakyTests, FoundFlaky, TestAttempt},
};
