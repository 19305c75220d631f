//! Calls by path as stacks with a weight, the input of flame graphs.

use flow_codec::{MethodId, MethodMap};
use flow_query::analysis::PathTree;

use crate::output::Unit;

/// The paths of a tree within some limits. Paths outside the limits count for their innermost path within them.
pub(crate) struct Stacks<'a> {
    tree: &'a PathTree,
    /// Paths have at most this many methods.
    depth: usize,
    /// Paths have at least this total, in calls or nanoseconds.
    min_total: u64,
    /// What is counted, if weights are no time.
    counted: &'static str,
}

/// One path.
#[derive(Clone, Copy, Debug)]
pub(in crate::export) struct Stack {
    /// The depth of its last frame.
    pub(in crate::export) depth: usize,
    pub(in crate::export) method: MethodId,
    /// The self weight of this stack, in calls or nanoseconds, and the weight of the stacks that count for it.
    pub(in crate::export) calls: u64,
}

impl<'a> Stacks<'a> {
    /// The stacks of at most `depth` frames.
    pub(crate) fn new(tree: &'a PathTree, depth: usize) -> Self {
        Self { tree, depth, min_total: 1, counted: Unit::Calls.word() }
    }

    /// The same stacks, whose weights are numbers of samples or their times.
    pub(crate) fn of_samples(self) -> Self {
        Self { counted: "samples", ..self }
    }

    /// What is counted, if weights are no time.
    pub(in crate::export) fn counted(&self) -> &'static str {
        self.counted
    }

    /// The same stacks without those whose total is less.
    pub(in crate::export) fn at_least(&self, min_total: u64) -> Self {
        Self { min_total: min_total.max(1), ..*self }
    }

    /// The tree they are from.
    pub(in crate::export) fn tree(&self) -> &'a PathTree {
        self.tree
    }

    /// Passes all stacks to `each`, depth first: every stack after its parent. Memory: a number for each sibling of
    /// the frames of the current stack.
    pub(in crate::export) fn for_each(&self, mut each: impl FnMut(Stack)) {
        let mut to_do = vec![(self.tree.root(), 0)];
        while let Some((path, frames)) = to_do.pop() {
            let row = self.tree.row(path);
            let mut calls = row.map_or(0, |row| row.self_weight);
            let start = to_do.len();
            for child in self.tree.children(path) {
                let total = self.tree.row(child).map_or(0, |row| row.total);
                if frames < self.depth && total >= self.min_total {
                    to_do.push((child, frames + 1));
                } else {
                    calls += total;
                }
            }
            // The first child is popped first.
            if let Some(children) = to_do.get_mut(start..) {
                children.reverse();
            }
            if let Some(row) = row {
                each(Stack { depth: frames - 1, method: row.method, calls });
            }
        }
    }

    /// Passes all stacks with a self weight to `each`: the numbers of their methods, outermost first, and the weight. Methods are
    /// numbered from 1 on, in the order of the tree's.
    pub(in crate::export) fn for_each_numbered(&self, mut each: impl FnMut(&[u64], u64)) {
        let mut numbers = MethodMap::<u64>::default();
        for (method, number) in self.tree.methods().iter().zip(1..) {
            *numbers.or_default(*method) = number;
        }
        let mut stack = Vec::new();
        self.for_each(|path| {
            stack.truncate(path.depth);
            stack.push(numbers.get(path.method).copied().unwrap_or_default());
            if path.calls > 0 {
                each(&stack, path.calls);
            }
        });
    }

    /// The size of all stacks with a self weight, in bytes, if `frame` returns the size of a frame, and each stack
    /// takes `per_stack` more.
    pub(in crate::export) fn size(
        &self,
        per_stack: u64,
        mut frame: impl FnMut(MethodId) -> u64,
    ) -> u64 {
        let mut size: u64 = 0;
        // The sizes of the current stack up to each depth.
        let mut lengths: Vec<u64> = Vec::new();
        self.for_each(|stack| {
            lengths.truncate(stack.depth);
            let before = lengths.last().copied().unwrap_or(0);
            let length = before.saturating_add(frame(stack.method));
            lengths.push(length);
            if stack.calls > 0 {
                size = size.saturating_add(length).saturating_add(per_stack);
            }
        });
        size
    }

    /// The most frames of a stack.
    pub(in crate::export) fn most_frames(&self) -> usize {
        let mut most = 0;
        self.for_each(|stack| most = most.max(stack.depth + 1));
        most
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use flow_codec::read::Visit;
    use flow_query::analysis::Graph;

    use super::*;

    /// 1 > (2 > (3, 3), 4); 2.
    fn tree() -> PathTree {
        let mut graph = Graph::default();
        for (method, exits) in [(1, 0), (2, 0), (3, 1), (3, 2), (4, 2), (2, 1)] {
            graph.enter(MethodId::new(method).unwrap());
            if let Some(exits) = NonZeroU64::new(exits) {
                graph.exit(exits);
            }
        }
        graph.into_tree()
    }

    fn lines(stacks: &Stacks<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        stacks.for_each(|stack| {
            lines.push(format!("{}{} {}", " ".repeat(stack.depth), stack.method, stack.calls));
        });
        lines
    }

    #[test]
    fn hidden_calls_count_for_the_path_of_their_caller() {
        let tree = tree();
        let all = Stacks::new(&tree, usize::MAX);
        assert_eq!(lines(&all), ["1 1", " 2 1", "  3 2", " 4 1", "2 1"]);
        assert_eq!(lines(&Stacks::new(&tree, 1)), ["1 5", "2 1"]);
        assert_eq!(lines(&all.at_least(2)), ["1 2", " 2 1", "  3 2"]);
        assert_eq!((all.most_frames(), Stacks::new(&tree, 2).most_frames()), (3, 2));
    }

    #[test]
    fn sizes_are_those_of_whole_stacks() {
        let tree = tree();
        // 1, 1 2, 1 2 3, 1 4, 2: nine frames of five stacks.
        assert_eq!(Stacks::new(&tree, usize::MAX).size(10, |_| 100), 950);
    }
}
