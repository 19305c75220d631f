//! HOT: 64 bytes of a raw chunk at once.
//!
//! A set of bytes is a word with one bit per byte, the first byte lowest. An ENTER with more than one byte
//! begins with one of `C0` or more, continues with high bytes, and ends with the first low one. A carry moves
//! through a sum in the same way: created by the bytes from `C0` on, propagated by the high ones, stopped by
//! the low ones. So one addition finds the further bytes of ENTERs, of any length.
//!
//! A block covers its first 61 bytes: an ENTER of four bytes that begins there ends within the word. The
//! caller handles longer ones, and everything that is neither ENTER nor EXIT, unless it can be
//! [resolved](super::resolve).

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::masks::{Masks, SIGHT, masks};

/// How many bytes of an ENTER there may be before its last one.
pub(super) const MAX_BEGUN: usize = 3;
/// How many bytes a block covers.
pub(super) const WIDTH: usize = SIGHT - MAX_BEGUN;
/// How many bytes after those are read with them.
pub(super) const MARGIN: usize = 32;

/// The bytes of a block and those after it; zeros after the end of the chunk.
pub(super) type Window = [u8; WIDTH + MARGIN];

const _: () = assert!(size_of::<Window>() >= SIGHT, "a window has the bytes of a block's word");

/// What the next block must know about the bytes before it. The default: it begins with an event.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Before {
    is_begun: bool,
}

/// What the bytes are, including those after the block that are in the word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// EXITs.
    pub(super) exits: u64,
    /// First bytes of ENTERs.
    pub(super) enters: u64,
    /// Anything else: neither these nor a further byte of an ENTER, or a byte that shows that the ENTER is
    /// invalid or too long.
    pub(super) others: u64,
    /// The EXITs that are not in resolved calls.
    pub(super) leaving: u64,
    /// Bytes that are not written.
    pub(super) cuts: u64,
    /// The UNWOUND EXITs among the EXITs.
    pub(super) unwound: u64,
    /// All bytes of ENTERs except the first ones.
    pub(super) further: u64,
    /// What the next block must know.
    pub(super) before: Before,
}

impl Block {
    /// Inlined at every use: the call alone would cost 10 % of the canonicalizer.
    #[inline(always)]
    pub(super) fn new(window: &Window, before: Before) -> Self {
        let Masks { high, plain, zero } = masks(window.first_chunk().unwrap_or(&[0; SIGHT]));
        let sum = high.wrapping_add(high ^ plain).wrapping_add(u64::from(before.is_begun));
        // The carries into each place.
        let further = sum ^ plain;
        // There may be two bytes between the first byte of an ENTER and its last one.
        let between = high & further;
        let too_long = between & between << 1 & between << 2;
        let exits = zero & !further;
        Self {
            exits,
            enters: high & !further,
            // Of the low bytes only the last bytes of ids are not zero, and those never are.
            others: !(high | zero ^ further) | too_long,
            leaving: exits,
            cuts: 0,
            unwound: 0,
            further,
            before: Before { is_begun: further >> WIDTH & 1 != 0 },
        }
    }

    /// How many bytes at the start belong to ENTERs and EXITs. The last ENTER may continue after the block.
    #[inline]
    pub(super) fn len(&self) -> usize {
        if self.others == 0 { WIDTH } else { self.event_at(self.others).min(WIDTH) }
    }

    /// The same without an ENTER that continues, and up to the exit with this number.
    pub(super) fn len_of_whole(&self, exits: u64) -> usize {
        self.event_at(self.others | 1 << WIDTH).min(self.len_up_to_exit(exits))
    }

    /// The start of the event to which the first of some bytes belongs.
    pub(super) fn event_at(&self, bytes: u64) -> usize {
        let first_byte = bytes & bytes.wrapping_neg();
        let begun = self.enters & first_byte.wrapping_sub(1);
        if self.further & first_byte == 0 {
            first_byte.trailing_zeros() as usize
        } else {
            begun.checked_ilog2().unwrap_or_default() as usize
        }
    }

    /// How many bytes come up to the exit with this number, which is not 0, or all if there are fewer exits.
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

    /// A block that begins with `start`, continues with exits, and ends with `end`.
    fn block(start: &[u8], end: &[u8], after: &[u8], before: Before) -> Block {
        let mut window = [0; size_of::<Window>()];
        let mut put = |at: usize, bytes: &[u8]| {
            window.iter_mut().skip(at).zip(bytes).for_each(|(to, &from)| *to = from);
        };
        put(0, start);
        put(WIDTH - end.len(), end);
        put(WIDTH, after);
        Block::new(&window, before)
    }

    fn enters(block: Block, len: usize) -> u32 {
        (block.enters & first(len)).count_ones()
    }

    #[test]
    fn every_byte_is_classified() {
        let bytes = [0x81, 0xC0, 0x01, 0x00, 0x81, 0xC0, 0x80, 0x01, 0xFF, 0xFF, 0x80, 0x01];
        let seen = block(&bytes, &[0xC0, 0x01, 0x81], &[], Before::default());
        assert_eq!(seen.exits, !0xFF7 & !(0b111 << (WIDTH - 3)));
        assert_eq!((seen.len(), enters(seen, WIDTH), enters(seen, 5)), (WIDTH, 7, 3));
    }

    #[test]
    fn private_bytes_differ_from_the_last_bytes_of_ids() {
        for private in 0x75..=0x7F {
            let seen = block(&[0x81, 0xFB, private, private], &[], &[], Before::default());
            assert_eq!(seen.len(), 3);
        }
    }

    #[test]
    fn anything_but_a_short_enter_is_left_out() {
        let len = |start: &[u8]| block(start, &[], &[], Before::default()).len();
        assert_eq!(len(&[0x81, 0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]), 2, "a long id");
        assert_eq!(len(&[0x81, 0xC1, 0x00]), 1, "ends in zeros");
        assert_eq!(len(&[0x81, 0xC1, 0x80, 0x80, 0x00]), 1, "ends in zeros");
        assert_eq!(len(&[0xC1, 0x80, 0x80, 0x80, 0x80, 0x00]), 0, "both");
    }

    #[test]
    fn an_enter_continues_after_a_block_or_is_left_out() {
        let len = |end: &[u8], after: &[u8]| block(&[], end, after, Before::default()).len();
        assert_eq!(len(&[0xC1], &[0x7B]), WIDTH);
        assert_eq!(len(&[0xC1], &[0x80, 0x80, 0x01]), WIDTH);
        assert_eq!(len(&[0xC1, 0xC0, 0x80], &[0x01]), WIDTH);
        assert_eq!(len(&[0xC1], &[0x00]), WIDTH - 1);
        assert_eq!(len(&[0xC1], &[0x80, 0x80, 0x80]), WIDTH - 1);
        assert_eq!(len(&[0xC1, 0x80], &[0x80, 0x80, 0x01]), WIDTH - 2);
        assert_eq!(len(&[0xC1, 0x80, 0x80], &[0x80]), WIDTH - 3);
    }

    #[test]
    fn bytes_after_a_block_are_left_to_the_next_one() {
        for after in [&[0x7B][..], &[0xC1, 0x00], &[0xC1, 0x80, 0x00], &[0x81, 0x7B]] {
            let seen = block(&[], &[], after, Before::default());
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
    fn a_block_of_whole_events_leaves_out_an_enter_that_continues() {
        let len = |end: &[u8], after: &[u8]| {
            block(&[], end, after, Before::default()).len_of_whole(u64::MAX)
        };
        assert_eq!(len(&[0xC1], &[0x7B]), WIDTH - 1);
        assert_eq!(len(&[0xC1, 0x80, 0x80], &[0x01]), WIDTH - 3);
        assert_eq!(len(&[0x81], &[0x81]), WIDTH);
    }
}
