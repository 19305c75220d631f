//! Numbers that look random and follow from a seed.

/// A generator, the same for the same seed on every machine (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

/// Values at which decoders go wrong: limits of types, of formats, and around them.
const EXTREMES: [u64; 16] = [
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0xFFFF,
    1 << 20,
    (1 << 24) + 1,
    (1 << 31) - 1,
    1 << 32,
    1 << 40,
    (1 << 62) + 1,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

impl Random {
    /// Begins with a seed.
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns any number.
    pub(super) const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `limit`, or 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let limit = (limit as u64).max(1);
        usize::try_from(self.number() % limit).unwrap_or(0)
    }

    /// Returns whether something happens that happens once in `times`.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns one of these.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub(super) fn one_of<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Returns a number that may be too large, or `known` a little changed.
    pub(super) fn extreme(&mut self, known: u64) -> u64 {
        match self.below(4) {
            0 => known.wrapping_add(1),
            1 => known.wrapping_sub(1),
            _ => *self.one_of(&EXTREMES),
        }
    }

    /// Returns a range of at most `most` bytes among `len`.
    pub(super) fn range(&mut self, len: usize, most: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        let bytes = self.below(most.min(len - start) + 1);
        start..start + bytes
    }
}
