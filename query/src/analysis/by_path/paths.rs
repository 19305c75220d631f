//! HOT: paths of methods from the outermost call to the innermost, each stored once.
//!
//! A path is its parent and one more method, and is identified by its index in an array, which is larger than
//! its parent's. The child for a method is guessed first: the child that followed the last one the time
//! before, then the last one itself. Programs repeat themselves, so few calls reach the hash table.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;

use hashbrown::HashTable;

/// The empty path, with which threads begin.
pub const ROOT: u32 = 0;
/// No path: there were too many.
pub(in crate::analysis) const BEYOND: u32 = u32::MAX;

/// A path, with what is counted for it. 16 bytes and the counts.
#[derive(Clone, Default, Debug)]
pub struct PathNode<C> {
    /// What is counted for the path.
    pub counts: C,
    /// The path without its last method.
    pub parent: u32,
    /// The number of its last method; 0 for the root.
    pub method: u32,
    /// The child that was entered last, or the root.
    pub(in crate::analysis) last: u32,
    /// The sibling that was entered after it the last time, or the root.
    pub(in crate::analysis) after: u32,
}

/// All paths so far. Memory: about 8 bytes each, and the nodes; a caller with a budget
/// [removes](Self::retain) some of them.
#[derive(Clone, Debug)]
pub struct Paths<C> {
    nodes: Vec<PathNode<C>>,
    /// All but the root, by parent and method.
    known: HashTable<u32>,
    /// Whether there are paths that are not in that table yet.
    has_unknown: bool,
    /// A random seed, so that no crafted trace can make all hashes equal.
    seed: u64,
    limit: u32,
}

impl<C: Default> Default for Paths<C> {
    fn default() -> Self {
        Self::with_limit(BEYOND)
    }
}

impl<C: Default> Paths<C> {
    /// Creates room for fewer paths than this, the root included.
    pub(in crate::analysis) fn with_limit(limit: u32) -> Self {
        let seed = RandomState::new().hash_one(0);
        let (nodes, known) = (vec![PathNode::default()], HashTable::new());
        Self { nodes, known, has_unknown: false, seed, limit }
    }

    /// There are fewer paths than this, the root included.
    pub(in crate::analysis) const fn limit(&self) -> u32 {
        self.limit
    }

    /// Returns the path with one more method, and remembers it as the one entered last. `u32::MAX` if there
    /// is no room, or if `parent` is `u32::MAX`.
    #[inline]
    pub fn child(&mut self, parent: u32, method: NonZeroU32) -> u32 {
        debug_assert!(parent == BEYOND || self.node(parent).is_some(), "a path of these");
        let Some(last) = self.node(parent).map(|node| node.last) else { return BEYOND };
        let guess = self.node(last).map_or(ROOT, |node| node.after);
        // The root has no number, so it is never mistaken for a child.
        let child = if self.is_method(guess, method) {
            guess
        } else if self.is_method(last, method) {
            last
        } else {
            self.find(parent, last, method)
        };
        if let Some(node) = self.nodes.get_mut(at(parent)) {
            node.last = child;
        }
        child
    }

    fn is_method(&self, path: u32, method: NonZeroU32) -> bool {
        self.node(path).is_some_and(|node| node.method == method.get())
    }

    /// The same when both guesses were wrong; `last` learns its successor.
    #[inline(never)]
    fn find(&mut self, parent: u32, last: u32, method: NonZeroU32) -> u32 {
        if self.has_unknown {
            self.learn();
        }
        let Self { nodes, known, seed, limit, .. } = self;
        let found = known.find(hash(*seed, parent, method.get()), |&path| {
            nodes
                .get(at(path))
                .is_some_and(|node| (node.parent, node.method) == (parent, method.get()))
        });
        let child = match found {
            Some(&path) => path,
            None => {
                let path = u32::try_from(nodes.len()).unwrap_or(BEYOND);
                if path >= *limit {
                    // Not remembered, because it would make the children of the root known too.
                    return BEYOND;
                }
                nodes.push(PathNode { parent, method: method.get(), ..PathNode::default() });
                insert(known, nodes, *seed, path);
                path
            }
        };
        if last != ROOT
            && let Some(node) = nodes.get_mut(at(last))
        {
            node.after = child;
        }
        child
    }

    /// Adds the paths of others, whose methods have the numbers that `number` returns. `add` receives the
    /// counts of each, and the counts to which they belong here, or `None` if there is no room.
    pub fn merge<D>(
        &mut self,
        others: &[PathNode<D>],
        mut number: impl FnMut(u32) -> Option<NonZeroU32>,
        mut add: impl FnMut(Option<&mut C>, &D),
    ) {
        // The index of each of them here. Parents come before their children; the root has none.
        let mut places = Vec::with_capacity(others.len());
        for node in others {
            let here = match (number(node.method), places.get(at(node.parent))) {
                (_, None) => ROOT,
                (Some(method), Some(&parent)) => self.child(parent, method),
                (None, Some(_)) => BEYOND,
            };
            add(self.counts_mut(here), &node.counts);
            places.push(here);
        }
    }

    /// The same if the others are all different, the root first, and have methods of different numbers: where there are no
    /// paths yet, no other path need be searched.
    pub(in crate::analysis) fn merge_distinct<D>(
        &mut self,
        others: &[PathNode<D>],
        mut number: impl FnMut(u32) -> Option<NonZeroU32>,
        mut add: impl FnMut(Option<&mut C>, &D),
    ) {
        let fits = u32::try_from(others.len()).is_ok_and(|len| len <= self.limit);
        if self.nodes.len() > 1 || !fits {
            return self.merge(others, number, add);
        }
        self.nodes.reserve_exact(others.len());
        for node in others.iter().skip(1) {
            let method = number(node.method).map_or(0, NonZeroU32::get);
            debug_assert!(method > 0 && at(node.parent) < self.nodes.len(), "parents come first");
            let mut counts = C::default();
            add(Some(&mut counts), &node.counts);
            let parent = node.parent;
            self.nodes.push(PathNode { counts, parent, method, ..PathNode::default() });
        }
        self.has_unknown = true;
    }

    /// Makes all paths known.
    #[cold]
    fn learn(&mut self) {
        let Self { nodes, known, seed, .. } = self;
        known.clear();
        known.reserve(nodes.len(), |&path| hash_of(nodes, *seed, path));
        (1..nodes.len()).for_each(|path| {
            insert(known, nodes, *seed, u32::try_from(path).unwrap_or(BEYOND));
        });
        self.has_unknown = false;
    }

    /// Keeps the root and the paths marked in `stays`. `join` adds the counts of every other path to its
    /// parent. Returns the new index of each path.
    pub fn retain(&mut self, stays: &[bool], mut join: impl FnMut(&mut C, &C)) -> Vec<u32> {
        let stays = |path: usize| path == 0 || stays.get(path).is_some_and(|stays| *stays);
        // Children come after their parents.
        for path in (1..self.nodes.len()).rev().filter(|path| !stays(*path)) {
            let (before, rest) = self.nodes.split_at_mut(path);
            let Some(node) = rest.first() else { continue };
            if let Some(parent) = before.get_mut(at(node.parent)) {
                join(&mut parent.counts, &node.counts);
            }
        }
        self.known.clear();
        self.has_unknown = false;
        let mut places: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for (path, node) in std::mem::take(&mut self.nodes).into_iter().enumerate() {
            if !stays(path) {
                places.push(ROOT);
                continue;
            }
            let place = u32::try_from(self.nodes.len()).unwrap_or(BEYOND);
            debug_assert!(path == 0 || at(node.parent) < path, "parents come first");
            let parent = places.get(at(node.parent)).copied().unwrap_or(ROOT);
            self.nodes.push(PathNode { parent, last: ROOT, after: ROOT, ..node });
            if place != ROOT {
                insert(&mut self.known, &self.nodes, self.seed, place);
            }
            places.push(place);
        }
        places
    }
}

impl<C> Paths<C> {
    /// A path.
    #[inline]
    #[must_use]
    pub fn node(&self, path: u32) -> Option<&PathNode<C>> {
        self.nodes.get(at(path))
    }

    /// The counts of a path.
    #[inline]
    pub fn counts_mut(&mut self, path: u32) -> Option<&mut C> {
        self.nodes.get_mut(at(path)).map(|node| &mut node.counts)
    }

    /// All paths, the root first, each after its parent.
    #[must_use]
    pub fn nodes(&self) -> &[PathNode<C>] {
        &self.nodes
    }

    /// The same, without the data that is only needed to find paths.
    pub(in crate::analysis) fn into_nodes(self) -> Vec<PathNode<C>> {
        self.nodes
    }
}

fn insert<C>(known: &mut HashTable<u32>, nodes: &[PathNode<C>], seed: u64, path: u32) {
    debug_assert!(at(path) < nodes.len(), "a path of these");
    known.insert_unique(hash_of(nodes, seed, path), path, |&path| hash_of(nodes, seed, path));
}

fn hash_of<C>(nodes: &[PathNode<C>], seed: u64, path: u32) -> u64 {
    nodes.get(at(path)).map_or(0, |node| hash(seed, node.parent, node.method))
}

/// A path as an index.
#[inline]
pub(in crate::analysis) fn at(path: u32) -> usize {
    usize::try_from(path).unwrap_or(usize::MAX)
}

/// Multiplies, and combines both halves of the product: the table uses the high bits and the low ones.
fn hash(seed: u64, parent: u32, method: u32) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let key = (u64::from(parent) << 32 | u64::from(method)) ^ seed;
    let wide = u128::from(key) * u128::from(ODD);
    let folded = wide ^ (wide >> 64);
    u64::try_from(folded & u128::from(u64::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    #[test]
    fn the_same_methods_are_the_same_path_whatever_came_between() {
        let mut paths = Paths::<u64>::default();
        let mut order = Vec::new();
        for method in [1, 2, 1, 1, 3, 2, 1, 3, 3] {
            order.push(paths.child(ROOT, number(method)));
        }
        assert_eq!(order, [1, 2, 1, 1, 3, 2, 1, 3, 3]);
        assert_eq!(paths.child(1, number(1)), 4);
        assert_eq!(paths.nodes().len(), 5);
    }

    #[test]
    fn distinct_paths_are_found_by_those_that_follow() {
        let mut others = Paths::<u64>::default();
        for (parent, method) in [(ROOT, 1), (1, 2), (1, 3), (ROOT, 3), (4, 1)] {
            let path = others.child(parent, number(method));
            *others.counts_mut(path).unwrap() += 10;
        }
        let rows = |paths: &Paths<u64>| {
            let row = |node: &PathNode<u64>| (node.parent, node.method, node.counts);
            paths.nodes().iter().map(row).collect::<Vec<_>>()
        };
        let add = |sum: Option<&mut u64>, more: &u64| *sum.unwrap() += more;
        // Numbered in another order.
        let of = |method| NonZeroU32::new(4 - method);
        for times in 1..3 {
            let (mut quick, mut plain) = (Paths::<u64>::default(), Paths::<u64>::default());
            for _ in 0..times {
                quick.merge_distinct(others.nodes(), |method| of(method.min(3)), add);
                plain.merge(others.nodes(), |method| of(method.min(3)), add);
            }
            assert_eq!(rows(&quick), rows(&plain));
            assert_eq!(quick.child(2, number(3)), plain.child(2, number(3)));
            assert_eq!(quick.child(1, number(1)), plain.child(1, number(1)));
            assert_eq!(quick.child(ROOT, number(1)), 4);
        }
        let mut full = Paths::<u64>::with_limit(3);
        let mut beyond = 0;
        full.merge_distinct(
            others.nodes(),
            |method| of(method.min(3)),
            |sum, more| match sum {
                Some(sum) => *sum += more,
                None => beyond += more,
            },
        );
        assert_eq!((full.nodes().len(), beyond), (3, 30));
    }

    #[test]
    fn when_there_is_no_room_those_that_are_known_are_still_found() {
        let mut paths = Paths::<u64>::with_limit(3);
        assert_eq!(paths.child(ROOT, number(1)), 1);
        assert_eq!(paths.child(1, number(1)), 2);
        assert_eq!(paths.child(1, number(2)), BEYOND);
        assert_eq!(paths.child(BEYOND, number(1)), BEYOND);
        assert_eq!(paths.child(ROOT, number(2)), BEYOND);
        assert_eq!(paths.child(1, number(1)), 2);
        assert_eq!(paths.child(ROOT, number(1)), 1);
    }
}
