//! What is missing from a trace, in words.

use std::path::Path;

use flow_codec::format::names;
use flow_codec::read::Trace;
use flow_query::open::{self, Missing};

use crate::input::stdin::is_stdin;
use crate::output::plural;

/// Explains what is missing because the journal of a trace cannot be used, if it cannot.
pub(crate) fn missing_journal(trace: &Trace) -> Option<String> {
    open::missing_journal(trace).map(|missing| missing_text(&trace.dir, &missing))
}

/// Explains what is missing from a trace.
pub(crate) fn missing_text(dir: &Path, missing: &Missing) -> String {
    match missing {
        Missing::SinceCheckpoint { period } => {
            let period =
                period.map(|period| humantime::format_duration(period).to_string()).unwrap_or_default();
            format!(
                "read up to its last checkpoint, because the machine has restarted or this is another one: what was \
                 recorded later, for up to {period} and the time that the disk took, is missing"
            )
        }
        Missing::Unreceived | Missing::Journal { .. } if is_stdin(dir) => {
            "the trace has no end: what threads had not yet written to the file is in the journal beside it, which is not read"
                .to_owned()
        }
        Missing::Unreceived => {
            "the trace has no end, and nobody receives it: what its JVM recorded later is missing (a collector that is \
             started again receives the rest if the JVM still runs)"
                .to_owned()
        }
        Missing::Journal { path } if *path == names::beside(dir, names::JOURNAL) => format!(
            "{} is missing, the journal of this trace: what threads had not yet written to the file is lost",
            path.display()
        ),
        Missing::Journal { path } => format!(
            "the journal {} is missing (memory file systems lose it when the machine restarts): what threads had not yet \
             written to their files is lost",
            path.display()
        ),
        Missing::Events { bytes, threads } => {
            let files = match threads {
                0 => String::new(),
                threads => format!(", {} among them", plural(*threads, "thread file")),
            };
            format!("{} of events are missing{files}", plural(*bytes, "byte"))
        }
        missing => format!("{missing:?}"),
    }
}
