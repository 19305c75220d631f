//! The shapes of threads: equal calls are one. Of several threads and traces they are joined, methods by their names.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use flow_codec::format::baseline::UnitKind;
use flow_codec::format::shape_name::MethodKey;
use flow_codec::parallel::on_cores_from;
use flow_codec::read::{Selection, ThreadFile, Trace};
use flow_codec::{Glob, MethodId, MethodMap, MethodNames, Name, NameForm, ThreadId};
use flow_query::analysis::MethodName;
use flow_query::dag::{Dag, Gather, Join, Joined, Kind, ShapeId, StoredDag};
use flow_query::rows::NameColumns;

use super::flags::FilterArgs;
use super::memory::most_words;
use super::source::Source;
use crate::failure::Status;
use crate::output::{Progress, bytes, flow_command, plural};
use flow_query::reading::{
    Ending, Listener as _, Reading, Selected, bytes_read, open_dag, read_timeline, stored_shapes,
};
use flow_query::select::{file_title, test_of};

/// Methods of several traces, numbered by their names.
#[derive(Debug, Default)]
pub(crate) struct JoinedMethods {
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

    /// Where a method is: in which trace, and its id there.
    pub(crate) fn place(&self, number: MethodId) -> Option<(usize, MethodId)> {
        self.places.get(usize::try_from(number.get()).ok()?).copied()
    }
}

/// The names of joined methods.
#[derive(Debug)]
pub(crate) struct JoinedNames<'a> {
    methods: &'a JoinedMethods,
    names: Vec<MethodNames<'a>>,
}

impl<'a> JoinedNames<'a> {
    /// The names of methods of these traces, in the order in which they were added.
    pub(crate) fn new(methods: &'a JoinedMethods, traces: impl Iterator<Item = &'a Trace>) -> Self {
        Self { methods, names: traces.map(|trace| MethodNames::new(&trace.methods)).collect() }
    }

    /// All methods in the order of their numbers: each with the names of its trace, and its id there.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&MethodNames<'a>, MethodId)> {
        let places = self.methods.places.iter();
        places.filter_map(|(trace, id)| Some((self.names.get(*trace)?, *id)))
    }

    /// The name of a method in a form.
    pub(crate) fn get(&self, number: MethodId, form: NameForm) -> String {
        let place = self.methods.place(number);
        let name = place.and_then(|(trace, id)| Some(self.names.get(trace)?.get(id, form)));
        name.unwrap_or_default()
    }

    /// The key of a method in the names of shapes.
    pub(crate) fn key(&self, number: MethodId) -> MethodKey {
        let place = self.methods.place(number);
        let found = place.and_then(|(trace, id)| Some((self.names.get(trace)?, id)));
        found.map_or(MethodKey::unknown(number), |(names, id)| names.methods().key(id))
    }

    /// Its class, name and descriptor, and its readable name.
    pub(crate) fn columns(&self, number: MethodId) -> NameColumns<'_> {
        let place = self.methods.place(number);
        let found = place.and_then(|(trace, id)| self.names.get(trace)?.methods().get(id));
        found.map_or(NameColumns::NOTHING, |method| {
            let readable = self.get(number, NameForm::Readable);
            NameColumns::new(Name::from(&method.info), readable)
        })
    }
}

/// A thread, or the selected ranges of it.
#[derive(Debug)]
pub(crate) struct JoinedThread {
    pub(crate) id: ThreadId,
    /// Its id and name, and the ranges.
    pub(crate) title: String,
    /// Its name.
    pub(crate) name: String,
    /// The test, if only its ranges are read.
    pub(crate) test: Option<String>,
    /// Whether it is all of the thread, with the positions of its events.
    pub(crate) is_whole: bool,
    /// Its own shapes, and the joined ones.
    pub(crate) dag: Arc<Dag>,
    pub(crate) joined: Joined,
}

impl JoinedThread {
    /// What it is called in a baseline.
    pub(crate) fn unit(&self) -> (UnitKind, String) {
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
pub(crate) struct Joins<'a> {
    pub(crate) filter: &'a FilterArgs,
    /// Calls of these methods are left out, with all that they call.
    pub(crate) ignored: &'a [Glob],
    pub(crate) rename: &'a dyn Fn(MethodName) -> MethodName,
}

impl<'a> Joins<'a> {
    /// The calls of a filter, under the names of their methods.
    pub(crate) fn of(filter: &'a FilterArgs) -> Self {
        Self { filter, ignored: &[], rename: &|name| name }
    }
}

/// A thread or test that is not among those that were joined.
#[derive(Debug)]
pub(crate) struct LeftOut {
    /// The number of its source, in the order in which sources were added.
    pub(crate) source: usize,
    /// The name of the thread or test in a baseline.
    pub(crate) unit: (UnitKind, String),
}

/// Reads threads and joins their shapes.
#[derive(Debug)]
pub(crate) struct Joiner {
    join: Join,
    pub(crate) methods: JoinedMethods,
    traces: usize,
    /// The stored shapes of the whole threads that are added next; `None` for one that has none, or for which there was no
    /// memory yet.
    stored: VecDeque<Option<Arc<Dag>>>,
    /// How many words the shapes of further threads may take: those that were read are held until all are joined.
    left: usize,
    /// Threads that cannot be joined, each of which was reported; and the number of the source that is being added.
    pub(crate) left_out: Vec<LeftOut>,
    source: usize,
}

impl Default for Joiner {
    fn default() -> Self {
        Self {
            join: Join::within(most_words()),
            methods: JoinedMethods::default(),
            traces: 0,
            stored: VecDeque::new(),
            left: most_words(),
            left_out: Vec::new(),
            source: 0,
        }
    }
}

impl Joiner {
    /// Decodes the stored shapes of the threads that are added next, several at the same time, and equal ones once. Those for
    /// which there may be no memory are read when their turn comes.
    pub(crate) fn read_stored<const N: usize>(&mut self, sources: [&Source; N], joins: Joins<'_>) {
        let traces = sources.iter().flat_map(|source| &source.traces);
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
        let decoded = on_cores_from(2, &different, |different| {
            different.iter().map(|stored| stored.decode().map(Arc::new)).collect::<Vec<_>>()
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
    pub(crate) fn same(&self, sources: [&Source; 2], joins: Joins<'_>) -> Option<(usize, u64)> {
        let threads = sources.map(|source| {
            source.traces.iter().flat_map(|trace| files(trace).map(move |file| (trace, file)))
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
                trace.threads.get(file.id).map_or(String::new(), |thread| thread.name.clone())
            };
            let dag = self.stored.get(number)?.as_ref()?;
            let other_dag = self.stored.get(before.len() + number)?.as_ref()?;
            let is_same = |id, other_id| {
                let method = trace.methods.get(id).map(|method| Name::from(&method.info));
                let others = other.methods.get(other_id).map(|method| Name::from(&method.info));
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
    pub(crate) fn add_all<const N: usize>(
        &mut self,
        sources: [&Source; N],
        joins: Joins<'_>,
        progress: &mut Progress,
    ) -> ([Vec<JoinedThread>; N], Status) {
        if self.stored.is_empty() {
            self.read_stored(sources, joins);
        }
        let mut status = Status::Done;
        let threads = sources.map(|source| {
            let mut threads = Vec::new();
            for trace in &source.traces {
                let (found, worst) = self.add(trace, joins, progress);
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
        progress: &mut Progress,
    ) -> (Vec<JoinedThread>, Status) {
        let number = self.traces;
        self.traces += 1;
        let ignored = match joins.ignored {
            [] => Selection::all(),
            globs => Selection::new(&trace.methods, globs, &[]),
        };
        let mut known: MethodMap<Option<Option<MethodId>>> = MethodMap::default();
        let chosen = Selected::of(joins.filter.selection(trace));
        let (mut threads, mut status) = (Vec::new(), Status::Done);
        for file in files(trace) {
            let title = file_title(trace, file);
            let name =
                trace.threads.get(file.id).map_or(String::new(), |thread| thread.name.clone());
            let test = file.parts.as_ref().map(|parts| test_of(&parts.title).to_owned());
            let is_whole = is_whole(file, &chosen);
            let stored = if is_whole { self.stored.pop_front().flatten() } else { None };
            let (dag, reading) = match stored {
                Some(dag) => {
                    progress.file_done(file.bytes);
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
            let left_out = || LeftOut { source, unit: unit(test.as_deref(), &name) };
            let Some(dag) = dag else {
                status = status.and(match reading.ending {
                    Ending::Failed => Status::Done,
                    _ if self.left < most_words() => report_too_many(&title, progress),
                    _ => report_missing(&title, &reading, progress),
                });
                self.left_out.push(left_out());
                continue;
            };
            let methods = &mut self.methods;
            let joined = self.join.add(&dag, |id| {
                *known.or_default(id).get_or_insert_with(|| {
                    let is_ignored = !ignored.is_all() && ignored.contains(id);
                    let name = || (joins.rename)(MethodName::new(id, &trace.methods));
                    if is_ignored { None } else { methods.number(number, id, name()) }
                })
            });
            let Some(joined) = joined else {
                status = status.and(report_too_many(&title, progress));
                self.left_out.push(left_out());
                continue;
            };
            // Numbers of joined shapes take a word each.
            self.left = self.left.saturating_sub(joined.shapes.len());
            let is_whole = is_whole && dag.bytes() == file.bytes;
            threads.push(JoinedThread { id: file.id, title, name, test, is_whole, dag, joined });
        }
        (threads, status)
    }

    /// The shape of a thread without calls.
    pub(crate) fn nothing(&mut self) -> Option<ShapeId> {
        self.join.nothing()
    }

    /// All shapes, and the methods.
    pub(crate) fn finish(self) -> (flow_query::dag::Shapes, JoinedMethods) {
        (self.join.finish(), self.methods)
    }
}

/// The most memory for shapes, as text.
fn most_memory() -> String {
    let most = bytes((most_words() * size_of::<u64>()) as u64);
    format!("{most} (--memory allows more)")
}

/// Reports that there is no memory for the shapes of a thread, because of those of the threads before it.
fn report_too_many(title: &str, progress: &Progress) -> Status {
    let most = most_memory();
    progress.message(&format!(
        "thread {title} is left out: with the threads before it, shapes need more than {most}"
    ));
    Status::Partial
}

/// Reports that a thread has no shapes, though it could be read.
pub(crate) fn report_missing(title: &str, reading: &Reading, progress: &Progress) -> Status {
    if reading.ending == Ending::Failed {
        return Status::Done;
    }
    let most = most_memory();
    progress.message(&format!(
        "thread {title} is left out: its calls repeat too little, their shapes need more than {most}"
    ));
    Status::Partial
}

/// Returns the message that there is no call of a method or shape in the threads that were searched, which were not all.
pub(crate) fn nothing_in_the_rest(what: &str, left_out: u64) -> String {
    let (threads, are) = (plural(left_out, "thread"), if left_out == 1 { "is" } else { "are" });
    format!(
        "{threads} {are} left out, which may have calls of '{what}'; the others have none that has ended ({} searches \
         all threads)",
        flow_command("replay --method METHOD --depth 1")
    )
}

/// Returns the message that threads or tests were left out of a comparison.
pub(crate) fn not_compared(count: u64, what: &str) -> String {
    let were = if count == 1 { "was" } else { "were" };
    format!("incomplete: {} {were} not compared, for the reason above", plural(count, what))
}

/// The shapes of all calls of a thread.
#[derive(Debug)]
pub(crate) struct WholeThread {
    pub(crate) dag: Dag,
    /// Whether positions are those of the thread. They are not after damage.
    pub(crate) has_positions: bool,
}

/// Reads the shapes of all calls of a thread; `None` if its calls repeat too little for `most_words`.
pub(crate) fn read_whole(
    file: &ThreadFile,
    most_words: usize,
    progress: &mut Progress,
) -> (Option<WholeThread>, Reading) {
    let opened = open_dag(file, most_words, progress);
    progress.file_done(file.bytes);
    match opened {
        Err(error) => (None, Reading::failed(error)),
        Ok((built, _, content)) => {
            let mut reading = Reading::of_content(file, &built.damage, &content);
            reading.ending = built.tail.into();
            reading.marks = built.marks;
            let len = content.len();
            let whole = |dag: Dag| WholeThread { has_positions: dag.bytes() == len, dag };
            (built.dag.map(whole), reading)
        }
    }
}

/// The threads of a trace that recorded anything.
fn files(trace: &Trace) -> impl Iterator<Item = &ThreadFile> {
    trace.files.iter().filter(|file| file.bytes > 0)
}

/// Returns whether all of a thread is read.
fn is_whole(file: &ThreadFile, chosen: &Selected) -> bool {
    file.parts.is_none() && chosen.is_all()
}

/// The shapes of the selected calls of a thread, which [started](flow_query::reading::start_ns) then; `None` if they repeat
/// too little for `most_words`.
pub(crate) fn read_shapes(
    file: &ThreadFile,
    chosen: &Selected,
    start_ns: u64,
    most_words: usize,
    progress: &mut Progress,
) -> (Option<Dag>, Reading) {
    if is_whole(file, chosen) {
        let (whole, reading) = read_whole(file, most_words, progress);
        return (whole.map(|whole| whole.dag), reading);
    }
    if let Some(dag) = of_ranges(file, chosen) {
        progress.file_done(bytes_read(file, file.bytes));
        return (Some(dag), Reading::default());
    }
    let mut gather = Gather::within(most_words);
    let timeline = chosen.timeline(file, start_ns);
    let mut timeline = match timeline {
        Ok(timeline) => timeline,
        Err(error) => return (None, Reading::failed(error)),
    };
    let mut reading = read_timeline(file, &mut timeline, progress, &mut gather);
    reading.marks = timeline.marks_damage();
    if reading.ending == Ending::Stopped {
        reading.ending = Ending::Whole;
    }
    (gather.finish(), reading)
}

/// The shapes of the ranges of a thread, from its stored ones.
fn of_ranges(file: &ThreadFile, chosen: &Selected) -> Option<Dag> {
    let parts = file.parts.as_ref().filter(|_| chosen.is_all())?;
    let dag = stored_shapes(file)?;
    let shapes = dag.shapes();
    // Those at a border of a range may be in it or not.
    let has_breaks = shapes.iter().any(|shape| matches!(shapes.kind(shape), Kind::Break(_)));
    if has_breaks { None } else { dag.only(&parts.ranges) }
}
