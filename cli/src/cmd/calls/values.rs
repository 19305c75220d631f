//! `flow calls --where` and `--values`: the calls of a method whose values meet conditions. Calls of a thread are in the order in which they
//! begin.

use std::io::Write;

use flow_codec::read::{Bounds, Methods, Trace};
use flow_query::ask::{Calls, FoundCall, ValueNames};
use flow_query::rows::{GrepRow, Raw, RowNames};
use flow_query::select::thread_title;

use crate::args::{Format, GrepArgs};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::times::has_clock;
use crate::output::{
    Labels, Out, Progress, ValueTexts, bounded_duration, escaped, grouped, instant, message,
    plural, time_columns,
};

/// Calls shown in text by default.
const DEFAULT_MAX: u64 = 100;
/// The most names that a message about a wrong name lists.
const SHOWN_NAMES: usize = 24;

pub(super) fn run(args: &GrepArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    let max = line_limit(args.max, args.source.format, DEFAULT_MAX);
    let select = args.part.select().within(args.when.limits());
    let calls = args.method.as_deref().map_or_else(Calls::all, Calls::of_method);
    let calls = calls.select(select).with_values();
    let calls = match args.slowest {
        Some(count) => calls.longest().at_most(usize::try_from(count).unwrap_or(usize::MAX)),
        None => calls.at_most(max),
    };
    let calls = args.conditions.iter().cloned().fold(calls, Calls::meeting);
    let calls = args.outcome.into_iter().fold(calls, |calls, how| calls.left_by(how.outcome()));
    let search = source.ask(|traces| calls.begin(traces))?;
    let names = search.value_names(&source.traces);
    if names.are_recorded() {
        expect(&names, args)?;
    }
    source.expect_calls()?;
    let mut answer = Answer::new::<GrepRow<'_>>(&source, args.source.format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    let (mut count, mut of_method, mut has_values) = (0, 0, false);
    for (number, trace) in source.traces.iter().enumerate() {
        answer.begin(trace, out)?;
        let mut printer = Printer {
            trace,
            answer: &mut answer,
            labels: Labels::new(trace.methods(), Format::Text, args.verbose),
            names: RowNames::new(trace.methods()),
            shown: 0,
        };
        let searched =
            search.read(&source.traces, number, &mut progress, |call| printer.call(&call, out))?;
        let shown = printer.shown;
        status = status.and(searched.soundness);
        if args.slowest.is_none() {
            answer.more(trace, searched.count - shown, "more call", out)?;
        }
        count += searched.count;
        of_method += searched.of_method;
        has_values |= searched.has_values;
    }
    drop(progress);
    if has_values {
        expect(&names, args)?;
    }
    let with_values = has_values || names.are_recorded();
    if count == 0 || !with_values {
        say_nothing(args, of_method, with_values);
    }
    Ok(status)
}

impl GrepArgs {
    /// Whose calls are asked for.
    fn what(&self) -> &str {
        self.method.as_deref().unwrap_or("**")
    }
}

/// Refuses conditions on values that no call can have.
pub(super) fn expect(names: &ValueNames, args: &GrepArgs) -> Result<(), Failure> {
    let Some((unknown, names)) = names.unknown(&args.conditions) else { return Ok(()) };
    let mut shown: Vec<_> = names.iter().take(SHOWN_NAMES).map(|name| escaped(name)).collect();
    if names.len() > shown.len() {
        shown.push(format!("… {} more", names.len() - SHOWN_NAMES).into());
    }
    Err(Failure::Usage(format!(
        "--where: no value of '{}' is called '{unknown}'; there are: {}",
        args.what(),
        shown.join(", ")
    )))
}

/// Reports that there is no call that is asked for, of `calls` of the method.
fn say_nothing(args: &GrepArgs, calls: u64, with_values: bool) {
    let of = args.what();
    message(&match (calls, with_values) {
        (0, _) => format!("there is no call of '{of}' in the selected part of the trace"),
        (_, true) if args.outcome.is_some() && args.conditions.is_empty() => {
            format!("none of {} of '{of}' was left in this way", plural(calls, "call"))
        }
        (_, true) => format!("none of {} of '{of}' meets the conditions", plural(calls, "call")),
        (_, false) => format!(
            "{} of '{of}' without values; record with --values GLOB, such as --values '{of}'",
            plural(calls, "call")
        ),
    });
}

struct Printer<'a, 's> {
    answer: &'a mut Answer<'s>,
    trace: &'a Trace,
    labels: Labels<'a>,
    names: RowNames<'a>,
    shown: u64,
}

impl Printer<'_, '_> {
    /// Prints a call.
    fn call(&mut self, call: &FoundCall, out: &mut Out) -> Result<(), Failure> {
        self.shown += 1;
        if !self.answer.is_text() {
            let row = row(call, self.trace.methods(), &mut self.names);
            return Ok(self.answer.records.row(&row, out)?);
        }
        let thread = thread_title(self.trace, call.thread);
        let when = if has_clock(self.trace) { when(call) } else { String::new() };
        let (number, thread) = (grouped(call.number), escaped(&thread));
        let what = with_values(call, &mut self.labels, self.trace.methods());
        Ok(writeln!(out, "{when}{thread}  call {number}  {what}")?)
    }
}

/// A call with its values as a row for programs.
pub(super) fn row<'a, 'n: 'a>(
    call: &'a FoundCall,
    methods: &Methods,
    names: &mut RowNames<'n>,
) -> GrepRow<'a> {
    let texts = ValueTexts::new(methods, Some(call.method));
    GrepRow {
        thread: call.thread,
        call: call.number,
        method: names.get(call.method),
        times: time_columns(&call.times),
        thrown: call.thrown.as_deref(),
        values: Raw {
            json: call.values.iter().map(|value| texts.json(value)).collect(),
            text: texts.all(&call.values).trim_start().to_owned(),
        },
    }
}

/// The method of a call with its values, and the exception that ended it.
pub(super) fn with_values(call: &FoundCall, labels: &mut Labels<'_>, methods: &Methods) -> String {
    let texts = ValueTexts::new(methods, Some(call.method));
    let [values, thrown] = texts.of_call(&call.values, call.thrown.as_deref());
    let parts = [("  ", values), ("  ! ", thrown)].into_iter().filter(|(_, text)| !text.is_empty());
    let parts: String = parts.map(|(before, text)| before.to_owned() + &text).collect();
    format!("{}{parts}", labels.get(call.method))
}

/// When a call began and how long it took, as columns.
pub(super) fn when(call: &FoundCall) -> String {
    start_and_duration(call.times.start.estimate_ns, call.times.duration)
}

/// A start and a duration, as columns.
pub(super) fn start_and_duration(start_ns: Option<u64>, lasted: Bounds) -> String {
    let start = start_ns.map_or("?".to_owned(), instant);
    let duration = match start_ns {
        Some(_) => bounded_duration(lasted),
        None => "?".to_owned(),
    };
    format!("{start:>14}  {duration:>18}  ")
}
