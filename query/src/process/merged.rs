//! Follows a trace that grows, with the events of all threads in one order.
//!
//! ```text
//! each pass:  threads, each from where it was left ─▶ Merged, as far as no later event can come before ─▶ items
//! ```
//!
//! An event may be passed once it was there in an earlier pass: what other threads have not stored until now, they do later. Its time has to be
//! known, because a later sample bounds it, and so may change the order. What is known of the order is as in the whole trace. Where it is not
//! known, the whole trace may keep more events of a thread together.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

use flow_codec::format::manifest::Timing;
use flow_codec::format::marks::Position;
use flow_codec::read::{
    Content, EventKind, EventsOfThread, MergedItem, MergedState, Tail, ThreadFile, Timeline,
    TimelineEvent, Trace, Turn,
};
use flow_codec::{Error, Offset, Result, ThreadId};

use super::reached::{NewEvents, Reached, is_received};

/// How long an event waits for the time of an event before it: that of a thread that has ended may never come.
const TIME_PATIENCE: Duration = Duration::from_secs(1);
/// How long an event waits where a trace is received: the events of a thread that runs on without a pause arrive up to half a
/// second late.
const RECEIVED_PATIENCE: Duration = Duration::from_millis(600);

/// Passes what is new in a trace that grows, in the order of [`Merged`](flow_codec::read::Merged), each time it is opened
/// [again](Trace::open_again).
///
/// Events are passed once and a moment late, so that those of other threads come before them that happened before. Where that moment is too
/// short, because a thread was stopped between an event and its record, an event comes late, and is [not
/// certain](MergedItem::Event::is_certain).
#[derive(Debug, Default)]
pub struct MergedFollower {
    state: MergedState,
    threads: BTreeMap<ThreadId, Followed>,
}

/// How far a thread was read.
#[derive(Debug, Default)]
struct Followed {
    reached: Reached,
    /// The size of the thread in the last pass, if all of it was passed.
    size: Option<(u64, u64, u64)>,
    /// How many bytes of events there were in earlier passes.
    lengths: Vec<(Instant, u64)>,
    /// The next event, and since when its time is waited for.
    untimed: Untimed,
}

type Untimed = Rc<Cell<Option<(Position, Instant)>>>;

/// Which of the next events of a thread are passed.
struct Turns {
    /// How many bytes of events are old enough to have a place in the order.
    placed: u64,
    /// Whether each event gets a time.
    has_times: bool,
    untimed: Untimed,
    now: Instant,
}

/// The events of a thread, and how far they were read: before the last event, and with it.
struct Stream<'a> {
    events: NewEvents<'a>,
    at: Rc<Cell<(Reached, Reached)>>,
}

impl Iterator for Stream<'_> {
    type Item = Result<TimelineEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.events.next();
        self.at.set((self.events.before(), self.events.reached()));
        item
    }
}

impl EventsOfThread for Stream<'_> {
    fn tail(&self) -> Tail {
        self.events.tail()
    }

    fn into_damage(self: Box<Self>) -> Option<Error> {
        self.events.into_damage()
    }
}

impl Followed {
    /// Returns how many bytes of events are old enough to have a place in the order.
    fn placed_bytes(&mut self, bytes: u64, patience: Duration, now: Instant) -> u64 {
        let old = self.lengths.iter().rposition(|(at, _)| now - *at >= patience);
        self.lengths.drain(..old.unwrap_or(0));
        self.lengths.push((now, bytes));
        old.and(self.lengths.first()).map_or(0, |(_, bytes)| *bytes)
    }
}

impl Turns {
    /// Returns whether the time of an event was waited for long enough.
    fn has_waited(&self, position: Position) -> bool {
        let since = self.untimed.get().filter(|(of, _)| *of == position);
        let since = since.map_or(self.now, |(_, since)| since);
        self.untimed.set(Some((position, since)));
        self.now - since >= TIME_PATIENCE
    }

    fn of(&self, event: &TimelineEvent) -> Turn {
        let is_timed = !self.has_times || event.time.bounds.by_ns != u64::MAX;
        if !is_timed && !self.has_waited(event.position) {
            return Turn::Untimed;
        }
        let is_call = matches!(event.kind, EventKind::Enter(_) | EventKind::Exit { .. });
        // What is no call follows the event before it.
        let end = event.position.offset.get() + u64::from(is_call);
        if end <= self.placed { Turn::Due } else { Turn::NotYet }
    }
}

impl MergedFollower {
    /// Returns the record with which a thread continues.
    #[must_use]
    pub fn next(&self, thread: ThreadId) -> Offset {
        self.threads.get(&thread).map_or(Offset::default(), |thread| thread.reached.next())
    }

    /// Continues a thread with the record at an offset.
    pub fn continue_at(&mut self, thread: ThreadId, next: Offset) {
        self.threads.entry(thread).or_default().reached.continue_at(next);
    }

    /// Follows a thread whose first events may have been removed since. Returns how many bytes were removed that were not
    /// read; then it continues with the calls that were open after them.
    pub fn follow(&mut self, file: &ThreadFile) -> u64 {
        let thread = self.threads.entry(file.id()).or_default();
        let removed = thread.reached.follow(file);
        if removed > 0 {
            thread.reached.continue_at(Offset::default());
            thread.lengths.clear();
        }
        removed
    }

    /// Passes what has come since the last call, of these threads, given as indexes of [`Trace::files`], until `to` breaks. `open`
    /// opens the timeline of a thread. If the trace `is_growing`, what may still change waits, and the ends of threads mean
    /// nothing.
    pub fn pass<'a>(
        &mut self,
        (trace, is_growing): (&'a Trace, bool),
        threads: impl IntoIterator<Item = usize>,
        open: impl Fn(&'a ThreadFile, Offset) -> Result<Timeline<'a>> + 'a,
        mut to: impl FnMut(MergedItem) -> ControlFlow<()>,
    ) {
        let now = Instant::now();
        let manifest = trace.manifest();
        // With a clock for each event, only the exit of a method without calls has no time yet: it gets that of the next event.
        let is_exact = manifest.is_some_and(|manifest| manifest.timing == Timing::Exact);
        let has_times = !is_exact && !trace.timing().0.is_off();
        let is_received = manifest.is_some_and(is_received);
        let patience = if is_received { RECEIVED_PATIENCE } else { Duration::ZERO };
        let (mut starts, mut turns) = (Vec::new(), BTreeMap::new());
        let (mut left, mut places) = (BTreeMap::new(), BTreeMap::new());
        for index in threads {
            let Some(file) = trace.files().get(index) else { continue };
            let thread = self.threads.entry(file.id()).or_default();
            let placed = thread.placed_bytes(file.bytes(), patience, now);
            let untimed = Rc::clone(&thread.untimed);
            turns.insert(index, Turns { placed, has_times, untimed, now });
            let is_new = thread.size.replace(file.size()) != Some(file.size());
            if is_growing && !is_new {
                continue;
            }
            starts.push((index, thread.reached.next()));
            // All of it is read at once, with what is known only then.
            if is_growing || thread.lengths.len() > 1 {
                let at = Rc::new(Cell::new((thread.reached, thread.reached)));
                left.insert(index, Rc::clone(&at));
                places.insert(file.id(), at);
            }
        }
        let merged = trace.merged_from(starts.iter().copied()).continuing(&self.state);
        let merged = merged.with_events(move |file, from| {
            let timeline = open(file, from)?;
            let Some(at) = places.get(&file.id()) else { return Ok(Box::new(timeline)) };
            let end = if is_growing { Content::open(file)?.len() } else { u64::MAX };
            let events = at.get().1.new_events(timeline, end);
            Ok(Box::new(Stream { events, at: Rc::clone(at) }))
        });
        let turn = move |index: usize, event: &TimelineEvent| {
            turns.get(&index).map_or(Turn::Due, |turns| turns.of(event))
        };
        let mut merged = if is_growing { merged.as_far_as(turn) } else { merged };
        let mut ended = BTreeSet::new();
        for item in merged.by_ref() {
            if let MergedItem::End { thread, .. } = &item {
                ended.insert(*thread);
            }
            if to(item) == ControlFlow::Break(()) {
                break;
            }
        }
        let unreturned: BTreeSet<_> = merged.unreturned().collect();
        let state = merged.state();
        drop(merged);
        self.state = state;
        for (index, at) in left {
            let thread = trace.files().get(index).and_then(|of| self.threads.get_mut(&of.id()));
            let Some(thread) = thread else { continue };
            let (before, now) = at.get();
            thread.reached = if unreturned.contains(&index) { before } else { now };
            if !ended.contains(&index) {
                thread.size = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use flow_codec::format::marks::{Mark, MarkEncoder};
    use flow_codec::read::Bounds;

    use super::*;

    const MANIFEST: &str = r#"{"format_version":1,"tool":"t","engine":"instrument","event_format":"binary",
        "clock":{"kind":"tick","period_ns":100000},"options":{},"pid":1,"host":"h","command":[],
        "jvm":{"name":"","version":"","home":""},"start_unix_ns":0,"end":null}"#;

    /// A thread while it is recorded.
    #[derive(Clone, Default)]
    struct Recorded {
        events: Vec<u8>,
        marks: Vec<(Position, u64, u64)>,
        depth: u64,
        /// The last run of exits: where it begins, and how many they are.
        run: Option<(u64, u64)>,
        has_advanced: bool,
    }

    fn random(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 33) % below
    }

    fn below(state: &mut u64, limit: usize) -> usize {
        usize::try_from(random(state, limit as u64)).unwrap()
    }

    impl Recorded {
        fn advance(&mut self, state: &mut u64) {
            self.has_advanced = true;
            if self.depth == 0 || random(state, 2) == 0 {
                self.events.push(0x81);
                (self.depth, self.run) = (self.depth + 1, None);
                return;
            }
            self.depth -= 1;
            match &mut self.run {
                Some((_, exits)) => {
                    *exits += 1;
                    *self.events.last_mut().unwrap() += 1;
                }
                None => {
                    self.run = Some((self.events.len() as u64, 1));
                    self.events.push(0x00);
                }
            }
        }

        fn sample(&mut self, at_ns: u64) {
            if !std::mem::take(&mut self.has_advanced) {
                // It has stayed where it was.
                self.marks.iter_mut().last().into_iter().for_each(|(.., from)| *from = at_ns);
                return;
            }
            let (offset, exits) = self.run.unwrap_or((self.events.len() as u64, 0));
            self.marks.push((Position { offset: Offset::new(offset), exits }, at_ns, at_ns));
        }

        fn write(&self, dir: &Path, id: usize) {
            let (mut encoder, mut bytes) = (MarkEncoder::with_header(), Vec::new());
            for (position, by_ns, from_ns) in &self.marks {
                let mark = Mark::Time { by_ns: *by_ns, from_ns: *from_ns, ran_us: None };
                encoder.encode(*position, &mark, &mut bytes);
            }
            encoder.finish(&mut bytes);
            fs::write(dir.join(format!("thread-{id}.flow")), &self.events).unwrap();
            fs::write(dir.join(format!("thread-{id}.marks")), bytes).unwrap();
        }
    }

    /// An entry or exit: its thread and position, its bounds, and whether its place in the order is certain.
    type Placed = ((u64, Position), Bounds, bool);

    fn placed(trace: &Trace, item: &MergedItem) -> Vec<Placed> {
        let MergedItem::Event { thread, event, is_certain } = item else { return Vec::new() };
        let id = trace.files()[*thread].id().get();
        let Position { offset, exits } = event.position;
        let count = match &event.kind {
            EventKind::Exit { count, .. } => count.get(),
            _ => 1,
        };
        let at = |exit| (id, Position { offset, exits: exits + exit });
        (0..count).map(|exit| (at(exit), event.time.bounds, *is_certain)).collect()
    }

    /// Each event once, with the final bounds, in an order that contradicts none that is known.
    fn check(found: &[Placed], whole: &[Placed]) {
        let of_thread = |all: &[Placed], id| {
            all.iter().filter(|(at, ..)| at.0 == id).map(|of| (of.0, of.1)).collect::<Vec<_>>()
        };
        for id in 1..5 {
            assert_eq!(of_thread(found, id), of_thread(whole, id));
        }
        for (place, (at, now, is_certain)) in found.iter().enumerate() {
            let others = || found[..place].iter().filter(|(earlier, ..)| earlier.0 != at.0);
            assert!(others().all(|(_, earlier, _)| earlier.from_ns <= now.by_ns));
            let all = others().all(|(_, earlier, _)| earlier.by_ns < now.from_ns);
            assert_eq!(*is_certain, all, "{at:?} {now:?}");
        }
    }

    #[test]
    fn the_order_of_a_trace_that_grows_contradicts_none_that_is_known() {
        let (mut state, mut early) = (3, 0);
        for _ in 0..8 {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("trace.json"), MANIFEST).unwrap();
            let mut threads = vec![Recorded::default(); 1 + below(&mut state, 4)];
            let (mut follower, mut found) = (MergedFollower::default(), Vec::new());
            for at_ns in 1..400 {
                let thread = below(&mut state, threads.len());
                if random(&mut state, 3) > 0 {
                    threads[thread].advance(&mut state);
                }
                if random(&mut state, 5) == 0 {
                    threads.iter_mut().for_each(|thread| thread.sample(at_ns));
                }
                let is_growing = at_ns < 399;
                let is_empty = threads.iter().all(|thread| thread.events.is_empty());
                if is_empty || is_growing && random(&mut state, 10) > 0 {
                    continue;
                }
                for (id, thread) in (1..).zip(&threads).filter(|(_, of)| !of.events.is_empty()) {
                    thread.write(dir.path(), id);
                }
                let trace = Trace::open(dir.path()).unwrap();
                follower.pass(
                    (&trace, is_growing),
                    0..trace.files().len(),
                    |file, from| file.timeline_from(from),
                    |item| {
                        found.extend(placed(&trace, &item));
                        ControlFlow::Continue(())
                    },
                );
                early += if is_growing { found.len() } else { 0 };
            }
            let trace = Trace::open(dir.path()).unwrap();
            let whole: Vec<_> = trace.merged().flat_map(|item| placed(&trace, &item)).collect();
            check(&found, &whole);
        }
        assert!(early > 1_000, "most is passed while the trace grows: {early}");
    }
}
