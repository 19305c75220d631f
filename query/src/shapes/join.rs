//! The shapes of threads: equal calls are one. Of several threads and traces they are joined, methods by their names.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use flow_codec::format::baseline::UnitKind;
use flow_codec::format::shape_name::{CallOrder, MethodKey};
use flow_codec::parallel::on_cores_from;
use flow_codec::read::{Selection, ThreadFile, Trace};
use flow_codec::{Glob, MethodId, MethodMap, MethodNames, Name, NameForm, ThreadId};

use super::whole::{is_whole, read_shapes, too_many_shapes};
use crate::analysis::MethodName;
use crate::dag::most_words;
use crate::dag::{Dag, Join, Joined, ShapeId, Shapes, StoredDag};
use crate::open::Traces;
use crate::reading::{Ending, Listener, Reading, Soundness};
use crate::rows::NameColumns;
use crate::select::{Filter, Selected, file_title, test_of};

/// Methods of several traces, numbered by their names.
#[derive(Debug, Default)]
pub struct JoinedMethods {
    numbers: HashMap<MethodName, MethodId>,
    /// For each number, where the method is: in which of the traces that were added, and its id there.
    places: Vec<(usize, MethodId)>,
}

impl JoinedMethods {
    /// The number of a method of the trace that was added as number `trace`.
    fn number(&mut self, trace: usize, id: MethodId, name: MethodName) -> Option<MethodId> {
        let next = MethodId::new(self.places.len() as u64)?;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.places.push((trace, id));
        }
        Some(number)
    }

    /// The number of a method, if one of this name was joined.
    pub(crate) fn find(&self, name: &MethodName) -> Option<MethodId> {
        self.numbers.get(name).copied()
    }

    /// Where a method is: in which trace, and its id there.
    pub fn place(&self, number: MethodId) -> Option<(usize, MethodId)> {
        self.places.get(usize::try_from(number.get()).ok()?).copied()
    }
}

/// The names of joined methods.
#[derive(Debug)]
pub struct JoinedNames<'a> {
    methods: &'a JoinedMethods,
    names: Vec<MethodNames<'a>>,
}

impl<'a> JoinedNames<'a> {
    /// The names of methods of these traces, in the order in which they were added.
    pub fn new(methods: &'a JoinedMethods, traces: impl Iterator<Item = &'a Trace>) -> Self {
        Self { methods, names: traces.map(|trace| MethodNames::new(trace.methods())).collect() }
    }

    /// All methods in the order of their numbers: each with the names of its trace, and its id there.
    #[doc(hidden)]
    pub fn iter(&self) -> impl Iterator<Item = (&MethodNames<'a>, MethodId)> {
        let places = self.methods.places.iter();
        places.filter_map(|(trace, id)| Some((self.names.get(*trace)?, *id)))
    }

    /// The names of the trace that has a method, and its id there.
    #[doc(hidden)]
    pub fn place(&self, number: MethodId) -> Option<(&MethodNames<'a>, MethodId)> {
        let (trace, id) = self.methods.place(number)?;
        Some((self.names.get(trace)?, id))
    }

    /// The name of a method in a form.
    pub fn get(&self, number: MethodId, form: NameForm) -> String {
        self.place(number).map_or(String::new(), |(names, id)| names.get(id, form))
    }

    /// The key of a method in the names of shapes.
    #[doc(hidden)]
    pub fn key(&self, number: MethodId) -> MethodKey {
        let place = self.place(number);
        place.map_or(MethodKey::unknown(number), |(names, id)| names.methods().key(id))
    }

    /// The class, name and descriptor of a method, and its readable name.
    pub(crate) fn columns(&self, number: MethodId) -> NameColumns<'_> {
        let found = self.place(number).and_then(|(names, id)| names.methods().get(id));
        found.map_or(NameColumns::NOTHING, |method| {
            let readable = self.get(number, NameForm::Readable);
            NameColumns::new(Name::from(method.info()), readable)
        })
    }
}

/// A thread, or the selected ranges of it.
#[derive(Debug)]
pub struct JoinedThread {
    /// The id of the thread.
    pub id: ThreadId,
    /// The id and name of the thread, and the ranges.
    pub title: String,
    /// The name of the thread.
    pub name: String,
    /// The test, if only its ranges are read.
    pub test: Option<String>,
    /// The number of its trace among those of its source, and its number among the files of that.
    pub place: (usize, usize),
    /// Whether it is all of the thread, with the positions of its events.
    pub is_whole: bool,
    /// The shapes of the thread alone.
    #[doc(hidden)]
    pub dag: Arc<Dag>,
    /// For each shape of the thread, the joined one.
    #[doc(hidden)]
    pub joined: Joined,
}

impl JoinedThread {
    /// What it is called in a baseline.
    #[doc(hidden)]
    pub fn unit(&self) -> (UnitKind, String) {
        unit(self.test.as_deref(), &self.name)
    }
}

/// The name of a test, or of a thread, in a baseline.
fn unit(test: Option<&str>, thread: &str) -> (UnitKind, String) {
    match test {
        Some(test) => (UnitKind::Test, test.to_owned()),
        None => (UnitKind::Thread, thread.to_owned()),
    }
}

/// Which calls are joined.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a function has none")]
pub struct Joins<'a> {
    /// The selected methods; callees of others move up to their callers.
    pub filter: &'a Filter,
    /// Calls of these methods are left out, with all that they call.
    pub ignored: &'a [Glob],
    /// What calls of these methods do is left out, but not the calls themselves.
    pub closed: &'a [Glob],
    /// The name under which a method of a source, by its number, is joined.
    pub rename: &'a dyn Fn(usize, MethodName) -> MethodName,
}

impl<'a> Joins<'a> {
    /// The calls of a filter, under the names of their methods.
    pub fn of(filter: &'a Filter) -> Self {
        Self { filter, ignored: &[], closed: &[], rename: &|_, name| name }
    }
}

/// A thread or test that is not among those that were joined.
#[derive(Debug)]
pub struct NotJoined {
    /// The number of its source, in the order in which sources were added.
    pub source: usize,
    /// The name of the thread or test in a baseline.
    #[doc(hidden)]
    pub unit: (UnitKind, String),
}

/// Reads threads and joins their shapes.
#[derive(Debug)]
pub struct Joiner {
    join: Join,
    /// The methods of all shapes.
    methods: JoinedMethods,
    traces: usize,
    /// The stored shapes of the whole threads that are added next; `None` for one that has none, or for which there was no
    /// memory yet.
    stored: VecDeque<Option<Arc<Dag>>>,
    /// How many words the shapes of further threads may take: those that were read are held until all are joined.
    left: usize,
    most_words: usize,
    /// Threads that cannot be joined, each of which was reported; and the number of the source that is being added.
    pub(crate) left_out: Vec<NotJoined>,
    source: usize,
}

impl Default for Joiner {
    /// Joins shapes that take at most [`most_words`].
    fn default() -> Self {
        let most_words = most_words();
        Self {
            join: Join::within(most_words),
            methods: JoinedMethods::default(),
            traces: 0,
            stored: VecDeque::new(),
            most_words,
            left: most_words,
            left_out: Vec::new(),
            source: 0,
        }
    }
}

impl Joiner {
    /// Joins shapes that made the same calls in this order, or in any.
    #[must_use]
    pub(crate) fn in_order(self, order: CallOrder) -> Self {
        Self { join: self.join.in_order(order), ..self }
    }

    /// Returns the threads that cannot be joined; each was reported.
    #[must_use]
    pub fn left_out(&self) -> &[NotJoined] {
        &self.left_out
    }

    /// Decodes the stored shapes of the threads that are added next, several at the same time, and equal ones once. Those for
    /// which there may be no memory are read when their turn comes.
    pub(crate) fn read_stored<const N: usize>(&mut self, sources: [&Traces; N], joins: Joins<'_>) {
        let traces = sources.iter().flat_map(|source| source.iter());
        let whole = traces.flat_map(|trace| {
            let chosen = Selected::of(joins.filter.selection(trace));
            files(trace).filter(move |file| is_whole(file, &chosen))
        });
        // As stored, they may take an eighth of the memory of shapes: a word has eight bytes.
        let mut bytes_left = self.left as u64;
        let mut is_read = |file: &ThreadFile| {
            let left = bytes_left.checked_sub(Dag::stored_bytes(file));
            bytes_left = left.unwrap_or(bytes_left);
            left.is_some()
        };
        let whole: Vec<_> = whole.map(|file| (file, is_read(file))).collect();
        let stored = on_cores_from(2, &whole, |files| {
            let open = |(file, is_read): &(&ThreadFile, bool)| {
                is_read.then(|| StoredDag::open(file)).flatten()
            };
            files.iter().map(open).collect::<Vec<_>>()
        });
        let stored: Vec<_> = stored.into_iter().flatten().collect();
        let (mut different, mut numbers) = (Vec::new(), HashMap::new());
        let mut left = self.left;
        for dag in stored.iter().flatten() {
            let left_then = left.checked_sub(dag.most_words());
            if !numbers.contains_key(dag)
                && let Some(left_then) = left_then
            {
                left = left_then;
                numbers.insert(dag, different.len());
                different.push(dag);
            }
        }
        let most_words = self.left;
        let decoded = on_cores_from(2, &different, |different| {
            different
                .iter()
                .map(|stored| stored.decode(most_words).map(Arc::new))
                .collect::<Vec<_>>()
        });
        let decoded: Vec<_> = decoded.into_iter().flatten().collect();
        self.left -= decoded.iter().flatten().map(|dag| dag.size()).sum::<usize>().min(self.left);
        let of = |stored: &Option<StoredDag>| {
            let number = numbers.get(stored.as_ref()?)?;
            decoded.get(*number).cloned().flatten()
        };
        self.stored = stored.iter().map(of).collect();
    }

    /// If the threads of two sources, whose stored shapes were read, did the same in the same order, each as the one of
    /// the same name: how many threads that are, and the calls of each source. Nothing is joined for that.
    pub(crate) fn same(&self, sources: [&Traces; 2], joins: Joins<'_>) -> Option<(usize, u64)> {
        let threads = sources.map(|source| {
            source.iter().flat_map(|trace| files(trace).map(move |file| (trace, file)))
        });
        let [before, after] = threads.map(Iterator::collect::<Vec<_>>);
        let is_whole = |(trace, file): &(&Trace, &ThreadFile)| {
            is_whole(file, &Selected::of(joins.filter.selection(trace)))
        };
        if before.len() != after.len() || !before.iter().chain(&after).all(is_whole) {
            return None;
        }
        let mut calls = 0_u64;
        for (number, ((trace, file), (other, other_file))) in before.iter().zip(&after).enumerate()
        {
            let name = |trace: &Trace, file: &ThreadFile| {
                trace.threads().get(file.id()).map_or(String::new(), |thread| thread.name.clone())
            };
            let dag = self.stored.get(number)?.as_ref()?;
            let other_dag = self.stored.get(before.len() + number)?.as_ref()?;
            let is_same = |id, other_id| {
                let method = trace.methods().get(id).map(|method| Name::from(method.info()));
                let others = other.methods().get(other_id).map(|method| Name::from(method.info()));
                method == others && (method.is_some() || id == other_id)
            };
            if name(trace, file) != name(other, other_file) || !dag.is_same(other_dag, is_same) {
                return None;
            }
            calls = calls.saturating_add(dag.calls());
        }
        Some((before.len(), calls))
    }

    /// Adds the selected threads of some sources. Returns those of each source, and the worst that was reported.
    pub fn add_all<const N: usize>(
        &mut self,
        sources: [&Traces; N],
        joins: Joins<'_>,
        progress: &mut impl Listener,
    ) -> ([Vec<JoinedThread>; N], Soundness) {
        if self.stored.is_empty() {
            self.read_stored(sources, joins);
        }
        let mut status = Soundness::Whole;
        let threads = sources.map(|source| {
            let mut threads = Vec::new();
            for (number, trace) in source.iter().enumerate() {
                let (mut found, worst) = self.add(trace, joins, progress);
                found.iter_mut().for_each(|thread| thread.place.0 = number);
                status = status.and(worst);
                threads.extend(found);
            }
            self.source += 1;
            threads
        });
        (threads, status)
    }

    /// Adds the selected threads of a trace. Returns them, and the worst that was reported.
    pub(crate) fn add(
        &mut self,
        trace: &Trace,
        joins: Joins<'_>,
        progress: &mut impl Listener,
    ) -> (Vec<JoinedThread>, Soundness) {
        let number = self.traces;
        self.traces += 1;
        let ignored = match joins.ignored {
            [] => Selection::all(),
            globs => Selection::new(trace.methods(), globs, &[]),
        };
        let closed = match joins.closed {
            [] => None,
            globs => Some(Selection::new(trace.methods(), globs, &[])),
        };
        let is_closed = |id| closed.as_ref().is_some_and(|closed| closed.contains(id));
        let mut known: MethodMap<Option<Option<MethodId>>> = MethodMap::default();
        let chosen = Selected::of(joins.filter.selection(trace));
        let (mut threads, mut status) = (Vec::new(), Soundness::Whole);
        for (at, file) in trace.files().iter().enumerate().filter(|(_, file)| file.bytes() > 0) {
            let title = file_title(trace, file);
            let name =
                trace.threads().get(file.id()).map_or(String::new(), |thread| thread.name.clone());
            let test = file.parts().map(|parts| test_of(parts.title()).to_owned());
            let is_whole = is_whole(file, &chosen);
            let stored = if is_whole { self.stored.pop_front().flatten() } else { None };
            let (dag, reading) = match stored {
                Some(dag) => {
                    progress.file_done(file.bytes());
                    (Some(dag), Reading::default())
                }
                None => {
                    let (dag, reading) = read_shapes(file, &chosen, 0, self.left, progress);
                    self.left -= dag.as_ref().map_or(0, Dag::size).min(self.left);
                    (dag.map(Arc::new), reading)
                }
            };
            status = status.and(reading.report(file, progress));
            let source = self.source;
            let left_out = || NotJoined { source, unit: unit(test.as_deref(), &name) };
            let Some(dag) = dag else {
                status = status.and(match reading.ending() {
                    Ending::Failed => Soundness::Whole,
                    _ => too_many_shapes(
                        &title,
                        self.most_words,
                        self.left < self.most_words,
                        progress,
                    ),
                });
                self.left_out.push(left_out());
                continue;
            };
            let methods = &mut self.methods;
            let number_of = |id| {
                *known.or_default(id).get_or_insert_with(|| {
                    let is_ignored = !ignored.is_all() && ignored.contains(id);
                    let name = || (joins.rename)(source, MethodName::new(id, trace.methods()));
                    if is_ignored { None } else { methods.number(number, id, name()) }
                })
            };
            let joined = self.join.add_closed(&dag, number_of, is_closed);
            let Some(joined) = joined else {
                status = status.and(too_many_shapes(&title, self.most_words, true, progress));
                self.left_out.push(left_out());
                continue;
            };
            // Numbers of joined shapes take a word each.
            self.left = self.left.saturating_sub(joined.shapes.len());
            let is_whole = is_whole && dag.bytes() == file.bytes();
            let (id, place) = (file.id(), (0, at));
            threads.push(JoinedThread { id, title, name, test, place, is_whole, dag, joined });
        }
        (threads, status)
    }

    /// The shape of a thread without calls.
    pub(crate) fn nothing(&mut self) -> Option<ShapeId> {
        self.join.nothing()
    }

    /// All shapes, and the methods.
    pub fn finish(self) -> (Shapes, JoinedMethods) {
        (self.join.finish(), self.methods)
    }
}

/// The threads of a trace that recorded anything.
fn files(trace: &Trace) -> impl Iterator<Item = &ThreadFile> {
    trace.files().iter().filter(|file| file.bytes() > 0)
}
