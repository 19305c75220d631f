//! `flow replay --samples`: the samples of a call, those of the same line together.

use flow_codec::read::{Bounds, CallTimes, StackSample, TimelineEvent};

use super::timed::UNKNOWN;
use crate::output::LineSamples;

/// The columns after those of times.
pub(super) const CSV_TITLES: &str = ",samples,sampled_ns,waiting_ns";

/// Consecutive samples that found a call at the same line.
#[derive(Clone, Debug)]
pub(super) struct Sampled {
    /// How many calls are shown around them.
    pub(super) depth: usize,
    pub(super) samples: LineSamples,
    pub(super) first: TimelineEvent,
    last_ns: u64,
}

impl Sampled {
    /// One sample.
    pub(super) fn new(
        depth: usize,
        samples: LineSamples,
        first: TimelineEvent,
        sample: &StackSample,
    ) -> Self {
        Self { depth, samples, first, last_ns: sample.at_ns }
    }

    /// Adds a later one, if it is of the same line of the same call.
    pub(super) fn add(&mut self, later: &Self) -> bool {
        let is_same = self.depth == later.depth && self.samples.add(&later.samples);
        if is_same {
            self.last_ns = later.last_ns;
        }
        is_same
    }

    /// When the first one was taken, and how long after it the last one.
    pub(super) fn times(&self) -> CallTimes {
        let start = self.first.time;
        let ns = self.last_ns.saturating_sub(start.bounds.from_ns);
        let duration = Bounds { from_ns: ns, by_ns: ns };
        CallTimes { start, duration, duration_ns: ns, ..UNKNOWN }
    }
}
