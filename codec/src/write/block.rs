//! HOT: 64 bytes of a raw chunk at once.
//!
//! A set of bytes is a word with a bit for each, the first byte lowest. An ENTER that has more than one
//! byte begins with one of `C0` or more, goes on with high ones, and ends with the first low one. That
//! is how a carry goes through a sum: made by the bytes from `C0` on, passed on by the high ones, stopped
//! by the low ones. So one addition tells which bytes are further ones of ENTERs, however long.
//!
//! A block tells of the first 61 of its bytes: an ENTER of four bytes that begins there ends in sight.
//! Longer ones are left to others, and so is everything that is neither ENTER nor EXIT, unless it can be
//! [settled](super::settle).

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::masks::{Masks, SIGHT, masks};

/// How many bytes of an ENTER there may be before its last one.
pub(super) const MAX_BEGUN: usize = 3;
/// How many bytes a block tells of.
pub(super) const WIDTH: usize = SIGHT - MAX_BEGUN;
/// How many bytes behind those are there to be read with them.
pub(super) const MARGIN: usize = 32;

/// The bytes of a block and those behind it; zeros behind the end of the chunk.
pub(super) type Window = [u8; WIDTH + MARGIN];

/// What the next block must know of the bytes before it. The default: it begins with an event.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Before {
    is_begun: bool,
}

/// What the bytes are, those behind it included where they are in sight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// EXITs.
    pub(super) exits: u64,
    /// First bytes of ENTERs.
    pub(super) enters: u64,
    /// Neither of them, nor a further byte of an ENTER, or one that shows that the ENTER is none or
    /// too long.
    pub(super) others: u64,
    /// Those of the EXITs that are not in settled calls.
    pub(super) leaving: u64,
    /// What folds to nothing.
    pub(super) cuts: u64,
    /// Those of the EXITs that are UNWOUND EXITs.
    pub(super) unwound: u64,
    /// All bytes of ENTERs but the first ones.
    pub(super) further: u64,
    /// What the next block must know.
    pub(super) before: Before,
}

impl Block {
    /// Inlined wherever blocks are looked at: the call alone would cost a tenth of the fold.
    #[inline(always)]
    pub(super) fn new(window: &Window, before: Before) -> Self {
        let Masks { high, plain, zero } = masks(window.first_chunk().unwrap_or(&[0; SIGHT]));
        let sum = high.wrapping_add(high ^ plain).wrapping_add(u64::from(before.is_begun));
        // The carries into each place.
        let further = sum ^ plain;
        // Between the first byte of an ENTER and its last one there may be two.
        let between = high & further;
        let too_long = between & between << 1 & between << 2;
        let exits = zero & !further;
        Self {
            exits,
            enters: high & !further,
            // Of the low bytes only the last ones of ids are not zero, and those never are.
            others: !(high | zero ^ further) | too_long,
            leaving: exits,
            cuts: 0,
            unwound: 0,
            further,
            before: Before { is_begun: further >> WIDTH & 1 != 0 },
        }
    }

    /// How many bytes at the start belong to ENTERs and EXITs. The last ENTER may go on behind the
    /// block, and then does.
    #[inline]
    pub(super) fn len(&self) -> usize {
        if self.others == 0 { WIDTH } else { self.event_at(self.others).min(WIDTH) }
    }

    /// The same without an ENTER that goes on, and up to an exit of this number.
    pub(super) fn len_of_whole(&self, exits: u64) -> usize {
        self.event_at(self.others | 1 << WIDTH).min(self.len_up_to_exit(exits))
    }

    /// Where the event begins that the first one of some bytes belongs to.
    pub(super) fn event_at(&self, bytes: u64) -> usize {
        let first_byte = bytes & bytes.wrapping_neg();
        let begun = self.enters & first_byte.wrapping_sub(1);
        if self.further & first_byte == 0 {
            first_byte.trailing_zeros() as usize
        } else {
            begun.checked_ilog2().unwrap_or_default() as usize
        }
    }

    /// How many bytes there are up to the exit of this number, which is not 0, or all where there are fewer.
    fn len_up_to_exit(&self, count: u64) -> usize {
        let exits = self.leaving & first(WIDTH);
        if u64::from(exits.count_ones()) < count {
            return WIDTH;
        }
        let last = (1..count).fold(exits, |exits, _| exits & exits.wrapping_sub(1));
        last.trailing_zeros() as usize + 1
    }
}

/// The first `len` bytes.
#[inline]
pub(super) fn first(len: usize) -> u64 {
    if len < SIGHT { (1 << len) - 1 } else { u64::MAX }
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

    fn enters(block: Block, len: usize) -> u32 {
        (block.enters & first(len)).count_ones()
    }

    #[test]
    fn every_byte_is_told() {
        let bytes = [0x81, 0xC0, 0x01, 0x00, 0x81, 0xC0, 0x80, 0x01, 0xFF, 0xFF, 0x80, 0x01];
        let seen = block(&bytes, &[0xC0, 0x01, 0x81], &[], Before::default());
        assert_eq!(seen.exits, !0xFF7 & !(0b111 << (WIDTH - 3)));
        assert_eq!((seen.len(), enters(seen, WIDTH), enters(seen, 5)), (WIDTH, 7, 3));
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
        assert_eq!(len(&[0x81, 0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]), 2, "a long id");
        assert_eq!(len(&[0x81, 0xC1, 0x00]), 1, "ends in zeros");
        assert_eq!(len(&[0x81, 0xC1, 0x80, 0x80, 0x00]), 1, "ends in zeros");
        assert_eq!(len(&[0xC1, 0x80, 0x80, 0x80, 0x80, 0x00]), 0, "both");
    }

    #[test]
    fn an_enter_goes_on_behind_a_block_or_is_left_out() {
        let len = |end: &[u8], behind: &[u8]| block(&[], end, behind, Before::default()).len();
        assert_eq!(len(&[0xC1], &[0x7B]), WIDTH);
        assert_eq!(len(&[0xC1], &[0x80, 0x80, 0x01]), WIDTH);
        assert_eq!(len(&[0xC1, 0xC0, 0x80], &[0x01]), WIDTH);
        assert_eq!(len(&[0xC1], &[0x00]), WIDTH - 1);
        assert_eq!(len(&[0xC1], &[0x80, 0x80, 0x80]), WIDTH - 1);
        assert_eq!(len(&[0xC1, 0x80], &[0x80, 0x80, 0x01]), WIDTH - 2);
        assert_eq!(len(&[0xC1, 0x80, 0x80], &[0x80]), WIDTH - 3);
    }

    #[test]
    fn what_comes_behind_a_block_is_left_to_the_next_one() {
        for behind in [&[0x7B][..], &[0xC1, 0x00], &[0xC1, 0x80, 0x00], &[0x81, 0x7B]] {
            let seen = block(&[], &[], behind, Before::default());
            assert_eq!((seen.len(), seen.len_of_whole(u64::MAX)), (WIDTH, WIDTH));
        }
    }

    #[test]
    fn blocks_know_what_came_before() {
        let one = block(&[], &[0xC1], &[0x7F], Before::default());
        assert_eq!(enters(block(&[0x7F, 0x81], &[], &[], one.before), WIDTH), 1);
        let two = block(&[], &[0xC1], &[0xFF, 0x7F], Before::default());
        assert_eq!(block(&[0xFF, 0x7F, 0x81], &[], &[], two.before).len(), WIDTH);
        assert_eq!(block(&[0x7F, 0x7F], &[], &[], two.before).len(), 1);
    }

    #[test]
    fn a_block_may_end_at_some_exit() {
        let seen = block(&[0x81, 0x00, 0x81, 0x81, 0x00, 0x00, 0x81], &[], &[], Before::default());
        assert_eq!((seen.len_of_whole(1), seen.len_of_whole(3)), (2, 6));
        assert_eq!(seen.len_of_whole(u64::MAX), WIDTH);
        let with_one = block(&[0x81, 0x00], &[0x81; WIDTH - 2], &[], Before::default());
        assert_eq!((with_one.len_of_whole(1), with_one.len_of_whole(2)), (2, WIDTH));
    }

    #[test]
    fn a_block_of_whole_events_leaves_out_an_enter_that_goes_on() {
        let len = |end: &[u8], behind: &[u8]| {
            block(&[], end, behind, Before::default()).len_of_whole(u64::MAX)
        };
        assert_eq!(len(&[0xC1], &[0x7B]), WIDTH - 1);
        assert_eq!(len(&[0xC1, 0x80, 0x80], &[0x01]), WIDTH - 3);
        assert_eq!(len(&[0x81], &[0x81]), WIDTH);
    }
}
