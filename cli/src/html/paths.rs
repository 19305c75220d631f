//! Calls added up by path, in bounded memory whatever their number: a flame graph.
//!
//! A path is its caller's path and one more method. When there are too many, those with the least total
//! are given up, and what they counted stays with the path they went on from, as *more*. One that comes
//! again later counts from zero; so all that is counted is right, and a total may be too low by what
//! stands in *more*.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::chart::{ChartBox, Kind, NO_METHOD, between, wider, width_at};

/// So many paths are known at once: about 20 MB.
const PATHS: usize = 1 << 18;
/// A deeper frame is part of the *more* on top of these.
const FRAMES: usize = 10_000;
/// The path of no methods: where threads begin.
const ROOT: u32 = 0;

/// Where a path goes on from, and what is likely to come next. Every call looks at some of these:
/// they are small, and apart from what is counted.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    method: u32,
    /// The child that was entered last, and the sibling that followed this path the last time; or the
    /// root. Programs repeat themselves, so that few calls have to be looked up.
    last: u32,
    after: u32,
}

impl Node {
    fn new(parent: u32, method: u32) -> Self {
        Self { parent, method, last: ROOT, after: ROOT }
    }
}

/// What is counted at a path. Calls count when they are left.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    /// How often it was entered.
    calls: u64,
    /// What its calls took, with all they called.
    total: u64,
    /// Calls by paths that go on from it and are not known, and what the outermost of them took.
    more_calls: u64,
    more_total: u64,
}

/// Adds up the calls of any number of threads, one after the other.
#[derive(Debug)]
pub(super) struct Paths {
    /// Each behind its parent.
    nodes: Vec<Node>,
    counts: Vec<Counts>,
    known: HashMap<(u32, u32), u32>,
    /// The paths of the open frames.
    open: Vec<u32>,
    /// Open frames on top of these.
    beyond: u64,
    limit: usize,
    /// What total is large enough for a path of one method to be kept.
    min: f64,
}

impl Default for Paths {
    fn default() -> Self {
        Self::with_limit(PATHS)
    }
}

impl Paths {
    fn with_limit(limit: usize) -> Self {
        Self {
            nodes: vec![Node::new(ROOT, NO_METHOD)],
            counts: vec![Counts::default()],
            known: HashMap::new(),
            open: Vec::new(),
            beyond: 0,
            limit,
            min: 0.0,
        }
    }

    /// A method is entered.
    pub(super) fn enter(&mut self, method: u32) {
        let parent = self.open.last().copied().unwrap_or(ROOT);
        if self.open.len() >= FRAMES.min(self.limit / 2) {
            self.beyond += 1;
            if let Some(counts) = self.counts_mut(parent) {
                counts.more_calls += 1;
            }
            return;
        }
        let path = self.child(parent, method);
        self.open.push(path);
        if self.nodes.len() > self.limit {
            self.shrink(self.limit / 2);
        }
    }

    /// The topmost frame is left; it took so much, with all it called.
    pub(super) fn leave(&mut self, total: u64) {
        if self.beyond > 0 {
            self.beyond -= 1;
            let top = self.open.last().copied();
            if self.beyond == 0
                && let Some(counts) = top.and_then(|path| self.counts_mut(path))
            {
                counts.more_total += total;
            }
        } else if let Some(path) = self.open.pop()
            && let Some(counts) = self.counts_mut(path)
        {
            counts.calls += 1;
            counts.total += total;
        }
    }

    /// Adds the calls of other threads. No frame is open here or there.
    pub(super) fn merge(&mut self, other: &Self) {
        // Where each path of the other stands here; parents stand before their children.
        let mut places = Vec::with_capacity(other.nodes.len());
        for (node, more) in other.nodes.iter().zip(&other.counts) {
            let parent = places.get(at(node.parent)).copied();
            let here = parent.map_or(ROOT, |parent| self.child(parent, node.method));
            if let Some(counts) = self.counts_mut(here) {
                counts.calls += more.calls;
                counts.total += more.total;
                counts.more_calls += more.more_calls;
                counts.more_total += more.more_total;
            }
            places.push(here);
        }
        if self.nodes.len() > self.limit {
            self.shrink(self.limit / 2);
        }
    }

    /// How often each method called each other one; nobody is [`NO_METHOD`]. Calls by paths that are
    /// not known are missing.
    pub(super) fn edges(&self) -> HashMap<(u32, u32), u64> {
        let mut edges = HashMap::new();
        for (node, counts) in self.nodes.iter().zip(&self.counts).skip(1) {
            let caller = self.nodes.get(at(node.parent)).map_or(NO_METHOD, |parent| parent.method);
            *edges.entry((caller, node.method)).or_default() += counts.calls;
        }
        edges
    }

    /// Calls by paths that are not known.
    pub(super) fn more_calls(&self) -> u64 {
        self.counts.iter().map(|counts| counts.more_calls).sum()
    }

    /// The flame graph of at most so many boxes: each path behind the one it goes on from, of siblings
    /// the largest first, *more* last.
    pub(super) fn finish(mut self, budget: usize) -> Vec<ChartBox> {
        let mut target = budget;
        loop {
            self.shrink(target);
            let more = self.counts.iter().filter(|counts| counts.more_calls > 0).count();
            if self.nodes.len() - 1 + more <= budget {
                break;
            }
            target = target * 4 / 5;
        }
        // The paths of the same parent side by side.
        let mut order: Vec<u32> = (1..).take(self.nodes.len() - 1).collect();
        order.sort_by_key(|&path| (self.parent(path), Reverse(self.counts(path).total)));
        let mut boxes = Vec::new();
        let mut to_do = Vec::new();
        self.push_inside(ROOT, 0, 0, &order, &mut to_do);
        while let Some((path, cell)) = to_do.pop() {
            boxes.push(cell);
            if let Some(path) = path {
                self.push_inside(path, cell.at, cell.depth + 1, &order, &mut to_do);
            }
        }
        boxes
    }

    /// Pushes what is inside a path that begins here, the first box last.
    fn push_inside(
        &self,
        path: u32,
        mut at: u64,
        depth: usize,
        order: &[u32],
        to_do: &mut Vec<(Option<u32>, ChartBox)>,
    ) {
        let first = order.partition_point(|child| self.parent(*child) < path);
        let start = to_do.len();
        for &child in order.get(first..).unwrap_or_default() {
            let Some(node) = self.node(child).filter(|node| node.parent == path) else {
                break;
            };
            let Counts { calls, total, .. } = self.counts(child);
            let method = node.method;
            let end = at + total;
            to_do.push((Some(child), ChartBox { depth, kind: Kind::Call, method, at, end, calls }));
            at = end;
        }
        let Counts { more_calls: calls, more_total, .. } = self.counts(path);
        if calls > 0 {
            let (kind, method, end) = (Kind::More, NO_METHOD, at + more_total);
            to_do.push((None, ChartBox { depth, kind, method, at, end, calls }));
        }
        if let Some(pushed) = to_do.get_mut(start..) {
            pushed.reverse();
        }
    }

    /// The path of one more method.
    fn child(&mut self, parent: u32, method: u32) -> u32 {
        let last = self.node(parent).map_or(ROOT, |node| node.last);
        let guess = self.node(last).map_or(ROOT, |node| node.after);
        // The root's method is nobody's, so it is never mistaken for a child.
        let is_method = |path| self.node(path).is_some_and(|node| node.method == method);
        let child = if is_method(guess) {
            guess
        } else if is_method(last) {
            last
        } else {
            let new = u32::try_from(self.nodes.len()).unwrap_or(ROOT);
            let child = *self.known.entry((parent, method)).or_insert(new);
            if child == new {
                self.nodes.push(Node::new(parent, method));
                self.counts.push(Counts::default());
            }
            if last != ROOT
                && let Some(node) = self.node_mut(last)
            {
                node.after = child;
            }
            child
        };
        if let Some(node) = self.node_mut(parent) {
            node.last = child;
        }
        child
    }

    /// Gives up the paths with the least total, until there are at most so many. Those that are open
    /// stay.
    fn shrink(&mut self, target: usize) {
        if self.nodes.len() - 1 <= target {
            return;
        }
        let mut is_open = vec![false; self.nodes.len()];
        for path in &self.open {
            if let Some(is_open) = is_open.get_mut(at(*path)) {
                *is_open = true;
            }
        }
        let mut depths = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            depths.push(depths.get(at(node.parent)).map_or(0, |depth| depth + 1));
        }
        let stays = loop {
            self.min = wider(self.min);
            let is_large = |(counts, depth): (&Counts, &usize)| {
                between(0, counts.total) >= width_at(depth.saturating_sub(1), self.min)
            };
            let large = self.counts.iter().zip(&depths).map(is_large);
            let mut stays: Vec<_> =
                is_open.iter().zip(large).map(|(is_open, is_large)| *is_open || is_large).collect();
            if let Some(root) = stays.first_mut() {
                *root = true;
            }
            if stays.iter().filter(|stays| **stays).count() - 1 <= target {
                break stays;
            }
        };
        self.keep(&stays);
    }

    /// Gives up all other paths.
    fn keep(&mut self, stays: &[bool]) {
        // What is inside a path stands behind it.
        for path in (1..self.nodes.len()).rev().filter(|path| !stays.get(*path).is_some_and(|s| *s))
        {
            let (Some(node), Some(&counts)) = (self.nodes.get(path), self.counts.get(path)) else {
                continue;
            };
            if let Some(parent) = self.counts_mut(node.parent) {
                parent.more_calls += counts.calls + counts.more_calls;
                parent.more_total += counts.total;
            }
        }
        let before = std::mem::take(&mut self.nodes).into_iter();
        let before = before.zip(std::mem::take(&mut self.counts));
        self.known.clear();
        // Where each path stands now.
        let mut places = Vec::with_capacity(before.len());
        for ((node, counts), stays) in before.zip(stays) {
            if !stays {
                places.push(ROOT);
                continue;
            }
            let place = u32::try_from(self.nodes.len()).unwrap_or(ROOT);
            let parent = places.get(at(node.parent)).copied().unwrap_or(ROOT);
            places.push(place);
            self.nodes.push(Node::new(parent, node.method));
            self.counts.push(counts);
            if place != ROOT {
                self.known.insert((parent, node.method), place);
            }
        }
        for path in &mut self.open {
            *path = places.get(at(*path)).copied().unwrap_or(ROOT);
        }
    }

    fn node(&self, path: u32) -> Option<&Node> {
        self.nodes.get(at(path))
    }

    fn parent(&self, path: u32) -> u32 {
        self.node(path).map_or(ROOT, |node| node.parent)
    }

    fn counts(&self, path: u32) -> Counts {
        self.counts.get(at(path)).copied().unwrap_or_default()
    }

    fn counts_mut(&mut self, path: u32) -> Option<&mut Counts> {
        self.counts.get_mut(at(path))
    }

    fn node_mut(&mut self, path: u32) -> Option<&mut Node> {
        self.nodes.get_mut(at(path))
    }
}

/// A path as an index.
fn at(path: u32) -> usize {
    usize::try_from(path).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a program as [`Timeline`](super::super::timeline)'s tests do: `(` enters, `)` leaves,
    /// letters are calls that make none.
    fn play(paths: &mut Paths, program: &str) {
        let mut open = Vec::new();
        let mut now: u64 = 0;
        for c in program.bytes() {
            if c != b')' {
                paths.enter(u32::from(c));
                open.push(now);
                now += 1;
            }
            if c != b'('
                && let Some(at) = open.pop()
            {
                paths.leave(now - at);
            }
        }
        for at in open.into_iter().rev() {
            paths.leave(now - at);
        }
    }

    fn lines(boxes: &[ChartBox]) -> Vec<String> {
        let line = |cell: &ChartBox| {
            let name = char::from_u32(cell.method).unwrap_or('…');
            format!("{}{name} {}..{} {}", cell.depth, cell.at, cell.end, cell.calls)
        };
        boxes.iter().map(line).collect()
    }

    #[test]
    fn the_same_path_is_one_box_and_the_largest_comes_first() {
        let mut paths = Paths::default();
        play(&mut paths, "(ab(c))(ab)a");
        assert_eq!(paths.edges()[&(u32::from(b'('), u32::from(b'b'))], 2);
        assert_eq!(
            lines(&paths.finish(100)),
            ["0( 0..8 2", "1a 0..2 2", "1b 2..4 2", "1( 4..6 1", "2c 4..5 1", "0a 8..9 1"]
        );
    }

    #[test]
    fn threads_counted_apart_and_joined_are_the_same() {
        let programs = ["(ab(c))(ab)a", "(b(cc)d)x", "((((("];
        let mut one = Paths::default();
        let mut joined = Paths::default();
        for program in programs {
            play(&mut one, program);
            let mut apart = Paths::default();
            play(&mut apart, program);
            joined.merge(&apart);
        }
        assert_eq!(joined.edges(), one.edges());
        assert_eq!(lines(&joined.finish(100)), lines(&one.finish(100)));
    }

    #[test]
    fn whatever_is_given_up_all_calls_are_in_some_box() {
        let mut state: u64 = 11;
        let mut program = String::new();
        for _ in 0..40_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            program.push(char::from(b"((abc))d"[usize::try_from(state >> 61).unwrap()]));
        }
        let calls = program.bytes().filter(|c| *c != b')').count() as u64;
        for (limit, budget) in [(50, 30), (1000, 30), (1 << 19, 500), (1 << 19, 1 << 19)] {
            let mut apart = Paths::with_limit(limit);
            play(&mut apart, &program);
            let mut paths = Paths::with_limit(limit);
            paths.merge(&apart);
            let boxes = paths.finish(budget);
            assert!(boxes.len() <= budget);
            let outermost = boxes.iter().filter(|cell| cell.depth == 0);
            assert_eq!(outermost.map(|cell| cell.end - cell.at).sum::<u64>(), calls);
            for (place, cell) in boxes.iter().enumerate().filter(|(_, c)| c.kind == Kind::Call) {
                let inside = boxes[place + 1..].iter().take_while(|inner| inner.depth > cell.depth);
                let inside = inside.filter(|inner| inner.depth == cell.depth + 1);
                let inside: u64 = inside.map(|inner| inner.end - inner.at).sum();
                assert_eq!(cell.end - cell.at, cell.calls + inside);
            }
        }
    }
}
