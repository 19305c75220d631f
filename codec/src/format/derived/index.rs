//! `thread-<id>.idx`: sums of counts and depths at positions of a thread file, so that it can be read from
//! the middle.
//!
//! Readers create it, and only on request. It covers the first bytes of its file, up to the end of a record; what follows,
//! because the file has grown since, must be read. It does not depend on marks.
//!
//! After the [header](super::of_events), whose magic is `flow-idx`, with two words of its own:
//!
//! | offset | word | |
//! |---:|---|---|
//! | 56 | entry | bytes per interval: at least [`ENTRY_BYTES`], a multiple of eight |
//! | 64 | intervals | how many follow |
//! | 72 | check | |
//!
//! the *intervals* follow, one after the other, without a gap in the thread file either. Each begins and ends
//! with a record:
//!
//! | word | |
//! |---|---|
//! | bytes | of the thread file |
//! | enters | method entries in it |
//! | exits | method exits in it |
//! | fall | how far the depth falls below the value at the start of the interval, at the lowest point |
//!
//! None of that depends on what came before. The depth follows from all intervals up to there: an interval
//! changes it from `d` to the larger of `d + enters - exits` and `enters - exits + fall`, its lowest value is
//! `d - fall`, and neither is less than 0. Damage counts as bytes without events.
//!
//! # What a reader does
//!
//! | index | result |
//! |---|---|
//! | what the [header](super::of_events) excludes | the index is built anew, in memory |
//! | words after those of an entry that it knows | skipped |
//! | an interval that turns out to hold something else when it is read | the index is built anew: it is never trusted over its file |
//!
//! # Example
//!
//! Thread 7 has 4 bytes, `81 82 01 83`: two entries, both left, one entry. One interval:
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 69 64 78` | magic |
//! | `02 00 00 00 00 00 00 00` | version 2 |
//! | `07 00 00 00 00 00 00 00` | thread 7 |
//! | `04 00 00 00 00 00 00 00` | covers 4 bytes of events |
//! | `77 22 BA FB 00 00 00 00` | CRC-32 of `81 82 01 83` |
//! | `00 00 00 00 00 00 00 00` | no marks |
//! | `00 00 00 00 00 00 00 00` | no marks |
//! | `20 00 00 00 00 00 00 00` | 32 bytes per interval |
//! | `01 00 00 00 00 00 00 00` | one interval |
//! | `E8 C8 AF DD 00 00 00 00` | check |
//! | `04 00 00 00 00 00 00 00` | 4 bytes |
//! | `03 00 00 00 00 00 00 00` | 3 entries |
//! | `02 00 00 00 00 00 00 00` | 2 exits |
//! | `00 00 00 00 00 00 00 00` | never below its start |

use super::of_events::{self, Fingerprint, Owner};
use crate::ThreadId;

/// The first bytes of the file.
pub const MAGIC: [u8; 8] = *b"flow-idx";
/// The version of this format.
pub const VERSION: u64 = 2;
/// Bytes of an interval.
pub const ENTRY_BYTES: usize = 4 * size_of::<u64>();

/// An interval of a thread file.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct IntervalSums {
    /// Bytes of the file.
    pub bytes: u64,
    /// Method entries.
    pub enters: u64,
    /// Method exits.
    pub exits: u64,
    /// How far the depth falls below its value at the start.
    pub fall: u64,
}

/// The content of an index file.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexFile {
    /// The thread of the file.
    pub thread: ThreadId,
    /// CRC-32 of the [`sample`](of_events::sample) of the bytes that are covered.
    pub sample: u32,
    /// The intervals, from the start of that file on.
    pub intervals: Vec<IntervalSums>,
}

impl IndexFile {
    /// Bytes of the thread file that are covered; `None` if the sum is too large for a file.
    #[must_use]
    pub(crate) fn covered(&self) -> Option<u64> {
        self.intervals.iter().try_fold(0_u64, |sum, interval| sum.checked_add(interval.bytes))
    }

    /// The bytes of the index.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let bytes = self.covered().unwrap_or(u64::MAX);
        let events = Fingerprint { bytes, sample: self.sample };
        let owner = Owner { thread: self.thread, events, marks: Fingerprint::default() };
        let words = [ENTRY_BYTES as u64, self.intervals.len() as u64];
        let entries = self
            .intervals
            .iter()
            .flat_map(|entry| [entry.bytes, entry.enters, entry.exits, entry.fall]);
        let entries: Vec<u8> = entries.flat_map(u64::to_le_bytes).collect();
        of_events::encode(MAGIC, VERSION, owner, &words, &entries)
    }

    /// Reads the bytes of an index. The error describes what is wrong with it.
    ///
    /// # Errors
    /// The bytes violate the format.
    pub fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let (Owner { thread, events, .. }, [entry_bytes, count], entries) =
            of_events::decode(MAGIC, VERSION, bytes, "it is not an index")?;
        let entry_bytes = usize::try_from(entry_bytes).unwrap_or(usize::MAX);
        if entry_bytes < ENTRY_BYTES || !entry_bytes.is_multiple_of(size_of::<u64>()) {
            return Err("its entries are too small");
        }
        if entries.len() as u64 / entry_bytes as u64 != count
            || !entries.len().is_multiple_of(entry_bytes)
        {
            return Err("it is cut short");
        }
        let intervals = entries.chunks_exact(entry_bytes).map(|entry| {
            let mut words = of_events::words(entry);
            let mut word = || words.next().unwrap_or_default();
            IntervalSums { bytes: word(), enters: word(), exits: word(), fall: word() }
        });
        let index = Self { thread, sample: events.sample, intervals: intervals.collect() };
        if index.covered() != Some(events.bytes)
            || index.intervals.iter().any(|entry| entry.bytes == 0)
        {
            return Err("its intervals do not add up");
        }
        Ok(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> IndexFile {
        let interval = IntervalSums { bytes: 4, enters: 3, exits: 2, fall: 0 };
        let sample = crc32fast::hash(&[0x81, 0x82, 0x01, 0x83]);
        IndexFile { thread: ThreadId::new(7), sample, intervals: vec![interval] }
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn any_other_byte_is_refused() {
        let bytes = small().encode();
        assert_eq!(IndexFile::decode(&bytes), Ok(small()));
        for at in 0..bytes.len() {
            for change in 1..=u8::MAX {
                let mut other = bytes.clone();
                other[at] ^= change;
                assert!(IndexFile::decode(&other).is_err(), "byte {at} ^ {change:02X}");
            }
            assert!(IndexFile::decode(&bytes[..at]).is_err());
        }
        assert!(IndexFile::decode(&[&bytes[..], &[0]].concat()).is_err());
    }
}
