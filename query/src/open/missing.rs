//! What is missing from a trace, except for what was lost while recording.

use std::path::PathBuf;
use std::time::Duration;

use flow_codec::format::manifest::{Lost, Manifest};
use flow_codec::read::Trace;

use super::lock::is_recording;

/// What is missing from a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Missing {
    /// What was recorded after the last checkpoint: the machine has restarted, or this is another one.
    SinceCheckpoint {
        /// The time between two checkpoints, if it is known.
        period: Option<Duration>,
    },
    /// What its JVM recorded after the last block that was received.
    Unreceived,
    /// What threads had not yet written to their files: the journal is not there.
    Journal {
        /// Where the journal should be.
        path: PathBuf,
    },
    /// Events that the manifest counts.
    Events {
        /// How many bytes of events.
        bytes: u64,
        /// How many files of threads are missing.
        threads: u64,
    },
}

impl Missing {
    /// What is missing from a trace; `None` if nothing is, or if it was lost while recording.
    #[must_use]
    pub(crate) fn of(trace: &Trace) -> Option<Self> {
        if let Some(missing) = missing_journal(trace) {
            return Some(missing);
        }
        let end = trace.manifest()?.end.as_ref()?;
        if end.lost != Lost::default() {
            return None;
        }
        let there = trace.files().iter().map(|file| file.stored_bytes());
        let there = there.fold(0_u64, u64::saturating_add);
        let bytes = end.totals.bytes.checked_sub(there).filter(|missing| *missing > 0)?;
        let threads = end.totals.threads.saturating_sub(trace.files().len() as u64);
        Some(Self::Events { bytes, threads })
    }
}

/// Returns what is missing because the journal of a trace cannot be used, if it cannot.
#[must_use]
pub(crate) fn missing_journal(trace: &Trace) -> Option<Missing> {
    if trace.journal().is_some_and(|journal| journal.is_checkpoint) {
        let durability = trace.manifest().and_then(|manifest| manifest.durability.as_ref());
        let period = durability.map(|durability| durability.period);
        return Some(Missing::SinceCheckpoint { period });
    }
    let path = trace.missing_journal()?;
    if is_received(trace) {
        // What threads record arrives a moment later.
        let is_open = is_recording(trace.dir()) == Some(true);
        return (!is_open).then_some(Missing::Unreceived);
    }
    Some(Missing::Journal { path: path.to_path_buf() })
}

/// Returns whether a trace without an end is the copy that a collector receives: the JVM has the journal.
#[must_use]
pub(crate) fn is_received(trace: &Trace) -> bool {
    let is_sent = |manifest: &Manifest| manifest.options.contains_key("stream");
    trace.missing_journal().is_some() && trace.manifest().is_some_and(is_sent)
}
