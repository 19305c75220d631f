//! The samples of threads in memory, to be placed among their calls.
//!
//! Memory: 40 bytes for each sample, and the paths of all stacks, each frame once for each path to it.

use std::collections::{BTreeMap, HashMap};

use super::Trace;
use crate::format::samples::{Cause, Found, Frame};
use crate::{Error, MethodId, Result, ThreadId};

/// One sample of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackSample {
    pub(crate) at_ns: u64,
    intervals: u64,
    ns: u64,
    waiting_ns: u64,
    pub(crate) has_waited: bool,
    stack: Stack,
}

/// The stack of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stack {
    /// Its innermost frame is this one of the paths.
    Path(usize),
    Missed(Cause),
}

/// A frame, and the one that called it.
#[derive(Clone, Copy, Debug)]
struct Node {
    caller: Option<usize>,
    frame: Frame,
}

/// The samples of some threads.
#[derive(Debug, Default)]
pub struct StackSamples {
    nodes: Vec<Node>,
    threads: BTreeMap<ThreadId, Vec<StackSample>>,
    damage: Vec<Error>,
}

impl StackSamples {
    /// Reads the samples of the threads that are `wanted`; `None` if threads were not sampled. Damage is skipped, and
    /// listed.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read(trace: &Trace, wanted: impl Fn(ThreadId) -> bool) -> Result<Option<Self>> {
        let Some(mut samples) = trace.samples()? else { return Ok(None) };
        let mut known: HashMap<(Option<usize>, Frame), usize> = HashMap::new();
        let mut read = Self::default();
        while let Some((sampling, sample)) = samples.next_sample()? {
            if !wanted(sample.thread) {
                continue;
            }
            let stack = match sample.found {
                Found::Missed(cause) => Stack::Missed(cause),
                Found::Stack { frames, .. } => {
                    let mut caller = None;
                    for frame in frames {
                        let node = *known.entry((caller, *frame)).or_insert_with(|| {
                            read.nodes.push(Node { caller, frame: *frame });
                            read.nodes.len() - 1
                        });
                        caller = Some(node);
                    }
                    caller.map_or(Stack::Missed(Cause::NO_JAVA_FRAME), Stack::Path)
                }
            };
            read.threads.entry(sample.thread).or_default().push(StackSample {
                at_ns: sample.at_ns,
                intervals: sample.intervals,
                ns: sample.ns(sampling),
                waiting_ns: sample.waiting_ns(sampling),
                has_waited: sample.ran_us == Some(0),
                stack,
            });
        }
        // Those of a thread are in order, except where a thread of the agent wrote some of them.
        read.threads.values_mut().for_each(|samples| samples.sort_by_key(|sample| sample.at_ns));
        read.damage = samples.into_damage();
        Ok(Some(read))
    }

    /// The samples of a thread, in order of time.
    #[must_use]
    pub(crate) fn of(&self, thread: ThreadId) -> &[StackSample] {
        self.threads.get(&thread).map_or(&[], Vec::as_slice)
    }

    /// The frames of a sample, the innermost first; none if it has no stack.
    pub fn frames(&self, sample: &StackSample) -> impl Iterator<Item = Frame> {
        let innermost = match sample.stack {
            Stack::Path(node) => Some(node),
            Stack::Missed(_) => None,
        };
        let node = |at: Option<usize>| at.and_then(|at| self.nodes.get(at)).copied();
        std::iter::successors(node(innermost), move |inner| node(inner.caller))
            .map(|node| node.frame)
    }

    /// The innermost frame of a method in a sample.
    #[must_use]
    pub fn frame_of(&self, sample: &StackSample, method: MethodId) -> Option<Frame> {
        self.frames(sample).find(|frame| frame.method == Some(method))
    }

    /// What could not be read.
    #[must_use]
    pub fn damage(&self) -> &[Error] {
        &self.damage
    }
}

impl StackSample {
    /// Returns when the sample was taken.
    #[must_use]
    pub const fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// Returns how many intervals the sample represents.
    #[must_use]
    pub const fn intervals(&self) -> u64 {
        self.intervals
    }

    /// Returns the time of these intervals.
    #[must_use]
    pub const fn ns(&self) -> u64 {
        self.ns
    }

    /// Returns for how much of that time the thread waited.
    #[must_use]
    pub const fn waiting_ns(&self) -> u64 {
        self.waiting_ns
    }

    /// Why it has no stack; `None` if it has one.
    #[doc(hidden)]
    #[must_use]
    pub const fn missed(&self) -> Option<Cause> {
        match self.stack {
            Stack::Path(_) => None,
            Stack::Missed(cause) => Some(cause),
        }
    }
}
