//! What was seen and not written. Reported once on stderr, counted in the manifest.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use log::Level;
use parking_lot::Mutex;

/// At most this many different reasons are kept.
const MAX_REASONS: usize = 16;

#[derive(Debug, Default)]
pub(in crate::recorder) struct Losses {
    events: AtomicU64,
    reasons: Mutex<BTreeSet<String>>,
    reported: AtomicBool,
}

impl Losses {
    /// Counts lost events; [`note`](Self::note) keeps the reason.
    pub(in crate::recorder) fn count(&self, events: u64) {
        self.events.fetch_add(events, Ordering::Relaxed);
    }

    /// Keeps a reason, and reports the first one.
    pub(in crate::recorder) fn note(&self, reason: &str) {
        self.note_and_report(reason, reason, Level::Error);
    }

    /// Like [`note`](Self::note), for the reason why the recording has stopped.
    pub(in crate::recorder) fn note_stop(&self, reason: &str, level: Level) {
        self.note_and_report(reason, &format!("recording stopped: {reason}"), level);
    }

    fn note_and_report(&self, reason: &str, message: &str, level: Level) {
        {
            let mut reasons = self.reasons.lock();
            if reasons.len() < MAX_REASONS {
                reasons.insert(reason.to_owned());
            }
        }
        // Without the lock: the reader of the error stream may be slow.
        if !self.reported.swap(true, Ordering::Relaxed) {
            log::log!(level, "{message}; the program continues");
        }
    }

    /// Reports nothing from now on.
    pub(in crate::recorder) fn fall_silent(&self) {
        self.reported.store(true, Ordering::Relaxed);
    }

    pub(in crate::recorder) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    pub(in crate::recorder) fn reasons(&self) -> Vec<String> {
        self.reasons.lock().iter().cloned().collect()
    }
}
