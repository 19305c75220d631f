//! Calls of traces that grow, each once it has ended.
//!
//! ```text
//! Follower ─▶ Ended (pairs entries and exits, keeps what is asked for) ─▶ waiting calls of all threads ─▶ in the order of their ends
//! ```
//!
//! The events of threads arrive at different times. A call waits for a moment, so that a call of another thread that ended before
//! it comes first. Of a trace that has grown for long, each thread is read a part at a time, and calls wait until all threads have been
//! read up to their end. So memory does not depend on the size of the trace.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flow_codec::read::{Call, CallStack, EventKind, KeepAccesses, Methods, Selection, Trace};
use flow_codec::{Glob, MethodId, ThreadId};

use super::growing::{AwaitTimes, MissingEvents};
use super::with_values::Conditions;
use super::{Calls, FoundCall, Order, What, outcome_of, times_of};
use crate::Error;
use crate::dag::Outcome;
use crate::open::Traces;
use crate::process::{DataBreak, Follower, Metadata, Ordered, Receive, is_received};
use crate::select::{has_clock, methods};

/// How long a call waits at least for those of other threads that ended before it: until all threads have been read again. Where
/// a trace is recorded, its journal has all events.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long it waits at most, where a trace is received. The events of a thread that runs on without a pause arrive up to half
/// a second late.
const LONGEST_PATIENCE: Duration = Duration::from_millis(600);
/// How many calls of a thread wait at most. Then the others are read first.
const MOST_OF_THREAD: usize = 1 << 12;
/// How many callers of a call count as another call.
const CALLERS_OF_A_CALL: usize = 64;

/// Asks for calls of traces that grow, each once it has ended, in the order in which they ended: as far as that is known, and with
/// those first that arrived earlier by more than a moment.
///
/// ```no_run
/// use flow_query::ask::{Calls, EndedCalls};
/// use flow_query::open::Traces;
///
/// let mut ended = EndedCalls::of(Calls::of("Orders#total"))?;
/// let mut traces = Traces::open("flow-trace")?;
/// loop {
///     for call in ended.next(&mut traces, false)?.calls {
///         println!("{} ns in thread {}", call.times.duration_ns, call.thread);
///     }
///     std::thread::sleep(std::time::Duration::from_millis(100));
///     traces = Traces::open_again("flow-trace", Some(traces))?;
/// }
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Debug)]
pub struct EndedCalls {
    asked: Calls,
    /// The patterns, once they match something.
    globs: Option<Vec<Glob>>,
    jvms: BTreeMap<PathBuf, Jvm>,
    waiting: Vec<Waiting>,
    missing: MissingEvents,
}

/// The calls that ended.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct NewlyEnded {
    /// The calls.
    pub calls: Vec<FoundCall>,
    /// Whether anything was new, of these calls or others.
    pub is_any: bool,
    /// Whether more can be read at once.
    pub is_more: bool,
    /// The errors of threads that cannot be read now.
    pub damage: Vec<flow_codec::Error>,
}

/// What is known about a JVM.
#[derive(Debug)]
struct Jvm {
    follower: Follower,
    dir: Arc<Path>,
    /// Whether the trace is, or may be, sent by another process as it grows.
    is_received: bool,
    /// The methods that are asked for, and how many methods there were then.
    wanted: (Selection, usize),
    threads: HashMap<ThreadId, OfThread>,
}

/// A call that has ended, and waits for those that ended before it.
#[derive(Debug)]
struct Waiting {
    dir: Arc<Path>,
    thread: ThreadId,
    call: Call,
    outcome: Outcome,
    callers: Vec<MethodId>,
    test: Option<Arc<str>>,
    arrived: Instant,
}

impl Waiting {
    fn end_ns(&self) -> u64 {
        self.call.end.estimate_ns.unwrap_or(0)
    }

    /// For how many calls it counts, of those that may wait: its callers need memory, too.
    fn weight(&self) -> usize {
        1 + self.callers.len() / CALLERS_OF_A_CALL
    }
}

/// What a thread does.
#[derive(Debug, Default)]
struct OfThread {
    stack: CallStack,
    /// How many calls it has made.
    calls: u64,
    /// The tests that it runs, and for each open call the one that made it.
    tests: Vec<Arc<str>>,
    made_by: Vec<Option<Arc<str>>>,
    /// How many of its calls wait, by weight.
    waiting: usize,
    /// The time of the last event, and when it arrived.
    last_ns: u64,
    arrived: Option<Instant>,
    times: AwaitTimes,
}

impl OfThread {
    fn is_full(&self) -> bool {
        self.waiting >= MOST_OF_THREAD
    }

    /// A test begins or ends: the tests inside the one that ends have ended, too.
    fn test(&mut self, name: &str, is_begin: bool) {
        if is_begin {
            self.tests.push(name.into());
        } else if let Some(place) = self.tests.iter().rposition(|test| **test == *name) {
            self.tests.truncate(place);
        }
    }
}

/// Receives the events of a trace, and keeps the calls that are asked for.
struct Ended<'a> {
    asked: &'a Calls,
    conditions: Conditions<'a>,
    wanted: &'a Selection,
    dir: &'a Arc<Path>,
    threads: &'a mut HashMap<ThreadId, OfThread>,
    /// The thread whose events are passed: its state is here meanwhile.
    thread: Option<ThreadId>,
    state: OfThread,
    waiting: &'a mut Vec<Waiting>,
    missing: &'a mut MissingEvents,
    /// Whether an event waits until its time is known.
    expects_times: bool,
    now: Instant,
}

impl Ended<'_> {
    /// Puts the state of the thread whose events were passed back to those of the others.
    fn put_back(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.threads.insert(thread, std::mem::take(&mut self.state));
        }
    }

    /// Keeps a call that was left, if it is requested.
    fn left(&mut self, thread: ThreadId, call: Call) {
        let of_thread = &mut self.state;
        let test = of_thread.made_by.pop().flatten();
        if !self.wanted.contains(call.method) {
            return;
        }
        let outcome = outcome_of(&call);
        let tests = &self.asked.select.tests;
        let is_asked = self.asked.outcome.is_none_or(|asked| asked == outcome)
            && (tests.is_all() || test.as_ref().is_some_and(|test| tests.include(test)))
            && self.asked.has_time(&times_of(&call))
            && self.conditions.are_met(&call);
        if !is_asked {
            return;
        }
        let has_callers = !self.asked.has_values;
        let waiting = Waiting {
            dir: Arc::clone(self.dir),
            thread,
            outcome,
            callers: of_thread.stack.methods().filter(|_| has_callers).collect(),
            test,
            arrived: self.now,
            call,
        };
        of_thread.waiting += waiting.weight();
        self.waiting.push(waiting);
    }
}

impl Receive for Ended<'_> {
    fn metadata(&mut self, _: &Metadata<'_>) {}

    fn begin(&mut self, thread: ThreadId) {
        self.put_back();
        self.state = self.threads.remove(&thread).unwrap_or_default();
        self.thread = Some(thread);
    }

    fn event(&mut self, Ordered { thread, mut event, .. }: Ordered) {
        let keep = Some(&self.conditions as &dyn KeepAccesses);
        let of_thread = &mut self.state;
        of_thread.times.passed();
        event.calls = of_thread.calls;
        of_thread.last_ns = event.time.estimate_ns.unwrap_or(of_thread.last_ns);
        of_thread.arrived = Some(self.now);
        match &event.kind {
            EventKind::Enter(_) => {
                of_thread.calls += 1;
                of_thread.made_by.push(of_thread.tests.last().map(Arc::clone));
            }
            EventKind::Test(mark) => of_thread.test(&mark.name, mark.outcome.is_none()),
            _ => {}
        }
        of_thread.stack.pass(event, keep);
        while let Some(call) = self.state.stack.left() {
            self.left(thread, call);
        }
    }

    fn data_break(&mut self, at: &DataBreak) {
        let Some(thread) = at.thread else { return };
        self.missing.add(self.dir, thread, &at.cause);
        // The next events leave frames that are not known.
        self.state.stack = CallStack::default();
        self.state.made_by.clear();
    }

    fn defers(&mut self, Ordered { event, .. }: &Ordered) -> bool {
        self.expects_times && self.state.times.waits_for(event, self.now)
    }

    fn is_full(&self) -> bool {
        self.state.is_full()
    }
}

impl Jvm {
    fn new(trace: &Trace, has_values: bool) -> Self {
        let follower = Follower::default();
        Self {
            follower: if has_values { follower.with_values() } else { follower },
            dir: trace.dir().into(),
            is_received: trace.manifest().is_some_and(is_received),
            wanted: (Selection::new(&Methods::default(), &[], &[]), 0),
            threads: HashMap::new(),
        }
    }

    /// Returns whether calls of other threads that ended before this one may still arrive: of threads that send again and again.
    fn may_have_ended_before(&self, call: &Waiting, now: Instant) -> bool {
        let is_behind = |thread: &OfThread| {
            let is_sending = thread.arrived.is_some_and(|at| now - at < LONGEST_PATIENCE);
            is_sending && thread.last_ns < call.end_ns()
        };
        self.is_received && self.threads.values().any(is_behind)
    }

    /// Finds the methods that are asked for, if there are new ones.
    fn select(&mut self, methods: &Methods, globs: &[Glob]) {
        let (wanted, known) = &mut self.wanted;
        if std::mem::replace(known, methods.len()) != methods.len() {
            *wanted = Selection::new(methods, globs, &[]);
        }
    }
}

impl EndedCalls {
    /// Asks for these calls.
    ///
    /// # Errors
    /// Calls are asked for that are only known when a trace is whole: those of a shape, or the longest.
    pub fn of(asked: Calls) -> Result<Self, Error> {
        let by = match (&asked.what, asked.order) {
            (What::Shape(_), _) => Some("shape"),
            (_, Order::Longest) => Some("duration"),
            _ if !asked.select.filter.is_all() => Some("other methods"),
            _ if asked.select.call.is_some() => Some("a call"),
            _ => None,
        };
        match by {
            Some(by) => Err(Error::NotSelectable { what: "calls that end now", by }),
            None => Ok(Self {
                asked,
                globs: None,
                jvms: BTreeMap::new(),
                waiting: Vec::new(),
                missing: MissingEvents::default(),
            }),
        }
    }

    /// The events that could not be read: calls are missing.
    #[must_use]
    pub const fn missing(&self) -> &MissingEvents {
        &self.missing
    }

    /// Returns the calls that have ended in traces that were [opened again](Traces::open_again) since the last call. With
    /// `is_last`, those that still wait, too.
    ///
    /// # Errors
    /// A pattern is the name of methods of several classes; or with `is_last`, it matches nothing.
    pub fn next(&mut self, traces: &mut Traces, is_last: bool) -> Result<NewlyEnded, Error> {
        self.find_methods(traces, is_last)?;
        let now = Instant::now();
        let mut ended = NewlyEnded::default();
        for trace in traces.iter_mut() {
            let mut files = trace.take_files();
            files.retain(|file| self.asked.select.threads.include(trace, file.id()));
            trace.set_files(files);
        }
        for trace in traces.iter() {
            let has_values = self.asked.has_values;
            let jvm = self.jvms.entry(trace.dir().to_path_buf());
            let jvm = jvm.or_insert_with(|| Jvm::new(trace, has_values));
            // As long as no method matches, no call can.
            let Some(globs) = &self.globs else { continue };
            jvm.select(trace.methods(), globs);
            let (methods, conditions) = (trace.methods(), &*self.asked.conditions);
            let mut to = Ended {
                asked: &self.asked,
                conditions: Conditions { methods, conditions },
                wanted: &jvm.wanted.0,
                dir: &jvm.dir,
                threads: &mut jvm.threads,
                thread: None,
                state: OfThread::default(),
                waiting: &mut self.waiting,
                missing: &mut self.missing,
                expects_times: has_clock(trace) && !is_last,
                now,
            };
            let passed = jvm.follower.pass_to(trace, &mut to);
            to.put_back();
            ended.is_any |= passed.events > 0;
            ended.damage.extend(passed.damage);
        }
        ended.is_more = self.jvms.values().any(|jvm| jvm.threads.values().any(OfThread::is_full));
        let due = self.take_due((!is_last).then_some(now));
        ended.calls = due.into_iter().filter_map(|call| found(traces, call)).collect();
        Ok(ended)
    }

    /// Finds the methods by their patterns, as soon as these match something: classes are loaded while a trace grows.
    fn find_methods(&mut self, traces: &Traces, is_last: bool) -> Result<(), Error> {
        if self.globs.is_none() {
            self.globs = match &self.asked.what {
                What::Methods(patterns) => match methods(patterns, traces.iter()) {
                    Err(Error::NoMethod { .. }) if !is_last => None,
                    globs => Some(globs?),
                },
                What::All | What::Shape(_) => Some(Vec::new()),
            };
        }
        Ok(())
    }

    /// Takes the calls that are due `now`, in order; all without it. While a thread has more to read, these are the ones that ended
    /// before its last event.
    fn take_due(&mut self, now: Option<Instant>) -> Vec<Waiting> {
        let threads = self.jvms.values().flat_map(|jvm| jvm.threads.values());
        let read_ns = threads.filter(|thread| thread.is_full()).map(|thread| thread.last_ns).min();
        let is_due = |call: &Waiting| match (read_ns, now) {
            (Some(read_ns), _) => call.end_ns() <= read_ns,
            (None, Some(now)) => {
                let waited = now - call.arrived;
                let jvm = self.jvms.get(&*call.dir);
                let may_come = || jvm.is_some_and(|jvm| jvm.may_have_ended_before(call, now));
                waited >= PATIENCE && (waited >= LONGEST_PATIENCE || !may_come())
            }
            (None, None) => true,
        };
        self.waiting.sort_by_key(Waiting::end_ns);
        // Calls come in order: none before another that ended earlier.
        let count = self.waiting.iter().rposition(is_due).map_or(0, |last| last + 1);
        let due: Vec<_> = self.waiting.drain(..count).collect();
        for call in &due {
            let jvm = self.jvms.get_mut(&*call.dir);
            if let Some(thread) = jvm.and_then(|jvm| jvm.threads.get_mut(&call.thread)) {
                thread.waiting -= call.weight();
            }
        }
        due
    }
}

/// A call with its place in the traces, unless its trace is gone.
fn found(traces: &Traces, waiting: Waiting) -> Option<FoundCall> {
    let Waiting { dir, thread, call, outcome, callers, test, .. } = waiting;
    let number = traces.iter().position(|trace| trace.dir() == &*dir)?;
    let file = traces.get(number)?.files().iter().position(|file| file.id() == thread)?;
    let thrown = call.unwound.as_ref();
    Some(FoundCall {
        trace: number,
        file,
        thread,
        number: call.number,
        method: call.method,
        times: times_of(&call),
        is_open: false,
        outcome: Some(outcome),
        thrown: thrown.map(|of| of.class.as_deref().unwrap_or("?").to_owned()),
        shape: None,
        calls: call.calls,
        depth: call.depth.get(),
        callers,
        test: test.map(|test| (*test).to_owned()),
        values: call.values,
        parts: None,
    })
}
