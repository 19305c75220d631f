//! HOT: words of 64 bits, of which shapes and open frames are made.
//!
//! | bit 63 | bits 62–61 | the rest | word |
//! |---:|---|---|---|
//! | 0 | bit 62 is 0 | shape (30 bits, to bit 32), count (32 bits) | *run*: consecutive calls of equal shape |
//! | 0 | bit 62 is 1 | how many runs follow that are made together (to bit 32), how often (32 bits) | [*loop*](super::loops), in shapes only |
//! | 1 | 0 to 2: the [`Outcome`] | method (61 bits) | *header*: a shape, or an open frame; its runs follow |
//! | 1 | 3 | a number (61 bits) | as the header of a shape: a [`Break`]; among the roots of a thread: *unseen exits*, their count, and in the lowest two bits their [`Outcome`] |

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::kinds::{Break, Outcome, ShapeId};
use flow_codec::MethodId;

const HEADER: u64 = 1 << 63;
const OUTCOME_SHIFT: u32 = 61;
const SPECIAL: u64 = 3;
/// The largest number that fits in a header.
pub(in crate::dag) const MAX_NUMBER: u64 = (1 << OUTCOME_SHIFT) - 1;
/// The most shapes that runs can refer to.
pub(in crate::dag) const MAX_SHAPES: usize = 1 << 30;
/// The most calls of a run.
pub(in crate::dag) const MAX_COUNT: u32 = u32::MAX;
const SHAPE_SHIFT: u32 = 32;
const LOOP: u64 = 1 << 62;

/// What a word is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::dag) enum Word {
    /// This many consecutive calls of a shape.
    Run(ShapeId, u32),
    /// This many runs follow, and are made together so often.
    Loop(usize, u32),
    /// A method, and how it was left; for an open frame the outcome has no meaning.
    Method(MethodId, Outcome),
    /// The number of a break, or of exits.
    Special(u64),
}

impl Word {
    /// Decodes a word.
    #[inline(always)]
    pub(in crate::dag) const fn of(word: u64) -> Self {
        if word & HEADER == 0 {
            if word & LOOP != 0 {
                return Self::Loop((shape_of(word & !LOOP)) as usize, count_of(word));
            }
            return Self::Run(ShapeId(shape_of(word)), count_of(word));
        }
        let number = word & MAX_NUMBER;
        let outcome = match word >> OUTCOME_SHIFT & 3 {
            0 => Outcome::Returned,
            1 => Outcome::Unwound,
            2 => Outcome::Cut,
            _ => return Self::Special(number),
        };
        match MethodId::new(number) {
            Some(method) => Self::Method(method, outcome),
            None => Self::Special(number),
        }
    }
}

/// A run of calls.
#[inline(always)]
pub(in crate::dag) const fn run(shape: u32, count: u32) -> u64 {
    (shape as u64) << SHAPE_SHIFT | count as u64
}

/// A loop of this many runs, which follow.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a loop has few runs")]
pub(in crate::dag) const fn of_loop(period: usize, times: u32) -> u64 {
    LOOP | run(period as u32, times)
}

/// The header of a method that returned; methods above [`MAX_NUMBER`] do not fit.
#[inline(always)]
pub(in crate::dag) const fn header(method: u64) -> u64 {
    HEADER | method & MAX_NUMBER
}

/// The same header with an outcome.
#[inline(always)]
pub(in crate::dag) const fn left(header: u64, outcome: Outcome) -> u64 {
    header | (outcome as u64) << OUTCOME_SHIFT
}

/// The header of the shape of a break.
pub(in crate::dag) const fn break_header(kind: Break) -> u64 {
    special(kind as u64)
}

/// Exits without entries.
pub(in crate::dag) const fn unseen_exits(outcome: Outcome, count: u64) -> u64 {
    let most = MAX_NUMBER >> 2;
    special((if count > most { most } else { count }) << 2 | outcome as u64)
}

/// What the number of unseen exits means.
pub(in crate::dag) const fn exits_of(number: u64) -> (Outcome, u64) {
    let outcome = match number & 3 {
        0 => Outcome::Returned,
        1 => Outcome::Unwound,
        _ => Outcome::Cut,
    };
    (outcome, number >> 2)
}

pub(in crate::dag) const fn special(number: u64) -> u64 {
    HEADER | SPECIAL << OUTCOME_SHIFT | number
}

/// The shape of a run; of a header or a loop, a number that no shape has.
#[inline(always)]
pub(in crate::dag) const fn shape_of(word: u64) -> u32 {
    (word >> SHAPE_SHIFT) as u32
}

/// The count of a run.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
pub(in crate::dag) const fn count_of(word: u64) -> u32 {
    word as u32
}

/// Adds a run after other words. A run is full before the next one of its shape begins, so that equal calls have equal
/// words.
pub(in crate::dag) fn push_run(words: &mut Vec<u64>, shape: u32, count: u32) {
    let mut left = count;
    if let Some(last) = words.last_mut().filter(|last| shape_of(**last) == shape) {
        let more = left.min(MAX_COUNT - count_of(*last));
        *last += u64::from(more);
        left -= more;
    }
    if left > 0 {
        words.push(run(shape, left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_they_were_made_of() {
        let method = MethodId::new(MAX_NUMBER).unwrap();
        for outcome in [Outcome::Returned, Outcome::Unwound, Outcome::Cut] {
            let word = left(header(MAX_NUMBER), outcome);
            assert_eq!(Word::of(word), Word::Method(method, outcome));
            assert!(shape_of(word) as usize >= MAX_SHAPES);
        }
        let last = u32::try_from(MAX_SHAPES - 1).unwrap();
        assert_eq!(Word::of(run(last, MAX_COUNT)), Word::Run(ShapeId(last), MAX_COUNT));
        assert_eq!(Word::of(of_loop(16, MAX_COUNT)), Word::Loop(16, MAX_COUNT));
        assert!(shape_of(of_loop(2, 2)) as usize >= MAX_SHAPES);
        assert_eq!(Word::of(break_header(Break::Pause)), Word::Special(1));
        let most = MAX_NUMBER >> 2 << 2 | 2;
        assert_eq!(Word::of(unseen_exits(Outcome::Cut, u64::MAX)), Word::Special(most));
        assert_eq!(exits_of(most), (Outcome::Cut, MAX_NUMBER >> 2));
    }
}
