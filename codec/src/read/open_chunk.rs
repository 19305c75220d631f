//! The end of a thread's events, which its file does not hold yet.

use std::io::{self, Cursor, Read};
use std::num::NonZeroU64;
use std::sync::Arc;

use crate::format::flow::{Record, records};
use crate::format::jsonl;
use crate::format::marks::{Mark, Position};
use crate::format::names::EventFormat;
use crate::write::EventCounts;

/// What the journal held of a thread, folded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenChunk {
    /// Bytes of the thread's file that it follows.
    pub offset: u64,
    /// The entries and exits in it.
    pub events: EventCounts,
    /// Whole records, in canonical form.
    pub(super) records: Arc<[u8]>,
    /// What it says of the thread's marks.
    pub(super) marks: OpenMarks,
    /// How many of the records, and events, are those of a whole chunk. The exits behind them are held back.
    pub(super) whole: (usize, EventCounts),
    /// Chunks that come right before it and wait to be written, the last one first.
    pub(super) before: Vec<Self>,
    /// Whether it is of a checkpoint: what the file has behind `offset` does not count.
    pub(super) is_all: bool,
}

/// The end of a thread's marks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpenMarks {
    /// Bytes of the thread's marks file that they follow.
    pub offset: u64,
    /// Those of chunks before, as they will stand there.
    pub(super) pending: Arc<[u8]>,
    /// Those of the open chunk.
    pub(super) marks: Arc<[(Position, Mark)]>,
}

impl OpenMarks {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.marks.is_empty()
    }
}

impl OpenChunk {
    /// Where the chunk that follows it begins.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.whole.0 as u64)
    }

    /// With the chunks before it that a file of this length lacks.
    pub(super) fn joined(mut self, file_bytes: u64) -> Self {
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
    pub fn marks(&self) -> &OpenMarks {
        &self.marks
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// How many entries and exits.
    #[must_use]
    pub fn event_count(&self) -> u64 {
        self.events.enters.saturating_add(self.events.exits)
    }

    /// How many bytes it is in a file of this format.
    #[must_use]
    pub fn byte_count(&self, format: EventFormat) -> u64 {
        match format {
            EventFormat::Binary => self.records.len() as u64,
            EventFormat::Jsonl => {
                let lines = records(&self.records).map(|(record, _)| jsonl::encoded_bytes(record));
                lines.fold(0, u64::saturating_add)
            }
        }
    }

    /// Its bytes, as they will stand in a file of this format.
    #[must_use]
    pub fn bytes(&self, format: EventFormat) -> OpenChunkBytes {
        let records = Arc::clone(&self.records);
        OpenChunkBytes(match format {
            EventFormat::Binary => Form::Binary(Cursor::new(records)),
            EventFormat::Jsonl => Form::Jsonl(Lines::new(records)),
        })
    }
}

/// The bytes of an [`OpenChunk`].
#[derive(Debug)]
pub struct OpenChunkBytes(Form);

#[derive(Debug)]
enum Form {
    Binary(Cursor<Arc<[u8]>>),
    Jsonl(Lines),
}

impl Read for OpenChunkBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Form::Binary(bytes) => bytes.read(buffer),
            Form::Jsonl(lines) => lines.read(buffer),
        }
    }
}

/// Exits whose lines are made at once.
const EXITS_AT_ONCE: u64 = 256;

/// The lines of records, made as they are read: they take twenty times the space.
#[derive(Debug)]
struct Lines {
    records: Arc<[u8]>,
    /// Up to where the records have been looked at.
    at: usize,
    /// What is left of the exit run in front of that.
    exits: u64,
    lines: Cursor<Vec<u8>>,
}

impl Lines {
    fn new(records: Arc<[u8]>) -> Self {
        Self { records, at: 0, exits: 0, lines: Cursor::default() }
    }

    /// Makes the next lines, if there are any.
    fn refill(&mut self) {
        if self.exits == 0 {
            let rest = self.records.get(self.at..).unwrap_or_default();
            let Some((record, len)) = records(rest).next() else { return };
            self.at += len;
            match record {
                Record::Enter(_) => return self.make(record),
                Record::Exit(count) => self.exits = count.get(),
            }
        }
        if let Some(count) = NonZeroU64::new(self.exits.min(EXITS_AT_ONCE)) {
            self.exits -= count.get();
            self.make(Record::Exit(count));
        }
    }

    fn make(&mut self, record: Record) {
        self.lines.set_position(0);
        self.lines.get_mut().clear();
        jsonl::encode(record, self.lines.get_mut());
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.lines.read(buffer)? {
            0 if !buffer.is_empty() => {
                self.refill();
                self.lines.read(buffer)
            }
            read => Ok(read),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_made_as_they_are_read() {
        let folded = [0x81, 0xC0, 0x01, 0x6B, 0x04, 0x82];
        let chunk = OpenChunk {
            offset: 0,
            events: EventCounts::default(),
            records: folded[..].into(),
            marks: OpenMarks::default(),
            whole: Default::default(),
            before: Vec::new(),
            is_all: false,
        };
        let mut expected = Vec::new();
        for (record, _) in records(&folded) {
            jsonl::encode(record, &mut expected);
        }
        let mut lines = Vec::new();
        chunk.bytes(EventFormat::Jsonl).read_to_end(&mut lines).unwrap();
        assert_eq!(lines, expected);
        assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), 303);
        assert_eq!(chunk.byte_count(EventFormat::Jsonl), lines.len() as u64);
        assert_eq!(chunk.byte_count(EventFormat::Binary), 6);
    }
}
