//! Finds calls by the shapes of threads.

use flow_codec::format::shape_name::ShapeName;
use flow_codec::read::{Selection, TestsOfThread, ThreadFile, TimeLimits};

use super::{FoundCall, InTrace, Searched, What};
use crate::dag::{Find, Kind, Occurrence, ShapeId};
use crate::reading::{CallClock, Ending, Listener, UNKNOWN_TIMES};
use crate::select::file_title;
use crate::shapes::{WholeThread, most_words, read_whole, too_many_shapes};

/// The most calls, and callers of these, that are held until their times are known.
const CALLS_AT_ONCE: usize = 1 << 16;
const CALLERS_AT_ONCE: usize = 1 << 22;

impl InTrace<'_> {
    pub(super) fn of_shapes<E>(
        &self,
        listener: &mut impl Listener,
        mut each: impl FnMut(FoundCall) -> Result<(), E>,
    ) -> Result<Searched, E> {
        let mut searched = Searched::default();
        let mut left = self.search.asked.most;
        let most_words = most_words();
        let methods = self.search.methods(self.trace);
        for (number, file) in
            self.trace.files().iter().enumerate().filter(|(_, file)| file.bytes() > 0)
        {
            let (whole, reading) = read_whole(file, most_words, listener);
            searched.reading(reading.report(file, listener));
            let Some(whole) = whole else {
                searched.left_out += 1;
                if reading.ending() != Ending::Failed {
                    let title = file_title(self.trace, file);
                    searched.reading(too_many_shapes(&title, most_words, false, listener));
                }
                continue;
            };
            let thread = Thread::new(self, (number, file), &whole, &methods);
            thread.find(&mut left, &mut searched, &mut each)?;
            searched.matching.extend(thread.matching_names());
        }
        Ok(searched)
    }
}

/// A thread that is searched.
struct Thread<'a> {
    place: &'a InTrace<'a>,
    number: usize,
    file: &'a ThreadFile,
    whole: &'a WholeThread,
    /// The names of shapes that match.
    names: Vec<ShapeName>,
    /// Which shapes match.
    matching: Vec<bool>,
}

impl<'a> Thread<'a> {
    fn new(
        place: &'a InTrace<'a>,
        (number, file): (usize, &'a ThreadFile),
        whole: &'a WholeThread,
        methods: &Selection,
    ) -> Self {
        let shapes = whole.dag.shapes();
        let asked = place.search.asked;
        let is_of_method = |shape: ShapeId| {
            let Kind::Call(method, outcome) = shapes.kind(shape) else { return false };
            methods.contains(method) && asked.outcome.is_none_or(|how| how == outcome)
        };
        let mut matching: Vec<bool> = shapes.iter().map(is_of_method).collect();
        // To find a shape by its name, all are needed.
        let needed = match asked.what {
            What::Shape(_) => vec![true; shapes.len()],
            What::All | What::Methods(_) => matching.clone(),
        };
        let names = shapes.names_of(needed, |id| place.trace.methods().key(id));
        if let What::Shape(prefix) = &asked.what {
            for (is_it, name) in matching.iter_mut().zip(&names) {
                *is_it &= prefix.is_of(*name);
            }
        }
        Self { place, number, file, whole, names, matching }
    }

    fn is_matching(&self, shape: ShapeId) -> bool {
        self.matching.get(shape.index()) == Some(&true)
    }

    /// The names of the shapes that match.
    fn matching_names(&self) -> impl Iterator<Item = ShapeName> {
        let names = self.names.iter().zip(&self.matching);
        names.filter(|(_, is_matching)| **is_matching).map(|(name, _)| *name)
    }

    /// Finds the calls: at most those that are `left`.
    fn find<E>(
        &self,
        left: &mut usize,
        searched: &mut Searched,
        each: &mut impl FnMut(FoundCall) -> Result<(), E>,
    ) -> Result<(), E> {
        let dag = &self.whole.dag;
        let mut clock = CallClock::new(self.file);
        let mut find = dag.find(|shape| self.is_matching(shape));
        let runs = self.place.search.tests(self.place.number);
        let tests = TestsOfThread::new(runs, self.file.id());
        let select = &self.place.search.asked.select.tests;
        let is_selected = |test: usize| runs.get(test).is_some_and(|run| select.include(&run.name));
        // With times, calls are counted when these are known.
        let is_timed = self.place.search.asked.select.limits != TimeLimits::NONE;
        let is_whole = select.is_all() && !is_timed;
        if is_whole {
            let occurrences = dag.occurrences();
            let counts = dag.shapes().iter().filter(|shape| self.is_matching(*shape));
            let count = counts.map(|shape| occurrences.count(shape));
            searched.count = count.fold(searched.count, u64::saturating_add);
            searched.shapes.extend(self.matching_names());
        }
        let mut calls = Vec::new();
        let mut callers = 0;
        while !(is_whole && *left <= calls.len()) {
            let Some(call) = find.next() else { break };
            let position = self.whole.has_positions.then_some(call.entry);
            let test = position.and_then(|position| tests.at(position));
            if !select.is_all() {
                if !test.is_some_and(is_selected) {
                    continue;
                }
                if !is_timed {
                    searched.count = searched.count.saturating_add(1);
                    searched.shapes.extend(self.names.get(call.shape.index()));
                    if *left <= calls.len() {
                        continue;
                    }
                }
            }
            let Some(found) = self.found(call, test, &find) else { continue };
            callers += found.callers.len();
            calls.push((call, found));
            if calls.len() >= CALLS_AT_ONCE || callers >= CALLERS_AT_ONCE {
                self.pass(&mut calls, &mut clock, left, searched, each)?;
                callers = 0;
            }
        }
        self.pass(&mut calls, &mut clock, left, searched, each)
    }

    fn found(&self, call: Occurrence, test: Option<usize>, find: &Find<'_>) -> Option<FoundCall> {
        let shapes = self.whole.dag.shapes();
        let Kind::Call(method, outcome) = shapes.kind(call.shape) else { return None };
        let test = test.and_then(|test| self.place.search.tests(self.place.number).get(test));
        Some(FoundCall {
            trace: self.place.number,
            file: self.number,
            thread: self.file.id(),
            number: call.number,
            method,
            times: UNKNOWN_TIMES,
            is_open: false,
            outcome: Some(outcome),
            thrown: None,
            shape: self.names.get(call.shape.index()).copied(),
            calls: shapes.calls(call.shape),
            depth: call.depth,
            callers: find.callers().collect(),
            test: test.map(|run| run.name.clone()),
            values: Vec::new(),
            parts: None,
        })
    }

    /// Adds the times to calls, and passes them.
    fn pass<E>(
        &self,
        calls: &mut Vec<(Occurrence, FoundCall)>,
        clock: &mut CallClock,
        left: &mut usize,
        searched: &mut Searched,
        each: &mut impl FnMut(FoundCall) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.whole.has_positions {
            let times = clock.times(calls.iter().map(|(place, _)| place));
            for ((_, found), times) in calls.iter_mut().zip(times) {
                found.times = times;
            }
        }
        let asked = self.place.search.asked;
        if asked.select.limits != TimeLimits::NONE {
            calls.retain(|(_, found)| asked.has_time(&found.times));
            searched.count = searched.count.saturating_add(calls.len() as u64);
            searched.shapes.extend(calls.iter().filter_map(|(_, found)| found.shape));
            calls.truncate(*left);
        }
        *left = left.saturating_sub(calls.len());
        calls.drain(..).try_for_each(|(_, found)| each(found))
    }
}
