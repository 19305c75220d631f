//! What times are counted in.

/// The time in one thread, where no clock was recorded: the number of calls made before, those
/// included that are not shown, so a call lasts as long as there are calls in it.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    calls: u64,
}

impl Clock {
    /// What time is counted in.
    pub(crate) const UNIT: &str = "calls";

    /// A call is made, shown or not. Answers when.
    pub(crate) fn call(&mut self) -> u64 {
        let now = self.now();
        self.calls = self.calls.saturating_add(1);
        now
    }

    /// The time.
    pub(crate) fn now(&self) -> u64 {
        self.calls
    }
}

/// What times and weights are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scale {
    /// Calls made before.
    Calls,
    /// Nanoseconds since the start of the trace.
    Nanos,
}

/// For formats that know nothing but time: calls are said to take this long each.
const NANOS_PER_CALL: u64 = 1000;

impl Scale {
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
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Calls => Clock::UNIT,
            Self::Nanos => "ns",
        }
    }
}
