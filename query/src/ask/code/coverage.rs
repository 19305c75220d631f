//! Which lines of source files were reached, and how often.

use std::collections::{BTreeMap, BTreeSet};

use flow_codec::format::ids::key;
use flow_codec::format::manifest::Manifest;
use flow_codec::format::marks::Mark;
use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{Method, Selection, ThreadFile, Timeline, Trace};
use flow_codec::{MethodId, MethodNames, NameForm};

use crate::analysis::LineCounts;
use crate::reading::{Listener, Soundness, read_marked};
use crate::select::{Filter, test_of};

/// Asks which lines of some methods of a trace were reached. Their lines were recorded with `lines=`.
#[derive(Debug)]
pub struct Coverage<'t> {
    trace: &'t Trace,
    selection: Selection,
    names: MethodNames<'t>,
    /// The keys of methods whose lines are known, but were not recorded.
    without: BTreeSet<&'t String>,
}

/// The lines of source files, by the file below the folder of its package.
#[derive(Clone, Default, Debug)]
pub struct Covered {
    /// The files, by their path below the folder of the package: `com/app/Orders.java`.
    pub files: BTreeMap<String, CoveredFile>,
    /// How often a line was reached by a frame that was entered before recording began, so that its method is unknown.
    pub unplaced: u64,
}

/// The lines of a source file that methods with recorded lines have.
#[derive(Clone, Default, Debug)]
pub struct CoveredFile {
    /// How often each was reached; 0 if never.
    pub lines: BTreeMap<u32, u64>,
    /// The methods that begin in the file, by class and first line.
    pub methods: Vec<CoveredMethod>,
}

/// A method, and those of its lines that are in the file where it begins.
#[derive(Clone, Default, Debug)]
pub struct CoveredMethod {
    /// The class, as its class file names it: `com.app.Orders$Line`.
    pub class: String,
    /// The name that the class file has.
    pub name: String,
    /// The descriptor that the class file has.
    pub descriptor: String,
    /// The whole name, as people read it.
    pub title: String,
    /// The first line.
    pub first: u32,
    /// How many calls of it began; without recorded calls 1, if a line was reached.
    pub calls: u64,
    /// How often each of its lines was reached.
    pub lines: BTreeMap<u32, u64>,
}

impl Covered {
    /// Adds the lines of another trace.
    pub fn add(&mut self, other: Self) {
        self.unplaced = self.unplaced.saturating_add(other.unplaced);
        for (path, of_other) in other.files {
            let file = self.files.entry(path).or_default();
            add_all(&mut file.lines, of_other.lines);
            of_other.methods.into_iter().for_each(|method| file.add(method));
            file.sort();
        }
    }
}

impl CoveredFile {
    /// Adds a method, or another version of one.
    fn add(&mut self, method: CoveredMethod) {
        let is_it = |known: &&mut CoveredMethod| {
            (&known.class, &known.name, &known.descriptor)
                == (&method.class, &method.name, &method.descriptor)
        };
        let Some(known) = self.methods.iter_mut().find(is_it) else {
            self.methods.push(method);
            return;
        };
        known.first = known.first.min(method.first);
        known.calls = known.calls.saturating_add(method.calls);
        add_all(&mut known.lines, method.lines);
    }

    fn sort(&mut self) {
        self.methods.sort_by(|one, other| {
            (&one.class, one.first, &one.title).cmp(&(&other.class, other.first, &other.title))
        });
    }

    /// How many lines were reached.
    #[must_use]
    pub fn reached(&self) -> usize {
        reached(&self.lines)
    }
}

/// How many lines were reached.
#[must_use]
pub fn reached(lines: &BTreeMap<u32, u64>) -> usize {
    lines.values().filter(|count| **count > 0).count()
}

impl<'t> Coverage<'t> {
    /// Asks for the lines of the methods that a filter selects.
    #[must_use]
    pub fn of(trace: &'t Trace, filter: &Filter) -> Self {
        let end = trace.manifest().and_then(|manifest| manifest.end.as_ref());
        let groups = end.iter().flat_map(|end| &end.not_recorded);
        let without = groups.filter(|group| group.reason == "without-lines");
        Self {
            trace,
            selection: filter.selection(trace),
            names: MethodNames::new(trace.methods()),
            without: without.flat_map(|group| &group.methods).collect(),
        }
    }

    /// The selected threads of each test, with its name, if tests of the trace are selected.
    #[must_use]
    pub fn tests(&self) -> Vec<(&'t str, &'t [ThreadFile])> {
        let files = self.trace.files();
        let is_same = |one: &ThreadFile, next: &ThreadFile| test(one) == test(next);
        let named = |files: &'t [ThreadFile]| Some((test(files.first()?), files));
        files.chunk_by(is_same).filter_map(named).collect()
    }

    /// Reads which lines these threads reached.
    pub fn read(
        &self,
        threads: &[ThreadFile],
        listener: &mut impl Listener,
    ) -> (Covered, Soundness) {
        let mut counts = LineCounts::new(self.trace.methods());
        let mut soundness = Soundness::Whole;
        for file in threads {
            let timeline = file.timeline().map(Timeline::with_lines);
            let is_needed = |mark: &Mark| matches!(mark, Mark::Line(_));
            let end = |counts: &mut LineCounts, _: &Timeline<'_>| counts.end_thread();
            let reading = read_marked(file, timeline, is_needed, listener, &mut counts, end);
            soundness = soundness.and(reading.report(file, listener));
        }
        (self.by_file(&counts), soundness)
    }

    fn by_file(&self, counts: &LineCounts) -> Covered {
        let mut covered = Covered { unplaced: counts.unplaced(), ..Covered::default() };
        for (id, method) in self.trace.methods().iter() {
            let info = method.info();
            let is_left_out =
                || self.without.contains(&key(&info.class, &info.name, &info.descriptor));
            if self.selection.contains(id) && !is_left_out() {
                self.add(id, method, counts, &mut covered.files);
            }
        }
        covered.files.values_mut().for_each(CoveredFile::sort);
        covered
    }

    /// Adds the lines of all versions of a method.
    fn add(
        &self,
        id: MethodId,
        method: &Method,
        counts: &LineCounts,
        files: &mut BTreeMap<String, CoveredFile>,
    ) {
        let has_calls = self.trace.manifest().is_none_or(Manifest::has_calls);
        for counted in counts.get(id) {
            let info = method.version(counted.version);
            let (place, first) = beginning(info, &counted.lines);
            let mut own = BTreeMap::new();
            for (number, count) in &counted.lines {
                let (file, line) = info.source_line((*number).into());
                if file == place {
                    add(&mut own, line, *count);
                }
                add(&mut files.entry(file.into_owned()).or_default().lines, line, *count);
            }
            files.entry(place).or_default().add(CoveredMethod {
                class: info.class.clone(),
                name: info.name.clone(),
                descriptor: info.descriptor.clone(),
                title: self.names.get(id, NameForm::Full),
                first,
                calls: match has_calls {
                    true => counted.calls,
                    false => counted.calls.min(1),
                },
                lines: own,
            });
        }
    }
}

fn test(file: &ThreadFile) -> &str {
    file.parts().map_or("", |parts| test_of(parts.title()))
}

fn add_all(lines: &mut BTreeMap<u32, u64>, others: BTreeMap<u32, u64>) {
    others.into_iter().for_each(|(line, count)| add(lines, line, count));
}

fn add(lines: &mut BTreeMap<u32, u64>, line: u32, count: u64) {
    let sum = lines.entry(line).or_default();
    *sum = sum.saturating_add(count);
}

/// The file and the line where a method begins. Code that the compiler copied into the method belongs to it, too, and may be all
/// of its code.
fn beginning(info: &MethodInfo, lines: &BTreeMap<u16, u64>) -> (String, u32) {
    let mut numbers = lines.keys().map(|number| u32::from(*number));
    let own = |number: &u32| info.inlined_line(*number).is_none();
    let first = numbers.clone().find(own).or(numbers.next()).unwrap_or_default();
    let (file, first) = info.source_line(first);
    (file.into_owned(), first)
}
