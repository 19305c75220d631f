//! Processors: what methods did in each interval of time, who called whom, and what the program noted.

use std::collections::{BTreeMap, HashMap, HashSet};

use flow_codec::process::{Cause, DataBreak, Metadata, Ordered, Processor};
use flow_codec::read::{EventKind, Selection};
use flow_codec::{Glob, MethodId, Name, ThreadId};

/// What a method did in an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    pub(super) calls: u64,
    /// Time in the method itself, counted where it ends; `None` without a clock.
    pub(super) self_ns: Option<u64>,
    /// Calls that ended by an exception.
    pub(super) unwound: u64,
}

/// Adds up calls, by interval and by caller.
#[derive(Debug)]
pub(super) struct Sums {
    every_ns: u64,
    include: Vec<Glob>,
    exclude: Vec<Glob>,
    /// Methods that are left out. Their callees move up to their callers.
    hidden: HashSet<MethodId>,
    threads: HashMap<ThreadId, Stack>,
    /// By the number of the interval since the start; `None` for events without a time.
    intervals: BTreeMap<Option<u64>, HashMap<MethodId, Sum>>,
    edges: HashMap<(Option<MethodId>, MethodId), u64>,
}

#[derive(Debug, Default)]
struct Stack {
    /// Open calls, and whether they are shown.
    frames: Vec<(MethodId, bool)>,
    shown: Vec<MethodId>,
    /// Up to when time was added to methods.
    credited_ns: Option<u64>,
}

impl Sums {
    /// Sums of intervals of this length, of methods that match these patterns.
    pub(super) fn new(every_ns: u64, include: Vec<Glob>, exclude: Vec<Glob>) -> Self {
        let (hidden, threads, intervals, edges) = Default::default();
        Self { every_ns: every_ns.max(1), include, exclude, hidden, threads, intervals, edges }
    }

    /// Takes the sums of intervals that ended before a time, and of events without a time. What comes later for one of
    /// them, of a thread whose events were delayed, makes sums of their own.
    pub(super) fn take_before(
        &mut self,
        now_ns: Option<u64>,
    ) -> BTreeMap<Option<u64>, HashMap<MethodId, Sum>> {
        let Some(now_ns) = now_ns else { return std::mem::take(&mut self.intervals) };
        let rest = self.intervals.split_off(&Some(now_ns / self.every_ns));
        std::mem::replace(&mut self.intervals, rest)
    }

    /// How often each caller called each method; `None` called the outermost ones.
    pub(super) fn edges(&self) -> &HashMap<(Option<MethodId>, MethodId), u64> {
        &self.edges
    }

    fn of(&mut self, at_ns: Option<u64>, method: MethodId) -> &mut Sum {
        let interval = at_ns.map(|at| at / self.every_ns);
        self.intervals.entry(interval).or_default().entry(method).or_default()
    }
}

impl Processor for Sums {
    fn event(&mut self, ordered: &Ordered) {
        let at = ordered.event.time.estimate_ns;
        let stack = self.threads.entry(ordered.thread).or_default();
        let passed = stack.credited_ns.zip(at).map(|(before, at)| at.saturating_sub(before));
        stack.credited_ns = stack.credited_ns.max(at);
        let top = stack.shown.last().copied();
        if let (Some(passed), Some(top)) = (passed, top) {
            let sum = self.of(at, top);
            sum.self_ns = Some(sum.self_ns.unwrap_or(0).saturating_add(passed));
        }
        match &ordered.event.kind {
            EventKind::Enter(method) => {
                let is_shown = !self.hidden.contains(method);
                let stack = self.threads.entry(ordered.thread).or_default();
                stack.frames.push((*method, is_shown));
                if is_shown {
                    stack.shown.push(*method);
                    *self.edges.entry((top, *method)).or_default() += 1;
                    self.of(at, *method).calls += 1;
                }
            }
            EventKind::Exit { count, unwound } => {
                for _ in 0..count.get() {
                    let stack = self.threads.entry(ordered.thread).or_default();
                    let Some((method, is_shown)) = stack.frames.pop() else { break };
                    if is_shown {
                        stack.shown.pop();
                        if unwound.is_some() {
                            self.of(at, method).unwound += 1;
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn metadata(&mut self, metadata: &Metadata<'_>) {
        if let Metadata::Method { id, info } = metadata
            && !Selection::is_selected(&self.include, &self.exclude, Name::from(*info))
        {
            self.hidden.insert(*id);
        }
    }

    fn data_break(&mut self, at: &DataBreak) {
        // After lost events, the thread's next ones lead to the right stack.
        if matches!(at.cause, Cause::Lost { .. }) {
            return;
        }
        let stacks = self.threads.iter_mut();
        for (_, stack) in stacks.filter(|(id, _)| at.thread.is_none_or(|thread| thread == **id)) {
            *stack = Stack::default();
        }
    }
}

/// Collects notes and tests until they are taken.
#[derive(Debug, Default)]
pub(super) struct Notes {
    threads: BTreeMap<ThreadId, String>,
    found: Vec<Note>,
}

/// A note of the program, or a test that began or ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Note {
    pub(super) at_ns: Option<u64>,
    pub(super) thread: ThreadId,
    pub(super) thread_name: String,
    pub(super) text: String,
}

impl Notes {
    pub(super) fn take(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.found)
    }
}

impl Processor for Notes {
    fn event(&mut self, ordered: &Ordered) {
        let text = match &ordered.event.kind {
            EventKind::Note(text) => text.clone(),
            EventKind::Test(test) => test.to_string(),
            _ => return,
        };
        self.found.push(Note {
            at_ns: ordered.event.time.estimate_ns,
            thread: ordered.thread,
            thread_name: self.threads.get(&ordered.thread).cloned().unwrap_or_default(),
            text,
        });
    }

    fn metadata(&mut self, metadata: &Metadata<'_>) {
        if let Metadata::Thread { id, name } = metadata {
            self.threads.insert(*id, (*name).to_owned());
        }
    }
}
