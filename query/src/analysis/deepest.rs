//! HOT: the deepest stack.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use super::nodes::{AddShapes, Nodes};
use crate::dag::Dag;
use flow_codec::MethodId;
use flow_codec::read::{Selection, Visit};

/// Finds the deepest stack of any number of threads, one after the other, and where it was first reached.
/// Memory: two ids for each of its frames.
///
/// ```
/// use flow_query::analysis::Deepest;
/// use flow_codec::read::{FlowReader, ReadRecords};
///
/// // 1 calls 2, then 3, which calls 2.
/// let bytes: &[u8] = &[0x81, 0x82, 0x00, 0x83, 0x82, 0x02];
/// let mut deepest = Deepest::default();
/// FlowReader::new(bytes).visit_all(&mut deepest)?;
/// deepest.end_thread();
/// let methods: Vec<_> = deepest.stack().iter().map(|method| method.get()).collect();
/// assert_eq!(methods, [1, 3, 2]);
/// // Three entries and an exit came before.
/// assert_eq!((deepest.thread(), deepest.event()), (0, 4));
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Deepest {
    open: Vec<MethodId>,
    /// The largest depth so far, and where it was first reached.
    depth: usize,
    thread: usize,
    event: u64,
    /// The frames of that stack, unless `open` still has them.
    deepest: Vec<MethodId>,
    is_kept: bool,
    /// How many of the outermost frames of `open` and `deepest` are the same.
    same: usize,
    threads: usize,
    /// Events of the thread that is being added.
    events: u64,
}

impl Visit for Deepest {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        self.open.push(method);
        if self.open.len() > self.depth {
            self.depth = self.open.len();
            (self.thread, self.event) = (self.threads, self.events);
            self.is_kept = false;
        }
        self.events = self.events.saturating_add(1);
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.keep();
        let left = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.open.truncate(self.open.len().saturating_sub(left));
        self.same = self.same.min(self.open.len());
        self.events = self.events.saturating_add(count.get());
    }
}

impl AddShapes for Deepest {
    fn add_shapes(&mut self, dag: &Dag, selection: &Selection) -> bool {
        let nodes = Nodes::new(dag, selection);
        let levels = nodes.levels();
        let of = |node: usize| levels.get(node).copied().unwrap_or_default();
        let mut node = nodes.thread();
        if of(node) <= self.depth {
            return true;
        }
        self.depth = of(node);
        (self.thread, self.event) = (self.threads, 0);
        self.deepest.clear();
        loop {
            if let Some(method) = nodes.numbering.method(nodes.method(node))
                && nodes.is_shown(node)
            {
                self.deepest.push(method);
                if self.deepest.len() == self.depth {
                    break;
                }
                self.event = self.event.saturating_add(1);
            }
            // The first one that is deep enough. Calls before it were entered and left.
            let missing = self.depth - self.deepest.len();
            let (mut run, mut found, mut before_end) = (0, None, 0_u64);
            let events = |callee| nodes.calls(callee).saturating_mul(2);
            nodes.each_run_after(node, events, |callee, count, before| {
                if found.is_none() && of(callee) >= missing {
                    found = Some((run, callee, before));
                }
                before_end = before.saturating_add(events(callee).saturating_mul(count));
                run += 1;
            });
            self.event =
                self.event.saturating_add(found.map_or(before_end, |(_, _, before)| before));
            let Some((run, callee, _)) = found else { break };
            if node == nodes.thread() {
                self.event = self.event.saturating_add(nodes.unseen_exits_before(run));
            }
            node = callee;
        }
        self.is_kept = true;
        true
    }
}

impl Deepest {
    /// Copies the frames of the deepest stack before some of them are left. Frames that were copied before
    /// are not copied again, so all copies together take no longer than the calls did.
    #[inline]
    fn keep(&mut self) {
        if !self.is_kept && self.depth > 0 {
            debug_assert!(self.same <= self.open.len(), "common frames are open");
            self.deepest.truncate(self.same);
            self.deepest.extend_from_slice(self.open.get(self.same..).unwrap_or_default());
            self.same = self.open.len();
            self.is_kept = true;
        }
    }

    /// Ends a thread.
    pub fn end_thread(&mut self) {
        self.keep();
        self.open.clear();
        self.same = 0;
        self.threads += 1;
        self.events = 0;
    }

    /// The methods of the deepest stack, the outermost first; valid after [`end_thread`](Self::end_thread).
    #[must_use]
    pub fn stack(&self) -> &[MethodId] {
        &self.deepest
    }

    /// The thread in which it was reached, counted from 0.
    #[must_use]
    pub fn thread(&self) -> usize {
        self.thread
    }

    /// How many events of the thread, entries and exits, came before the entry of its innermost frame.
    #[must_use]
    pub fn event(&self) -> u64 {
        self.event
    }
}
