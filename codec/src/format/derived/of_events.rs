//! The beginning of files that are stored beside the events of a thread, such as [shapes](super::dag).

use std::io;
use std::ops::Range;

use super::index::Fingerprint;
use crate::ThreadId;

const WORD_BYTES: usize = 8;
/// The magic, the version, the thread, and what identifies its events and marks.
const COMMON_WORDS: usize = 7;
const LEVEL: i32 = 6;

/// Whose events a file belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) thread: ThreadId,
    pub(super) events: Fingerprint,
    pub(super) marks: Fingerprint,
}

/// The bytes of a file: these words, the check, the body, compressed, if there is one, and further bytes as they are, which
/// the check does not cover.
pub(super) fn encode(
    magic: [u8; 8],
    version: u64,
    Owner { thread, events, marks }: Owner,
    words: &[u64],
    body: Option<&[u8]>,
    further: &[u8],
) -> io::Result<Vec<u8>> {
    let of_marks = [marks.bytes, marks.sample.into()];
    let common = [version, thread.get(), events.bytes, events.sample.into()];
    let header = common.iter().chain(&of_marks).chain(words).chain(&[0]);
    let mut bytes = magic.to_vec();
    bytes.extend(header.flat_map(|word| word.to_le_bytes()));
    if let Some(body) = body {
        bytes.extend(compress(body)?);
    }
    let place = check_of(words.len());
    let check = u64::from(check(&bytes, place.clone())).to_le_bytes();
    if let Some(place) = bytes.get_mut(place) {
        place.copy_from_slice(&check);
    }
    bytes.extend_from_slice(further);
    Ok(bytes)
}

/// Compresses a body.
pub(super) fn compress(body: &[u8]) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(body, LEVEL)
}

/// Reads the header of a file whose check is right: its owner, its own words, and what follows. The error describes
/// what is wrong; `other` if it is a file of another kind.
pub(super) fn decode<'a, const WORDS: usize>(
    magic: [u8; 8],
    version: u64,
    bytes: &'a [u8],
    other: &'static str,
) -> Result<(Owner, [u64; WORDS], &'a [u8]), &'static str> {
    let place = check_of(WORDS);
    let Some((header, compressed)) = bytes.split_at_checked(place.end) else {
        return Err("it is cut short");
    };
    let mut words = header.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
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
    Ok((Owner { thread, events, marks }, own, compressed))
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
