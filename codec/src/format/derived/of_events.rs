//! The beginning of the files that readers store beside the events of a thread: an [`index`](super::index), and
//! [shapes](super::dag). They contain nothing that events and marks do not, and may be deleted at any time.
//!
//! All numbers are words of eight bytes, the lowest byte first.
//!
//! | offset | word | |
//! |---:|---|---|
//! | 0 | magic | what the file holds |
//! | 8 | version | of that format |
//! | 16 | thread | the thread |
//! | 24 | events | the first bytes of its events, of which something is stored |
//! | 32 | sample | CRC-32 of some of these |
//! | 40 | marks | bytes of its marks; 0 if it has none, or if what is stored does not depend on them |
//! | 48 | sample | CRC-32 of some of these |
//! | 56 | | words of the format |
//! | after them | check | CRC-32 of all bytes before this word, and of all after it |
//!
//! What is stored follows.
//!
//! # Samples
//!
//! A sample consists of [`SAMPLES`] pieces of [`SAMPLE_BYTES`] each: number `k` begins at `(bytes - 64) · k / 63`, rounded
//! down. If there are fewer bytes than all pieces have, it is all of them. It distinguishes a file that has changed or
//! been replaced from one that has grown. If the [manifest](crate::format::manifest) of the trace has an `id`, the CRC-32
//! is that of the 8 bytes of this number, the highest first, and then of the pieces: so what was stored for one recording is
//! never used for another one.
//!
//! Of events in a [container](crate::format::container), piece `k` is instead the first bytes, as stored, of the object that
//! has the byte where the piece would begin: as many as the piece would have, or all of the object. So nothing is
//! unpacked. What is in the container of its events was written with them: its samples are not checked.
//!
//! # What a reader does
//!
//! | file | result |
//! |---|---|
//! | none, another magic or version, a wrong check | what it should hold is built anew, in memory |
//! | another thread, fewer events, events or marks with another sample | the same |
//!
//! # Example
//!
//! The examples of an [index](super::index#example) and of [shapes](super::dag#example) begin with this header.

use std::io;
use std::ops::Range;

use crate::{ThreadId, TraceId};

/// How many pieces make a sample.
pub const SAMPLES: u64 = 64;
/// Bytes of each piece.
pub const SAMPLE_BYTES: u64 = 64;

const WORD_BYTES: usize = 8;
/// The magic, the version, the thread, and what identifies its events and marks.
const COMMON_WORDS: usize = 7;

/// What identifies the bytes of which something is stored.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fingerprint {
    /// How many there are.
    pub bytes: u64,
    /// CRC-32 of the [`sample`] of them.
    pub sample: u32,
}

/// Where the pieces of the sample of this many bytes are.
#[doc(hidden)]
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

/// Whose events a file belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) thread: ThreadId,
    pub(super) events: Fingerprint,
    pub(super) marks: Fingerprint,
}

/// The bytes of a file: the header with these words of the format, and what is stored.
pub(super) fn encode(
    magic: [u8; 8],
    version: u64,
    Owner { thread, events, marks }: Owner,
    words: &[u64],
    stored: &[u8],
) -> Vec<u8> {
    let of_marks = [marks.bytes, marks.sample.into()];
    let common = [version, thread.get(), events.bytes, events.sample.into()];
    let header = common.iter().chain(&of_marks).chain(words).chain(&[0]);
    let mut bytes = magic.to_vec();
    bytes.extend(header.flat_map(|word| word.to_le_bytes()));
    bytes.extend_from_slice(stored);
    let place = check_of(words.len());
    let check = u64::from(check(&bytes, place.clone())).to_le_bytes();
    if let Some(place) = bytes.get_mut(place) {
        place.copy_from_slice(&check);
    }
    bytes
}

/// Reads the header of a file whose check is right: its owner, the words of the format, and what is stored. The error describes
/// what is wrong; `other` if it is a file of another kind.
pub(super) fn decode<'a, const WORDS: usize>(
    magic: [u8; 8],
    version: u64,
    bytes: &'a [u8],
    other: &'static str,
) -> Result<(Owner, [u64; WORDS], &'a [u8]), &'static str> {
    let place = check_of(WORDS);
    let Some((header, stored)) = bytes.split_at_checked(place.end) else {
        return Err("it is cut short");
    };
    let mut words = words(header);
    let mut word = || words.next().unwrap_or_default();
    if word() != u64::from_le_bytes(magic) {
        return Err(other);
    }
    if word() != version {
        return Err("it has another version");
    }
    let thread = ThreadId::new(word());
    let mut fingerprint = || {
        let (bytes, sample) = (word(), word());
        let sample = u32::try_from(sample).map_err(|_| "its sample is not a CRC-32")?;
        Ok::<_, &'static str>(Fingerprint { bytes, sample })
    };
    let (events, marks) = (fingerprint()?, fingerprint()?);
    let own = std::array::from_fn(|_| word());
    if word() != u64::from(check(bytes, place)) {
        return Err("it is damaged");
    }
    Ok((Owner { thread, events, marks }, own, stored))
}

/// Reads words.
pub(super) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word))
}

/// Where the check is, after this many words of a file's own.
fn check_of(words: usize) -> Range<usize> {
    let start = (COMMON_WORDS + words) * WORD_BYTES;
    start..start + WORD_BYTES
}

/// The check of a file, computed without the check itself.
fn check(bytes: &[u8], place: Range<usize>) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(bytes.get(..place.start).unwrap_or_default());
    crc.update(bytes.get(place.end..).unwrap_or_default());
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

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
