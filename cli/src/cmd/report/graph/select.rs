//! Selects the paths of a tree to show, and orders them.

use std::cmp::Reverse;

use flow_codec::read::Methods;
use flow_query::analysis::{PathId, PathLimits, PathTree};

use crate::args::SortKey;

/// The paths to show, each after its parent.
#[derive(Debug)]
pub(super) struct Selected {
    /// Each path and its depth.
    pub(super) paths: Vec<(PathId, usize)>,
    /// Whether paths that are longer than one of these are left out because they are too long.
    pub(super) is_cut_at_depth: bool,
    /// The same because their totals are too small.
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
    limits: PathLimits,
) -> Selected {
    let total = |path: PathId| tree.row(path).map_or(0, |row| row.total);
    // The paths still to visit, the next one last.
    let mut to_do: Vec<(PathId, usize)> = Vec::new();
    let mut children: Vec<PathId> = Vec::new();
    let mut paths = Vec::new();
    let mut next = Some((tree.root(), 0));
    while let Some((path, depth)) = next {
        if path != tree.root() {
            paths.push((path, depth - 1));
        }
        children.clear();
        if depth < limits.depth {
            children.extend(tree.children(path));
            children.retain(|child| total(*child) >= limits.min_total);
        }
        order(&mut children, tree, methods, sort);
        to_do.extend(children.iter().rev().map(|child| (*child, depth + 1)));
        next = to_do.pop();
    }
    let is_cut_at_max = paths.len() > limits.max;
    if is_cut_at_max {
        let key = |path: PathId| (Reverse(total(path)), path);
        let mut keys: Vec<_> = paths.iter().map(|(path, _)| key(*path)).collect();
        let (_, &mut first_left, _) = keys.select_nth_unstable(limits.max);
        paths.retain(|(path, _)| key(*path) < first_left);
    }
    let shown = || paths.iter().map(|(path, depth)| (*path, depth + 1));
    let all = || std::iter::once((tree.root(), 0)).chain(shown());
    let is_cut_at_depth =
        all().any(|(path, depth)| depth >= limits.depth && tree.children(path).next().is_some());
    let is_cut_at_min = all()
        .filter(|(_, depth)| *depth < limits.depth)
        .any(|(path, _)| tree.children(path).any(|child| total(child) < limits.min_total));
    Selected { paths, is_cut_at_depth, is_cut_at_min, is_cut_at_max }
}

fn order(children: &mut [PathId], tree: &PathTree, methods: &Methods, sort: SortKey) {
    let row = |path: &PathId| tree.row(*path);
    match sort {
        SortKey::Total => children.sort_by_key(|path| Reverse(row(path).map(|row| row.total))),
        SortKey::Calls => children.sort_by_key(|path| Reverse(row(path).map(|row| row.calls))),
        SortKey::SelfWeight => {
            children.sort_by_key(|path| Reverse(row(path).map(|row| row.self_weight)))
        }
        SortKey::Name => {
            children.sort_by_cached_key(|path| row(path).map(|row| methods.display(row.method)));
        }
    }
}
