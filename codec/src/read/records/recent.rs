//! What a thread called last.

use std::collections::BTreeMap;

use super::Content;
use crate::format::flow::{Record, is_boundary};
use crate::read::{ReadRecords, ThreadFile};
use crate::{Error, MethodId, Offset, Result};

/// In this many bytes there is nearly always the end of a record that can be recognised.
const SEARCHED_BYTES: usize = 64 * 1024;

impl ThreadFile {
    /// Counts the calls in about the last `bytes` of the events, by method: cheap in a thread file of any size, also while
    /// it is recorded.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged there.
    #[doc(hidden)]
    pub fn recent_calls(&self, bytes: u64) -> Result<BTreeMap<MethodId, u64>> {
        let content = Content::open(self)?;
        let Some(from) = self.recent_record(&content, bytes)? else { return Ok(BTreeMap::new()) };
        let mut calls = BTreeMap::new();
        let mut records = content.records_at(from);
        while let Some((_, record)) = records.next_record()? {
            if let Record::Enter(method) = record {
                *calls.entry(method).or_default() += 1;
            }
        }
        Ok(calls)
    }

    /// Where a record begins, about `bytes` before the end of the events; `None` if none is found there.
    ///
    /// # Errors
    /// The file cannot be read.
    #[doc(hidden)]
    pub fn recent_record(&self, content: &Content, bytes: u64) -> Result<Option<Offset>> {
        let from = Offset::new(content.len().saturating_sub(bytes));
        if from.get() == 0 {
            return Ok(Some(from));
        }
        let mut start = vec![0; SEARCHED_BYTES];
        let read = content.fill_at(from, &mut start);
        let read = read.map_err(|source| Error::Io { path: self.path(), source })?;
        let boundary = start.iter().take(read).position(|&byte| is_boundary(byte));
        Ok(boundary.map(|boundary| from.plus(boundary + 1)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::ThreadId;
    use crate::format::names::EventFormat;

    #[test]
    fn calls_are_counted_from_a_record_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("thread-1.flow");
        // Enter 1, then a method with an id of two bytes that is called and left three times.
        let bytes = [&[0x81][..], &[0xC0, 0x01, 0x00].repeat(3)].concat();
        fs::write(&path, &bytes).unwrap();
        let file =
            ThreadFile::new(ThreadId::new(1), EventFormat::Binary, dir.path(), bytes.len() as u64);
        let counts = |last| file.recent_calls(last).unwrap().into_values().collect::<Vec<_>>();
        assert_eq!(counts(u64::MAX), [1, 3]);
        assert_eq!(counts(10), [1, 3]);
        assert_eq!(counts(9), [2], "whatever precedes the first certain record is left out");
        assert_eq!((counts(8), counts(7), counts(1)), (vec![2], vec![2], vec![]));
        assert_eq!(counts(0), [0; 0]);
    }
}
