//! Calls added up by path, in bounded memory whatever their number: a flame graph.
//!
//! When there are too many paths, those with the least total are given up, and what they counted stays with the path
//! they went on from, as *more*. One that comes again later counts from zero; so all that is counted is right, and a
//! total may be too low by what is in *more*.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::num::NonZeroU32;

use flow_codec::analysis::{Paths, ROOT};

use super::chart::{ChartBox, Kind, NO_METHOD, between, wider, width_at};

/// So many paths are known at once: about 20 MB.
const PATHS: usize = 1 << 18;

/// What is counted at a path. Calls count when they are left.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    /// How often it was entered.
    pub(super) calls: u64,
    /// How long its calls were, with all they called.
    pub(super) total: u64,
    /// Calls by paths that go on from it and are not known, and how long the outermost of them were.
    pub(super) more_calls: u64,
    pub(super) more_total: u64,
}

/// Adds up the calls of any number of threads, one after the other.
#[derive(Debug)]
pub(super) struct Flame {
    paths: Paths<Counts>,
    limit: usize,
    /// What total is large enough for a path of one method to be kept.
    min: f64,
}

impl Default for Flame {
    fn default() -> Self {
        Self::with_limit(PATHS)
    }
}

impl Flame {
    pub(super) fn with_limit(limit: usize) -> Self {
        Self { paths: Paths::default(), limit, min: 0.0 }
    }

    /// The path of one more method.
    #[inline]
    pub(super) fn child(&mut self, parent: u32, method: u32) -> u32 {
        self.paths.child(parent, NonZeroU32::MIN.saturating_add(method))
    }

    /// Changes what is counted at a path.
    #[inline]
    pub(super) fn count(&mut self, path: u32, count: impl FnOnce(&mut Counts)) {
        self.paths.counts_mut(path).map(count);
    }

    /// Gives up paths if there are too many, but none of those that are open.
    #[inline]
    pub(super) fn fit<'p>(&mut self, open: impl Iterator<Item = &'p mut u32>) {
        if self.paths.nodes().len() > self.limit {
            self.shrink(self.limit / 2, open.collect());
        }
    }

    /// Adds the calls of other threads. No frame is open here or there.
    pub(super) fn merge(&mut self, other: &Self) {
        self.paths.merge(other.paths.nodes(), NonZeroU32::new, |here, more| {
            if let Some(counts) = here {
                counts.calls += more.calls;
                counts.total += more.total;
                counts.more_calls += more.more_calls;
                counts.more_total += more.more_total;
            }
        });
        self.fit(std::iter::empty());
    }

    /// How often each method called each other one; nobody is [`NO_METHOD`]. Calls by paths that are
    /// not known are missing.
    pub(super) fn edges(&self) -> HashMap<(u32, u32), u64> {
        let mut edges = HashMap::new();
        for node in self.paths.nodes().iter().skip(1) {
            let edge = (self.method(node.parent), method(node.method));
            *edges.entry(edge).or_default() += node.counts.calls;
        }
        edges
    }

    /// Calls by paths that are not known.
    pub(super) fn more_calls(&self) -> u64 {
        self.paths.nodes().iter().map(|node| node.counts.more_calls).sum()
    }

    /// The flame graph, in at most `budget` boxes: each path after its parent, siblings by size with the
    /// largest first, and *more* last.
    pub(super) fn finish(mut self, budget: usize) -> Vec<ChartBox> {
        let mut target = budget;
        loop {
            self.shrink(target, Vec::new());
            let nodes = self.paths.nodes();
            let more = nodes.iter().filter(|node| node.counts.more_calls > 0).count();
            if nodes.len() - 1 + more <= budget {
                break;
            }
            target = target * 4 / 5;
        }
        // The paths of the same parent side by side.
        let mut order: Vec<u32> = (1..).take(self.paths.nodes().len() - 1).collect();
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
        let children = order.get(first..).unwrap_or_default().iter().copied();
        for child in children.take_while(|child| self.parent(*child) == path) {
            let Counts { calls, total, .. } = self.counts(child);
            let (kind, method, end) = (Kind::Call, self.method(child), at + total);
            to_do.push((Some(child), ChartBox { depth, kind, method, at, end, calls }));
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

    /// Drops the paths with the smallest totals until at most `target` are left. Open paths stay.
    fn shrink(&mut self, target: usize, open: Vec<&mut u32>) {
        let nodes = self.paths.nodes();
        if nodes.len() - 1 <= target {
            return;
        }
        let mut is_open = vec![false; nodes.len()];
        for path in &open {
            if let Some(is_open) = is_open.get_mut(index(**path)) {
                *is_open = true;
            }
        }
        let target = target.max(is_open.iter().filter(|is_open| **is_open).count());
        let mut depths = Vec::with_capacity(nodes.len());
        for node in nodes {
            depths.push(depths.get(index(node.parent)).map_or(0, |depth| depth + 1));
        }
        let stays = loop {
            self.min = wider(self.min);
            let sizes = nodes.iter().zip(&depths).map(|(node, depth): (_, &usize)| {
                between(0, node.counts.total) >= width_at(depth.saturating_sub(1), self.min)
            });
            let stays: Vec<_> =
                sizes.zip(&is_open).map(|(is_large, is_open)| is_large || *is_open).collect();
            if stays.iter().skip(1).filter(|stays| **stays).count() <= target {
                break stays;
            }
        };
        let places = self.paths.retain(&stays, |parent, counts| {
            parent.more_calls += counts.calls + counts.more_calls;
            parent.more_total += counts.total;
        });
        for path in open {
            *path = places.get(index(*path)).copied().unwrap_or(ROOT);
        }
    }

    fn parent(&self, path: u32) -> u32 {
        self.paths.node(path).map_or(ROOT, |node| node.parent)
    }

    fn method(&self, path: u32) -> u32 {
        method(self.paths.node(path).map_or(0, |node| node.method))
    }

    fn counts(&self, path: u32) -> Counts {
        self.paths.node(path).map(|node| node.counts).unwrap_or_default()
    }
}

/// The number of a method here, of the one it has in a path; the root has none.
fn method(number: u32) -> u32 {
    number.checked_sub(1).unwrap_or(NO_METHOD)
}

fn index(path: u32) -> usize {
    usize::try_from(path).unwrap_or(usize::MAX)
}
