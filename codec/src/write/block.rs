//! HOT: 64 bytes of a raw chunk at once.
//!
//! What a byte is can be told from itself and the two bytes before it, as long as no id has more than
//! three bytes. The first byte of an id that has is `C0` or more, and its next two are `80` or more; no
//! other three bytes of whole events are so. Such ids are left to others, and so is everything that is
//! neither ENTER nor EXIT.
//!
//! A set of bytes is a word with a bit for each. [`Columns`] are such a set in the order in which it is
//! cheap to make: the compiler has vectors for that, but no safe code gets it to gather their bits.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

/// How many bytes are looked at together.
pub(super) const WIDTH: usize = 64;
/// How many bytes of an ENTER there may be before one that is not its last.
pub(super) const MAX_BEGUN: usize = 2;
/// How many bytes behind a block are there to be read with it.
pub(super) const MARGIN: usize = 32;

/// How many columns a set has, and rows.
const COLUMNS: usize = 8;

/// The bytes of a block and those behind it; zeros behind the end of the chunk.
pub(super) type Window = [u8; WIDTH + MARGIN];

/// What the next block must know of the bytes before it. The default: it begins with an event.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Before {
    high: Columns,
    more: Columns,
}

/// What the bytes are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// EXITs.
    pub(super) exits: u64,
    /// First bytes of ENTERs.
    enters: Columns,
    /// Neither of them, nor a further byte of an ENTER.
    others: Columns,
    /// Second and third bytes of ENTERs.
    second: Columns,
    third: Columns,
    ends_cut: bool,
    /// What the next block must know.
    pub(super) before: Before,
}

impl Block {
    /// Inlined wherever blocks are looked at: the call alone would cost a tenth of the fold.
    #[inline(always)]
    pub(super) fn new(window: &Window, before: Before) -> Self {
        let (high, more, zero) = columns(window);
        let second = more.after(before.more);
        let more_two_before = second.after(Columns(before.more.0 << COLUMNS));
        let third = Columns(high.after(before.high).0 & more_two_before.0);
        let further = second.0 | third.0;
        Self {
            exits: Columns(zero.0 & !further).in_order(),
            enters: Columns(high.0 & !further),
            // A third byte that is high is not the last. Of the low bytes only the last ones of ids
            // are not zero, and those never are.
            others: Columns(high.0 & third.0 | !(high.0 | zero.0 ^ further)),
            second,
            third,
            ends_cut: ends_cut(window, high, more),
            before: Before { high, more },
        }
    }

    /// How many bytes at the start belong to ENTERs and EXITs. The last ENTER may go on behind the
    /// block, and then does.
    #[inline]
    pub(super) fn len(&self) -> usize {
        if self.others.0 == 0 && !self.ends_cut { WIDTH } else { self.len_of_whole(u64::MAX) }
    }

    /// The same without an ENTER that goes on, and up to an exit of this number.
    pub(super) fn len_of_whole(&self, exits: u64) -> usize {
        let others = self.others.in_order();
        let len = others.trailing_zeros() as usize;
        let (second, third) = if others == 0 {
            self.before.continues()
        } else {
            (self.second.in_order() >> len & 1 != 0, self.third.in_order() >> len & 1 != 0)
        };
        let begun = if third { MAX_BEGUN } else { usize::from(second) };
        len.saturating_sub(begun).min(self.len_up_to_exit(exits))
    }

    /// How many bytes there are up to the exit of this number, which is not 0, or all.
    fn len_up_to_exit(&self, count: u64) -> usize {
        if u64::from(self.exits.count_ones()) <= count {
            return WIDTH;
        }
        let last = (1..count).fold(self.exits, |exits, _| exits & exits.wrapping_sub(1));
        last.trailing_zeros() as usize + 1
    }

    /// First bytes of ENTERs.
    #[inline]
    pub(super) fn enters_in_order(&self) -> u64 {
        self.enters.in_order()
    }

    /// What is neither ENTER nor EXIT, and some bytes of an ENTER that is not told as one.
    #[inline]
    pub(super) fn others_in_order(&self) -> u64 {
        self.others.in_order()
    }

    /// How many ENTERs begin in the first `len` bytes.
    #[inline]
    pub(super) fn enters(&self, len: usize) -> u64 {
        let enters = if len == WIDTH { self.enters.0 } else { self.enters.in_order() & first(len) };
        u64::from(enters.count_ones())
    }
}

impl Before {
    /// Whether the next byte is a second, or a third one.
    #[inline]
    fn continues(self) -> (bool, bool) {
        let third = self.high.last(0) & self.more.last(1);
        (self.more.last(0), third)
    }
}

/// The first `len` bytes.
#[inline]
pub(super) fn first(len: usize) -> u64 {
    if len < WIDTH { (1 << len) - 1 } else { u64::MAX }
}

/// Whether an ENTER goes on behind the block that is none, or has more than three bytes.
#[inline]
fn ends_cut(window: &Window, high: Columns, more: Columns) -> bool {
    let [.., next, after] = *window.first_chunk::<{ WIDTH + 2 }>().unwrap_or(&[0; WIDTH + 2]);
    let is_last = |byte: u8| byte.wrapping_sub(1) < 0x7F;
    let (second, third) = Before { high, more }.continues();
    // No branches: an ENTER goes on behind a third of all blocks.
    let ends = is_last(next) | !third & (next >= 0x80) & is_last(after);
    (second | third) & !ends
}

/// A set of bytes: that of number `8 * row + column` is the bit `8 * column + row`.
#[derive(Clone, Copy, Default, Debug)]
struct Columns(u64);

impl Columns {
    /// From two rows of bits in each byte: first those of even rows, then those of odd ones.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    fn new(rows: [u8; 2 * COLUMNS]) -> Self {
        let rows = u128::from_le_bytes(rows);
        Self(rows as u64 | ((rows >> 64) as u64) << 1)
    }

    /// Each byte's place is taken by the one before it; `before` is the block before.
    #[inline]
    fn after(self, before: Self) -> Self {
        // The last column comes before the first one of the next row.
        Self(self.0 << 8 | self.0 >> 55 & 0xFE | before.0 >> 63)
    }

    /// The last one, but for so many: not as many as columns.
    #[inline]
    fn last(self, back: u32) -> bool {
        self.0 >> (63 - 8 * back) & 1 != 0
    }

    /// A bit for each byte, the first one lowest. Swaps ever larger squares of bits.
    #[inline]
    fn in_order(self) -> u64 {
        let bits = self.0;
        let swapped = (bits ^ bits >> 7) & 0x00AA_00AA_00AA_00AA;
        let bits = bits ^ swapped ^ swapped << 7;
        let swapped = (bits ^ bits >> 14) & 0x0000_CCCC_0000_CCCC;
        let bits = bits ^ swapped ^ swapped << 14;
        let swapped = (bits ^ bits >> 28) & 0x0000_0000_F0F0_F0F0;
        bits ^ swapped ^ swapped << 28
    }
}

/// The bytes from `80` on, those from `C0` on, and the zeros.
#[inline]
fn columns(window: &Window) -> (Columns, Columns, Columns) {
    let (mut high, mut more, mut zero) = ([0; 16], [0; 16], [0; 16]);
    let (rows, _) = window.as_chunks::<{ 2 * COLUMNS }>();
    for (bytes, row) in rows.iter().zip([1_u8, 4, 16, 64]) {
        let bits = high.iter_mut().zip(&mut more).zip(&mut zero);
        for (((high, more), zero), &byte) in bits.zip(bytes) {
            *high |= if byte >= 0x80 { row } else { 0 };
            *more |= if byte >= 0xC0 { row } else { 0 };
            *zero |= if byte == 0 { row } else { 0 };
        }
    }
    (Columns::new(high), Columns::new(more), Columns::new(zero))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block that begins with `start`, goes on with exits, and ends with `end`.
    fn block(start: &[u8], end: &[u8], behind: &[u8], before: Before) -> Block {
        let mut window = [0; size_of::<Window>()];
        let mut put = |at: usize, bytes: &[u8]| {
            window.iter_mut().skip(at).zip(bytes).for_each(|(to, &from)| *to = from);
        };
        put(0, start);
        put(WIDTH - end.len(), end);
        put(WIDTH, behind);
        Block::new(&window, before)
    }

    #[test]
    fn every_byte_is_told() {
        let bytes = [0x81, 0xC0, 0x01, 0x00, 0x81, 0xC0, 0x80, 0x01];
        let seen = block(&bytes, &[0xC0, 0x01, 0x81], &[], Before::default());
        assert_eq!(seen.exits, !0xF7 & first(61));
        assert_eq!((seen.len(), seen.enters(WIDTH), seen.enters(5)), (WIDTH, 6, 3));
    }

    #[test]
    fn private_bytes_are_told_from_the_last_bytes_of_ids() {
        for private in 0x7B..=0x7F {
            let seen = block(&[0x81, 0xFB, private, private], &[], &[], Before::default());
            assert_eq!(seen.len(), 3);
        }
    }

    #[test]
    fn what_is_no_short_enter_is_left_out_as_a_whole() {
        let len = |start: &[u8]| block(start, &[], &[], Before::default()).len();
        assert_eq!(len(&[0x81, 0x81, 0xFF, 0xFF, 0xFF, 0x7F]), 2, "a long id");
        assert_eq!(len(&[0x81, 0xC1, 0x00]), 1, "ends in zeros");
        assert_eq!(len(&[0x81, 0xC1, 0x80, 0x00]), 1, "ends in zeros");
    }

    #[test]
    fn an_enter_goes_on_behind_a_block_or_is_left_out() {
        let len = |end: &[u8], behind: &[u8]| block(&[], end, behind, Before::default()).len();
        assert_eq!(len(&[0xC1], &[0x7B]), WIDTH);
        assert_eq!(len(&[0xC1], &[0x80, 0x01]), WIDTH);
        assert_eq!(len(&[0xC1, 0xC0], &[0x01]), WIDTH);
        assert_eq!(len(&[0xC1], &[0x00]), 63);
        assert_eq!(len(&[0xC1], &[0x80, 0x80]), 63);
        assert_eq!(len(&[0xC1, 0x80], &[0x80, 0x01]), 62);
    }

    #[test]
    fn blocks_know_what_came_before() {
        let one = block(&[], &[0xC1], &[0x7F], Before::default());
        assert_eq!(block(&[0x7F, 0x81], &[], &[], one.before).enters(WIDTH), 1);
        let two = block(&[], &[0xC1, 0x80], &[0x7F], Before::default());
        assert_eq!(block(&[0x7F, 0x81], &[], &[], two.before).len(), WIDTH);
        assert_eq!(block(&[0x7F, 0x7F], &[], &[], two.before).len(), 1);
    }

    #[test]
    fn a_block_may_end_at_some_exit() {
        let seen = block(&[0x81, 0x00, 0x81, 0x81, 0x00, 0x00, 0x81], &[], &[], Before::default());
        assert_eq!((seen.len_of_whole(1), seen.len_of_whole(3)), (2, 6));
        assert_eq!(seen.len_of_whole(u64::MAX), WIDTH);
    }
}
