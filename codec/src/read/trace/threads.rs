//! Names, starts and ends of threads.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::format::container::StreamKind;
use crate::format::ids;
use crate::format::threads::ThreadLine;
use crate::store::{Place, for_each_line};
use crate::{Error, ThreadId};

/// What `threads.jsonl` contains about a thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Thread {
    /// Its last name; empty if it has none, or if the file has no line with it.
    pub name: String,
    /// The names it had before, oldest first.
    pub earlier_names: Vec<String>,
    /// Whether it is a daemon.
    pub daemon: bool,
    /// Whether it is a virtual thread.
    pub is_virtual: bool,
    /// When its first event was recorded, since the start of the trace.
    pub start_ns: Option<u64>,
    /// When it ended, since the start of the trace.
    pub end_ns: Option<u64>,
    /// Processor time in its whole life, if that was known when it ended.
    pub cpu_ns: Option<u64>,
    /// The frames it had entered before recording began.
    pub open: OpenFrames,
    /// How many frames it had entered before a change of the filter selected their methods.
    pub unselected: u64,
}

/// The frames of a thread that were entered before recording began and still open when it did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct OpenFrames {
    /// The innermost ones as `pkg.Outer$Inner.method(I)V`, outermost first.
    pub frames: Vec<String>,
    /// How many frames outside these are not named.
    pub omitted: u64,
}

impl OpenFrames {
    /// How many frames there are, named or not.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.omitted.saturating_add(self.frames.len() as u64)
    }
}

/// The threads of a trace by id.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    /// Sorted by id.
    known: Vec<(ThreadId, Thread)>,
    /// While lines are read: threads whose lines came after those of threads with larger ids.
    late: BTreeMap<ThreadId, Thread>,
}

impl Threads {
    /// Reads `threads.jsonl` of a trace. A missing file counts as empty, and a truncated last line is
    /// ignored. Errors are added to `damage`.
    pub(crate) fn read(place: &Place, damage: &mut Vec<Error>) -> Self {
        let mut threads = Self::default();
        for_each_line(place.text(StreamKind::Threads), damage, |line| {
            threads.apply(ThreadLine::parse(line)?);
            Ok(())
        });
        threads.sorted()
    }

    fn sorted(mut self) -> Self {
        if !self.late.is_empty() {
            self.known.extend(std::mem::take(&mut self.late));
            // Two runs, which this merges.
            self.known.sort_by_key(|(id, _)| *id);
        }
        self
    }

    /// The thread with this id, which may be new.
    fn entry(&mut self, id: ThreadId) -> &mut Thread {
        let Self { known, late } = self;
        match place_from_end(known, id) {
            Ok(place) => known.get_mut(place).map(|(_, thread)| thread),
            Err(place) if place == known.len() => {
                known.push((id, Thread::default()));
                known.last_mut().map(|(_, thread)| thread)
            }
            Err(_) => None,
        }
        .unwrap_or_else(|| late.entry(id).or_default())
    }

    fn apply(&mut self, line: ThreadLine) {
        match line {
            ThreadLine::Open { id, frames, omitted, .. } => {
                let thread = self.entry(id);
                if thread.open.count() == 0 {
                    let frames = frames.iter().map(|key| readable(key)).collect();
                    thread.open = OpenFrames { frames, omitted };
                }
            }
            ThreadLine::Start { id, name, daemon, is_virtual, at_ns } => {
                let thread = self.entry(id);
                thread.name = name;
                thread.daemon = daemon;
                thread.is_virtual = is_virtual;
                thread.start_ns.get_or_insert(at_ns);
            }
            ThreadLine::Rename { id, name, .. } => {
                let thread = self.entry(id);
                let earlier = std::mem::replace(&mut thread.name, name);
                if !earlier.is_empty() {
                    thread.earlier_names.push(earlier);
                }
            }
            ThreadLine::End { id, at_ns, cpu_ns } => {
                let thread = self.entry(id);
                thread.end_ns = Some(at_ns);
                thread.cpu_ns = cpu_ns;
            }
            ThreadLine::Filter { id, frames, omitted, .. } => {
                let thread = self.entry(id);
                let more = (frames.len() as u64).saturating_add(omitted);
                thread.unselected = thread.unselected.saturating_add(more);
            }
            ThreadLine::Unknown => {}
        }
    }

    /// What is known about a thread.
    #[must_use]
    pub fn get(&self, id: ThreadId) -> Option<&Thread> {
        let place = self.known.binary_search_by_key(&id, |(known, _)| *known).ok()?;
        self.known.get(place).map(|(_, thread)| thread)
    }

    /// All threads in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        self.known.iter().map(|(id, thread)| (*id, thread))
    }
}

/// Where a thread is, or would be, among those sorted by id. Most lines are of one of the last threads.
fn place_from_end(known: &[(ThreadId, Thread)], id: ThreadId) -> Result<usize, usize> {
    let mut distance = 1;
    while known.len().checked_sub(distance).and_then(|at| known.get(at)).is_some_and(|k| k.0 > id) {
        distance *= 2;
    }
    let start = known.len().saturating_sub(distance);
    let near = known.get(start..).unwrap_or_default();
    let found = near.binary_search_by_key(&id, |(known, _)| *known);
    found.map(|place| start + place).map_err(|place| start + place)
}

/// A key in its readable form; text that is not a key is not changed.
fn readable(key: &str) -> String {
    match ids::split_key(key) {
        ("", ..) => key.to_owned(),
        (class, name, descriptor) => format!("{class}.{name}{descriptor}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;
    use crate::format::names;

    proptest::proptest! {
        #[test]
        fn threads_are_found_in_whatever_order_their_lines_are(
            ids in proptest::collection::vec(0_u64..40, 0..80),
        ) {
            let mut threads = Threads::default();
            for id in &ids {
                let thread = threads.entry(ThreadId::new(*id));
                thread.earlier_names.push(id.to_string());
            }
            let threads = threads.sorted();
            let found: Vec<_> = threads.iter().map(|(id, thread)| (id, thread.earlier_names.len())).collect();
            let expected: BTreeSet<_> = ids.iter().copied().collect();
            let count = |id: u64| ids.iter().filter(|other| **other == id).count();
            let expected: Vec<_> = expected.into_iter().map(|id| (ThreadId::new(id), count(id))).collect();
            for id in 0..40 {
                let known = threads.get(ThreadId::new(id)).map(|thread| thread.earlier_names.clone());
                let names = vec![id.to_string(); count(id)];
                proptest::prop_assert_eq!(known, (!names.is_empty()).then_some(names));
            }
            proptest::prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn frames_open_before_recording_need_no_start() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"{"event":"open","id":1,"frames":["a.B$C#<init>(I)V","odd"],"omitted":3,"at_ns":1}
{"event":"open","id":1,"frames":["a.B#later()V"],"at_ns":2}
{"event":"open","id":2,"frames":["a.B#m()V"],"at_ns":1}
{"event":"start","id":2,"name":"two","daemon":false,"virtual":false,"at_ns":3}
"#;
        fs::write(dir.path().join(names::THREADS), text).unwrap();
        let mut damage = Vec::new();
        let threads = Threads::read(&Place::directory(dir.path()), &mut damage);
        assert!(damage.is_empty(), "{damage:?}");
        let one = threads.get(ThreadId::new(1)).unwrap();
        assert_eq!(one.open.frames, ["a.B$C.<init>(I)V", "odd"]);
        assert_eq!((one.open.count(), one.start_ns), (5, None));
        let two = threads.get(ThreadId::new(2)).unwrap();
        assert_eq!(
            (two.open.frames.as_slice(), two.open.omitted),
            (&["a.B.m()V".to_owned()][..], 0)
        );
        assert_eq!((two.name.as_str(), two.start_ns), ("two", Some(3)));
    }
}
