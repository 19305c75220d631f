//! Reads the selected calls of threads, by the quickest way that gives the same answer: stored shapes, several cores, or the
//! events one by one. Reading always goes to the end; what is wrong is part of the result.

mod call_clock;
mod context_tree;
mod counts;
mod events;
mod listener;
mod outcome;
mod parallel;
mod precision;
mod sums;

pub use self::call_clock::{DurationSum, SlowestCall};
pub use self::context_tree::ContextTree;
pub(crate) use self::events::read_all_with_values;
pub use self::listener::Listener;
pub use self::outcome::{Reading, Soundness};
pub(crate) use self::parallel::{find_stacks, open_selected};
pub use self::sums::{add_times, visit_thread};

#[doc(hidden)]
pub use self::{
    call_clock::{CallClock, Extent, UNKNOWN_TIMES},
    context_tree::MOST_PATHS,
    counts::{Counted, count_thread, count_threads},
    events::{read_records, read_thread, read_timeline, visit_events, visit_timed},
    outcome::Ending,
    parallel::{open_dag, open_index, open_tree, report_thread},
    precision::usual_interval,
    sums::{add_stored, read_marked, stored_shapes},
};
#[doc(hidden)]
pub use crate::select::{Selected, bytes_read, start_ns};
