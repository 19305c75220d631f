//! The end of a thread's events that is not in its file yet.

use std::sync::Arc;

use crate::format::marks::{Mark, Position};
use crate::write::EventCounts;

/// The canonicalized chunk of a thread in the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct OpenChunk {
    /// Bytes of the thread's events that it follows.
    pub offset: u64,
    /// The entries and exits in it.
    pub events: EventCounts,
    /// Whole records, in canonical form.
    pub(crate) records: Arc<[u8]>,
    /// The marks in its slot.
    pub(crate) marks: OpenMarks,
    /// How many of the records, and events, the chunk has if it is stored as a whole. The exits after them
    /// are held back.
    pub(crate) whole: (usize, EventCounts),
    /// Chunks directly before it that wait to be written, the last one first.
    pub(crate) before: Vec<Self>,
    /// Whether it is from a checkpoint: then the file's content after `offset` does not count.
    pub(crate) is_all: bool,
}

/// The end of a thread's marks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct OpenMarks {
    /// Bytes of the thread's marks file before them.
    pub offset: u64,
    /// Marks of earlier chunks, as they will be stored.
    pub(crate) pending: Arc<[u8]>,
    /// Those of the open chunk.
    pub(crate) marks: Arc<[(Position, Mark)]>,
}

impl OpenMarks {
    /// Returns whether there are no marks.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.marks.is_empty()
    }
}

impl OpenChunk {
    /// Where the next chunk begins.
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.whole.0 as u64)
    }

    /// Joins it with the chunks before it that a file of this length lacks.
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

    /// The marks in the journal.
    #[must_use]
    pub(crate) fn marks(&self) -> &OpenMarks {
        &self.marks
    }

    /// Returns whether nothing was recorded.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The number of entries and exits.
    #[must_use]
    pub fn event_count(&self) -> u64 {
        self.events.enters.saturating_add(self.events.exits)
    }
}
