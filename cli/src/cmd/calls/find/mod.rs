//! `flow calls`: the calls of a shape, or of a method.

mod print;

use flow_codec::format::shape_name::{NamePrefix, ShapeName};
use flow_codec::read::{CallTimes, Selection, TestRun, TestsOfThread, ThreadFile, Trace};
use flow_codec::{Glob, MethodId};
use flow_query::dag::{Find, Kind, Occurrence, Outcome, ShapeId};
use flow_query::rows::FindRow;

use self::print::Printer;
use crate::args::{FindArgs, HowLeft};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::memory::most_words;
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Out, Progress, flow_command, message, nothing_in_the_rest};
use flow_query::reading::{CallClock, Ending, UNKNOWN_TIMES};
use flow_query::select::file_title;
use flow_query::select::methods;
use flow_query::shapes::{WholeThread, read_whole, too_many_shapes};

/// Calls shown in text by default.
const DEFAULT_MAX: u64 = 20;
/// The most calls, and callers of these, that are held until their times are known.
const CALLS_AT_ONCE: usize = 1 << 16;
const CALLERS_AT_ONCE: usize = 1 << 22;

pub(crate) fn run(args: &FindArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    let mut status = source.status;
    // Read before threads are selected: the thread that ran a test may not be among them.
    let runs: Vec<_> =
        source.traces.iter().map(|trace| Source::tests(trace, &mut status)).collect();
    source.choose(&args.threads)?;
    let what = match args.what.parse() {
        Ok(prefix) => What::Shape(prefix),
        Err(_) => What::Methods(methods(std::slice::from_ref(&args.what), &source.traces)?),
    };
    args.tests.expect_in(&runs)?;
    source.report_losses();
    let max = line_limit(args.max, args.source.format, DEFAULT_MAX);
    let mut answer = Answer::new::<FindRow<'_>>(&source, args.source.format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let (mut names, mut left_out): (Vec<ShapeName>, u64) = (Vec::new(), 0);
    for (trace, runs) in source.traces.iter().zip(&runs) {
        answer.begin(trace, out)?;
        let mut printer = Printer::new(args, &mut answer, trace, runs);
        for file in trace.files.iter().filter(|file| file.bytes > 0) {
            let (whole, reading) = read_whole(file, most_words(), &mut progress);
            status = status.and(reading.report(file, &progress));
            match whole {
                Some(whole) => {
                    let thread = Thread::new(args, trace, file, &whole, &what);
                    thread.find(runs, &mut printer, out)?;
                    names.extend(thread.found_names());
                }
                None => {
                    left_out += 1;
                    let title = file_title(trace, file);
                    if reading.ending != Ending::Failed {
                        let worst = too_many_shapes(&title, most_words(), false, &progress);
                        status = status.and(worst);
                    }
                }
            }
        }
        printer.finish(out)?;
    }
    drop(progress);
    names.sort_unstable();
    names.dedup();
    match (&what, names.len()) {
        (_, 0) if left_out > 0 => message(&nothing_in_the_rest(&args.what, left_out)),
        (What::Shape(_), 0) => message(&format!(
            "no call of shape '{}' that has ended is in the selected part of the trace; {} shows shapes",
            args.what,
            flow_command("calls METHOD --by shape")
        )),
        (What::Methods(_), 0) => message(&format!(
            "no call of '{}' that has ended is in the selected part of the trace",
            args.what
        )),
        (What::Shape(_), 2..) => message(&format!(
            "the names of {} shapes begin with '{}': give more digits to select one",
            names.len(),
            args.what
        )),
        _ => {}
    }
    Ok(status)
}

/// What is searched for.
enum What {
    Shape(NamePrefix),
    Methods(Vec<Glob>),
}

/// A call that was found.
struct Found {
    call: Occurrence,
    method: MethodId,
    outcome: Outcome,
    name: Option<ShapeName>,
    /// The index of its test.
    test: Option<usize>,
    times: CallTimes,
    callers: Vec<MethodId>,
}

/// A thread that is searched.
struct Thread<'a> {
    args: &'a FindArgs,
    file: &'a ThreadFile,
    whole: &'a WholeThread,
    names: Vec<ShapeName>,
    /// Which shapes are wanted.
    wanted: Vec<bool>,
}

impl<'a> Thread<'a> {
    fn new(
        args: &'a FindArgs,
        trace: &Trace,
        file: &'a ThreadFile,
        whole: &'a WholeThread,
        what: &What,
    ) -> Self {
        let shapes = whole.dag.shapes();
        let names = shapes.names(|id| trace.methods.key(id));
        let selection = match what {
            What::Shape(_) => Selection::all(),
            What::Methods(globs) => Selection::new(&trace.methods, globs, &[]),
        };
        let is_wanted = |shape: ShapeId| {
            let Kind::Call(method, outcome) = shapes.kind(shape) else { return false };
            let is_it = match what {
                What::Shape(prefix) => {
                    names.get(shape.index()).is_some_and(|name| prefix.is_of(*name))
                }
                What::Methods(_) => selection.contains(method),
            };
            is_it && args.outcome.is_none_or(|how| how.is(outcome))
        };
        let wanted = shapes.iter().map(is_wanted).collect();
        Self { args, file, whole, names, wanted }
    }

    fn is_wanted(&self, shape: ShapeId) -> bool {
        self.wanted.get(shape.index()) == Some(&true)
    }

    /// The names of the shapes of which there are calls.
    fn found_names(&self) -> impl Iterator<Item = ShapeName> {
        self.names
            .iter()
            .zip(&self.wanted)
            .filter(|(_, is_wanted)| **is_wanted)
            .map(|(name, _)| *name)
    }

    /// Finds the calls and prints them.
    fn find(
        &self,
        runs: &Runs,
        printer: &mut Printer<'_, '_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let dag = &self.whole.dag;
        let mut clock = CallClock::new(self.file);
        let mut find = dag.find(|shape| self.is_wanted(shape));
        let tests = TestsOfThread::new(runs, self.file.id);
        let is_selected =
            |test: usize| runs.get(test).is_some_and(|run| self.args.tests.include(&run.name));
        let is_all = self.args.tests.patterns.is_empty();
        if is_all {
            let occurrences = dag.occurrences();
            let counts = dag.shapes().iter().filter(|shape| self.is_wanted(*shape));
            let count = counts.map(|shape| occurrences.count(shape));
            printer.expect(count.fold(0, u64::saturating_add), self.found_names());
        }
        let mut calls = Vec::new();
        let mut callers = 0;
        while !(is_all && printer.is_full(calls.len())) {
            let Some(call) = find.next() else { break };
            let position = self.whole.has_positions.then_some(call.entry);
            let test = position.and_then(|position| tests.at(position));
            if !is_all {
                if !test.is_some_and(is_selected) {
                    continue;
                }
                printer.expect(1, self.names.get(call.shape.index()).copied());
                if printer.is_full(calls.len()) {
                    continue;
                }
            }
            calls.extend(self.found(call, test, &find));
            callers += calls.last().map_or(0, |call| call.callers.len());
            if calls.len() >= CALLS_AT_ONCE || callers >= CALLERS_AT_ONCE {
                self.print(&mut calls, &mut clock, printer, out)?;
                callers = 0;
            }
        }
        self.print(&mut calls, &mut clock, printer, out)
    }

    fn found(&self, call: Occurrence, test: Option<usize>, find: &Find<'_>) -> Option<Found> {
        let Kind::Call(method, outcome) = self.whole.dag.shapes().kind(call.shape) else {
            return None;
        };
        let name = self.names.get(call.shape.index()).copied();
        let (times, callers) = (UNKNOWN_TIMES, find.callers().collect());
        Some(Found { call, method, outcome, name, test, times, callers })
    }

    /// Adds the times to calls, and prints them.
    fn print(
        &self,
        calls: &mut Vec<Found>,
        clock: &mut CallClock,
        printer: &mut Printer<'_, '_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        if self.whole.has_positions {
            let times = clock.times(calls.iter().map(|found| &found.call));
            for (found, times) in calls.iter_mut().zip(times) {
                found.times = times;
            }
        }
        for call in calls.drain(..) {
            let size = self.whole.dag.shapes().calls(call.call.shape);
            printer.call(self.file.id, call, size, out)?;
        }
        Ok(())
    }
}

impl HowLeft {
    fn is(self, outcome: Outcome) -> bool {
        matches!(
            (self, outcome),
            (Self::Returned, Outcome::Returned)
                | (Self::Unwound, Outcome::Unwound)
                | (Self::Cut, Outcome::Cut)
        )
    }
}

/// The tests that a trace ran.
type Runs = [TestRun];
