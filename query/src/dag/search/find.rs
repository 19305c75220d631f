//! Where in a thread the calls of some shapes are.

use crate::dag::shape::kinds::{Kind, Root, ShapeId};
use crate::dag::shape::loops::Cursor;
use crate::dag::shape::of_thread::Dag;
use crate::dag::shape::sums::Place;
use flow_codec::format::marks::Position;
use flow_codec::{MethodId, Offset};

/// A call of a shape that is searched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Occurrence {
    /// Its shape.
    pub shape: ShapeId,
    /// The number of calls in the thread before it.
    pub number: u64,
    /// Where its entry is.
    pub entry: Position,
    /// Where its exit is.
    pub exit: Position,
    /// The number of frames that are open below it.
    pub depth: u64,
}

/// Finds the calls of some shapes in order, a caller before those that it calls. Calls in which there are none are
/// skipped without looking into them.
#[derive(Debug)]
pub struct Find<'a> {
    dag: &'a Dag,
    wanted: Vec<bool>,
    /// Whether there are wanted calls inside.
    inside: Vec<bool>,
    /// How many roots were begun.
    roots: usize,
    /// Calls of the last root that are left.
    of_root: Option<(ShapeId, u64)>,
    place: Place,
    number: u64,
    /// The frames that are never left.
    open: Vec<MethodId>,
    levels: Vec<Level>,
    /// How many of the levels are below the last call that was found.
    below: usize,
    /// Whether calls in those that were found are searched, too.
    is_nested: bool,
}

/// A call whose callees are searched.
#[derive(Clone, Copy, Debug)]
struct Level {
    shape: ShapeId,
    /// Which of its runs were begun.
    runs: Cursor,
    /// Calls of the last of these that are left.
    of_run: Option<(ShapeId, u64)>,
    place: Place,
    number: u64,
}

impl Dag {
    /// Finds the calls of the shapes that are wanted.
    #[must_use]
    pub fn find(&self, mut is_wanted: impl FnMut(ShapeId) -> bool) -> Find<'_> {
        let shapes = self.shapes();
        let wanted: Vec<bool> = shapes.iter().map(&mut is_wanted).collect();
        let mut inside: Vec<bool> = Vec::with_capacity(shapes.len());
        for shape in shapes.iter() {
            let has = |list: &[bool], shape: ShapeId| list.get(shape.index()) == Some(&true);
            let is_in = shapes
                .totals(shape)
                .any(|(callee, _)| has(&wanted, callee) || has(&inside, callee));
            inside.push(is_in);
        }
        Find {
            dag: self,
            wanted,
            inside,
            roots: 0,
            of_root: None,
            place: Place::default(),
            number: 0,
            open: Vec::new(),
            levels: Vec::new(),
            below: 0,
            is_nested: true,
        }
    }
}

impl Find<'_> {
    /// Leaves out calls that are in another one that is found.
    #[must_use]
    pub fn outermost(mut self) -> Self {
        self.is_nested = false;
        self
    }

    /// The methods of the callers of the last call that was found, the outermost first.
    pub fn callers(&self) -> impl Iterator<Item = MethodId> {
        let shapes = self.dag.shapes();
        let levels = self.levels.iter().take(self.below);
        let of_levels = levels.filter_map(|level| match shapes.kind(level.shape) {
            Kind::Call(method, _) => Some(method),
            _ => None,
        });
        self.open.iter().copied().chain(of_levels)
    }

    fn is_wanted(&self, shape: ShapeId) -> bool {
        self.wanted.get(shape.index()) == Some(&true)
    }

    fn is_inside(&self, shape: ShapeId) -> bool {
        self.inside.get(shape.index()) == Some(&true)
    }

    /// Enters a call. Returns it if it is wanted.
    fn enter(&mut self, shape: ShapeId, place: Place, number: u64) -> Option<Occurrence> {
        let shapes = self.dag.shapes();
        self.below = self.levels.len();
        let found = self.is_wanted(shape).then(|| {
            let depth = (self.open.len() + self.below) as u64;
            let entry = Position::before(Offset::new(place.end()));
            Occurrence { shape, number, entry, exit: place.exit_of(shapes.sums(shape)), depth }
        });
        if self.is_inside(shape)
            && (self.is_nested || found.is_none())
            && let Kind::Call(method, _) = shapes.kind(shape)
        {
            let mut place = place;
            place.enter(method);
            let number = number.saturating_add(1);
            self.levels.push(Level { shape, runs: Cursor::default(), of_run: None, place, number });
        }
        found
    }

    /// Enters the next call of the innermost level that matters, or leaves the level.
    fn next_in_level(&mut self) -> Option<Occurrence> {
        let shapes = self.dag.shapes();
        let mut level = self.levels.pop()?;
        loop {
            let (shape, left) = match level.of_run.take() {
                Some(of_run) => of_run,
                None => {
                    self.pass_loops(&mut level);
                    level.runs.next(shapes.items(level.shape))?
                }
            };
            let sums = shapes.sums(shape);
            let matters = self.is_wanted(shape) || self.is_inside(shape);
            let count = if matters { 1 } else { left };
            let (place, number) = (level.place, level.number);
            level.place.pass_calls(&sums, count);
            level.number = number.saturating_add(sums.calls.saturating_mul(count));
            if matters {
                level.of_run = (left > 1).then(|| (shape, left - 1));
                self.levels.push(level);
                return self.enter(shape, place, number);
            }
        }
    }

    /// Passes runs that are made together several times, if none of them matters.
    fn pass_loops(&self, level: &mut Level) {
        let shapes = self.dag.shapes();
        let items = shapes.items(level.shape);
        while let Some(part) = level.runs.whole(items)
            && !part.runs().any(|(shape, _)| self.is_wanted(shape) || self.is_inside(shape))
        {
            let sums = shapes.sums_of(part);
            level.place.pass_calls(&sums, part.times);
            level.number = level.number.saturating_add(sums.calls.saturating_mul(part.times));
            level.runs.pass(items, part.times);
        }
    }

    /// Enters the next call of a root that matters. Returns whether there is one, and the call if it is wanted.
    fn next_root(&mut self) -> (bool, Option<Occurrence>) {
        let dag = self.dag;
        loop {
            let root = match self.of_root.take() {
                Some((shape, left)) => Root::Calls(shape, left),
                None => {
                    let Some(root) = dag.root(self.roots) else { return (false, None) };
                    self.roots += 1;
                    root
                }
            };
            let (place, number) = (self.place, self.number);
            let root = match root {
                Root::Calls(shape, left) if self.is_wanted(shape) || self.is_inside(shape) => {
                    self.of_root = (left > 1).then(|| (shape, left - 1));
                    Root::Calls(shape, 1)
                }
                root => root,
            };
            self.place.pass_root(root, dag.shapes());
            self.number = number.saturating_add(dag.calls_in(root));
            match root {
                Root::Calls(shape, _) if self.is_wanted(shape) || self.is_inside(shape) => {
                    return (true, self.enter(shape, place, number));
                }
                Root::Open(method) => self.open.push(method),
                _ => {}
            }
        }
    }
}

impl Iterator for Find<'_> {
    type Item = Occurrence;

    fn next(&mut self) -> Option<Occurrence> {
        loop {
            let found = if self.levels.is_empty() {
                match self.next_root() {
                    (false, _) => return None,
                    (true, found) => found,
                }
            } else {
                self.next_in_level()
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroU64;

    use super::*;
    use crate::dag::Outcome;
    use flow_codec::format::marks::{Mark, MarkEncoder};
    use flow_codec::parallel::BytesRead;
    use flow_codec::read::{Content, Trace};

    #[test]
    #[expect(clippy::too_many_lines, reason = "one random thread, read in three ways")]
    fn all_calls_are_found_where_the_timeline_has_them() {
        let mut state: u64 = 5;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) % below
        };
        let mut found_in_all = 0;
        for _ in 0..400 {
            let (mut events, mut marks, mut now) = (Vec::new(), Vec::new(), 100);
            let mut encoder = MarkEncoder::with_header();
            let mut after_exits = true;
            for _ in 0..60 {
                let exits = if after_exits { 0 } else { random(2) * random(5) };
                after_exits = exits > 0;
                let offset = Offset::new(events.len() as u64);
                events.push(if exits == 0 {
                    0x80 + u8::try_from(random(3)).unwrap()
                } else {
                    u8::try_from(exits - 1).unwrap()
                });
                for exits in 0..exits.max(1) {
                    let position = Position { offset, exits };
                    now += random(50);
                    if random(3) == 0 {
                        let (by_ns, from_ns) = (now, now + random(9));
                        now = from_ns;
                        let mark = Mark::Time { by_ns, from_ns, ran_us: None };
                        encoder.encode(position, &mark, &mut marks);
                    }
                    if after_exits && random(4) == 0 {
                        let exits = NonZeroU64::MIN;
                        encoder.encode(
                            position,
                            &Mark::Unwound { exits, thrown: None },
                            &mut marks,
                        );
                    }
                }
            }
            encoder.finish(&mut marks);
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("thread-1.flow"), &events).unwrap();
            fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
            let file = Trace::open(dir.path()).unwrap().take_files().remove(0);
            let content = Content::open(&file).unwrap();
            let dag = Dag::build(&file, &content, &BytesRead::default()).unwrap().dag.unwrap();
            assert_eq!(dag.bytes(), events.len() as u64);

            let mut calls: Vec<_> =
                file.timeline().unwrap().calls().map(|call| call.unwrap()).collect();
            calls.sort_by_key(|call| call.number);
            let wanted_method = random(4);
            let is_wanted = |method: MethodId| wanted_method == 3 || method.get() == wanted_method;
            let of_shape = |shape| match dag.shapes().kind(shape) {
                Kind::Call(method, outcome) => (method, outcome),
                kind => unreachable!("{kind:?}"),
            };
            let mut find = dag.find(|shape| is_wanted(of_shape(shape).0));
            let mut callers: Vec<MethodId> = Vec::new();
            let mut last = 0;
            let mut expected = calls.iter();
            let (mut entries, mut exits) = (file.moments(), Vec::new());
            while let Some(found) = find.next() {
                let call = expected.find(|call| is_wanted(call.method) && !call.is_open).unwrap();
                for call in calls.get(last..usize::try_from(found.number).unwrap()).unwrap() {
                    callers.truncate(usize::try_from(call.depth.get()).unwrap());
                    callers.push(call.method);
                }
                last = usize::try_from(found.number).unwrap();
                callers.truncate(usize::try_from(found.depth).unwrap());
                assert_eq!(find.callers().collect::<Vec<_>>(), callers);
                let (method, outcome) = of_shape(found.shape);
                let seen = (found.number, found.depth, method, outcome == Outcome::Unwound);
                assert_eq!(
                    seen,
                    (call.number, call.depth.get(), call.method, call.unwound.is_some())
                );
                let start = entries.when(found.entry);
                let expected_start = (call.start.bounds, call.start.estimate_ns);
                assert_eq!((start.bounds, start.estimate_ns), expected_start);
                assert_eq!(dag.shapes().calls(found.shape), call.calls);
                exits.push((found.exit, call.end));
                found_in_all += 1;
            }
            assert!(expected.all(|call| !is_wanted(call.method) || call.is_open));
            exits.sort_by_key(|(exit, _)| *exit);
            let mut moments = file.moments();
            for (exit, end) in exits {
                let when = moments.when(exit);
                assert_eq!((when.bounds, when.estimate_ns), (end.bounds, end.estimate_ns));
            }
        }
        assert!(found_in_all > 5_000, "{found_in_all}");
    }

    #[test]
    fn what_is_not_searched_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        // 1 calls 2 a hundred times; twice, and once 2 calls 3.
        let round = [vec![0x81], [0x82, 0x00].repeat(99), vec![0x82, 0x01]].concat();
        let mut events = round.repeat(2);
        let last = events.len();
        events.extend([0x82, 0x83, 0x01]);
        fs::write(dir.path().join("thread-1.flow"), events).unwrap();
        let file = Trace::open(dir.path()).unwrap().take_files().remove(0);
        let content = Content::open(&file).unwrap();
        let dag = Dag::build(&file, &content, &BytesRead::default()).unwrap().dag.unwrap();
        let three = MethodId::new(3).unwrap();
        let mut find =
            dag.find(|shape| dag.shapes().kind(shape) == Kind::Call(three, Outcome::Returned));
        let found = find.next().unwrap();
        assert_eq!(
            (found.number, found.depth, found.entry.offset.get()),
            (203, 1, last as u64 + 1)
        );
        assert_eq!(find.next(), None);
    }
}
