//! The selection of calls, and how much of a thread it reads.

use flow_codec::Error;
use flow_codec::read::{Selection, ThreadFile, TimeLimits, Timeline, Trace};

/// The selection of calls.
#[derive(Debug)]
pub struct Selected {
    pub(crate) selection: Selection,
    pub(crate) limits: TimeLimits,
}

impl Selected {
    /// Calls of these methods, in these limits of time and duration.
    #[must_use]
    pub fn new(selection: Selection, limits: TimeLimits) -> Self {
        Self { selection, limits }
    }

    /// Returns which methods are selected.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the limits of time and duration.
    #[must_use]
    pub fn limits(&self) -> TimeLimits {
        self.limits
    }

    /// All calls.
    pub fn all() -> Self {
        Self::of(Selection::all())
    }

    /// Calls of these methods, at any time.
    pub fn of(selection: Selection) -> Self {
        Self::new(selection, TimeLimits::NONE)
    }

    /// The selected events of a thread, in order.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn timeline(&self, file: &ThreadFile, start_ns: u64) -> Result<Timeline<'_>, Error> {
        Ok(file.timeline()?.limit(self.limits, start_ns).select(&self.selection))
    }

    /// Returns whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.selection.is_all() && self.limits == TimeLimits::NONE
    }
}

/// The start of a thread according to `threads.jsonl`, which may be later than its first events.
pub fn start_ns(trace: &Trace, file: &ThreadFile) -> u64 {
    trace.threads().get(file.id()).and_then(|thread| thread.start_ns).unwrap_or(0)
}

/// How much of a thread has been read at an offset: of its selected ranges, if it has any.
pub fn bytes_read(file: &ThreadFile, until: u64) -> u64 {
    let until = until.min(file.bytes());
    file.parts().map_or(until, |parts| parts.bytes_before(until))
}
