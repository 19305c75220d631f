//! Times for formats that know nothing but time.

use flow_codec::read::When;

use crate::output::Unit;

/// How long a call is said to take where calls are counted, in nanoseconds.
const NANOS_PER_CALL: u64 = 1000;

impl Unit {
    /// The time of an event before which a thread made `calls`, and that happened at `start_ns` where nothing else
    /// is known: nanoseconds since the start of the trace, or calls, including those that are left out. So a call
    /// lasts as long as there are calls in it.
    #[inline]
    pub(crate) fn at(self, time: When, calls: u64, start_ns: u64) -> u64 {
        match self {
            Self::Calls => calls,
            Self::Nanos => time.estimate_ns.unwrap_or(start_ns),
        }
    }

    /// Nanoseconds for a time.
    pub(super) fn nanos(self, at: u64) -> u64 {
        match self {
            Self::Calls => at.saturating_mul(NANOS_PER_CALL),
            Self::Nanos => at,
        }
    }

    /// A name, with what people must know to read such times.
    pub(super) fn told(self, name: &str) -> String {
        match self {
            Self::Calls => format!("{name} (1 µs is 1 call)"),
            Self::Nanos => name.to_owned(),
        }
    }
}
