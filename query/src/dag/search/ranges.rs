//! The calls in ranges of a thread, without looking into those that are wholly inside.
//!
//! A range has two borders. The calls in which a border is are the frames that are open there: only these are looked
//! into, and what lies between the borders is skipped call by call. So a range takes as long as its frames have runs.

use std::ops::Range;

use crate::dag::MAX_SIZE;
use crate::dag::building::builder::Builder;
use crate::dag::shape::kinds::{Kind, Outcome, Root, ShapeId};
use crate::dag::shape::loops::Cursor;
use crate::dag::shape::of_thread::Dag;
use crate::dag::shape::shapes::Shapes;
use crate::dag::shape::sums::Place;
use crate::dag::shape::table::{Folded, Words};
use crate::dag::shape::word::{self, MAX_COUNT, Word};
use flow_codec::MethodId;
use flow_codec::format::marks::Position;

/// Finds the calls in ranges of a thread, quickest if the ranges are in order.
#[derive(Clone, Default, Debug)]
pub(crate) struct Ranges {
    /// All events before this position are passed.
    passed: Position,
    /// How many roots were begun, and calls or exits of the last one that are left.
    pub(in crate::dag) roots: usize,
    pub(in crate::dag) of_root: Option<Root>,
    pub(in crate::dag) place: Place,
    /// The calls in which the position is.
    pub(in crate::dag) levels: Vec<Level>,
    /// How many of these, the outermost, were there before the last [`pass`](Self::pass) too.
    pub(in crate::dag) kept: usize,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::dag) struct Level {
    pub(in crate::dag) shape: ShapeId,
    /// Which of its runs were begun, and calls of the last of these that are left.
    pub(in crate::dag) runs: Cursor,
    pub(in crate::dag) of_run: Option<(ShapeId, u64)>,
    pub(in crate::dag) place: Place,
}

impl Ranges {
    /// Returns the calls in a range of a thread, as if nothing else had happened there: [`Root::Calls`], and
    /// [`Root::Open`] for a frame that is not left before the end of the range. The shapes must be all of the same
    /// thread, and their [bytes](Dag::bytes) those of its events.
    pub(crate) fn calls(&mut self, dag: &Dag, range: &Range<Position>) -> Vec<Root> {
        let mut found = Vec::new();
        self.each_in(dag, range, &mut |root, _| found.push(root));
        found
    }

    /// The same, each with the place before it.
    pub(in crate::dag) fn each_in(
        &mut self,
        dag: &Dag,
        range: &Range<Position>,
        each: &mut impl FnMut(Root, Place),
    ) {
        if range.start < self.passed {
            *self = Self::default();
        }
        self.pass(dag, range.start, Each::Nobody);
        self.pass(dag, range.end, Each::All(each));
    }

    /// Passes all events before a position.
    pub(in crate::dag) fn pass(&mut self, dag: &Dag, until: Position, mut each: Each<'_>) {
        self.passed = self.passed.max(until);
        self.kept = self.levels.len();
        loop {
            let more = match self.levels.pop() {
                Some(level) => self.pass_in_call(dag.shapes(), level, until, &mut each),
                None => self.pass_root(dag, until, &mut each),
            };
            if !more {
                return;
            }
        }
    }

    /// Passes some of the calls that a call makes, or its exit. Returns whether there may be more before the position.
    fn pass_in_call(
        &mut self,
        shapes: &Shapes,
        mut level: Level,
        until: Position,
        each: &mut Each<'_>,
    ) -> bool {
        loop {
            let items = shapes.items(level.shape);
            if !matches!(each, Each::All(_))
                && level.of_run.is_none()
                && let Some(part) = level.runs.whole(items)
            {
                // Nobody receives the calls of those that are passed whole.
                let sums = shapes.sums_of(part);
                let times = level.place.calls_before(sums, part.times, until);
                level.place.pass_calls(&sums, times);
                level.runs.pass(items, times);
            }
            let run = level.of_run.take().or_else(|| level.runs.next(items));
            let Some((shape, left)) = run else {
                let is_left = level.place.next_exit() < until;
                if !is_left {
                    self.levels.push(level);
                    return false;
                }
                level.place.exit(1);
                self.kept = self.kept.min(self.levels.len());
                match self.levels.last_mut() {
                    Some(caller) => caller.place = level.place,
                    None => self.place = level.place,
                }
                return true;
            };
            let before = level.place;
            let (count, inner) = pass_run(shapes, shape, left, &mut level.place, until);
            if count > 0 {
                pass_on(each, Root::Calls(shape, count), before);
            }
            if count == left {
                continue;
            }
            level.of_run = Some((shape, left - count));
            let is_entered = self.enter_rest(shapes, &mut level.of_run, inner, each);
            let is_done = level.of_run.is_some() && is_entered.is_none();
            self.levels.push(level);
            self.levels.extend(is_entered);
            return !is_done;
        }
    }

    /// The same outside of all calls.
    fn pass_root(&mut self, dag: &Dag, until: Position, each: &mut Each<'_>) -> bool {
        let shapes = dag.shapes();
        let root = self.of_root.take().or_else(|| {
            self.roots += 1;
            dag.root(self.roots - 1)
        });
        match root {
            None => {
                self.roots -= 1;
                false
            }
            Some(Root::UnseenExits(left)) => {
                let exits = self.place.exits_before(until).min(left);
                self.place.exit(exits);
                self.of_root = (left > exits).then_some(Root::UnseenExits(left - exits));
                self.of_root.is_none()
            }
            Some(Root::Open(method)) => {
                if self.place.next_entry() < until {
                    pass_on(each, Root::Open(method), self.place);
                    self.place.enter(method);
                    return true;
                }
                self.of_root = root;
                false
            }
            Some(Root::Calls(shape, left)) => {
                let before = self.place;
                let (count, inner) = pass_run(shapes, shape, left, &mut self.place, until);
                let left = left - count;
                let mut rest = (left > 0).then_some((shape, left));
                if count > 0 {
                    pass_on(each, Root::Calls(shape, count), before);
                }
                let is_entered = self.enter_rest(shapes, &mut rest, inner, each);
                let is_done = rest.is_some() && is_entered.is_none();
                self.of_root = rest.map(|(shape, left)| Root::Calls(shape, left));
                self.levels.extend(is_entered);
                !is_done
            }
        }
    }

    /// Enters the first call of the rest of a run, if the position is in it, at a place.
    fn enter_rest(
        &self,
        shapes: &Shapes,
        rest: &mut Option<(ShapeId, u64)>,
        inner: Option<Place>,
        each: &mut Each<'_>,
    ) -> Option<Level> {
        let ((shape, left), mut place) = (*rest.as_ref()?, inner?);
        let Kind::Call(method, _) = shapes.kind(shape) else { return None };
        pass_on(each, Root::Open(method), place);
        place.enter(method);
        *rest = (left > 1).then_some((shape, left - 1));
        Some(Level { shape, runs: Cursor::default(), of_run: None, place })
    }
}

/// Who receives the calls that are passed, each with the place before it.
pub(in crate::dag) enum Each<'a> {
    Nobody,
    /// Only of calls that are entered, and not passed whole.
    Entered(&'a mut dyn FnMut(MethodId, Place)),
    All(&'a mut dyn FnMut(Root, Place)),
}

fn pass_on(each: &mut Each<'_>, root: Root, place: Place) {
    match (each, root) {
        (Each::All(each), root) => each(root, place),
        (Each::Entered(each), Root::Open(method)) => each(method, place),
        (Each::Nobody | Each::Entered(_), _) => {}
    }
}

/// Passes the calls of a run that end before a position. Returns how many these are, and the place of the next one if it
/// begins before the position.
fn pass_run(
    shapes: &Shapes,
    shape: ShapeId,
    left: u64,
    place: &mut Place,
    until: Position,
) -> (u64, Option<Place>) {
    let sums = shapes.sums(shape);
    if sums.calls == 0 {
        // A break is at the position before it.
        return (if place.next_exit() < until { left } else { 0 }, None);
    }
    let mut after = *place;
    after.pass_calls(&sums, left);
    if after.last_exit() < until {
        *place = after;
        return (left, None);
    }
    let count = place.calls_before(sums, left, until);
    place.pass_calls(&sums, count);
    (count, (count < left && place.next_entry() < until).then_some(*place))
}

impl Dag {
    /// Returns the calls in ranges of the thread, each as if nothing else had happened: frames that are open at its end
    /// are left there. Of shapes whose [bytes](Self::bytes) are those of the events. `None` if there are too many.
    #[must_use]
    pub fn only(&self, ranges: &[Range<Position>]) -> Option<Self> {
        let mut cursor = Ranges::default();
        let mut roots = Vec::new();
        let mut needed = vec![false; self.shapes.len()];
        for range in ranges {
            let mut open = 0_u64;
            for root in cursor.calls(self, range) {
                match root {
                    Root::Calls(shape, count) => {
                        push_calls(&mut roots, shape, count);
                        needed.iter_mut().skip(shape.index()).take(1).for_each(|is| *is = true);
                    }
                    Root::Open(method) => {
                        roots.push(word::header(method.get()));
                        open += 1;
                    }
                    Root::UnseenExits(_) => {}
                }
            }
            if open > 0 {
                roots.push(word::unseen_exits(Outcome::Returned, open));
            }
        }
        for shape in self.shapes.iter().rev() {
            if needed.get(shape.index()) == Some(&true) {
                for (callee, _) in self.shapes.totals(shape) {
                    needed.iter_mut().skip(callee.index()).take(1).for_each(|is| *is = true);
                }
            }
        }
        // Numbered anew: a range has few of the shapes.
        let mut numbers = vec![0_u32; self.shapes.len()];
        let mut shapes = Words::default();
        let mut words = Vec::new();
        for (shape, old) in self.shapes.words.iter() {
            let at = ShapeId(shape).index();
            if needed.get(at) != Some(&true) {
                continue;
            }
            words.clear();
            words.extend(old.iter().map(|word| renumbered(*word, &numbers)));
            let number = shapes.push(&words)?;
            numbers.iter_mut().skip(at).take(1).for_each(|place| *place = number);
        }
        roots.iter_mut().for_each(|root| *root = renumbered(*root, &numbers));
        // What is open at a border adds little to the shapes of the thread.
        let max_size = MAX_SIZE.max(2 * self.shapes.words.size());
        let mut builder = Builder::<Folded>::new(max_size);
        builder.append(&shapes, &roots);
        builder.finish().map(|(shapes, roots)| Self::new(shapes, roots))
    }
}

/// Adds consecutive calls of a shape, as many as a run may have in each.
fn push_calls(roots: &mut Vec<u64>, shape: ShapeId, mut count: u64) {
    while count > 0 {
        let some = u32::try_from(count).unwrap_or(MAX_COUNT);
        roots.push(word::run(shape.0, some));
        count -= u64::from(some);
    }
}

fn renumbered(word: u64, numbers: &[u32]) -> u64 {
    match Word::of(word) {
        Word::Run(shape, count) => {
            word::run(numbers.get(shape.index()).copied().unwrap_or_default(), count)
        }
        _ => word,
    }
}
