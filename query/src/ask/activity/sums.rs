//! Processors: what methods did in each interval of time, who called whom, and what the program noted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{SystemTime, UNIX_EPOCH};

use flow_codec::read::{EventKind, Selection, Trace};
use flow_codec::{Glob, MethodId, MethodMap, Name, ThreadId};

use crate::process::{Cause, DataBreak, Metadata, Ordered, Processor};
use crate::select::Filter;

/// Returns the time since the start of a recording; `None` if that is not known.
pub(super) fn now_ns(trace: &Trace) -> Option<u64> {
    let start_ns = trace.manifest()?.start_unix_ns;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos();
    u64::try_from(now).ok()?.checked_sub(start_ns)
}

/// What a method did in an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    pub(super) calls: u64,
    /// Time in the method itself, counted where it ends; `None` without a clock.
    pub(super) self_ns: Option<u64>,
    /// For how much of this time threads ran; `None` if that is not known. A thread may have run longer, in silent time
    /// that was counted before.
    pub(super) cpu_ns: Option<u64>,
    /// How much of this time is after the last event of a thread: whether it runs or waits is not known.
    pub(super) silent_ns: u64,
    /// Calls that ended by an exception.
    pub(super) unwound: u64,
}

/// Adds up calls, by interval and by caller, and follows the stacks of all threads.
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
    edges: Edges,
    breaks: Breaks,
}

/// What is added up.
#[derive(Debug)]
pub(super) struct Wanted {
    by: By,
    /// Whether events have times.
    has_clock: bool,
    /// The methods.
    include: Vec<Glob>,
    exclude: Vec<Glob>,
}

impl Wanted {
    /// The calls of the selected methods of a trace.
    pub(super) fn new(by: By, has_clock: bool, filter: &Filter, trace: &Trace) -> Self {
        let (include, exclude) = (filter.included(trace), filter.exclude().to_vec());
        Self { by, has_clock, include, exclude }
    }
}

/// By what calls are added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    /// In intervals of this length.
    Interval(u64),
    /// By caller.
    Caller,
    /// By caller, and in one interval, until it is taken.
    Both,
}

/// By the number of the interval since the start; `None` without a clock, or if there is only one.
pub(super) type Intervals = BTreeMap<Option<u64>, MethodMap<Sum>>;

/// How often each caller called each method; `None` called the outermost ones.
pub(super) type Edges = HashMap<(Option<MethodId>, MethodId), u64>;

/// How often events were lost, and recording was suspended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Breaks {
    pub(super) lost: u64,
    pub(super) suspended: u64,
}

/// What a thread does.
#[derive(Debug, Default)]
pub(super) struct Stack {
    /// Open calls, and whether they are shown.
    frames: Vec<(MethodId, bool)>,
    /// Open calls that are shown, the outermost first.
    pub(super) shown: Vec<MethodId>,
    /// Whether there may be frames below these.
    pub(super) is_partial: bool,
    /// When its last event was, if known.
    pub(super) last_ns: Option<u64>,
    /// Calls that are shown, since they were taken.
    pub(super) calls: u64,
    /// Up to when time was added to methods, and CPU time.
    credited_ns: Option<u64>,
    credited_cpu_ns: Option<u64>,
}

impl Stack {
    /// Not known any more: the next events of the thread may leave frames that are not here.
    fn forget(&mut self) {
        self.frames.clear();
        self.shown.clear();
        (self.is_partial, self.credited_ns, self.credited_cpu_ns) = (true, None, None);
    }

    /// Returns how much time passed in the innermost method.
    fn pass_until(&mut self, at: Option<u64>) -> Option<(MethodId, u64)> {
        let at = at?;
        let before = self.credited_ns;
        self.credited_ns = before.max(Some(at));
        Some((*self.shown.last()?, at.saturating_sub(before?)))
    }

    /// Returns for how long the thread ran since then, in the innermost method.
    fn run_until(&mut self, cpu_ns: Option<u64>) -> Option<u64> {
        let cpu_ns = cpu_ns?;
        let before = self.credited_cpu_ns;
        self.credited_cpu_ns = before.max(Some(cpu_ns));
        Some(cpu_ns.saturating_sub(before?))
    }
}

impl Sum {
    fn add_ns(&mut self, passed: u64) {
        self.self_ns = Some(self.self_ns.unwrap_or(0).saturating_add(passed));
    }

    fn add_cpu_ns(&mut self, ran: u64) {
        self.cpu_ns = Some(self.cpu_ns.unwrap_or(0).saturating_add(ran));
    }
}

impl Sums {
    pub(super) fn new(of: Wanted) -> Self {
        let (hidden, threads, stacks, intervals, edges, breaks) = Default::default();
        Self { of, hidden, threads, stacks, last: None, intervals, edges, breaks }
    }

    /// Takes the sums of intervals that ended before a time; all without one. What comes later for one of them, of a thread
    /// whose events were delayed, makes sums of their own.
    pub(super) fn take_before(&mut self, now_ns: Option<u64>) -> Intervals {
        match (now_ns, self.of.by) {
            (Some(now_ns), By::Interval(every_ns)) if self.of.has_clock => {
                let rest = self.intervals.split_off(&Some(now_ns / every_ns.max(1)));
                std::mem::replace(&mut self.intervals, rest)
            }
            _ => std::mem::take(&mut self.intervals),
        }
    }

    /// Takes all sums, of methods, of callers and of breaks, and begins to count the calls of threads anew.
    pub(super) fn take(&mut self) -> (MethodMap<Sum>, Edges, Breaks) {
        self.stacks.iter_mut().for_each(|stack| stack.calls = 0);
        let methods = std::mem::take(&mut self.intervals).into_values().next();
        let (edges, breaks) = (std::mem::take(&mut self.edges), std::mem::take(&mut self.breaks));
        (methods.unwrap_or_default(), edges, breaks)
    }

    /// How often each caller called each method.
    pub(super) const fn edges(&self) -> &Edges {
        &self.edges
    }

    /// What a thread does.
    pub(super) fn stack(&self, thread: ThreadId) -> Option<&Stack> {
        self.stacks.get(*self.threads.get(&thread)?)
    }

    /// Adds the time until now to the method that is on top.
    pub(super) fn pass_time_until(&mut self, thread: ThreadId, now_ns: u64) {
        let place = self.place(thread);
        let passed = self.stacks.get_mut(place).and_then(|stack| stack.pass_until(Some(now_ns)));
        if let Some((top, passed)) = passed {
            let sum = self.intervals.entry(None).or_default().or_default(top);
            sum.add_ns(passed);
            sum.silent_ns = sum.silent_ns.saturating_add(passed);
        }
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
        let known = ordered.event.time.estimate_ns;
        let at = known.or(stack.credited_ns).or(of.has_clock.then_some(0));
        let top = stack.shown.last().copied();
        let passed = stack.pass_until(known);
        let ran = stack.run_until(ordered.event.time.cpu_ns);
        stack.last_ns = known.or(stack.last_ns);
        let mut sums = match of.by {
            By::Interval(every_ns) => {
                Some(intervals.entry(at.map(|at| at / every_ns.max(1))).or_default())
            }
            By::Both => Some(intervals.entry(None).or_default()),
            By::Caller => None,
        };
        if let (Some(sums), Some((top, passed))) = (&mut sums, passed) {
            let sum = sums.or_default(top);
            sum.add_ns(passed);
            ran.into_iter().for_each(|ran| sum.add_cpu_ns(ran));
        }
        match &ordered.event.kind {
            EventKind::Enter(method) => {
                let is_shown = !hidden.contains(method);
                stack.frames.push((*method, is_shown));
                if is_shown {
                    stack.shown.push(*method);
                    stack.calls += 1;
                    if let Some(sums) = sums {
                        sums.or_default(*method).calls += 1;
                    }
                    if !matches!(of.by, By::Interval(_)) {
                        *edges.entry((top, *method)).or_default() += 1;
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
        match at.cause {
            // The thread's next events lead to the right stack.
            Cause::Lost { .. } => return self.breaks.lost += 1,
            Cause::Suspended => self.breaks.suspended += 1,
            _ => {}
        }
        match at.thread {
            Some(thread) => {
                let place = self.place(thread);
                self.stacks.get_mut(place).into_iter().for_each(Stack::forget);
            }
            None => self.stacks.iter_mut().for_each(Stack::forget),
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
