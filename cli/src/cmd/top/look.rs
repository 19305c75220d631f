//! What a look at a recording found.

use std::time::Duration;

/// What happened since the look before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// What is recorded.
    pub(super) title: String,
    /// How long ago the look before was.
    pub(super) interval: Duration,
    /// How long the recording takes, if that is known.
    pub(super) age_ns: Option<u64>,
    /// Whether it continues.
    pub(super) is_recording: bool,
    /// Calls that were read.
    pub(super) calls: u64,
    /// Bytes of events that were written, and those of them that were read.
    pub(super) bytes: u64,
    pub(super) read_bytes: u64,
    /// Places where events were lost, and where recording was suspended.
    pub(super) gaps: u64,
    pub(super) pauses: u64,
    /// What could not be read.
    pub(super) damage: Vec<String>,
    /// What the collector said last, if the trace is received here.
    pub(super) said: Option<String>,
    /// Methods that were called, or in which time passed.
    pub(super) methods: Vec<MethodRow>,
    pub(super) edges: Vec<Edge>,
    /// Threads that have not ended, or that did something.
    pub(super) threads: Vec<ThreadRow>,
}

/// What a method did.
#[derive(Clone, Debug)]
pub(crate) struct MethodRow {
    pub(super) name: String,
    /// The same as the fields of a JSON object.
    pub(super) json: String,
    pub(super) calls: u64,
    /// Time in itself; `None` if the trace has no times.
    pub(super) self_ns: Option<u64>,
}

/// Calls of a method by another, as numbers of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// `None` for the outermost calls.
    pub(super) caller: Option<usize>,
    pub(super) callee: usize,
    pub(super) calls: u64,
}

/// What a thread does.
#[derive(Clone, Debug)]
pub(crate) struct ThreadRow {
    /// Its trace, if there are several.
    pub(super) trace: String,
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) calls: u64,
    /// Open calls, the outermost first.
    pub(super) stack: Vec<String>,
    /// Whether frames may be missing at the start of the stack.
    pub(super) is_partial: bool,
    /// How long ago its last event was.
    pub(super) idle_ns: Option<u64>,
}

impl Look {
    /// A number of calls as a rate: of those that were read, for all.
    pub(super) fn rate(&self, calls: u64) -> u64 {
        let ns = self.interval.as_nanos().max(1);
        let all = u128::from(calls) * u128::from(self.bytes.max(1)) * 1_000_000_000;
        let rate = all / (u128::from(self.read_bytes.max(1)) * ns);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// Whether only a part was read.
    pub(super) fn is_estimate(&self) -> bool {
        self.read_bytes < self.bytes
    }

    /// Whether any method has a time.
    pub(super) fn has_times(&self) -> bool {
        self.methods.iter().any(|row| row.self_ns.is_some())
    }

    /// The time of all methods.
    pub(super) fn self_ns(&self) -> u64 {
        self.methods.iter().filter_map(|row| row.self_ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_all_calls() {
        let look = Look {
            interval: Duration::from_millis(500),
            bytes: 300,
            read_bytes: 100,
            ..Look::default()
        };
        assert_eq!(look.rate(7), 42);
        assert!(look.is_estimate());
        let look = Look { read_bytes: 300, ..look };
        assert_eq!((look.rate(7), look.is_estimate()), (14, false));
        assert_eq!(Look::default().rate(0), 0);
    }
}
