//! Reads `.flow` from a stream.

use std::io::{self, Read};
use std::num::NonZeroU64;
use std::ops::Range;

use super::repeats::{Repeats, VisitRepeats};
use super::source::{ReadRecords, Tail};
use super::visit::{Visit, visit_records};
use crate::Undecoded;
use crate::format::flow::{MAX_RECORD_BYTES, Record, decode, is_boundary};
use crate::{Error, MethodId, Offset, Result};

/// Records that are complete in memory, with their offsets.
#[derive(Debug)]
pub(crate) struct AtHand<'a> {
    rest: &'a [u8],
    /// How many bytes are left over at the end.
    left: usize,
    /// Where the bytes end.
    end: Offset,
}

impl AtHand<'_> {
    /// Where the next record begins.
    #[inline(always)]
    pub(crate) fn next_offset(&self) -> Offset {
        Offset::new(self.end.get() - self.rest.len() as u64)
    }
}

impl Iterator for AtHand<'_> {
    type Item = (Offset, Record);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.len() <= self.left {
            return None;
        }
        let offset = self.next_offset();
        // Nearly all records have one byte.
        if let [first @ (..=0x3F | 0x80..=0xBF), rest @ ..] = self.rest {
            self.rest = rest;
            let value = u64::from(first & 0x3F);
            let record = match first & 0x80 {
                0 => Record::Exit(NonZeroU64::MIN.saturating_add(value)),
                _ => Record::Enter(MethodId::new(value)?),
            };
            return Some((offset, record));
        }
        let Ok((record, len)) = decode(self.rest) else { return None };
        self.rest = self.rest.get(len..)?;
        Some((offset, record))
    }
}

const BUFFER_BYTES: usize = 256 * 1024;
const MIN_BUFFER_BYTES: usize = 1024;

/// Reads the records of one thread, in order, in constant memory.
#[derive(Debug)]
pub struct FlowReader<R> {
    input: R,
    buffer: Vec<u8>,
    /// The bytes of `buffer` not yet decoded.
    unread: Range<usize>,
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
        Self::continuing(input, Offset::default(), u64::MAX)
    }

    /// The same, where the start of `input` has this offset and about this many bytes: a million threads of a
    /// few events each need no large buffers.
    pub(crate) fn continuing(input: R, position: Offset, expected_bytes: u64) -> Self {
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

    /// Moves the unread bytes to the front and fills the space after them.
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
                    // One record is enough to continue; a slow stream need not fill the buffer.
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

    #[inline]
    fn try_next(&mut self) -> Result<Option<(Offset, Record)>> {
        if self.unread.len() < MAX_RECORD_BYTES && !self.at_end {
            self.refill()?;
        }
        let bytes = self.buffer.get(self.unread.clone()).unwrap_or_default();
        match decode(bytes) {
            Ok((record, len)) => {
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
            Err(Undecoded::Incomplete) => Ok(None),
            Err(Undecoded::Invalid(_)) => Err(self.skip_damage()?),
        }
    }

    /// The next records that begin before `until`, as far as they are complete in memory.
    #[inline]
    pub(crate) fn at_hand(&self, until: Offset) -> AtHand<'_> {
        let rest = self.buffer.get(self.unread.clone()).filter(|_| !self.failed);
        let rest = rest.unwrap_or_default();
        let wanted = until.get().saturating_sub(self.position.get());
        let after = rest.len().saturating_sub(usize::try_from(wanted).unwrap_or(usize::MAX));
        let end = self.position.plus(rest.len());
        AtHand { rest, left: after.max(MAX_RECORD_BYTES - 1), end }
    }

    /// Skips records in memory, up to `to`, without counting which are not canonical.
    pub(crate) fn pass(&mut self, to: Offset) {
        let read = to.get().saturating_sub(self.position.get());
        self.unread.start += usize::try_from(read).unwrap_or_default();
        self.position = to;
        self.last_was_exit = false;
    }

    /// Passes on the records in the buffer, of those before `end`, and at least one. Returns whether there may be more.
    #[inline]
    fn visit_with<V: Visit>(
        &mut self,
        end: Option<Offset>,
        visitor: &mut V,
        visit: impl FnOnce(&Self, Range<usize>, &mut V) -> usize,
    ) -> Result<bool> {
        if self.failed || end.is_some_and(|end| self.position >= end) {
            return Ok(!self.failed);
        }
        // Until a mark, one buffer is enough: the intervals between marks are far shorter.
        if !self.at_end
            && (end.is_none() || self.unread.len() < MAX_RECORD_BYTES)
            && let Err(error) = self.refill()
        {
            self.failed = true;
            return Err(error);
        }
        let wanted = end.map_or(u64::MAX, |end| end.get() - self.position.get());
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).min(self.unread.len());
        let read = visit(self, self.unread.start..self.unread.start + wanted, visitor);
        self.unread.start += read;
        self.position = self.position.plus(read);
        self.last_was_exit = false;
        if read > 0 && end.is_some() {
            return Ok(true);
        }
        // The rest is damage, or a record that is truncated, for good or for now.
        match self.next_record()? {
            Some((_, Record::Enter(method))) => visitor.enter(method),
            Some((_, Record::Exit(count))) => visitor.exit(count),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Passes on the records in a part of the buffer, one by one. Returns how many bytes they take.
    #[inline]
    fn visit_plainly<V: Visit>(&self, unread: Range<usize>, visitor: &mut V) -> usize {
        visit_records(self.buffer.get(unread).unwrap_or_default(), visitor)
    }

    /// Passes on some more records before `end`, and calls that repeat earlier ones as such. Returns whether there may be more.
    ///
    /// # Errors
    /// As those of [`visit_some`](ReadRecords::visit_some).
    #[doc(hidden)]
    pub fn visit_repeats<V: VisitRepeats>(
        &mut self,
        end: Option<Offset>,
        repeats: &mut Repeats,
        visitor: &mut V,
    ) -> Result<bool> {
        self.visit_with(end, visitor, |reader, unread, visitor| {
            let base = reader.position.get() - unread.start as u64;
            repeats.visit(&reader.buffer, unread, base, visitor)
        })
    }

    /// Continues after the next byte that surely ends a record.
    #[cold]
    fn skip_damage(&mut self) -> Result<Error> {
        let offset = self.position;
        self.last_was_exit = false;
        loop {
            let bytes = self.buffer.get(self.unread.clone()).unwrap_or_default();
            let boundary = bytes.iter().position(|&byte| is_boundary(byte));
            let skipped = boundary.map_or(bytes.len(), |at| at + 1);
            self.unread.start += skipped;
            self.position = self.position.plus(skipped);
            if boundary.is_some() || self.at_end {
                let (path, next) = (Default::default(), self.position);
                return Ok(Error::OversizedNumber { path, offset, next });
            }
            self.refill()?;
        }
    }
}

impl<R: Read> ReadRecords for FlowReader<R> {
    #[inline]
    fn next_record(&mut self) -> Result<Option<(Offset, Record)>> {
        if self.failed {
            return Ok(None);
        }
        let next = self.try_next();
        self.failed = matches!(next, Err(Error::Io { .. }));
        next
    }

    fn visit_some<V: Visit>(&mut self, visitor: &mut V) -> Result<bool> {
        self.visit_with(None, visitor, Self::visit_plainly)
    }

    fn visit_until<V: Visit>(&mut self, end: Offset, visitor: &mut V) -> Result<bool> {
        self.visit_with(Some(end), visitor, Self::visit_plainly)
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
    use super::*;

    /// Returns one byte at a time, as a slow pipe does.
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
    fn records_after_damage_are_read_from_the_next_boundary_on() {
        let mut bytes = vec![0x81];
        bytes.extend([0xFF; 20]);
        // Whether this byte ends a record or begins a run of exits cannot be known.
        bytes.push(0x41);
        bytes.extend([0x01, 0x82, 0xC0]);
        for input in [&mut &bytes[..] as &mut dyn Read, &mut OneByOne(&bytes)] {
            let mut reader = FlowReader::new(input);
            assert!(reader.next_record().unwrap().is_some());
            let error = reader.next_record().unwrap_err().to_string();
            assert!(error.starts_with("offset 1:") && error.ends_with("offset 23"), "{error}");
            let expected = Record::Enter(MethodId::new(2).unwrap());
            assert_eq!(reader.next_record().unwrap(), Some((Offset::new(23), expected)));
            assert!(reader.next_record().unwrap().is_none());
            assert_eq!(reader.tail(), Tail::Truncated { offset: Offset::new(24) });
        }
    }

    #[test]
    fn damage_up_to_the_end_is_left_out() {
        let mut reader = FlowReader::new(&[0xFF; 3000][..]);
        let error = reader.next_record().unwrap_err().to_string();
        assert!(error.ends_with("skipped up to offset 3000"), "{error}");
        assert!(reader.next_record().unwrap().is_none());
        assert_eq!(reader.tail(), Tail::Complete);
    }
}
