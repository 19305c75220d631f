//! The events of all threads in one order.
//!
//! Within a thread, the order of events is exact. Two events of different threads have a known order only if their
//! bounds do not overlap. The merged order contradicts no known order; where none is known, it keeps the events of a
//! thread together, and [says so](MergedItem::Event::is_certain). It follows a thread until the next event is certainly
//! later than the next event of another one, and continues with the thread whose next event certainly happened
//! first, or may have.
//!
//! ```text
//! thread 1   ├─ a ─┤  ├─ b ─┤                a, b, x, c, y: x is certainly after a, not after b;
//! thread 2            ├─ x ─┤     ├─ y ─┤    c is certainly after both, y not after c
//! thread 1                        ├─ c ─┤
//! ```
//!
//! Memory: that of the timelines of the threads that are alive at an instant.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::{Timeline, TimelineEvent};
use crate::read::{StackSamples, Tail, Trace};
use crate::{Error, Offset};

/// The start of a thread is noted when its first event has been recorded, so that event may be this much earlier.
const START_DELAY_NS: u64 = 10_000_000;

/// What a [`Merged`] order yields. Threads are indexes of [`Trace::files`].
#[derive(Debug)]
#[non_exhaustive]
pub enum MergedItem {
    /// An event.
    Event {
        /// The thread.
        thread: usize,
        /// The event.
        event: TimelineEvent,
        /// Whether all events of other threads that came before it certainly happened before it.
        is_certain: bool,
    },
    /// Events that cannot be read. Those that can be follow.
    Damage {
        /// The thread.
        thread: usize,
        /// What is wrong.
        error: Error,
    },
    /// No events of this thread follow.
    End {
        /// The thread.
        thread: usize,
        /// How its events end.
        tail: Tail,
        /// The error of its marks, if there is one: later times are unknown.
        marks: Option<Error>,
    },
}

/// The events of all threads of a trace in one order. It contradicts no order that is known from times; where none is
/// known, it keeps the events of a thread together, and says so.
#[derive(Debug)]
pub struct Merged<'a> {
    trace: &'a Trace,
    samples: Option<&'a StackSamples>,
    /// The threads that are not open yet, with the earliest time of their events: the next one last.
    waiting: Vec<Waiting>,
    /// The next events of the other threads.
    heads: BinaryHeap<Head<'a>>,
    /// The thread that is followed.
    current: Option<Head<'a>>,
    latest: Latest,
    /// What comes before further events.
    ready: Vec<MergedItem>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    start_ns: u64,
    thread: usize,
    from: Offset,
}

/// The next event of a thread. The greatest is the one that must come first.
#[derive(Debug)]
struct Head<'a> {
    thread: usize,
    event: TimelineEvent,
    timeline: Box<Timeline<'a>>,
}

impl Head<'_> {
    /// The latest instant at which the event may have happened, then the estimate.
    fn key(&self) -> (u64, u64, usize) {
        let by_ns = self.event.time.bounds.by_ns;
        (by_ns, self.event.time.estimate_ns.unwrap_or(by_ns), self.thread)
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Head<'_> {}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// By when the events that were returned had certainly happened: of the thread for which that is latest, and of the
/// others.
#[derive(Clone, Copy, Default, Debug)]
struct Latest {
    thread: usize,
    by_ns: Option<u64>,
    others_by_ns: Option<u64>,
}

impl Latest {
    fn add(&mut self, thread: usize, by_ns: u64) {
        let by_ns = Some(by_ns);
        if thread == self.thread {
            self.by_ns = self.by_ns.max(by_ns);
        } else if by_ns > self.by_ns {
            *self = Self { thread, by_ns, others_by_ns: self.by_ns };
        } else {
            self.others_by_ns = self.others_by_ns.max(by_ns);
        }
    }

    /// Returns whether the events of other threads certainly happened before this instant of a thread.
    fn is_before(&self, thread: usize, from_ns: u64) -> bool {
        let by_ns = if thread == self.thread { self.others_by_ns } else { self.by_ns };
        by_ns.is_none_or(|by_ns| by_ns < from_ns)
    }
}

impl Trace {
    /// Reads all threads in one order, as far as their times show it.
    #[must_use]
    pub fn merged(&self) -> Merged<'_> {
        self.merged_from((0..self.files.len()).map(|thread| (thread, Offset::default())))
    }

    /// The same for some threads, each given as an index of [`files`](Self::files), from a record on.
    #[must_use]
    pub fn merged_from(&self, threads: impl IntoIterator<Item = (usize, Offset)>) -> Merged<'_> {
        let start_ns = |thread: usize| {
            let file = self.files.get(thread)?;
            self.threads.get(file.id)?.start_ns
        };
        let mut waiting: Vec<_> = threads
            .into_iter()
            .map(|(thread, from)| {
                let start_ns = start_ns(thread).unwrap_or(0).saturating_sub(START_DELAY_NS);
                Waiting { start_ns, thread, from }
            })
            .collect();
        waiting.sort_by_key(|next| std::cmp::Reverse((next.start_ns, next.thread)));
        Merged {
            trace: self,
            samples: None,
            waiting,
            heads: BinaryHeap::new(),
            current: None,
            latest: Latest::default(),
            ready: Vec::new(),
        }
    }
}

impl<'a> Merged<'a> {
    /// Adds samples. To be called before the first event is read.
    #[must_use]
    pub fn with_samples(self, samples: &'a StackSamples) -> Self {
        Self { samples: Some(samples), ..self }
    }

    /// Opens a thread, and reads its first event.
    fn begin(&mut self, Waiting { thread, from, .. }: Waiting) -> Option<Head<'a>> {
        let file = self.trace.files.get(thread)?;
        let with_samples = |timeline: Timeline<'a>| match self.samples {
            Some(samples) => timeline.with_samples(samples, file.id),
            None => timeline,
        };
        match file.timeline_from(from).map(with_samples) {
            Ok(timeline) => self.next_of(thread, Box::new(timeline)),
            Err(error) => {
                self.ready.push(MergedItem::Damage { thread, error });
                let tail = Tail::Complete;
                self.ready.push(MergedItem::End { thread, tail, marks: None });
                None
            }
        }
    }

    /// The next event of a thread, or else what is said of its end.
    #[inline]
    fn next_of(&mut self, thread: usize, mut timeline: Box<Timeline<'a>>) -> Option<Head<'a>> {
        loop {
            match timeline.next() {
                Some(Ok(event)) => return Some(Head { thread, event, timeline }),
                Some(Err(error)) => self.ready.push(MergedItem::Damage { thread, error }),
                None => {
                    let tail = timeline.tail();
                    let marks = timeline.marks_damage();
                    self.ready.push(MergedItem::End { thread, tail, marks });
                    return None;
                }
            }
        }
    }

    /// Opens the threads that may have begun by this instant. Returns whether there were any.
    fn begin_until(&mut self, by_ns: u64) -> bool {
        let mut found = false;
        while let Some(next) = self.waiting.pop_if(|next| next.start_ns <= by_ns) {
            found = true;
            let head = self.begin(next);
            self.heads.extend(head);
        }
        found
    }

    /// The event that comes next, with its thread.
    fn choose(&mut self) -> Option<Head<'a>> {
        if self.current.is_none() && self.heads.is_empty() {
            let first = self.waiting.last()?.start_ns;
            self.begin_until(first);
        }
        loop {
            let next = match (self.current.take(), self.heads.peek()) {
                // It is not certainly later than the event that must come first.
                (Some(current), Some(first))
                    if current.event.time.bounds.from_ns <= first.event.time.bounds.by_ns =>
                {
                    current
                }
                (Some(current), Some(_)) => {
                    self.heads.push(current);
                    self.heads.pop()?
                }
                (Some(current), None) => current,
                (None, _) => self.heads.pop()?,
            };
            if !self.begin_until(next.event.time.bounds.by_ns) {
                return Some(next);
            }
            self.current = Some(next);
        }
    }
}

impl Iterator for Merged<'_> {
    type Item = MergedItem;

    fn next(&mut self) -> Option<MergedItem> {
        loop {
            if !self.ready.is_empty() {
                return Some(self.ready.remove(0));
            }
            let Some(Head { thread, event, timeline }) = self.choose() else {
                if self.ready.is_empty() && self.waiting.is_empty() {
                    return None;
                }
                continue;
            };
            let bounds = event.time.bounds;
            let is_certain = self.latest.is_before(thread, bounds.from_ns);
            self.latest.add(thread, bounds.by_ns);
            let next = self.next_of(thread, timeline);
            self.current = next;
            let item = MergedItem::Event { thread, event, is_certain };
            if self.ready.is_empty() {
                return Some(item);
            }
            // Damage and the end of the thread come after this event.
            self.ready.insert(0, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::format::marks::{Mark, MarkEncoder, Position};
    use crate::read::Bounds;

    fn random(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 40) % below
    }

    /// Writes a thread that calls a method again and again, with time marks between some of its events.
    fn write_thread(dir: &std::path::Path, id: usize, state: &mut u64) {
        let (mut events, mut marks) = (Vec::new(), Vec::new());
        let mut encoder = MarkEncoder::with_header();
        let mut now = random(state, 300);
        for offset in 0..random(state, 30) {
            events.push(if offset % 2 == 0 { 0x81 } else { 0x00 });
            now += random(state, 60);
            let mark = match random(state, 3) {
                0 => Mark::Time { by_ns: now, from_ns: now + random(state, 40), ran_us: None },
                1 => Mark::Instant { at_ns: now },
                _ => continue,
            };
            now += 50;
            encoder.encode(Position { offset: Offset::new(offset), exits: 0 }, &mark, &mut marks);
        }
        encoder.finish(&mut marks);
        fs::write(dir.join(format!("thread-{id}.flow")), events).unwrap();
        fs::write(dir.join(format!("thread-{id}.marks")), marks).unwrap();
        if random(state, 2) == 0 {
            let start = format!(
                "{{\"event\":\"start\",\"id\":{id},\"name\":\"\",\"daemon\":false,\"virtual\":false,\"at_ns\":0}}\n"
            );
            let path = dir.join("threads.jsonl");
            let before = fs::read_to_string(&path).unwrap_or_default();
            fs::write(path, before + &start).unwrap();
        }
    }

    #[test]
    fn the_order_contradicts_no_known_order_and_says_what_is_certain() {
        let mut state = 5;
        for _ in 0..200 {
            let dir = tempfile::tempdir().unwrap();
            let count = 1 + usize::try_from(random(&mut state, 5)).unwrap();
            (1..=count).for_each(|id| write_thread(dir.path(), id, &mut state));
            let trace = Trace::open(dir.path()).unwrap();
            let (mut seen, mut ended): (Vec<(usize, Bounds)>, _) = (Vec::new(), Vec::new());
            let mut of_threads = vec![Vec::new(); trace.files.len()];
            for item in trace.merged() {
                match item {
                    MergedItem::Event { thread, event, is_certain } => {
                        assert!(!ended.contains(&thread));
                        let now = event.time.bounds;
                        let others = || seen.iter().filter(|(other, _)| *other != thread);
                        assert!(others().all(|(_, earlier)| earlier.from_ns <= now.by_ns));
                        let all = others().all(|(_, earlier)| earlier.by_ns < now.from_ns);
                        assert_eq!(is_certain, all, "{seen:?} {now:?}");
                        seen.push((thread, now));
                        of_threads[thread].push(event);
                    }
                    MergedItem::End { thread, tail, marks } => {
                        assert_eq!((tail, marks.is_none()), (Tail::Complete, true));
                        ended.push(thread);
                    }
                    item @ MergedItem::Damage { .. } => panic!("{item:?}"),
                }
            }
            ended.sort_unstable();
            assert_eq!(ended, (0..trace.files.len()).collect::<Vec<_>>());
            for (file, events) in trace.files.iter().zip(of_threads) {
                let alone: Vec<_> = file.timeline().unwrap().map(|event| event.unwrap()).collect();
                assert_eq!(alone, events);
            }
        }
    }

    #[test]
    fn a_thread_that_begins_later_is_opened_when_it_does() {
        let dir = tempfile::tempdir().unwrap();
        let write = |id: u64, times: &[u64]| {
            let (mut events, mut marks) = (Vec::new(), Vec::new());
            let mut encoder = MarkEncoder::with_header();
            for (offset, at_ns) in (0..).zip(times) {
                events.push(0x81);
                let position = Position { offset: Offset::new(offset), exits: 0 };
                encoder.encode(position, &Mark::Instant { at_ns: *at_ns }, &mut marks);
            }
            encoder.finish(&mut marks);
            fs::write(dir.path().join(format!("thread-{id}.flow")), events).unwrap();
            fs::write(dir.path().join(format!("thread-{id}.marks")), marks).unwrap();
        };
        let second = 1_000_000_000;
        write(1, &[1, 2 * second, 4 * second]);
        write(2, &[second, 3 * second]);
        let starts = format!(
            "{{\"event\":\"start\",\"id\":2,\"name\":\"\",\"daemon\":false,\"virtual\":false,\"at_ns\":{}}}\n",
            second + 1_000
        );
        fs::write(dir.path().join("threads.jsonl"), starts).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let mut merged = trace.merged();
        let mut open = Vec::new();
        let mut order = Vec::new();
        while let Some(item) = merged.next() {
            open.push(merged.waiting.is_empty());
            if let MergedItem::Event { thread, is_certain, .. } = item {
                order.push((thread, is_certain));
            }
        }
        assert_eq!(order, [0, 1, 0, 1, 0].map(|thread| (thread, true)));
        assert!(!open[0] && open[1], "{open:?}");
    }
}
