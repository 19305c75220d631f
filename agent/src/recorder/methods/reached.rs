//! The lines of methods that are recorded once, and which tests run: each test has its own lines.
//!
//! A probe passes a [place](places) to the recorder until its byte in the table is set. When a test begins, all bytes
//! are cleared. Whether a byte is set depends on which tests are running:
//!
//! | tests run | a place that is reached | counts for |
//! |---|---|---|
//! | in no thread | is recorded once | all threads |
//! | in one thread, the owner | is recorded once by that thread; before that, once by the first of all others | the owner, the others |
//! | in several threads | is recorded once by each thread; its probe calls the recorder each time | each thread |
//!
//! So no other thread takes a line from a test, and tests that run at the same time are as exact as others, but slower.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use flow_codec::format::flow::Encoded;
use flow_codec::format::raw;
use flow_codec::format::test_marks::TestMark;
use flow_codec::format::values::{CallValue, Primitive, Role, Value};
use flow_codec::{MethodId, ThreadId};
use parking_lot::{Mutex, RwLock};

use crate::sys::places::{self, Owner};

/// The lines of a recording that are recorded once.
#[derive(Debug)]
pub struct ReachedLines {
    /// The first one: those before it belong to earlier recordings.
    first: u32,
    methods: RwLock<Methods>,
    /// Held while places are noted as recorded, and while a test begins or ends.
    tests: Mutex<Tests>,
    /// Whether a test has begun or a place was reached: if not, there is nothing to forget of a thread that ends.
    is_used: AtomicBool,
}

/// The methods that have places.
#[derive(Debug, Default)]
struct Methods {
    /// By their first place.
    by_place: BTreeMap<u32, PlacesOf>,
    /// The first place of a version of a method.
    known: HashMap<(MethodId, u16), u32>,
}

/// The places of a version of a method.
#[derive(Clone, PartialEq, Eq, Debug)]
struct PlacesOf {
    method: MethodId,
    version: u16,
    /// Whether its calls are not recorded, so that each place has one.
    has_no_calls: bool,
    /// The lines of each place.
    lines: Vec<Box<[u16]>>,
}

/// The tests that are running.
#[derive(Debug, Default)]
struct Tests {
    running: Vec<(ThreadId, String)>,
    /// What each thread has recorded while tests run in several threads.
    by_thread: HashMap<ThreadId, HashSet<u32>>,
}

impl Default for ReachedLines {
    fn default() -> Self {
        places::set_owner(Owner::Nobody);
        let first = places::next();
        Self {
            first,
            methods: RwLock::default(),
            tests: Mutex::default(),
            is_used: AtomicBool::new(false),
        }
    }
}

impl ReachedLines {
    /// Returns the first place of a version of a method, whose places have these lines; `None` if there are too many places.
    #[must_use]
    pub fn assign(
        &self,
        method: MethodId,
        version: u16,
        has_no_calls: bool,
        lines: Vec<Box<[u16]>>,
    ) -> Option<u32> {
        let count = u32::try_from(lines.len()).ok()?;
        let of = PlacesOf { method, version, has_no_calls, lines };
        let mut methods = self.methods.write();
        let known = methods.known.get(&(method, version)).copied();
        if let Some(first) = known.filter(|first| methods.by_place.get(first) == Some(&of)) {
            return Some(first);
        }
        let first = places::take(count)?;
        methods.by_place.insert(first, of);
        methods.known.insert((method, version), first);
        Some(first)
    }

    /// Forgets which lines are recorded, so that each is recorded once more.
    pub(in crate::recorder) fn clear(&self) {
        self.clear_of(&mut self.tests.lock());
    }

    fn clear_of(&self, tests: &mut Tests) {
        tests.by_thread.clear();
        for (first, of) in &self.methods.read().by_place {
            let count = u32::try_from(of.lines.len()).unwrap_or(u32::MAX);
            places::clear(*first..first.saturating_add(count));
        }
    }

    /// Adapts what is known to the tests that are running now.
    fn update(&self, tests: &mut Tests, has_begun: bool) {
        places::set_owner(tests.owner());
        // Of a test that continues, what another one has recorded meanwhile is to be recorded again.
        if has_begun || !tests.running.is_empty() {
            self.clear_of(tests);
        }
    }

    /// Notes that a test begins or ends in a thread.
    pub(in crate::recorder) fn note_test(&self, thread: ThreadId, test: &TestMark) {
        self.is_used.store(true, Ordering::Relaxed);
        let mut tests = self.tests.lock();
        let has_begun = test.outcome.is_none();
        if has_begun {
            tests.running.push((thread, test.name.clone()));
        } else {
            // Another thread than the one in which it began may report its end.
            let is_it = |(_, name): &(ThreadId, String)| *name == test.name;
            let in_thread = tests.running.iter().position(|it| it.0 == thread && is_it(it));
            match in_thread.or_else(|| tests.running.iter().position(is_it)) {
                Some(ended) => drop(tests.running.remove(ended)),
                None => return,
            }
        }
        self.update(&mut tests, has_begun);
    }

    /// Notes that a thread ends, and with it the tests that run in it.
    pub(in crate::recorder) fn end_thread(&self, thread: ThreadId) {
        if !self.is_used.load(Ordering::Relaxed) {
            return;
        }
        let mut tests = self.tests.lock();
        tests.by_thread.remove(&thread);
        let before = tests.running.len();
        tests.running.retain(|(of, _)| *of != thread);
        if tests.running.len() < before {
            self.update(&mut tests, false);
        }
    }

    /// Returns the events of a place that a thread has reached; none if they are recorded already.
    pub(in crate::recorder) fn reach(&self, thread: ThreadId, place: u32) -> Vec<Event> {
        if place < self.first {
            // Code of an earlier recording, which still runs.
            places::set_recorded(place);
            return Vec::new();
        }
        self.is_used.store(true, Ordering::Relaxed);
        if !self.tests.lock().note(thread, place) {
            return Vec::new();
        }
        let methods = self.methods.read();
        let Some((first, of)) = methods.by_place.range(..=place).next_back() else {
            return Vec::new();
        };
        of.events((place - first) as usize)
    }
}

impl Tests {
    /// Notes that a thread has reached a place. Returns whether that is to be recorded.
    fn note(&mut self, thread: ThreadId, place: u32) -> bool {
        match self.owner() {
            Owner::Many => self.by_thread.entry(thread).or_default().insert(place),
            Owner::Thread(owner) if owner != thread.get() => !places::set_recorded_elsewhere(place),
            Owner::Thread(_) | Owner::Nobody => {
                places::set_recorded(place);
                true
            }
        }
    }

    fn owner(&self) -> Owner {
        match self.running.split_first() {
            None => Owner::Nobody,
            Some(((one, _), others)) if others.iter().all(|(other, _)| one == other) => {
                Owner::Thread(one.get())
            }
            Some(_) => Owner::Many,
        }
    }
}

/// The bytes of an event.
pub(in crate::recorder) type Event = Box<[u8]>;

impl PlacesOf {
    /// Returns the events of one of its places.
    fn events(&self, place: usize) -> Vec<Event> {
        let lines = self.lines.get(place).into_iter().flatten().map(|line| {
            let [low, high] = line.to_le_bytes();
            Event::from([raw::LINE, low, high, 0])
        });
        if !self.has_no_calls {
            return lines.collect();
        }
        let enter = Encoded::enter(self.method);
        let mut events = vec![Event::from(enter.as_bytes())];
        if self.version > 0 {
            let version = Value::Primitive(Primitive::Int(self.version.into()));
            let mut bytes = Vec::new();
            CallValue::new(Role::Version, version).encode(&mut bytes);
            events.extend(raw::words_of(&bytes).map(Event::from));
        }
        events.extend(lines);
        events.push(Event::from([raw::EXIT]));
        events
    }
}

#[cfg(test)]
mod tests {
    use flow_codec::format::test_marks::Outcome;

    use super::*;

    fn id(number: u64) -> MethodId {
        MethodId::new(number).unwrap()
    }

    fn lines(of: &[&[u16]]) -> Vec<Box<[u16]>> {
        of.iter().map(|lines| Box::from(*lines)).collect()
    }

    /// The bytes of the events of a place that a thread reaches.
    fn reach(reached: &ReachedLines, thread: u64, place: u32) -> Vec<u8> {
        reached.reach(ThreadId::new(thread), place).concat()
    }

    #[test]
    fn a_place_has_the_lines_of_its_method_in_a_call_if_calls_are_not_recorded() {
        let reached = ReachedLines::default();
        let within = reached.assign(id(1), 0, false, lines(&[&[7], &[8, 300]])).unwrap();
        let alone = reached.assign(id(2), 0, true, lines(&[&[9]])).unwrap();
        let version = reached.assign(id(2), 3, true, lines(&[&[9]])).unwrap();
        assert_eq!(reached.assign(id(2), 0, true, lines(&[&[9]])), Some(alone));
        assert_ne!(reached.assign(id(2), 0, true, lines(&[&[10]])), Some(alone), "another code");
        assert_eq!(reach(&reached, 1, within), [0x77, 7, 0, 0]);
        assert_eq!(reach(&reached, 1, within + 1), [0x77, 8, 0, 0, 0x77, 44, 1, 0]);
        assert_eq!(reach(&reached, 1, alone), [0x82, 0x77, 9, 0, 0, 0x00]);
        let with_version = reach(&reached, 1, version);
        assert_eq!(with_version.first_chunk(), Some(&[0x82, 0x76]));
        assert!(with_version.ends_with(&[0x77, 9, 0, 0, 0x00]), "{with_version:?}");
        let next = ReachedLines::default();
        assert!(reach(&next, 1, alone).is_empty(), "of an earlier recording");
    }

    #[test]
    fn no_thread_takes_a_place_from_a_test() {
        let reached = ReachedLines::default();
        let place = reached.assign(id(1), 0, false, lines(&[&[7]])).unwrap();
        let mark = |thread, name: &str, outcome| {
            let (name, detail) = (name.to_owned(), String::new());
            reached.note_test(ThreadId::new(thread), &TestMark { outcome, name, detail });
        };
        let reaches = |thread| !reach(&reached, thread, place).is_empty();
        mark(1, "a", None);
        assert_eq!([2, 2, 3].map(reaches), [true, false, false], "others, once");
        assert!(reaches(1), "the owner, whatever others have reached");
        mark(2, "b", None);
        assert_eq!([1, 1, 2, 2, 3].map(reaches), [true, false, true, false, true], "each thread");
        mark(4, "b", Some(Outcome::Passed));
        assert_eq!([2, 2, 1].map(reaches), [true, false, true], "the other test continues");
        mark(1, "never begun", Some(Outcome::Passed));
        assert!(!reaches(2));
        reached.end_thread(ThreadId::new(1));
        assert!(reaches(2), "there are no tests");
    }
}
