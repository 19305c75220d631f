//! What threads waited for: sums by object or by place, what had not ended, deadlocks and lock convoys.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use flow_codec::format::marks::Position;
use flow_codec::format::values::waits::WaitKind;
use flow_codec::read::{Parts, ThreadFile, TimeLimits, Timeline, Trace};
use flow_codec::{MethodId, ThreadId};

use crate::Error;
use crate::analysis::{FindWaits, FoundWait};
use crate::open::Traces;
use crate::reading::{Listener, Soundness, read_thread};
use crate::select::{Select, Selected, expect_clock, own_patterns, start_ns};

/// What threads waited for.
///
/// ```no_run
/// use flow_query::ask::Waits;
/// use flow_query::open::Traces;
///
/// let mut traces = Traces::open("flow-trace")?;
/// let asked = Waits::all();
/// asked.begin(&mut traces)?;
/// for trace in traces.iter() {
///     for sum in asked.of(trace, &mut ())?.sums {
///         println!("{} waits: {}", sum.count, sum.longest.on.class.as_deref().unwrap_or("-"));
///     }
/// }
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Waits {
    select: Select,
    by: WaitsBy,
}

/// What waits are added up by.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum WaitsBy {
    /// What the threads waited for.
    #[default]
    Object,
    /// The nearest method of the program's own code.
    Place,
}

/// Waits that are added up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WaitSum {
    /// The longest of them that has ended, or else the first one.
    pub longest: FoundWait,
    /// Whether they are for one object, or for none.
    pub is_one_object: bool,
    /// How many there are.
    pub count: u64,
    /// How many had not ended when the trace did.
    pub open: u64,
    /// How many threads waited.
    pub threads: usize,
    /// How long those that ended lasted together.
    pub total_ns: u64,
    /// When the first one began.
    pub first_ns: u64,
    /// When the last one ended.
    pub last_ns: u64,
    /// The threads that waited.
    pub seen: HashSet<ThreadId>,
}

/// Threads that wait for each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// The wait of each: for what the thread of the next one held when the wait began, and the last one for what the first held.
    pub waits: Vec<FoundWait>,
    /// Whether the recording ended less than a second after the last of these waits began: a thread may have been about to
    /// continue. `false` if it is not known when the recording ended, because the JVM runs or was killed.
    pub is_recent: bool,
}

/// The waits of a trace.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct TraceWaits {
    /// Whether everything could be read.
    pub soundness: Soundness,
    /// How many waits there are.
    pub count: u64,
    /// How long those that ended lasted together.
    pub total_ns: u64,
    /// How many of these waits were outside of recorded calls, or of selected ones: threads of pools that waited for work, mostly.
    /// They are no part of the sums.
    pub outside: u64,
    /// How long those of them that ended lasted together.
    pub outside_ns: u64,
    /// The sums: those with the longest time first.
    pub sums: Vec<WaitSum>,
    /// Waits in calls that had not ended when the trace did, by their begin.
    pub open: Vec<FoundWait>,
    /// Threads that wait for each other.
    pub deadlocks: Vec<Deadlock>,
    /// Locks for which threads queue all the time.
    pub convoys: Vec<WaitSum>,
}

/// Once there are this many sums, further objects of a class and kind are one sum.
const MAX_OBJECTS: usize = 1 << 16;
/// The least number of threads of a convoy, and of waits of each, on average.
const CONVOY_THREADS: usize = 3;
const CONVOY_WAITS: u64 = 3;
/// A circle of waits that lasted as long until the recording ended is no coincidence.
const DEADLOCK_NS: u64 = 1_000_000_000;

/// What a sum is of: of objects, or of places.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Key {
    kind: WaitKind,
    class: Option<Arc<str>>,
    hash: Option<u32>,
    own: Option<MethodId>,
}

impl Waits {
    /// Asks for all waits.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Asks only for waits in these threads, tests, calls and times. A wait in a call that is left out belongs to its caller.
    #[must_use]
    pub fn select(self, select: Select) -> Self {
        Self { select, ..self }
    }

    /// Chooses what waits are added up by.
    #[must_use]
    pub fn by(self, by: WaitsBy) -> Self {
        Self { by, ..self }
    }

    /// Selects threads and tests.
    ///
    /// # Errors
    /// A part of the selection is not there.
    pub fn begin(&self, traces: &mut Traces) -> Result<(), Error> {
        traces.select(&self.select)
    }

    /// Returns the waits of a trace.
    ///
    /// # Errors
    /// The selection depends on times, and the trace has none.
    pub fn of(&self, trace: &Trace, listener: &mut impl Listener) -> Result<TraceWaits, Error> {
        let limits = self.select.limits;
        if limits != TimeLimits::NONE {
            expect_clock(trace)?;
        }
        let mut waits = TraceWaits::default();
        let (mut objects, mut places) = (Sums::default(), Sums::default());
        let each = |wait: FoundWait| {
            if !is_within(&wait, limits) {
                return;
            }
            let ns = wait.duration_ns().unwrap_or_default();
            waits.count += 1;
            waits.total_ns = waits.total_ns.saturating_add(ns);
            if wait.call.is_none() {
                waits.outside += 1;
                waits.outside_ns = waits.outside_ns.saturating_add(ns);
                return;
            }
            if wait.is_open {
                waits.open.push(wait.clone());
            }
            if self.by == WaitsBy::Place {
                let (kind, own) = (wait.on.kind, wait.own);
                places.add(Key { kind, class: None, hash: None, own }, wait.clone());
            }
            let (kind, class, hash) = (wait.on.kind, wait.on.class.clone(), wait.on.hash);
            objects.add(Key { kind, class, hash, own: None }, wait);
        };
        let methods = self.select.filter.selection(trace);
        let mut visitor = FindWaits::new(trace.methods(), &methods, own_patterns(trace), each);
        let all = Selected::all();
        let mut soundness = Soundness::Whole;
        for (file, ranges) in threads(trace) {
            visitor.begin_thread(file.id(), ranges);
            // Of ranges, too: calls have numbers in the whole thread, and waits may be in calls that began before.
            let timeline = all.timeline(&file.whole(), start_ns(trace, file));
            let timeline = timeline.map(Timeline::with_waits);
            let reading = read_thread(file, timeline, listener, &mut visitor, |visitor, _| {
                visitor.end_thread();
            });
            soundness = soundness.and(reading.report(file, listener));
        }
        drop(visitor);
        waits.soundness = soundness;
        waits.open.sort_by_key(|wait| (wait.begin_ns, wait.thread));
        let end = trace.manifest().and_then(|manifest| manifest.end.as_ref());
        waits.deadlocks = deadlocks(&waits.open, end.map(|end| end.at_ns));
        let objects = objects.sorted();
        waits.convoys = objects.iter().filter(|sum| sum.is_convoy()).cloned().collect();
        waits.sums = if self.by == WaitsBy::Place { places.sorted() } else { objects };
        Ok(waits)
    }
}

/// The threads that have events, each once, with the selected ranges of it.
fn threads(trace: &Trace) -> impl Iterator<Item = (&ThreadFile, Vec<Range<Position>>)> {
    let mut threads: BTreeMap<ThreadId, (&ThreadFile, Vec<_>)> = BTreeMap::new();
    for file in trace.files().iter().filter(|file| file.bytes() > 0) {
        let ranges = file.parts().map_or(&[Parts::ALL][..], Parts::ranges);
        let (_, all) = threads.entry(file.id()).or_insert_with(|| (file, Vec::new()));
        all.extend_from_slice(ranges);
    }
    threads.into_values()
}

fn is_within(wait: &FoundWait, TimeLimits { from_ns, to_ns, min_ns }: TimeLimits) -> bool {
    let end_ns = wait.end_ns.unwrap_or(if wait.is_open { u64::MAX } else { wait.begin_ns });
    wait.begin_ns < to_ns && end_ns >= from_ns && end_ns.saturating_sub(wait.begin_ns) >= min_ns
}

/// Waits that are added up, by their keys.
#[derive(Default)]
struct Sums(HashMap<Key, WaitSum>);

impl Sums {
    fn add(&mut self, mut key: Key, wait: FoundWait) {
        if self.0.len() >= MAX_OBJECTS && !self.0.contains_key(&key) {
            // One sum for further objects of this class.
            key.hash = None;
        }
        match self.0.get_mut(&key) {
            Some(sum) => sum.add(wait),
            None => {
                self.0.insert(key, WaitSum::new(wait));
            }
        }
    }

    fn sorted(self) -> Vec<WaitSum> {
        let mut sums: Vec<_> = self.0.into_values().collect();
        sums.sort_by_key(|sum| {
            let first = (sum.longest.begin_ns, sum.longest.thread);
            (Reverse((sum.total_ns, sum.open, sum.count)), first)
        });
        sums
    }
}

impl WaitSum {
    fn new(first: FoundWait) -> Self {
        let mut sum = Self {
            is_one_object: true,
            count: 0,
            open: 0,
            threads: 0,
            total_ns: 0,
            first_ns: first.begin_ns,
            last_ns: first.begin_ns,
            seen: HashSet::new(),
            longest: first.clone(),
        };
        sum.add(first);
        sum
    }

    fn add(&mut self, wait: FoundWait) {
        let object = |wait: &FoundWait| (wait.on.class.clone(), wait.on.hash);
        self.is_one_object &= object(&self.longest) == object(&wait);
        self.count += 1;
        self.open += u64::from(wait.is_open);
        self.seen.insert(wait.thread);
        self.threads = self.seen.len();
        self.total_ns = self.total_ns.saturating_add(wait.duration_ns().unwrap_or_default());
        self.first_ns = self.first_ns.min(wait.begin_ns);
        self.last_ns = self.last_ns.max(wait.end_ns.unwrap_or(wait.begin_ns));
        if wait.duration_ns() > self.longest.duration_ns() {
            self.longest = wait;
        }
    }

    /// How many threads waited at a time from the first wait to the last, on average, in hundredths.
    #[must_use]
    pub fn queued_hundredths(&self) -> u64 {
        let span_ns = u128::from(self.last_ns.saturating_sub(self.first_ns)).max(1);
        u64::try_from(u128::from(self.total_ns) * 100 / span_ns).unwrap_or(u64::MAX)
    }

    /// Returns whether it is a convoy: threads that take turns at a lock, so that there is a queue all the time. At least three
    /// threads waited for the lock, each three times on average, and at any time from the first wait to the last one, one thread
    /// waited on average, or more.
    fn is_convoy(&self) -> bool {
        let is_lock = match self.longest.on.kind {
            WaitKind::Lock => true,
            WaitKind::Park => self.longest.on.holder.is_some(),
            _ => false,
        };
        is_lock
            && self.longest.on.hash.is_some()
            && self.is_one_object
            && self.threads >= CONVOY_THREADS
            && self.count >= CONVOY_WAITS * self.threads as u64
            && self.queued_hundredths() >= 100
    }
}

/// Returns the circles of threads that each wait for what the next one held when the wait began, in a recording that ended then.
fn deadlocks(open: &[FoundWait], end_ns: Option<u64>) -> Vec<Deadlock> {
    let by_thread: HashMap<_, _> = open.iter().map(|wait| (wait.thread, wait)).collect();
    let (mut found, mut done) = (Vec::new(), BTreeSet::new());
    for wait in open {
        let mut path: Vec<&FoundWait> = Vec::new();
        let mut next = Some(wait);
        while let Some(wait) = next.filter(|wait| done.insert(wait.thread)) {
            path.push(wait);
            next = wait.on.holder.and_then(|holder| by_thread.get(&holder).copied());
        }
        let start = next.and_then(|next| path.iter().position(|wait| wait.thread == next.thread));
        if let Some(circle) = start.and_then(|start| path.get(start..)) {
            let waits: Vec<_> = circle.iter().map(|wait| (*wait).clone()).collect();
            let last_ns = waits.iter().map(|wait| wait.begin_ns).max();
            let lasted_ns = end_ns.zip(last_ns).map(|(end, last)| end.saturating_sub(last));
            found.push(Deadlock { waits, is_recent: lasted_ns.is_some_and(|ns| ns < DEADLOCK_NS) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use flow_codec::read::WaitedFor;

    use super::*;

    fn wait(thread: u64, hash: u32, holder: u64, begin_ns: u64, end_ns: Option<u64>) -> FoundWait {
        let holder = Some(ThreadId::new(holder)).filter(|_| holder > 0);
        let on = WaitedFor { kind: WaitKind::Lock, class: None, hash: Some(hash), holder };
        let (call, method, own) = (Some(0), None, None);
        let (thread, is_open) = (ThreadId::new(thread), end_ns.is_none());
        FoundWait { thread, on, begin_ns, end_ns, is_open, call, method, own }
    }

    #[test]
    fn a_deadlock_is_a_circle_of_waits_and_not_what_leads_to_it() {
        let circles = |open: &[[u64; 2]]| -> Vec<Vec<u64>> {
            let open = open.iter().map(|[thread, holder]| wait(*thread, 1, *holder, 1, None));
            let found = deadlocks(&open.collect::<Vec<_>>(), None);
            let threads =
                |deadlock: &Deadlock| deadlock.waits.iter().map(|wait| wait.thread.get()).collect();
            found.iter().map(threads).collect()
        };
        assert_eq!(circles(&[[1, 2], [2, 1]]), [[1, 2]]);
        assert_eq!(circles(&[[5, 1], [1, 2], [2, 3], [3, 1], [6, 5]]), [[1, 2, 3]]);
        assert_eq!(
            circles(&[[1, 2], [2, 1], [3, 4], [4, 3], [7, 7]]),
            [vec![1, 2], vec![3, 4], vec![7]]
        );
        // The holder runs, is not known, or waits for something that nobody holds.
        assert!(circles(&[[1, 2], [3, 0], [2, 0]]).is_empty());
        // Threads that began to wait just before the end may have been about to continue.
        let open = [wait(1, 1, 2, 5, None), wait(2, 2, 1, 9, None)];
        let is_recent = |end_ns| deadlocks(&open, end_ns).iter().all(|it| it.is_recent);
        assert!(is_recent(Some(8 + DEADLOCK_NS)));
        assert!(!is_recent(Some(9 + DEADLOCK_NS)));
        assert!(!is_recent(None), "not known");
    }

    #[test]
    fn a_convoy_is_a_queue_that_never_ends() {
        let sum = |threads: u64, rounds: u64, wait_ns: u64, pause_ns: u64| {
            let waits = (0..rounds).flat_map(|round| (1..=threads).map(move |id| (round, id)));
            let waits = waits.map(|(round, id)| {
                let begin_ns = round * (wait_ns + pause_ns);
                wait(id, 1, 0, begin_ns, Some(begin_ns + wait_ns))
            });
            let mut sums = Sums::default();
            let key = Key { kind: WaitKind::Lock, class: None, hash: Some(1), own: None };
            waits.for_each(|wait| sums.add(key.clone(), wait));
            sums.sorted().remove(0)
        };
        assert!(sum(4, 10, 100, 100).is_convoy());
        assert_eq!(sum(4, 10, 100, 0).queued_hundredths(), 400);
        assert!(!sum(4, 10, 100, 900).is_convoy(), "the lock is free most of the time");
        assert!(!sum(2, 10, 100, 0).is_convoy(), "two threads");
        assert!(!sum(4, 2, 100, 0).is_convoy(), "a rush at the start");
    }

    #[test]
    fn further_objects_of_a_class_are_one_sum() {
        let mut sums = Sums::default();
        let most = u32::try_from(MAX_OBJECTS).unwrap();
        for hash in 0..most + 3 {
            let key = Key { kind: WaitKind::Lock, class: None, hash: Some(hash), own: None };
            sums.add(key, wait(1, hash, 0, 1, Some(2)));
        }
        assert_eq!(sums.0.len(), MAX_OBJECTS + 1);
        let others: Vec<_> = sums.0.values().filter(|sum| !sum.is_one_object).collect();
        assert_eq!(others.iter().map(|sum| sum.count).collect::<Vec<_>>(), [3]);
    }
}
