//! Selects the paths of a tree to show, and orders them.

use std::cmp::Reverse;

use flow_codec::analysis::{PathId, PathTree};
use flow_codec::read::Methods;

use crate::args::SortKey;
use crate::output::Weight;

/// The limits of what is shown of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Paths have at most this many methods.
    pub(super) depth: usize,
    /// Paths have at least this total, in calls or nanoseconds.
    pub(super) min_total: u64,
    /// At most this many paths, those with the largest totals.
    pub(super) max: usize,
}

/// The paths to show, each after its parent.
#[derive(Debug)]
pub(super) struct Selected {
    /// Each path and its depth.
    pub(super) paths: Vec<(PathId, usize)>,
    /// Whether deeper paths are left out.
    pub(super) is_cut_at_depth: bool,
    /// Whether paths with smaller totals are left out.
    pub(super) is_cut_at_min: bool,
    /// Whether paths are left out because there are too many.
    pub(super) is_cut_at_max: bool,
}

/// Selects the paths that the limits allow. A path that is left out takes all longer ones with it, because
/// their totals are not larger.
pub(super) fn select(
    tree: &PathTree,
    methods: &Methods,
    sort: SortKey,
    limits: Limits,
) -> Selected {
    let mut selected = Selected {
        paths: Vec::new(),
        is_cut_at_depth: false,
        is_cut_at_min: false,
        is_cut_at_max: false,
    };
    let total = |path: PathId| tree.row(path).map_or(0, |row| row.total);
    // The paths still to visit, the next one last.
    let mut to_do: Vec<(PathId, usize)> = Vec::new();
    let mut children: Vec<PathId> = Vec::new();
    let mut next = Some((tree.root(), 0));
    while let Some((path, depth)) = next {
        if path != tree.root() {
            selected.paths.push((path, depth - 1));
        }
        children.clear();
        children.extend(tree.children(path));
        if depth >= limits.depth && !children.is_empty() {
            selected.is_cut_at_depth = true;
            children.clear();
        }
        let before = children.len();
        children.retain(|child| total(*child) >= limits.min_total);
        selected.is_cut_at_min |= children.len() < before;
        order(&mut children, tree, methods, sort);
        to_do.extend(children.iter().rev().map(|child| (*child, depth + 1)));
        next = to_do.pop();
    }
    if selected.paths.len() > limits.max {
        selected.is_cut_at_max = true;
        let key = |path: PathId| (Reverse(total(path)), path);
        let mut keys: Vec<_> = selected.paths.iter().map(|(path, _)| key(*path)).collect();
        let (_, &mut first_left, _) = keys.select_nth_unstable(limits.max);
        selected.paths.retain(|(path, _)| key(*path) < first_left);
    }
    selected
}

fn order(children: &mut [PathId], tree: &PathTree, methods: &Methods, sort: SortKey) {
    let row = |path: &PathId| tree.row(*path);
    let ranks = |path: &PathId| row(path).map(|row| Weight::from(row).ranks());
    match sort {
        SortKey::Total => children.sort_by_key(|path| Reverse(ranks(path).map(|ranks| ranks[0]))),
        SortKey::Calls => children.sort_by_key(|path| Reverse(row(path).map(|row| row.calls))),
        SortKey::SelfWeight => {
            children.sort_by_key(|path| Reverse(ranks(path).map(|ranks| ranks[1])))
        }
        SortKey::Name => {
            children.sort_by_cached_key(|path| row(path).map(|row| methods.display(row.method)));
        }
    }
}
