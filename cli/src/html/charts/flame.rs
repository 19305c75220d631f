//! A flame graph: calls added up by path, in bounded memory.
//!
//! When there are too many paths, those with the smallest totals are dropped, and their counts are added to *more* of
//! their parent. A path that occurs again later counts from zero. So all counts are right, and a total is too low
//! by at most what is in *more*.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::num::NonZeroU32;

use flow_query::analysis::{Paths, ROOT};

use super::chart::{ChartBox, Kind, NO_METHOD, wider, width, width_at};
use super::timeline::Contents;

/// The most paths kept at once: about 20 MB.
const PATHS: usize = 1 << 18;

/// The counts of a path. Calls count when they end.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::html) struct Counts {
    /// How often the path was entered.
    pub(in crate::html) calls: u64,
    /// The durations of its calls, callees included.
    pub(in crate::html) total: u64,
    /// The calls on longer paths that are not kept, and the durations of the outermost of these calls.
    pub(in crate::html) more_calls: u64,
    pub(in crate::html) more_total: u64,
    /// Whether its last method is of the application.
    pub(in crate::html) is_own: bool,
}

/// Adds up the calls of any number of threads, one after another.
#[derive(Debug)]
pub(in crate::html) struct Flame {
    paths: Paths<Counts>,
    limit: usize,
    /// The smallest total with which a path of one method is kept.
    min: f64,
}

impl Default for Flame {
    fn default() -> Self {
        Self::with_limit(PATHS)
    }
}

impl Flame {
    pub(in crate::html) fn with_limit(limit: usize) -> Self {
        Self { paths: Paths::default(), limit, min: 0.0 }
    }

    /// Returns the path with one more method.
    #[inline]
    pub(in crate::html) fn child(&mut self, parent: u32, method: u32) -> u32 {
        self.paths.child(parent, NonZeroU32::MIN.saturating_add(method))
    }

    /// Changes the counts of a path.
    #[inline]
    pub(in crate::html) fn count(&mut self, path: u32, count: impl FnOnce(&mut Counts)) {
        self.paths.counts_mut(path).map(count);
    }

    /// Drops paths if there are too many, but none of the open ones.
    #[inline]
    pub(in crate::html) fn fit<'p>(&mut self, open: impl Iterator<Item = &'p mut u32>) {
        if self.paths.nodes().len() > self.limit {
            self.shrink(self.limit / 2, open.collect());
        }
    }

    /// Adds the calls of other threads. Neither has open frames.
    pub(in crate::html) fn merge(&mut self, other: &Self) {
        self.paths.merge(other.paths.nodes(), NonZeroU32::new, |here, more| {
            if let Some(counts) = here {
                counts.calls += more.calls;
                counts.total += more.total;
                counts.more_calls += more.more_calls;
                counts.more_total += more.more_total;
                counts.is_own |= more.is_own;
            }
        });
        self.fit(std::iter::empty());
    }

    /// The number of calls for each pair of caller and callee. The caller of outermost calls is
    /// [`NO_METHOD`]. Calls on dropped paths are missing.
    pub(in crate::html) fn edges(&self) -> HashMap<(u32, u32), u64> {
        let mut edges = HashMap::new();
        for node in self.paths.nodes().iter().skip(1) {
            let edge = (self.method(node.parent), method(node.method));
            *edges.entry(edge).or_default() += node.counts.calls;
        }
        edges
    }

    /// The number of calls on dropped paths.
    pub(in crate::html) fn more_calls(&self) -> u64 {
        self.paths.nodes().iter().map(|node| node.counts.more_calls).sum()
    }

    /// The flame graph, in at most `budget` boxes: each path after its parent, siblings by size with the
    /// largest first, and *more* last.
    pub(in crate::html) fn finish(mut self, budget: usize) -> Vec<ChartBox> {
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
        // Paths with the same parent are consecutive.
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

    /// Pushes the boxes directly inside a path that begins at `at`, the first box last.
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
        // A path comes after its parent.
        let mut contents = vec![Contents::Library; nodes.len()];
        for (path, node) in nodes.iter().enumerate().rev() {
            if node.counts.is_own || contents.get(path) == Some(&Contents::Own) {
                for path in [path, index(node.parent)] {
                    if let Some(contents) = contents.get_mut(path) {
                        *contents = Contents::Own;
                    }
                }
            }
        }
        let stays = loop {
            self.min = wider(self.min);
            let sizes = nodes.iter().zip(depths.iter().zip(&contents));
            let sizes = sizes.map(|(node, (depth, contents)): (_, (&usize, &Contents))| {
                let least = width_at(depth.saturating_sub(1), self.min) * contents.factor();
                width(0, node.counts.total) >= least
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

/// The number of a method on the page, from its number in a path; the root has none.
fn method(number: u32) -> u32 {
    number.checked_sub(1).unwrap_or(NO_METHOD)
}

fn index(path: u32) -> usize {
    usize::try_from(path).unwrap_or(usize::MAX)
}
