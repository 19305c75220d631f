//! Reads the JSONL form of a thread from a stream.

use std::io::{BufRead, BufReader, Read};

use super::{ReadRecords, Tail};
use crate::error::quoted;
use crate::format::flow::Record;
use crate::format::jsonl::decode_line;
use crate::{Error, Offset, Result};

/// No event of ours is this long; longer lines are refused before they are kept in memory.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// Reads the events of one thread, in order. Each exit is a record of its own.
#[derive(Debug)]
pub struct JsonlReader<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    line_number: u64,
    position: Offset,
    tail: Tail,
    failed: bool,
}

impl<R: Read> JsonlReader<R> {
    /// Reads from the start of `input`.
    pub fn new(input: R) -> Self {
        Self::going_on(input, Offset::default())
    }

    /// The same, where the start of `input` has this offset.
    pub(super) fn going_on(input: R, position: Offset) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            line_number: 0,
            position,
            tail: Tail::Complete,
            failed: false,
        }
    }

    fn try_next(&mut self) -> Result<Option<(Offset, Record)>> {
        loop {
            let offset = self.position;
            self.line.clear();
            let read = (&mut self.input)
                .take(MAX_LINE_BYTES)
                .read_until(b'\n', &mut self.line)
                .map_err(|source| Error::Io { path: Default::default(), source })?;
            if read == 0 {
                return Ok(None);
            }
            self.line_number += 1;
            let line_number = self.line_number;
            let bad = |line: &[u8]| Error::BadLine {
                path: Default::default(),
                line: line_number,
                expected: "{\"e\":\"enter\",\"method\":ID} or {\"e\":\"exit\"}",
                found: quoted(&String::from_utf8_lossy(line)),
            };
            let Some(line) = self.line.strip_suffix(b"\n") else {
                if read as u64 == MAX_LINE_BYTES {
                    // What follows is no line.
                    self.failed = true;
                    return Err(bad(&self.line));
                }
                self.tail = Tail::Truncated { offset };
                return Ok(None);
            };
            self.position = offset.plus(read);
            let text = std::str::from_utf8(line).map_err(|_| bad(line))?;
            let record = decode_line(text).map_err(|_| bad(line))?;
            if let Some(record) = record {
                return Ok(Some((offset, record)));
            }
        }
    }
}

impl<R: Read> ReadRecords for JsonlReader<R> {
    fn next_record(&mut self) -> Result<Option<(Offset, Record)>> {
        if self.failed || self.tail != Tail::Complete {
            return Ok(None);
        }
        let next = self.try_next();
        self.failed |= matches!(next, Err(Error::Io { .. }));
        next
    }

    fn tail(&self) -> Tail {
        self.tail
    }

    fn position(&self) -> Offset {
        self.position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_events_and_a_cut_line_is_the_tail() {
        let text = "{\"e\":\"enter\",\"method\":7}\n\n{\"e\":\"exit\"}\n{\"e\":\"ent";
        let mut reader = JsonlReader::new(text.as_bytes());
        assert!(
            matches!(reader.next_record().unwrap(), Some((_, Record::Enter(id))) if id.get() == 7)
        );
        assert!(matches!(reader.next_record().unwrap(), Some((_, Record::Exit(_)))));
        assert!(reader.next_record().unwrap().is_none());
        assert_eq!(reader.tail(), Tail::Truncated { offset: Offset::new(39) });
    }

    #[test]
    fn another_line_is_an_error_with_its_number_and_the_next_one_is_read() {
        let text = "{\"e\":\"exit\"}\nhello\n{\"e\":\"exit\"}\n";
        let mut reader = JsonlReader::new(text.as_bytes());
        reader.next_record().unwrap();
        let error = reader.next_record().unwrap_err().to_string();
        assert!(error.contains(":2: expected"), "{error}");
        assert!(matches!(reader.next_record(), Ok(Some((offset, _))) if offset.get() == 19));
        assert!(matches!(reader.next_record(), Ok(None)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn a_line_without_end_is_refused_in_bounded_memory() {
        let endless = std::io::repeat(b'x').take(1 << 30);
        assert!(JsonlReader::new(endless).next_record().is_err());
    }
}
