//! HOT: decodes 64 bytes at once.
//!
//! Nothing here branches on the bytes, and the loops run over arrays of fixed size, so that the compiler
//! generates vector instructions for them; on x86-64 those of SSE2, which every CPU has. It does not find the
//! instructions that add up the bytes of a vector, so words do that. Events are passed in memory, and
//! [`ends`] is not inlined, because otherwise the compiler takes the vectors apart again, and everything
//! takes three times as long. Run `benches/read.rs` after any change.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![expect(clippy::indexing_slicing, reason = "fixed arrays, by loops that end before they do")]

/// How many bytes are processed together.
pub(super) const BLOCK: usize = 64;
/// How many bytes before a block are needed to find which of its bytes begin records.
pub(super) const BEFORE: usize = 2;

const LANES: usize = 16;
const WORD: usize = 8;
const WORDS: usize = BLOCK / WORD;
/// A word multiplied by this has in each byte the sum of the bytes up to it.
const SUMS: u64 = 0x0101_0101_0101_0101;
/// The depth with which a block begins, so that all depths in it are positive bytes.
const BASE: u8 = 0x80;
const BASES: u64 = SUMS * 0x80;
const NIBBLES: u128 = 0x0F0F_0F0F_0F0F_0F0F_0F0F_0F0F_0F0F_0F0F;
/// With more exits in a block they may not be: 64 entries go the other way.
const MAX_EXITS: u32 = 0x7F;

/// The sum of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Block {
    /// Bytes of whole records: all except the last one or two.
    pub(super) len: usize,
    /// Entries.
    pub(super) enters: u32,
    /// Frames left.
    pub(super) exits: u32,
}

/// For each byte of a block, how many frames are entered and left by the record that begins there.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockEvents {
    enters: [u8; BLOCK],
    exits: [u8; BLOCK],
}

impl BlockEvents {
    pub(super) const NONE: Self = Self { enters: [0; BLOCK], exits: [0; BLOCK] };

    /// Reads a block that begins with a record, and the bytes before it. `None` if it holds an entry of more
    /// than three bytes, or the record of a run with more than one byte.
    ///
    /// | byte | in such a block |
    /// |---|---|
    /// | `00`–`3F` | is the last of a record, or a run of exits |
    /// | `40`–`7F` | is the last of a record |
    /// | `80`–`BF` | is an entry, or continues one |
    /// | `C0`–`FF` | begins an entry, or continues one |
    ///
    /// So a byte is a further byte of its record if the previous byte is from `C0` on, or is from `80` on and
    /// follows one from `C0` on.
    #[inline(always)]
    pub(super) fn read(&mut self, bytes: &[u8; BEFORE + BLOCK]) -> Option<Block> {
        let (mut enters, mut runs, mut further) = ([0_u8; LANES], [0_u8; LANES], [0_u8; LANES]);
        let mut unusual = [0_u8; LANES];
        for row in (0..BLOCK).step_by(LANES) {
            for lane in 0..LANES {
                let at = row + lane;
                let (before_last, last, this) = (bytes[at], bytes[at + 1], bytes[at + 2]);
                let third = ones(if before_last >= 0xC0 { last } else { 0 } >= 0x80);
                let later = ones(last >= 0xC0) | third;
                let high = ones(this >= 0x80);
                let middle = ones(this & 0xC0 == 0x40);
                let enter = high & !later;
                let run = !(high | middle | later);
                unusual[lane] |= (third & high) | (middle & !later);
                enters[lane] += enter & 1;
                runs[lane] += run & 1;
                // Four times 63 at most.
                further[lane] += this & run;
                self.enters[at] = enter & 1;
                self.exits[at] = this.wrapping_add(1) & run;
            }
        }
        if u128::from_ne_bytes(unusual) != 0 {
            return None;
        }
        let [enters, runs, further] = [enters, runs, further].map(u128::from_le_bytes);
        let exits = sum(runs) + sum(further & NIBBLES) + 0x10 * sum(further >> 4 & NIBBLES);
        // A record that continues after the block is left to the next one.
        let (before_last, last) = (bytes[BLOCK], bytes[BLOCK + 1]);
        let cut = match () {
            () if before_last >= 0xC0 && last >= 0x80 => 2,
            () if last >= 0xC0 => 1,
            () => 0,
        };
        let len = BLOCK - cut;
        if cut > 0 {
            self.enters[len] = 0;
        }
        Some(Block { len, enters: sum(enters) - u32::from(cut > 0), exits })
    }

    /// The depths in the block that was read last, relative to the depth before it. `None` if they do not fit
    /// in bytes.
    #[inline(always)]
    pub(super) fn depths(&self, block: Block) -> Option<BlockDepths> {
        if block.exits > MAX_EXITS {
            return None;
        }
        let mut depths = [[0; WORD]; WORDS];
        let mut before = u64::from(BASE);
        let changes = words(&self.enters).iter().zip(words(&self.exits));
        for (depths, (enters, exits)) in depths.iter_mut().zip(changes) {
            // A byte that would be negative borrows from the next one, but the sums with a base do not.
            let changes = u64::from_le_bytes(*enters).wrapping_sub(u64::from_le_bytes(*exits));
            let local = changes.wrapping_mul(SUMS);
            *depths = local.wrapping_add(before.wrapping_mul(SUMS)).to_le_bytes();
            before = before.wrapping_add(local.wrapping_add(BASES) >> 56).wrapping_sub(BASE.into());
        }
        Some(BlockDepths(depths))
    }
}

/// The depth at each byte of a block.
#[derive(Debug)]
pub(super) struct BlockDepths([[u8; WORD]; WORDS]);

impl BlockDepths {
    #[inline(never)]
    pub(super) fn lowest(&self) -> i64 {
        i64::from(pick(self.0.as_flattened(), u8::min)) - i64::from(BASE)
    }

    #[inline(never)]
    pub(super) fn highest(&self) -> i64 {
        i64::from(pick(self.0.as_flattened(), u8::max)) - i64::from(BASE)
    }

    /// The most by which a depth is above an earlier one.
    #[inline(never)]
    pub(super) fn rise(&self) -> i64 {
        let (mut lowest, mut rise) = (BASE, 0);
        for &depth in self.0.as_flattened() {
            lowest = lowest.min(depth);
            rise = rise.max(depth - lowest);
        }
        rise.into()
    }
}

#[inline(always)]
fn ones(is: bool) -> u8 {
    if is { u8::MAX } else { 0 }
}

/// The sum of bytes, none of which is more than 15.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the halves of a vector, and a byte")]
fn sum(vector: u128) -> u32 {
    let pairs = (vector as u64) + (vector >> 64) as u64;
    (pairs.wrapping_mul(SUMS) >> 56) as u32
}

#[inline(always)]
fn words(bytes: &[u8; BLOCK]) -> &[[u8; WORD]] {
    bytes.as_chunks().0
}

/// The best of all bytes.
#[inline(always)]
fn pick(bytes: &[u8], better: impl Fn(u8, u8) -> u8 + Copy) -> u8 {
    let Some(bytes) = bytes.first_chunk::<BLOCK>() else { return BASE };
    let bytes: [u8; 32] = halve(bytes, better);
    let bytes: [u8; 16] = halve(&bytes, better);
    let bytes: [u8; 8] = halve(&bytes, better);
    let bytes: [u8; 4] = halve(&bytes, better);
    let bytes: [u8; 2] = halve(&bytes, better);
    better(bytes[0], bytes[1])
}

#[inline(always)]
fn halve<const ALL: usize, const HALF: usize>(
    bytes: &[u8; ALL],
    better: impl Fn(u8, u8) -> u8,
) -> [u8; HALF] {
    let mut half = [0; HALF];
    for at in 0..HALF {
        half[at] = better(bytes[at], bytes[at + HALF]);
    }
    half
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::flow::{Record, records};

    /// Record by record: the block, its lowest and highest depth, and the most it rises.
    fn naive(bytes: &[u8; BLOCK]) -> (Block, i64, i64, i64) {
        let mut block = Block { len: 0, enters: 0, exits: 0 };
        let (mut depth, mut lowest, mut highest, mut rise) = (0, 0, 0, 0);
        for (record, end) in records(bytes) {
            match record {
                Record::Enter(_) => {
                    block.enters += 1;
                    depth += 1;
                }
                Record::Exit(count) => {
                    block.exits += u32::try_from(count.get()).unwrap();
                    depth -= i64::try_from(count.get()).unwrap();
                }
            }
            (lowest, highest) = (depth.min(lowest), depth.max(highest));
            rise = rise.max(depth - lowest);
            block.len = end;
        }
        (block, lowest, highest, rise)
    }

    /// Returns whether a block can be read all at once.
    fn is_usual(bytes: &[u8; BLOCK]) -> bool {
        let mut at = 0;
        for (record, end) in records(bytes) {
            let limit = if matches!(record, Record::Enter(_)) { 3 } else { 1 };
            if end - at > limit {
                return false;
            }
            at = end;
        }
        // An entry whose third byte may be in the next block.
        matches!(bytes[at..], [] | [0xC0..=0xFF] | [0xC0..=0xFF, 0x80..=0xFF])
    }

    fn check(block: [u8; BLOCK], before: [u8; BEFORE]) {
        let mut bytes = [0; BEFORE + BLOCK];
        bytes[..BEFORE].copy_from_slice(&before);
        bytes[BEFORE..].copy_from_slice(&block);
        let mut events = BlockEvents::NONE;
        let read = events.read(&bytes);
        assert_eq!(read.is_some(), is_usual(&block), "{block:02X?}");
        let Some(read) = read else { return };
        let (expected, lowest, highest, rise) = naive(&block);
        assert_eq!(read, expected, "{block:02X?}");
        match events.depths(read) {
            Some(depths) => {
                let found = (depths.lowest().min(0), depths.highest().max(0), depths.rise());
                assert_eq!(found, (lowest, highest, rise), "{block:02X?}");
            }
            None => assert!(read.exits > 100),
        }
    }

    /// Ends of records, which may precede a block.
    fn before() -> impl Strategy<Value = [u8; BEFORE]> {
        prop_oneof![
            Just([0, 0]),
            Just([0xBF, 0x80]),
            Just([0x81, 0x3F]),
            Just([0xC0, 0x7F]),
            Just([0xFF, 0x01]),
        ]
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_as_one_by_one(
            bytes in prop::array::uniform32(any::<u8>()),
            more in prop::array::uniform32(any::<u8>()),
            before in before(),
        ) {
            let mut block = [0; BLOCK];
            block[..32].copy_from_slice(&bytes);
            block[32..].copy_from_slice(&more);
            check(block, before);
        }

        #[test]
        fn usual_records_are_read_as_one_by_one(
            records in prop::collection::vec(prop_oneof![
                4 => (0x80_u8..=0xBF).prop_map(|first| vec![first]),
                4 => (0xC0_u8..=0xFF, 0_u8..=0x7F).prop_map(|(first, last)| vec![first, last]),
                1 => (0xC0_u8..=0xFF, 0x80_u8..=0xFF, 0_u8..=0x7F).prop_map(|(a, b, c)| vec![a, b, c]),
                6 => (0_u8..4).prop_map(|run| vec![run]),
                1 => (0_u8..=0x3F).prop_map(|run| vec![run]),
            ], BLOCK),
            before in before(),
        ) {
            let bytes = records.concat();
            check(*bytes.first_chunk().unwrap(), before);
        }
    }

    #[test]
    fn the_most_of_everything_fits() {
        check([0x80; BLOCK], [0; BEFORE]);
        check([0x3F; BLOCK], [0; BEFORE]);
        check([0xFF; BLOCK], [0; BEFORE]);
        check(std::array::from_fn(|at| if at % 2 == 0 { 0xFF } else { 0x7F }), [0; BEFORE]);
        // 127 frames left, 127 being all that fits.
        check(std::array::from_fn(|at| u8::from(at != 0)), [0; BEFORE]);
        check([1; BLOCK], [0; BEFORE]);
    }
}
