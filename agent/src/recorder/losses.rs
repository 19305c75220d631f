//! What was seen and not written. Told once on stderr, counted for the manifest.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

/// More different reasons than this are not kept.
const MAX_REASONS: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Losses {
    events: AtomicU64,
    reasons: Mutex<BTreeSet<String>>,
    told: AtomicBool,
}

impl Losses {
    /// Counts events that are lost; why is told by [`note`](Self::note).
    pub(super) fn count(&self, events: u64) {
        self.events.fetch_add(events, Ordering::Relaxed);
    }

    /// Keeps a reason; the first one is told.
    pub(super) fn note(&self, reason: &str) {
        {
            let mut reasons = self.reasons.lock();
            if reasons.len() < MAX_REASONS {
                reasons.insert(reason.to_owned());
            }
        }
        // Without the lock: whoever reads the error stream may be slow.
        if !self.told.swap(true, Ordering::Relaxed) {
            log::error!("{reason}; the program goes on");
        }
    }

    pub(super) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    pub(super) fn reasons(&self) -> Vec<String> {
        self.reasons.lock().iter().cloned().collect()
    }
}
