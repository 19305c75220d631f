//! `flow calls --where` and `--values`: the calls of a method whose values meet conditions. Calls of a thread are in the order in which they
//! begin.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use flow_codec::format::values::{CallValue, Role};
use flow_codec::read::{Call, KeepAccesses, Methods, Selection, ThreadFile, Trace};
use flow_codec::{Glob, MethodId, Offset, argument_count};
use flow_query::rows::{GrepRow, Raw, RowNames};

use crate::args::{Format, GrepArgs};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::times::has_clock;
use crate::input::value_conditions::ValueCondition;
use crate::output::{
    Labels, Out, Progress, ValueTexts, bounded_duration, escaped, grouped, instant, message,
    plural, times_of,
};
use flow_query::reading::{Ending, Listener as _, Reading};
use flow_query::select::methods;
use flow_query::select::thread_title;

/// Calls shown in text by default.
const DEFAULT_MAX: u64 = 100;
/// How many calls wait for the end of their callers, at first and at most. Later calls are read again after these.
const FIRST_CALLS: usize = 1 << 16;
const MOST_CALLS: usize = 1 << 20;
/// The most names that a message about a wrong name lists.
const SHOWN_NAMES: usize = 24;

pub(crate) fn run(args: &GrepArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    source.choose(&args.threads)?;
    let patterns = methods(std::slice::from_ref(&args.method), &source.traces)?;
    let names = Names::of(&source.traces, &patterns);
    if names.are_recorded() {
        names.expect(args)?;
    }
    source.report_losses();
    let max = line_limit(args.max, args.source.format, DEFAULT_MAX);
    let mut answer = Answer::new::<GrepRow<'_>>(&source, args.source.format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    let mut found = Found::default();
    for trace in &source.traces {
        answer.begin(trace, out)?;
        let selection = Selection::new(&trace.methods, &patterns, &[]);
        let mut printer = Printer {
            args,
            trace,
            answer: &mut answer,
            labels: Labels::new(&trace.methods, Format::Text, args.verbose),
            names: RowNames::new(&trace.methods),
            found: &mut found,
        };
        for file in trace.files.iter().filter(|file| file.bytes > 0) {
            let reading = printer.thread(file, &selection, out)?;
            progress.file_done(file.bytes);
            status = status.and(reading.report(file, &progress));
        }
        answer.more(trace, found.count - found.shown, "more call", out)?;
    }
    drop(progress);
    if found.values {
        names.expect(args)?;
    }
    if found.count == 0 {
        found.say_nothing(args, names.are_recorded());
    }
    Ok(status)
}

/// The names that values of the methods have.
#[derive(Default)]
struct Names {
    parameters: BTreeSet<String>,
    fields: BTreeSet<String>,
    /// The most arguments that a method takes, and whether names of parameters were recorded, as values are.
    arguments: usize,
    have_parameters: bool,
}

impl Names {
    fn of(traces: &[Trace], patterns: &[Glob]) -> Self {
        let mut names = Self::default();
        for trace in traces {
            let selection = Selection::new(&trace.methods, patterns, &[]);
            for (_, method) in trace.methods.iter().filter(|(id, _)| selection.contains(*id)) {
                names.arguments = names.arguments.max(argument_count(&method.info.descriptor));
                for info in method.versions() {
                    names.have_parameters |= !info.parameters.is_empty();
                    let named = info.parameters.iter().filter(|name| !name.is_empty());
                    names.parameters.extend(named.cloned());
                }
            }
            let fields = trace.methods.fields().map(|field| format!("field({})", field.name));
            names.fields.extend(fields);
            // Accesses to elements of arrays.
            names.fields.extend(trace.methods.have_fields().then(|| "access".to_owned()));
        }
        names
    }

    /// Returns whether values were recorded for certain. All names are known then: methods whose arguments are recorded have the
    /// names of their parameters.
    fn are_recorded(&self) -> bool {
        self.have_parameters || !self.fields.is_empty()
    }

    /// Refuses conditions on values that no call can have.
    fn expect(&self, args: &GrepArgs) -> Result<(), Failure> {
        let arguments = (0..self.arguments).map(|number| format!("arg{number}"));
        let others = ["this", "result", "message", "any"].map(str::to_owned);
        let names = self.parameters.iter().cloned().chain(arguments).chain(others);
        let mut names: Vec<_> = names.chain(self.fields.iter().cloned()).collect();
        let unknown = args.conditions.iter().filter_map(ValueCondition::name);
        let Some(unknown) = unknown.into_iter().find(|name| !names.iter().any(|n| n == name))
        else {
            return Ok(());
        };
        // The ones that may be meant come first.
        names.sort_by_key(|name| !name.contains(unknown));
        let mut shown: Vec<_> = names.iter().take(SHOWN_NAMES).map(|name| escaped(name)).collect();
        if names.len() > shown.len() {
            shown.push(format!("… {} more", names.len() - SHOWN_NAMES).into());
        }
        Err(Failure::Usage(format!(
            "--where: no value of '{}' is called '{unknown}'; there are: {}",
            args.method,
            shown.join(", ")
        )))
    }
}

/// What was found in all threads.
#[derive(Default)]
struct Found {
    count: u64,
    shown: u64,
    /// Calls of the method.
    calls: u64,
    values: bool,
}

impl Found {
    fn say_nothing(&self, args: &GrepArgs, with_values: bool) {
        let Self { calls, values, .. } = self;
        let of = &args.method;
        message(&match (calls, *values || with_values) {
            (0, _) => format!("there is no call of '{of}' in the selected part of the trace"),
            (_, true) => {
                format!("none of {} of '{of}' meets the conditions", plural(*calls, "call"))
            }
            (_, false) => format!(
                "{} of '{of}' without values; record with --values GLOB, such as --values '{of}'",
                plural(*calls, "call")
            ),
        });
    }
}

/// Keeps the first access of a call that meets a condition.
#[derive(Debug)]
struct Conditions<'a> {
    methods: &'a Methods,
    args: &'a GrepArgs,
}

impl KeepAccesses for Conditions<'_> {
    fn keeps(&self, method: MethodId, kept: &[(usize, CallValue)], access: &CallValue) -> bool {
        let texts = ValueTexts::new(self.methods, Some(method));
        let holds = |condition: &ValueCondition, value: &CallValue| {
            condition.holds(&[texts.compared(value)])
        };
        self.args.conditions.iter().any(|condition| {
            holds(condition, access) && !kept.iter().any(|(_, value)| holds(condition, value))
        })
    }
}

/// Where reading of a thread begins.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    offset: Offset,
    /// How many calls begin before the offset.
    calls: u64,
    /// The last estimate of a time before the offset.
    latest_ns: u64,
}

struct Printer<'a, 's> {
    args: &'a GrepArgs,
    answer: &'a mut Answer<'s>,
    trace: &'a Trace,
    labels: Labels<'a>,
    names: RowNames<'a>,
    found: &'a mut Found,
}

impl Printer<'_, '_> {
    /// Searches a thread.
    fn thread(
        &mut self,
        file: &ThreadFile,
        selection: &Selection,
        out: &mut Out,
    ) -> Result<Reading, Failure> {
        let mut reading = Reading::default();
        let (mut from, mut most) = (Some(Start::default()), FIRST_CALLS);
        while let Some(start) = from {
            from = self.some(file, selection, start, most, &mut reading, out)?;
            most = (2 * most).min(MOST_CALLS);
        }
        Ok(reading)
    }

    /// Searches a thread from an event on, until `most` calls wait for the end of a caller. Returns where the rest begins.
    fn some(
        &mut self,
        file: &ThreadFile,
        selection: &Selection,
        from: Start,
        most: usize,
        reading: &mut Reading,
        out: &mut Out,
    ) -> Result<Option<Start>, Failure> {
        let timeline = match file.timeline_from(from.offset) {
            Ok(timeline) => timeline.not_before(from.latest_ns).select(selection).with_values(),
            Err(error) => {
                let _ = reading.note(error);
                return Ok(None);
            }
        };
        let conditions = Conditions { methods: &self.trace.methods, args: self.args };
        let mut calls = timeline.calls_with(&conditions);
        // Calls that meet the conditions, by number, and where the rest begins, if they became too many.
        let mut waiting = BTreeMap::new();
        let mut rest: Option<Start> = None;
        while let Some(call) = calls.next() {
            match call {
                Ok(mut call) => {
                    call.number += from.calls;
                    let is_first = rest.is_none_or(|rest| call.number < rest.calls);
                    if is_first && self.holds(&call) {
                        waiting.insert(call.number, call);
                    }
                }
                // Later calls are read again.
                Err(_) if rest.is_some() => {}
                Err(error) => drop(reading.note(error)),
            }
            while self.found.shown + waiting.len() as u64 > self.answer.max as u64 {
                waiting.pop_last();
            }
            let outermost = calls.outermost().map(|number| number + from.calls);
            if rest.is_none() && waiting.len() >= most && outermost.is_some() {
                let left = calls.left_at();
                rest = Some(Start {
                    offset: left.position.offset,
                    calls: from.calls + left.calls,
                    latest_ns: left.time.estimate_ns.unwrap_or(from.latest_ns),
                });
            }
            let is_early = |number: u64| outermost.is_none_or(|outermost| number < outermost);
            while let Some(first) = waiting.first_entry().filter(|first| is_early(*first.key())) {
                self.call(file, &first.remove(), out)?;
            }
            if rest.is_some_and(|rest| outermost.is_none_or(|outermost| outermost >= rest.calls)) {
                return Ok(rest);
            }
        }
        let timeline = calls.into_timeline();
        if rest.is_none() {
            if reading.ending != Ending::Failed {
                reading.ending = timeline.tail().into();
            }
            reading.marks = timeline.marks_damage();
        }
        Ok(rest)
    }

    /// Returns whether a call meets all conditions, and counts it.
    fn holds(&mut self, call: &Call) -> bool {
        let texts = ValueTexts::new(&self.trace.methods, Some(call.method));
        self.found.calls += 1;
        self.found.values |= !call.values.is_empty();
        let conditions = &self.args.conditions;
        if !conditions.is_empty() {
            let compared: Vec<_> = call.values.iter().map(|value| texts.compared(value)).collect();
            if !conditions.iter().all(|condition| condition.holds(&compared)) {
                return false;
            }
        }
        self.found.count += 1;
        true
    }

    /// Prints a call.
    fn call(&mut self, file: &ThreadFile, call: &Call, out: &mut Out) -> Result<(), Failure> {
        self.found.shown += 1;
        let texts = ValueTexts::new(&self.trace.methods, Some(call.method));
        let thrown = call.unwound.as_ref().map(|by| by.class.as_deref().unwrap_or("?"));
        if !self.answer.is_text() {
            let row = GrepRow {
                thread: file.id,
                call: call.number,
                method: self.names.get(call.method),
                times: times_of(call),
                thrown,
                values: Raw {
                    json: call.values.iter().map(|value| texts.json(value)).collect(),
                    text: texts.all(&call.values).trim_start().to_owned(),
                },
            };
            return Ok(self.answer.records.row(&row, out)?);
        }
        let thread = thread_title(self.trace, file.id);
        let when = if has_clock(self.trace) { self.when(call) } else { String::new() };
        let is_message = |value: &CallValue| value.role == Role::Message;
        let (messages, values): (Vec<_>, Vec<_>) =
            call.values.iter().cloned().partition(is_message);
        let values = texts.all(&values);
        let thrown = thrown.map(|class| format!("  ! {}", escaped(class))).unwrap_or_default();
        let message = messages.first().map(|value| format!(": {}", texts.text(&value.value)));
        let (message, number) = (message.unwrap_or_default(), grouped(call.number));
        let (thread, label) = (escaped(&thread), self.labels.get(call.method));
        Ok(writeln!(out, "{when}{thread}  call {number}  {label}{values}{thrown}{message}")?)
    }

    /// When a call began and how long it took, as columns.
    fn when(&self, call: &Call) -> String {
        let start = call.start.estimate_ns.map_or("?".to_owned(), instant);
        let known = call.start.estimate_ns.is_some();
        let duration = if known { bounded_duration(call.duration()) } else { "?".to_owned() };
        format!("{start:>14}  {duration:>18}  ")
    }
}
