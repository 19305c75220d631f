//! How the calls of two runs differ, and the values of calls that both made.

mod contents;
mod in_step;
mod renamed;
mod rows;
mod side;
mod turns;

use std::collections::BTreeSet;
use std::sync::Arc;

use flow_codec::format::shape_name::CallOrder;
use flow_codec::read::{Selection, Trace};
use flow_codec::{Glob, MethodId};

pub use self::in_step::{DifferingValue, DifferingValues, FirstDifference};
pub use self::renamed::Renamed;
use self::side::Source;
pub use self::turns::ThreadTurn;

use crate::Error;
use crate::analysis::MethodName;
use crate::dag::{Comparison, Kind, Outcome, ShapeId, Shapes};
use crate::open::Traces;
use crate::reading::{Listener, Soundness};
use crate::select::{Filter, bytes_read, globs};
use crate::shapes::{JoinedMethods, JoinedNames, JoinedThread, Joiner, Joins, NotJoined};

/// Which differences of two runs are asked for. Threads of the same name are compared, and of these first those that did the same.
///
/// ```no_run
/// use flow_query::ask::Differences;
/// use flow_query::open::Traces;
///
/// let (before, after) = (Traces::open("before")?, Traces::open("after")?);
/// let found = Differences::default().at_most(1).find([&before, &after], &mut ())?;
/// for thread in &found.differing {
///     println!("{}: {:?}", found.title(thread, ["before", "after"]), thread.comparison.differences().first());
/// }
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Clone)]
pub struct Differences<'a> {
    filter: Filter,
    ignored: Vec<String>,
    expected: Vec<String>,
    renamed: Vec<Renamed>,
    rename: Option<Arc<dyn Fn(MethodName) -> MethodName + 'a>>,
    pairs_all: bool,
    of_one_run: bool,
    as_behaviours: bool,
    order: CallOrder,
    always_joins: bool,
    values: Values,
    first_calls: [u64; 2],
    most: usize,
}

/// Whether values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Values {
    Never,
    /// Where both traces may have some.
    IfRecorded,
    /// Always: of calls without values, exceptions are compared.
    Always,
}

impl std::fmt::Debug for Differences<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Differences").field("filter", &self.filter).finish_non_exhaustive()
    }
}

/// Two threads that differ, or one that has no other.
#[derive(Debug)]
#[non_exhaustive]
pub struct DifferingThread {
    /// Where the thread is in each run.
    pub places: [Option<usize>; 2],
    /// How the calls of the two differ.
    pub comparison: Comparison,
    /// How the values of calls differ that both made.
    pub values: DifferingValues,
}

/// How two runs differ.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunDifferences {
    /// The shapes of both runs; none if all threads did the same.
    pub shapes: Shapes,
    /// The methods of the shapes.
    pub methods: JoinedMethods,
    /// The threads of each run.
    pub runs: [Vec<JoinedThread>; 2],
    /// The threads that differ, in order.
    pub differing: Vec<DifferingThread>,
    /// How many pairs of threads were compared.
    pub compared: usize,
    /// How many calls each run made.
    pub calls: [u64; 2],
    /// How many values were compared; `None` if none should be, or if none were recorded.
    pub values: Option<u64>,
    /// The threads that could not be compared.
    pub left_out: Vec<NotJoined>,
    /// Whether everything could be read.
    pub soundness: Soundness,
    /// The shape of a thread without calls.
    pub nothing: Option<ShapeId>,
    /// How many further differences could have been returned.
    pub room: usize,
}

impl Default for Differences<'_> {
    fn default() -> Self {
        Self {
            filter: Filter::default(),
            ignored: Vec::new(),
            expected: Vec::new(),
            renamed: Vec::new(),
            rename: None,
            pairs_all: false,
            of_one_run: false,
            as_behaviours: false,
            order: CallOrder::Counts,
            always_joins: false,
            values: Values::Never,
            first_calls: [0; 2],
            most: usize::MAX,
        }
    }
}

impl<'a> Differences<'a> {
    /// Compares only the calls of these methods.
    #[must_use]
    pub fn of_methods(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Leaves out calls of methods that match one of these patterns, with all that they call.
    #[must_use]
    pub fn ignoring(mut self, patterns: &[String]) -> Self {
        self.ignored.extend_from_slice(patterns);
        self
    }

    /// Leaves out what calls of methods do that match one of these patterns. The calls themselves are compared: when they are made, with
    /// which arguments, and what they return.
    #[must_use]
    pub fn expecting(mut self, patterns: &[String]) -> Self {
        self.expected.extend_from_slice(patterns);
        self
    }

    /// Compares methods of the first run under the names that they have in the second one.
    #[doc(hidden)]
    #[must_use]
    pub fn renamed(mut self, renamed: &[Renamed]) -> Self {
        self.renamed.extend_from_slice(renamed);
        self
    }

    /// Compares methods under other names.
    #[doc(hidden)]
    #[must_use]
    pub fn renaming(mut self, rename: impl Fn(MethodName) -> MethodName + 'a) -> Self {
        self.rename = Some(Arc::new(rename));
        self
    }

    /// Compares threads in their order, whatever their names are, where no others have the same name.
    #[must_use]
    pub fn pairing_all(mut self) -> Self {
        self.pairs_all = true;
        self
    }

    /// Compares parts of one run, in which threads and tests have different names.
    #[must_use]
    pub fn of_one_run(mut self) -> Self {
        self.of_one_run = true;
        self
    }

    /// Compares what names of behaviours have: stable names of methods, and no calls of those that have none.
    #[must_use]
    pub fn as_behaviours(mut self) -> Self {
        self.as_behaviours = true;
        self
    }

    /// Compares which calls a call made, not in which order, and no values: it is not known which calls belong together.
    #[must_use]
    pub fn in_any_order(mut self) -> Self {
        self.order = CallOrder::Ignored;
        self
    }

    /// Joins the shapes of the runs even if these did the same.
    #[must_use]
    pub fn with_shapes(mut self) -> Self {
        self.always_joins = true;
        self
    }

    /// Compares also the values of calls that both made, if both traces may have values: arguments, results, accesses to fields, and
    /// the class and message of exceptions. Objects are compared by their class and what is in them, not by which they are.
    #[must_use]
    pub fn with_values(mut self) -> Self {
        self.values = Values::IfRecorded;
        self
    }

    /// Compares also the classes of exceptions if no values were recorded. If there are any, all events are read for that.
    #[must_use]
    pub fn with_exceptions(mut self) -> Self {
        self.values = Values::Always;
        self
    }

    /// Numbers the calls of each side from these numbers on.
    #[must_use]
    pub fn numbered_from(mut self, first_calls: [u64; 2]) -> Self {
        self.first_calls = first_calls;
        self
    }

    /// Asks for at most this many differences.
    #[must_use]
    pub fn at_most(mut self, differences: usize) -> Self {
        self.most = differences;
        self
    }

    /// Checks that the first run has what was renamed.
    fn expect_renamed(&self, before: &Traces) -> Result<(), Error> {
        match self.renamed.iter().find(|renamed| !renamed.is_in(before)) {
            Some(renamed) => Err(Error::NotRenamed { renamed: renamed.to_string() }),
            None => Ok(()),
        }
    }

    /// The name under which a method of a run, by its number, is compared.
    fn name(&self, run: usize, name: MethodName) -> MethodName {
        let renamed = self.renamed.iter().filter(|_| run == 0);
        let name = renamed.fold(name, |name, renamed| renamed.apply(name));
        let name = if self.as_behaviours { name.stable() } else { name };
        match &self.rename {
            Some(rename) => rename(name),
            None => name,
        }
    }

    /// Compares two runs, whose selected threads are read.
    ///
    /// # Errors
    /// A pattern matches no method.
    pub fn find(
        &self,
        runs: [&Traces; 2],
        listener: &mut impl Listener,
    ) -> Result<RunDifferences, Error> {
        let all: Vec<&Trace> = runs.into_iter().flatten().collect();
        let mut ignored: Vec<Glob> = globs(&self.ignored, all.iter().copied())?;
        if self.as_behaviours {
            ignored.extend(without_stable_name(&all));
        }
        let mut joiner = Joiner::default();
        joiner = joiner.in_order(self.order);
        let expected = globs(&self.expected, all.iter().copied())?;
        self.expect_renamed(runs[0])?;
        let rename = |source: usize, name: MethodName| self.name(source, name);
        let joins =
            Joins { filter: &self.filter, ignored: &ignored, closed: &expected, rename: &rename };
        let sources = runs;
        let has_values = runs.iter().all(|run| run.iter().any(may_have_values));
        let reads_values = match self.values {
            _ if self.order == CallOrder::Ignored => false,
            Values::Never => false,
            Values::IfRecorded => has_values,
            Values::Always => true,
        };
        joiner.read_stored(runs, joins);
        let same = joiner
            .same(runs, joins)
            .filter(|_| !self.always_joins && !reads_values && self.renamed.is_empty());
        let (runs, mut soundness) = match same {
            Some(_) => (Default::default(), Soundness::Whole),
            None => joiner.add_all(runs, joins, listener),
        };
        let nothing = joiner.nothing();
        let left_out = std::mem::take(&mut joiner.left_out);
        let (shapes, methods) = joiner.finish();
        let mut pairs = pairs(&runs, self.pairs_all);
        pairs.retain(|places| !lacks_one(sides(&runs, *places), &left_out, !self.of_one_run));
        let (mut differing, mut room) = (Vec::new(), self.most);
        let in_step = Walked { sources, joins, methods: &methods, first_calls: self.first_calls };
        let mut compared_values = 0_u64;
        for places in &pairs {
            let shapes_of = sides(&runs, *places)
                .map(|thread| thread.map(|thread| thread.joined.thread).or(nothing));
            let [Some(before), Some(after)] = shapes_of else { continue };
            let comparison = Comparison::in_order(self.order, &shapes, [before, after], room);
            let comparison = comparison.numbered_from(self.first_calls);
            room -= comparison.differences().len().min(room);
            let mut values = DifferingValues::default();
            if let ([Some(before), Some(after)], true) = (sides(&runs, *places), reads_values)
                && (has_values || [before, after].iter().all(|thread| has_exceptions(thread)))
            {
                (values, soundness) =
                    in_step.compare([before, after], &comparison, soundness, listener);
                compared_values += values.compared;
            }
            if !comparison.is_same() || !values.values.is_empty() {
                differing.push(DifferingThread { places: *places, comparison, values });
            }
        }
        let counted =
            |threads: &[JoinedThread]| threads.iter().map(|thread| thread.dag.calls()).sum();
        let (compared, calls) = match same {
            Some((threads, calls)) => (threads, [calls; 2]),
            None => (pairs.len(), runs.each_ref().map(|run| counted(run))),
        };
        Ok(RunDifferences {
            shapes,
            methods,
            runs,
            differing,
            compared,
            calls,
            values: Some(compared_values).filter(|count| *count > 0),
            left_out,
            soundness,
            nothing,
            room,
        })
    }
}

/// Returns whether a trace may have values of calls: without a manifest, that is not known.
fn may_have_values(trace: &Trace) -> bool {
    let Some(manifest) = trace.manifest() else { return true };
    let is_option = |key: &&str| manifest.options.contains_key(*key);
    let is_changed = manifest.end.as_ref().is_none_or(|end| !end.filters.is_empty());
    ["values", "fields"].iter().any(is_option) || is_changed
}

/// Patterns for the methods that have no name in those of behaviours.
fn without_stable_name(traces: &[&Trace]) -> Vec<Glob> {
    let mut patterns = BTreeSet::new();
    for methods in traces.iter().map(|trace| trace.methods()) {
        for (_, method) in methods.iter().filter(|(id, _)| methods.stable_key(*id).is_none()) {
            patterns.insert(match (&*method.info().class, &*method.info().name) {
                // Each class may have one.
                (_, "<clinit>") => "**#<clinit>".to_owned(),
                (class, name) => format!("{class}#{name}"),
            });
        }
    }
    patterns.iter().map(|pattern| Glob::new(pattern)).collect()
}

/// Returns whether an exception left a call.
fn has_exceptions(thread: &JoinedThread) -> bool {
    let shapes = thread.dag.shapes();
    shapes.iter().any(|shape| matches!(shapes.kind(shape), Kind::Call(_, Outcome::Unwound)))
}

/// Two runs whose threads are read in step.
struct Walked<'a> {
    sources: [&'a Traces; 2],
    joins: Joins<'a>,
    methods: &'a JoinedMethods,
    first_calls: [u64; 2],
}

impl Walked<'_> {
    /// Compares the values of two threads, which were joined, with this soundness.
    fn compare(
        &self,
        threads: [&JoinedThread; 2],
        comparison: &Comparison,
        soundness: Soundness,
        listener: &mut impl Listener,
    ) -> (DifferingValues, Soundness) {
        let found = self.sources.iter().zip(threads).map(|(run, thread)| {
            let (trace, file) = thread.place;
            let trace = run.get(trace)?;
            Some((trace, trace.files().get(file)?))
        });
        let found: Option<Vec<_>> = found.collect();
        let Some(&[(before, file), (after, other_file)]) = found.as_deref() else {
            return Default::default();
        };
        let selections = [before, after].map(|trace| self.joins.filter.selection(trace));
        let ignored = [before, after].map(|trace| match self.joins.ignored {
            [] => None,
            globs => Some(Selection::new(trace.methods(), globs, &[])),
        });
        let number = |side, trace: &Trace, ignored: &Option<Selection>, id: MethodId| {
            let is_ignored = ignored.as_ref().is_some_and(|ignored| ignored.contains(id));
            let name = || (self.joins.rename)(side, MethodName::new(id, trace.methods()));
            if is_ignored { None } else { self.methods.find(&name()) }
        };
        let number_before = |id| number(0, before, &ignored[0], id);
        let number_after = |id| number(1, after, &ignored[1], id);
        let closed = [before, after].map(|trace| match self.joins.closed {
            [] => None,
            globs => Some(Selection::new(trace.methods(), globs, &[])),
        });
        let is_closed = closed.each_ref().map(|closed| {
            move |id| closed.as_ref().is_some_and(|closed: &Selection| closed.contains(id))
        });
        let source = |side: usize, trace, file, number| Source {
            file,
            methods: trace,
            selection: &selections[side],
            number,
            is_closed: &is_closed[side],
            first_call: self.first_calls[side],
        };
        let sides = [
            source(0, before.methods(), file, &number_before),
            source(1, after.methods(), other_file, &number_after),
        ];
        listener.expect_more(bytes_read(file, file.bytes()));
        let (values, readings) = in_step::compare(sides, comparison, listener);
        listener.file_done(bytes_read(file, file.bytes()));
        // What is wrong was reported when the threads were joined, unless their shapes were stored.
        let mut soundness = soundness;
        if soundness == Soundness::Whole {
            for (reading, file) in readings.iter().zip([file, other_file]) {
                soundness = soundness.and(reading.report(file, listener));
            }
        }
        (values, soundness)
    }
}

impl RunDifferences {
    /// The threads of both runs that differ.
    #[must_use]
    pub fn threads(&self, of: &DifferingThread) -> [Option<&JoinedThread>; 2] {
        sides(&self.runs, of.places)
    }

    /// What the threads of a pair are called, with the words for the two sides: `before` and `after`.
    #[must_use]
    pub fn title(&self, of: &DifferingThread, [word, other]: [&str; 2]) -> String {
        match self.threads(of).map(|thread| thread.map(|thread| thread.title.as_str())) {
            [Some(before), Some(after)] if before == after => format!("thread {before}"),
            [Some(before), Some(after)] => format!("thread {before}, {other}: {after}"),
            [Some(before), None] => format!("thread {before}, only {word}"),
            [None, after] => format!("thread {}, only {other}", after.unwrap_or_default()),
        }
    }

    /// The names of methods, by the traces of both runs.
    #[must_use]
    pub fn names<'a>(&'a self, runs: [&'a Traces; 2]) -> JoinedNames<'a> {
        JoinedNames::new(&self.methods, runs.into_iter().flatten())
    }
}

/// Where the two threads of a pair are in the runs; `None` where one has no other.
type Places = [Option<usize>; 2];

fn sides(runs: &[Vec<JoinedThread>; 2], [before, after]: Places) -> [Option<&JoinedThread>; 2] {
    let [of_before, of_after] = runs;
    [before.and_then(|place| of_before.get(place)), after.and_then(|place| of_after.get(place))]
}

/// Whether two threads may be paired.
type Rule = fn(&JoinedThread, &JoinedThread) -> bool;

/// Pairs threads: those of the same name, and of these first those that did the same; then others that did the same.
/// If all are paired, whatever their names are, those that are left are paired in order.
fn pairs([before, after]: &[Vec<JoinedThread>; 2], pairs_all: bool) -> Vec<Places> {
    let mut others: Vec<Option<usize>> = (0..after.len()).map(Some).collect();
    let mut partners: Vec<Option<usize>> = vec![None; before.len()];
    let rules: [Rule; 4] = [
        |one, other| one.name == other.name && one.joined.thread == other.joined.thread,
        |one, other| one.name == other.name,
        |one, other| one.joined.thread == other.joined.thread,
        |_, _| true,
    ];
    for rule in rules.into_iter().take(if pairs_all { 4 } else { 3 }) {
        for (one, partner) in before.iter().zip(&mut partners) {
            if partner.is_none() {
                let is_it = |other: &&mut Option<usize>| {
                    other.and_then(|other| after.get(other)).is_some_and(|other| rule(one, other))
                };
                *partner = others.iter_mut().find(is_it).and_then(Option::take);
            }
        }
    }
    let known = partners.into_iter().enumerate().map(|(one, other)| [Some(one), other]);
    known.chain(others.into_iter().flatten().map(|other| [None, Some(other)])).collect()
}

/// Returns whether the other side of a pair may be a thread that was left out: one of the same name, if `have_names`.
fn lacks_one(pair: [Option<&JoinedThread>; 2], left_out: &[NotJoined], have_names: bool) -> bool {
    let (there, missing) = match pair {
        [Some(before), None] => (before, 1),
        [None, Some(after)] => (after, 0),
        _ => return false,
    };
    let mut of_source = left_out.iter().filter(|left| left.source == missing);
    of_source.any(|left| !have_names || left.unit == there.unit())
}
