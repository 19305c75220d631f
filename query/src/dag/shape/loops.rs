//! HOT where shapes are found: runs that are repeated together.
//!
//! A method that reads character by character calls the same few methods over and over: `a b c a b c a b c d`. Its runs are
//! a [*loop*](flow_codec::format::dag) of `a b c`, three times, and `d`. In memory, the word of the loop precedes the words of its
//! runs. Open frames have no loops: these are found when a shape is new, so that calls of a known shape cost nothing more.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::iter::FusedIterator;

use super::kinds::ShapeId;
use super::word::{self, Word};
use flow_codec::format::dag::MAX_PERIOD;

/// The most runs of a loop.
#[expect(clippy::cast_possible_truncation, reason = "it is small")]
const LONGEST: usize = MAX_PERIOD as usize;
/// The fewest runs that a loop replaces, with all repetitions. Small for tests, whose callers have few runs.
const FEWEST: usize = if cfg!(test) { 4 } else { 8 };

/// Consecutive calls of a shape; or several runs that are made together more than once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    runs: &'a [u64],
    /// How often they are made.
    pub(crate) times: u64,
}

impl<'a> Part<'a> {
    /// The runs that are made together: each shape with the number of consecutive calls of it.
    #[inline]
    pub(crate) fn runs(self) -> impl Iterator<Item = (ShapeId, u64)> + use<'a> {
        self.runs.iter().map(|word| run_of(*word))
    }

    #[inline]
    pub(in crate::dag) fn words(self) -> &'a [u64] {
        self.runs
    }
}

#[inline]
fn run_of(word: u64) -> (ShapeId, u64) {
    (ShapeId(word::shape_of(word)), word::count_of(word).into())
}

/// The parts of a list of runs.
#[derive(Clone, Debug)]
pub(crate) struct Parts<'a>(&'a [u64]);

impl<'a> Parts<'a> {
    /// Of the words of a shape without its header.
    #[inline]
    pub(in crate::dag) fn of(words: &'a [u64]) -> Self {
        Self(words)
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    #[inline]
    fn next(&mut self) -> Option<Part<'a>> {
        let (first, rest) = self.0.split_first()?;
        let (runs, rest, times) = match Word::of(*first) {
            Word::Loop(period, times) => {
                let (runs, rest) = rest.split_at(rest.len().min(period));
                (runs, rest, times.into())
            }
            _ => (std::slice::from_ref(first), rest, 1),
        };
        self.0 = rest;
        Some(Part { runs, times })
    }
}

impl FusedIterator for Parts<'_> {}

/// The runs of a shape, those of loops once, with all calls that are made there.
#[derive(Clone, Debug)]
pub(crate) struct Totals<'a> {
    words: std::slice::Iter<'a, u64>,
    /// How many of the next runs are in a loop, and how often that is made.
    in_loop: usize,
    times: u64,
}

impl<'a> Totals<'a> {
    #[inline]
    pub(in crate::dag) fn of(words: &'a [u64]) -> Self {
        Self { words: words.iter(), in_loop: 0, times: 1 }
    }
}

impl Iterator for Totals<'_> {
    type Item = (ShapeId, u64);

    #[inline]
    fn next(&mut self) -> Option<(ShapeId, u64)> {
        let mut word = *self.words.next()?;
        if let Word::Loop(period, times) = Word::of(word) {
            (self.in_loop, self.times) = (period, times.into());
            word = *self.words.next()?;
        }
        let (shape, count) = run_of(word);
        if self.in_loop == 0 {
            return Some((shape, count));
        }
        self.in_loop -= 1;
        Some((shape, count.saturating_mul(self.times)))
    }
}

/// A place in a list of runs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::dag) struct Cursor {
    /// The next word.
    at: u32,
    /// The runs of the loop that was begun last, and how often they are made again.
    start: u32,
    end: u32,
    again: u32,
}

impl Cursor {
    /// The next run of the words of a shape without its header.
    #[inline]
    pub(in crate::dag) fn next(&mut self, words: &[u64]) -> Option<(ShapeId, u64)> {
        if self.at == self.end && self.again > 0 {
            self.again -= 1;
            self.at = self.start;
        }
        let mut word = *words.get(self.at as usize)?;
        if let Word::Loop(period, times) = Word::of(word) {
            self.begin(period, times - 1);
            self.at = self.start;
            word = *words.get(self.at as usize)?;
        }
        self.at += 1;
        Some(run_of(word))
    }

    /// If runs that are made together are next: these, and how often they follow.
    #[inline]
    pub(in crate::dag) fn whole<'a>(&self, words: &'a [u64]) -> Option<Part<'a>> {
        if self.at == self.end && self.again > 0 {
            let runs = words.get(self.start as usize..self.end as usize)?;
            return Some(Part { runs, times: self.again.into() });
        }
        let rest = words.get(self.at as usize..)?;
        let is_loop = rest.first().is_some_and(|word| matches!(Word::of(*word), Word::Loop(..)));
        if is_loop { Parts(rest).next() } else { None }
    }

    /// Passes runs that are [made together](Self::whole), this many times of those that follow.
    pub(in crate::dag) fn pass(&mut self, words: &[u64], times: u64) {
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        if self.at == self.end && self.again > 0 {
            self.again = self.again.saturating_sub(times);
        } else if let Some(Word::Loop(period, all)) =
            words.get(self.at as usize).map(|word| Word::of(*word))
        {
            self.begin(period, all.saturating_sub(times));
            self.at = self.end;
        }
    }

    fn begin(&mut self, period: usize, again: u32) {
        self.start = self.at + 1;
        self.end = self.start + u32::try_from(period).unwrap_or(0);
        self.again = again;
    }
}

/// All runs of a shape, those of loops as often as they are made.
#[derive(Clone, Debug)]
pub(crate) struct Runs<'a> {
    words: &'a [u64],
    at: Cursor,
}

impl<'a> Runs<'a> {
    pub(in crate::dag) fn of(words: &'a [u64]) -> Self {
        Self { words, at: Cursor::default() }
    }
}

impl Iterator for Runs<'_> {
    type Item = (ShapeId, u64);

    #[inline]
    fn next(&mut self) -> Option<(ShapeId, u64)> {
        self.at.next(self.words)
    }
}

/// How many runs some words are, those of loops as often as they are made.
pub(in crate::dag) fn count(words: &[u64]) -> u64 {
    Parts(words).fold(0, |sum: u64, part| {
        sum.saturating_add((part.runs.len() as u64).saturating_mul(part.times))
    })
}

/// How many of these runs are there only because loops are repeated.
pub(in crate::dag) fn repeated(words: &[u64]) -> u64 {
    Parts(words).fold(0, |sum: u64, part| {
        sum.saturating_add((part.runs.len() as u64).saturating_mul(part.times - 1))
    })
}

/// Replaces runs that are made together by loops, in the words of a shape without its header. Returns whether there are any;
/// if not, nothing is added. Equal lists have equal loops.
pub(in crate::dag) fn fold(
    runs: &[u64],
    folded: &mut Vec<u64>,
    is_call: impl Fn(u32) -> bool,
) -> bool {
    let (mut at, mut done) = (0, 0);
    while at + FEWEST <= runs.len() {
        let rest = runs.get(at..).unwrap_or_default();
        let Some((period, times)) = first_loop(rest) else {
            at += 1;
            continue;
        };
        let first = rest.get(..period).unwrap_or_default();
        let all = period * times as usize;
        if all >= FEWEST && first.iter().all(|word| is_call(word::shape_of(*word))) {
            folded.extend_from_slice(runs.get(done..at).unwrap_or_default());
            folded.push(word::of_loop(period, times));
            folded.extend_from_slice(first);
            at += all;
            done = at;
        } else {
            at += 1;
        }
    }
    if done > 0 {
        folded.extend_from_slice(runs.get(done..).unwrap_or_default());
    }
    done > 0
}

/// The shortest list of runs that some begin with more than once, and how often.
fn first_loop(runs: &[u64]) -> Option<(usize, u32)> {
    let first = runs.first()?;
    for period in 2..=LONGEST {
        // Most differ in their first run.
        if runs.get(period)? != first {
            continue;
        }
        let (once, rest) = runs.split_at_checked(period)?;
        let is_full =
            once.last().is_some_and(|last| word::shape_of(*last) == word::shape_of(*first));
        if is_full || !rest.starts_with(once) {
            continue;
        }
        let again = rest.chunks_exact(period).take_while(|runs| *runs == once).count();
        return Some((period, u32::try_from(again + 1).unwrap_or(u32::MAX)));
    }
    None
}

/// Returns whether some runs are those of these words, in which there may be loops.
#[inline(never)]
pub(in crate::dag) fn is_expanded(words: &[u64], runs: &[u64]) -> bool {
    let mut left = runs;
    for part in Parts(words) {
        for _ in 0..part.times {
            match left.strip_prefix(part.runs) {
                Some(rest) => left = rest,
                None => return false,
            }
        }
    }
    left.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn runs(shapes: &[u32]) -> Vec<u64> {
        shapes.iter().map(|shape| word::run(*shape, 1)).collect()
    }

    #[test]
    fn runs_that_are_repeated_together_are_a_loop() {
        let folded = |shapes: &[u32]| {
            let mut folded = Vec::new();
            fold(&runs(shapes), &mut folded, |shape| shape != 9).then_some(folded)
        };
        let of_loop = [runs(&[5]), vec![word::of_loop(2, 4)], runs(&[1, 2, 1, 7])].concat();
        assert_eq!(folded(&[5, 1, 2, 1, 2, 1, 2, 1, 2, 1, 7]), Some(of_loop));
        // Too short, too long, and with a break.
        assert_eq!(folded(&[1, 2, 1]), None);
        let of = |runs: u32| (10..10 + runs).collect::<Vec<_>>().repeat(3);
        assert_eq!(folded(&of(17)), None);
        assert!(folded(&of(16)).is_some());
        assert_eq!(folded(&[1, 9].repeat(8)), None);
    }

    proptest! {
        #[test]
        fn loops_are_what_they_were_made_of(
            parts in prop::collection::vec((prop::collection::vec(0_u32..3, 1..5), 1_usize..9), 0..6),
            passed in 0_u64..9,
        ) {
            let shapes: Vec<u32> =
                parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect();
            let mut raw = Vec::new();
            shapes.iter().for_each(|shape| word::push_run(&mut raw, *shape, 1));
            let mut folded = Vec::new();
            if !fold(&raw, &mut folded, |_| true) {
                prop_assert!(folded.is_empty());
                folded.clone_from(&raw);
            }
            let all: Vec<_> = raw.iter().map(|word| run_of(*word)).collect();
            prop_assert_eq!(Runs::of(&folded).collect::<Vec<_>>(), &all[..]);
            prop_assert_eq!(count(&folded), raw.len() as u64);
            let sum = |runs: &[(ShapeId, u64)], shape: u32| -> u64 {
                runs.iter().filter(|run| run.0 == ShapeId(shape)).map(|run| run.1).sum()
            };
            let totals: Vec<_> = Totals::of(&folded).collect();
            for shape in 0..3 {
                prop_assert_eq!(sum(&totals, shape), sum(&all, shape));
            }
            prop_assert!(is_expanded(&folded, &raw));
            prop_assert!(!is_expanded(&folded, &[&raw[..], &[word::run(7, 1)]].concat()));
            // Some iterations are passed at once, wherever they begin.
            for start in 0..all.len() {
                let (mut cursor, mut at) = (Cursor::default(), 0);
                while at < start {
                    cursor.next(&folded);
                    at += 1;
                }
                if let Some(part) = cursor.whole(&folded) {
                    let times = passed.min(part.times);
                    cursor.pass(&folded, times);
                    at += part.words().len() * usize::try_from(times).unwrap();
                }
                let rest: Vec<_> = std::iter::from_fn(|| cursor.next(&folded)).collect();
                prop_assert_eq!(Some(&rest[..]), all.get(at..));
            }
        }
    }
}
