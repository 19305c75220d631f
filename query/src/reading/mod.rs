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

pub use self::call_clock::{CallClock, DurationSum, Extent, SlowestCall, UNKNOWN_TIMES};
pub use self::context_tree::{ContextTree, MOST_PATHS};
pub use self::counts::{Counted, count_thread, count_threads};
pub(crate) use self::events::read_all_with_values;
pub use self::events::read_thread;
pub use self::events::{read_records, read_timeline, visit_events, visit_timed};
pub use self::listener::Listener;
pub use self::outcome::{Ending, Reading, Soundness};
pub(crate) use self::parallel::{find_stacks, open_selected};
pub use self::parallel::{open_dag, open_index, open_tree, report_thread};
pub use self::precision::usual_interval;
pub use self::sums::{add_stored, add_times, read_marked, stored_shapes, visit_thread};
pub use crate::select::{Selected, bytes_read, start_ns};
