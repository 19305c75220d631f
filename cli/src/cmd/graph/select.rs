//! Which paths of a tree are shown, and in what order.

use std::cmp::Reverse;

use flow_codec::analysis::{PathId, PathTree};
use flow_codec::read::Methods;

use crate::args::SortKey;

/// What is left out of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Paths of at most so many methods.
    pub(super) depth: usize,
    /// Paths with at least so many calls in them, or nanoseconds.
    pub(super) min_total: u64,
    /// So many paths, those with most calls.
    pub(super) max: usize,
}

/// What is shown, each path behind the one it goes on from.
#[derive(Debug)]
pub(super) struct Selected {
    /// Each path and its depth.
    pub(super) paths: Vec<(PathId, usize)>,
    /// Whether there are deeper ones.
    pub(super) is_cut_at_depth: bool,
    /// Whether there are some with fewer calls.
    pub(super) is_cut_at_min: bool,
    /// Whether there are more.
    pub(super) is_cut_at_max: bool,
}

/// Picks the paths that the limits allow. With a path go all that go on from it: it has more calls in it.
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
    // What is still to be shown, the next last.
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
    match sort {
        SortKey::Total => children.sort_by_key(|path| Reverse(row(path).map(|row| row.total))),
        SortKey::Calls => children.sort_by_key(|path| Reverse(row(path).map(|row| row.calls))),
        SortKey::Own => children.sort_by_key(|path| Reverse(row(path).map(|row| row.self_weight))),
        SortKey::Name => {
            children.sort_by_cached_key(|path| row(path).map(|row| methods.display(row.method)));
        }
    }
}
