//! Passes events, metadata and breaks to processors.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};

use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{EventKind, Merged, MergedItem, TimelineEvent, Trace};
use flow_codec::{MethodId, ThreadId};

/// An event of a thread, at its place among those of all threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ordered {
    /// The thread.
    pub thread: ThreadId,
    /// What happened, and when.
    pub event: TimelineEvent,
    /// Whether all events of other threads that came before it certainly happened before it.
    pub is_certain: bool,
}

/// What has no place in the order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Metadata<'a> {
    /// A method has this number.
    Method {
        /// The number.
        id: MethodId,
        /// The method.
        info: &'a MethodInfo,
    },
    /// A thread has this name.
    Thread {
        /// The thread.
        id: ThreadId,
        /// Its name; the last one counts.
        name: &'a str,
    },
}

/// A place where events are missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataBreak {
    /// The thread whose events are missing; `None` for all threads.
    pub thread: Option<ThreadId>,
    /// Why.
    pub cause: Cause,
}

/// Why events are missing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// They were not recorded, because the program was faster than what takes its events.
    Lost {
        /// How many, if known.
        events: Option<u64>,
    },
    /// Recording was suspended. All frames were left before. It comes when recording continues, or when nothing follows.
    Suspended,
    /// They cannot be read.
    Damaged,
    /// They were not read, to keep up with a program.
    Skipped {
        /// How many bytes.
        bytes: u64,
    },
}

/// Consumes the events of all threads.
pub trait Processor {
    /// An event, the next one in the order.
    fn event(&mut self, ordered: &Ordered);

    /// A name. It comes before the first event that needs it.
    fn metadata(&mut self, metadata: &Metadata<'_>) {
        let _ = metadata;
    }

    /// Events are missing between those before and after this.
    ///
    /// After [`Cause::Lost`] the next events of the thread leave and enter the frames that changed meanwhile, so a stack
    /// stays right. After [`Cause::Suspended`] it is empty. After [`Cause::Damaged`] and
    /// [`Cause::Skipped`] it is not known.
    fn data_break(&mut self, at: &DataBreak) {
        let _ = at;
    }

    /// Nothing follows.
    fn finish(&mut self) {}
}

/// Receives what a [`Follower`](super::Follower) reads: a [`Router`], or a question that needs the events as they are.
pub(crate) trait Receive {
    /// A name. It comes before the first event that needs it.
    fn metadata(&mut self, metadata: &Metadata<'_>);

    /// Events of a thread follow.
    fn begin(&mut self, thread: ThreadId) {
        let _ = thread;
    }

    /// The next event of a thread, also one that is a break.
    fn event(&mut self, ordered: Ordered);

    /// Events are missing.
    fn data_break(&mut self, at: &DataBreak);

    /// Returns whether an event is to be read again later, with those after it.
    fn defers(&mut self, ordered: &Ordered) -> bool {
        let _ = ordered;
        false
    }

    /// Returns whether this pass has enough events of the thread that was begun last. The next one continues after them.
    fn is_full(&self) -> bool {
        false
    }
}

impl Receive for Router {
    fn metadata(&mut self, metadata: &Metadata<'_>) {
        Self::metadata(self, metadata);
    }

    fn event(&mut self, ordered: Ordered) {
        self.pass(ordered);
    }

    fn data_break(&mut self, at: &DataBreak) {
        Self::data_break(self, at);
    }
}

/// A processor, in the form that the router needs to return it later.
trait Stored: Processor {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<P: Processor + 'static> Stored for P {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// A processor of a [`Router`].
#[derive(Debug)]
pub struct Handle<P> {
    index: usize,
    of: PhantomData<P>,
}

/// A processor that panicked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// Its name.
    pub name: String,
    /// What it said.
    pub panic: String,
    /// How many events it got before.
    pub events: u64,
}

/// Passes each message to all processors, in the order in which they were added.
#[derive(Default)]
pub struct Router {
    processors: Vec<Option<(String, Box<dyn Stored>)>>,
    failed: Vec<Failed>,
    events: u64,
    /// Threads whose recording is suspended.
    suspended: BTreeSet<ThreadId>,
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.processors.iter().flatten().map(|(name, _)| name).collect();
        f.debug_struct("Router").field("processors", &names).finish_non_exhaustive()
    }
}

impl Router {
    /// Adds a processor. `name` is for messages.
    pub fn add<P: Processor + 'static>(&mut self, name: &str, processor: P) -> Handle<P> {
        self.processors.push(Some((name.to_owned(), Box::new(processor))));
        Handle { index: self.processors.len() - 1, of: PhantomData }
    }

    /// A processor, unless it was removed.
    #[must_use]
    pub fn get<P: Processor + 'static>(&self, handle: &Handle<P>) -> Option<&P> {
        let (_, processor) = self.processors.get(handle.index)?.as_ref()?;
        processor.as_any().downcast_ref()
    }

    /// A processor, to take from it what it has found, unless it was removed.
    pub(crate) fn get_mut<P: Processor + 'static>(&mut self, handle: &Handle<P>) -> Option<&mut P> {
        let (_, processor) = self.processors.get_mut(handle.index)?.as_mut()?;
        // Of the processor, not of its box.
        (**processor).as_any_mut().downcast_mut()
    }

    /// The processors that were removed because they panicked.
    #[must_use]
    pub fn failed(&self) -> &[Failed] {
        &self.failed
    }

    /// Passes an event.
    pub(crate) fn event(&mut self, ordered: &Ordered) {
        self.each(|processor| processor.event(ordered));
        self.events += 1;
    }

    /// Passes a name.
    pub(crate) fn metadata(&mut self, metadata: &Metadata<'_>) {
        self.each(|processor| processor.metadata(metadata));
    }

    /// Passes a break.
    pub(crate) fn data_break(&mut self, at: &DataBreak) {
        self.each(|processor| processor.data_break(at));
    }

    /// Nothing follows.
    pub fn finish(&mut self) {
        for thread in std::mem::take(&mut self.suspended) {
            self.data_break(&DataBreak { thread: Some(thread), cause: Cause::Suspended });
        }
        self.each(|processor| processor.finish());
    }

    fn each(&mut self, mut pass: impl FnMut(&mut dyn Processor)) {
        for place in &mut self.processors {
            let Some((name, processor)) = place else { continue };
            // What it leaves is not used again.
            let passed = catch_unwind(AssertUnwindSafe(|| pass(&mut **processor)));
            if let Err(panic) = passed {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let panic = text.unwrap_or("a panic without a text").to_owned();
                self.failed.push(Failed { name: std::mem::take(name), panic, events: self.events });
                *place = None;
            }
        }
    }

    /// Passes a whole trace: its names, its events in one order, and the end.
    pub fn run(&mut self, trace: &Trace) {
        self.pass_names(trace);
        self.pass_events(trace, trace.merged());
        self.finish();
    }

    /// Passes the names of a trace.
    pub(crate) fn pass_names(&mut self, trace: &Trace) {
        for (id, method) in trace.methods().iter() {
            self.metadata(&Metadata::Method { id, info: method.info() });
        }
        for (id, thread) in trace.threads().iter() {
            self.metadata(&Metadata::Thread { id, name: &thread.name });
        }
    }

    /// Passes an event of a timeline, or the break that it is.
    pub(super) fn pass(&mut self, ordered: Ordered) {
        let cause = match &ordered.event.kind {
            EventKind::Gap { events } => Cause::Lost { events: events.map(NonZeroU64::get) },
            // Its frames are left first.
            EventKind::Pause => {
                self.suspended.insert(ordered.thread);
                return;
            }
            EventKind::Resume if self.suspended.remove(&ordered.thread) => Cause::Suspended,
            EventKind::Resume => return,
            _ => return self.event(&ordered),
        };
        self.data_break(&DataBreak { thread: Some(ordered.thread), cause });
    }

    /// Passes events of a trace that are in one order, and the breaks between them.
    pub(crate) fn pass_events(&mut self, trace: &Trace, merged: Merged<'_>) {
        let id = |thread: usize| trace.files().get(thread).map(|file| file.id());
        for item in merged {
            match item {
                MergedItem::Event { thread, event, is_certain } => {
                    let Some(thread) = id(thread) else { continue };
                    self.pass(Ordered { thread, event, is_certain });
                }
                MergedItem::Damage { thread, .. } => {
                    self.data_break(&DataBreak { thread: id(thread), cause: Cause::Damaged });
                }
                MergedItem::End { .. } => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroU64;
    use std::path::Path;

    use super::*;
    use flow_codec::Offset;
    use flow_codec::format::marks::{Mark, MarkEncoder, Position};

    /// Writes down what it gets.
    #[derive(Default)]
    struct Log {
        lines: Vec<String>,
        panics_at: Option<usize>,
    }

    impl Log {
        fn add(&mut self, line: String) {
            assert!(self.panics_at != Some(self.lines.len()), "enough");
            self.lines.push(line);
        }
    }

    impl Processor for Log {
        fn event(&mut self, ordered: &Ordered) {
            self.add(format!("{} {:?}", ordered.thread, ordered.event.kind));
        }

        fn metadata(&mut self, metadata: &Metadata<'_>) {
            self.add(format!("{metadata:?}"));
        }

        fn data_break(&mut self, at: &DataBreak) {
            self.add(format!("{:?} {:?}", at.thread.map(ThreadId::get), at.cause));
        }

        fn finish(&mut self) {
            self.add("finish".to_owned());
        }
    }

    /// Enter 1, three events are lost, enter 2, exit; a suspension; enter 3.
    fn trace(dir: &Path) -> Trace {
        let events = [0x81, 0x82, 0x01, 0x83];
        fs::write(dir.join("thread-7.flow"), events).unwrap();
        let mut marks = Vec::new();
        let mut encoder = MarkEncoder::with_header();
        let at = |offset| Position { offset: Offset::new(offset), exits: 0 };
        encoder.encode(at(1), &Mark::Gap { events: NonZeroU64::new(3) }, &mut marks);
        encoder.encode(at(3), &Mark::Paused, &mut marks);
        encoder.encode(at(3), &Mark::Resumed, &mut marks);
        encoder.finish(&mut marks);
        fs::write(dir.join("thread-7.marks"), marks).unwrap();
        let line =
            r#"{"event":"start","id":7,"name":"main","daemon":false,"virtual":false,"at_ns":1}"#;
        fs::write(dir.join("threads.jsonl"), format!("{line}\n")).unwrap();
        Trace::open(dir).unwrap()
    }

    #[test]
    fn breaks_come_exactly_between_the_events_that_they_separate() {
        let dir = tempfile::tempdir().unwrap();
        let trace = trace(dir.path());
        let mut router = Router::default();
        let log = router.add("log", Log::default());
        router.run(&trace);
        let lines = router.get(&log).unwrap().lines.clone();
        let kinds: Vec<_> =
            lines.iter().map(|line| line.split(['(', '{']).next().unwrap().trim()).collect();
        assert_eq!(
            kinds,
            ["Thread", "7 Enter", "Some", "7 Enter", "7 Exit", "Some", "7 Enter", "finish"],
            "{lines:?}"
        );
        assert_eq!(lines[2], "Some(7) Lost { events: Some(3) }");
        assert_eq!(lines[5], "Some(7) Suspended");
        assert_eq!(router.events, 4);
    }

    #[test]
    fn a_processor_that_panics_is_removed_and_the_others_go_to_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let trace = trace(dir.path());
        let mut alone = Router::default();
        let log = alone.add("log", Log::default());
        alone.run(&trace);
        let expected = alone.get(&log).unwrap().lines.clone();
        for at in 0..expected.len() {
            let mut router = Router::default();
            let before = router.add("before", Log::default());
            let failing = router.add("failing", Log { panics_at: Some(at), ..Log::default() });
            let after = router.add("after", Log::default());
            router.run(&trace);
            assert_eq!(router.get(&before).unwrap().lines, expected);
            assert_eq!(router.get(&after).unwrap().lines, expected);
            assert!(router.get(&failing).is_none());
            let [failed] = router.failed() else { panic!("{:?}", router.failed()) };
            assert_eq!((&*failed.name, &*failed.panic), ("failing", "enough"));
            assert!(failed.events <= 4);
        }
    }
}
