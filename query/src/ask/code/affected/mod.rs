//! Which tests a change in version control may affect.
//!
//! A test is affected if it called a class of an affected file. Affected are the files that changed, and those whose classes may
//! do something else because of them: see [`Reach`]. What runs once for several tests, static initialisers and calls outside of
//! tests, counts for all of them. A class is the smallest unit, because a change of one method can give calls of another a
//! different target.
//!
//! What cannot be seen: classes that are found only by reflection or from data, state that a test leaves to later ones other than
//! by static initialisers, and files that tests read.

mod files;
mod names;
mod reached;
mod source;
mod spread;

use std::collections::{BTreeMap, BTreeSet};

use flow_codec::format::manifest::NotRecorded;
use flow_codec::read::{TestRun, Trace};

use self::files::own_effect;
pub use self::files::{ChangedFile, FileEffect, SourceText};
pub(in crate::ask) use self::names::parts_of_name;
pub use self::names::{Affected, SelectedClass};
use self::names::{AffectedTest, Why};
use self::reached::{Classes, Places, Shared};
use self::source::Source;
use self::spread::Reach;
use self::spread::Spread;
use crate::Error;
use crate::ask::RanTests;
use crate::open::Traces;
use crate::reading::{Listener, Soundness};
use crate::select::{Select, Tests};

/// Options of a recording that leave out some methods of recorded classes.
const PARTIAL: [&str; 4] = ["constructors", "skip", "synthetic", "target"];

/// Why the agent leaves something out of which the calls are recorded, or nothing would be seen.
const COMPLETE: [&str; 3] = ["without-lines", "without-instructions", "empty-finalizer"];

/// Asks which tests a change may affect.
#[derive(Clone, Default, Debug)]
pub struct AffectedTests {
    /// The files that changed.
    pub changed: Vec<ChangedFile>,
    /// All source files after the change.
    pub sources: Vec<SourceText>,
    /// Patterns for paths of files that affect no test, with `*` for any text.
    pub ignored: Vec<String>,
    /// Which tests are asked for.
    pub tests: Tests,
}

impl AffectedTests {
    /// Finds the affected tests of a recording.
    ///
    /// # Errors
    /// There are no tests, calls of tests were left out, or the recording is of another project: none of its classes has a
    /// source file.
    pub fn find(
        &self,
        traces: &mut Traces,
        listener: &mut impl Listener,
    ) -> Result<(Affected, Soundness), Error> {
        let runs = traces.read_tests();
        self.tests.expect_in(&runs)?;
        if let Some(left) = runs.iter().flatten().find(|run| run.left_out.is_some()) {
            return Err(Error::CallsLeftOut {
                test: left.name.clone(),
                remedy: "what they depend on is not known, so record without --keep-tests",
            });
        }
        let sources: Vec<_> = self.versions().map(|(path, text)| Source::new(path, text)).collect();
        let places = Places::of(&sources);
        let classes: Vec<_> = traces.iter().map(|trace| Classes::of(trace, &places)).collect();
        if classes.iter().all(|classes| classes.sources.iter().all(Vec::is_empty)) {
            return Err(Error::Text(format!(
                "{}: no class of this recording has a source file in this repository; is it of another project?",
                traces.path().display()
            )));
        }
        let after = self.sources.iter().map(|file| &*file.path).collect();
        let asked = Asked { question: self, sources: &sources, after, places: &places };
        let partial: Vec<_> = traces.iter().map(|trace| Partial::of(trace, &places)).collect();
        let mut spread = asked.spread(&classes, &partial);
        let (mut shared, mut soundness) = (Vec::new(), Soundness::Whole);
        for ((trace, runs), classes) in traces.iter().zip(&runs).zip(&classes) {
            let (of_trace, worst) = Shared::read(trace, runs, classes, listener);
            soundness = soundness.and(worst);
            shared.push(of_trace);
        }
        asked.spread_initialisers(&mut spread, &classes, &shared);
        let mut found = asked.effects(&spread, &classes);
        let known: BTreeSet<usize> = runs
            .iter()
            .flatten()
            .flat_map(|run| places.of_name(&run.name).iter().copied())
            .collect();
        asked.add_classes(&spread, &runs, &mut found);
        asked.add_unknown(&known, &mut found);
        let mut tests: BTreeMap<String, AffectedTest> = BTreeMap::new();
        let mut order = Vec::new();
        for (number, (trace, runs)) in traces.iter().zip(runs).enumerate() {
            let (Some(classes), Some(shared)) = (classes.get(number), shared.get(number)) else {
                continue;
            };
            let of_trace = OfTrace::new(&asked, &spread, classes, shared);
            let worst = of_trace.tests(trace, runs, &mut found, &mut tests, &mut order, listener);
            soundness = soundness.and(worst);
        }
        let ordered = order.iter().filter_map(|name| tests.remove(name));
        found.tests.extend(ordered);
        found.all = order;
        Ok((found, soundness))
    }

    /// The texts of all sources, and of those that changed also before.
    fn versions(&self) -> impl Iterator<Item = (&str, &str)> {
        let after = self.sources.iter().map(|file| (&*file.path, &*file.text));
        let changed = self.changed.iter().filter(|file| source::is_source(&file.path));
        after.chain(changed.filter_map(|file| Some((&*file.path, file.before.as_deref()?))))
    }
}

/// Files with classes of which the recording may lack calls.
enum Partial {
    All,
    Files(BTreeSet<usize>),
}

impl Partial {
    /// Of a trace: options leave out methods of all classes, and the agent those that it names.
    fn of(trace: &Trace, places: &Places<'_>) -> Self {
        let end = trace.manifest().and_then(|manifest| Some((manifest, manifest.end.as_ref()?)));
        let Some((manifest, end)) = end else { return Self::All };
        let groups = end.not_recorded.iter().filter(|group| !COMPLETE.contains(&&*group.reason));
        let are_named = |group: &NotRecorded| group.methods.len() as u64 >= group.count;
        let has_option = PARTIAL.iter().any(|key| manifest.options.contains_key(*key));
        if has_option || !groups.clone().all(are_named) {
            return Self::All;
        }
        // The class of a lambda expression only calls the method with its code.
        let methods = groups.flat_map(|group| &group.methods);
        let methods = methods.filter(|method| !method.contains("$$Lambda"));
        let classes = methods.filter_map(|method| method.split('#').next());
        Self::Files(classes.flat_map(|class| places.of_name(class)).copied().collect())
    }

    fn contains(&self, file: usize) -> bool {
        match self {
            Self::All => true,
            Self::Files(files) => files.contains(&file),
        }
    }
}

/// A question, with what its sources say.
struct Asked<'a> {
    question: &'a AffectedTests,
    sources: &'a [Source<'a>],
    /// The paths of the source files after the change.
    after: BTreeSet<&'a str>,
    places: &'a Places<'a>,
}

impl<'a> Asked<'a> {
    /// The changed sources: all versions of files whose code changed.
    fn changed(&self) -> impl Iterator<Item = (usize, &'a ChangedFile)> {
        let question = self.question;
        self.sources.iter().enumerate().filter_map(move |(number, source)| {
            let file = question.changed.iter().find(|file| file.path == source.path)?;
            (own_effect(file, &question.ignored).is_none()).then_some((number, file))
        })
    }

    /// Returns whether a file is there after the change.
    fn is_there(&self, source: &Source<'_>) -> bool {
        self.after.contains(source.path)
    }

    /// What is affected by the changed files themselves. `partial`: calls of recorded classes may be missing.
    fn spread(&self, classes: &[Classes<'_>], partial: &[Partial]) -> Spread<'a, 'a> {
        let known: BTreeSet<usize> =
            classes.iter().flat_map(|of| of.sources.iter().flatten()).copied().collect();
        let mut spread = Spread::new(self.sources, self.changed().map(|(number, _)| number));
        for (number, file) in self.changed() {
            let versions = self.sources.iter().filter(|source| source.path == file.path);
            let copied: BTreeSet<_> = versions.clone().map(|source| &source.copied).collect();
            let is_one = file.before.is_none() || file.after.is_none();
            if copied.len() > 1 || (is_one && copied.iter().any(|copied| !copied.is_empty())) {
                spread.copy_constants(number);
            }
            let has_annotation = versions.clone().any(|source| source.has_annotation);
            let is_partial = partial.iter().any(|partial| partial.contains(number));
            if is_one || is_partial || has_annotation || !known.contains(&number) {
                spread.spread_to_users(number, number);
            }
            if !known.contains(&number) && file.before.is_some() {
                spread.spread_to_callers(number, number);
            }
        }
        spread.spread_state(&with_initialisers(classes));
        spread
    }

    /// Adds what the static initialisers change that called affected code.
    fn spread_initialisers(
        &self,
        spread: &mut Spread<'_, '_>,
        classes: &[Classes<'_>],
        shared: &[Shared],
    ) {
        let with_initialisers = with_initialisers(classes);
        loop {
            let mut is_new = false;
            for (classes, shared) in classes.iter().zip(shared) {
                for (class, called) in &shared.initialisers {
                    let of_called = called.iter().flat_map(|class| classes.files(*class));
                    let origin =
                        of_called.filter_map(|file| spread.reached.get(file)).min().copied();
                    let Some((_, origin)) = origin else { continue };
                    for file in classes.files(*class) {
                        is_new |= spread.initialise(*file, origin);
                    }
                }
            }
            spread.spread_state(&with_initialisers);
            if !is_new {
                break;
            }
        }
    }

    /// What each changed file affects.
    fn effects(&self, spread: &Spread<'_, '_>, classes: &[Classes<'_>]) -> Affected {
        let mut found = Affected::default();
        for file in &self.question.changed {
            let effect = own_effect(file, &self.question.ignored).unwrap_or_else(|| {
                let of_file = |number: &usize| {
                    self.sources.get(*number).is_some_and(|source| source.path == file.path)
                };
                let of_classes = classes.iter().flat_map(|of| of.names.iter().zip(&of.sources));
                let own = of_classes.filter(|(_, sources)| sources.iter().any(of_file));
                let own: BTreeSet<&str> = own.map(|(name, _)| *name).collect();
                let through = spread
                    .reached
                    .iter()
                    .filter(|(number, (_, origin))| of_file(origin) && !of_file(number));
                FileEffect::Classes { known: own.len(), further_files: through.count() }
            });
            found.is_everything |= matches!(effect, FileEffect::Everything);
            found.files.push((file.clone(), effect));
        }
        found
    }

    /// Adds the classes of tests that are in changed files, or extend classes of these: they may have other tests now.
    fn add_classes(&self, spread: &Spread<'_, '_>, runs: &[Vec<TestRun>], found: &mut Affected) {
        let mut classes: BTreeMap<String, AffectedTest> = BTreeMap::new();
        let of_tests: BTreeSet<&str> =
            runs.iter().flatten().filter_map(|run| Some(parts_of_name(&run.name)?.0)).collect();
        for (number, (reach, origin)) in &spread.reached {
            let is_own = [Reach::Changed, Reach::Subtype].contains(reach);
            let Some(source) = self.sources.get(*number).filter(|_| is_own) else { continue };
            let is_of_tests = self.sources.get(*origin).is_some_and(|origin| origin.has_tests);
            if !self.is_there(source) || (*reach == Reach::Subtype && !is_of_tests) {
                continue;
            }
            let of_source = |class: &&&str| self.places.of_name(class).contains(number);
            let mut names: BTreeSet<String> =
                of_tests.iter().filter(of_source).map(|class| (*class).to_owned()).collect();
            if !names.is_empty() || source.has_tests {
                names.extend(source.classes.iter().map(|name| format!("{}{name}", source.package)));
            }
            for name in names.into_iter().filter(|name| self.question.tests.include(name)) {
                let file = self.sources.get(*origin).map_or("", |source| source.path).to_owned();
                let why = Why::Class(*reach);
                let test = AffectedTest { name, is_class: true, why, through: String::new(), file };
                classes.entry(test.name.clone()).or_insert(test);
            }
        }
        found.tests.extend(classes.into_values());
    }

    /// Names classes that seem to have tests, and have none in the recording.
    fn add_unknown(&self, known: &BTreeSet<usize>, found: &mut Affected) {
        for (number, source) in self.sources.iter().enumerate() {
            let is_known = known.contains(&number) || !source.has_tests || !self.is_there(source);
            for name in source.classes.iter().filter(|_| !is_known) {
                let name = format!("{}{name}", source.package);
                let is_selected = found.tests.iter().any(|test| test.name == name);
                if !is_selected && !found.unknown.contains(&name) {
                    found.unknown.push(name);
                }
            }
        }
    }
}

fn with_initialisers(classes: &[Classes<'_>]) -> BTreeSet<usize> {
    classes.iter().flat_map(|of| of.with_initialiser.iter().copied()).collect()
}

/// An affected class: why, through which changed file, and its number.
type Through = (Reach, usize, usize);

/// The tests of one trace.
struct OfTrace<'a> {
    asked: &'a Asked<'a>,
    spread: &'a Spread<'a, 'a>,
    classes: &'a Classes<'a>,
    shared: &'a Shared,
    /// By the file of a class of tests: what was called to prepare its tests.
    outside: BTreeMap<usize, Through>,
    /// What was called outside of tests, and may have prepared any of them.
    outside_of_all: Option<Through>,
}

impl<'a> OfTrace<'a> {
    fn new(
        asked: &'a Asked<'a>,
        spread: &'a Spread<'a, 'a>,
        classes: &'a Classes<'a>,
        shared: &'a Shared,
    ) -> Self {
        let (outside, outside_of_all) = (BTreeMap::new(), None);
        let mut new = Self { asked, spread, classes, shared, outside, outside_of_all };
        for (outermost, called) in &shared.outside {
            let Some(through) = reached(classes, spread, called) else { continue };
            let files = classes.files(*outermost);
            let has_tests =
                |file: &usize| asked.sources.get(*file).is_some_and(|source| source.has_tests);
            if !files.iter().any(has_tests) {
                new.outside_of_all = new.outside_of_all.into_iter().chain([through]).min();
                continue;
            }
            // Methods of a class of tests, such as its constructor, prepare its own tests and those of classes that extend it.
            let prepared = files.iter().flat_map(|file| spread.with_subtypes(*file));
            for file in prepared {
                let known = new.outside.entry(file).or_insert(through);
                *known = through.min(*known);
            }
        }
        new
    }

    /// Adds the affected tests, and the names of all.
    fn tests(
        &self,
        trace: &Trace,
        runs: Vec<TestRun>,
        found: &mut Affected,
        tests: &mut BTreeMap<String, AffectedTest>,
        order: &mut Vec<String>,
        listener: &mut impl Listener,
    ) -> Soundness {
        let asked = RanTests::all().with_all_methods();
        let asked = asked.select(Select::all().in_tests(self.asked.question.tests.clone()));
        let (ran, soundness) = asked.read(trace, runs, listener);
        let mut names: BTreeSet<String> = order.iter().cloned().collect();
        for test in ran {
            let called = test.methods.iter().filter_map(|method| self.classes.of_method(*method));
            let called: BTreeSet<usize> = called.collect();
            if names.insert(test.run.name.clone()) {
                order.push(test.run.name.clone());
            }
            let Some(why) = self.why(&test.run, &called, found) else { continue };
            let known = tests.entry(test.run.name.clone()).or_insert_with(|| why.clone());
            if why.why < known.why {
                *known = why;
            }
        }
        soundness
    }

    /// Why a test is affected, the first reason that applies.
    fn why(
        &self,
        run: &TestRun,
        called: &BTreeSet<usize>,
        found: &Affected,
    ) -> Option<AffectedTest> {
        let path = |number: usize| self.asked.sources.get(number).map_or("", |source| source.path);
        let affected = |why, through: &str, file: &str| {
            let (through, file) = (through.to_owned(), file.to_owned());
            Some(AffectedTest { name: run.name.clone(), is_class: false, why, through, file })
        };
        let of_class = self.asked.places.of_name(&run.name);
        let own = of_class.iter().filter_map(|file| self.spread.reached.get(file)).min();
        if let Some((reach, origin)) = own.filter(|(reach, _)| *reach == Reach::Changed) {
            return affected(Why::Class(*reach), "", path(*origin));
        }
        if let Some((reach, origin, class)) = reached(self.classes, self.spread, called) {
            let name = self.classes.names.get(class).copied().unwrap_or_default();
            return affected(Why::Calls(reach), name, path(origin));
        }
        if let Some((reach, origin)) = own {
            return affected(Why::Class(*reach), "", path(*origin));
        }
        let outside = of_class.iter().filter_map(|file| self.outside.get(file)).copied();
        if let Some((_, origin, class)) = outside.chain(self.outside_of_all).min() {
            let name = self.classes.names.get(class).copied().unwrap_or_default();
            return affected(Why::Outside, name, path(origin));
        }
        let changed = self.spread.reached.values().next();
        if let Some((_, origin)) = changed.filter(|_| self.shared.is_partial) {
            return affected(Why::Outside, "", path(*origin));
        }
        let everything = found.files.iter().find(|(_, effect)| *effect == FileEffect::Everything);
        if let Some((file, _)) = everything {
            return affected(Why::Everything, "", &file.path);
        }
        let is_over = run.outcome.is_some() && !run.ranges.is_empty();
        match changed.filter(|_| !is_over) {
            Some(_) => affected(Why::NotRun, "", ""),
            None => None,
        }
    }
}

/// The nearest affected file with one of these classes.
fn reached(
    classes: &Classes<'_>,
    spread: &Spread<'_, '_>,
    called: &BTreeSet<usize>,
) -> Option<Through> {
    let files = called
        .iter()
        .flat_map(|class| classes.files(*class).iter().map(move |file| (*class, file)));
    let affected = files.filter_map(|(class, file)| {
        let (reach, origin) = spread.reached.get(file)?;
        Some((*reach, *origin, class))
    });
    affected.min()
}
