//! HOT: from the records of a thread to shapes.
//!
//! Open frames are a stack of words: the header of each, and the runs of calls that it has made so far. An exit
//! takes the words of the topmost frame, which are those of its shape, and adds a call of that shape to the
//! frame below. What the outermost frames leave, and what has no frame, are the roots.
//!
//! The words that are left at the end are all that later records depend on. So the parts of a thread are read
//! separately, and [joined](Builder::append) by repeating what is left of each.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use crate::dag::shape::kinds::{Break, Outcome};
use crate::dag::shape::loops::Parts;
use crate::dag::shape::table::{Mix, Table, Words};
use crate::dag::shape::word::{self, MAX_COUNT, MAX_NUMBER, Word};
use flow_codec::MethodId;
use flow_codec::read::{Visit, VisitRepeats};

/// Methods below this have their leaf shape, the one without calls, in an array of at most 1 MiB.
const NEAR_IDS: usize = 1 << 18;
const NO_SHAPE: u32 = u32::MAX;

/// Builds the shapes of one thread.
#[derive(Debug)]
pub(in crate::dag) struct Builder<H> {
    table: Table<H>,
    /// Roots, and what is known about open frames.
    stack: Vec<u64>,
    /// Where in the stack the headers of open frames are.
    frames: Vec<u32>,
    /// The leaf shape of each method.
    leaves: Vec<u32>,
    /// The largest size of shapes and stack.
    max_size: usize,
    has_failed: bool,
}

impl<H: Mix> Builder<H> {
    /// Begins a thread. Shapes and open frames may have this size, each of them.
    pub(in crate::dag) fn new(max_size: usize) -> Self {
        Self {
            table: Table::new(max_size),
            stack: Vec::new(),
            frames: Vec::new(),
            leaves: Vec::new(),
            max_size,
            has_failed: false,
        }
    }

    /// Returns whether there is too much for the budget. Then nothing more need be read.
    pub(in crate::dag) fn is_over(&self) -> bool {
        self.has_failed || self.stack.len() > self.max_size
    }

    /// About the memory that is needed, in bytes.
    pub(in crate::dag) fn memory(&self) -> usize {
        let words = self.table.memory() + self.stack.capacity();
        size_of::<u64>() * words + size_of::<u32>() * (self.frames.capacity() + self.leaves.len())
    }

    /// How large shapes and open frames may become.
    pub(in crate::dag) fn max_size(&self) -> usize {
        self.max_size
    }

    /// Sets how large shapes and open frames may become.
    pub(in crate::dag) fn limit(&mut self, max_size: usize) {
        self.max_size = max_size;
        self.table.limit(max_size);
    }

    /// Gives up: a part of the thread had too much.
    pub(in crate::dag) fn give_up(&mut self) {
        self.has_failed = true;
    }

    /// The shapes, and the words that are left; `None` if there was too much.
    pub(in crate::dag) fn finish(self) -> Option<(Words, Vec<u64>)> {
        (!self.is_over()).then(|| (self.table.into_shapes(), self.stack))
    }

    /// Adds what another builder found in the part of the thread that follows. Shapes are added when the first call of
    /// them is left, so they get the numbers that they would have if all parts were read by one builder.
    pub(in crate::dag) fn append(&mut self, shapes: &Words, roots: &[u64]) {
        let mut here = Vec::with_capacity(shapes.len());
        let mut words = Vec::new();
        for &word in roots {
            match Word::of(word) {
                Word::Run(shape, _) => {
                    for number in here.len()..=shape.index() {
                        let shape = shapes.get(u32::try_from(number).unwrap_or(NO_SHAPE));
                        let Some((header, runs)) = shape.split_first() else { return self.fail() };
                        words.clear();
                        words.push(*header);
                        for part in Parts::of(runs) {
                            let runs = part.words().iter();
                            let start = words.len();
                            words.extend(runs.map(|word| renumbered(*word, &here)));
                            for _ in 1..part.times {
                                words.extend_from_within(start..start + part.words().len());
                            }
                        }
                        let Some(shape) = self.table.intern(&words) else { return self.fail() };
                        here.push(shape);
                    }
                    if self.is_over() {
                        return;
                    }
                    let word = renumbered(word, &here);
                    word::push_run(&mut self.stack, word::shape_of(word), word::count_of(word));
                }
                Word::Method(..) => self.push_frame(word),
                Word::Special(exits) => {
                    let (outcome, count) = word::exits_of(exits);
                    self.exit_as(outcome, count);
                }
                // Only shapes have loops.
                Word::Loop(..) => {}
            }
        }
    }

    /// Adds a place where events are missing.
    pub(in crate::dag) fn add_break(&mut self, kind: Break) {
        match self.table.intern(&[word::break_header(kind)]) {
            Some(shape) => self.push_call(shape),
            None => self.fail(),
        }
    }

    /// Leaves this many frames in the same way.
    #[inline(always)]
    pub(in crate::dag) fn exit_as(&mut self, outcome: Outcome, count: u64) {
        for done in 0..count {
            let Some(start) = self.frames.pop() else {
                return self.exit_unseen(outcome, count - done);
            };
            if self.leave_frame(start, outcome).is_none() {
                return self.fail();
            }
        }
    }

    /// Leaves the frame that was the topmost one, and returns the shape of its call; `None` if there is too much.
    #[inline(always)]
    fn leave_frame(&mut self, start: u32, outcome: Outcome) -> Option<u32> {
        let start = start as usize;
        if outcome != Outcome::Returned
            && let Some(header) = self.stack.get_mut(start)
        {
            *header = word::left(*header, outcome);
        }
        let words = self.stack.get(start..).unwrap_or_default();
        let shape = self.table.intern(words)?;
        self.stack.truncate(start);
        self.push_call(shape);
        Some(shape)
    }

    #[inline(always)]
    fn push_frame(&mut self, header: u64) {
        // The stack is far shorter: the budget is checked after each buffer of records.
        let Ok(start) = u32::try_from(self.stack.len()) else { return self.fail() };
        self.frames.push(start);
        self.stack.push(header);
    }

    /// Adds a call to the topmost frame.
    #[inline(always)]
    fn push_call(&mut self, shape: u32) {
        match self.stack.last_mut() {
            Some(last) if word::shape_of(*last) == shape && word::count_of(*last) < MAX_COUNT => {
                *last += 1;
            }
            _ => self.stack.push(word::run(shape, 1)),
        }
    }

    /// Adds exits of frames that were entered before.
    #[cold]
    #[inline(never)]
    fn exit_unseen(&mut self, outcome: Outcome, count: u64) {
        if let Some(last) = self.stack.last_mut()
            && let Word::Special(exits) = Word::of(*last)
            && let (before, exits) = word::exits_of(exits)
            && before == outcome
        {
            *last = word::unseen_exits(outcome, exits.saturating_add(count));
        } else {
            self.stack.push(word::unseen_exits(outcome, count));
        }
    }

    #[cold]
    fn fail(&mut self) {
        self.has_failed = true;
    }

    /// Finds the leaf shape of a method for the first time, or of one that is too large for the array.
    #[cold]
    #[inline(never)]
    fn call_new(&mut self, method: MethodId) {
        if method.get() > MAX_NUMBER {
            return self.fail();
        }
        let Some(shape) = self.table.intern(&[word::header(method.get())]) else {
            return self.fail();
        };
        if let Ok(id) = usize::try_from(method.get())
            && id < NEAR_IDS
        {
            if id >= self.leaves.len() {
                self.leaves.resize((id + 1).next_power_of_two(), NO_SHAPE);
            }
            self.leaves.iter_mut().skip(id).take(1).for_each(|leaf| *leaf = shape);
        }
        self.push_call(shape);
    }
}

impl<H: Mix> Visit for Builder<H> {
    #[inline(always)]
    fn enter(&mut self, method: MethodId) {
        if method.get() > MAX_NUMBER {
            return self.fail();
        }
        self.push_frame(word::header(method.get()));
    }

    #[inline(always)]
    fn exit(&mut self, count: NonZeroU64) {
        self.exit_as(Outcome::Returned, count.get());
    }

    #[inline(always)]
    fn call(&mut self, method: MethodId, exits: NonZeroU64) {
        let id = usize::try_from(method.get()).unwrap_or(usize::MAX);
        match self.leaves.get(id) {
            Some(&shape) if shape != NO_SHAPE => self.push_call(shape),
            _ => self.call_new(method),
        }
        self.exit_as(Outcome::Returned, exits.get() - 1);
    }
}

impl<H: Mix> VisitRepeats for Builder<H> {
    #[inline(always)]
    fn leave(&mut self) -> Option<u32> {
        let Some(start) = self.frames.pop() else {
            self.exit_unseen(Outcome::Returned, 1);
            return None;
        };
        let shape = self.leave_frame(start, Outcome::Returned);
        if shape.is_none() {
            self.fail();
        }
        shape
    }

    #[inline(always)]
    fn repeat(&mut self, call: u32) {
        self.push_call(call);
    }
}

/// A word in which the shape of a run is replaced by the one in a list.
fn renumbered(word: u64, shapes: &[u32]) -> u64 {
    match Word::of(word) {
        Word::Run(shape, count) => {
            word::run(shapes.get(shape.0 as usize).copied().unwrap_or(NO_SHAPE >> 1), count)
        }
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::dag::shape::table::Folded;
    use crate::dag::{Dag, Kind, Root, ShapeId};

    /// Nearly all shapes have the same hash.
    #[derive(Debug)]
    struct Weak;

    impl Mix for Weak {
        fn hash(words: &[u64]) -> u64 {
            words.len() as u64 % 2
        }
    }

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Event {
        Enter(u64),
        Exit(Outcome),
        Break(Break),
    }

    fn play<H: Mix>(events: &[Event], builder: &mut Builder<H>) {
        let mut at = 0;
        while let Some(event) = events.get(at) {
            at += 1;
            match *event {
                Event::Enter(id) => {
                    let method = MethodId::new(id).unwrap();
                    // As the decoder does.
                    if events.get(at) == Some(&Event::Exit(Outcome::Returned)) {
                        at += 1;
                        builder.call(method, NonZeroU64::MIN);
                    } else {
                        builder.enter(method);
                    }
                }
                Event::Exit(Outcome::Returned) => builder.exit(NonZeroU64::MIN),
                Event::Exit(outcome) => builder.exit_as(outcome, 1),
                Event::Break(kind) => builder.add_break(kind),
            }
        }
    }

    fn dag<H: Mix>(parts: &[&[Event]]) -> Dag {
        let mut all = Builder::<H>::new(1 << 20);
        for (number, part) in parts.iter().enumerate() {
            if number == 0 {
                play(part, &mut all);
                continue;
            }
            let mut next = Builder::<H>::new(1 << 20);
            play(part, &mut next);
            let (shapes, roots) = next.finish().unwrap();
            all.append(&shapes, &roots);
        }
        let (shapes, roots) = all.finish().unwrap();
        Dag::new(shapes, roots)
    }

    /// All events, from the shapes. Whether exits without entries were by exception is left out.
    fn unpacked(dag: &Dag) -> Vec<Event> {
        fn call(dag: &Dag, shape: ShapeId, events: &mut Vec<Event>) {
            match dag.shapes().kind(shape) {
                Kind::Thread => unreachable!("shapes are not joined"),
                Kind::Break(kind) => events.push(Event::Break(kind)),
                Kind::Call(method, outcome) => {
                    events.push(Event::Enter(method.get()));
                    for (callee, count) in dag.shapes().runs(shape) {
                        (0..count).for_each(|_| call(dag, callee, events));
                    }
                    events.push(Event::Exit(outcome));
                }
            }
        }
        let mut events = Vec::new();
        for root in dag.roots() {
            match root {
                Root::Calls(shape, count) => (0..count).for_each(|_| call(dag, shape, &mut events)),
                Root::UnseenExits(count) => {
                    events.extend((0..count).map(|_| Event::Exit(Outcome::Returned)));
                }
                Root::Open(method) => events.push(Event::Enter(method.get())),
            }
        }
        events
    }

    /// Exits without entries count as returns.
    fn normal(events: &[Event]) -> Vec<Event> {
        let mut open = 0_u32;
        let mut normal = events.to_vec();
        for event in &mut normal {
            match event {
                Event::Enter(_) => open += 1,
                Event::Exit(_) if open > 0 => open -= 1,
                Event::Exit(outcome) => *outcome = Outcome::Returned,
                Event::Break(_) => {}
            }
        }
        normal
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let event = prop_oneof![
            8 => (0_u64..3).prop_map(Event::Enter),
            1 => prop::sample::select(vec![70, 1 << 18, MAX_NUMBER]).prop_map(Event::Enter),
            9 => Just(Event::Exit(Outcome::Returned)),
            1 => Just(Event::Exit(Outcome::Unwound)),
            1 => Just(Event::Exit(Outcome::Cut)),
            1 => prop::sample::select(vec![Break::Gap, Break::Pause]).prop_map(Event::Break),
        ];
        // Parts that are repeated, as programs do.
        let parts = prop::collection::vec((prop::collection::vec(event, 0..12), 1_usize..5), 0..8);
        parts.prop_map(|parts| parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect())
    }

    proptest! {
        #[test]
        fn shapes_hold_every_event_and_equal_ones_are_one(events in events(), cuts in prop::collection::vec(0_usize..100, 0..4)) {
            let whole = dag::<Folded>(&[&events]);
            prop_assert_eq!(unpacked(&whole), normal(&events));
            let mut seen = HashSet::new();
            for (_, words) in whole.shapes.words.iter() {
                prop_assert!(seen.insert(words.to_vec()), "two equal shapes");
            }
            let calls = events.iter().filter(|event| matches!(event, Event::Enter(_))).count();
            prop_assert_eq!(whole.calls(), calls as u64);
            // A hash that distinguishes nothing, and parts that are joined, change nothing.
            prop_assert_eq!(&dag::<Weak>(&[&events]), &whole);
            let mut cuts: Vec<_> = cuts.iter().map(|cut| *cut.min(&events.len())).collect();
            cuts.extend([0, events.len()]);
            cuts.sort_unstable();
            let ends = cuts.iter().skip(1);
            let parts: Vec<_> =
                cuts.iter().zip(ends).map(|(start, end)| events.get(*start..*end).unwrap()).collect();
            prop_assert_eq!(&dag::<Folded>(&parts), &whole);
        }
    }

    #[test]
    fn runs_are_as_long_as_a_word_allows() {
        let mut builder = Builder::<Folded>::new(1 << 20);
        let method = MethodId::new(1).unwrap();
        builder.enter(method);
        builder.call(method, NonZeroU64::MIN);
        word::push_run(&mut builder.stack, 0, MAX_COUNT);
        word::push_run(&mut builder.stack, 0, MAX_COUNT);
        builder.exit(NonZeroU64::MIN);
        let (shapes, roots) = builder.finish().unwrap();
        let dag = Dag::new(shapes, roots);
        let counts: Vec<_> = dag.shapes().runs(ShapeId(1)).map(|(_, count)| count).collect();
        let most = u64::from(MAX_COUNT);
        assert_eq!(counts, [most, most, 1]);
        assert_eq!((dag.calls(), dag.bytes()), (2 * most + 2, 4 * most + 3));
    }

    #[test]
    fn what_does_not_repeat_is_given_up() {
        // Each call differs in its depth from all others.
        let deep = |frames: u64| {
            let mut builder = Builder::<Folded>::new(1000);
            (0..frames).for_each(|_| builder.enter(MethodId::new(1).unwrap()));
            builder.exit(NonZeroU64::new(frames).unwrap());
            builder
        };
        // Two words each, and the end.
        assert!(deep(300).finish().is_some());
        let builder = deep(400);
        assert!(builder.is_over());
        assert!(builder.table.into_shapes().size() <= 1000);
        assert!(deep(400).finish().is_none());
        let mut open = Builder::<Folded>::new(1000);
        (0..1001).for_each(|_| open.enter(MethodId::new(1).unwrap()));
        assert!(open.is_over());
    }
}
