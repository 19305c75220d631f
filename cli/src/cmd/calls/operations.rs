//! `flow calls --sql`, `--http`, `--log`, `--preset`: what libraries did for the program.

use std::io::Write;

use flow_codec::read::Trace;
use flow_query::analysis::{Operation, Parameter};
use flow_query::ask::{OperationSum, Operations, OperationsBy, ReadOperations};
use flow_query::reading::DurationSum;
use flow_query::rows::{Cell, OperationCallRow, OperationRow, Raw, RowNames};
use flow_query::select::thread_title;
use serde_json::json;

use crate::args::{Format, PresetArgs};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::times::has_clock;
use crate::output::{
    Labels, Out, Progress, ROUGH_NOTE, Table, bounded_duration, escaped, flow_command, grouped,
    instant, is_rough, message, plural, rough_duration, time_columns,
};

/// Different texts shown by default, and operations one by one.
const DEFAULT_MAX: u64 = 20;
const DEFAULT_EACH: u64 = 100;
/// A longer text is shortened, except with `--verbose`.
const MOST_CHARS: usize = 160;
/// More parameters are not shown in text.
const MOST_PARAMETERS: usize = 16;

pub(super) fn run(args: &PresetArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    let select = args.part.select().within(args.when.limits());
    let by = if args.by_request { OperationsBy::Request } else { OperationsBy::Caller };
    let mut asked = Operations::of(&args.preset).select(select).by(by);
    if let Some(text) = &args.containing {
        asked = asked.containing(text);
    }
    source.ask(|traces| asked.begin(traces))?;
    source.expect_calls()?;
    match args.each {
        true => each(args, &asked, &source, out),
        false => sums(args, &asked, &source, out),
    }
}

/// Shows each text once.
fn sums(
    args: &PresetArgs,
    asked: &Operations,
    source: &Source,
    out: &mut Out,
) -> Result<Status, Failure> {
    let max = line_limit(args.max, args.source.format, DEFAULT_MAX);
    let mut answer = Answer::new::<OperationRow<'_>>(source, args.source.format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let (mut status, mut all) = (source.status, ReadOperations::default());
    for trace in &source.traces {
        let (read, mut sums) = asked.sums_of(trace, &mut progress)?;
        status = status.and(read.soundness);
        all = all.joined(read);
        answer.begin(trace, out)?;
        if answer.is_text() && read.count > 0 {
            let texts = plural(sums.len() as u64, "different text");
            out.heading(&format!("{}, {texts}", plural(read.count, noun(&args.preset))))?;
        }
        let more = answer.cut(&mut sums);
        if answer.is_text() {
            table(&sums, trace, args, out)?;
        } else {
            let mut names = RowNames::new(trace.methods());
            let rows = sums.iter().map(|sum| row(sum, &mut names));
            answer.rows(rows.collect::<Vec<_>>(), out)?;
        }
        answer.more(trace, more, "more text", out)?;
    }
    drop(progress);
    say_missing(args, source, all);
    Ok(status)
}

fn row<'a>(sum: &'a OperationSum, names: &mut RowNames<'a>) -> OperationRow<'a> {
    let times = sum.times;
    OperationRow {
        text: sum.text.as_deref(),
        cut: sum.is_cut,
        count: sum.count,
        failed: sum.failed,
        thrown: sum.thrown.as_deref(),
        total_ns: times.map(|times| times.ns),
        total_from_ns: times.map(|times| times.bounds.0),
        total_by_ns: times.map(|times| times.bounds.1).filter(|ns| *ns != u64::MAX),
        longest_ns: times.map(|times| times.slowest.ns),
        thread: sum.thread,
        call: sum.number,
        parameters: parameters(&sum.parameters),
        method: names.get(sum.from),
    }
}

fn table(
    sums: &[OperationSum],
    trace: &Trace,
    args: &PresetArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    if sums.is_empty() {
        return Ok(());
    }
    let mut labels = Labels::new(trace.methods(), Format::Text, args.verbose);
    let mut table = Table::default();
    table.column("count", sums.iter().map(|sum| Cell::Count(sum.count)));
    if sums.iter().any(|sum| sum.failed > 0) {
        table.column("failed", sums.iter().map(|sum| Cell::Count(sum.failed)));
    }
    if sums.iter().any(|sum| sum.times.is_some()) {
        let total = |times: DurationSum| Cell::number(rough_duration(times.ns, times.bounds));
        let longest = |times: DurationSum| Cell::number(bounded_duration(times.slowest.bounds));
        let times = || sums.iter().map(|sum| sum.times);
        table.column("total", times().map(|times| times.map_or(Cell::Nothing, total)));
        table.column("longest", times().map(|times| times.map_or(Cell::Nothing, longest)));
    }
    let text =
        |sum: &OperationSum| Cell::text(shown(sum.text.as_deref(), sum.is_cut, args.verbose));
    table.column(noun(&args.preset), sums.iter().map(text));
    for (number, sum) in sums.iter().enumerate() {
        let mut note = match sum.from {
            Some(from) if sum.is_served => format!("served by {}", labels.get(from)),
            Some(from) => format!("in {}", labels.get(from)),
            None => "not called by the program's own code".to_owned(),
        };
        note += &format!("  [{}:{}]", sum.thread, sum.number);
        if !sum.parameters.is_empty() {
            note += &format!("  ({})", escaped(&parameter_text(&sum.parameters)));
        }
        if let Some(class) = &sum.thrown {
            note += &format!("  ! {}", escaped(class));
        }
        table.note(number + 1, note);
    }
    table.print(out)?;
    if sums.iter().any(|sum| sum.times.is_some_and(|times| is_rough(times.ns, times.bounds))) {
        writeln!(out, "{ROUGH_NOTE}")?;
    }
    Ok(())
}

/// Shows the operations one by one.
fn each(
    args: &PresetArgs,
    asked: &Operations,
    source: &Source,
    out: &mut Out,
) -> Result<Status, Failure> {
    let max = line_limit(args.max, args.source.format, DEFAULT_EACH);
    let mut answer = Answer::new::<OperationCallRow<'_>>(source, args.source.format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let (mut status, mut all) = (source.status, ReadOperations::default());
    for trace in &source.traces {
        answer.begin(trace, out)?;
        let mut labels = Labels::new(trace.methods(), Format::Text, args.verbose);
        let mut names = RowNames::new(trace.methods());
        let (mut printed, mut shown) = (Ok(()), 0);
        let read = asked.read(trace, &mut progress, |operation| {
            if printed.is_ok() && shown < max as u64 {
                shown += 1;
                printed = match answer.is_text() {
                    true => line(&operation, trace, &mut labels, args.verbose, out),
                    false => call_row(&operation, &mut names, &mut answer, out),
                };
            }
        })?;
        printed?;
        status = status.and(read.soundness);
        all = all.joined(read);
        let more = format!("more {}", noun(&args.preset));
        answer.more(trace, read.count - shown, &more, out)?;
    }
    drop(progress);
    say_missing(args, source, all);
    Ok(status)
}

fn call_row<'a>(
    operation: &Operation,
    names: &mut RowNames<'a>,
    answer: &mut Answer<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    let row = OperationCallRow {
        thread: operation.thread,
        call: operation.number,
        times: time_columns(&operation.times),
        text: operation.text.as_deref(),
        cut: operation.is_cut,
        parameters: parameters(&operation.parameters),
        thrown: operation.thrown.as_deref(),
        method: names.get(operation.caller.or(operation.served_by)),
    };
    Ok(answer.records.row(&row, out)?)
}

/// One operation: when, how long, where, what.
fn line(
    operation: &Operation,
    trace: &Trace,
    labels: &mut Labels<'_>,
    is_verbose: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    let when = if has_clock(trace) {
        let start = operation.times.start.estimate_ns.map_or("?".to_owned(), instant);
        let duration = bounded_duration(operation.times.duration);
        format!("{start:>14}  {duration:>18}  ")
    } else {
        String::new()
    };
    let (thread, number) = (thread_title(trace, operation.thread), grouped(operation.number));
    let text = shown(operation.text.as_deref(), operation.is_cut, is_verbose);
    let mut rest = String::new();
    if !operation.parameters.is_empty() {
        rest += &format!("  ({})", escaped(&parameter_text(&operation.parameters)));
    }
    if let Some(class) = &operation.thrown {
        rest += &format!("  ! {}", escaped(class));
    }
    if let Some(caller) = operation.caller {
        rest += &format!("  in {}", labels.get(caller));
    } else if let Some(served_by) = operation.served_by {
        rest += &format!("  served by {}", labels.get(served_by));
    }
    Ok(writeln!(out, "{when}{}  call {number}  {}{rest}", escaped(&thread), escaped(&text))?)
}

/// What an operation of a preset is called.
fn noun(preset: &str) -> &'static str {
    match preset {
        "sql" => "statement",
        "http" => "request",
        "log" => "message",
        _ => "operation",
    }
}

/// A text in one line. What a long `select` selects is left out, and the end of another long text.
fn shown(text: Option<&str>, is_cut: bool, is_verbose: bool) -> String {
    let Some(text) = text else { return "?".to_owned() };
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if is_cut {
        text.push('…');
    }
    if is_verbose {
        return text;
    }
    if text.chars().count() > MOST_CHARS {
        let lower = text.to_ascii_lowercase();
        if let (true, Some(from)) = (lower.starts_with("select "), lower.find(" from ")) {
            text = format!("{} …{}", &text[.."select".len()], &text[from..]);
        }
    }
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Parameters as text: their values, if they are numbered.
fn parameter_text(parameters: &[Parameter]) -> String {
    let is_numbered = (1..).zip(parameters).all(|(number, one)| one.name == number.to_string());
    let one = |parameter: &Parameter| match is_numbered {
        true => parameter.value.clone(),
        false => format!("{} = {}", parameter.name, parameter.value),
    };
    let mut texts: Vec<_> = parameters.iter().take(MOST_PARAMETERS).map(one).collect();
    if parameters.len() > MOST_PARAMETERS {
        texts.push(format!("… {} more", parameters.len() - MOST_PARAMETERS));
    }
    texts.join(", ")
}

fn parameters(parameters: &[Parameter]) -> Raw<Vec<serde_json::Value>> {
    let one = |Parameter { name, value }: &Parameter| json!({ "name": name, "value": value });
    Raw { json: parameters.iter().map(one).collect(), text: parameter_text(parameters) }
}

/// Reports why there are no operations, or none with a text.
fn say_missing(args: &PresetArgs, source: &Source, read: ReadOperations) {
    let (preset, noun) = (&*args.preset, noun(&args.preset));
    let flag = match preset {
        "sql" | "http" | "log" => format!("--{preset}"),
        _ => format!("--preset {preset}"),
    };
    let was_asked = source
        .traces
        .iter()
        .any(|trace| trace.manifest().is_some_and(|manifest| manifest.is_set("presets", preset)));
    let asked = match &args.containing {
        Some(text) => format!("no {noun} that contains '{text}' is"),
        None => format!("no {noun} is"),
    };
    match (read.count, was_asked) {
        (0, true) => message(&format!("{asked} in the selected part of the trace")),
        (0, false) => message(&format!(
            "{asked} in the trace; record with '{} {flag} -- CMD'",
            flow_command("record")
        )),
        (count, _) if read.unknown > 0 => message(&format!(
            "of {}, {} no text: a statement was prepared before the recording began, or values were not recorded",
            plural(count, noun),
            match read.unknown {
                1 => "one has".to_owned(),
                unknown => format!("{} have", grouped(unknown)),
            }
        )),
        _ => {}
    }
}
