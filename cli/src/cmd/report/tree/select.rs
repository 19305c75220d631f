//! Selects the paths of a tree to show, and orders them.

use std::cmp::Reverse;

use flow_codec::MethodId;
use flow_query::analysis::{PathId, PathLimits, PathRow, PathTree};

use crate::args::SortKey;
use crate::output::plural;

/// The rows of a tree, of which some are shown.
pub(crate) trait TreeRows {
    /// Appends the paths that are one longer, or those of one method.
    fn children(&self, path: Option<PathId>, to: &mut Vec<PathId>);
    /// The total of a path. Those of longer ones are not larger.
    fn total(&self, path: PathId) -> u64;
    /// Puts paths that are one longer than another one in their order.
    fn sort(&self, paths: &mut [PathId]);
    /// If there are too many paths, those with the largest number are shown.
    fn rank(&self, path: PathId) -> u64 {
        self.total(path)
    }
}

/// The paths of a tree, by one of its columns.
pub(super) struct Sorted<'a> {
    pub(super) tree: &'a PathTree,
    pub(super) sort: SortKey,
    pub(super) name: &'a dyn Fn(MethodId) -> String,
}

impl TreeRows for Sorted<'_> {
    fn children(&self, path: Option<PathId>, to: &mut Vec<PathId>) {
        to.extend(self.tree.children(path.unwrap_or(self.tree.root())));
    }

    fn total(&self, path: PathId) -> u64 {
        self.tree.row(path).map_or(0, |row| row.total)
    }

    fn sort(&self, paths: &mut [PathId]) {
        let row = |path: &PathId| self.tree.row(*path);
        match self.sort {
            SortKey::Total => paths.sort_by_key(|path| Reverse(self.total(*path))),
            SortKey::Calls => {
                // Samples are no calls.
                let count = |row: PathRow| match row.calls {
                    0 => row.precision.total_samples,
                    calls => calls,
                };
                paths.sort_by_key(|path| Reverse(row(path).map(count)));
            }
            SortKey::SelfWeight => {
                paths.sort_by_key(|path| Reverse(row(path).map(|row| row.self_weight)));
            }
            SortKey::Name => {
                paths.sort_by_cached_key(|path| row(path).map(|row| (self.name)(row.method)));
            }
        }
    }
}

/// The paths to show, each after its parent.
#[derive(Debug)]
pub(crate) struct Selected {
    /// Each path and its depth.
    pub(crate) paths: Vec<(PathId, usize)>,
    /// Whether paths that are longer than one of these are left out because they are too long.
    is_cut_at_depth: bool,
    /// Whether paths are left out because their totals are too small.
    is_cut_at_min: bool,
    /// How many paths are left out because there are too many.
    more: usize,
}

impl Selected {
    /// Selects the paths that the limits allow. A path that is left out takes all longer ones with it.
    pub(crate) fn new(tree: &impl TreeRows, limits: PathLimits) -> Self {
        // The paths still to visit, the next one last.
        let mut to_do: Vec<(PathId, usize)> = Vec::new();
        let mut children: Vec<PathId> = Vec::new();
        let mut paths = Vec::new();
        let mut next = Some((None, 0));
        while let Some((path, depth)) = next {
            paths.extend(path.map(|path| (path, depth - 1)));
            children.clear();
            if depth < limits.depth {
                tree.children(path, &mut children);
                children.retain(|child| tree.total(*child) >= limits.min_total);
            }
            tree.sort(&mut children);
            to_do.extend(children.iter().rev().map(|child| (*child, depth + 1)));
            next = to_do.pop().map(|(path, depth)| (Some(path), depth));
        }
        let more = paths.len().saturating_sub(limits.max);
        if more > 0 {
            let key = |path: PathId| (Reverse(tree.rank(path)), path);
            let mut keys: Vec<_> = paths.iter().map(|(path, _)| key(*path)).collect();
            let (_, &mut first_left, _) = keys.select_nth_unstable(limits.max);
            paths.retain(|(path, _)| key(*path) < first_left);
        }
        let (mut is_cut_at_depth, mut is_cut_at_min) = (false, false);
        let shown = paths.iter().map(|(path, depth)| (Some(*path), depth + 1));
        for (path, depth) in std::iter::once((None, 0)).chain(shown) {
            children.clear();
            tree.children(path, &mut children);
            match depth < limits.depth {
                false => is_cut_at_depth |= !children.is_empty(),
                true => {
                    is_cut_at_min |=
                        children.iter().any(|child| tree.total(*child) < limits.min_total);
                }
            }
        }
        Self { paths, is_cut_at_depth, is_cut_at_min, more }
    }

    /// Names the limits by which paths are left out: `(--depth 4, --min 1; 0 for all)`. `None` if there are none.
    pub(crate) fn why(&self, min_percent: f64, limits: PathLimits) -> Option<String> {
        let why: Vec<_> = [
            self.is_cut_at_depth.then(|| format!("--depth {}", limits.depth)),
            self.is_cut_at_min.then(|| format!("--min {min_percent}")),
            (self.more > 0).then(|| format!("--max {}", limits.max)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let hint = if self.is_cut_at_min || self.more > 0 { "; 0 for all" } else { "" };
        (!why.is_empty()).then(|| format!("({}{hint})", why.join(", ")))
    }

    /// Describes the rows that are left out, if there are any: how many, and by which limits.
    pub(crate) fn remark(
        &self,
        tree: &impl TreeRows,
        min_percent: f64,
        limits: PathLimits,
    ) -> Option<String> {
        let why = self.why(min_percent, limits)?;
        let more = match self.is_cut_at_depth || self.is_cut_at_min {
            true => all_rows(tree).saturating_sub(self.paths.len()),
            false => self.more,
        };
        Some(format!("… {} left out {why}", plural(more as u64, "more row")))
    }
}

/// How many rows a tree has, shown or not.
pub(super) fn all_rows(tree: &impl TreeRows) -> usize {
    let (mut rows, mut to_do) = (0, Vec::new());
    tree.children(None, &mut to_do);
    while let Some(path) = to_do.pop() {
        rows += 1;
        tree.children(Some(path), &mut to_do);
    }
    rows
}
