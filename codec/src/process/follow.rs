//! Follows a trace that grows.

use std::collections::{BTreeMap, HashSet};

use super::reached::Reached;
use super::{Cause, DataBreak, Metadata, Ordered, Router};
use crate::format::marks::Position;
use crate::read::{Content, EventKind, ThreadFile, Trace};
use crate::{MethodId, Result, ThreadId};

/// Passes what is new in a trace that grows, each time it is opened anew.
///
/// The events of a thread are in order, and each is passed once. What other threads did meanwhile comes before or after
/// them: no event [is certain](Ordered::is_certain). Memory: a few words for each method and thread.
///
/// ```no_run
/// # use flow_codec::process::{Follower, Router};
/// # use flow_codec::read::Trace;
/// # fn follow(router: &mut Router) -> flow_codec::Result<()> {
/// let mut follower = Follower::default();
/// loop {
///     follower.pass(&Trace::open("app.flowtrace".as_ref())?, router);
///     std::thread::sleep(std::time::Duration::from_secs(1));
/// }
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Follower {
    /// Methods whose names were passed.
    methods: HashSet<MethodId>,
    /// The names of threads that were passed.
    names: BTreeMap<ThreadId, String>,
    threads: BTreeMap<ThreadId, Followed>,
}

/// How far a thread was read.
#[derive(Debug, Default)]
struct Followed {
    reached: Reached,
    /// Its size then.
    size: Option<(u64, u64, u64)>,
    /// The last place of events that take no time, and how many of them were passed there.
    instants: (Position, u64),
}

impl Follower {
    /// Passes what has come since the last call: names, then events and breaks. Returns how many events and breaks.
    ///
    /// Threads that cannot be read are left out until they grow.
    pub fn pass(&mut self, trace: &Trace, router: &mut Router) -> u64 {
        for (id, method) in trace.methods.iter() {
            if self.methods.insert(id) {
                router.metadata(&Metadata::Method { id, info: &method.info });
            }
        }
        for (id, thread) in trace.threads.iter() {
            if self.names.get(&id) != Some(&thread.name) {
                self.names.insert(id, thread.name.clone());
                router.metadata(&Metadata::Thread { id, name: &thread.name });
            }
        }
        trace.files.iter().fold(0, |passed, file| {
            let thread = self.threads.entry(file.id).or_default();
            passed + thread.pass(file, router).unwrap_or(0)
        })
    }
}

impl Followed {
    fn pass(&mut self, file: &ThreadFile, router: &mut Router) -> Result<u64> {
        let size = file.size();
        if self.size.replace(size) == Some(size) {
            return Ok(0);
        }
        let end = Content::open(file)?.len();
        let mut timeline = file.timeline_from(self.reached.next())?;
        let (mut passed, mut at) = (0, (Position::default(), 0));
        while let Some(event) = timeline.next() {
            let Ok(mut event) = event else {
                self.reached.continue_at(timeline.offset());
                router.data_break(&DataBreak { thread: Some(file.id), cause: Cause::Damaged });
                passed += 1;
                continue;
            };
            match &mut event.kind {
                EventKind::Enter(_) => self.reached.continue_at(timeline.offset()),
                EventKind::Exit { count, .. } => {
                    let Position { offset, exits } = event.position;
                    match self.reached.pass_exits(offset, exits, *count) {
                        Some(new) => *count = new,
                        None => continue,
                    }
                }
                _ => {
                    at = (event.position, if at.0 == event.position { at.1 + 1 } else { 1 });
                    // Its events have not come yet, or it was passed before.
                    if event.position.offset.get() > end || at <= self.instants {
                        continue;
                    }
                    self.instants = at;
                }
            }
            router.pass(Ordered { thread: file.id, event, is_certain: false });
            passed += 1;
        }
        Ok(passed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::Offset;
    use crate::format::marks::{Mark, MarkEncoder};
    use crate::process::Processor;

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
            passed.push(follower.pass(&trace, &mut router));
            assert_eq!(follower.pass(&trace, &mut router), 0);
        }
        router.finish();
        let trace = Trace::open(dir.path()).unwrap();
        let mut at_once = Router::default();
        let all = at_once.add("log", Log::default());
        at_once.run(&trace);
        assert_eq!(router.get(&log).unwrap().0, at_once.get(&all).unwrap().0);
        assert_eq!(passed.iter().filter(|passed| **passed > 0).count(), 6, "{passed:?}");
    }
}
