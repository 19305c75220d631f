//! `flow calls --coroutines`: calls of suspend functions and lambdas of Kotlin, each once with all its resumptions.

use std::io::Write;

use flow_codec::read::Trace;
use flow_query::ask::{Calls, CoroutineParts, FoundCall};
use flow_query::dag::Outcome;
use flow_query::rows::{Cell, CoroutineCallRow, OnlyJson, Raw, RowNames};

use super::list::left_by;
use super::values::{expect, row as row_with_values};
use crate::args::{Format, GrepArgs};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{
    Labels, Out, Progress, Table, ValueTexts, bounded_duration, chain, instant, message, plural,
    time_columns,
};

/// Calls shown in text by default.
const DEFAULT_MAX: u64 = 20;
/// The frames that are named at each end of a stack.
const CHAIN_ENDS: usize = 3;

pub(super) fn run(args: &GrepArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    let max = line_limit(args.max, args.source.format, DEFAULT_MAX);
    let search_for = args.coroutines(max);
    let search = source.ask(|traces| search_for.begin(traces))?;
    let names = search.value_names(&source.traces);
    if names.are_recorded() {
        expect(&names, args)?;
    }
    source.expect_calls()?;
    let mut answer = Answer::new::<CoroutineCallRow<'_>>(&source, args.source.format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for (number, trace) in source.traces.iter().enumerate() {
        let mut found = Vec::new();
        let searched = search.read(&source.traces, number, &mut progress, |call| {
            found.push(call);
            Ok::<(), Failure>(())
        })?;
        status = status.and(searched.soundness);
        answer.begin(trace, out)?;
        if answer.is_text() {
            let calls = plural(searched.count, "call");
            let parts = || found.iter().filter_map(|call| call.parts.as_ref());
            let is_whole = searched.count == found.len() as u64;
            let resumptions = parts().map(|parts| parts.resumptions).sum();
            match is_whole {
                true => out.heading(&format!("{calls}, {}", plural(resumptions, "resumption")))?,
                false => out.heading(&calls)?,
            }
            print(&found, trace, args, out)?;
            let unknown = parts().filter(|parts| !parts.has_beginning).count() as u64;
            if unknown > 0 {
                message(&format!(
                    "where {} began is not known: the first part is a resumption (?)",
                    plural(unknown, "call")
                ));
            }
        } else {
            let mut names = RowNames::new(trace.methods());
            for call in &found {
                answer.rows([row(call, trace, args.has_values, &mut names)], out)?;
            }
        }
        if args.slowest.is_none() {
            let more = searched.count.saturating_sub(found.len() as u64);
            answer.more(trace, more, "more call", out)?;
        }
    }
    Ok(status)
}

impl GrepArgs {
    /// The question about coroutines that these flags describe.
    fn coroutines(&self, max: usize) -> Calls {
        let calls = self.method.as_deref().map_or_else(Calls::all, Calls::of_method);
        let calls = calls.folded().select(self.part.select().within(self.when.limits()));
        let calls = match self.slowest {
            Some(count) => calls.longest().at_most(usize::try_from(count).unwrap_or(usize::MAX)),
            None => calls.at_most(max),
        };
        let calls = self.conditions.iter().cloned().fold(calls, Calls::meeting);
        self.outcome.into_iter().fold(calls, |calls, how| calls.left_by(how.outcome()))
    }
}

/// A coroutine as a row for programs.
fn row<'a, 'n: 'a>(
    call: &'a FoundCall,
    trace: &Trace,
    has_values: bool,
    names: &mut RowNames<'n>,
) -> CoroutineCallRow<'a> {
    let parts = call.parts.as_ref();
    let is_timed = call.times.start.estimate_ns.is_some();
    let running = parts.filter(|_| is_timed).map(|parts| parts.running);
    let none = || Raw { json: Vec::new(), text: String::new() };
    let with_values = row_with_values(call, trace.methods(), names);
    CoroutineCallRow {
        thread: call.thread,
        call: call.number,
        method: with_values.method,
        times: time_columns(&call.times),
        running_ns: parts.filter(|_| is_timed).map(|parts| parts.running_ns),
        running_from_ns: running.map(|running| running.from_ns),
        running_by_ns: running.map(|running| running.by_ns).filter(|ns| *ns != u64::MAX),
        resumptions: parts.map_or(0, |parts| parts.resumptions),
        threads: parts.map_or(1, |parts| parts.threads),
        complete: parts.is_none_or(|parts| parts.has_beginning),
        outcome: call.outcome.map_or("", Outcome::word),
        thrown: call.thrown.as_deref(),
        values: if has_values { with_values.values } else { none() },
        stack: OnlyJson(names.chain(&call.callers)),
    }
}

fn print(
    calls: &[FoundCall],
    trace: &Trace,
    args: &GrepArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    if calls.is_empty() {
        return Ok(writeln!(
            out,
            "no call of a suspend function that has a state is in the selected part of the trace"
        )?);
    }
    let labels = Labels::new(trace.methods(), Format::Text, args.verbose);
    let duration = |call: &FoundCall| {
        let open = if call.is_open { ", still open" } else { "" };
        Cell::number(format!("{}{open}", bounded_duration(call.times.duration)))
    };
    let of_parts = |call: &FoundCall, of: fn(&CoroutineParts) -> Cell<'static>| {
        call.parts.as_ref().map_or(Cell::Nothing, of)
    };
    let mut table = Table::default();
    if calls.iter().any(|call| call.times.start.estimate_ns.is_some()) {
        let start = |call: &FoundCall| {
            let ns = call.times.start.estimate_ns;
            Cell::number(ns.map_or("?".to_owned(), instant))
        };
        table.column("start", calls.iter().map(start));
        table.column("duration", calls.iter().map(duration));
        let running = |parts: &CoroutineParts| Cell::number(bounded_duration(parts.running));
        table.column("running", calls.iter().map(|call| of_parts(call, running)));
    }
    let resumptions = |parts: &CoroutineParts| match parts.has_beginning {
        true => Cell::Count(parts.resumptions),
        false => Cell::number(format!("? {}", parts.resumptions)),
    };
    table.column("resumptions", calls.iter().map(|call| of_parts(call, resumptions)));
    let threads = |parts: &CoroutineParts| Cell::Count(parts.threads);
    table.column("threads", calls.iter().map(|call| of_parts(call, threads)));
    let first = |call: &FoundCall| Cell::text(format!("{}:{}", call.thread, call.number));
    table.column("first part", calls.iter().map(first));
    if calls.iter().any(|call| call.outcome.is_some_and(|how| how != Outcome::Returned)) {
        table.column("left by", calls.iter().map(left_by));
    }
    table.column("function", calls.iter().map(|call| labels.cell(call.method)));
    for (number, call) in calls.iter().enumerate() {
        let texts = ValueTexts::new(trace.methods(), Some(call.method));
        let [values, thrown] = texts.of_call(&call.values, call.thrown.as_deref());
        if args.has_values && !(values.is_empty() && thrown.is_empty()) {
            let thrown = if thrown.is_empty() { thrown } else { format!("! {thrown}") };
            let texts = [values, thrown].into_iter().filter(|text| !text.is_empty());
            table.note(number + 1, texts.collect::<Vec<_>>().join("  "));
        }
        if !call.callers.is_empty() {
            let callers = chain(&call.callers, CHAIN_ENDS, |method| labels.short(*method));
            table.note(number + 1, format!("in {callers}"));
        }
    }
    Ok(table.print(out)?)
}
