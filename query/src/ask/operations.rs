//! Statements, requests and messages: what a recording with presets has.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use flow_codec::read::{TimeLimits, Timeline, Trace};
use flow_codec::{MethodId, ThreadId};

use crate::Error;
use crate::analysis::{FindOperations, Operation, Parameter, roles_in};
use crate::open::Traces;
use crate::reading::{DurationSum, Listener, Soundness, read_thread};
use crate::select::{Select, Selected, expect_clock, own_patterns, start_ns};

/// The operations of a preset: of `sql` the statements, of `http` the requests, of `log` the messages.
///
/// ```no_run
/// use flow_query::ask::Operations;
/// use flow_query::open::Traces;
///
/// let mut traces = Traces::open("flow-trace")?;
/// let (sums, _) = Operations::of("sql").sums(&mut traces, &mut ())?;
/// for sum in sums {
///     println!("{} times {}", sum.count, sum.text.as_deref().unwrap_or("?"));
/// }
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operations {
    preset: String,
    select: Select,
    by: OperationsBy,
    containing: Option<String>,
}

/// What operations with the same text are distinguished by.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OperationsBy {
    /// The method of the program's own code that is nearest.
    #[default]
    Caller,
    /// The outermost method of the program's own code.
    Request,
}

/// Operations with the same text, from the same method.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OperationSum {
    /// The text, if it was recorded. If the operations differ in numbers and quoted texts alone, these are `?`.
    pub text: Option<Rc<str>>,
    /// Whether the texts differ.
    pub is_general: bool,
    /// Whether only the beginning of the text was recorded.
    pub is_cut: bool,
    /// The method of the program's own code that they are from, or the first one that they called.
    pub from: Option<MethodId>,
    /// Whether they called it, and are from no such method.
    pub is_served: bool,
    /// How many there are.
    pub count: u64,
    /// How many an exception ended.
    pub failed: u64,
    /// The class of the first of these exceptions.
    pub thrown: Option<Rc<str>>,
    /// How long they lasted together, if times are known.
    pub times: Option<DurationSum>,
    /// The thread of the first one that was read.
    pub thread: ThreadId,
    /// The number of the first one in the thread.
    pub number: u64,
    /// The parameters of the first one.
    pub parameters: Vec<Parameter>,
}

/// What was read.
#[derive(Clone, Copy, Default, Debug)]
#[non_exhaustive]
pub struct ReadOperations {
    /// Whether everything could be read.
    pub soundness: Soundness,
    /// How many operations there are.
    pub count: u64,
    /// How many have no text: it was not recorded, or belongs to an object that was made before the recording.
    pub unknown: u64,
    /// How many of the trace's methods have a role in the preset.
    pub methods: usize,
}

/// Texts in a sum, and its method.
type Key = (Option<Rc<str>>, Option<MethodId>);

impl Operations {
    /// Asks for the operations of a preset.
    #[must_use]
    pub fn of(preset: &str) -> Self {
        Self {
            preset: preset.to_owned(),
            select: Select::all(),
            by: OperationsBy::default(),
            containing: None,
        }
    }

    /// Asks only for operations in these threads, tests and times.
    #[must_use]
    pub fn select(self, select: Select) -> Self {
        Self { select, ..self }
    }

    /// Chooses what operations with the same text are distinguished by.
    #[must_use]
    pub fn by(self, by: OperationsBy) -> Self {
        Self { by, ..self }
    }

    /// Asks only for operations whose text contains this one, in small or capital letters.
    #[must_use]
    pub fn containing(self, text: &str) -> Self {
        Self { containing: Some(text.to_lowercase()), ..self }
    }

    /// Returns the sums of all traces, and whether everything could be read.
    ///
    /// # Errors
    /// A part of the selection is not there.
    pub fn sums(
        &self,
        traces: &mut Traces,
        listener: &mut impl Listener,
    ) -> Result<(Vec<OperationSum>, Soundness), Error> {
        self.begin(traces)?;
        let (mut all, mut soundness) = (Vec::new(), Soundness::Whole);
        for trace in traces.iter() {
            let (read, sums) = self.sums_of(trace, listener)?;
            soundness = soundness.and(read.soundness);
            all.extend(sums);
        }
        Ok((all, soundness))
    }

    /// Selects threads and tests.
    ///
    /// # Errors
    /// A part of the selection is not there.
    #[doc(hidden)]
    pub fn begin(&self, traces: &mut Traces) -> Result<(), Error> {
        traces.select(&self.select)?;
        traces.number_calls(&mut ())
    }

    /// Returns the operations of a trace added up: those that lasted longest together first; messages, and all without times, by
    /// their number.
    ///
    /// # Errors
    /// The selection depends on times, and the trace has none.
    #[doc(hidden)]
    pub fn sums_of(
        &self,
        trace: &Trace,
        listener: &mut impl Listener,
    ) -> Result<(ReadOperations, Vec<OperationSum>), Error> {
        let mut sums: HashMap<Key, (usize, Rc<str>)> = HashMap::new();
        let mut all: Vec<OperationSum> = Vec::new();
        let read = self.read(trace, listener, |operation| {
            let from = match self.by {
                OperationsBy::Caller => operation.caller,
                OperationsBy::Request => operation.request,
            };
            let from = from.or(operation.served_by);
            let text = operation.text.clone().unwrap_or_default();
            let general: Option<Rc<str>> =
                operation.text.as_deref().map(|text| general(text).into());
            let number = match sums.entry((general.clone(), from)) {
                Entry::Occupied(known) => {
                    let (number, first) = known.get();
                    if *first != text
                        && let Some(sum) = all.get_mut(*number)
                    {
                        (sum.text, sum.is_general) = (general, true);
                    }
                    *number
                }
                Entry::Vacant(place) => {
                    place.insert((all.len(), text));
                    all.push(OperationSum::new(&operation, from));
                    all.len() - 1
                }
            };
            if let Some(sum) = all.get_mut(number) {
                sum.add(&operation);
            }
        })?;
        // How long it takes to log a message says little about it.
        let by_count = self.preset == "log";
        let total_ns = |sum: &OperationSum| sum.times.map_or(0, |times| times.ns);
        let weight = |sum: &OperationSum| (if by_count { 0 } else { total_ns(sum) }, sum.count);
        all.sort_by_key(|sum| Reverse(weight(sum)));
        Ok((read, all))
    }

    /// Returns at most this many operations of a trace: those that an exception ended first, then the longest.
    ///
    /// # Errors
    /// The selection depends on times, and the trace has none.
    #[doc(hidden)]
    pub fn worst(
        &self,
        trace: &Trace,
        most: usize,
        listener: &mut impl Listener,
    ) -> Result<(ReadOperations, Vec<Operation>), Error> {
        let mut worst = BTreeMap::new();
        let mut place = 0_u64;
        let read = self.read(trace, listener, |operation| {
            let ns = operation.times.duration_ns;
            worst.insert((operation.thrown.is_none(), Reverse(ns), place), operation);
            place += 1;
            if worst.len() > most {
                worst.pop_last();
            }
        })?;
        Ok((read, worst.into_values().collect()))
    }

    /// Passes the operations of a trace to `each`: those of a thread in their order.
    ///
    /// # Errors
    /// The selection depends on times, and the trace has none.
    #[doc(hidden)]
    pub fn read(
        &self,
        trace: &Trace,
        listener: &mut impl Listener,
        mut each: impl FnMut(Operation),
    ) -> Result<ReadOperations, Error> {
        if self.select.limits != TimeLimits::NONE {
            expect_clock(trace)?;
        }
        let roles = roles_in(trace, &self.preset);
        let mut read = ReadOperations { methods: roles.len(), ..ReadOperations::default() };
        if roles.is_empty() {
            return Ok(read);
        }
        let pass = |operation: Operation| {
            if self.asks_for(&operation) {
                read.count += 1;
                read.unknown += u64::from(operation.text.is_none());
                each(operation);
            }
        };
        let mut soundness = Soundness::Whole;
        let mut visitor = FindOperations::new(trace.methods(), roles, own_patterns(trace), pass);
        let all = Selected::all();
        for file in trace.files().iter().filter(|file| file.bytes() > 0) {
            visitor.begin_thread(file.id());
            let timeline = all.timeline(file, start_ns(trace, file));
            let timeline = timeline.map(Timeline::with_values);
            let reading =
                read_thread(file, timeline, listener, &mut visitor, |visitor, timeline| {
                    visitor.end_thread(timeline.now());
                });
            soundness = soundness.and(reading.report(file, listener));
        }
        visitor.end();
        read.soundness = soundness;
        Ok(read)
    }

    fn asks_for(&self, operation: &Operation) -> bool {
        let contains = |text: &String| {
            operation.text.as_deref().is_some_and(|other| other.to_lowercase().contains(text))
        };
        let TimeLimits { from_ns, to_ns, min_ns } = self.select.limits;
        let has_time = || {
            let times = &operation.times;
            let Some(start_ns) = times.start.estimate_ns else { return false };
            let end_ns = start_ns.saturating_add(times.duration_ns);
            start_ns < to_ns && end_ns >= from_ns && times.duration_ns >= min_ns
        };
        self.containing.as_ref().is_none_or(contains)
            && (self.select.limits == TimeLimits::NONE || has_time())
    }
}

impl ReadOperations {
    /// What was read of two traces.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        Self {
            soundness: self.soundness.and(other.soundness),
            count: self.count + other.count,
            unknown: self.unknown + other.unknown,
            methods: self.methods + other.methods,
        }
    }
}

impl OperationSum {
    fn new(first: &Operation, from: Option<MethodId>) -> Self {
        Self {
            text: first.text.clone(),
            is_general: false,
            is_cut: false,
            from,
            is_served: first.served_by.is_some(),
            count: 0,
            failed: 0,
            thrown: None,
            times: None,
            thread: first.thread,
            number: first.number,
            parameters: first.parameters.clone(),
        }
    }

    fn add(&mut self, operation: &Operation) {
        self.count += 1;
        self.failed += u64::from(operation.thrown.is_some());
        self.thrown = self.thrown.take().or_else(|| operation.thrown.clone());
        self.is_cut |= operation.is_cut;
        DurationSum::add(&mut self.times, 0, operation.number, &operation.times);
    }
}

/// The length of the quoted text at the start of a text. In it, two quotes are one.
fn quoted(text: &str) -> Option<usize> {
    let mut end = 1;
    loop {
        end += text.get(end..)?.find('\'')? + 1;
        match text.get(end..)?.starts_with('\'') {
            true => end += 1,
            false => return Some(end),
        }
    }
}

/// A text with `?` for numbers and for what is in single quotes, by which statements and messages differ that are otherwise
/// equal. Numbers in names stay, such as that of `t1_0`.
fn general(text: &str) -> String {
    let mut general = String::with_capacity(text.len());
    let mut rest = text;
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    while let Some(c) = rest.chars().next() {
        let is_in_name = general.ends_with(is_of_name);
        let length = match c {
            '\'' if !is_in_name => quoted(rest),
            '0'..='9' if !is_in_name => {
                let is_of_number = |c: char| c.is_ascii_alphanumeric() || c == '.';
                let end = rest.find(|c| !is_of_number(c)).unwrap_or(rest.len());
                // The full stop after a sentence.
                Some(rest[..end].trim_end_matches('.').len())
            }
            _ => None,
        };
        match length {
            Some(length) => {
                general.push('?');
                rest = &rest[length..];
            }
            None => {
                general.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    general
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_numbers_and_quoted_texts_are_equal_in_general() {
        for (text, expected) in [
            (
                "select * from t1_0 where id=17 and c2.name='O''Neil'",
                "select * from t1_0 where id=? and c2.name=?",
            ),
            ("GET /orders/17/lines?from=3", "GET /orders/?/lines?from=?"),
            (
                "Order 17 of customer 5 can't be shipped in 0.25s.",
                "Order ? of customer ? can't be shipped in ?.",
            ),
            ("insert into a values (-1, 0x1F, '')", "insert into a values (-?, ?, ?)"),
            ("it's 'open", "it's 'open"),
            ("ä1 2ö", "ä1 ?ö"),
            ("", ""),
        ] {
            assert_eq!(general(text), expected, "{text}");
        }
    }
}
