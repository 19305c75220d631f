//! The page of two runs that are compared call by call: their differences in order, and all calls of both sides.
//!
//! Shapes and methods are those of both runs together, and are all among the [shapes](super::shapes) of the page.

use flow_codec::MethodId;
use flow_query::ask::{DifferingValue, DifferingValues};
use flow_query::dag::{Comparison, Difference, ShapeId, Shapes};
use serde::Serialize;

use super::names::FurtherMethods;
use super::numbers::{cut, exact};
use super::page::{DIFF, assemble};
use super::shapes::PageShapes;
use crate::failure::Failure;
use flow_query::shapes::JoinedNames;

/// The most characters of a title.
const TITLE_CHARS: usize = 400;
/// The most characters of a value.
const VALUE_CHARS: usize = 1000;
/// The most differences, and the most calls of one of them and of all.
const DIFFERENCES: usize = 20_000;
const SHIFTS: usize = 500;
const ALL_SHIFTS: usize = 40_000;
/// The frames that are named at each end of a stack.
const STACK_ENDS: usize = 6;

/// What is compared.
pub(crate) struct Compared<'a> {
    pub(crate) shapes: &'a Shapes,
    pub(crate) names: &'a JoinedNames<'a>,
    /// What the two sides are, and how many calls they have.
    pub(crate) sides: [(String, u64); 2],
    pub(crate) threads: Vec<ComparedThread<'a>>,
    /// The number of threads that do not differ.
    pub(crate) same: usize,
    /// The numbers of the first calls of both sides.
    pub(crate) first_calls: [u64; 2],
    /// How many values were compared, if any.
    pub(crate) values: Option<u64>,
    /// The most differences, and the most kinds of values of a thread.
    pub(crate) most: usize,
}

/// A thread of both sides that differs.
pub(crate) struct ComparedThread<'a> {
    pub(crate) title: String,
    /// The shape of all its calls before and after.
    pub(crate) sides: [ShapeId; 2],
    pub(crate) comparison: &'a Comparison,
    /// How the values of calls differ that both sides made.
    pub(crate) values: &'a DifferingValues,
}

/// What the script reads.
#[derive(Serialize)]
struct DiffData {
    unit: &'static str,
    knows_own: bool,
    /// There are none outside of the shapes.
    classes: [(); 0],
    methods: [(); 0],
    threads: [(); 0],
    sides: [Side; 2],
    pairs: Vec<Pair>,
    same: usize,
    differences: Vec<Row>,
    values: Vec<ValueRow>,
    /// How many further kinds of values differ.
    more_values: usize,
    compared_values: Option<u64>,
    first_calls: [i64; 2],
    is_cut: bool,
}

#[derive(Serialize)]
struct Side {
    title: String,
    calls: i64,
}

/// The threads that are compared; the shapes are absent if there is no space for them.
#[derive(Serialize)]
struct Pair {
    title: String,
    shapes: [Option<u32>; 2],
}

#[derive(Serialize)]
struct Row {
    /// Its place among the pairs of threads.
    pair: usize,
    shapes: [Option<u32>; 2],
    numbers: [i64; 2],
    depth: usize,
    times: i64,
    /// The methods of its callers and its own; of many, those at both ends.
    stack: Vec<u64>,
    outcomes: Option<[u8; 2]>,
    shifts: Vec<RowShift>,
    more_shifts: usize,
}

/// A value by which calls of a method differ.
#[derive(Serialize)]
struct ValueRow {
    pair: usize,
    method: u64,
    name: String,
    count: i64,
    compared: i64,
    /// Whether no other value of the thread differed before, and no call either.
    is_first: bool,
    is_before_calls: bool,
    /// The first one: its name with the part that differs, the value of each side, and the arguments of the call before.
    first: String,
    texts: [String; 2],
    arguments: String,
    numbers: [i64; 2],
    depth: usize,
    stack: Vec<u64>,
}

#[derive(Serialize)]
struct RowShift {
    shape: Option<u32>,
    count: i64,
    number: i64,
    is_added: bool,
    is_moved: bool,
}

/// Returns the page.
///
/// # Errors
/// The data cannot be written as JSON.
pub(crate) fn diff_page(compared: &Compared<'_>) -> Result<Vec<u8>, Failure> {
    let threads = &compared.threads;
    let all = threads.iter().enumerate().flat_map(|(place, thread)| {
        thread.comparison.differences().iter().map(move |difference| (place, thread, difference))
    });
    let most = compared.most.min(DIFFERENCES);
    let found: Vec<_> = all.take(most).collect();
    // What differs, then all around it as far as there is space.
    let of_calls = found.iter().flat_map(|(_, _, difference)| {
        difference.shapes.into_iter().chain(difference.shifts.iter().map(|shift| shift.shape))
    });
    let roots: Vec<_> = of_calls.chain(threads.iter().flat_map(|thread| thread.sides)).collect();
    let methods = FurtherMethods::of_joined(compared.names);
    let shapes = PageShapes::new(
        compared.shapes,
        &roots,
        |method| methods.place(method),
        &methods.json()?,
        |_| &[],
    );
    let values: Vec<_> = threads
        .iter()
        .enumerate()
        .flat_map(|(pair, thread)| value_rows(pair, thread.values, most, &methods))
        .collect();
    let all_values: usize = threads.iter().map(|thread| thread.values.values.len()).sum();
    let mut left = ALL_SHIFTS;
    let mut row = |(pair, thread, difference): &(usize, &ComparedThread<'_>, &Difference)| {
        let Difference { shifts, outcomes, numbers, times, .. } = difference;
        let stack = thread.comparison.stack(difference);
        let shown = shifts.len().min(SHIFTS).min(left);
        left -= shown;
        Row {
            pair: *pair,
            shapes: difference.shapes.map(|shape| shapes.number(shape)),
            numbers: numbers.map(exact),
            depth: stack.len().saturating_sub(1),
            times: exact(*times),
            stack: ends(&stack, &methods),
            outcomes: outcomes.map(|outcomes| outcomes.map(|outcome| outcome as u8)),
            shifts: shifts
                .iter()
                .take(shown)
                .map(|shift| RowShift {
                    shape: shapes.number(shift.shape),
                    count: exact(shift.count),
                    number: exact(shift.number),
                    is_added: shift.is_added,
                    is_moved: thread.comparison.is_moved(shift.shape),
                })
                .collect(),
            more_shifts: shifts.len() - shown,
        }
    };
    let data = DiffData {
        unit: "calls",
        knows_own: false,
        classes: [],
        methods: [],
        threads: [],
        sides: compared
            .sides
            .each_ref()
            .map(|(title, calls)| Side { title: cut(title, TITLE_CHARS), calls: exact(*calls) }),
        pairs: threads
            .iter()
            .map(|thread| Pair {
                title: cut(&thread.title, TITLE_CHARS),
                shapes: thread.sides.map(|shape| shapes.number(shape)),
            })
            .collect(),
        same: compared.same,
        differences: found.iter().map(&mut row).collect(),
        more_values: all_values - values.len(),
        values,
        compared_values: compared.values,
        first_calls: compared.first_calls.map(exact),
        is_cut: threads.iter().any(|thread| thread.comparison.is_cut())
            || threads.iter().map(|thread| thread.comparison.differences().len()).sum::<usize>()
                > most,
    };
    assemble(&DIFF, &data, &shapes.text)
}

/// The places of the methods of a stack: of many, those at both ends.
fn ends(stack: &[MethodId], methods: &FurtherMethods) -> Vec<u64> {
    let is_shown = |place: usize| place < STACK_ENDS || place + STACK_ENDS >= stack.len();
    let shown = stack.iter().enumerate().filter(|(place, _)| is_shown(*place));
    shown.map(|(_, method)| methods.place(*method).into()).collect()
}

/// The values of a pair of threads that differ: the first one, then those that differ most often.
fn value_rows(
    pair: usize,
    values: &DifferingValues,
    most: usize,
    methods: &FurtherMethods,
) -> Vec<ValueRow> {
    let (first, others): (Vec<_>, Vec<_>) = values.values.iter().partition(|value| value.is_first);
    let row = |value: &DifferingValue| ValueRow {
        pair,
        method: methods.place(value.method).into(),
        name: cut(&value.name, TITLE_CHARS),
        count: exact(value.count),
        compared: exact(value.compared),
        is_first: value.is_first,
        is_before_calls: values.is_before_calls,
        first: cut(&value.first.name, TITLE_CHARS),
        texts: value.first.texts.each_ref().map(|text| cut(text, VALUE_CHARS)),
        arguments: cut(&value.first.arguments, VALUE_CHARS),
        numbers: value.first.numbers.map(exact),
        depth: value.first.stack.len().saturating_sub(1),
        stack: ends(&value.first.stack, methods),
    };
    first.into_iter().chain(others).take(most).map(row).collect()
}
