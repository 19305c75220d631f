//! The end of a thread's events that is not in its file yet.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::format::flow::{Record, records};
use crate::format::marks::{Mark, Position};
use crate::write::EventCounts;

/// The canonicalized chunk of a thread in the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenChunk {
    /// Bytes of the thread's events that it follows.
    pub(crate) offset: u64,
    pub(crate) events: EventCounts,
    /// Whole records, in canonical form.
    pub(crate) records: Arc<[u8]>,
    /// The marks in its slot.
    pub(crate) marks: OpenMarks,
    /// How many of the records, and events, the chunk has if it is stored as a whole. The exits after them
    /// are held back.
    pub(crate) whole: (usize, EventCounts),
    /// Other chunks of its thread, which may wait to be written, the last one first.
    pub(crate) before: Vec<Self>,
    /// Whether the file's content after `offset` does not count: it is from a checkpoint, or the file lacks what comes
    /// before other blocks.
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

/// Lines of threads that share a file, and how many bytes of lines come before them.
#[derive(Clone, Debug)]
pub(crate) struct OpenLines {
    pub(crate) offset: u64,
    /// Whole lines.
    pub(crate) bytes: Arc<[u8]>,
}

impl OpenMarks {
    /// Returns whether there are no marks.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.marks.is_empty()
    }
}

impl OpenChunk {
    /// Returns how many entries and exits are in it.
    #[must_use]
    pub fn events(&self) -> EventCounts {
        self.events
    }

    /// Where the next chunk begins.
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.whole.0 as u64)
    }

    /// Joins it with the chunks before it that the file lacks. The file has these ranges of the events, in order;
    /// chunks may be written in another order than they were recorded. `read` returns a range of the file, for which
    /// at most `budget` bytes of memory are taken.
    pub(crate) fn joined(
        mut self,
        in_file: &[Range<u64>],
        budget: &mut u64,
        read: impl Fn(Range<u64>) -> io::Result<Vec<u8>>,
    ) -> io::Result<Self> {
        let before = std::mem::take(&mut self.before);
        let has_bytes = |chunk: &&Self| chunk.offset < chunk.end();
        let by_end: BTreeMap<u64, &Self> =
            before.iter().filter(has_bytes).map(|chunk| (chunk.end(), chunk)).collect();
        let first = in_file.first().filter(|range| range.start == 0).map_or(0, |range| range.end);
        // From the last to the first.
        let mut parts: Vec<(Vec<u8>, EventCounts)> = Vec::new();
        let mut start = self.offset;
        while start > first {
            let next = in_file.partition_point(|range| range.start < start);
            let range = next.checked_sub(1).and_then(|number| in_file.get(number));
            if let Some(range) = range.filter(|range| start <= range.end) {
                let Some(left) = budget.checked_sub(start - range.start) else { break };
                *budget = left;
                let bytes = read(range.start..start)?;
                start = range.start;
                self.is_all = true;
                let events = count(&bytes);
                parts.push((bytes, events));
            } else if let Some(chunk) = by_end.get(&start) {
                let (len, events) = chunk.whole;
                parts.push((chunk.records.get(..len).unwrap_or_default().to_vec(), events));
                start = chunk.offset;
            } else {
                break;
            }
        }
        if parts.is_empty() {
            return Ok(self);
        }
        self.offset = start;
        let mut records = Vec::new();
        for (bytes, events) in parts.iter().rev() {
            records.extend_from_slice(bytes);
            self.events.enters = self.events.enters.saturating_add(events.enters);
            self.events.exits = self.events.exits.saturating_add(events.exits);
        }
        self.whole.0 += records.len();
        records.extend_from_slice(&self.records);
        Ok(Self { records: records.into(), ..self })
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
    pub(crate) fn event_count(&self) -> u64 {
        self.events.enters.saturating_add(self.events.exits)
    }
}

/// The events in these bytes.
pub(crate) fn count(bytes: &[u8]) -> EventCounts {
    let mut events = EventCounts::default();
    for (record, _) in records(bytes) {
        match record {
            Record::Enter(_) => events.enters += 1,
            Record::Exit(count) => events.exits = events.exits.saturating_add(count.get()),
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk of entries of method 1.
    fn chunk(offset: u64, len: usize) -> OpenChunk {
        let events = EventCounts { enters: len as u64, exits: 0 };
        OpenChunk {
            offset,
            events,
            records: vec![0x81; len].into(),
            marks: OpenMarks::default(),
            whole: (len, events),
            before: Vec::new(),
            is_all: false,
        }
    }

    #[test]
    fn chunks_that_the_file_lacks_are_joined_with_what_it_has_between_them() {
        let before = || vec![chunk(300, 100), chunk(200, 100), chunk(100, 100)];
        for (in_file, start, events, is_all) in [
            // Chunks in order: none, some, or all are in the file.
            (&[(0, 100)][..], 100, 310, false),
            (&[(0, 200)], 200, 210, false),
            (&[(0, 250)], 200, 210, false),
            (&[(0, 300)], 300, 110, false),
            (&[(0, 400)], 400, 10, false),
            (&[(0, 410)], 400, 10, false),
            // Another order.
            (&[(0, 100), (200, 300)], 100, 310, true),
            (&[(0, 100), (200, 400)], 100, 310, true),
            (&[(0, 200), (300, 400)], 200, 210, true),
            // The first bytes are nowhere.
            (&[(0, 90)], 100, 310, false),
            (&[], 100, 310, false),
            (&[(200, 300)], 100, 310, true),
        ] {
            let last = OpenChunk { before: before(), ..chunk(400, 10) };
            let read = |range: Range<u64>| {
                Ok(vec![0x81; usize::try_from(range.end - range.start).unwrap()])
            };
            let ranges: Vec<_> = in_file.iter().map(|&(start, end)| start..end).collect();
            let joined = last.joined(&ranges, &mut 1000, read).unwrap();
            let found = (joined.offset, joined.events.enters, joined.is_all);
            assert_eq!(found, (start, events, is_all), "{in_file:?}");
            assert_eq!(joined.records.len() as u64, events);
        }
    }

    #[test]
    fn what_lies_between_chunks_takes_a_limited_memory() {
        let before = vec![chunk(300, 100), chunk(100, 100)];
        let last = OpenChunk { before, ..chunk(400, 10) };
        let mut budget = 150;
        let read =
            |range: Range<u64>| Ok(vec![0x81; usize::try_from(range.end - range.start).unwrap()]);
        let joined = last.clone().joined(&[0..50, 200..300], &mut budget, read).unwrap();
        assert_eq!((joined.offset, budget), (100, 50));
        let joined = last.joined(&[0..50, 200..300], &mut budget, read).unwrap();
        assert_eq!((joined.offset, budget), (300, 50));
    }
}
