//! Which classes of a trace ran for more than one test: in static initialisers, which run once, and outside of all tests.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use flow_codec::MethodId;
use flow_codec::read::{Parts, Selection, TestRun, ThreadFile, Trace};

use super::source::Source;
use crate::analysis::{PathId, PathTree};
use crate::reading::{ContextTree, Listener, Selected, Soundness};
use crate::select::Filter;

/// The classes of a trace, by numbers.
#[derive(Debug)]
pub(super) struct Classes<'t> {
    by_method: HashMap<MethodId, usize>,
    pub(super) names: Vec<&'t str>,
    /// By class: the versions of its source files, by their numbers among all sources.
    pub(super) sources: Vec<Vec<usize>>,
    /// The files with a class that has a static initialiser.
    pub(super) with_initialiser: BTreeSet<usize>,
}

/// Finds source files by names of classes and by places.
#[derive(Debug)]
pub(super) struct Places<'s> {
    places: HashMap<&'s str, Vec<usize>>,
    /// By the names of classes, with their packages.
    types: HashMap<String, Vec<usize>>,
}

impl<'s> Places<'s> {
    pub(super) fn of(sources: &'s [Source<'_>]) -> Self {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut types: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, source) in sources.iter().enumerate() {
            places.entry(&source.place).or_default().push(number);
            for name in &source.tops {
                types.entry(format!("{}{name}", source.package)).or_default().push(number);
            }
        }
        Self { places, types }
    }

    /// The files that have a class, or whose name begins a longer one, such as that of a test.
    pub(super) fn of_name(&self, name: &str) -> &[usize] {
        let ends = name.char_indices().filter(|(_, c)| !c.is_alphanumeric() && *c != '_');
        let ends: Vec<_> = ends.map(|(at, _)| at).chain([name.len()]).collect();
        let class = |end: &usize| self.types.get(name.get(..*end)?);
        ends.iter().rev().find_map(class).map_or(&[], Vec::as_slice)
    }
}

impl<'t> Classes<'t> {
    pub(super) fn of(trace: &'t Trace, places: &Places<'_>) -> Self {
        let mut classes = Self {
            by_method: HashMap::new(),
            names: Vec::new(),
            sources: Vec::new(),
            with_initialiser: BTreeSet::new(),
        };
        let mut known: HashMap<&str, usize> = HashMap::new();
        for (id, method) in trace.methods().iter() {
            let info = method.info();
            let class = *known.entry(&info.class).or_insert_with(|| {
                classes.names.push(&info.class);
                classes.sources.push(places.of_name(&info.class).to_vec());
                classes.names.len() - 1
            });
            classes.by_method.insert(id, class);
            let Some(sources) = classes.sources.get_mut(class) else { continue };
            // Lines of other files are in it where a compiler copied them.
            let files = info.inlined.iter().map(|inlined| inlined.file.as_str());
            let place = info.source_path();
            for place in files.chain([&*place]) {
                for source in places.places.get(place).into_iter().flatten() {
                    if !sources.contains(source) {
                        sources.push(*source);
                    }
                }
            }
            if info.name == "<clinit>" && !is_nameless(&info.class) {
                classes.with_initialiser.extend(&*sources);
            }
        }
        classes
    }

    /// The class of a method.
    pub(super) fn of_method(&self, method: MethodId) -> Option<usize> {
        self.by_method.get(&method).copied()
    }

    /// The files of a class.
    pub(super) fn files(&self, class: usize) -> &[usize] {
        self.sources.get(class).map_or(&[], Vec::as_slice)
    }
}

/// Returns whether a class has no name, so that no other file can read its fields. Compilers make some of these, for `switch`.
fn is_nameless(class: &str) -> bool {
    let last = class.rsplit('$').next().unwrap_or(class);
    !last.is_empty() && last.chars().all(|c| c.is_ascii_digit())
}

/// By the class of an outermost call: the classes of all calls in it.
pub(super) type Inside = BTreeMap<usize, BTreeSet<usize>>;

/// What ran for more than one test.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// By class: what its static initialiser called.
    pub(super) initialisers: Inside,
    /// Calls that belong to no test.
    pub(super) outside: Inside,
    /// Whether there were more paths than are kept, so that more classes may have been called.
    pub(super) is_partial: bool,
}

impl Shared {
    /// Reads a trace, of which `runs` are all tests.
    pub(super) fn read(
        trace: &Trace,
        runs: &[TestRun],
        classes: &Classes<'_>,
        listener: &mut impl Listener,
    ) -> (Self, Soundness) {
        let initialisers = Filter::new(&["**#<clinit>".to_owned()], &[], false).selection(trace);
        let outside: Vec<_> =
            trace.files().iter().filter_map(|file| outside_of_tests(file, runs)).collect();
        let mut read = |files: &[ThreadFile], roots: &Selection| {
            ContextTree::read(files, &Selected::all(), roots, None, listener)
        };
        let of_initialisers = read(trace.files(), &initialisers);
        let of_outside = read(&outside, &Selection::all());
        let soundness = of_initialisers.soundness().and(of_outside.soundness());
        let trees = [of_initialisers.tree(), of_outside.tree()];
        let [in_initialisers, in_outside] = trees;
        // Classes that a static initialiser needs are initialised in it.
        let nested = in_initialisers.rows().filter(|(_, row)| initialisers.contains(row.method));
        let shared = Self {
            initialisers: inside(in_initialisers, nested.map(|(path, _)| path), classes),
            outside: inside(in_outside, in_outside.children(in_outside.root()), classes),
            is_partial: trees.iter().any(|tree| tree.beyond() > 0),
        };
        (shared, soundness)
    }
}

/// The ranges of a thread that are in no test; `None` for a helper of one.
fn outside_of_tests(file: &ThreadFile, runs: &[TestRun]) -> Option<ThreadFile> {
    if runs.iter().any(|run| run.helpers.contains(&file.id())) {
        return None;
    }
    let own = runs.iter().filter(|run| run.thread == file.id());
    let mut ranges: Vec<_> = own.flat_map(|run| run.ranges.iter().cloned()).collect();
    ranges.sort_by_key(|range| range.start);
    let (mut outside, mut from) = (Vec::new(), Parts::ALL.start);
    for range in ranges {
        if from < range.start {
            outside.push(from..range.start);
        }
        from = from.max(range.end);
    }
    if from < Parts::ALL.end {
        outside.push(from..Parts::ALL.end);
    }
    Some(file.only("outside of tests", &outside))
}

/// What the calls at some paths made.
fn inside(tree: &PathTree, from: impl Iterator<Item = PathId>, classes: &Classes<'_>) -> Inside {
    let mut found = Inside::new();
    let class_of = |path| tree.row(path).and_then(|row| classes.of_method(row.method));
    for start in from {
        let Some(class) = class_of(start) else { continue };
        let called = found.entry(class).or_default();
        let mut to_do = vec![start];
        while let Some(path) = to_do.pop() {
            called.extend(class_of(path));
            to_do.extend(tree.children(path));
        }
    }
    found
}
