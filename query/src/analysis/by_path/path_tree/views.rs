//! Other views of a tree of paths: by method, callers and callees of chosen methods, and only some paths.

use super::{PathId, PathSums, PathTree};
use crate::analysis::by_path::paths::{Paths, ROOT, at};
use flow_codec::MethodId;

/// Where the methods of a path are on it: by number of the method, the index of the outermost frame.
struct Outermost {
    first: Vec<Option<usize>>,
    path: Vec<u32>,
}

impl Outermost {
    /// Moves to a frame at this index, below the path so far. Returns where the same method is for the first time; the
    /// index itself if that is here.
    fn enter(&mut self, index: usize, method: u32) -> usize {
        for (left, number) in self.path.drain(index..).enumerate().rev() {
            if let Some(first) = self.first.get_mut(at(number))
                && *first == Some(index + left)
            {
                *first = None;
            }
        }
        self.path.push(method);
        self.first.get_mut(at(method)).map_or(index, |first| *first.get_or_insert(index))
    }
}

impl PathTree {
    /// Returns each method as a path of its own, wherever it was called. In the total of a method that calls itself, only the
    /// outermost call counts.
    #[must_use]
    pub fn flat(&self) -> Self {
        self.callers_to(&|_| true, 1)
    }

    /// Returns the callers of chosen methods: a path begins with one of these, and continues with its caller, with the caller
    /// of that one, and so on. PathSums are those of the chosen method, called in this way; for one that calls itself, the total
    /// is that of the outermost call.
    #[must_use]
    pub fn callers(&self, is_chosen: impl Fn(MethodId) -> bool) -> Self {
        self.callers_to(&is_chosen, usize::MAX)
    }

    fn callers_to(&self, is_chosen: &dyn Fn(MethodId) -> bool, depth: usize) -> Self {
        self.viewed(is_chosen, |view, path, sums, is_chosen| {
            let first = view.outermost.enter(path.len() - 1, path.last().copied().unwrap_or(ROOT));
            if !is_chosen {
                return;
            }
            let is_outermost = first + 1 == path.len();
            let sums =
                if is_outermost { sums } else { PathSums { total: Default::default(), ..sums } };
            let callers = path.get(..=first).unwrap_or_default();
            callers
                .iter()
                .rev()
                .take(depth)
                .fold(ROOT, |below, caller| view.add(below, *caller, sums));
        })
    }

    /// Returns what chosen methods call: a path begins with one of these. Where one of them calls itself, only its outermost
    /// call begins a path.
    #[must_use]
    pub fn callees(&self, is_chosen: impl Fn(MethodId) -> bool) -> Self {
        // For each frame of the path, the new paths that count it: one for each chosen frame that it is in.
        let mut places: Vec<Vec<u32>> = Vec::new();
        self.viewed(&is_chosen, |view, path, sums, is_chosen| {
            let (depth, method) = (path.len() - 1, path.last().copied().unwrap_or(ROOT));
            let begins = view.outermost.enter(depth, method) == depth && is_chosen;
            places.truncate(depth);
            let outer = places.last().cloned().unwrap_or_default();
            let here = outer.into_iter().chain(begins.then_some(ROOT));
            places.push(here.map(|above| view.add(above, method, sums)).collect());
        })
    }

    /// Visits all paths, each after its parent and before its siblings, and returns the paths that `visit` adds to the view.
    fn viewed(
        &self,
        is_chosen: &dyn Fn(MethodId) -> bool,
        mut visit: impl FnMut(&mut View, &[u32], PathSums, bool),
    ) -> Self {
        let chosen: Vec<bool> = self.methods().iter().map(|method| is_chosen(*method)).collect();
        let outermost = Outermost { first: vec![None; chosen.len() + 1], path: Vec::new() };
        let mut view = View { outermost, paths: Paths::default() };
        let mut path: Vec<u32> = Vec::new();
        let mut to_do: Vec<(PathId, usize)> = Vec::new();
        let mut next = Some((self.root(), 0));
        while let Some((here, depth)) = next {
            if let Some(method) = self.method_number(here) {
                path.truncate(depth - 1);
                path.push(method);
                let is_chosen = at(method).checked_sub(1).and_then(|place| chosen.get(place));
                visit(&mut view, &path, self.sums(here), is_chosen.copied().unwrap_or_default());
            }
            let start = to_do.len();
            to_do.extend(self.children(here).map(|child| (child, depth + 1)));
            to_do.get_mut(start..).unwrap_or_default().reverse();
            next = to_do.pop();
        }
        let nodes =
            view.paths.nodes().iter().skip(1).map(|node| (node.parent, node.method, node.counts));
        self.with_paths(nodes)
    }

    /// Keeps the paths that are chosen, and those on the way to them. PathSums do not change.
    #[must_use]
    pub fn only(&self, mut is_chosen: impl FnMut(PathId) -> bool) -> Self {
        let mut stays = vec![false; self.len() + 1];
        // Children come after their parents.
        for (path, _) in self.rows().collect::<Vec<_>>().into_iter().rev() {
            let here = at(path.get());
            let is_kept = stays.get(here).is_some_and(|stays| *stays) || is_chosen(path);
            let parent = self.parent(path).map_or(0, |parent| at(parent.get()));
            for place in [here, parent] {
                stays.get_mut(place).into_iter().for_each(|stays| *stays |= is_kept);
            }
        }
        let (mut places, mut len) = (vec![ROOT; stays.len()], ROOT);
        let kept = self.rows().filter(|(path, _)| stays.get(at(path.get())).is_some_and(|is| *is));
        let nodes = kept.map(|(path, _)| {
            len += 1;
            places.get_mut(at(path.get())).into_iter().for_each(|place| *place = len);
            let parent = self.parent(path).and_then(|parent| places.get(at(parent.get())).copied());
            (parent.unwrap_or(ROOT), self.method_number(path).unwrap_or_default(), self.sums(path))
        });
        self.with_paths(nodes)
    }
}

/// The paths of a view so far.
struct View {
    outermost: Outermost,
    paths: Paths<PathSums>,
}

impl View {
    /// Adds to the sums of a path with one more method. Returns it.
    fn add(&mut self, parent: u32, method: u32, more: PathSums) -> u32 {
        let Some(method) = std::num::NonZeroU32::new(method) else { return parent };
        let path = self.paths.child(parent, method);
        self.paths.counts_mut(path).into_iter().for_each(|sums| sums.add(more));
        path
    }
}
