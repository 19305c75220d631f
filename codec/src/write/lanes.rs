//! HOT: eight bytes of a raw chunk at once.
//!
//! A *lane* is a byte of a word; a set of lanes is a word with the top bit of each lane in it. What a
//! byte is can be told from itself and the two bytes before it, as long as no id has more than three
//! bytes. The first byte of an id that has is `C0` or more, and its next two are `80` or more; no
//! other three bytes of whole events are so. Such ids are left to others, and so is everything that is
//! neither ENTER nor EXIT.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

const ALL: u64 = 0x8080_8080_8080_8080;
const LOW_BITS: u64 = !ALL;
const ONES: u64 = 0x0101_0101_0101_0101;
const TOP_LANE: u32 = 56;

/// How many bytes are looked at together.
pub(super) const WIDTH: usize = 8;

/// What the next word must know of the bytes before it. The default: it begins with an event.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Before {
    high: u64,
    more: u64,
    exits: u64,
}

impl Before {
    /// An event begins here, and the last one was an exit.
    pub(super) fn after_exit() -> Self {
        Self { exits: ALL, ..Self::default() }
    }

    /// How many bytes of an ENTER that goes on in the next word stand before it.
    #[inline]
    pub(super) fn begun(self) -> usize {
        let next = Lanes::new(0, self);
        next.begins_before(0)
    }
}

/// What eight bytes are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    /// First bytes of ENTERs.
    pub(super) enters: u64,
    /// EXITs.
    pub(super) exits: u64,
    /// EXITs right after an EXIT.
    pub(super) runs: u64,
    /// Neither of them, nor a further byte of an ENTER.
    pub(super) others: u64,
    /// Second and third bytes of ENTERs.
    second: u64,
    third: u64,
    /// What the next word must know.
    pub(super) before: Before,
}

impl Lanes {
    #[inline]
    pub(super) fn new(word: u64, before: Before) -> Self {
        let high = word & ALL;
        // C0 and above: a number goes on, in a first byte, and maybe in a second one.
        let more = high & (word << 1);
        let zero = !((word & LOW_BITS).wrapping_add(LOW_BITS) | word) & ALL;
        let high_before = high << 8 | before.high >> TOP_LANE;
        let more_before = more << 8 | before.more >> TOP_LANE;
        let more_two_before = more << 16 | before.more >> (TOP_LANE - 8);

        let second = more_before;
        let third = high_before & more_two_before;
        let further = second | third;
        let exits = zero & !further;
        Self {
            enters: high & !further,
            exits,
            runs: exits & (exits << 8 | before.exits >> TOP_LANE),
            // A third byte that is high is not the last. Of the low bytes only the last ones of ids
            // are not zero, and those never are.
            others: high & third | ALL & !(high | zero ^ further),
            second,
            third,
            before: Before { high, more, exits },
        }
    }

    /// How many EXITs follow each other from `lane` on, within the word.
    #[inline]
    pub(super) fn exits_from(&self, lane: u32) -> usize {
        // Shifting in zeros ends the run at the end of the word.
        let run = (self.exits ^ ALL) >> (8 * lane);
        if run == 0 { WIDTH - lane as usize } else { first(run) as usize }
    }

    /// How many bytes before `lane` the ENTER begins that it belongs to.
    #[inline]
    pub(super) fn begins_before(&self, lane: u32) -> usize {
        let bit = top_bit(lane);
        if self.third & bit != 0 { 2 } else { usize::from(self.second & bit != 0) }
    }
}

/// The top bit of a lane.
#[inline]
pub(super) fn top_bit(lane: u32) -> u64 {
    0x80 << (8 * lane)
}

/// The first of some lanes; there must be one.
#[inline]
pub(super) fn first(lanes: u64) -> u32 {
    lanes.trailing_zeros() / 8
}

/// Those lanes of a set that come before `lane`.
#[inline]
pub(super) fn before(lanes: u64, lane: u32) -> u64 {
    lanes & (top_bit(lane) - 1)
}

/// How many lanes are in a set.
#[inline]
pub(super) fn count(lanes: u64) -> u64 {
    // Adds up all lanes in the top one. x86-64 as the compiler takes it has no instruction for it.
    (lanes >> 7).wrapping_mul(ONES) >> TOP_LANE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(bytes: [u8; WIDTH]) -> Lanes {
        Lanes::new(u64::from_le_bytes(bytes), Before::default())
    }

    fn set(lanes: &[u32]) -> u64 {
        lanes.iter().map(|&lane| top_bit(lane)).sum()
    }

    #[test]
    fn every_byte_is_told() {
        let seen = lanes([0x81, 0xC0, 0x01, 0x00, 0x00, 0xC0, 0x80, 0x01]);
        assert_eq!(seen.enters, set(&[0, 1, 5]));
        assert_eq!(seen.exits, set(&[3, 4]));
        assert_eq!(seen.runs, set(&[4]));
        assert_eq!(seen.others, 0);
        assert_eq!((count(seen.enters), count(seen.exits)), (3, 2));
    }

    #[test]
    fn private_bytes_are_told_from_the_last_bytes_of_ids() {
        let seen = lanes([0x7E, 0xFB, 0x7B, 0x7B, 0xC0, 0xFF, 0x7F, 0x7F]);
        assert_eq!(seen.others, set(&[0, 3, 7]));
    }

    #[test]
    fn long_ids_are_found_at_their_third_byte() {
        let seen = lanes([0x81, 0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0x00]);
        assert_eq!(first(seen.others), 4);
        assert_eq!(seen.begins_before(4), 2);
    }

    #[test]
    fn an_id_that_ends_in_zeros_is_not_taken_for_an_exit() {
        let seen = lanes([0x81, 0xC1, 0x00, 0xC1, 0x80, 0x00, 0x00, 0x00]);
        assert_eq!(seen.others, set(&[2, 5]));
        assert_eq!((seen.begins_before(2), seen.begins_before(5)), (1, 2));
        assert_eq!((seen.exits, seen.runs), (set(&[6, 7]), set(&[7])));
    }

    #[test]
    fn words_know_what_came_before() {
        let first = lanes([0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0xC1, 0x81]);
        let next = Lanes::new(u64::from_le_bytes([0x7F, 0x81, 0, 0, 0, 0, 0, 0]), first.before);
        assert_eq!(next.others, 0);
        let next = Lanes::new(u64::from_le_bytes([0x81, 0, 0, 0, 0, 0, 0, 0]), first.before);
        assert_eq!((super::first(next.others), next.begins_before(0)), (0, 2));
        let next = Lanes::new(0, Before::after_exit());
        assert_eq!(next.runs, ALL);
    }
}
