//! What threads hand to each other, so that calls of the page lead to those that they handed work to.

use flow_codec::read::Trace;
use flow_query::ask::HandedCalls;
use flow_query::select::CallPlace;
use serde::Serialize;

use crate::html::numbers::exact;

/// The most hand-overs of a page.
const HAND_OVERS: usize = 20_000;

/// The hand-overs of a page.
#[derive(Default, Serialize)]
pub(super) struct PageHandOvers {
    /// Of each a thread, its call that hands something over, another thread, and the first call that this runs of it.
    calls: Vec<i64>,
    /// How many further hand-overs there are.
    more: usize,
}

impl PageHandOvers {
    /// Reads those of a trace; there are none if they were not recorded.
    pub(super) fn read(trace: &Trace) -> Self {
        let all = HandedCalls::of(trace).pairs();
        let flat = |call: &CallPlace| [exact(call.thread().get()), exact(call.number())];
        let calls = all.iter().take(HAND_OVERS).flatten().flat_map(flat).collect();
        Self { calls, more: all.len().saturating_sub(HAND_OVERS) }
    }
}
