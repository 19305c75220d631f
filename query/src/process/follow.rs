//! Follows a trace that grows.

use std::collections::{BTreeMap, HashSet};

use super::reached::Reached;
use super::router::Receive;
use super::{Cause, DataBreak, Metadata, Ordered, Router};
use crate::tree::LazyTree;
use flow_codec::format::marks::Position;
use flow_codec::read::{Content, EventKind, ThreadFile, TimelineEvent, Trace, When};
use flow_codec::{Error, MethodId, Offset, Result, ThreadId};

/// Of a longer thread, the frames that are open where a follower begins are not searched for.
const SEARCHED_BYTES: u64 = 256 << 20;

/// Passes what is new in a trace that grows, each time it is opened [again](Trace::open_again).
///
/// The events of a thread are in order, and each is passed once. What other threads did meanwhile comes before or after
/// them: no event [is certain](Ordered::is_certain). Memory: a few words for each method and thread.
///
/// ```no_run
/// # use flow_query::process::{Follower, Router};
/// # use flow_codec::read::Trace;
/// # fn follow(router: &mut Router) -> flow_codec::Result<()> {
/// let mut follower = Follower::default();
/// let mut trace = Trace::open("app.flowtrace")?;
/// loop {
///     follower.pass(&trace, router);
///     std::thread::sleep(std::time::Duration::from_secs(1));
///     trace = Trace::open_again(trace)?;
/// }
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Follower {
    /// Methods whose names were passed, and how many the trace had then.
    methods: HashSet<MethodId>,
    method_count: usize,
    /// The names of threads that were passed.
    names: BTreeMap<ThreadId, String>,
    threads: BTreeMap<ThreadId, Followed>,
    /// How many new bytes are read in a pass, if not all.
    most_bytes: Option<u64>,
    /// How many threads had new events in the last pass, and share these bytes.
    growing: u64,
    has_values: bool,
}

/// What a [`Follower`] passed.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Passed {
    /// How many events and breaks.
    pub events: u64,
    /// How many bytes of events were new, and how many of them were read.
    pub bytes: u64,
    /// The bytes that were read.
    pub read_bytes: u64,
    /// The errors of threads that cannot be read. They are left out until they grow.
    pub damage: Vec<Error>,
}

/// How far a thread was read.
#[derive(Debug, Default)]
struct Followed {
    reached: Reached,
    /// Its size then.
    size: Option<(u64, u64, u64)>,
}

impl Follower {
    /// Creates a follower that keeps up with threads of any speed: a pass reads about `most_bytes`, an equal share in each
    /// thread that had new events in the pass before. If more are new in a thread, only about the last of them are read,
    /// after a break for [those before](Cause::Skipped).
    #[must_use]
    pub(crate) fn of_newest(most_bytes: u64) -> Self {
        Self { most_bytes: Some(most_bytes), ..Self::default() }
    }

    /// Passes the values of calls, too.
    #[must_use]
    pub fn with_values(self) -> Self {
        Self { has_values: true, ..self }
    }

    /// Goes to the end of what was recorded until now: passes names and, for each thread, entries of the frames that are
    /// open there, without their times. If these are not known, because the thread is too large to search for them, a
    /// [break](Cause::Skipped) comes instead. To be called before the first pass.
    pub(crate) fn skip_to_end(&mut self, trace: &Trace, router: &mut Router) -> Passed {
        self.pass_names(trace, router);
        for file in trace.files() {
            let thread = self.threads.entry(file.id()).or_default();
            // What cannot be read is an error of the pass.
            let _ = thread.skip_to_end(file, router);
        }
        self.pass(trace, router)
    }

    /// Passes what has come since the last call: names, then events and breaks.
    pub fn pass(&mut self, trace: &Trace, router: &mut Router) -> Passed {
        self.pass_to(trace, router)
    }

    /// Passes what has come since the last call to another receiver than a router.
    pub(crate) fn pass_to(&mut self, trace: &Trace, to: &mut impl Receive) -> Passed {
        self.pass_names(trace, to);
        let mut passed = Passed::default();
        let share = self.most_bytes.map(|most| most / self.growing.max(1));
        let mut growing = 0;
        for file in trace.files() {
            let thread = self.threads.entry(file.id()).or_default();
            let bytes_before = passed.bytes;
            if let Err(error) = thread.pass(file, (share, self.has_values), to, &mut passed) {
                passed.damage.push(error);
            }
            growing += u64::from(passed.bytes > bytes_before);
        }
        self.growing = growing;
        passed
    }

    fn pass_names(&mut self, trace: &Trace, to: &mut impl Receive) {
        if std::mem::replace(&mut self.method_count, trace.methods().len()) != trace.methods().len()
        {
            for (id, method) in trace.methods().iter() {
                if self.methods.insert(id) {
                    to.metadata(&Metadata::Method { id, info: method.info() });
                }
            }
        }
        for (id, thread) in trace.threads().iter() {
            if self.names.get(&id) != Some(&thread.name) {
                self.names.insert(id, thread.name.clone());
                to.metadata(&Metadata::Thread { id, name: &thread.name });
            }
        }
    }
}

impl Followed {
    fn skip_to_end(&mut self, file: &ThreadFile, router: &mut Router) -> Result<()> {
        self.reached.follow(file);
        let content = Content::open(file)?;
        if content.len() > SEARCHED_BYTES {
            return self.skip(file, &content, SEARCHED_BYTES, router);
        }
        let end = Offset::new(content.len());
        let mut tree = LazyTree::open_until(file, content, end, &Default::default())?;
        // The last run of exits may become longer, so not to the very end.
        let last = tree.index().and_then(|index| index.intervals().last());
        let Some(last) = last.map(|interval| interval.start) else {
            return Ok(());
        };
        for method in tree.open_methods(last)? {
            let event = TimelineEvent {
                position: Position::before(last.offset),
                time: When::UNKNOWN,
                calls: 0,
                number: None,
                kind: EventKind::Enter(method),
            };
            router.pass(Ordered { thread: file.id(), event, is_certain: false });
        }
        self.reached.continue_at(last.offset);
        Ok(())
    }

    /// Skips all but about the last `bytes`.
    fn skip(
        &mut self,
        file: &ThreadFile,
        content: &Content,
        bytes: u64,
        to: &mut impl Receive,
    ) -> Result<()> {
        let Some(from) = file.recent_record(content, bytes)? else { return Ok(()) };
        let bytes = from.get().saturating_sub(self.reached.next().get());
        self.reached.continue_at(from);
        let cause = Cause::Skipped { bytes };
        to.data_break(&DataBreak { thread: Some(file.id()), cause });
        Ok(())
    }

    fn pass(
        &mut self,
        file: &ThreadFile,
        (most_bytes, has_values): (Option<u64>, bool),
        to: &mut impl Receive,
        passed: &mut Passed,
    ) -> Result<()> {
        let size = file.size();
        if self.size.replace(size) == Some(size) {
            return Ok(());
        }
        to.begin(file.id());
        if to.is_full() {
            self.size = None;
            return Ok(());
        }
        let content = Content::open(file)?;
        let end = content.len();
        let removed = self.reached.follow(file);
        if removed > 0 {
            let cause = Cause::Skipped { bytes: removed };
            to.data_break(&DataBreak { thread: Some(file.id()), cause });
            passed.events += 1;
            passed.bytes = passed.bytes.saturating_add(removed);
        }
        let new = |reached: &Reached| end.saturating_sub(reached.next().get());
        passed.bytes = passed.bytes.saturating_add(new(&self.reached));
        if let Some(most) = most_bytes.filter(|most| new(&self.reached) > *most) {
            self.skip(file, &content, most, to)?;
            passed.events += 1;
        }
        passed.read_bytes = passed.read_bytes.saturating_add(new(&self.reached));
        let timeline = file.timeline_from(self.reached.next())?;
        let timeline = if has_values { timeline.with_values() } else { timeline };
        let mut events = self.reached.new_events(timeline, end);
        while let Some(event) = events.next() {
            match event {
                Ok(event) => {
                    let ordered = Ordered { thread: file.id(), event, is_certain: false };
                    if to.defers(&ordered) {
                        events.unread();
                        self.size = None;
                        break;
                    }
                    to.event(ordered);
                }
                Err(_) => {
                    let (thread, cause) = (Some(file.id()), Cause::Damaged);
                    to.data_break(&DataBreak { thread, cause });
                }
            }
            passed.events += 1;
            if to.is_full() {
                self.size = None;
                break;
            }
        }
        self.reached = events.reached();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::process::Processor;
    use flow_codec::Offset;
    use flow_codec::format::marks::{Mark, MarkEncoder};

    /// Writes down what it gets, one line for each exit.
    #[derive(Default)]
    struct Log(Vec<String>);

    impl Processor for Log {
        fn event(&mut self, ordered: &Ordered) {
            let line = format!("{} {:?}", ordered.thread, ordered.event.kind);
            let (line, times) = match ordered.event.kind {
                EventKind::Exit { count, .. } => ("exit".to_owned(), count.get()),
                _ => (line, 1),
            };
            self.0.extend((0..times).map(|_| line.clone()));
        }

        fn data_break(&mut self, at: &DataBreak) {
            self.0.push(format!("{:?}", at.cause));
        }
    }

    fn write_marks(dir: &Path, marks: &[(u64, u64, Mark)]) {
        let mut bytes = Vec::new();
        let mut encoder = MarkEncoder::with_header();
        for (offset, exits, mark) in marks {
            let at = Position { offset: Offset::new(*offset), exits: *exits };
            encoder.encode(at, mark, &mut bytes);
        }
        encoder.finish(&mut bytes);
        fs::write(dir.join("thread-7.marks"), bytes).unwrap();
    }

    #[test]
    fn each_event_is_passed_once_however_the_thread_grows() {
        let dir = tempfile::tempdir().unwrap();
        let note = |text: &str| Mark::Note(text.into());
        // Enter 1, 2; both are left, with two notes between; enter 3; a run of exits that grows.
        let stages: [(&[u8], usize); 7] = [
            (&[0x81], 0),
            (&[0x81, 0x82], 1),
            (&[0x81, 0x82, 0x00], 1),
            (&[0x81, 0x82, 0x00], 2),
            (&[0x81, 0x82, 0x01], 3),
            // These marks are of events that come later.
            (&[0x81, 0x82, 0x01], 5),
            (&[0x81, 0x82, 0x01, 0x83, 0x84, 0x01], 5),
        ];
        let marks = [
            (1, 0, note("first")),
            (2, 1, note("second")),
            (2, 1, note("third")),
            (4, 0, note("fourth")),
            (4, 0, Mark::Paused),
        ];
        let mut router = Router::default();
        let log = router.add("log", Log::default());
        let mut follower = Follower::default();
        let mut passed = Vec::new();
        for (events, known) in stages {
            fs::write(dir.path().join("thread-7.flow"), events).unwrap();
            write_marks(dir.path(), &marks[..known]);
            let trace = Trace::open(dir.path()).unwrap();
            passed.push(follower.pass(&trace, &mut router).events);
            assert_eq!(follower.pass(&trace, &mut router).events, 0);
        }
        router.finish();
        let trace = Trace::open(dir.path()).unwrap();
        let mut at_once = Router::default();
        let all = at_once.add("log", Log::default());
        at_once.run(&trace);
        assert_eq!(router.get(&log).unwrap().0, at_once.get(&all).unwrap().0);
        assert_eq!(passed.iter().filter(|passed| **passed > 0).count(), 6, "{passed:?}");
    }

    #[test]
    fn a_break_waits_for_the_exits_before_it() {
        // In a trace that is received, marks may come before the run of exits in which they are.
        let dir = tempfile::tempdir().unwrap();
        let marks =
            [(2, 2, Mark::Paused), (2, 3, Mark::Resumed), (4, 0, Mark::Note("later".into()))];
        let mut router = Router::default();
        let log = router.add("log", Log::default());
        let mut follower = Follower::default();
        let mut pass = |events: &[u8], known: usize| {
            fs::write(dir.path().join("thread-7.flow"), events).unwrap();
            write_marks(dir.path(), &marks[..known]);
            follower.pass(&Trace::open(dir.path()).unwrap(), &mut router);
            std::mem::take(&mut router.get_mut(&log).unwrap().0)
        };
        let enter = |id: u64| format!("7 Enter(MethodId({id}))");
        let suspended = format!("{:?}", Cause::Suspended);
        assert_eq!(pass(&[0x81, 0x82], 2), [enter(1), enter(2)]);
        // One exit, and then two more: the recording was suspended after the second one.
        assert_eq!(pass(&[0x81, 0x82, 0x00], 2), ["exit"]);
        assert_eq!(pass(&[0x81, 0x82, 0x02], 3), ["exit", "exit", &suspended]);
        assert_eq!(pass(&[0x81, 0x82, 0x02, 0x83], 3).first(), Some(&enter(3)));
    }

    #[test]
    fn from_the_end_on_open_frames_come_first() {
        let dir = tempfile::tempdir().unwrap();
        let write = |events: &[u8]| {
            fs::write(dir.path().join("thread-7.flow"), events).unwrap();
            Trace::open(dir.path()).unwrap()
        };
        let mut router = Router::default();
        let log = router.add("log", Log::default());
        let mut follower = Follower::of_newest(4);
        follower.skip_to_end(&write(&[0x81, 0x82, 0x00]), &mut router);
        let lines = |router: &mut Router| std::mem::take(&mut router.get_mut(&log).unwrap().0);
        let enter = |id: u64| format!("7 Enter(MethodId({id}))");
        assert_eq!(lines(&mut router), [enter(1), enter(2), "exit".to_owned()]);
        let passed = follower.pass(&write(&[0x81, 0x82, 0x00, 0x83]), &mut router);
        assert_eq!((passed.events, passed.bytes, passed.read_bytes), (1, 2, 2));
        assert_eq!(lines(&mut router), [enter(3)]);
        // Of more, the end.
        let more = [0x84, 0x00].repeat(3);
        let all = [&[0x81, 0x82, 0x00, 0x83][..], &more].concat();
        let passed = follower.pass(&write(&all), &mut router);
        assert_eq!((passed.bytes, passed.read_bytes), (6, 2));
        let skipped = format!("{:?}", Cause::Skipped { bytes: 4 });
        assert_eq!(lines(&mut router), [skipped, enter(4), "exit".to_owned()]);
    }

    #[test]
    fn threads_that_grow_share_what_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let write = |thread: u64, calls: usize| {
            let path = dir.path().join(format!("thread-{thread}.flow"));
            fs::write(path, [0x84, 0x00].repeat(calls)).unwrap();
        };
        let mut follower = Follower::of_newest(40);
        let mut router = Router::default();
        let mut pass = |calls: [usize; 3]| {
            (1..).zip(calls).for_each(|(thread, calls)| write(thread, calls));
            let passed = follower.pass(&Trace::open(dir.path()).unwrap(), &mut router);
            (passed.bytes, passed.read_bytes)
        };
        assert_eq!(pass([10, 10, 1]), (42, 42));
        // About a third for each, which is 13 bytes; then about a half. An exit at the end counts again: its run may be longer now.
        assert_eq!(pass([110, 110, 1]), (402, 24));
        assert_eq!(pass([210, 110, 1]), (201, 18));
        assert_eq!(pass([310, 110, 1]), (201, 38));
    }
}
