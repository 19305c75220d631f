//! Which lines of source files were reached, and how often.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::ops::Range;

use flow_codec::format::ids::key;
use flow_codec::format::manifest::Manifest;
use flow_codec::format::marks::{Mark, Position};
use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{
    Selection, Stamp, ThreadFile, Timeline, TimelineEvent, Trace, Unwound, VisitTimeline,
};
use flow_codec::{MethodId, MethodNames, NameForm, Offset, ThreadId};

use crate::analysis::{LineCounts, MethodLines, ReachedLines};
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
    /// Returns whether any line was reached.
    #[must_use]
    pub fn has_reached(&self) -> bool {
        self.files.values().any(|file| file.reached() > 0)
    }

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

    /// Reads which lines the selected threads reached.
    pub fn read(&self, listener: &mut impl Listener) -> (Covered, Soundness) {
        let mut counts = LineCounts::new(self.trace.methods());
        let mut soundness = Soundness::Whole;
        for (file, _) in self.threads().1 {
            soundness = soundness.and(read(&file, &mut counts, listener, LineCounts::end_thread));
        }
        let reached = counts.take();
        let covered = self.by_file(&counts, &reached, Lines::All);
        (Covered { unplaced: counts.unplaced(), ..covered }, soundness)
    }

    /// Reads which lines each of the selected tests reached. Returns all lines with a count of 0, and for each test those that it
    /// reached.
    pub fn read_tests(
        &self,
        listener: &mut impl Listener,
    ) -> (Covered, Vec<(&'t str, Covered)>, Soundness) {
        let (names, threads) = self.threads();
        let mut tests: Vec<_> = names.iter().map(|_| ReachedLines::default()).collect();
        let mut counts = LineCounts::new(self.trace.methods());
        let mut soundness = Soundness::Whole;
        for (file, ranges) in threads {
            let mut by_test = ByTest { counts: &mut counts, ranges: &ranges, tests: &mut tests };
            soundness = soundness.and(read(&file, &mut by_test, listener, ByTest::end_range));
        }
        let all = self.by_file(&counts, &ReachedLines::default(), Lines::All);
        let all = Covered { unplaced: counts.unplaced(), ..all };
        let of_test = |(name, reached)| (name, self.by_file(&counts, &reached, Lines::Reached));
        (all, names.into_iter().zip(tests).map(of_test).collect(), soundness)
    }

    /// The names of the selected tests, and the selected threads: each once with the ranges of all tests in it, because reading a
    /// range takes as long as reading all marks before it. Of tests that overlap in a thread, each is read on its own.
    fn threads(&self) -> (Vec<&'t str>, Vec<(ThreadFile, Vec<TestRange>)>) {
        let (mut names, mut threads) = (Vec::new(), Vec::new());
        let mut in_threads: BTreeMap<ThreadId, (&ThreadFile, Vec<TestRange>)> = BTreeMap::new();
        for file in self.trace.files() {
            let Some(parts) = file.parts() else {
                threads.push((file.clone(), Vec::new()));
                continue;
            };
            let name = test_of(parts.title());
            if names.last().is_none_or(|last| *last != name) {
                names.push(name);
            }
            let test = names.len() - 1;
            let (_, ranges) = in_threads.entry(file.id()).or_insert_with(|| (file, Vec::new()));
            ranges.extend(parts.ranges().iter().cloned().map(|range| (range, test)));
        }
        let title = |file: &ThreadFile| match names.as_slice() {
            [_] => file.parts().map_or_else(String::new, |parts| parts.title().to_owned()),
            _ => "several tests".to_owned(),
        };
        for (file, mut ranges) in in_threads.into_values() {
            ranges.sort_by_key(|(range, _)| range.start);
            while !ranges.is_empty() {
                let now = take_without_overlaps(&mut ranges);
                let only: Vec<_> = now.iter().map(|(range, _)| range.clone()).collect();
                threads.push((file.only(&title(file), &only), now));
            }
        }
        (names, threads)
    }

    fn by_file(&self, counts: &LineCounts<'_>, reached: &ReachedLines, which: Lines) -> Covered {
        let mut covered = Covered::default();
        let nothing = MethodLines::default();
        for (id, info) in counts.known() {
            let counted = match (reached.get(&(id, info.version)), which) {
                (Some(counted), _) => counted,
                (None, Lines::All) => &nothing,
                (None, Lines::Reached) => continue,
            };
            let is_left_out =
                || self.without.contains(&key(&info.class, &info.name, &info.descriptor));
            if self.selection.contains(id) && !is_left_out() {
                self.add(id, info, counted, which, &mut covered.files);
            }
        }
        covered.files.values_mut().for_each(CoveredFile::sort);
        covered
    }

    /// Adds the lines of a version of a method.
    fn add(
        &self,
        id: MethodId,
        info: &MethodInfo,
        counted: &MethodLines,
        which: Lines,
        files: &mut BTreeMap<String, CoveredFile>,
    ) {
        let has_calls = self.trace.manifest().is_none_or(Manifest::has_calls);
        let (place, first) = beginning(info);
        let mut own = BTreeMap::new();
        for number in &info.lines {
            let count = counted.lines.get(number).copied().unwrap_or_default();
            if count == 0 && which == Lines::Reached {
                continue;
            }
            let (file, line) = info.source_line((*number).into());
            if file == place {
                add(&mut own, line, count);
            }
            add(&mut files.entry(file.into_owned()).or_default().lines, line, count);
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

/// Which lines an answer has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    All,
    Reached,
}

/// Reads the lines of a thread.
fn read<V: VisitTimeline>(
    file: &ThreadFile,
    counts: &mut V,
    listener: &mut impl Listener,
    end: impl FnOnce(&mut V),
) -> Soundness {
    let timeline = file.timeline().map(Timeline::with_lines);
    let is_needed = |mark: &Mark| matches!(mark, Mark::Line(_));
    let end = |counts: &mut V, _: &Timeline<'_>| end(counts);
    let reading = read_marked(file, timeline, is_needed, listener, counts, end);
    reading.report(file, listener)
}

/// A range of a thread, and the test that ran in it.
type TestRange = (Range<Position>, usize);

/// Takes ranges that do not overlap from some that are in order.
fn take_without_overlaps(ranges: &mut Vec<TestRange>) -> Vec<TestRange> {
    let (mut end, mut taken) = (Position::before(Offset::new(0)), Vec::new());
    ranges.retain(|(range, test)| {
        let overlaps = range.start < end;
        if !overlaps {
            end = range.end;
            taken.push((range.clone(), *test));
        }
        overlaps
    });
    taken
}

/// Counts the lines of a thread by test.
struct ByTest<'c, 't> {
    counts: &'c mut LineCounts<'t>,
    /// The ranges that are not over, in order.
    ranges: &'c [TestRange],
    /// What each test has reached.
    tests: &'c mut [ReachedLines],
}

impl ByTest<'_, '_> {
    /// Ends the ranges that are over at a position.
    #[inline]
    fn come_to(&mut self, at: Position) {
        while self.ranges.first().is_some_and(|(range, _)| range.end <= at) {
            self.end_range();
        }
    }

    fn end_range(&mut self) {
        self.counts.end_thread();
        let Some(((_, test), later)) = self.ranges.split_first() else { return };
        self.ranges = later;
        if let Some(reached) = self.tests.get_mut(*test) {
            for (of, counted) in self.counts.take() {
                reached.entry(of).or_default().add(&counted);
            }
        }
    }
}

impl VisitTimeline for ByTest<'_, '_> {
    #[inline]
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        self.come_to(at.position);
        self.counts.enter(method, at)
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        self.come_to(at.position);
        self.counts.exit(count, at, unwound)
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        self.come_to(event.position);
        self.counts.other(event)
    }
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
fn beginning(info: &MethodInfo) -> (String, u32) {
    let mut numbers = info.lines.iter().map(|number| u32::from(*number));
    let own = |number: &u32| info.inlined_line(*number).is_none();
    let first = numbers.clone().find(own).or(numbers.next()).unwrap_or_default();
    let (file, first) = info.source_line(first);
    (file.into_owned(), first)
}
