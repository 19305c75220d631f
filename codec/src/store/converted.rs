//! Threads written as [`jsonl`](crate::format::jsonl): converted to `.flow` when a trace is opened, and back when a file is
//! completed.
//!
//! The result is the `.flow` that the recorder would have written, a twentieth of the lines. It is stored in
//! an unnamed file in the directory for temporary files, because it may be larger than memory.

use std::env;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use super::regular::nameless_file;
use super::system::FileExt as _;
use super::text::{Text, for_each_line_before};
use crate::format::flow::{Encoded, Record, records};
use crate::format::jsonl::{EXPECTED, decode_line, encode, encoded_bytes};
use crate::{Error, Result};

/// A truncated record, which represents a truncated line.
const CUT_OFF: u8 = 0xC0;
const BUFFER_BYTES: usize = 64 * 1024;

/// The events of one thread, converted.
#[derive(Clone, Debug)]
pub(crate) struct Converted {
    /// The file with them, where they begin, and how many bytes they have.
    pub(crate) file: Arc<File>,
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    /// Bytes of all lines, and of the complete ones.
    pub(crate) stored: u64,
    pub(crate) whole: u64,
}

/// Converts threads, one after the other, into one file.
#[derive(Debug)]
pub(crate) struct Converter {
    file: Arc<File>,
    path: PathBuf,
    end: u64,
}

impl Converter {
    /// Creates the file.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { file: Arc::new(nameless_file()?), path: env::temp_dir(), end: 0 })
    }

    /// Converts the lines in the first `stored` bytes of a thread's file. Lines that are not events are added to `damage`.
    pub(crate) fn convert(
        &mut self,
        lines: Text,
        stored: u64,
        damage: &mut Vec<Error>,
    ) -> Result<Converted> {
        let start = self.end;
        let mut written = Ok(());
        let (mut bytes, mut exits) = (Vec::with_capacity(BUFFER_BYTES), 0);
        let lines = for_each_line_before(stored, lines, damage, |line| {
            match decode_line(line).map_err(|_| EXPECTED)? {
                Some(Record::Exit(count)) => exits += count.get(),
                Some(Record::Enter(method)) => {
                    end_run(&mut exits, &mut bytes);
                    bytes.extend_from_slice(Encoded::enter(method).as_bytes());
                    if bytes.len() >= BUFFER_BYTES && written.is_ok() {
                        written = self.write(&mut bytes);
                    }
                }
                None => {}
            }
            Ok(())
        });
        end_run(&mut exits, &mut bytes);
        if lines.is_cut {
            bytes.push(CUT_OFF);
        }
        written.and_then(|()| self.write(&mut bytes))?;
        let file = Arc::clone(&self.file);
        Ok(Converted { file, start, bytes: self.end - start, stored, whole: lines.bytes })
    }

    fn write(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let written = self.file.write_all_at(bytes, self.end);
        written.map_err(|source| Error::Io { path: self.path.clone(), source })?;
        self.end += bytes.len() as u64;
        bytes.clear();
        Ok(())
    }
}

/// Appends a run of this many exits, if there are any.
fn end_run(exits: &mut u64, bytes: &mut Vec<u8>) {
    if let Some(count) = NonZeroU64::new(std::mem::take(exits)) {
        bytes.extend_from_slice(Encoded::exits(count).as_bytes());
    }
}

/// How many bytes the lines of these records have.
pub(crate) fn lines_bytes(flow: &[u8]) -> u64 {
    records(flow).map(|(record, _)| encoded_bytes(record)).fold(0, u64::saturating_add)
}

/// How many exits are converted to lines at once.
const EXITS_AT_ONCE: u64 = 256;

/// The lines of records, converted as they are read, because they take twenty times the space.
#[derive(Debug)]
pub(crate) struct Lines {
    records: Arc<[u8]>,
    /// How far the records have been converted.
    at: usize,
    /// The exits left of the run before that.
    exits: u64,
    lines: Cursor<Vec<u8>>,
}

impl Lines {
    pub(crate) fn new(records: Arc<[u8]>) -> Self {
        Self { records, at: 0, exits: 0, lines: Cursor::default() }
    }

    /// Converts the next lines, if there are any.
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
        encode(record, self.lines.get_mut());
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
        let flow = [0x81, 0xC0, 0x01, 0x6B, 0x04, 0x82];
        let mut expected = Vec::new();
        for (record, _) in records(&flow) {
            encode(record, &mut expected);
        }
        let mut lines = Vec::new();
        Lines::new(flow[..].into()).read_to_end(&mut lines).unwrap();
        assert_eq!(lines, expected);
        assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), 303);
        assert_eq!(lines_bytes(&flow), lines.len() as u64);
    }
}
