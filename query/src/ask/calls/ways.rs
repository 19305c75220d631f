//! In how many ways methods ran.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use flow_codec::MethodId;
use flow_codec::read::{Selection, Trace};

use crate::dag::{Comparison, Kind, Outcome, ShapeId, Shapes};
use crate::reading::{CallClock, DurationSum, Listener, Soundness};
use crate::select::Filter;
use crate::shapes::{JoinedMethods, JoinedThread, Joiner, Joins};

/// To describe a shape, no more differences than this are counted.
const MOST_DIFFERENCES: usize = 100;
/// The calls whose times are searched at once.
const CALLS_AT_ONCE: usize = 1 << 16;

/// A way in which a method ran.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Way {
    /// What the calls did.
    pub shape: ShapeId,
    /// How they were left.
    pub outcome: Outcome,
    /// How many calls there are.
    pub count: u64,
    /// The thread of the first call, by number, and the number of calls in the thread before that.
    pub first: (usize, u64),
    /// How long the calls lasted, if that is asked for and known.
    pub times: Option<DurationSum>,
}

/// The ways in which a method ran, the most frequent first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MethodWays {
    /// The number of the method among the joined ones.
    pub method: MethodId,
    /// How many calls there are.
    pub calls: u64,
    /// The ways.
    pub ways: Vec<Way>,
}

/// In how many ways methods of a trace ran.
///
/// ```no_run
/// use flow_codec::read::Selection;
/// use flow_query::ask::Ways;
/// use flow_query::open::Traces;
/// use flow_query::select::{Filter, methods};
///
/// let traces = Traces::open("flow-trace")?;
/// let patterns = methods(&["Orders#total".to_owned()], &traces)?;
/// for trace in &traces {
///     let asked = Selection::new(trace.methods(), &patterns, &[]);
///     for method in Ways::find(trace, &Filter::default(), &asked, false, &mut ()).found {
///         for way in method.ways {
///             println!("{} calls {}", way.count, way.outcome.word());
///         }
///     }
/// }
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Ways {
    /// The shapes of all threads.
    pub shapes: Shapes,
    /// The methods of the shapes.
    pub methods: JoinedMethods,
    /// The threads that were read.
    pub threads: Vec<JoinedThread>,
    /// How many threads could not be read.
    pub left_out: u64,
    /// Whether everything could be read.
    pub soundness: Soundness,
    /// The ways of each method, the method with the most calls first.
    pub found: Vec<MethodWays>,
}

impl Ways {
    /// Finds the ways in which methods of a trace ran; with `durations`, also how long calls in whole threads lasted.
    pub fn find(
        trace: &Trace,
        filter: &Filter,
        methods: &Selection,
        durations: bool,
        listener: &mut impl Listener,
    ) -> Self {
        let mut joiner = Joiner::default();
        let (threads, soundness) = joiner.add(trace, Joins::of(filter), listener);
        let left_out = joiner.left_out.len() as u64;
        let (shapes, joined) = joiner.finish();
        let is_asked = |method| joined.place(method).is_some_and(|(_, id)| methods.contains(id));
        let mut found = find(&shapes, &threads, is_asked);
        if durations {
            let times = times(trace, &shapes, &threads, is_asked);
            for way in found.iter_mut().flat_map(|method| &mut method.ways) {
                way.times = times.get(way.shape.index()).copied().flatten();
            }
        }
        Self { shapes, methods: joined, threads, left_out, soundness, found }
    }

    /// What distinguishes a way from the most frequent one of its method.
    #[must_use]
    pub fn compare(&self, method: &MethodWays, way: &Way) -> Comparison {
        let frequent = method.ways.first().map_or(way.shape, |way| way.shape);
        Comparison::of(&self.shapes, frequent, way.shape, MOST_DIFFERENCES)
    }
}

/// How long the calls of each shape lasted, of methods that are asked for.
fn times(
    trace: &Trace,
    shapes: &Shapes,
    threads: &[JoinedThread],
    is_asked: impl Fn(MethodId) -> bool,
) -> Vec<Option<DurationSum>> {
    let mut times = vec![None; shapes.len()];
    for (number, thread) in threads.iter().enumerate().filter(|(_, thread)| thread.is_whole) {
        let Some(file) = trace.files().iter().find(|file| file.id() == thread.id) else { continue };
        let joined = |shape: ShapeId| thread.joined.shapes.get(shape.index()).copied().flatten();
        let mut calls = thread.dag.find(|shape| {
            let kind = joined(shape).map(|shape| shapes.kind(shape));
            matches!(kind, Some(Kind::Call(method, _)) if is_asked(method))
        });
        let mut clock = CallClock::new(file);
        loop {
            let some: Vec<_> = calls.by_ref().take(CALLS_AT_ONCE).collect();
            if some.is_empty() {
                break;
            }
            for (call, of_call) in some.iter().zip(clock.times(&some)) {
                let place = joined(call.shape).and_then(|shape| times.get_mut(shape.index()));
                place
                    .into_iter()
                    .for_each(|sum| DurationSum::add(sum, number, call.number, &of_call));
            }
        }
    }
    times
}

/// The ways of each method that is asked for.
fn find(
    shapes: &Shapes,
    threads: &[JoinedThread],
    is_asked: impl Fn(MethodId) -> bool,
) -> Vec<MethodWays> {
    let mut found: Vec<Option<Way>> = shapes.iter().map(|_| None).collect();
    for (number, thread) in threads.iter().enumerate() {
        let occurrences = thread.dag.occurrences();
        for shape in thread.dag.shapes().iter() {
            let joined = thread.joined.shapes.get(shape.index()).copied().flatten();
            let (Some(joined), Some(first)) = (joined, occurrences.first_call(shape)) else {
                continue;
            };
            let Kind::Call(method, outcome) = shapes.kind(joined) else { continue };
            if !is_asked(method) {
                continue;
            }
            let Some(place) = found.get_mut(joined.index()) else { continue };
            let first = (number, first);
            let way = Way { shape: joined, outcome, count: 0, first, times: None };
            let way = place.get_or_insert(way);
            way.count = way.count.saturating_add(occurrences.count(shape));
        }
    }
    let mut methods: BTreeMap<MethodId, MethodWays> = BTreeMap::new();
    for way in found.into_iter().flatten() {
        let Kind::Call(method, _) = shapes.kind(way.shape) else { continue };
        let of_method =
            methods.entry(method).or_insert(MethodWays { method, calls: 0, ways: Vec::new() });
        of_method.calls = of_method.calls.saturating_add(way.count);
        of_method.ways.push(way);
    }
    let mut methods: Vec<_> = methods.into_values().collect();
    for method in &mut methods {
        method.ways.sort_by_key(|way| (Reverse(way.count), way.first));
    }
    methods.sort_by_key(|method| (Reverse(method.calls), method.method));
    methods
}
