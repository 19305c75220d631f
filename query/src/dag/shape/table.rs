//! HOT: shapes by content: equal ones are found, and stored once.
//!
//! The hash only selects where to look. Two shapes are the same if all their words are.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::marker::PhantomData;

use super::loops;
use super::word::{MAX_SHAPES, Word};

/// A function of the words of a shape.
pub(in crate::dag) trait Mix {
    /// The hash of these words.
    fn hash(words: &[u64]) -> u64;
}

/// A multiplication a word, whose 128 bits are folded.
#[derive(Clone, Copy, Debug)]
pub(in crate::dag) struct Folded;

const SEED: u64 = 0x243F_6A88_85A3_08D3;
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

impl Mix for Folded {
    #[inline(always)]
    fn hash(words: &[u64]) -> u64 {
        let mut hash = SEED;
        for word in words {
            hash = fold(hash ^ word);
        }
        hash
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
fn fold(word: u64) -> u64 {
    let product = u128::from(word) * u128::from(FACTOR);
    (product >> 64) as u64 ^ product as u64
}

/// The words of all shapes, one shape after the other.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::dag) struct Words {
    words: Vec<u64>,
    /// Where each shape ends.
    ends: Vec<u32>,
}

impl Words {
    /// The number of shapes.
    #[inline(always)]
    pub(in crate::dag) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of words of all shapes.
    pub(in crate::dag) fn words(&self) -> usize {
        self.words.len()
    }

    /// The words of all shapes, one after the other.
    pub(in crate::dag) fn all(&self) -> &[u64] {
        &self.words
    }

    /// Returns whether others are as many, each with as many words.
    pub(in crate::dag) fn has_lengths_of(&self, other: &Self) -> bool {
        self.ends == other.ends
    }

    /// About the memory that they need, in words.
    #[inline(always)]
    pub(in crate::dag) fn size(&self) -> usize {
        self.words.len() + self.ends.len()
    }

    /// The words of a shape: its header, then its runs and loops. None if there is no such shape.
    #[inline(always)]
    pub(in crate::dag) fn get(&self, shape: u32) -> &[u64] {
        let shape = shape as usize;
        let end = self.ends.get(shape).copied().unwrap_or(0);
        let start = match shape.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or(0),
            None => 0,
        };
        self.words.get(start as usize..end as usize).unwrap_or_default()
    }

    /// All shapes, each after those that it is made of.
    pub(in crate::dag) fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = (u32, &[u64])> + ExactSizeIterator {
        (0..self.ends.len()).map(|shape| {
            let shape = u32::try_from(shape).unwrap_or(u32::MAX);
            (shape, self.get(shape))
        })
    }

    /// Makes room for this many words.
    pub(in crate::dag) fn reserve(&mut self, words: usize) {
        self.words.reserve_exact(words);
    }

    /// Adds a shape. `None` if there are too many.
    pub(in crate::dag) fn push(&mut self, words: &[u64]) -> Option<u32> {
        self.push_with(|all| {
            all.extend_from_slice(words);
            Some(())
        })
    }

    /// The same of a shape whose words `add` adds, or refuses.
    #[inline]
    pub(in crate::dag) fn push_with(
        &mut self,
        add: impl FnOnce(&mut Vec<u64>) -> Option<()>,
    ) -> Option<u32> {
        let shape = u32::try_from(self.ends.len()).ok().filter(|_| self.len() < MAX_SHAPES)?;
        add(&mut self.words)?;
        self.ends.push(u32::try_from(self.words.len()).ok()?);
        Some(shape)
    }

    /// Returns whether a shape that was added is that of a call.
    #[inline]
    pub(in crate::dag) fn is_call(&self, shape: u32) -> bool {
        let header = self.get(shape).first();
        header.is_some_and(|header| matches!(Word::of(*header), Word::Method(..)))
    }
}

/// Shapes that can be found.
#[derive(Debug)]
pub(in crate::dag) struct Table<H> {
    shapes: Words,
    /// Half of the hash, which also says where the slot is, and the number of a shape plus one; 0 if free. At most half of
    /// them are used.
    slots: Vec<u64>,
    /// The words of a new shape with its loops.
    folded: Vec<u64>,
    /// The largest size of the shapes.
    max_size: usize,
    hash: PhantomData<H>,
}

const FIRST_SLOTS: usize = 1 << 10;
const TAG: u64 = !0 << 32;

impl<H: Mix> Table<H> {
    pub(in crate::dag) fn new(max_size: usize) -> Self {
        let (shapes, hash) = (Words::default(), PhantomData);
        Self { shapes, slots: vec![0; FIRST_SLOTS], folded: Vec::new(), max_size, hash }
    }

    /// Makes room for the first shapes, which may be as many as these.
    pub(in crate::dag) fn expect(&mut self, shapes: &Words) {
        if self.shapes.len() == 0 {
            self.shapes.words.reserve(shapes.words().min(self.max_size));
            self.shapes.ends.reserve(shapes.len());
            self.rebuild((2 * shapes.len()).next_power_of_two().max(FIRST_SLOTS));
        }
    }

    /// Sets how large the shapes may become.
    pub(in crate::dag) fn limit(&mut self, max_size: usize) {
        self.max_size = max_size;
    }

    /// The memory that is needed, in words.
    pub(in crate::dag) fn memory(&self) -> usize {
        self.shapes.words.capacity() + self.shapes.ends.capacity() / 2 + self.slots.len()
    }

    /// The shapes, once no more are added.
    pub(in crate::dag) fn into_shapes(self) -> Words {
        self.shapes
    }

    /// Returns the shape with these words, without loops, which is added if there is none. `None` if there are too many.
    #[inline(always)]
    pub(in crate::dag) fn intern(&mut self, words: &[u64]) -> Option<u32> {
        let hash = H::hash(words);
        match self.find(hash, |shape| same(shape, words)) {
            Ok(shape) => Some(shape),
            Err(at) => self.add(words, hash, at),
        }
    }

    /// Finds a shape with this hash. `Err` is the free slot for it, if there is none.
    #[inline(always)]
    fn find(&self, hash: u64, is_it: impl Fn(&[u64]) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = place(hash) & mask;
        loop {
            match self.slots.get(at) {
                Some(&slot) if slot != 0 => {
                    let shape = shape_in(slot);
                    if slot & TAG == hash & TAG && is_it(self.shapes.get(shape)) {
                        return Ok(shape);
                    }
                }
                _ => return Err(at),
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, words: &[u64], hash: u64, at: usize) -> Option<u32> {
        let folded = self.folded(words);
        let shape = self.insert(&folded, hash, at);
        self.folded = folded;
        shape
    }

    /// Returns the shape with these words, as [`intern`](Self::intern) does; with words whose loops are known. A table has either
    /// all its shapes from here, or none.
    pub(in crate::dag) fn intern_folded(&mut self, words: &[u64]) -> Option<u32> {
        let hash = H::hash(words);
        match self.find(hash, |shape| shape == words) {
            Ok(shape) => Some(shape),
            Err(at) => self.insert(words, hash, at),
        }
    }

    /// Adds the words of a new shape, for which this slot is free.
    fn insert(&mut self, words: &[u64], hash: u64, at: usize) -> Option<u32> {
        if self.shapes.size() + words.len() >= self.max_size {
            return None;
        }
        let shape = self.shapes.push(words)?;
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = hash & TAG | (u64::from(shape) + 1);
        }
        if 2 * self.shapes.len() > self.slots.len() {
            self.rebuild(2 * self.slots.len());
        }
        Some(shape)
    }

    /// Finds the loops of these words, and returns their shape as [`intern_folded`](Self::intern_folded) does.
    pub(in crate::dag) fn intern_with_loops(&mut self, words: &[u64]) -> Option<u32> {
        let folded = self.folded(words);
        let shape = self.intern_folded(&folded);
        self.folded = folded;
        shape
    }

    /// The words of a shape with its loops, in memory that is used again.
    fn folded(&mut self, words: &[u64]) -> Vec<u64> {
        let mut folded = std::mem::take(&mut self.folded);
        folded.clear();
        if let Some((header, runs)) = words.split_first() {
            folded.push(*header);
            if !loops::fold(runs, &mut folded, |shape| self.shapes.is_call(shape)) {
                folded.extend_from_slice(runs);
            }
        }
        folded
    }

    fn rebuild(&mut self, len: usize) {
        let old = std::mem::replace(&mut self.slots, vec![0; len]);
        let mask = len - 1;
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            let mut at = place(slot) & mask;
            while self.slots.get(at).is_some_and(|slot| *slot != 0) {
                at = (at + 1) & mask;
            }
            if let Some(free) = self.slots.get_mut(at) {
                *free = slot;
            }
        }
    }
}

/// Returns whether a shape has these words, without loops. Most have a few, for which a call of `memcmp` takes longer.
#[inline(always)]
fn same(shape: &[u64], words: &[u64]) -> bool {
    if shape.len() == words.len() {
        shape.iter().zip(words).all(|(one, other)| one == other)
    } else {
        // With loops it is shorter.
        shape.len() < words.len() && loops::is_expanded(shape, words)
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
fn shape_in(slot: u64) -> u32 {
    (slot as u32).wrapping_sub(1)
}

/// Where a hash, or what a slot has of it, is to be searched.
#[inline(always)]
fn place(hash: u64) -> usize {
    (hash >> 32) as usize
}
