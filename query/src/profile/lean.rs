//! Samples by the numbers of threads and methods in their log.

use std::collections::BTreeMap;

use super::numbered::Numbered;
use crate::analysis::{Paths, ROOT};
use flow_codec::format::methods::MethodInfo;

/// The figures of a thread or of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Numbers {
    /// In how many samples it was on the stack.
    pub total_count: u64,
    /// In how many it was the innermost frame.
    pub self_count: u64,
    /// How long the frame was on the stack, in nanoseconds. Never negative.
    pub total_ns: i64,
    /// For how long it was the innermost frame.
    pub self_ns: i64,
}

/// Samples that have the same stack.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SampleWeight {
    /// How many they are.
    pub count: u64,
    /// How long they took together.
    pub ns: i64,
    /// For how long the thread did not run meanwhile, if that is known. With CPU time, this is beside it; of wall-clock time,
    /// it is a part.
    pub waiting_ns: i64,
}

impl SampleWeight {
    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.ns = self.ns.saturating_add(other.ns);
        self.waiting_ns = self.waiting_ns.saturating_add(other.waiting_ns);
    }
}

impl Numbers {
    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.total_count = self.total_count.saturating_add(other.total_count);
        self.self_count = self.self_count.saturating_add(other.self_count);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
    }
}

/// A frame: what is executed there. Two frames are the same if all of it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LeanFrame {
    /// The number of the method.
    pub method: i64,
    /// The line; not positive if it is not known.
    pub line: i32,
    /// The bytecode index; negative if it is not known.
    pub bci: i32,
}

/// Where a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeanPlace {
    /// A thread, the root of a tree.
    Thread(i64),
    /// A frame.
    Frame(LeanFrame),
}

/// A thread, or a frame with its callers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeanNode {
    /// What it is.
    pub place: LeanPlace,
    /// The index of its caller, or of the thread of an outermost frame; `None` for a thread.
    pub parent: Option<usize>,
    /// The figures. Those of a thread are the sums of all its descendants. So its `self_count` and `self_ns` are the number
    /// and time of its samples, while its totals count each sample once for each frame. Honest Profiler documents the same,
    /// but its program gives a thread the number and time of its samples as totals, and 0 for itself: five samples of
    /// stacks with 64 frames are 64 and 5 here, 5 and 0 there.
    pub numbers: Numbers,
    /// The samples in which it is the innermost frame.
    pub samples: SampleWeight,
}

/// Samples added up: the threads, the methods, and a tree for each thread.
///
/// ```text
/// thread id ─▶ name
/// method id ─▶ file, class, name
/// thread id ─▶ node: figures (the sums of all descendants)
///              └─ method, line, bci ─▶ node: figures, parent
///                                      └─ method, line, bci ─▶ node …
/// ```
///
/// Memory: about 80 bytes a node.
#[derive(Clone, Default, Debug)]
pub struct LeanProfile {
    threads: BTreeMap<i64, String>,
    methods: BTreeMap<i64, MethodInfo>,
    /// Frames by number, from 1 on. The nodes directly below the root of the paths are threads, which are numbered by
    /// themselves.
    frames: Numbered<LeanFrame>,
    thread_ids: Numbered<i64>,
    nodes: Paths<SampleWeight>,
    /// By thread.
    failed: BTreeMap<i64, u64>,
    cut: u64,
}

impl LeanProfile {
    /// The names of the threads, by their numbers; empty if a thread has none.
    #[must_use]
    pub fn threads(&self) -> &BTreeMap<i64, String> {
        &self.threads
    }

    /// The methods that were described, by their numbers.
    #[must_use]
    pub fn methods(&self) -> &BTreeMap<i64, MethodInfo> {
        &self.methods
    }

    /// All nodes, each after its parent.
    pub fn nodes(&self) -> impl Iterator<Item = LeanNode> {
        let nodes = self.nodes.nodes();
        // Of each node, and of all below it.
        let mut sums = vec![(Numbers::default(), Numbers::default()); nodes.len()];
        // Children come after their parents.
        for (number, node) in nodes.iter().enumerate().skip(1).rev() {
            let SampleWeight { count, ns, .. } = node.counts;
            let own = Numbers { total_count: count, self_count: count, total_ns: ns, self_ns: ns };
            let Some((here, below)) = sums.get_mut(number) else { continue };
            here.add(own);
            below.add(*here);
            let (here, below) = (*here, *below);
            if let Some((parent, below_parent)) = sums.get_mut(at(node.parent)) {
                parent.add(Numbers { self_count: 0, self_ns: 0, ..here });
                below_parent.add(below);
            }
        }
        nodes.iter().zip(sums).skip(1).filter_map(|(node, (here, below))| {
            let (place, parent) = match node.parent {
                ROOT => (LeanPlace::Thread(*self.thread_ids.get(node.method)?), None),
                // The root is not among the nodes that are returned.
                parent => {
                    (LeanPlace::Frame(*self.frames.get(node.method)?), at(parent).checked_sub(1))
                }
            };
            // A thread has the sums of all frames, in which it is not.
            let of_thread = Numbers {
                total_count: below.total_count - here.total_count,
                total_ns: below.total_ns - here.total_ns,
                ..below
            };
            let numbers = if node.parent == ROOT { of_thread } else { here };
            Some(LeanNode { place, parent, numbers, samples: node.counts })
        })
    }

    /// How many samples were added.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.nodes.nodes().iter().fold(0, |sum, node| sum.saturating_add(node.counts.count))
    }

    /// How many of the samples failed. Each counts as a frame that has the reason as its name.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.values().fold(0, |sum, failed| sum.saturating_add(*failed))
    }

    /// How many of the samples of a thread failed.
    #[must_use]
    pub fn failed_in(&self, thread: i64) -> u64 {
        self.failed.get(&thread).copied().unwrap_or_default()
    }

    /// How many samples were left out because their log lacks their outer frames.
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Names a thread. The last name that is not empty counts.
    pub(crate) fn name_thread(&mut self, thread: i64, name: &str) {
        let known = self.threads.entry(thread).or_default();
        if !name.is_empty() {
            name.clone_into(known);
        }
    }

    /// Describes a method. The first description counts.
    pub fn describe_method(&mut self, method: i64, describe: impl FnOnce() -> MethodInfo) {
        self.methods.entry(method).or_insert_with(describe);
    }

    /// Adds samples of a thread. Frames begin with the outermost one.
    pub fn add(
        &mut self,
        thread: i64,
        frames: impl IntoIterator<Item = LeanFrame>,
        weight: SampleWeight,
    ) {
        let node = self.node(thread, frames);
        self.add_to(node, weight);
    }

    /// The node of a stack, which is made if it is new.
    pub(super) fn node(&mut self, thread: i64, frames: impl IntoIterator<Item = LeanFrame>) -> u32 {
        self.threads.entry(thread).or_default();
        let root = self.nodes.child(ROOT, self.thread_ids.number(&thread));
        frames
            .into_iter()
            .fold(root, |node, frame| self.nodes.child(node, self.frames.number(&frame)))
    }

    /// Adds samples whose innermost frame is a node.
    pub(super) fn add_to(&mut self, node: u32, weight: SampleWeight) {
        self.nodes.counts_mut(node).into_iter().for_each(|sum| sum.add(weight));
    }

    pub(crate) fn count_failed(&mut self, thread: i64, samples: u64) {
        let failed = self.failed.entry(thread).or_default();
        *failed = failed.saturating_add(samples);
    }

    pub(super) fn count_cut(&mut self) {
        self.cut += 1;
    }
}

fn at(node: u32) -> usize {
    usize::try_from(node).unwrap_or(usize::MAX)
}
