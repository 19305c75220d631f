//! `thread-<id>.idx`: sums of counts and depths at positions of a thread file, so that it can be read from
//! the middle.
//!
//! Readers create it, and only on request. It contains nothing that the thread file does not, and may be
//! deleted at any time. It covers the first bytes of its file, up to the end of a record; what follows,
//! because the file has grown since, must be read.
//!
//! All numbers are words of eight bytes, the lowest byte first.
//!
//! | offset | word | |
//! |---:|---|---|
//! | 0 | magic | `flow-idx` |
//! | 8 | version | [`VERSION`] |
//! | 16 | entry | bytes per interval: at least [`ENTRY_BYTES`], a multiple of eight |
//! | 24 | thread | the thread of the file |
//! | 32 | covered | bytes of that file |
//! | 40 | intervals | how many follow |
//! | 48 | sample | CRC-32 of some bytes of that file |
//! | 56 | check | CRC-32 of all words before this one, and of all after it |
//!
//! The *intervals* follow, one after the other, without a gap in the thread file either. Each begins and ends
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
//! The sample consists of [`SAMPLES`] pieces of [`SAMPLE_BYTES`] each: number `k` begins at `(covered - 64) ·
//! k / 63`, rounded down. If fewer bytes are covered than all pieces have, it is all of them. It
//! distinguishes a file that has changed or been replaced from one that has grown. If the [manifest](crate::format::manifest) of the
//! trace has an `id`, the CRC-32 is that of the 8 bytes of this number, the highest first, and then of the pieces: so what
//! was stored for one recording is never used for another one. [Shapes](super::dag) have
//! such samples, too.
//!
//! Of events in a [container](crate::format::container), piece `k` is instead the first bytes, as stored, of the object that
//! has the byte where the piece would begin: as many as the piece would have, or all of the object. So nothing is
//! unpacked. An index in the container of its events was written with them: its sample is not checked.
//!
//! # What a reader does
//!
//! | index | result |
//! |---|---|
//! | none, a wrong check, a shorter thread file, another sample or thread | the index is built anew, in memory |
//! | another version | the same |
//! | words after those of an entry that it knows | skipped |
//! | an interval that turns out to hold something else when it is read | the same: an index is never trusted over its file |
//!
//! # Example
//!
//! Thread 7 has 4 bytes, `81 82 01 83`: two entries, both left, one entry. One interval:
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 69 64 78` | magic |
//! | `01 00 00 00 00 00 00 00` | version 1 |
//! | `20 00 00 00 00 00 00 00` | 32 bytes per interval |
//! | `07 00 00 00 00 00 00 00` | thread 7 |
//! | `04 00 00 00 00 00 00 00` | covers 4 bytes |
//! | `01 00 00 00 00 00 00 00` | one interval |
//! | `77 22 BA FB 00 00 00 00` | CRC-32 of `81 82 01 83` |
//! | `CC 64 28 E2 00 00 00 00` | check |
//! | `04 00 00 00 00 00 00 00` | 4 bytes |
//! | `03 00 00 00 00 00 00 00` | 3 entries |
//! | `02 00 00 00 00 00 00 00` | 2 exits |
//! | `00 00 00 00 00 00 00 00` | never below its start |

use std::io;
use std::ops::Range;

use crate::{ThreadId, TraceId};

/// The first bytes of the file.
pub const MAGIC: [u8; 8] = *b"flow-idx";
/// The version of this format.
pub const VERSION: u64 = 1;
/// Bytes of an interval.
pub const ENTRY_BYTES: usize = 4 * WORD_BYTES;
/// How many pieces of a thread file make the sample.
pub const SAMPLES: u64 = 64;
/// Bytes of each piece.
pub const SAMPLE_BYTES: u64 = 64;

const WORD_BYTES: usize = 8;
const HEADER_BYTES: usize = 8 * WORD_BYTES;
const CHECK: Range<usize> = 7 * WORD_BYTES..HEADER_BYTES;

/// An interval of a thread file.
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

/// What identifies the bytes of which something is stored.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fingerprint {
    /// How many there are.
    pub bytes: u64,
    /// CRC-32 of the [`sample`] of them.
    pub sample: u32,
}

/// The content of an index file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexFile {
    /// The thread of the file.
    pub thread: ThreadId,
    /// CRC-32 of the [`sample`] of that file.
    pub sample: u32,
    /// The intervals, from the start of that file on.
    pub intervals: Vec<IntervalSums>,
}

/// The bytes of a thread file that make up the sample, if this many are covered.
pub fn sample(covered: u64) -> impl Iterator<Item = Range<u64>> {
    let whole = covered < SAMPLES * SAMPLE_BYTES;
    let pieces = if whole { 1 } else { SAMPLES };
    (0..pieces).map(move |piece| {
        if whole {
            return 0..covered;
        }
        let last = u128::from(covered - SAMPLE_BYTES);
        let start = last * u128::from(piece) / u128::from(SAMPLES - 1);
        // Not beyond `last`, which fits.
        let start = u64::try_from(start).unwrap_or(u64::MAX);
        start..start.saturating_add(SAMPLE_BYTES)
    })
}

/// CRC-32 of a sample, of which `read` reads each piece: it fills the buffer, or as much of it as there is.
pub(crate) fn sum_of_sample(
    id: Option<TraceId>,
    covered: u64,
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<u32> {
    let mut crc = crc32fast::Hasher::new();
    if let Some(id) = id {
        crc.update(&id.get().to_be_bytes());
    }
    for piece in sample(covered) {
        let len = usize::try_from(piece.end - piece.start).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len];
        let read = read(piece.start, &mut bytes)?;
        crc.update(bytes.get(..read).unwrap_or_default());
    }
    Ok(crc.finalize())
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
        let mut bytes = MAGIC.to_vec();
        let header = [
            VERSION,
            ENTRY_BYTES as u64,
            self.thread.get(),
            self.covered().unwrap_or(u64::MAX),
            self.intervals.len() as u64,
            self.sample.into(),
            0,
        ];
        let entries = self
            .intervals
            .iter()
            .flat_map(|entry| [entry.bytes, entry.enters, entry.exits, entry.fall]);
        bytes.extend(header.into_iter().chain(entries).flat_map(u64::to_le_bytes));
        let check = u64::from(check(&bytes)).to_le_bytes();
        if let Some(place) = bytes.get_mut(CHECK) {
            place.copy_from_slice(&check);
        }
        bytes
    }

    /// Reads the bytes of an index. The error describes what is wrong with it.
    ///
    /// # Errors
    /// The bytes violate the format.
    pub fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let Some((header, entries)) = bytes.split_at_checked(HEADER_BYTES) else {
            return Err("it is cut short");
        };
        let mut header = words(header);
        let mut word = || header.next().unwrap_or_default();
        if word() != u64::from_le_bytes(MAGIC) {
            return Err("it is not an index");
        }
        if word() != VERSION {
            return Err("it has another version");
        }
        let [entry_bytes, thread, covered, count, sample, said] =
            [word(), word(), word(), word(), word(), word()];
        if said != u64::from(check(bytes)) {
            return Err("it is damaged");
        }
        let entry_bytes = usize::try_from(entry_bytes).unwrap_or(usize::MAX);
        if entry_bytes < ENTRY_BYTES || !entry_bytes.is_multiple_of(WORD_BYTES) {
            return Err("its entries are too small");
        }
        if entries.len() as u64 / entry_bytes as u64 != count
            || !entries.len().is_multiple_of(entry_bytes)
        {
            return Err("it is cut short");
        }
        let intervals = entries.chunks_exact(entry_bytes).map(|entry| {
            let mut words = words(entry);
            let mut word = || words.next().unwrap_or_default();
            IntervalSums { bytes: word(), enters: word(), exits: word(), fall: word() }
        });
        let index = Self {
            thread: ThreadId::new(thread),
            sample: u32::try_from(sample).map_err(|_| "its sample is not a CRC-32")?,
            intervals: intervals.collect(),
        };
        if index.covered() != Some(covered) || index.intervals.iter().any(|entry| entry.bytes == 0)
        {
            return Err("its intervals do not add up");
        }
        Ok(index)
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word))
}

/// The check of an index, computed without the check itself.
fn check(bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(bytes.get(..CHECK.start).unwrap_or_default());
    crc.update(bytes.get(CHECK.end..).unwrap_or_default());
    crc.finalize()
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

    #[test]
    fn the_sample_reaches_from_the_first_byte_to_the_last() {
        assert!(sample(0).eq(std::iter::once(0..0)));
        assert!(sample(4095).eq(std::iter::once(0..4095)));
        for covered in [4096, 1 << 40, u64::MAX] {
            let pieces: Vec<_> = sample(covered).collect();
            assert_eq!((pieces.len(), pieces[0].clone()), (64, 0..64));
            assert_eq!(pieces[63], covered - 64..covered);
            assert!(pieces.windows(2).all(|two| two[0].start < two[1].start));
        }
    }
}
