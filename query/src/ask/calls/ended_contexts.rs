//! What threads worked for in traces that grow, each value once a thread no longer has it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

use flow_codec::format::roles::MethodRole;
use flow_codec::read::{EventKind, Stamp, Trace, When};
use flow_codec::{MethodId, ThreadId};

use super::contexts::Contexts;
use super::growing::{AwaitTimes, MissingEvents};
use crate::Error;
use crate::analysis::{CONTEXT, FindContexts, MadeTexts, ThreadContexts, roles_in};
use crate::open::{Traces, recorded_contexts};
use crate::process::{DataBreak, Follower, Metadata, Ordered, Receive};
use crate::select::has_clock;

/// Asks for the values of contexts in traces that grow, each once a thread no longer has it. What the thread handed to others is not
/// followed: it may not have run yet.
#[derive(Debug)]
pub struct EndedContexts {
    asked: Contexts,
    jvms: BTreeMap<PathBuf, Jvm>,
    missing: MissingEvents,
    /// The keys that had values.
    keys: BTreeSet<Rc<str>>,
}

/// A value that a thread had.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndedContext {
    /// The number of its trace.
    pub trace: usize,
    /// The key.
    pub key: Rc<str>,
    /// The value.
    pub value: Rc<str>,
    /// The thread.
    pub thread: ThreadId,
    /// The number of its first call then.
    pub call: u64,
    /// From when the thread had the value.
    pub begun: When,
    /// Until when.
    pub ended: When,
    /// How many calls the thread made then.
    pub calls: u64,
    /// How many of them exceptions ended.
    pub thrown: u64,
}

/// The values that threads no longer have.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct NewContexts {
    /// The values.
    pub contexts: Vec<EndedContext>,
    /// Whether anything was new, of these values or others.
    pub is_any: bool,
    /// The errors of threads that cannot be read now.
    pub damage: Vec<flow_codec::Error>,
}

/// What is known about a JVM.
#[derive(Debug, Default)]
struct Jvm {
    follower: Follower,
    /// The roles of methods, and how many methods there were then.
    roles: (Rc<HashMap<MethodId, MethodRole>>, usize),
    made: MadeTexts,
    threads: HashMap<ThreadId, OfThread>,
}

#[derive(Debug)]
struct OfThread {
    contexts: ThreadContexts,
    last: Option<Stamp>,
    calls: u64,
    times: AwaitTimes,
    /// Whether events came in this pass.
    has_new: bool,
}

/// Receives the events of a trace.
struct Follow<'a> {
    trace: &'a Trace,
    find: FindContexts<'a>,
    threads: &'a mut HashMap<ThreadId, OfThread>,
    /// The thread whose events are passed: what it works for is in `find` meanwhile.
    thread: Option<(ThreadId, OfThread)>,
    missing: &'a mut MissingEvents,
    /// Whether an event waits until its time is known.
    expects_times: bool,
    now: Instant,
}

impl Follow<'_> {
    /// Puts the state of the thread whose events were passed back to those of the others.
    fn put_back(&mut self) {
        if let Some((thread, mut of_thread)) = self.thread.take() {
            of_thread.contexts = self.find.change_thread(ThreadContexts::of(thread));
            self.threads.insert(thread, of_thread);
        }
    }

    /// Ends threads: those that have ended, or with `all` each.
    fn end(&mut self, all: bool) {
        let threads = self.trace.threads();
        let has_ended = |thread: ThreadId, of: &OfThread| {
            let end_ns = threads.get(thread).and_then(|thread| thread.end_ns);
            // Its last events may have come after the news of its end.
            end_ns.is_some() && !of.has_new && !of.times.is_waiting()
        };
        let ended = self.threads.extract_if(|thread, of| all || has_ended(*thread, of));
        for (thread, of_thread) in ended.collect::<Vec<_>>() {
            self.find.change_thread(of_thread.contexts);
            match of_thread.last {
                Some(last) => self.find.end_thread(last),
                None => self.find.begin_thread(thread),
            }
        }
    }
}

impl Receive for Follow<'_> {
    fn metadata(&mut self, _: &Metadata<'_>) {}

    fn begin(&mut self, thread: ThreadId) {
        self.put_back();
        let new = || OfThread {
            contexts: ThreadContexts::of(thread),
            last: None,
            calls: 0,
            times: AwaitTimes::default(),
            has_new: false,
        };
        let mut of_thread = self.threads.remove(&thread).unwrap_or_else(new);
        let contexts = std::mem::replace(&mut of_thread.contexts, ThreadContexts::of(thread));
        self.find.change_thread(contexts);
        self.thread = Some((thread, of_thread));
    }

    fn event(&mut self, Ordered { mut event, .. }: Ordered) {
        let Some((_, of_thread)) = &mut self.thread else { return };
        of_thread.times.passed();
        of_thread.has_new = true;
        event.calls = of_thread.calls;
        of_thread.calls += u64::from(matches!(event.kind, EventKind::Enter(_)));
        let (position, time) = (event.position, event.time);
        of_thread.last = Some(Stamp { position, time, calls: of_thread.calls });
        event.visit(&mut self.find);
    }

    fn data_break(&mut self, at: &DataBreak) {
        let Some(thread) = at.thread else { return };
        self.missing.add(self.trace.dir(), thread, &at.cause);
        // The next events leave frames that are not known.
        self.find.begin_thread(thread);
    }

    fn defers(&mut self, Ordered { event, .. }: &Ordered) -> bool {
        let Some((_, of_thread)) = &mut self.thread else { return false };
        self.expects_times && of_thread.times.waits_for(event, self.now)
    }

    fn is_full(&self) -> bool {
        false
    }
}

impl EndedContexts {
    /// Asks for these values.
    #[must_use]
    pub fn of(asked: Contexts) -> Self {
        Self {
            asked,
            jvms: BTreeMap::new(),
            missing: MissingEvents::default(),
            keys: BTreeSet::new(),
        }
    }

    /// The events that could not be read: values are missing.
    #[must_use]
    pub const fn missing(&self) -> &MissingEvents {
        &self.missing
    }

    /// Checks at the end that contexts were recorded, and that the key had a value.
    ///
    /// # Errors
    /// Contexts were not recorded, or there is no such key.
    pub fn expect_any(&self, traces: &Traces) -> Result<(), Error> {
        for trace in traces.iter() {
            recorded_contexts(trace)?;
        }
        self.asked.expect_key(&self.keys)
    }

    /// Returns the values that have ended in traces that were [opened again](Traces::open_again) since the last call, in the order
    /// of their ends. With `is_last`, those that threads still have, too.
    pub fn next(&mut self, traces: &Traces, is_last: bool) -> NewContexts {
        let mut new = NewContexts::default();
        for (number, trace) in traces.iter().enumerate() {
            let jvm = self.jvms.entry(trace.dir().to_path_buf());
            let jvm = jvm.or_insert_with(|| Jvm {
                follower: Follower::default().with_values(),
                ..Jvm::default()
            });
            jvm.threads.values_mut().for_each(|of_thread| of_thread.has_new = false);
            let methods = trace.methods();
            if jvm.roles.1 != methods.len() {
                jvm.roles = (roles_in(trace, CONTEXT).into(), methods.len());
            }
            let find = FindContexts::new(methods, jvm.roles.0.clone());
            let mut to = Follow {
                trace,
                find: find.with_made(std::mem::take(&mut jvm.made)),
                threads: &mut jvm.threads,
                thread: None,
                missing: &mut self.missing,
                expects_times: has_clock(trace) && !is_last,
                now: Instant::now(),
            };
            let passed = jvm.follower.pass_to(trace, &mut to);
            to.put_back();
            to.end(is_last);
            let (mut spans, made) = to.find.end();
            jvm.made = made;
            new.is_any |= passed.events > 0;
            new.damage.extend(passed.damage);
            self.keys.extend(spans.iter().map(|span| span.key.clone()));
            spans.retain(|span| self.asked.key.as_ref().is_none_or(|key| **key == *span.key));
            new.contexts.extend(spans.into_iter().map(|span| EndedContext {
                trace: number,
                key: span.key,
                value: span.value,
                thread: span.thread,
                call: span.calls.start,
                begun: span.begun,
                ended: span.ended,
                calls: span.calls.end.saturating_sub(span.calls.start),
                thrown: span.thrown,
            }));
        }
        new.contexts.sort_by_key(|context| context.ended.estimate_ns);
        new
    }
}
