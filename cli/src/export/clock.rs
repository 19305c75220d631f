//! When things happened in a thread.

/// The time in one thread. No clock is recorded yet: time is the number of calls made before, those
/// included that are not shown, so a call lasts as long as there are calls in it. What [`now`](Self::now)
/// answers is the only thing formats know of time: a recorded clock is read here, and
/// [`UNIT`](Self::UNIT) becomes what it counts.
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

/// For formats that know nothing but time: calls are said to take this long each.
pub(super) const NANOS_PER_UNIT: u64 = 1000;

/// What people must know to read such times.
pub(super) const SCALE: &str = "1 µs is 1 call";

/// Nanoseconds for a time in units.
pub(super) fn nanos(at: u64) -> u64 {
    at.saturating_mul(NANOS_PER_UNIT)
}
