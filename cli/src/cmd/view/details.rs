//! The lower pane: details or source of the chosen call.

use std::path::{Path, PathBuf};

use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{EventKind, Trace};
use flow_codec::{Error, MethodNames, NameForm, Offset};

use super::calls::Calls;
use super::tree::Row;
use crate::output::{ValueTexts, bounded_duration, escaped, grouped, instant, plural, short_line};
use flow_query::open::GivenBy;
use flow_query::select::thread_title;
use flow_query::text::MarkWords;

/// At most this many events of a call are read for its values and lines.
const MOST_EVENTS: usize = 4096;
/// What is known of the calls of a row, in lines.
pub(super) fn details(calls: &Calls<'_>, row: &Row) -> Result<Vec<String>, Error> {
    let name = MethodNames::new(calls.trace.methods()).get(row.method(), NameForm::Full);
    let mut lines = vec![escaped(&name).into_owned()];
    let info = calls.trace.methods().get(row.method()).map(|method| method.info());
    if let Some(info) = info {
        lines.push(escaped(&origin(info)).into_owned());
    }
    let several = match row.count {
        1 => String::new(),
        count => format!(", and {} after it that did the same", plural(count - 1, "call")),
    };
    lines.push(format!(
        "call {} of thread {}, depth {}, at offset {}{several}",
        grouped(row.number()),
        escaped(&calls.thread_title(row)),
        grouped(row.node.place.frames),
        grouped(row.node.place.offset.get()),
    ));
    if let Some(given) = calls.forest.given(row.part) {
        lines.push(escaped(&handed(calls, given)).into_owned());
    }
    if let Some(times) = calls.times(row)
        && let Some(start_ns) = times.all.start.estimate_ns
    {
        let of_self = times.of_self.map_or(String::new(), |of_self| {
            format!(", self {}", bounded_duration(of_self.bounds))
        });
        let total = bounded_duration(times.all.duration);
        lines.push(format!("began at {}, duration {total}{of_self}", instant(start_ns)));
    }
    let below = plural(row.calls.saturating_sub(1), "call");
    let each = if row.count > 1 { " in each" } else { "" };
    let some = match row.selected < row.calls {
        true => format!(", {} of them selected", grouped(row.selected.saturating_sub(1))),
        false => String::new(),
    };
    let end = match (row.left, calls.times(row).and_then(|times| times.all.unwound.as_ref())) {
        (None, _) => ", still open at the end".to_owned(),
        (_, Some(by)) => {
            format!(", ended by {}", escaped(by.class.as_deref().unwrap_or("an exception")))
        }
        _ => String::new(),
    };
    lines.push(format!("{below} below it{each}{some}{end}"));
    if info.is_some_and(|info| !info.parameters.is_empty() || !info.lines.is_empty()) {
        lines.extend(recorded(calls, row)?);
    }
    Ok(lines)
}

/// The call that handed over a part of a request.
fn handed(calls: &Calls<'_>, given: &GivenBy) -> String {
    let call = given.call;
    let thread = thread_title(calls.trace, call.thread());
    let later =
        given.delay().map(|delay| format!(", {} before it was taken", bounded_duration(delay)));
    let later = later.unwrap_or_default();
    let guess =
        if given.is_guessed { "; a guess: another call may have handed it over" } else { "" };
    format!("handed over by call {} of thread {thread}{later}{guess}", grouped(call.number()))
}

/// `com/app/Orders.java:12  public static`.
fn origin(info: &MethodInfo) -> String {
    let line = info.line.map_or(String::new(), |line| format!(":{line}"));
    let flags =
        if info.flags.is_empty() { String::new() } else { format!("  {}", info.flags.join(" ")) };
    format!("{}{line}{flags}", info.source_path())
}

/// The values and the lines that were recorded of a call.
fn recorded(calls: &Calls<'_>, row: &Row) -> Result<Vec<String>, Error> {
    let texts = ValueTexts::new(calls.trace.methods(), Some(row.method()));
    let (mut shown, mut reached) = (Vec::new(), Vec::new());
    let method = calls.trace.methods().get(row.method());
    let mut info = method.map(|method| method.info());
    let mut depth = 0_u64;
    let Some(thread) = calls.thread_of(row) else { return Ok(Vec::new()) };
    let timeline = thread.file.timeline_from(row.node.place.offset)?;
    for event in timeline.with_values().with_handlers().with_waits().with_lines().take(MOST_EVENTS)
    {
        let Ok(event) = event else { break };
        match event.kind {
            EventKind::Enter(_) => depth += 1,
            EventKind::Exit { count, .. } => {
                depth = depth.saturating_sub(count.get());
                if depth == 0 {
                    break;
                }
            }
            EventKind::Values(values) if depth == 1 => shown.push(texts.line(&values)),
            EventKind::Handled(ref handled) if depth == 1 => {
                let line = handled.line.zip(info);
                let line =
                    line.map(|(line, info)| format!(" line {}", short_line(info, line.into())));
                let text = MarkWords::of(&event.kind).unwrap_or_default().text;
                shown.push(format!("{text}{}", line.unwrap_or_default()));
            }
            EventKind::Version(version) if depth == 1 => {
                info = method.map(|method| method.version(version));
            }
            EventKind::Line(number) if depth == 1 => {
                let line = info.map(|info| short_line(info, number.into()));
                reached.push(line.unwrap_or_else(|| number.to_string()));
            }
            _ => {}
        }
    }
    // The result is directly before the exit, which may be far away.
    if depth > 0
        && let Some(left) = row.left.filter(|_| row.count == 1)
    {
        shown.extend(result(calls, row, left.offset, &texts)?);
    }
    let mut lines: Vec<String> = shown.iter().map(|text| escaped(text).into_owned()).collect();
    if !reached.is_empty() {
        lines.push(format!("lines {}", reached.join(" ")));
    }
    Ok(lines)
}

/// The values directly before the exit of a call.
fn result(
    calls: &Calls<'_>,
    row: &Row,
    exit: Offset,
    texts: &ValueTexts<'_>,
) -> Result<Vec<String>, Error> {
    let Some((left, thread)) = row.left.zip(calls.thread_of(row)) else { return Ok(Vec::new()) };
    let before = left.frames.saturating_sub(row.node.place.frames.saturating_add(1));
    let mut shown = Vec::new();
    for event in thread.file.timeline_from(exit)?.with_values().take(MOST_EVENTS) {
        let Ok(event) = event else { break };
        if event.position.offset > exit || event.position.exits > before {
            break;
        }
        if let EventKind::Values(values) = event.kind
            && event.position.exits == before
        {
            shown.push(texts.line(&values));
        }
    }
    Ok(shown)
}

/// The source of the chosen method: the file, and the number of its first line.
pub(super) fn source_of(trace: &Trace, row: &Row) -> Option<(String, Option<u32>)> {
    let info = trace.methods().get(row.method())?.info();
    Some((info.source_path().into_owned(), info.line))
}

/// How a file is named to a person who looks for it.
pub(super) fn not_found(file: &str, folders: &[PathBuf]) -> String {
    let names: Vec<_> =
        folders.iter().map(|dir: &PathBuf| Path::display(dir).to_string()).collect();
    let folders = if names.is_empty() { "no folder".to_owned() } else { names.join(", ") };
    format!("{file} is not below {folders}; name the folder with --source DIR")
}
