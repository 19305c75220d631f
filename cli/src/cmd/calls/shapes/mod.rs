//! `flow calls --by shape`: in how many ways a method ran.

mod print;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use flow_codec::MethodId;
use flow_codec::read::{Selection, Trace};
use flow_query::dag::{Comparison, Kind, Outcome, ShapeId, Shapes};
use flow_query::rows::ShapeRow;

use crate::args::ShapesArgs;
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::memory::most_words;
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Out, Progress, message, nothing_in_the_rest};
use flow_query::reading::{CallClock, DurationSum};
use flow_query::select::methods;
use flow_query::shapes::{JoinedNames, JoinedThread, Joiner, Joins};
use print::Print;

/// Shapes of a method shown in text by default.
const DEFAULT_MAX: u64 = 20;
/// To describe a shape, no more differences than this are counted.
const MOST_DIFFERENCES: usize = 100;

pub(crate) fn run(args: &ShapesArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    source.choose_part(&args.part)?;
    let wanted = methods(std::slice::from_ref(&args.method), &source.traces)?;
    source.report_losses();
    let max = line_limit(args.max, args.source.format, DEFAULT_MAX);
    let mut answer = Answer::new::<ShapeRow<'_>>(&source, args.source.format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    let (mut is_found, mut left_out) = (false, 0);
    for trace in &source.traces {
        let mut joiner = Joiner::within(most_words());
        let (threads, worst) =
            joiner.add(trace, Joins::of(&args.part.filter.filter()), &mut progress);
        status = status.and(worst);
        left_out += joiner.left_out.len() as u64;
        let (shapes, methods) = joiner.finish();
        let wanted = Selection::new(&trace.methods, &wanted, &[]);
        let is_wanted = |method| methods.place(method).is_some_and(|(_, id)| wanted.contains(id));
        let mut found = find(&shapes, &threads, is_wanted);
        if args.time {
            let times = times(trace, &shapes, &threads, is_wanted);
            for way in found.values_mut().flatten() {
                way.times = times.get(way.shape.index()).copied().flatten();
            }
        }
        is_found |= !found.is_empty();
        let names = JoinedNames::new(&methods, std::iter::once(trace));
        answer.begin(trace, out)?;
        let print = Print {
            args,
            trace,
            shapes: &shapes,
            names: &names,
            methods: &methods,
            names_of_shapes: (args.part.filter.is_all())
                .then(|| shapes.names(|number| names.key(number))),
        };
        print_trace(&print, &threads, found, &mut answer, out)?;
    }
    let what = &args.method;
    match (is_found, left_out) {
        (true, _) => {}
        (false, 0) => {
            message(&format!(
                "no call of '{what}' that has ended is in the selected part of the trace"
            ));
        }
        (false, left_out) => message(&nothing_in_the_rest(what, left_out)),
    }
    Ok(status)
}

/// A way in which a method ran.
struct Way {
    shape: ShapeId,
    outcome: Outcome,
    count: u64,
    /// The thread of its first call, by number, and the number of calls in the thread before that.
    first: (usize, u64),
    /// How long its calls lasted, if that was requested and is known.
    times: Option<DurationSum>,
}

/// The calls whose times are searched at once.
const CALLS_AT_ONCE: usize = 1 << 16;

/// How long the calls of each shape lasted, of methods that are wanted.
fn times(
    trace: &Trace,
    shapes: &Shapes,
    threads: &[JoinedThread],
    is_wanted: impl Fn(MethodId) -> bool,
) -> Vec<Option<DurationSum>> {
    let mut times = vec![None; shapes.len()];
    for (number, thread) in threads.iter().enumerate().filter(|(_, thread)| thread.is_whole) {
        let Some(file) = trace.files.iter().find(|file| file.id == thread.id) else { continue };
        let joined = |shape: ShapeId| thread.joined.shapes.get(shape.index()).copied().flatten();
        let mut calls = thread.dag.find(|shape| {
            let kind = joined(shape).map(|shape| shapes.kind(shape));
            matches!(kind, Some(Kind::Call(method, _)) if is_wanted(method))
        });
        let mut clock = CallClock::new(file);
        loop {
            let some: Vec<_> = calls.by_ref().take(CALLS_AT_ONCE).collect();
            if some.is_empty() {
                break;
            }
            for (call, of_call) in some.iter().zip(clock.times(&some)) {
                let place = joined(call.shape).and_then(|shape| times.get_mut(shape.index()));
                place.into_iter().for_each(|sum| DurationSum::add(sum, number, *call, &of_call));
            }
        }
    }
    times
}

/// The shapes of each method that is wanted, the most frequent first.
fn find(
    shapes: &Shapes,
    threads: &[JoinedThread],
    is_wanted: impl Fn(MethodId) -> bool,
) -> BTreeMap<MethodId, Vec<Way>> {
    let mut found: Vec<Option<Way>> = shapes.iter().map(|_| None).collect();
    for (number, thread) in threads.iter().enumerate() {
        let occurrences = thread.dag.occurrences();
        for shape in thread.dag.shapes().iter() {
            let joined = thread.joined.shapes.get(shape.index()).copied().flatten();
            let (Some(joined), Some(first)) = (joined, occurrences.first_call(shape)) else {
                continue;
            };
            let Kind::Call(method, outcome) = shapes.kind(joined) else { continue };
            if !is_wanted(method) {
                continue;
            }
            let Some(place) = found.get_mut(joined.index()) else { continue };
            let first = (number, first);
            let way = Way { shape: joined, outcome, count: 0, first, times: None };
            let way = place.get_or_insert(way);
            way.count = way.count.saturating_add(occurrences.count(shape));
        }
    }
    let mut methods: BTreeMap<MethodId, Vec<Way>> = BTreeMap::new();
    for way in found.into_iter().flatten() {
        if let Kind::Call(method, _) = shapes.kind(way.shape) {
            methods.entry(method).or_default().push(way);
        }
    }
    for ways in methods.values_mut() {
        ways.sort_by_key(|way| (Reverse(way.count), way.first));
    }
    methods
}

/// Prints the methods with the most calls first, each with its shapes.
fn print_trace(
    print: &Print<'_>,
    threads: &[JoinedThread],
    found: BTreeMap<MethodId, Vec<Way>>,
    answer: &mut Answer<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    let count = |ways: &[Way]| ways.iter().fold(0_u64, |sum, way| sum.saturating_add(way.count));
    let mut methods: Vec<_> = found.into_iter().collect();
    methods.sort_by_key(|(method, ways)| (Reverse(count(ways)), *method));
    for (number, (method, mut ways)) in methods.into_iter().enumerate() {
        let (calls, all) = (count(&ways), ways.len());
        let Some(frequent) = ways.first().map(|way| way.shape) else { continue };
        if print.args.outliers {
            ways.reverse();
        }
        ways.truncate(answer.max);
        let ways: Vec<_> = ways
            .into_iter()
            .map(|way| {
                let compared = Comparison::of(print.shapes, frequent, way.shape, MOST_DIFFERENCES);
                (way, compared)
            })
            .collect();
        print.method((number, method), (calls, all), &ways, threads, answer, out)?;
    }
    Ok(())
}
