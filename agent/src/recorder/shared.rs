//! What all parts of a recorder share: the threads, the journal, the sink, and what is counted.

use std::fmt;
use std::sync::Arc;

use flow_codec::format::manifest::Totals;
use log::Level;
use parking_lot::Mutex;

use super::account::counts::Counts;
use super::account::losses::Losses;
use super::switch::Switch;
use super::threads::carriers::Carriers;
use super::threads::table::{LinesTo, ThreadTable};
use super::{Config, Journal, SideBand};
use crate::sink::{Scope, Sink, SinkError};

/// What is known and used by those who hand over chunks, and those who begin and end recordings and threads.
pub(super) struct SharedState {
    pub(super) switch: Switch,
    pub(super) threads: ThreadTable,
    pub(super) carriers: Arc<Carriers>,
    pub(super) journal: Journal,
    pub(super) sink: Box<dyn Sink>,
    pub(super) losses: Losses,
    pub(super) totals: Mutex<Totals>,
    pub(super) config: Config,
}

impl SharedState {
    /// Returns whether events are still recorded.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.switch.is_on()
    }

    /// Returns whether events are recorded now: recording has neither ended nor been paused.
    pub(super) fn is_recording(&self) -> bool {
        self.switch.is_on() && !self.switch.is_paused()
    }

    /// The time since the recording began, in nanoseconds.
    pub(super) fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.config.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The time, if there is a clock.
    pub(super) fn clock_ns(&self) -> Option<u64> {
        self.samples_times().then(|| self.elapsed_ns())
    }

    /// Whether a sampler takes the times of threads.
    pub(super) fn samples_times(&self) -> bool {
        self.config.side_band == SideBand::SampledTimes
    }

    /// Where lines of threads go.
    pub(super) fn lines_to(&self) -> LinesTo<'_> {
        (&self.journal, &*self.sink)
    }

    /// Adds events that were written, and the bytes that they take, to the totals.
    pub(super) fn add(&self, counts: Counts, bytes: u64) {
        let mut totals = self.totals.lock();
        totals.threads += counts.threads;
        totals.enters += counts.enters;
        totals.exits += counts.exits;
        totals.bytes += bytes;
    }

    /// Handles a chunk that could not be written. If its slot is a part of a file, nothing is lost: the slot
    /// stays open, and the journal is kept.
    pub(super) fn fail(&self, error: &SinkError, counts: Counts) {
        if error.scope() == Scope::Ended {
            // Events after the end, unless what came before is in the journal too.
            if self.journal.is_needed() {
                self.add(counts, 0);
            }
            return;
        }
        if self.journal.is_shared() {
            self.journal.keep();
            self.add(counts, 0);
        } else {
            self.losses.count(counts.events());
        }
        match error.scope() {
            Scope::Thread => self.losses.note(&error.to_string()),
            Scope::Trace | Scope::Limit | Scope::Ended => self.stop_storing(error),
        }
    }

    /// Keeps the reason why something could not be stored, unless it came after the end.
    pub(super) fn note_unless_ended(&self, stored: Result<(), SinkError>) {
        if let Err(error) = stored
            && error.scope() != Scope::Ended
        {
            self.losses.note(&error.to_string());
        }
    }

    /// Ends the recording for good because of a fault. Later events are not counted.
    pub(super) fn stop(&self, fault: &dyn fmt::Display) {
        self.stop_because(&fault.to_string(), Level::Error);
    }

    /// Ends the recording because something could not be stored, which is no fault if the user limits the size.
    pub(super) fn stop_storing(&self, error: &SinkError) {
        let level = match error.scope() {
            Scope::Ended => return,
            Scope::Limit => Level::Warn,
            Scope::Thread | Scope::Trace => Level::Error,
        };
        self.stop_because(&error.to_string(), level);
    }

    /// Ends the recording before its end, and reports why.
    pub(super) fn stop_because(&self, why: &str, level: Level) {
        // Otherwise the switch may belong to the next recording.
        if self.is_on() {
            self.switch.switch_off();
            self.switch.note_stop(self.elapsed_ns());
        }
        self.threads.each().for_each(|thread| thread.call_for_attention());
        self.switch.take_no_more_classes();
        self.losses.note_stop(why, level);
    }
}
