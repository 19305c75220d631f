//! Sources of records.

use super::visit::Visit;
use crate::format::flow::Record;
use crate::{Offset, Result};

/// How the bytes of a thread end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tail {
    /// After a whole record.
    Complete,
    /// Inside a record that begins at this offset: the writer was interrupted.
    Truncated {
        /// Where the unfinished record begins.
        offset: Offset,
    },
}

/// How many records are passed on at a time where there is no buffer of them.
pub(crate) const RECORDS_AT_ONCE: usize = 4096;

/// A source of one thread's records.
pub trait ReadRecords {
    /// Returns the next record and where it begins, or `None` at the end.
    ///
    /// # Errors
    /// The stream cannot be read: no more records follow. Or it violates the format: then the records follow
    /// that can be decoded reliably.
    fn next_record(&mut self) -> Result<Option<(Offset, Record)>>;

    /// Passes on all records that are in memory, much faster than one by one. Returns whether there may be
    /// more.
    ///
    /// # Errors
    /// As those of [`next_record`](Self::next_record); the records before the error were passed on.
    fn visit_some<V: Visit>(&mut self, visitor: &mut V) -> Result<bool>
    where
        Self: Sized,
    {
        for _ in 0..RECORDS_AT_ONCE {
            match self.next_record()? {
                Some((_, Record::Enter(method))) => visitor.enter(method),
                Some((_, Record::Exit(count))) => visitor.exit(count),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The same for records that begin before `end`; does nothing at `end`.
    ///
    /// # Errors
    /// As those of [`next_record`](Self::next_record); the records before the error were passed on.
    fn visit_until<V: Visit>(&mut self, end: Offset, visitor: &mut V) -> Result<bool>
    where
        Self: Sized,
    {
        for _ in 0..RECORDS_AT_ONCE {
            if self.position() >= end {
                break;
            }
            match self.next_record()? {
                Some((_, Record::Enter(method))) => visitor.enter(method),
                Some((_, Record::Exit(count))) => visitor.exit(count),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Passes on all records up to the end, or to the first error.
    ///
    /// # Errors
    /// As those of [`next_record`](Self::next_record). Called again, it continues after the damage.
    fn visit_all<V: Visit>(&mut self, visitor: &mut V) -> Result<()>
    where
        Self: Sized,
    {
        while self.visit_some(visitor)? {}
        Ok(())
    }

    /// How the stream ended, once [`next_record`](Self::next_record) has returned `None`.
    fn tail(&self) -> Tail;

    /// Where the next record begins: how far the stream has been read.
    fn position(&self) -> Offset;

    /// How many of the records so far flow would have written otherwise: exit runs in several records,
    /// numbers with superfluous bytes. Records that were passed on together may be missing in this count.
    #[doc(hidden)]
    fn non_canonical(&self) -> u64 {
        0
    }
}
