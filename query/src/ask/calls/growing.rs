//! What reading a trace that grows waits for, and what it misses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flow_codec::ThreadId;
use flow_codec::read::{EventKind, TimelineEvent};

use crate::process::Cause;

/// For how long a thread waits at most until the time of an event is known.
const TIME_PATIENCE: Duration = Duration::from_secs(1);

/// Events that could not be read.
#[derive(Debug, Default)]
pub struct MissingEvents {
    damaged: BTreeSet<(PathBuf, ThreadId)>,
    removed_bytes: u64,
}

impl MissingEvents {
    /// The threads of which some events are missing, because they are damaged.
    #[must_use]
    pub const fn damaged(&self) -> &BTreeSet<(PathBuf, ThreadId)> {
        &self.damaged
    }

    /// How many bytes of events were removed before they could be read, because only the newest are kept.
    #[must_use]
    pub const fn removed_bytes(&self) -> u64 {
        self.removed_bytes
    }

    /// Adds a break of a thread.
    pub(super) fn add(&mut self, dir: &Path, thread: ThreadId, cause: &Cause) {
        match cause {
            Cause::Skipped { bytes } => self.removed_bytes += bytes,
            _ => drop(self.damaged.insert((dir.to_path_buf(), thread))),
        }
    }
}

/// Waits until the times of a thread's events are known.
#[derive(Debug, Default)]
pub(super) struct AwaitTimes {
    /// Since when it waits.
    since: Option<Instant>,
}

impl AwaitTimes {
    /// An event is passed.
    pub(super) fn passed(&mut self) {
        self.since = None;
    }

    /// Returns whether an event waits.
    pub(super) fn is_waiting(&self) -> bool {
        self.since.is_some()
    }

    /// Returns whether an event has to wait, but not for long.
    pub(super) fn waits_for(&mut self, event: &TimelineEvent, now: Instant) -> bool {
        // The newest events happened after the last sample, and it is not known by when.
        let is_known = event.time.bounds.by_ns != u64::MAX;
        let is_call = matches!(event.kind, EventKind::Enter(_) | EventKind::Exit { .. });
        !is_known && is_call && now - *self.since.get_or_insert(now) < TIME_PATIENCE
    }
}
