//! What times are counted in.

use flow_codec::read::When;

/// What times and weights are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scale {
    /// Calls of the thread made before, including those that are left out: so a call lasts as long as there are calls
    /// in it.
    Calls,
    /// Nanoseconds since the start of the trace.
    Nanos,
}

/// For formats that know nothing but time: calls are said to take this long each.
const NANOS_PER_CALL: u64 = 1000;

impl Scale {
    /// A time by this scale: of an event before which a thread made `calls`, and that happened at `start_ns` where
    /// nothing else is known.
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

    /// What weights are counted in.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Nanos => "ns",
        }
    }
}
