//! The end of a thread's events, which its file does not hold yet.

use std::sync::Arc;

use crate::format::marks::{Mark, Position};
use crate::write::EventCounts;

/// What the journal held of a thread, folded.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct OpenChunk {
    /// Bytes of the thread's events that it follows.
    pub offset: u64,
    /// The entries and exits in it.
    pub events: EventCounts,
    /// Whole records, in canonical form.
    pub(crate) records: Arc<[u8]>,
    /// What it says of the thread's marks.
    pub(crate) marks: OpenMarks,
    /// How many of the records, and events, are those of a whole chunk. The exits behind them are held back.
    pub(crate) whole: (usize, EventCounts),
    /// Chunks that come right before it and wait to be written, the last one first.
    pub(crate) before: Vec<Self>,
    /// Whether it is of a checkpoint: what the file has behind `offset` does not count.
    pub(crate) is_all: bool,
}

/// The end of a thread's marks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct OpenMarks {
    /// Bytes of the thread's marks file that they follow.
    pub offset: u64,
    /// Those of chunks before, as they will stand there.
    pub(crate) pending: Arc<[u8]>,
    /// Those of the open chunk.
    pub(crate) marks: Arc<[(Position, Mark)]>,
}

impl OpenMarks {
    /// Whether there are none.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.marks.is_empty()
    }
}

impl OpenChunk {
    /// Where the chunk that follows it begins.
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.whole.0 as u64)
    }

    /// With the chunks before it that a file of this length lacks.
    pub(crate) fn joined(mut self, file_bytes: u64) -> Self {
        let mut before = std::mem::take(&mut self.before);
        let needed = before.iter().take_while(|chunk| file_bytes < chunk.end()).count();
        before.truncate(needed);
        let Some(first) = before.last() else { return self };
        self.offset = first.offset;
        let mut records = Vec::new();
        for chunk in before.iter().rev() {
            let (len, events) = chunk.whole;
            records.extend_from_slice(chunk.records.get(..len).unwrap_or_default());
            self.events.enters = self.events.enters.saturating_add(events.enters);
            self.events.exits = self.events.exits.saturating_add(events.exits);
        }
        self.whole.0 += records.len();
        records.extend_from_slice(&self.records);
        Self { records: records.into(), ..self }
    }

    /// The marks that stand in the journal.
    #[must_use]
    pub(crate) fn marks(&self) -> &OpenMarks {
        &self.marks
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// How many entries and exits.
    #[must_use]
    pub fn event_count(&self) -> u64 {
        self.events.enters.saturating_add(self.events.exits)
    }
}
