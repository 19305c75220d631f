//! Times for formats whose only measure is time.

use flow_codec::read::When;

use crate::output::Unit;

/// The duration of a call in nanoseconds where calls are counted.
const NANOS_PER_CALL: u64 = 1000;

impl Unit {
    /// The time of an event in this unit: nanoseconds since the start of the trace, or the number of earlier
    /// `calls` of the thread, including those that are left out, so that a call is as long as the number of
    /// calls in it. Events of unknown time happen at `start_ns`.
    #[inline]
    pub(crate) fn at(self, time: When, calls: u64, start_ns: u64) -> u64 {
        match self {
            Self::Calls | Self::Samples => calls,
            Self::Nanos | Self::Cpu => time.estimate_ns.unwrap_or(start_ns),
        }
    }

    /// Converts a time to nanoseconds.
    pub(super) fn nanos(self, at: u64) -> u64 {
        match self {
            Self::Calls | Self::Samples => at.saturating_mul(NANOS_PER_CALL),
            Self::Nanos | Self::Cpu => at,
        }
    }

    /// A name, with an explanation of the unit if a viewer would show calls as time.
    pub(super) fn explained(self, name: &str) -> String {
        match self {
            Self::Calls | Self::Samples => format!("{name} (1 µs is 1 call)"),
            Self::Nanos | Self::Cpu => name.to_owned(),
        }
    }
}
