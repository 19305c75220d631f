//! The names of programs, threads and instants in exports.

use flow_codec::read::{ThreadFile, Trace};

use super::emit::Instant;
use crate::output::{neutral, plural};

/// The program that wrote the file, for formats that name it.
pub(super) const GENERATOR: &str = concat!("flow ", env!("CARGO_PKG_VERSION"));

/// The name of the recorded program: its command line.
pub(super) fn program(trace: &Trace) -> String {
    let command = trace.manifest.as_ref().map(|manifest| manifest.command.join(" "));
    command.filter(|command| !command.is_empty()).unwrap_or_else(|| "JVM".to_owned())
}

/// The id of the recorded process; 1 if it is unknown.
pub(super) fn process(trace: &Trace) -> u32 {
    trace.manifest.as_ref().map_or(1, |manifest| manifest.pid.max(1))
}

/// The name of a thread, or its id without a name, and the test whose ranges are exported, if not the whole thread.
pub(super) fn thread_name(trace: &Trace, file: &ThreadFile) -> String {
    let thread = trace.threads.get(file.id);
    let name = thread.map(|thread| thread.name.as_str()).filter(|name| !name.is_empty());
    let name = name.map_or_else(|| format!("thread {}", file.id), str::to_owned);
    let name = match thread {
        Some(thread) if thread.is_virtual => format!("{name} (virtual)"),
        _ => name,
    };
    match &file.parts {
        Some(parts) => format!("{name}, {}", parts.title),
        None => name,
    }
}

/// The text of an instant in a timeline.
pub(super) fn label(what: &Instant<'_>) -> String {
    let text = match what {
        Instant::Note(text) => return neutral(text).into_owned(),
        Instant::Thrown(Some(class)) => format!("exception {class}"),
        Instant::Thrown(None) => "exception".to_owned(),
        Instant::Gap(Some(events)) => {
            format!("{} missing", plural(*events, "event"))
        }
        Instant::Gap(None) => "events missing".to_owned(),
        Instant::Paused => "recording paused".to_owned(),
        Instant::Resumed => "recording resumed".to_owned(),
    };
    neutral(&text).into_owned()
}

/// The category of an instant, for formats that distinguish categories.
pub(super) fn kind(what: &Instant<'_>) -> &'static str {
    match what {
        Instant::Note(_) => "note",
        Instant::Thrown(_) => "exception",
        Instant::Gap(_) => "gap",
        Instant::Paused | Instant::Resumed => "recording",
    }
}
