//! What differs between two sides as steps: the calls of both that differ, in these the calls that only one side made, and around them
//! their callers.

use flow_codec::{MethodId, NameForm};
use flow_query::ask::DifferingValue;
use flow_query::dag::{Comparison, Difference, Kind, Outcome, ShapeId, Shapes, Shift};
use flow_query::shapes::JoinedNames;

use super::diagram::{Diagram, class_and_name};
use super::steps::{Call, MAX_STEPS, Part, Step, push};
use super::syntax::{Mermaid, PlantUml, Syntax};
use crate::output::{grouped, plural};

/// The calls that are shown before the first one that only one side made.
const SHOWN_BEFORE: usize = 2;
/// The callers that are shown at each end, if they have no other difference.
const CALLER_ENDS: usize = 3;

/// Two sides that are compared.
pub(crate) struct DifferenceDiagram<'a> {
    pub(crate) shapes: &'a Shapes,
    pub(crate) names: &'a JoinedNames<'a>,
    /// What the sides are called.
    pub(crate) words: [&'a str; 2],
    pub(crate) threads: Vec<DrawnThread<'a>>,
}

/// A thread of both sides that differs.
pub(crate) struct DrawnThread<'a> {
    pub(crate) name: String,
    pub(crate) comparison: &'a Comparison,
    /// The differences of these that are shown.
    pub(crate) shown: &'a [Difference],
    /// The value that differs first, and whether it does before the calls do.
    pub(crate) value: Option<(&'a DifferingValue, bool)>,
}

/// The calls from the thread down to the one that differs, each with its number in the comparison, and the difference.
type Placed<'a> = (Vec<(usize, Option<MethodId>)>, &'a Difference);

impl DifferenceDiagram<'_> {
    /// The diagram for Mermaid.
    pub(crate) fn mermaid(&self) -> String {
        self.write(&Mermaid)
    }

    /// The diagram for PlantUML.
    pub(crate) fn plantuml(&self) -> String {
        self.write(&PlantUml)
    }

    fn write(&self, syntax: &dyn Syntax) -> String {
        let names = |method| match self.names.place(method) {
            Some((names, id)) => class_and_name(names, id),
            None => ("?".to_owned(), self.names.get(method, NameForm::Short)),
        };
        let steps = |depth| {
            let mut drawn = Drawn { of: self, depth, left: MAX_STEPS, calls: 0 };
            (drawn.threads(), drawn.calls)
        };
        let advice = "; --next, --ignore, --expect, --include and --exclude select others";
        let diagram = Diagram::new(&names, |depth| steps(depth).0, steps(1).1, advice);
        diagram.write(syntax)
    }
}

/// What is drawn of two sides.
struct Drawn<'a> {
    of: &'a DifferenceDiagram<'a>,
    /// How many calls of one side are around each other.
    depth: usize,
    /// How many further calls of one side may be in memory.
    left: usize,
    /// How many calls there are.
    calls: u64,
}

impl<'a> Drawn<'a> {
    fn threads(&mut self) -> Vec<Step> {
        let mut threads = Vec::new();
        for DrawnThread { name, comparison, shown, value } in &self.of.threads {
            let path = |difference| (comparison.path(difference), difference);
            let placed: Vec<Placed<'_>> = shown.iter().map(path).collect();
            let mut steps = self.around(comparison, &placed.iter().collect::<Vec<_>>(), 0);
            if let Some((value, is_before_calls)) = value {
                let place = if *is_before_calls { 0 } else { steps.len() };
                steps.insert(place, self.value(value));
            }
            threads.push(Step::Part(Part { thread: name.as_str().into(), steps }));
        }
        if threads.is_empty() {
            let thread = "no difference".into();
            threads.push(Step::Part(Part { thread, steps: Vec::new() }));
        }
        threads
    }

    /// The callers of differences from this one on, and the calls that differ.
    fn around(&mut self, comparison: &Comparison, all: &[&Placed<'_>], level: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        for same in all.chunk_by(|one, other| one.0.get(level) == other.0.get(level)) {
            let Some((path, _)) = same.first() else { continue };
            let shared = |other: &[(usize, Option<MethodId>)]| {
                path.iter().zip(other).take_while(|(one, other)| one == other).count()
            };
            let end = same.iter().map(|(other, _)| shared(other)).min().unwrap_or_default();
            let callers = path.get(level..end).unwrap_or_default();
            let callers: Vec<MethodId> = callers.iter().filter_map(|(_, method)| *method).collect();
            self.calls = self.calls.saturating_add(callers.len() as u64);
            let mut inside = self.inside(comparison, same, end);
            let hidden = callers.len().saturating_sub(2 * CALLER_ENDS);
            for (place, method) in callers.iter().enumerate().rev() {
                if hidden == 0 || place < CALLER_ENDS || place >= CALLER_ENDS + hidden {
                    inside = vec![Step::Call(Call { method: *method, thrown: None, inside })];
                } else if place == CALLER_ENDS {
                    let text = format!("… {} not shown", plural(hidden as u64, "caller"));
                    inside.insert(0, Step::Note(text.into()));
                }
            }
            steps.append(&mut inside);
        }
        steps
    }

    /// What is inside of the call at the end of this level: what it differs in, and the calls that it made and that differ.
    fn inside(&mut self, comparison: &Comparison, all: &[&Placed<'_>], level: usize) -> Vec<Step> {
        let (own, below): (Vec<&Placed<'_>>, Vec<_>) =
            all.iter().partition(|(path, _)| path.len() <= level);
        let Some((_, own)) = own.first() else { return self.around(comparison, &below, level) };
        let mut steps = Vec::new();
        if own.times > 1 {
            steps.push(Step::Note(format!("{} times", grouped(own.times)).into()));
        }
        let mut shifts = own.shifts.as_slice();
        let is_before = |shift: &Shift, (_, difference): &Placed<'_>| {
            difference.numbers.get(usize::from(shift.is_added)).is_some_and(|at| shift.number < *at)
        };
        if shifts.first().is_some_and(|first| below.iter().all(|below| is_before(first, below))) {
            for (shape, count) in Comparison::calls_before(self.of.shapes, own, SHOWN_BEFORE) {
                self.calls = self.calls.saturating_add(count);
                push(&mut steps, self.call(shape, count, 1));
            }
        }
        for same in below.chunk_by(|one, other| one.0.get(level) == other.0.get(level)) {
            let first = same.first();
            let end = shifts.iter().position(|shift| first.is_none_or(|at| !is_before(shift, at)));
            let (before, after) = shifts.split_at(end.unwrap_or(shifts.len()));
            steps.extend(self.of_one_side(comparison, before));
            steps.extend(self.around(comparison, same, level));
            shifts = after;
        }
        steps.extend(self.of_one_side(comparison, shifts));
        if let Some([before, after]) = own.outcomes.map(|both| both.map(Outcome::text)) {
            let text = format!("{before}; {}: {after}", self.of.words[1]);
            steps.push(Step::Note(text.into()));
        }
        steps
    }

    /// The calls that only one side made.
    fn of_one_side(&mut self, comparison: &Comparison, shifts: &[Shift]) -> Vec<Step> {
        let side = |shift: &Shift| (shift.is_added, comparison.is_moved(shift.shape));
        let mut steps = Vec::new();
        for same in shifts.chunk_by(|one, other| side(one) == side(other)) {
            let mut calls = Vec::new();
            for shift in same {
                let count = self.of.shapes.calls(shift.shape).saturating_mul(shift.count);
                self.calls = self.calls.saturating_add(count);
                push(&mut calls, self.call(shift.shape, shift.count, self.depth));
            }
            let (is_added, is_moved) = same.first().map(side).unwrap_or_default();
            let word = self.of.words[usize::from(is_added)];
            let moved = if is_moved { ", moved" } else { "" };
            steps.push(Step::Only(format!("only {word}{moved}").into(), calls));
        }
        steps
    }

    /// Calls of a shape, with as many around each other as `depth`.
    fn call(&mut self, shape: ShapeId, count: u64, depth: usize) -> Step {
        self.left = self.left.saturating_sub(1);
        let shapes = self.of.shapes;
        let Kind::Call(method, outcome) = shapes.kind(shape) else {
            return Step::Note("events are missing".into());
        };
        let mut inside = Vec::new();
        for (callee, count) in shapes.runs(shape) {
            if depth < 2 || self.left == 0 {
                break;
            }
            push(&mut inside, self.call(callee, count, depth - 1));
        }
        let thrown = (outcome == Outcome::Unwound).then(|| "exception".into());
        let call = Step::Call(Call { method, thrown, inside });
        if count == 1 { call } else { Step::Loop(count, vec![call]) }
    }

    /// A value that differs.
    fn value(&self, DifferingValue { method, first, .. }: &DifferingValue) -> Step {
        let ([before, after], [word, other]) = (&first.texts, self.of.words);
        let method = self.of.names.get(*method, NameForm::Short);
        let text = format!("{} of {method}: {word} {before}, {other} {after}", first.name);
        Step::Note(text.into())
    }
}
