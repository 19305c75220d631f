//! Processors: what methods did in each interval of time, who called whom, and what the program noted.

use std::collections::{BTreeMap, HashMap, HashSet};

use flow_codec::process::{Cause, DataBreak, Metadata, Ordered, Processor};
use flow_codec::read::{EventKind, Selection};
use flow_codec::{Glob, MethodId, MethodMap, Name, ThreadId};

/// What a method did in an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    pub(super) calls: u64,
    /// Time in the method itself, counted where it ends; `None` without a clock.
    pub(super) self_ns: Option<u64>,
    /// Calls that ended by an exception.
    pub(super) unwound: u64,
}

/// Adds up calls, by interval or by caller.
#[derive(Debug)]
pub(super) struct Sums {
    of: Wanted,
    /// Methods that are left out. Their callees move up to their callers.
    hidden: HashSet<MethodId>,
    threads: HashMap<ThreadId, usize>,
    stacks: Vec<Stack>,
    /// The thread of the last event, and its place among the stacks: most events are of the same thread.
    last: Option<(ThreadId, usize)>,
    intervals: Intervals,
    edges: HashMap<(Option<MethodId>, MethodId), u64>,
}

/// What is added up.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The length of intervals.
    pub(super) every_ns: u64,
    /// Whether events have times.
    pub(super) has_clock: bool,
    /// Whether by caller, instead of by interval.
    pub(super) by_caller: bool,
    /// The methods.
    pub(super) include: Vec<Glob>,
    pub(super) exclude: Vec<Glob>,
}

/// By the number of the interval since the start; `None` without a clock.
pub(super) type Intervals = BTreeMap<Option<u64>, MethodMap<Sum>>;

#[derive(Debug, Default)]
struct Stack {
    /// Open calls, and whether they are shown.
    frames: Vec<(MethodId, bool)>,
    shown: Vec<MethodId>,
    /// Up to when time was added to methods.
    credited_ns: Option<u64>,
}

impl Sums {
    pub(super) fn new(of: Wanted) -> Self {
        let (hidden, threads, stacks, intervals, edges) = Default::default();
        Self { of, hidden, threads, stacks, last: None, intervals, edges }
    }

    /// Takes the sums of intervals that ended before a time; all without one. What comes later for one of them, of a thread
    /// whose events were delayed, makes sums of their own.
    pub(super) fn take_before(&mut self, now_ns: Option<u64>) -> Intervals {
        let Some(now_ns) = now_ns.filter(|_| self.of.has_clock) else {
            return std::mem::take(&mut self.intervals);
        };
        let rest = self.intervals.split_off(&Some(now_ns / self.of.every_ns.max(1)));
        std::mem::replace(&mut self.intervals, rest)
    }

    /// How often each caller called each method; `None` called the outermost ones.
    pub(super) fn edges(&self) -> &HashMap<(Option<MethodId>, MethodId), u64> {
        &self.edges
    }

    /// The place of a thread's stack.
    fn place(&mut self, thread: ThreadId) -> usize {
        if let Some((_, place)) = self.last.filter(|(last, _)| *last == thread) {
            return place;
        }
        let next = self.stacks.len();
        let place = *self.threads.entry(thread).or_insert(next);
        if place == next {
            self.stacks.push(Stack::default());
        }
        self.last = Some((thread, place));
        place
    }
}

impl Processor for Sums {
    fn event(&mut self, ordered: &Ordered) {
        let place = self.place(ordered.thread);
        let Self { of, hidden, stacks, intervals, edges, .. } = self;
        let Some(stack) = stacks.get_mut(place) else { return };
        // Nothing is known about the first and the newest events of a thread until a time follows.
        let at = ordered.event.time.estimate_ns.or(stack.credited_ns);
        let at = at.or(of.has_clock.then_some(0));
        let passed = stack.credited_ns.zip(at).map(|(before, at)| at.saturating_sub(before));
        stack.credited_ns = stack.credited_ns.max(at);
        let top = stack.shown.last().copied();
        let interval = at.map(|at| at / of.every_ns.max(1));
        let mut sums = (!of.by_caller).then(|| intervals.entry(interval).or_default());
        if let (Some(sums), Some(passed), Some(top)) = (&mut sums, passed, top) {
            let sum = sums.or_default(top);
            sum.self_ns = Some(sum.self_ns.unwrap_or(0).saturating_add(passed));
        }
        match &ordered.event.kind {
            EventKind::Enter(method) => {
                let is_shown = !hidden.contains(method);
                stack.frames.push((*method, is_shown));
                if is_shown {
                    stack.shown.push(*method);
                    match sums {
                        Some(sums) => sums.or_default(*method).calls += 1,
                        None => *edges.entry((top, *method)).or_default() += 1,
                    }
                }
            }
            EventKind::Exit { count, unwound } => {
                for _ in 0..count.get() {
                    let Some((method, is_shown)) = stack.frames.pop() else { break };
                    if is_shown {
                        stack.shown.pop();
                    }
                    if let (Some(sums), true) = (&mut sums, is_shown && unwound.is_some()) {
                        sums.or_default(method).unwound += 1;
                    }
                }
            }
            _ => {}
        }
    }

    fn metadata(&mut self, metadata: &Metadata<'_>) {
        if let Metadata::Method { id, info } = metadata
            && !Selection::is_selected(&self.of.include, &self.of.exclude, Name::from(*info))
        {
            self.hidden.insert(*id);
        }
    }

    fn data_break(&mut self, at: &DataBreak) {
        // After lost events, the thread's next ones lead to the right stack.
        if matches!(at.cause, Cause::Lost { .. }) {
            return;
        }
        match at.thread {
            Some(thread) => {
                let place = self.place(thread);
                self.stacks.get_mut(place).into_iter().for_each(|stack| *stack = Stack::default());
            }
            None => self.stacks.iter_mut().for_each(|stack| *stack = Stack::default()),
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
