//! Reads `.flow` from a stream.

use std::io::{self, Read};

use super::ReadRecords;
use crate::format::flow::{Decoded, MAX_RECORD_BYTES, Record, decode};
use crate::{Error, Offset, Result};

/// How the bytes of a thread end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tail {
    /// After a whole record.
    Complete,
    /// Inside a record, which begins at this offset: the writer was cut off.
    Truncated {
        /// Where the unfinished record begins.
        offset: Offset,
    },
}

const BUFFER_BYTES: usize = 256 * 1024;
const MIN_BUFFER_BYTES: usize = 1024;

/// Reads the records of one thread, in order, in constant memory.
#[derive(Debug)]
pub struct FlowReader<R> {
    input: R,
    buffer: Vec<u8>,
    /// The bytes of `buffer` not yet decoded.
    unread: std::ops::Range<usize>,
    /// Where `unread` begins in the stream.
    position: Offset,
    at_end: bool,
    failed: bool,
    last_was_exit: bool,
    non_canonical: u64,
}

impl<R: Read> FlowReader<R> {
    /// Reads from the start of `input`. No further buffering is needed.
    pub fn new(input: R) -> Self {
        Self::going_on(input, Offset::default(), u64::MAX)
    }

    /// The same, where the start of `input` has this offset, and it has about so many bytes: a million
    /// threads of a few events each want no large buffers.
    pub(super) fn going_on(input: R, position: Offset, expected_bytes: u64) -> Self {
        let expected = usize::try_from(expected_bytes).unwrap_or(usize::MAX);
        Self {
            input,
            buffer: vec![0; expected.clamp(MIN_BUFFER_BYTES, BUFFER_BYTES)],
            unread: 0..0,
            position,
            at_end: false,
            failed: false,
            last_was_exit: false,
            non_canonical: 0,
        }
    }

    /// Moves what is unread to the front and fills the space behind it.
    fn refill(&mut self) -> Result<()> {
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        while self.unread.end < self.buffer.len() {
            let Some(space) = self.buffer.get_mut(self.unread.end..) else {
                break;
            };
            match self.input.read(space) {
                Ok(0) => {
                    self.at_end = true;
                    break;
                }
                Ok(read) => {
                    self.unread.end += read;
                    // One record is enough to go on with; a slow stream need not fill the buffer.
                    if self.unread.len() >= MAX_RECORD_BYTES {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(Error::Io { path: Default::default(), source });
                }
            }
        }
        Ok(())
    }

    fn try_next(&mut self) -> Result<Option<(Offset, Record)>> {
        if self.unread.len() < MAX_RECORD_BYTES && !self.at_end {
            self.refill()?;
        }
        let bytes = self.buffer.get(self.unread.clone()).unwrap_or_default();
        match decode(bytes) {
            Decoded::Record(record, len) => {
                // A number has a superfluous group exactly if its last one is zero.
                let padded = len > 1 && bytes.get(len - 1) == Some(&0);
                let is_exit = matches!(record, Record::Exit(_));
                self.non_canonical += u64::from(padded || (is_exit && self.last_was_exit));
                self.last_was_exit = is_exit;
                let offset = self.position;
                self.unread.start += len;
                self.position = offset.plus(len);
                Ok(Some((offset, record)))
            }
            Decoded::Incomplete => Ok(None),
            Decoded::Oversized => {
                Err(Error::OversizedNumber { path: Default::default(), offset: self.position })
            }
        }
    }
}

impl<R: Read> ReadRecords for FlowReader<R> {
    fn next_record(&mut self) -> Result<Option<(Offset, Record)>> {
        if self.failed {
            return Ok(None);
        }
        let next = self.try_next();
        self.failed = next.is_err();
        next
    }

    fn tail(&self) -> Tail {
        if self.unread.is_empty() {
            Tail::Complete
        } else {
            Tail::Truncated { offset: self.position }
        }
    }

    fn position(&self) -> Offset {
        self.position
    }

    fn non_canonical(&self) -> u64 {
        self.non_canonical
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::MethodId;

    /// Hands out one byte at a time, as a slow pipe does.
    struct OneByOne<'a>(&'a [u8]);

    impl Read for OneByOne<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(1);
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn all(reader: &mut impl ReadRecords) -> Vec<(u64, Record)> {
        std::iter::from_fn(|| reader.next_record().unwrap())
            .map(|(offset, record)| (offset.get(), record))
            .collect()
    }

    #[test]
    fn records_come_with_their_offsets_however_the_bytes_arrive() {
        let bytes = [0x81, 0xC0, 0x80, 0x01, 0x40, 0x01];
        let expected = [
            (0, Record::Enter(MethodId::new(1).unwrap())),
            (1, Record::Enter(MethodId::new(8192).unwrap())),
            (4, Record::Exit(NonZeroU64::new(65).unwrap())),
        ];
        assert_eq!(all(&mut FlowReader::new(&bytes[..])), expected);
        assert_eq!(all(&mut FlowReader::new(OneByOne(&bytes))), expected);
    }

    #[test]
    fn records_that_are_not_canonical_are_counted() {
        // Two exits in two records, id 1 with a superfluous group, one exit with one.
        let mut reader = FlowReader::new(&[0x80, 0x80, 0x00, 0x00, 0xC1, 0x00, 0x40, 0x00][..]);
        assert_eq!(all(&mut reader).len(), 6);
        assert_eq!(reader.non_canonical(), 3);
    }

    #[test]
    fn a_cut_record_is_reported_with_its_offset() {
        let mut reader = FlowReader::new(&[0x81, 0xC0, 0x80][..]);
        assert_eq!(all(&mut reader).len(), 1);
        assert_eq!(reader.tail(), Tail::Truncated { offset: Offset::new(1) });
    }

    #[test]
    fn nothing_follows_an_error() {
        let mut bytes = vec![0x81];
        bytes.extend([0xFF; 20]);
        let mut reader = FlowReader::new(&bytes[..]);
        assert!(reader.next_record().unwrap().is_some());
        let error = reader.next_record().unwrap_err();
        assert!(error.to_string().starts_with("offset 1:"), "{error}");
        assert!(reader.next_record().unwrap().is_none());
    }
}
