//! What differs between two calls: where their shapes differ, and only there, what each of them called.
//!
//! Equal shapes are skipped without reading them. Two calls of one method with different shapes are compared call by
//! call: calls of equal shape are aligned first, and between these, calls of the same method. Each such pair is
//! compared in turn, and no pair of shapes twice. So what is found are the smallest calls that differ, and the work
//! depends on what differs, not on the number of calls.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::guide::{Guided, PairNumber};
use crate::dag::shape::kinds::{Kind, Outcome, ShapeId};
use crate::dag::shape::shapes::Shapes;
use flow_codec::MethodId;
use flow_codec::format::shape_name::CallOrder;

/// If two lists have more pairs of elements than this, they are aligned by their order only.
const MAX_CELLS: usize = 1 << 22;
/// The same for all lists together.
const MAX_CELLS_TOGETHER: usize = 1 << 28;
/// More pairs of shapes are not compared.
const MAX_PAIRS: usize = 1 << 20;

/// Calls that one side made and the other did not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shift {
    /// Their shape.
    pub shape: ShapeId,
    /// How many consecutive ones.
    pub count: u64,
    /// Whether they were made after the difference, not before.
    pub is_added: bool,
    /// How many calls were made in the thread before the first of them.
    pub number: u64,
}

/// A call of both sides that differs in itself: in calls that it made, or in how it was left.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// Its shape before and after.
    pub shapes: [ShapeId; 2],
    /// How many calls were made in the thread before it, on both sides.
    pub numbers: [u64; 2],
    /// The calls that only one side made, in order.
    pub shifts: Vec<Shift>,
    /// How it was left, if that differs.
    pub outcomes: Option<[Outcome; 2]>,
    /// How often the same two shapes are compared: the difference is repeated.
    pub times: u64,
    /// Its place among the callers.
    pair: usize,
}

/// What differs between two threads.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Comparison {
    differences: Vec<Difference>,
    /// For each pair that was compared, its method, and the pair of its callers.
    callers: Vec<(Option<MethodId>, Option<usize>)>,
    moved: HashSet<ShapeId>,
    is_cut: bool,
    /// For each pair that was compared, which calls belong together.
    guided: Vec<Guided>,
}

/// Two shapes that are compared.
#[derive(Debug)]
struct Pair {
    shapes: [ShapeId; 2],
    numbers: [u64; 2],
    /// The pair of the callers.
    caller: Option<usize>,
    shifts: Vec<Shift>,
    /// Pairs of callees, and how often each.
    callees: Vec<(usize, u64)>,
    times: u64,
    guided: Guided,
}

/// What is left to be done: to compare a pair for the first time, or to note that it differs in itself.
#[derive(Clone, Copy, Debug)]
enum Task {
    Compare(usize),
    Report(usize),
}

/// A step from one list of calls to the other. Numbers are those of calls before it, on both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Shift(Shift),
    Change([ShapeId; 2], [u64; 2], u64),
}

impl Comparison {
    /// Compares two joined shapes: of threads, or of calls of the same method. Finds no more than the first `most` differences.
    #[must_use]
    pub(crate) fn of(shapes: &Shapes, before: ShapeId, after: ShapeId, most: usize) -> Self {
        Self::in_order(CallOrder::Counts, shapes, [before, after], most)
    }

    /// Compares two shapes that were joined in this order. Without an order, numbers of calls mean nothing.
    #[must_use]
    pub(crate) fn in_order(
        order: CallOrder,
        shapes: &Shapes,
        [before, after]: [ShapeId; 2],
        most: usize,
    ) -> Self {
        let (pairs, known) = (Vec::new(), HashMap::new());
        let mut search = Search { shapes, order, pairs, known, cells: MAX_CELLS_TOGETHER };
        let mut found = Vec::new();
        let mut is_cut = false;
        if before != after {
            let first = search.pair([before, after], [0, 0], None).0;
            let mut tasks = vec![Task::Compare(first)];
            while let Some(task) = tasks.pop() {
                match task {
                    Task::Report(pair) => found.push(pair),
                    Task::Compare(_) if found.len() >= most || search.pairs.len() > MAX_PAIRS => {
                        is_cut = true;
                    }
                    Task::Compare(pair) => search.compare(pair, &mut tasks),
                }
            }
        }
        search.count();
        let differences: Vec<_> = found.iter().map(|pair| search.difference(*pair)).collect();
        let moved = moved(&differences);
        let method = |pair: &Pair| match shapes.kind(pair.shapes[0]) {
            Kind::Call(method, _) => Some(method),
            _ => None,
        };
        let callers = search.pairs.iter().map(|pair| (method(pair), pair.caller)).collect();
        let guided = search.pairs.into_iter().map(|pair| pair.guided).collect();
        Self { differences, callers, moved, is_cut, guided }
    }

    /// Numbers calls from these numbers on, instead of from 0.
    #[must_use]
    pub(crate) fn numbered_from(mut self, [before, after]: [u64; 2]) -> Self {
        for difference in &mut self.differences {
            let [of_before, of_after] = difference.numbers;
            difference.numbers = [of_before.saturating_add(before), of_after.saturating_add(after)];
            for shift in &mut difference.shifts {
                let from = if shift.is_added { after } else { before };
                shift.number = shift.number.saturating_add(from);
            }
        }
        self
    }

    /// The calls that both sides made directly before the first that only one side made: each shape with how many consecutive
    /// calls of it, at most `most`.
    #[must_use]
    pub fn calls_before(
        shapes: &Shapes,
        difference: &Difference,
        most: usize,
    ) -> Vec<(ShapeId, u64)> {
        let Some(shift) = difference.shifts.first() else { return Vec::new() };
        let side = usize::from(shift.is_added);
        let (Some(caller), Some(number)) =
            (difference.shapes.get(side), difference.numbers.get(side))
        else {
            return Vec::new();
        };
        let own = u64::from(matches!(shapes.kind(*caller), Kind::Call(..)));
        let mut number = number.saturating_add(own);
        let mut before = Vec::new();
        for (shape, count) in shapes.runs(*caller) {
            let calls = shapes.calls(shape).max(1);
            let fitting = (shift.number.saturating_sub(number) / calls).min(count);
            if fitting == 0 {
                break;
            }
            before.push((shape, fitting));
            number = number.saturating_add(shapes.calls(shape).saturating_mul(fitting));
        }
        before.split_off(before.len().saturating_sub(most))
    }

    /// The differences, in the order in which the first side made the calls.
    #[must_use]
    pub fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// The method of a call that differs, and those of its callers, the outermost first. Empty for a thread itself.
    #[must_use]
    pub fn stack(&self, difference: &Difference) -> Vec<MethodId> {
        self.path(difference).into_iter().filter_map(|(_, method)| method).collect()
    }

    /// A call that differs after its callers, the outermost first: each with its number among the calls that were compared, and its
    /// method; a thread itself has none.
    #[doc(hidden)]
    #[must_use]
    pub fn path(&self, difference: &Difference) -> Vec<(usize, Option<MethodId>)> {
        let (mut path, mut next) = (Vec::new(), Some(difference.pair));
        while let Some((pair, (method, caller))) =
            next.and_then(|pair| Some((pair, self.callers.get(pair)?)))
        {
            path.push((pair, *method));
            next = *caller;
        }
        path.reverse();
        path
    }

    /// The pair of the two themselves, if they differ.
    pub(crate) fn outermost(&self) -> Option<PairNumber> {
        (!self.guided.is_empty()).then_some(PairNumber(0))
    }

    /// How many calls of a pair only this side made, from the one on that has this number among those of the pair, itself included: with
    /// all calls that these made. 0 if both sides made it, or if that is not known.
    pub(crate) fn only_on(&self, side: usize, pair: PairNumber, number: u64) -> u64 {
        self.guided.get(pair.0).map_or(0, |guided| guided.only(side, number))
    }

    /// The pair of the call that has this number before among those of a pair, if it differs.
    pub(crate) fn callee(&self, pair: PairNumber, number: u64) -> Option<PairNumber> {
        self.guided.get(pair.0)?.callee(number)
    }

    /// Returns whether the two are the same. If they are not, it may still be that no difference was found before the
    /// search was cut.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.differences.is_empty() && !self.is_cut
    }

    /// Returns whether calls of this shape are missing in one place and additional in another.
    #[must_use]
    pub fn is_moved(&self, shape: ShapeId) -> bool {
        self.moved.contains(&shape)
    }

    /// Returns whether there were too many differences to compare everything.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

fn moved(differences: &[Difference]) -> HashSet<ShapeId> {
    let shifts = || differences.iter().flat_map(|difference| &difference.shifts);
    let of = |is_added| shifts().filter(move |shift| shift.is_added == is_added);
    let added: HashSet<_> = of(true).map(|shift| shift.shape).collect();
    of(false).map(|shift| shift.shape).filter(|shape| added.contains(shape)).collect()
}

struct Search<'a> {
    shapes: &'a Shapes,
    order: CallOrder,
    pairs: Vec<Pair>,
    known: HashMap<[ShapeId; 2], usize>,
    /// How many pairs of elements may still be compared to align lists.
    cells: usize,
}

impl Search<'_> {
    /// Returns a pair, and whether it is new.
    fn pair(
        &mut self,
        shapes: [ShapeId; 2],
        numbers: [u64; 2],
        caller: Option<usize>,
    ) -> (usize, bool) {
        if let Some(&pair) = self.known.get(&shapes) {
            return (pair, false);
        }
        let (shifts, callees) = (Vec::new(), Vec::new());
        let guided = Guided::default();
        self.pairs.push(Pair { shapes, numbers, caller, shifts, callees, times: 0, guided });
        let pair = self.pairs.len() - 1;
        self.known.insert(shapes, pair);
        (pair, true)
    }

    fn compare(&mut self, pair: usize, tasks: &mut Vec<Task>) {
        let Some(&Pair { shapes: [before, after], numbers, .. }) = self.pairs.get(pair) else {
            return;
        };
        let list = |shape, number: u64| {
            let own = u64::from(matches!(self.shapes.kind(shape), Kind::Call(..)));
            let mut number = number.saturating_add(own);
            let mut runs = Vec::new();
            for (shape, count) in self.shapes.runs(shape) {
                runs.push(Run { shape, count, number });
                number = number.saturating_add(self.shapes.calls(shape).saturating_mul(count));
            }
            runs
        };
        let (before_runs, after_runs) = (list(before, numbers[0]), list(after, numbers[1]));
        let steps = match self.order {
            CallOrder::Counts => align(self.shapes, &before_runs, &after_runs, &mut self.cells),
            CallOrder::Ignored => pair_in_any_order(self.shapes, before_runs, after_runs),
        };
        let (mut next, mut is_reported) = (Vec::new(), false);
        let (mut shifts, mut callees) = (Vec::new(), Vec::new());
        let mut guided = Guided::default();
        for step in steps {
            match step {
                Step::Shift(shift) => {
                    let side = usize::from(shift.is_added);
                    let from = numbers.get(side).copied().unwrap_or_default();
                    let calls = self.shapes.calls(shift.shape).saturating_mul(shift.count);
                    guided.push_only(side, shift.number.saturating_sub(from), calls);
                    if !is_reported {
                        next.push(Task::Report(pair));
                        is_reported = true;
                    }
                    shifts.push(shift);
                }
                Step::Change(shapes, places, count) => {
                    let (callee, is_new) = self.pair(shapes, places, Some(pair));
                    callees.push((callee, count));
                    let calls = self.shapes.calls(shapes[0]).saturating_mul(count);
                    guided.push_pair(places[0].saturating_sub(numbers[0]), calls, callee);
                    if is_new {
                        next.push(Task::Compare(callee));
                    }
                }
            }
        }
        if !is_reported && self.outcomes([before, after]).is_some() {
            next.push(Task::Report(pair));
        }
        tasks.extend(next.into_iter().rev());
        if let Some(pair) = self.pairs.get_mut(pair) {
            (pair.shifts, pair.callees, pair.guided) = (shifts, callees, guided);
        }
    }

    /// Counts how often each pair occurs.
    fn count(&mut self) {
        let mut order: Vec<_> = (0..self.pairs.len()).collect();
        // Callers have larger numbers than those that they call.
        order.sort_unstable_by_key(|pair| {
            std::cmp::Reverse(self.pairs.get(*pair).map(|pair| pair.shapes))
        });
        self.pairs.iter_mut().take(1).for_each(|first| first.times = 1);
        for pair in order {
            let Some(caller) = self.pairs.get_mut(pair) else { continue };
            let (times, callees) = (caller.times, std::mem::take(&mut caller.callees));
            for (callee, count) in callees {
                if let Some(callee) = self.pairs.get_mut(callee) {
                    callee.times = callee.times.saturating_add(times.saturating_mul(count));
                }
            }
        }
    }

    fn outcomes(&self, shapes: [ShapeId; 2]) -> Option<[Outcome; 2]> {
        match shapes.map(|shape| self.shapes.kind(shape)) {
            [Kind::Call(_, before), Kind::Call(_, after)] if before != after => {
                Some([before, after])
            }
            _ => None,
        }
    }

    fn difference(&self, pair: usize) -> Difference {
        let (shapes, numbers, shifts, times) = match self.pairs.get(pair) {
            Some(pair) => (pair.shapes, pair.numbers, pair.shifts.clone(), pair.times),
            None => ([ShapeId(0); 2], [0; 2], Vec::new(), 0),
        };
        Difference { shapes, numbers, shifts, outcomes: self.outcomes(shapes), times, pair }
    }
}

/// Consecutive calls, and how many calls were made in the thread before them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    shape: ShapeId,
    count: u64,
    number: u64,
}

/// Returns what leads from one list of calls to another, in order.
fn align(shapes: &Shapes, before: &[Run], after: &[Run], cells: &mut usize) -> Vec<Step> {
    let (mut before_runs, mut after_runs) = (before, after);
    // What is equal at both ends need not be aligned.
    while let ([one, before @ ..], [other, after @ ..]) = (before_runs, after_runs)
        && (one.shape, one.count) == (other.shape, other.count)
    {
        (before_runs, after_runs) = (before, after);
    }
    while let ([before @ .., one], [after @ .., other]) = (before_runs, after_runs)
        && (one.shape, one.count) == (other.shape, other.count)
    {
        (before_runs, after_runs) = (before, after);
    }
    let same = matches(before_runs, after_runs, cells, |run| run.shape);
    let mut steps = Vec::new();
    let (mut from, mut to) = (0, 0);
    let end = (before_runs.len(), after_runs.len());
    for (one, other) in same.into_iter().chain([end]) {
        let a = before_runs.get(from..one).unwrap_or_default();
        let b = after_runs.get(to..other).unwrap_or_default();
        pair_up(shapes, a, b, cells, &mut steps);
        if let (Some(a), Some(b)) = (before_runs.get(one), after_runs.get(other)) {
            push_rest(shapes, *a, *b, &mut steps);
        }
        (from, to) = (one + 1, other + 1);
    }
    steps
}

/// Returns what leads from some calls to others: those that are the same belong together, then those of one method.
fn pair_in_any_order(shapes: &Shapes, before: Vec<Run>, mut after: Vec<Run>) -> Vec<Step> {
    let mut places: HashMap<ShapeId, Vec<usize>> = HashMap::new();
    for (place, run) in after.iter().enumerate().rev() {
        places.entry(run.shape).or_default().push(place);
    }
    let mut steps = Vec::new();
    let take = |run: &mut Run, other: &mut Run| {
        let both = run.count.min(other.count);
        (run.count, other.count) = (run.count - both, other.count - both);
        both
    };
    let mut left = before;
    for run in &mut left {
        for place in places.get(&run.shape).into_iter().flatten() {
            if let Some(other) = after.get_mut(*place) {
                take(run, other);
            }
        }
    }
    let mut by_method: HashMap<MethodId, Vec<usize>> = HashMap::new();
    for (place, run) in after.iter().enumerate().filter(|(_, run)| run.count > 0) {
        if let Kind::Call(method, _) = shapes.kind(run.shape) {
            by_method.entry(method).or_default().push(place);
        }
    }
    for run in left.iter_mut().filter(|run| run.count > 0) {
        let others = match shapes.kind(run.shape) {
            Kind::Call(method, _) => by_method.get(&method),
            _ => None,
        };
        for place in others.into_iter().flatten() {
            let Some(other) = after.get_mut(*place) else { continue };
            let both = take(run, other);
            if both > 0 {
                let numbers = [run.number, other.number];
                steps.push(Step::Change([run.shape, other.shape], numbers, both));
            }
        }
    }
    let is_left = |run: &&Run| run.count > 0;
    steps.extend(left.iter().filter(is_left).map(|run| shift(*run, false)));
    steps.extend(after.iter().filter(is_left).map(|run| shift(*run, true)));
    steps
}

/// Pairs calls of the same method, between calls that are the same.
fn pair_up(
    shapes: &Shapes,
    before: &[Run],
    after: &[Run],
    cells: &mut usize,
    steps: &mut Vec<Step>,
) {
    let method = |run: &Run| match shapes.kind(run.shape) {
        Kind::Call(method, _) => Ok(method),
        kind => Err(kind),
    };
    let pairs = matches(before, after, cells, method);
    let (mut from, mut to) = (0, 0);
    for (one, other) in pairs.into_iter().chain([(before.len(), after.len())]) {
        let removed = before.get(from..one).unwrap_or_default();
        let added = after.get(to..other).unwrap_or_default();
        steps.extend(removed.iter().map(|run| shift(*run, false)));
        steps.extend(added.iter().map(|run| shift(*run, true)));
        if let (Some(a), Some(b)) = (before.get(one), after.get(other)) {
            let count = a.count.min(b.count);
            steps.push(Step::Change([a.shape, b.shape], [a.number, b.number], count));
            push_rest(shapes, *a, *b, steps);
        }
        (from, to) = (one + 1, other + 1);
    }
}

fn shift(run: Run, is_added: bool) -> Step {
    let Run { shape, count, number } = run;
    Step::Shift(Shift { shape, count, is_added, number })
}

/// Adds the calls that one of two runs has more.
fn push_rest(shapes: &Shapes, before: Run, after: Run, steps: &mut Vec<Step>) {
    let both = before.count.min(after.count);
    for (run, is_added) in [(before, false), (after, true)] {
        if run.count > both {
            let passed = shapes.calls(run.shape).saturating_mul(both);
            let number = run.number.saturating_add(passed);
            steps.push(shift(Run { count: run.count - both, number, ..run }, is_added));
        }
    }
}

/// Finds elements with equal keys in two lists, in order in both, as many as possible.
fn matches<K: Eq + Hash>(
    before: &[Run],
    after: &[Run],
    cells: &mut usize,
    key: impl Fn(&Run) -> K,
) -> Vec<(usize, usize)> {
    let (before, after): (Vec<K>, Vec<K>) =
        (before.iter().map(&key).collect(), after.iter().map(&key).collect());
    let needed = before.len().saturating_mul(after.len());
    if needed > MAX_CELLS.min(*cells) {
        return first_matches(&before, &after);
    }
    *cells -= needed;
    // How many there are from each pair of positions on.
    let width = after.len() + 1;
    let mut most = vec![0_u32; (before.len() + 1) * width];
    let at = |most: &[u32], one: usize, other: usize| {
        most.get(one * width + other).copied().unwrap_or_default()
    };
    for (one, a) in before.iter().enumerate().rev() {
        for (other, b) in after.iter().enumerate().rev() {
            let value = match a == b {
                true => at(&most, one + 1, other + 1) + 1,
                false => at(&most, one + 1, other).max(at(&most, one, other + 1)),
            };
            if let Some(place) = most.get_mut(one * width + other) {
                *place = value;
            }
        }
    }
    let (mut one, mut other) = (0, 0);
    let mut found = Vec::new();
    while let (Some(a), Some(b)) = (before.get(one), after.get(other)) {
        if a == b {
            found.push((one, other));
            (one, other) = (one + 1, other + 1);
        } else if at(&most, one + 1, other) >= at(&most, one, other + 1) {
            one += 1;
        } else {
            other += 1;
        }
    }
    found
}

/// The same for long lists, in time proportional to them: each element takes the next equal one of the other list.
fn first_matches<K: Eq + Hash>(before: &[K], after: &[K]) -> Vec<(usize, usize)> {
    let mut places: HashMap<&K, Vec<usize>> = HashMap::new();
    for (place, key) in after.iter().enumerate() {
        places.entry(key).or_default().push(place);
    }
    // Elements that both lists have once anchor the others, if they are in order.
    let mut counts: HashMap<&K, u32> = HashMap::new();
    before.iter().for_each(|key| *counts.entry(key).or_default() += 1);
    let (mut found, mut next) = (Vec::new(), 0);
    for (one, key) in before.iter().enumerate() {
        let Some(places) = places.get(key) else { continue };
        let later = places.partition_point(|place| *place < next);
        if let Some(&other) = places.get(later) {
            // A single match far ahead would leave out everything before it.
            let is_near = other - next <= 64 || (places.len() == 1 && counts.get(key) == Some(&1));
            if is_near {
                found.push((one, other));
                next = other + 1;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dag::building::builder::Builder;
    use crate::dag::shape::table::Folded;
    use crate::dag::{Dag, Join};
    use flow_codec::read::Visit;

    /// A call, how many calls it made, and whether it was left by an exception: `(1 (2)(2) !)`.
    fn dag(text: &str) -> Dag {
        let mut builder = Builder::<Folded>::new(1 << 16);
        let mut outcome = Outcome::Returned;
        for word in text.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
            match word {
                "(" => {}
                "!" => outcome = Outcome::Unwound,
                ")" => builder.exit_as(std::mem::replace(&mut outcome, Outcome::Returned), 1),
                id => builder.enter(MethodId::new(id.parse().unwrap()).unwrap()),
            }
        }
        let (shapes, roots) = builder.finish().unwrap();
        Dag::new(shapes, roots)
    }

    fn compared(before: &str, after: &str) -> (Shapes, Comparison) {
        compared_in(CallOrder::Counts, before, after)
    }

    fn compared_in(order: CallOrder, before: &str, after: &str) -> (Shapes, Comparison) {
        let mut join = Join::default().in_order(order);
        let threads = [before, after].map(|text| join.add(&dag(text), Some).unwrap().thread);
        let shapes = join.finish();
        let comparison = Comparison::in_order(order, &shapes, threads, usize::MAX);
        (shapes, comparison)
    }

    /// Each difference in a line: the stack, the numbers of both calls, and what they called.
    fn lines(before: &str, after: &str) -> Vec<String> {
        let (shapes, comparison) = compared(before, after);
        let line = |difference: &Difference| {
            let stack = comparison.stack(difference);
            let stack: Vec<_> = stack.iter().map(ToString::to_string).collect();
            let shifts = difference.shifts.iter().map(|shift| {
                let Kind::Call(method, _) = shapes.kind(shift.shape) else { unreachable!() };
                let sign = if shift.is_added { '+' } else { '-' };
                let moved = if comparison.is_moved(shift.shape) { "m" } else { "" };
                format!(" {sign}{method}x{}@{}{moved}", shift.count, shift.number)
            });
            let [one, other] = difference.numbers;
            let outcomes = if difference.outcomes.is_some() { " !" } else { "" };
            let shifts: String = shifts.collect();
            let times = match difference.times {
                1 => String::new(),
                times => format!(" x{times}"),
            };
            format!("{} at {one},{other}{times}:{shifts}{outcomes}", stack.join(">"))
        };
        comparison.differences().iter().map(line).collect()
    }

    #[test]
    fn calls_in_another_order_are_the_same_if_it_does_not_count() {
        let differences = |before: &str, after: &str| {
            let (shapes, comparison) = compared_in(CallOrder::Ignored, before, after);
            let line = |difference: &Difference| {
                let calls = difference.shifts.iter().map(|shift| {
                    let sign = if shift.is_added { '+' } else { '-' };
                    let Kind::Call(method, _) = shapes.kind(shift.shape) else { unreachable!() };
                    format!(" {sign}{method}x{}", shift.count)
                });
                let stack = comparison.stack(difference);
                let stack: Vec<_> = stack.iter().map(ToString::to_string).collect();
                format!("{}:{}", stack.join(">"), calls.collect::<String>())
            };
            comparison.differences().iter().map(line).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(differences("(1 (2)(3)(2)(3))", "(1 (3)(3)(2)(2))"), none);
        assert_eq!(differences("(1 (2 (4)(5)) (3))", "(1 (3) (2 (5)(4)))"), none);
        // Of calls of one method, those belong together that did the same.
        assert_eq!(
            differences("(1 (2 (4)) (2 (5)) (3))", "(1 (3) (2 (5)) (2 (4)(6)))"),
            ["1>2: +6x1"]
        );
        assert_eq!(differences("(1 (2)(3)(2))", "(1 (3)(2))"), ["1: -2x1"]);
        assert_eq!(differences("(1 (2))", "(1 (4)(2)(2))"), ["1: +2x1 +4x1"]);
    }

    #[test]
    fn the_smallest_calls_that_differ_are_found() {
        let none: [&str; 0] = [];
        assert_eq!(lines("(1 (2)(2))", "(1 (2)(2))"), none);
        assert_eq!(lines("(1 (2 (3)) (4))", "(1 (2 (3)(5)) (4))"), ["1>2 at 1,1: +5x1@3"]);
        assert_eq!(lines("(1 (2))", "(1 (2 !))"), ["1>2 at 1,1: !"]);
        assert_eq!(lines("(1)", "(2)"), [" at 0,0: -1x1@0 +2x1@0"]);
        // What is called more often, before and after what is the same.
        assert_eq!(lines("(1 (2)(2)(3))", "(1 (2)(2)(2)(3)(3))"), ["1 at 0,0: +2x1@3 +3x1@5"]);
        assert_eq!(
            lines("(1 (7) (2 (3)) (8))", "(1 (7) (9) (2 (4)) (8))"),
            ["1 at 0,0: +9x1@2", "1>2 at 2,3: -3x1@3 +4x1@4"]
        );
    }

    #[test]
    fn the_first_divergence_comes_first_and_what_is_repeated_once() {
        assert_eq!(
            lines("(1 (2 (3)) (4) (2 (3)) (5 (2 (3))))", "(1 (2 (6)) (4) (2 (6)) (5 (2 (6))))"),
            ["1>2 at 1,1 x3: -3x1@2 +6x1@2"]
        );
        assert_eq!(
            lines("(1 (2 (3)) (4 (5)))", "(1 (2) (4))"),
            ["1>2 at 1,1: -3x1@2", "1>4 at 3,2: -5x1@4"]
        );
    }

    #[test]
    fn what_was_not_compared_is_not_the_same() {
        let mut join = Join::default();
        let [one, other] = ["(1)", "(2)"].map(|text| join.add(&dag(text), Some).unwrap().thread);
        let shapes = join.finish();
        let comparison = Comparison::of(&shapes, one, other, 0);
        assert!(comparison.differences().is_empty() && comparison.is_cut());
        assert!(!comparison.is_same());
        assert!(Comparison::of(&shapes, one, one, 0).is_same());
    }

    #[test]
    fn what_is_missing_here_and_additional_there_was_moved() {
        assert_eq!(
            lines("(1 (2 (9)) (3) (4))", "(1 (3) (4) (2 (9)))"),
            ["1 at 0,0: -2x1@1m +2x1@3m"]
        );
    }

    #[test]
    fn methods_that_are_left_out_make_no_difference() {
        let mut join = Join::default();
        let number = |method: MethodId| (method.get() != 9).then_some(method);
        let threads = ["(1 (2)(9 (3))(2))", "(1 (2)(2)(9))"]
            .map(|text| join.add(&dag(text), number).unwrap().thread);
        assert_eq!(threads[0], threads[1]);
    }

    #[test]
    fn frames_that_are_open_are_compared_too() {
        assert_eq!(lines("(1 (2) (3 (4)", "(1 (2) (3 (4)(5)"), ["1>3 at 2,2: +5x1@4"]);
    }

    #[test]
    fn long_lists_are_aligned_in_order() {
        let numbers: Vec<u64> = (0..5000).collect();
        let found = first_matches(&numbers, &numbers);
        assert_eq!(found.len(), 5000);
        let without: Vec<u64> = numbers.iter().copied().filter(|number| number % 7 != 0).collect();
        assert_eq!(first_matches(&numbers, &without).len(), without.len());
        assert_eq!(first_matches(&without, &numbers).len(), without.len());
    }

    /// Nested calls of a few methods.
    fn calls() -> impl Strategy<Value = String> {
        let leaf = (0_u64..4).prop_map(|id| format!("({id})"));
        leaf.prop_recursive(4, 24, 4, |inner| {
            (0_u64..4, prop::collection::vec(inner, 0..4), any::<bool>()).prop_map(
                |(id, inner, is_unwound)| {
                    format!("({id} {}{})", inner.concat(), if is_unwound { " !" } else { "" })
                },
            )
        })
    }

    proptest! {
        #[test]
        fn differences_explain_all_calls_that_one_side_has_more(
            before in prop::collection::vec(calls(), 0..4),
            after in prop::collection::vec(calls(), 0..4),
        ) {
            let (before, after) = (before.concat(), after.concat());
            let (shapes, comparison) = compared(&before, &after);
            prop_assert_eq!(comparison.is_same(), before.replace(' ', "") == after.replace(' ', ""));
            let sum = |is_added| -> u64 {
                let of = |difference: &Difference| -> u64 {
                    let shifts = difference.shifts.iter().filter(|shift| shift.is_added == is_added);
                    let calls = shifts.map(|shift| shift.count * shapes.calls(shift.shape));
                    calls.sum::<u64>() * difference.times
                };
                comparison.differences().iter().map(of).sum()
            };
            let calls = |text: &str| text.matches('(').count() as u64;
            prop_assert_eq!(calls(&before) + sum(true), calls(&after) + sum(false));
            // Each is at its place.
            let stacks = |text: &str| {
                let (mut open, mut stacks) = (Vec::new(), Vec::new());
                for part in text.split_inclusive(['(', ')', ' ', '!']) {
                    if let Ok(id) = part.trim_end_matches(['(', ')', ' ', '!']).parse::<u64>() {
                        open.push(id);
                        stacks.push(open.clone());
                    }
                    if part.ends_with(')') {
                        open.pop();
                    }
                }
                stacks
            };
            let (before, after) = (stacks(&before), stacks(&after));
            for difference in comparison.differences() {
                let stack: Vec<_> = comparison.stack(difference).iter().map(|method| method.get()).collect();
                if stack.is_empty() {
                    continue;
                }
                for (stacks, number) in [(&before, difference.numbers[0]), (&after, difference.numbers[1])] {
                    prop_assert_eq!(stacks.get(usize::try_from(number).unwrap()), Some(&stack));
                }
            }
        }

        #[test]
        fn alignments_are_in_order(
            before in prop::collection::vec(0_u32..6, 0..30),
            after in prop::collection::vec(0_u32..6, 0..30),
        ) {
            let run = |id: &u32| Run { shape: ShapeId(*id), count: 1, number: 0 };
            let [a, b]: [Vec<_>; 2] = [&before, &after].map(|ids| ids.iter().map(run).collect());
            for found in [matches(&a, &b, &mut 1000, |run| run.shape), first_matches(&before, &after)] {
                prop_assert!(found.is_sorted_by(|one, other| one.0 < other.0 && one.1 < other.1));
                prop_assert!(found.iter().all(|(one, other)| before[*one] == after[*other]));
            }
        }
    }
}
