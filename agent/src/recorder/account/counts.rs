//! Counts of events and threads in chunks, for the totals of a recording.

use flow_codec::write::EventCounts;

/// Number of events in chunks, and number of threads that have their first events there. A thread counts when its events are
/// written: one that starts while the recording ends may have none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::recorder) struct Counts {
    pub(in crate::recorder) threads: u64,
    pub(in crate::recorder) enters: u64,
    pub(in crate::recorder) exits: u64,
}

impl Counts {
    /// Returns the counts of events of a thread, of which others have been counted before or not.
    pub(in crate::recorder) fn of(events: EventCounts, is_counted: &mut bool) -> Self {
        let EventCounts { enters, exits } = events;
        let is_first = enters + exits > 0 && !std::mem::replace(is_counted, true);
        Self { threads: u64::from(is_first), enters, exits }
    }

    /// Adds the counts of other chunks.
    pub(in crate::recorder) fn add(&mut self, other: Self) {
        self.threads += other.threads;
        self.enters += other.enters;
        self.exits += other.exits;
    }

    /// Removes the counts of some of the chunks.
    pub(in crate::recorder) fn remove(&mut self, some: Self) {
        self.threads = self.threads.saturating_sub(some.threads);
        self.enters = self.enters.saturating_sub(some.enters);
        self.exits = self.exits.saturating_sub(some.exits);
    }

    /// Returns the number of events.
    pub(in crate::recorder) const fn events(self) -> u64 {
        self.enters + self.exits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_counts_with_its_first_events() {
        let mut is_counted = false;
        let mut all = Counts::default();
        for (enters, exits) in [(0, 0), (0, 2), (3, 0), (0, 0)] {
            all.add(Counts::of(EventCounts { enters, exits }, &mut is_counted));
        }
        assert_eq!(all, Counts { threads: 1, enters: 3, exits: 2 });
    }
}
