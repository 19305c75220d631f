//! HOT: which of 64 bytes are high, plain ENTERs or zero: a word with one bit per byte, the first one lowest.
//!
//! x86-64 gathers a bit of each of 16 bytes at once (`pmovmskb`). Its intrinsic can only be called in
//! functions that require SSE2 by an attribute, though every x86-64 has it, and calling those is unsafe. But
//! the compiler finds the instruction by itself if it sees 16 comparisons combined as a tree of halves. It
//! does not find it if a comparison could be a shift, if the bytes are first copied out of their array, if
//! each result is shifted to its own place, or if these functions are optimised one by one before they are
//! merged: hence `inline(always)`, for their callers too. Without the instruction there are ten times as many
//! merged: hence `inline(always)`, for their callers too. Without the instruction there are ten times as many
//! instructions, and the canonicalizer takes three times as long: run the benchmark after any change here.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

/// How many bytes are processed together.
pub(super) const SIGHT: usize = 64;

/// Sets of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Masks {
    /// Those from `80` on.
    pub(super) high: u64,
    /// Those from `80` to `BF`.
    pub(super) plain: u64,
    pub(super) zero: u64,
}

#[inline(always)]
pub(super) fn masks(bytes: &[u8; SIGHT]) -> Masks {
    let zero = set(bytes, |byte| byte == 0);
    // Whether a signed byte is less than 0 would be a shift.
    let high = set(bytes, |byte| byte < 1) ^ zero;
    let plain = set(bytes, |byte| byte < -0x40);
    Masks { high, plain, zero }
}

/// The bytes that are this one.
#[inline(always)]
pub(super) fn equal(bytes: &[u8; SIGHT], byte: u8) -> u64 {
    set(bytes, |other| other == byte.cast_signed())
}

#[inline(always)]
fn set(bytes: &[u8; SIGHT], is_in: impl Fn(i8) -> bool + Copy) -> u64 {
    let (vectors, _) = bytes.as_chunks();
    vectors.iter().rev().fold(0, |set, bytes| set << 16 | u64::from(gather(bytes, is_in)))
}

#[inline(always)]
fn gather(bytes: &[u8; 16], is_in: impl Fn(i8) -> bool) -> u16 {
    let mut bits = [0; 16];
    for (bit, byte) in bits.iter_mut().zip(bytes) {
        *bit = u16::from(is_in(byte.cast_signed()));
    }
    let pairs: [u16; 8] = join(&bits, 1);
    let nibbles: [u16; 4] = join(&pairs, 2);
    let [low, high] = join(&nibbles, 4);
    low | high << 8
}

/// Joins sets of this many bytes each, two by two.
#[inline(always)]
fn join<const SETS: usize, const PAIRS: usize>(sets: &[u16; SETS], places: u32) -> [u16; PAIRS] {
    let mut joined = [0; PAIRS];
    let (pairs, _) = sets.as_chunks();
    for (joined, &[low, high]) in joined.iter_mut().zip(pairs) {
        *joined = low | high << places;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte after the other.
    fn naive(bytes: &[u8; SIGHT]) -> Masks {
        let set = |is_in: fn(u8) -> bool| {
            bytes.iter().rev().fold(0, |set, &byte| set << 1 | u64::from(is_in(byte)))
        };
        Masks {
            high: set(|byte| byte >= 0x80),
            plain: set(|byte| matches!(byte, 0x80..=0xBF)),
            zero: set(|byte| byte == 0),
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn every_byte_is_classified_at_every_place() {
        for byte in 0..=u8::MAX {
            for at in 0..SIGHT {
                for others in [0, 0x40, 0x80, 0xFF] {
                    let bytes = std::array::from_fn(|i| if i == at { byte } else { others });
                    assert_eq!(masks(&bytes), naive(&bytes));
                }
            }
        }
    }
}
