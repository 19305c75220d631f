//! `.flow`: the events of one thread.
//!
//! Source: the class documentation of the Java agent's `BinaryThreadRecorder`. There is no header: a file is
//! a sequence of records and nothing else.
//!
//! A record is one number with a flag in its first byte:
//!
//! | byte | bits | meaning |
//! |-----:|------|---------|
//! | 0    | 7    | 1 = ENTER, 0 = EXIT |
//! | 0    | 6    | 1 = more bytes follow |
//! | 0    | 5–0  | bits 5–0 of the value |
//! | 1…   | 7    | 1 = more bytes follow |
//! | 1…   | 6–0  | the next seven bits of the value: shifts 6, 13, 20, … (LEB128 of `value >> 6`) |
//!
//! | record | value |
//! |--------|-------|
//! | ENTER  | the [`MethodId`] |
//! | EXIT   | the number of *additional* exits: `0` is one exit, `k` is an exit run of `k + 1` |
//!
//! # Examples
//!
//! | value | ENTER      | EXIT       |
//! |------:|------------|------------|
//! | 0     | `80`       | `00`       |
//! | 1     | `81`       | `01`       |
//! | 63    | `BF`       | `3F`       |
//! | 64    | `C0 01`    | `40 01`    |
//! | 300   | `EC 04`    | `6C 04`    |
//! | 8191  | `FF 7F`    | `7F 7F`    |
//! | 8192  | `C0 80 01` | `40 80 01` |
//!
//! The source document shows 8192 as `C0 01` in bits, which is 64. Its own tests have the three bytes of the
//! table. `codec/tests/golden/flow.hex` holds this table and more.
//!
//! # Canonical form
//!
//! flow itself writes consecutive exits as one record, and every number in as few bytes as possible. A record
//! then never ends in `00` unless it is the one-byte EXIT `00`.
//!
//! # What a reader does
//!
//! | input | result |
//! |---|---|
//! | exits in several records, numbers with superfluous `80 … 00` groups | accepted |
//! | a file that begins or ends inside frames, exits without enters | accepted, reported |
//! | a truncated last record | everything before it, then *truncated at offset* |
//! | a value above 2^63 − 1, or a record of more than 10 bytes | everything before it, an error with both offsets, then everything from the next *boundary* on |
//!
//! A byte below `40` ends a record, whether it is the first byte of one or a later one; what follows it is a
//! *boundary*. From a boundary on, records can be decoded without any before it: after damage, or when a file
//! is read from the middle. (A byte from `40` to `7F` either ends a record or begins an exit run.)
//!
//! Limits: ids up to 2^63 − 1; exit runs up to 2^63; depth and length are limited only by the disk.

use std::num::NonZeroU64;

use crate::MethodId;
use crate::Undecoded;

const ENTER_FLAG: u8 = 0x80;
const FIRST_MORE: u8 = 0x40;
const FIRST_PAYLOAD: u8 = 0x3F;
const FIRST_BITS: u32 = 6;
const MORE: u8 = 0x80;
const PAYLOAD: u8 = 0x7F;
const PAYLOAD_BITS: u32 = 7;

/// The longest record: six bits, then nine groups of seven for the 57 bits left of 63.
pub const MAX_RECORD_BYTES: usize = 10;

/// One record: an entry, or a run of exits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    /// A method was entered.
    Enter(MethodId),
    /// This many frames were left, one after the other.
    Exit(NonZeroU64),
}

/// The bytes of one record.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Encoded {
    bytes: [u8; MAX_RECORD_BYTES],
    len: u8,
}

impl Encoded {
    /// Encodes a method entry.
    #[must_use]
    pub const fn enter(method: MethodId) -> Self {
        Self::new(ENTER_FLAG, method.get())
    }

    /// Encodes an exit run. Counts above 2^63 cannot occur and are cut to it.
    #[must_use]
    pub const fn exits(count: NonZeroU64) -> Self {
        let more = count.get() - 1;
        Self::new(0, if more > MethodId::MAX.get() { MethodId::MAX.get() } else { more })
    }

    #[expect(clippy::cast_possible_truncation, reason = "the value is masked to the bits kept")]
    const fn new(flag: u8, value: u64) -> Self {
        let mut bytes = [0; MAX_RECORD_BYTES];
        bytes[0] = flag | (value as u8 & FIRST_PAYLOAD);
        let mut rest = value >> FIRST_BITS;
        let mut len = 1;
        if rest != 0 {
            bytes[0] |= FIRST_MORE;
        }
        while rest != 0 {
            let group = rest as u8 & PAYLOAD;
            rest >>= PAYLOAD_BITS;
            bytes[len] = if rest != 0 { group | MORE } else { group };
            len += 1;
        }
        Self { bytes, len: len as u8 }
    }

    /// The encoded bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&self.bytes)
    }
}

/// The number of bytes that [`Encoded::enter`] has.
#[doc(hidden)]
#[inline]
pub const fn encoded_enter_len(method: MethodId) -> usize {
    encoded_len(method.get())
}

/// The number of bytes that [`Encoded::exits`] has.
#[doc(hidden)]
#[inline]
pub const fn encoded_exits_len(count: NonZeroU64) -> usize {
    encoded_len(count.get() - 1)
}

#[inline]
const fn encoded_len(value: u64) -> usize {
    let rest = value >> FIRST_BITS;
    if rest < 1 << PAYLOAD_BITS {
        return if rest == 0 { 1 } else { 2 };
    }
    1 + (u64::BITS - rest.leading_zeros()).div_ceil(PAYLOAD_BITS) as usize
}

/// Returns whether a record ends with this byte wherever it occurs, so that another record begins after it.
#[must_use]
pub(crate) const fn is_boundary(byte: u8) -> bool {
    byte < FIRST_MORE
}

const OVERSIZED: Undecoded = Undecoded::Invalid("a number of at most 63 bits");

/// Decodes the record at the start of `bytes`. Returns it with the number of bytes it takes.
///
/// # Errors
/// The bytes end inside it, or its number is too large or too long for the format.
#[doc(hidden)]
#[inline]
pub fn decode(bytes: &[u8]) -> Result<(Record, usize), Undecoded> {
    let Some((&first, rest)) = bytes.split_first() else {
        return Err(Undecoded::Incomplete);
    };
    let mut value = u64::from(first & FIRST_PAYLOAD);
    let mut len = 1;
    if first & FIRST_MORE != 0 {
        let mut shift = FIRST_BITS;
        loop {
            if len == MAX_RECORD_BYTES {
                return Err(OVERSIZED);
            }
            let Some(&byte) = rest.get(len - 1) else {
                return Err(Undecoded::Incomplete);
            };
            let group = u64::from(byte & PAYLOAD);
            // The tenth byte starts at bit 62: only its lowest bit is within 63 bits.
            if shift + PAYLOAD_BITS > u64::BITS && group >> (u64::BITS - 1 - shift) != 0 {
                return Err(OVERSIZED);
            }
            value |= group << shift;
            len += 1;
            if byte & MORE == 0 {
                break;
            }
            shift += PAYLOAD_BITS;
        }
    }
    let record = if first & ENTER_FLAG != 0 {
        match MethodId::new(value) {
            Some(method) => Record::Enter(method),
            None => return Err(OVERSIZED),
        }
    } else {
        Record::Exit(NonZeroU64::MIN.saturating_add(value))
    };
    Ok((record, len))
}

/// The whole records at the start of `bytes`, each with the offset at which it ends.
#[doc(hidden)]
pub fn records(bytes: &[u8]) -> impl Iterator<Item = (Record, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let Ok((record, len)) = decode(bytes.get(at..)?) else { return None };
        at += len;
        Some((record, at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_63_bits_fit_and_larger_ones_do_not() {
        let max = Encoded::enter(MethodId::MAX);
        assert_eq!(max.as_bytes().len(), MAX_RECORD_BYTES);
        assert_eq!(decode(max.as_bytes()), Ok((Record::Enter(MethodId::MAX), MAX_RECORD_BYTES)));
        let mut too_large = [0xFF; MAX_RECORD_BYTES];
        too_large[9] = 0x02;
        assert_eq!(decode(&too_large), Err(OVERSIZED));
    }

    #[test]
    fn superfluous_groups_are_accepted_within_ten_bytes() {
        let one = MethodId::new(1).unwrap();
        assert_eq!(decode(&[0xC1, 0x80, 0x00]), Ok((Record::Enter(one), 3)));
        let mut long = [0x80; 11];
        long[0] = 0xC1;
        long[9] = 0x00;
        assert_eq!(decode(&long[..10]), Ok((Record::Enter(one), 10)));
        long[9] = 0x80;
        assert_eq!(decode(&long), Err(OVERSIZED));
    }

    #[test]
    fn records_have_as_many_bytes_as_are_written() {
        for bits in 0..63 {
            for number in [(1_u64 << bits) - 1, 1 << bits] {
                let method = MethodId::new(number).unwrap();
                let enter = Encoded::enter(method);
                assert_eq!(encoded_enter_len(method), enter.as_bytes().len(), "{number}");
                let count = NonZeroU64::new(number + 1).unwrap();
                let exits = Encoded::exits(count);
                assert_eq!(encoded_exits_len(count), exits.as_bytes().len(), "{number}");
            }
        }
    }

    #[test]
    fn every_prefix_of_a_record_is_incomplete() {
        let bytes = Encoded::enter(MethodId::MAX);
        for end in 0..bytes.as_bytes().len() {
            assert_eq!(decode(&bytes.as_bytes()[..end]), Err(Undecoded::Incomplete), "{end}");
        }
    }

    #[test]
    fn a_run_of_ones_that_never_ends_is_no_record() {
        assert_eq!(decode(&[0xFF; 64]), Err(OVERSIZED));
        assert_eq!(decode(&[0xFF; 9]), Err(Undecoded::Incomplete));
    }
}
