//! `flow report --waits`: what threads waited for.

use std::io::Write;

use flow_codec::ThreadId;
use flow_codec::read::{TimeLimits, Trace};
use flow_query::analysis::FoundWait;
use flow_query::ask::{Deadlock, TraceWaits, WaitSum, Waits, WaitsBy};
use flow_query::rows::{Cell, RowNames, WaitRow};
use flow_query::select::{Select, thread_title};
use flow_query::text::{object_name, waits_for};

use crate::args::{ReportArgs, WaitsKind};
use crate::cmd::report::limit::max_lines;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{
    Format, Labels, Out, Progress, Table, duration, escaped, grouped, instant, message, plural,
};

/// Waits that had not ended are listed up to this number, except with `--verbose`.
const MOST_OPEN: usize = 20;

/// Prints the waits of each trace.
pub(in crate::cmd::report) fn run(
    by: WaitsKind,
    source: Source,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<Status, Failure> {
    let (format, max) = (args.source.format, max_lines(args));
    let by = match by {
        WaitsKind::Object => WaitsBy::Object,
        WaitsKind::Place => WaitsBy::Place,
    };
    // The part of the trace has been chosen.
    let select = Select::all().of_methods(args.part.filter.filter()).within(args.when.limits());
    let asked = Waits::all().by(by).select(select);
    let mut answer = Answer::new::<WaitRow<'_>>(&source, format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let (mut status, mut count) = (source.status, 0);
    for trace in &source.traces {
        let mut waits = asked.of(trace, &mut progress)?;
        status = status.and(waits.soundness);
        count += waits.count;
        answer.begin(trace, out)?;
        if answer.is_text() && waits.count > 0 {
            heading(&waits, trace, args, out)?;
        }
        let more = answer.cut(&mut waits.sums);
        if answer.is_text() {
            table(&waits.sums, by, trace, args, out)?;
        } else {
            let mut names = RowNames::new(trace.methods());
            answer.rows(waits.sums.iter().map(|sum| row(sum, &mut names)), out)?;
        }
        answer.more(trace, more, "more line", out)?;
    }
    drop(progress);
    if count == 0 {
        say_missing(&source, args);
    }
    Ok(status)
}

fn row<'a>(sum: &WaitSum, names: &mut RowNames<'a>) -> WaitRow<'a> {
    let longest = &sum.longest;
    let object = longest.on.hash.filter(|_| sum.is_one_object);
    WaitRow {
        kind: longest.on.kind.word(),
        object_class: longest.on.class.clone(),
        identity: object.map(|hash| format!("{hash:x}")),
        waits: sum.count,
        unended: sum.open,
        threads: sum.threads,
        total_ns: sum.total_ns,
        longest_ns: longest.duration_ns(),
        begin_ns: longest.begin_ns,
        thread: longest.thread.get(),
        call: longest.call,
        holder: longest.on.holder.map(ThreadId::get),
        method: names.get(longest.own),
    }
}

/// What is known of all waits together, and what had not ended.
fn heading(
    waits: &TraceWaits,
    trace: &Trace,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    let inside = waits.count - waits.outside;
    let mut text = plural(inside, "wait");
    let inside_ns = waits.total_ns - waits.outside_ns;
    let which = if args.part.filter.is_all() { "recorded" } else { "selected" };
    text += &format!(" in {which} calls, {} together", duration(inside_ns));
    if waits.outside > 0 {
        let outside = duration(waits.outside_ns);
        text += &format!("; and {} outside of them, {outside}", grouped(waits.outside));
    }
    writeln!(out, "{text}\n")?;
    for Deadlock { waits, is_recent } in &waits.deadlocks {
        let what = if *is_recent { "possible deadlock" } else { "deadlock" };
        writeln!(out, "{what}: {}", escaped(&circle(waits, trace)))?;
    }
    for sum in &waits.convoys {
        let queued = sum.queued_hundredths();
        let lock = object_name(&sum.longest.on).unwrap_or_default();
        writeln!(
            out,
            "lock convoy: from {} to {}, {}.{} threads on average waited for {}: {} of {}",
            instant(sum.first_ns),
            instant(sum.last_ns),
            queued / 100,
            queued / 10 % 10,
            escaped(&lock),
            plural(sum.count, "wait"),
            plural(sum.threads as u64, "thread"),
        )?;
    }
    if !waits.open.is_empty() {
        writeln!(out, "not ended when the recording did:")?;
    }
    let mut labels = Labels::new(trace.methods(), Format::Text, args.verbose);
    let most = if args.verbose { usize::MAX } else { MOST_OPEN };
    for wait in waits.open.iter().take(most) {
        let since = instant(wait.begin_ns);
        let text = format!("{} since {since}{}", sentence(wait, trace), place(wait, &mut labels));
        writeln!(out, "  {}", escaped(&text))?;
    }
    if let Some(more) = waits.open.len().checked_sub(most).filter(|more| *more > 0) {
        writeln!(out, "  and {} (--verbose shows them)", plural(more as u64, "more wait"))?;
    }
    if !(waits.deadlocks.is_empty() && waits.convoys.is_empty() && waits.open.is_empty()) {
        writeln!(out)?;
    }
    Ok(())
}

/// Threads that wait for each other.
fn circle(waits: &[FoundWait], trace: &Trace) -> String {
    let sentences: Vec<_> = waits.iter().map(|wait| sentence(wait, trace)).collect();
    sentences.join("; ")
}

/// Which thread waits for what.
fn sentence(wait: &FoundWait, trace: &Trace) -> String {
    let holder = wait.on.holder.and_then(|holder| {
        let name = &trace.threads().get(holder)?.name;
        Some(format!(" ({name})"))
    });
    let on = waits_for(&wait.on);
    format!("thread {} {on}{}", thread_title(trace, wait.thread), holder.unwrap_or_default())
}

/// In which call a thread waited.
fn place(wait: &FoundWait, labels: &mut Labels<'_>) -> String {
    let method = wait.own.or(wait.method).map(|method| format!(", in {}", labels.get(method)));
    let call = wait.call.map(|call| format!("  [{}:{call}]", wait.thread));
    format!("{}{}", method.unwrap_or_default(), call.unwrap_or_default())
}

fn table(
    sums: &[WaitSum],
    by: WaitsBy,
    trace: &Trace,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    if sums.is_empty() {
        return Ok(());
    }
    let mut labels = Labels::new(trace.methods(), Format::Text, args.verbose);
    let mut table = Table::default();
    table.column("waits", sums.iter().map(|sum| Cell::Count(sum.count)));
    if sums.iter().any(|sum| sum.open > 0) {
        table.column("not ended", sums.iter().map(|sum| Cell::Count(sum.open)));
    }
    table.column("threads", sums.iter().map(|sum| Cell::Count(sum.threads as u64)));
    let total = |sum: &WaitSum| match sum.count > sum.open {
        true => Cell::number(duration(sum.total_ns)),
        false => Cell::Nothing,
    };
    table.column("total", sums.iter().map(total));
    let longest = |sum: &WaitSum| sum.longest.duration_ns().map(duration);
    table
        .column("longest", sums.iter().map(|sum| longest(sum).map_or(Cell::Nothing, Cell::number)));
    table.column("kind", sums.iter().map(|sum| Cell::text(sum.longest.on.kind.word())));
    if by == WaitsBy::Object {
        let object = |sum: &WaitSum| match (object_name(&sum.longest.on), sum.is_one_object) {
            (Some(name), true) => name,
            (Some(_), false) => {
                let class = sum.longest.on.class.as_deref().unwrap_or("?");
                format!("further objects of {class}")
            }
            (None, _) => String::new(),
        };
        table.column("for", sums.iter().map(|sum| Cell::text(object(sum))));
    }
    for (number, sum) in sums.iter().enumerate() {
        let longest = &sum.longest;
        let mut note = match longest.own.or(longest.method) {
            Some(method) => format!("in {}", labels.get(method)),
            None => "outside of recorded calls".to_owned(),
        };
        if let Some(call) = longest.call {
            note += &format!("  [{}:{call}]", longest.thread);
        }
        if let Some(holder) = longest.on.holder {
            note += &format!("  held by thread {}", escaped(&thread_title(trace, holder)));
        }
        table.note(number + 1, note);
    }
    Ok(table.print(out)?)
}

/// Reports why there are no waits.
fn say_missing(source: &Source, args: &ReportArgs) {
    let was_asked = source
        .traces
        .iter()
        .any(|trace| trace.manifest().is_some_and(|manifest| manifest.is_set("waits", "on")));
    let part = &args.part;
    let has_all = part.threads.patterns.is_empty()
        && part.tests.patterns.is_empty()
        && !part.is_of_one_call()
        && part.context.is_none()
        && args.when.limits() == TimeLimits::NONE;
    message(match (was_asked, has_all) {
        (true, true) => "no thread waited",
        (true, false) => "no wait is in the selected part of the trace",
        (false, _) => "what threads waited for was not recorded: flow record --waits does that",
    });
}
