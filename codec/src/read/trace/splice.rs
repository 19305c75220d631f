//! How the open chunk of a thread is appended to its file.

use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::format::flow::{MAX_RECORD_BYTES, Record, decode, records};
use crate::format::names::EventFormat;
use crate::read::ThreadFile;
use crate::store::{Lines, OpenChunk, lines_bytes};
use crate::{Error, Offset, Result};

/// The change that makes a thread's file hold all of its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Splice {
    /// How many bytes of the file stay.
    pub kept: u64,
    /// How many bytes after them are cut: a run of exits that became longer, or events later than a
    /// checkpoint.
    pub cut: u64,
    /// How many bytes of the open chunk are already among those that stay.
    pub written: u64,
    /// How many bytes must follow.
    pub missing: u64,
}

impl ThreadFile {
    /// Finds out how much of the open chunk is already in its file: the process that wrote it may have died
    /// while doing so. `None` if there is no open chunk.
    ///
    /// # Errors
    /// The file cannot be read, or differs from the open chunk.
    #[doc(hidden)]
    pub fn splice(&self) -> Result<Option<Splice>> {
        let Some(open) = &self.open else { return Ok(None) };
        let io_error = |source| Error::Io { path: self.path(), source };
        let splice = match self.open_events()? {
            Some(events) => splice(&mut events.reader(), self.stored_in_file(), open, self.format)
                .map_err(io_error)?,
            None => {
                Ok(Splice { kept: 0, cut: 0, written: 0, missing: open.stored_bytes(self.format) })
            }
        };
        let conflict = |offset| Error::Conflict { path: self.path(), offset };
        splice.map(Some).map_err(conflict)
    }

    /// The bytes that must follow in its file.
    ///
    /// # Errors
    /// None: reading from memory cannot fail.
    #[doc(hidden)]
    pub fn missing_bytes(&self, splice: Splice) -> io::Result<impl Read + use<>> {
        let mut bytes: Box<dyn Read> = match &self.open {
            Some(open) => open.stored(self.format),
            None => Box::new(io::empty()),
        };
        io::copy(&mut (&mut bytes).take(splice.written), &mut io::sink())?;
        Ok(bytes)
    }
}

impl OpenChunk {
    /// The bytes of the chunk as they will be stored.
    fn stored(&self, format: EventFormat) -> Box<dyn Read> {
        let records = Arc::clone(&self.records);
        match format {
            EventFormat::Binary => Box::new(Cursor::new(records)),
            EventFormat::Jsonl => Box::new(Lines::new(records)),
        }
    }

    /// How many bytes that are.
    pub(crate) fn stored_bytes(&self, format: EventFormat) -> u64 {
        match format {
            EventFormat::Binary => self.records.len() as u64,
            EventFormat::Jsonl => lines_bytes(&self.records),
        }
    }
}

/// `Err` if file and chunk contradict each other, with the offset.
fn splice(
    file: &mut (impl Read + Seek),
    offset: u64,
    open: &OpenChunk,
    format: EventFormat,
) -> io::Result<std::result::Result<Splice, Offset>> {
    let after = file.seek(SeekFrom::End(0))?.saturating_sub(offset);
    if open.is_all {
        let (kept, missing) = (offset, open.stored_bytes(format));
        return Ok(Ok(Splice { kept, cut: after, written: 0, missing }));
    }
    file.seek(SeekFrom::Start(offset))?;
    let same = common_bytes(BufReader::new(&mut *file), BufReader::new(open.stored(format)))?;
    let written = match format {
        _ if same == after => Some(same),
        EventFormat::Binary => grown_run(file, open, same, after)?,
        EventFormat::Jsonl => None,
    };
    Ok(match written {
        None => Err(Offset::new(offset.saturating_add(same))),
        Some(written) => Ok(Splice {
            kept: offset + written,
            cut: after - written,
            written,
            missing: open.stored_bytes(format).saturating_sub(written),
        }),
    })
}

/// How many bytes two streams have in common at their start.
fn common_bytes(mut one: impl BufRead, mut other: impl BufRead) -> io::Result<u64> {
    let mut same = 0;
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let len = left.len().min(right.len());
        let equal = left.iter().zip(right).take_while(|(left, right)| left == right).count();
        same += equal as u64;
        if equal < len || len == 0 {
            return Ok(same);
        }
        one.consume(len);
        other.consume(len);
    }
}

/// Where a run of exits begins that ends the file and is longer in the chunk. That happens when a recording
/// ends while the thread continues: another thread wrote the run as it was at that moment.
fn grown_run(
    file: &mut (impl Read + Seek),
    open: &OpenChunk,
    same: u64,
    after: u64,
) -> io::Result<Option<u64>> {
    let mut start = 0;
    for (record, end) in records(&open.records) {
        let end = end as u64;
        if end <= same {
            start = end;
            continue;
        }
        let rest = after - start;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(open.offset + start))?;
        file.take(MAX_RECORD_BYTES as u64).read_to_end(&mut bytes)?;
        let has_grown = match (decode(&bytes), record) {
            (Ok((Record::Exit(then), len)), Record::Exit(now)) => len as u64 == rest && then < now,
            _ => false,
        };
        return Ok(has_grown.then_some(start));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::EventCounts;

    fn of(file: &[u8], chunk: &[u8], format: EventFormat) -> std::result::Result<[u64; 4], u64> {
        let (events, records) = (EventCounts::default(), chunk.into());
        let (marks, whole) = (Default::default(), Default::default());
        let open = OpenChunk {
            offset: 2,
            events,
            records,
            marks,
            whole,
            before: Vec::new(),
            is_all: false,
        };
        let file = [&[0x80, 0x81][..], file].concat();
        let splice = splice(&mut Cursor::new(file), open.offset, &open, format).unwrap();
        splice.map(|s| [s.kept, s.cut, s.written, s.missing]).map_err(Offset::get)
    }

    #[test]
    fn bytes_in_the_file_are_not_written_again() {
        let chunk = [0x01, 0xC0, 0x01, 0x82];
        for written in 0..=chunk.len() as u64 {
            let file = &chunk[..usize::try_from(written).unwrap()];
            assert_eq!(
                of(file, &chunk, EventFormat::Binary),
                Ok([2 + written, 0, written, 4 - written])
            );
        }
        assert_eq!(of(b"{\"e\"", &[0x01], EventFormat::Jsonl), Ok([6, 0, 4, 22]));
    }

    #[test]
    fn a_run_of_exits_that_grew_is_written_anew() {
        assert_eq!(of(&[0x82, 0x01], &[0x82, 0x03, 0x84], EventFormat::Binary), Ok([3, 1, 1, 2]));
        assert_eq!(of(&[0x3F], &[0x40, 0x01], EventFormat::Binary), Ok([2, 1, 0, 2]));
    }

    #[test]
    fn anything_else_is_a_conflict() {
        for file in [&[0x82, 0x04][..], &[0x82, 0x84], &[0x82, 0x01, 0x84], &[0x82, 0x03, 0x00]] {
            let found = of(file, &[0x82, 0x03], EventFormat::Binary);
            assert!(matches!(found, Err(3 | 4)), "{file:02X?}: {found:?}");
        }
        assert_eq!(of(b"{}", &[0x01], EventFormat::Jsonl), Err(3));
    }
}
