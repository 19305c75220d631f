//! Calls, one by one: those of a method or shape, those whose values meet conditions, or the longest.
//!
//! [`Calls`] describes which calls are asked for. What answers is decided by one rule:
//!
//! | asked for | read |
//! |---|---|
//! | suspended calls as one, with what resumed them | the events of all threads twice: for what belongs together, and for its times and values |
//! | values, calls that meet conditions on values, or the longest of those that were left in one way | the events of each thread, with their values if these are needed |
//! | otherwise the longest calls | the events, and the index or the events again for the stacks of these calls |
//! | otherwise | the shapes of each thread, which are built if they are not stored |
//!
//! [`Contexts`] asks for what threads worked for.
//! [`EndedCalls`] asks for the calls of traces that grow, each once it has ended, and [`EndedContexts`] for what threads worked for.

mod by_shape;
mod contexts;
mod coroutines;
mod ended;
mod ended_contexts;
mod growing;
mod linked;
mod longest;
mod names;
mod ways;
mod with_values;

use std::collections::BTreeSet;

use flow_codec::format::shape_name::{NamePrefix, ShapeName};
use flow_codec::format::values::CallValue;
use flow_codec::read::{Call, CallTimes, Selection, TestRun, TimeLimits, Trace};
use flow_codec::{Glob, MethodId, ThreadId};

pub use self::contexts::{ContextSum, Contexts};
pub(in crate::ask) use self::coroutines::coroutine_times;
pub use self::coroutines::{CoroutineParts, CoroutineTimes};
pub use self::ended::{EndedCalls, NewlyEnded};
pub use self::ended_contexts::{EndedContext, EndedContexts, NewContexts};
pub use self::growing::MissingEvents;
pub use self::linked::{CallContexts, ContextsInThread, HandedCalls, HandedInThread, HandedPart};
pub use self::names::ValueNames;
pub use self::ways::{MethodWays, Way, Ways};

use crate::Error;
use crate::dag::Outcome;
use crate::open::Traces;
use crate::reading::{Listener, Soundness};
use crate::select::{Select, Selected, ValueCondition, expect_clock, methods};

/// Which calls are asked for. Thread by thread, and in a thread in the order in which they began, unless the [longest](Self::longest) are.
///
/// ```no_run
/// use flow_query::ask::Calls;
/// use flow_query::open::Traces;
///
/// let mut traces = Traces::open("flow-trace")?;
/// let (calls, _) = Calls::of("Orders#total").longest().at_most(10).find(&mut traces, &mut ())?;
/// for call in calls {
///     println!("{} ns in thread {}", call.times.duration_ns, call.thread);
/// }
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Calls {
    what: What,
    select: Select,
    conditions: Vec<ValueCondition>,
    outcome: Option<Outcome>,
    order: Order,
    has_values: bool,
    is_folded: bool,
    most: usize,
}

/// Whose calls.
#[derive(Clone, Debug)]
enum What {
    All,
    Methods(Vec<String>),
    Shape(NamePrefix),
}

/// Which calls come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Begun,
    Longest,
}

/// A call that was found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FoundCall {
    /// The number of its trace among those that were searched.
    pub trace: usize,
    /// The number of its thread among the [files](Trace::files) of the trace.
    pub file: usize,
    /// The thread.
    pub thread: ThreadId,
    /// How many calls of the thread began before it.
    pub number: u64,
    /// The method.
    pub method: MethodId,
    /// When it began, and how long it lasted.
    pub times: CallTimes,
    /// Whether it had not ended when the trace did.
    pub is_open: bool,
    /// How it was left; `None` if it is open, or if only its times were read and it was not left by an exception.
    pub outcome: Option<Outcome>,
    /// The class of the exception that ended it, if that was recorded; `?` if the class is unknown.
    pub thrown: Option<String>,
    /// The name of its shape, if shapes were read.
    pub shape: Option<ShapeName>,
    /// The number of calls in it, including itself.
    pub calls: u64,
    /// The number of frames that were open when it began.
    pub depth: u64,
    /// The methods of its callers, the outermost first. Unknown for calls with values in the order in which they began.
    pub callers: Vec<MethodId>,
    /// The name of the test that made it, if shapes were read.
    pub test: Option<String>,
    /// Recorded values, if these are asked for.
    pub values: Vec<CallValue>,
    /// How often a coroutine was resumed and how long it ran, if these are [folded](Calls::folded).
    pub parts: Option<CoroutineParts>,
}

/// What a search found in a trace, beside the calls themselves.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct Searched {
    /// Whether everything could be read.
    pub soundness: Soundness,
    /// How many calls are what is asked for, returned or not.
    pub count: u64,
    /// How many calls of the methods were read. Only if values are asked for.
    pub of_method: u64,
    /// Whether one of these has values.
    pub has_values: bool,
    /// The shapes of the calls that were counted, and all shapes that match.
    pub shapes: BTreeSet<ShapeName>,
    /// All shapes that match, whether the calls are selected or not.
    pub matching: BTreeSet<ShapeName>,
    /// How many threads could not be searched.
    pub left_out: u64,
}

impl Searched {
    fn reading(&mut self, soundness: Soundness) {
        self.soundness = self.soundness.and(soundness);
    }
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            what: What::All,
            select: Select::all(),
            conditions: Vec::new(),
            outcome: None,
            order: Order::Begun,
            has_values: false,
            is_folded: false,
            most: usize::MAX,
        }
    }
}

impl Calls {
    /// Asks for the calls of all methods.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Asks for the calls of a shape, whose name begins with this text, or of methods, which match this pattern.
    #[must_use]
    pub fn of(what: &str) -> Self {
        match what.parse() {
            Ok(prefix) => Self { what: What::Shape(prefix), ..Self::default() },
            Err(_) => Self::of_method(what),
        }
    }

    /// Asks for the calls of methods that match a pattern: `pkg.Class#method`, `Class#method`, or `method`, if only one class
    /// has a method of this name.
    #[must_use]
    pub fn of_method(pattern: &str) -> Self {
        Self::of_methods(&[pattern.to_owned()])
    }

    /// Asks for the calls of methods that match one of these patterns.
    #[must_use]
    pub fn of_methods(patterns: &[String]) -> Self {
        Self { what: What::Methods(patterns.to_vec()), ..Self::default() }
    }

    /// Asks only for calls of this selection. The longest calls can be selected by everything; others not by methods, and with
    /// values not by tests. Of a selected time, all calls are found that ran in it; the longest ones are cut at its ends.
    #[must_use]
    pub fn select(mut self, select: Select) -> Self {
        self.select = select;
        self
    }

    /// Asks for the longest calls, the longest first.
    #[must_use]
    pub fn longest(mut self) -> Self {
        self.order = Order::Longest;
        self
    }

    /// Asks for the recorded values of each call, too.
    #[must_use]
    pub fn with_values(mut self) -> Self {
        self.has_values = true;
        self
    }

    /// Asks for calls of suspend functions and lambdas of Kotlin, each once, however often it was resumed: from the first entry to
    /// the last exit, with the arguments of the first part and the result of the last one.
    #[must_use]
    pub fn folded(mut self) -> Self {
        self.is_folded = true;
        self
    }

    /// Asks only for calls with a value that meets this condition, and those that were given before.
    #[must_use]
    pub fn meeting(mut self, condition: ValueCondition) -> Self {
        self.conditions.push(condition);
        self.with_values()
    }

    /// Asks only for calls that were left in this way.
    #[must_use]
    pub fn left_by(mut self, outcome: Outcome) -> Self {
        self.outcome = Some(outcome);
        self
    }

    /// Asks for at most this many calls of each trace.
    #[must_use]
    pub fn at_most(mut self, calls: usize) -> Self {
        self.most = calls;
        self
    }

    /// Returns whether the calls of a shape are asked for.
    #[must_use]
    pub fn is_of_shape(&self) -> bool {
        matches!(self.what, What::Shape(_))
    }

    /// Returns all calls that are asked for, and whether everything could be read.
    ///
    /// # Errors
    /// A pattern matches nothing, or a trace has no times and the longest calls are asked for.
    pub fn find(
        &self,
        traces: &mut Traces,
        listener: &mut impl Listener,
    ) -> Result<(Vec<FoundCall>, Soundness), Error> {
        let search = self.begin(traces)?;
        let (mut found, mut soundness) = (Vec::new(), Soundness::Whole);
        for number in 0..traces.len() {
            let searched = search.read(traces, number, listener, |call| {
                found.push(call);
                Ok::<(), Error>(())
            })?;
            soundness = soundness.and(searched.soundness);
        }
        Ok((found, soundness))
    }

    /// Selects the threads of traces that are searched, and finds the methods.
    ///
    /// # Errors
    /// A pattern matches nothing, or a trace has no times and the longest calls are asked for.
    #[doc(hidden)]
    pub fn begin<'a>(&'a self, traces: &mut Traces) -> Result<CallSearch<'a>, Error> {
        self.expect_selectable()?;
        let mut runs = Vec::new();
        match (self.source(), self.order) {
            (Source::Values | Source::Times | Source::Coroutines, _) => {
                traces.select(&self.select)?;
                traces.number_calls(&mut ())?;
            }
            (Source::Shapes, _) => {
                // Read before threads are selected: the thread that ran a test may not be among them.
                runs = traces.read_tests();
                self.select.threads.keep_in(&mut [traces])?;
            }
        }
        if self.order == Order::Begun {
            traces.expect_times(self.select.limits)?;
        }
        let globs = match &self.what {
            What::Methods(patterns) => methods(patterns, &*traces)?,
            What::All | What::Shape(_) => Vec::new(),
        };
        if self.source() == Source::Shapes {
            self.select.tests.expect_in(&runs)?;
        }
        Ok(CallSearch { asked: self, globs, runs })
    }

    /// Refuses parts of the selection that would be ignored.
    fn expect_selectable(&self) -> Result<(), Error> {
        let has_filter = !self.select.filter.is_all();
        let Select { threads, tests, call, request, context, .. } = &self.select;
        let has_part = call.is_some() || request.is_some() || context.is_some();
        match (self.source(), self.order) {
            // A part of a coroutine may be in any thread, and in any call.
            (Source::Coroutines, _) if has_filter || has_part || !tests.is_all() => {
                Err(Error::NotSelectable {
                    what: "coroutines",
                    by: "tests, calls or other methods",
                })
            }
            (Source::Coroutines, _) if !threads.is_all() => {
                Err(Error::NotSelectable { what: "coroutines", by: "threads" })
            }
            (_, Order::Begun) if has_filter => {
                Err(Error::NotSelectable { what: "calls in order", by: "other methods" })
            }
            (Source::Values, Order::Begun) if !self.select.tests.is_all() => {
                Err(Error::NotSelectable { what: "calls with values in order", by: "tests" })
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a call ran in the selected time, and is as long as it should be.
    fn has_time(&self, times: &CallTimes) -> bool {
        let TimeLimits { from_ns, to_ns, min_ns } = self.select.limits;
        if self.select.limits == TimeLimits::NONE {
            return true;
        }
        let Some(start_ns) = times.start.estimate_ns else { return false };
        let end_ns = start_ns.saturating_add(times.duration_ns);
        start_ns < to_ns && end_ns >= from_ns && times.duration_ns >= min_ns
    }

    /// The one rule for what is read.
    fn source(&self) -> Source {
        match (self.has_values, self.order) {
            _ if self.is_folded => Source::Coroutines,
            (true, _) => Source::Values,
            // How a call was left is known where all events are read.
            (false, Order::Longest) if self.outcome.is_some() => Source::Values,
            (false, Order::Longest) => Source::Times,
            (false, Order::Begun) => Source::Shapes,
        }
    }
}

/// What is read to find calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// Events with values.
    Values,
    /// Events with times.
    Times,
    Shapes,
    /// Events with values, twice.
    Coroutines,
}

/// A search for calls in selected traces.
#[derive(Debug)]
pub struct CallSearch<'a> {
    asked: &'a Calls,
    globs: Vec<Glob>,
    /// The tests of each trace, if shapes are read.
    runs: Vec<Vec<TestRun>>,
}

impl CallSearch<'_> {
    /// Passes the calls of a trace to `each`. Reading always goes to the end; damage is part of the result.
    ///
    /// # Errors
    /// `each` failed, or the trace has no times and the longest calls are asked for.
    pub fn read<E: From<Error>>(
        &self,
        traces: &Traces,
        number: usize,
        listener: &mut impl Listener,
        each: impl FnMut(FoundCall) -> Result<(), E>,
    ) -> Result<Searched, E> {
        let Some(trace) = traces.get(number) else { return Ok(Searched::default()) };
        if self.asked.select.limits != TimeLimits::NONE {
            expect_clock(trace)?;
        }
        let place = InTrace { search: self, trace, number };
        match (self.asked.source(), self.asked.order) {
            (Source::Values, Order::Begun) => place.with_values(listener, each),
            (Source::Values, Order::Longest) => place.longest_that_hold(listener, each),
            (Source::Times, _) => place.longest(listener, each),
            (Source::Shapes, _) => place.of_shapes(listener, each),
            (Source::Coroutines, _) => place.folded(listener, each),
        }
    }

    /// The tests that a trace ran, if shapes are read.
    #[must_use]
    pub fn tests(&self, trace: usize) -> &[TestRun] {
        self.runs.get(trace).map_or(&[], |runs| runs)
    }

    /// The methods whose calls are asked for.
    fn methods(&self, trace: &Trace) -> Selection {
        match self.asked.what {
            What::Methods(_) => Selection::new(trace.methods(), &self.globs, &[]),
            What::All | What::Shape(_) => Selection::all(),
        }
    }
}

/// A trace that is searched.
struct InTrace<'a> {
    search: &'a CallSearch<'a>,
    trace: &'a Trace,
    number: usize,
}

impl InTrace<'_> {
    /// The selected calls of the trace, which must have times.
    fn timed(&self) -> Result<Selected, Error> {
        expect_clock(self.trace)?;
        self.search.asked.select.of_trace(self.trace)
    }

    /// A call that was read to its end.
    fn found(&self, file: usize, thread: ThreadId, call: Call) -> FoundCall {
        let class = |unwound: &flow_codec::read::Unwound| {
            unwound.class.as_deref().unwrap_or("?").to_owned()
        };
        // Where only times are read, the end of recording is not.
        let is_known = call.unwound.is_some() || self.search.asked.source() != Source::Times;
        FoundCall {
            trace: self.number,
            file,
            thread,
            number: call.number,
            method: call.method,
            is_open: call.is_open,
            outcome: Some(outcome_of(&call)).filter(|_| !call.is_open && is_known),
            thrown: call.unwound.as_ref().map(class),
            shape: None,
            calls: call.calls,
            depth: call.depth.get(),
            callers: Vec::new(),
            test: None,
            times: times_of(&call),
            values: call.values,
            parts: None,
        }
    }
}

/// How a call was left that has ended.
fn outcome_of(call: &Call) -> Outcome {
    match (&call.unwound, call.is_cut) {
        (Some(_), _) => Outcome::Unwound,
        (None, true) => Outcome::Cut,
        (None, false) => Outcome::Returned,
    }
}

/// When a call began and how long it lasted.
fn times_of(call: &Call) -> CallTimes {
    CallTimes {
        start: call.start,
        duration: call.duration(),
        duration_ns: call.duration_ns().unwrap_or_default(),
        unwound: call.unwound.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_selection_that_would_be_ignored_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ids.properties"), "a.B#main()V=1\n").unwrap();
        std::fs::write(dir.path().join("thread-1.flow"), [0x81, 0x00]).unwrap();
        let find = |calls: Calls| calls.find(&mut Traces::open(dir.path()).unwrap(), &mut ());
        let main = || Calls::of_method("a.B#main");
        let (found, soundness) = find(main()).unwrap();
        assert_eq!((found.len(), soundness), (1, Soundness::Whole));
        for calls in [
            main().select(Select::all().include("a.**")),
            main().with_values().select(Select::all().include("a.**")),
            main().with_values().select(Select::all().test("t")),
        ] {
            let error = find(calls).unwrap_err();
            assert!(matches!(error, Error::NotSelectable { .. }), "{error}");
        }
        // Without times, none can be selected by them.
        let select = Select::all().at_least("5ms").unwrap();
        assert!(matches!(find(main().select(select)), Err(Error::NoTimes { .. })));
    }

    #[test]
    fn damage_reaches_the_listener_and_the_answer() {
        #[derive(Default)]
        struct Heard(std::cell::Cell<u32>);
        impl Listener for Heard {
            fn message(&self, _: &str) {}
            fn damage(&self, _: &flow_codec::Error) {
                self.0.set(self.0.get() + 1);
            }
        }

        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ids.properties"), "a.B#main()V=1\n").unwrap();
        // A number that is larger than any method's between two sound calls.
        let damaged = [&[0x81, 0x00][..], &[0xff; 12], &[0x00, 0x81, 0x00]].concat();
        std::fs::write(dir.path().join("thread-1.flow"), damaged).unwrap();
        for asked in [Calls::of_method("a.B#main"), Calls::of_method("a.B#main").with_values()] {
            let mut heard = Heard::default();
            let mut traces = Traces::open(dir.path()).unwrap();
            let (found, soundness) = asked.find(&mut traces, &mut heard).unwrap();
            assert_eq!((found.len(), soundness), (2, Soundness::Damaged));
            assert_eq!(heard.0.get(), 1);
        }
    }
}
