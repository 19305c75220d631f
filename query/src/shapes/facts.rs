//! What a trace consists of, without its calls: each behaviour once, which others it is made of, and how often each thread and
//! test did it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use flow_codec::format::shape_name::{CallOrder, ShapeName};
use flow_codec::read::{Methods, Parts, TestRun, ThreadFile, Trace};
use flow_codec::{MethodId, ThreadId};

use super::whole::{read_shapes, too_many_shapes};
use crate::dag::{Behaviour, Dag, Kind, Outcome, Ranges, Root, ShapeId, most_words};
use crate::reading::{Ending, Listener, Soundness};
use crate::select::{Select, Selected, Tests, file_title, threads_of_test};

/// A fact about the behaviours of a trace. Names are the same in every run and on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShapeFact<'a> {
    /// A behaviour: a call of this method that was left so, with all that it called. Before the other facts about it.
    Shape {
        /// The name.
        shape: ShapeName,
        /// The method that is called.
        method: MethodId,
        /// How it was left.
        outcome: Outcome,
        /// How many calls it consists of, itself included.
        calls: u64,
    },
    /// A call of one behaviour directly makes this many of another one.
    Edge {
        /// The calling behaviour.
        shape: ShapeName,
        /// The called one.
        callee: ShapeName,
        /// The rank of the called one among the different ones that are called, by their first calls.
        place: u64,
        /// How many calls.
        count: u64,
    },
    /// A thread did it this many times: in a test, or outside of tests.
    Occurrence {
        /// The behaviour.
        shape: ShapeName,
        /// The thread.
        thread: ThreadId,
        /// The test that the thread worked for.
        test: Option<&'a TestRun>,
        /// How many times.
        count: u64,
    },
}

/// Reads the behaviours of the selected threads of a trace: those of all their calls, or in the selected tests. `runs` are all its
/// tests. A thread whose shapes need too much memory is left out, which is reported.
pub fn read_facts(
    trace: &Trace,
    runs: &[TestRun],
    select: &Select,
    listener: &mut impl Listener,
    each: &mut dyn FnMut(ShapeFact<'_>),
) -> Soundness {
    let mut in_threads: HashMap<ThreadId, Vec<(&TestRun, ThreadFile)>> = HashMap::new();
    for run in runs.iter().filter(|run| select.tests.include(&run.name)) {
        for file in threads_of_test(trace, run) {
            in_threads.entry(file.id()).or_default().push((run, file));
        }
    }
    let chosen = Selected::of(select.filter.selection(trace));
    let mut facts = Facts { trace, chosen, known: HashSet::new(), each };
    let mut soundness = Soundness::Whole;
    let files = trace.files().iter().filter(|file| file.bytes() > 0);
    for file in files.filter(|file| select.threads.include(trace, file.id())) {
        let tests = in_threads.remove(&file.id()).unwrap_or_default();
        if select.tests.is_all() || !tests.is_empty() {
            soundness = soundness.and(facts.thread(file, &tests, &select.tests, listener));
        }
    }
    soundness
}

/// What passes facts on, a behaviour once.
struct Facts<'a> {
    trace: &'a Trace,
    chosen: Selected,
    known: HashSet<ShapeName>,
    each: &'a mut dyn FnMut(ShapeFact<'_>),
}

/// Behaviours, how often each occurred, and one of its shapes.
type Counts = BTreeMap<ShapeName, (ShapeId, u64)>;

impl Facts<'_> {
    fn thread(
        &mut self,
        file: &ThreadFile,
        tests: &[(&TestRun, ThreadFile)],
        selected: &Tests,
        listener: &mut impl Listener,
    ) -> Soundness {
        let (named, mut soundness) = self.read(file, listener);
        let Some(named) = named else { return soundness };
        let mut outside = match selected.is_all() {
            true => named.counts(named.dag.roots()),
            false => Counts::new(),
        };
        self.behaviours(&named, &outside);
        let has_ranges = self.chosen.is_all() && named.has_ranges(file);
        let mut ranges = has_ranges.then(Ranges::default);
        for (run, part) in tests {
            let of_part;
            let (named, counts) = match (&mut ranges, part.parts()) {
                (Some(ranges), Some(parts)) => (&named, named.counts_in(ranges, parts)),
                _ => {
                    let (read, worst) = self.read(part, listener);
                    soundness = soundness.and(worst);
                    let Some(read) = read else { continue };
                    of_part = read;
                    (&of_part, of_part.counts(of_part.dag.roots()))
                }
            };
            self.behaviours(named, &counts);
            for (shape, (_, count)) in &counts {
                outside.entry(*shape).and_modify(|(_, left)| *left = left.saturating_sub(*count));
            }
            self.occurrences(file.id(), Some(run), &counts);
        }
        self.occurrences(file.id(), None, &outside);
        soundness
    }

    /// The behaviours of a thread or of ranges of it; `None` if it has none, which is reported.
    fn read(
        &self,
        file: &ThreadFile,
        listener: &mut impl Listener,
    ) -> (Option<NamedDag>, Soundness) {
        let (dag, reading) = read_shapes(file, &self.chosen, 0, most_words(), listener);
        let mut soundness = reading.report(file, listener);
        if dag.is_none() && reading.ending() != Ending::Failed {
            let title = file_title(self.trace, file);
            soundness = soundness.and(too_many_shapes(&title, most_words(), false, listener));
        }
        (dag.map(|dag| NamedDag::new(dag, self.trace.methods())), soundness)
    }

    /// Passes on the behaviours that are new.
    fn behaviours(&mut self, named: &NamedDag, counts: &Counts) {
        for (name, (shape, _)) in counts {
            let (Some((behaviour, method, outcome)), true) =
                (named.call(*shape), self.known.insert(*name))
            else {
                continue;
            };
            let calls = behaviour.calls;
            (self.each)(ShapeFact::Shape { shape: *name, method, outcome, calls });
            for (place, (callee, count)) in (0..).zip(named.callees(*shape)) {
                (self.each)(ShapeFact::Edge { shape: *name, callee, place, count });
            }
        }
    }

    fn occurrences(&mut self, thread: ThreadId, test: Option<&TestRun>, counts: &Counts) {
        for (shape, (_, count)) in counts.iter().filter(|(_, (_, count))| *count > 0) {
            (self.each)(ShapeFact::Occurrence { shape: *shape, thread, test, count: *count });
        }
    }
}

/// The shapes of a thread with the names of what they did.
struct NamedDag {
    dag: Dag,
    /// By shape; `None` for calls that are part of no behaviour.
    behaviours: Vec<Option<Behaviour>>,
}

impl NamedDag {
    fn new(dag: Dag, methods: &Methods) -> Self {
        let key = |method| methods.stable_key(method);
        let behaviours = dag.shapes().behaviours(CallOrder::Counts, key);
        Self { dag, behaviours }
    }

    /// What a call did, its method, and how it was left.
    fn call(&self, shape: ShapeId) -> Option<(Behaviour, MethodId, Outcome)> {
        let behaviour = self.behaviours.get(shape.index()).copied().flatten()?;
        match self.dag.shapes().kind(shape) {
            Kind::Call(method, outcome) => Some((behaviour, method, outcome)),
            Kind::Thread | Kind::Break(_) => None,
        }
    }

    fn name(&self, shape: ShapeId) -> Option<ShapeName> {
        self.call(shape).map(|(behaviour, ..)| behaviour.name)
    }

    /// The behaviours that a call makes, in the order of their first calls.
    fn callees(&self, shape: ShapeId) -> Vec<(ShapeName, u64)> {
        let (mut callees, mut places) = (Vec::new(), HashMap::new());
        for (callee, count) in self.dag.shapes().totals(shape) {
            let Some(name) = self.name(callee) else { continue };
            match places.entry(name) {
                Entry::Vacant(new) => {
                    new.insert(callees.len());
                    callees.push((name, count));
                }
                Entry::Occupied(place) => {
                    let sum = callees.get_mut(*place.get());
                    sum.into_iter().for_each(|(_, sum)| *sum = sum.saturating_add(count));
                }
            }
        }
        callees
    }

    /// Returns whether the calls in ranges of a thread can be found in its shapes: their positions are those of its events, and no
    /// break is among them, which at the border of a range may be in it or not.
    fn has_ranges(&self, file: &ThreadFile) -> bool {
        self.dag.bytes() == file.bytes() && !self.dag.shapes().have_breaks()
    }

    fn counts_in(&self, ranges: &mut Ranges, parts: &Parts) -> Counts {
        let roots = parts.ranges().iter().flat_map(|range| ranges.calls(&self.dag, range));
        self.counts(roots)
    }

    /// How often each behaviour occurs in these calls and in all that they make. A frame that was not left is no behaviour yet.
    fn counts(&self, roots: impl Iterator<Item = Root>) -> Counts {
        let mut pending: BTreeMap<ShapeId, u64> = BTreeMap::new();
        let add = |pending: &mut BTreeMap<_, u64>, shape, count| {
            let sum = pending.entry(shape).or_default();
            *sum = sum.saturating_add(count);
        };
        for root in roots {
            if let Root::Calls(shape, count) = root {
                add(&mut pending, shape, count);
            }
        }
        let mut counts = Counts::new();
        // A shape has a larger number than those of the calls that it makes.
        while let Some((shape, count)) = pending.pop_last() {
            let Some(name) = self.name(shape) else { continue };
            let (_, sum) = counts.entry(name).or_insert((shape, 0));
            *sum = sum.saturating_add(count);
            for (callee, times) in self.dag.shapes().totals(shape) {
                add(&mut pending, callee, count.saturating_mul(times));
            }
        }
        counts
    }
}
