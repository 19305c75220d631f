//! `flow grep`: the calls of a method whose values meet conditions.

use std::io::Write;

use flow_codec::MethodId;
use flow_codec::format::values::{CallValue, Role};
use flow_codec::read::{
    Bounds, Call, CallTimes, KeepAccesses, Method, Methods, Selection, ThreadFile, Trace,
};

use crate::args::{Format, GrepArgs};
use crate::cmd::{line_limit, trace_field};
use crate::failure::{Failure, Status};
use crate::input::pattern::globs;
use crate::input::reading::{Ending, Reading};
use crate::input::source::{Source, thread_title};
use crate::input::times::has_clock;
use crate::input::value_conditions::ValueCondition;
use crate::output::{
    Labels, Out, Progress, TIME_COLUMNS, ValueTexts, bounded_duration, csv_fields, escaped,
    grouped, instant, left_out, message, plural, push_csv_times, push_json_times, time_numbers,
};

/// Calls shown in text by default.
const DEFAULT_MAX: u64 = 100;

pub(crate) fn run(args: &GrepArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    source.choose(&args.threads)?;
    let patterns = globs(std::slice::from_ref(&args.method), &source.traces)?;
    source.report_losses();
    let format = args.source.format;
    if format == Format::Csv {
        writeln!(out, "trace,thread,call,{},{TIME_COLUMNS},thrown,values", Labels::COLUMNS)?;
    }
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    let (mut found, mut with_values) = (Found::default(), false);
    for trace in &source.traces {
        source.begin(trace, format, out)?;
        let selection = Selection::new(&trace.methods, &patterns, &[]);
        let mut printer = Printer {
            args,
            trace,
            labels: Labels::new(&trace.methods, format, args.verbose),
            name: trace_field(&source, trace, format),
            max: line_limit(args.max, format, DEFAULT_MAX),
        };
        for file in trace.files.iter().filter(|file| file.bytes > 0) {
            let reading = printer.thread(file, &selection, &mut found, out)?;
            progress.file_done(file.bytes);
            status = status.and(reading.report(file, &progress));
        }
        let has_values =
            |method: &Method| method.versions().any(|info| !info.parameters.is_empty());
        with_values |= trace.methods.have_fields();
        let mut methods = trace.methods.iter();
        with_values |= methods.any(|(id, method)| selection.contains(id) && has_values(method));
        if found.count > found.shown {
            let more = plural(found.count - found.shown, "more call");
            let place = source.place(&trace.dir);
            out.remark(format, place.as_deref(), &left_out(&more, printer.max))?;
        }
    }
    drop(progress);
    if found.count == 0 {
        found.say_nothing(args, with_values);
    }
    Ok(status)
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

struct Printer<'a> {
    args: &'a GrepArgs,
    trace: &'a Trace,
    labels: Labels<'a>,
    name: String,
    max: usize,
}

impl Printer<'_> {
    /// Searches a thread.
    fn thread(
        &mut self,
        file: &ThreadFile,
        selection: &Selection,
        found: &mut Found,
        out: &mut Out,
    ) -> Result<Reading, Failure> {
        let timeline = match file.timeline() {
            Ok(timeline) => timeline.select(selection).with_values(),
            Err(error) => return Ok(Reading::failed(error)),
        };
        let mut reading = Reading::default();
        let conditions = Conditions { methods: &self.trace.methods, args: self.args };
        let mut calls = timeline.calls_with(&conditions);
        for call in calls.by_ref() {
            match call {
                Ok(call) => self.call(file, &call, found, out)?,
                Err(error) => drop(reading.note(error)),
            }
        }
        let timeline = calls.into_timeline();
        if reading.ending != Ending::Failed {
            reading.ending = timeline.tail().into();
        }
        reading.marks = timeline.marks_damage();
        Ok(reading)
    }

    fn call(
        &mut self,
        file: &ThreadFile,
        call: &Call,
        found: &mut Found,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let texts = ValueTexts::new(&self.trace.methods, Some(call.method));
        found.calls += 1;
        found.values |= !call.values.is_empty();
        let conditions = &self.args.conditions;
        if !conditions.is_empty() {
            let compared: Vec<_> = call.values.iter().map(|value| texts.compared(value)).collect();
            if !conditions.iter().all(|condition| condition.holds(&compared)) {
                return Ok(());
            }
        }
        found.count += 1;
        if found.shown >= self.max as u64 {
            return Ok(());
        }
        found.shown += 1;
        let duration = call.duration();
        let times = CallTimes {
            start: call.start,
            duration,
            duration_ns: call.duration_ns().unwrap_or_default(),
            unwound: call.unwound.clone(),
        };
        let thrown = call.unwound.as_ref().map(|by| by.class.as_deref().unwrap_or("?"));
        let label = self.labels.get(call.method).to_owned();
        let number = call.number;
        match self.args.source.format {
            Format::Text => {
                let thread = thread_title(self.trace, file.id);
                let thread = escaped(&thread);
                let when =
                    if has_clock(self.trace) { self.when(call, duration) } else { String::new() };
                let is_message = |value: &CallValue| value.role == Role::Message;
                let (messages, values): (Vec<_>, Vec<_>) =
                    call.values.iter().cloned().partition(is_message);
                let values = texts.all(&values);
                let thrown = thrown.map(|class| format!("  ! {}", escaped(class)));
                let message =
                    messages.first().map(|value| format!(": {}", texts.text(&value.value)));
                let (thrown, message) = (thrown.unwrap_or_default(), message.unwrap_or_default());
                let number = grouped(number);
                writeln!(out, "{when}{thread}  call {number}  {label}{values}{thrown}{message}")?;
            }
            Format::Json => {
                let mut line = Vec::new();
                push_json_times(&time_numbers(&times), &mut line);
                let times = String::from_utf8_lossy(&line).into_owned();
                let values: Vec<_> = call.values.iter().map(|value| texts.json(value)).collect();
                let (name, id) = (&self.name, file.id);
                writeln!(
                    out,
                    "{{\"trace\":{name},\"thread\":{id},\"call\":{number},{label}{times},\"thrown\":{},\
                     \"values\":{}}}",
                    serde_json::Value::from(thrown),
                    serde_json::Value::from(values)
                )?;
            }
            Format::Csv => {
                let mut line = Vec::new();
                push_csv_times(time_numbers(&times), &mut line);
                let times = String::from_utf8_lossy(&line).into_owned();
                let values = texts.all(&call.values);
                let texts = csv_fields([thrown.unwrap_or_default(), values.trim_start()]);
                writeln!(out, "{},{},{number},{label}{times},{texts}", self.name, file.id)?;
            }
        }
        Ok(())
    }

    /// When a call began and how long it took, as columns.
    fn when(&self, call: &Call, duration: Bounds) -> String {
        let start = call.start.estimate_ns.map_or("?".to_owned(), instant);
        let known = call.start.estimate_ns.is_some();
        let duration = if known { bounded_duration(duration) } else { "?".to_owned() };
        format!("{start:>14}  {duration:>18}  ")
    }
}
