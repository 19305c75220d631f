//! The largest paths of the calling-context tree, from shapes. The others are not made.
//!
//! The total of a path is known before the paths that are longer: it follows from the shapes of its calls. No longer path
//! has a larger one. So the path with the largest total is always among those that are one method longer than others
//! before it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use super::contexts::{Calls, called_by, first_calls};
use super::path_tree::PathTree;
use super::paths::{PathNode, ROOT, at};
use crate::analysis::nodes::{NO_METHOD, Nodes};
use crate::analysis::numbering::Numbering;
use crate::dag::Dag;
use flow_codec::read::Selection;

/// Which paths of a tree are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathLimits {
    /// Those of at most this many methods.
    pub depth: usize,
    /// Those with at least this total.
    pub min_total: u64,
    /// At most this many: those with the largest totals, of equal ones those that were entered first.
    pub max: usize,
}

/// The largest paths of some threads, weighed by calls.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LargestPaths {
    /// The paths within the limits, and those that are one method longer. Their sums include the paths that are not here.
    pub tree: PathTree,
    /// The number of threads with calls.
    pub threads: u64,
}

/// A path.
struct Made {
    /// Its place among the paths that are made; `None` if it has one method.
    parent: Option<usize>,
    method: u32,
    depth: usize,
    count: u64,
    total: u64,
    /// The thread in which it was entered first, and the number of calls there before.
    first: (usize, u64),
    /// Its calls in each thread, until the longer ones are made.
    calls: Vec<(usize, Vec<Calls>)>,
}

impl LargestPaths {
    /// Adds up the selected calls of threads, if they are calls of the roots or inside one. `limits` receives the
    /// number of these. `None` if that takes longer than to read events.
    #[must_use]
    pub fn of(
        dags: &[Dag],
        selection: &Selection,
        roots: &Selection,
        limits: impl FnOnce(u64) -> PathLimits,
    ) -> Option<Self> {
        let threads: Vec<_> = dags.iter().map(|dag| Nodes::new(dag, selection)).collect();
        let outermost = threads.iter().map(|nodes| {
            let is_root =
                |number| nodes.numbering.method(number).is_some_and(|id| roots.contains(id));
            first_calls(nodes, if roots.is_all() { None } else { Some(&is_root) })
        });
        let outermost: Vec<_> =
            outermost.enumerate().filter(|(_, calls)| !calls.is_empty()).collect();
        let count = outermost.len() as u64;
        let mut search = Search::new(&threads);
        let paths = search.add(None, outermost)?;
        let weight = search.made.iter().fold(0, |sum: u64, path| sum.saturating_add(path.total));
        let limits = limits(weight);
        let mut largest = BinaryHeap::new();
        search.offer(paths, limits, &mut largest);
        for _ in 0..limits.max {
            let Some((.., path)) = largest.pop() else { break };
            let longer = search.longer(path)?;
            search.offer(longer, limits, &mut largest);
        }
        Some(Self { tree: search.tree(weight), threads: count })
    }
}

/// Paths to which the next one belongs: the total, where it was entered first, and its place.
type Largest = BinaryHeap<(u64, Reverse<(usize, u64)>, usize)>;

struct Search<'a> {
    threads: &'a [Nodes<'a>],
    numbering: Numbering,
    /// By thread, and by the number of a method there: its number here.
    numbers: Vec<Vec<u32>>,
    made: Vec<Made>,
    /// How many calls may still be followed.
    steps: u64,
}

impl<'a> Search<'a> {
    fn new(threads: &'a [Nodes<'a>]) -> Self {
        let mut numbering = Numbering::default();
        let mut numbers_of = |nodes: &Nodes<'_>| {
            let methods = nodes.numbering.methods().iter();
            let known = methods.map(|method| numbering.number(*method).get());
            std::iter::once(NO_METHOD).chain(known).collect()
        };
        let numbers = threads.iter().map(&mut numbers_of).collect();
        let steps = threads.iter().fold(0, |sum: u64, nodes| sum.saturating_add(nodes.max_steps()));
        Self { threads, numbering, numbers, made: Vec::new(), steps }
    }

    /// Makes the paths of some calls, which are together if they are of one method. Returns where they are.
    fn add(
        &mut self,
        parent: Option<usize>,
        calls: Vec<(usize, Vec<Calls>)>,
    ) -> Option<Range<usize>> {
        let depth = parent.map_or(1, |parent| self.made[parent].depth + 1);
        let start = self.made.len();
        let mut known = HashMap::new();
        for (thread, calls) in calls {
            self.steps = self.steps.checked_sub(calls.len() as u64)?;
            let nodes = &self.threads[thread];
            for calls in calls.chunk_by(|one, other| one.method() == other.method()) {
                let first = calls.iter().map(|calls| (thread, calls.first)).min()?;
                let method = self.numbers[thread][at(calls.first()?.method())];
                let place = *known.entry(method).or_insert(self.made.len());
                if place == self.made.len() {
                    let (count, total, calls) = (0, 0, Vec::new());
                    self.made.push(Made { parent, method, depth, count, total, first, calls });
                }
                let path = &mut self.made[place];
                path.first = path.first.min(first);
                for calls in calls {
                    let total = nodes.calls(calls.node()).saturating_mul(calls.count);
                    path.count = path.count.saturating_add(calls.count);
                    path.total = path.total.saturating_add(total);
                }
                path.calls.push((thread, calls.to_vec()));
            }
        }
        Some(start..self.made.len())
    }

    /// Makes the paths that are one method longer.
    fn longer(&mut self, path: usize) -> Option<Range<usize>> {
        let calls = std::mem::take(&mut self.made[path].calls);
        let inner =
            calls.iter().map(|(thread, calls)| (*thread, called_by(&self.threads[*thread], calls)));
        self.add(Some(path), inner.collect())
    }

    fn offer(&mut self, paths: Range<usize>, limits: PathLimits, largest: &mut Largest) {
        for place in paths {
            let path = &mut self.made[place];
            if path.depth <= limits.depth && path.total >= limits.min_total {
                largest.push((path.total, Reverse(path.first), place));
            } else {
                path.calls = Vec::new();
            }
        }
    }

    /// The paths in the order in which they were entered first.
    fn tree(self, weight: u64) -> PathTree {
        let mut order: Vec<_> = (0..self.made.len()).collect();
        order.sort_unstable_by_key(|path| self.made[*path].first);
        let mut places = vec![ROOT; self.made.len()];
        for (place, path) in (1..).zip(&order) {
            places[*path] = place;
        }
        let (mut nodes, mut totals) = (vec![PathNode::default()], vec![weight]);
        for path in order {
            let Made { parent, method, count, total, .. } = self.made[path];
            let parent = parent.map_or(ROOT, |parent| places[parent]);
            nodes.push(PathNode { counts: count, parent, method, ..PathNode::default() });
            totals.push(total);
        }
        PathTree::of_some(self.numbering, nodes, totals)
    }
}
