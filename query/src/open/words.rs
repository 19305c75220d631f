//! What a recording lacks, and what it says about itself, in words.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use flow_codec::format::container::StreamKind;
use flow_codec::format::manifest::Lost;
use flow_codec::format::names;
use flow_codec::read::Trace;

use super::missing::{Missing, missing_journal};
use crate::text::{plural, seconds};

/// The path of a trace that was read from standard input.
const STDIN: &str = "-";

/// Explains what is missing because the journal of a trace cannot be used, if it cannot.
#[must_use]
pub fn without_journal(trace: &Trace) -> Option<String> {
    missing_journal(trace).map(|missing| missing_text(trace.dir(), &missing))
}

/// Explains what is missing from a trace.
#[must_use]
pub fn missing_text(dir: &Path, missing: &Missing) -> String {
    match missing {
        Missing::SinceCheckpoint { period } => {
            let period =
                period.map(|period| humantime::format_duration(period).to_string()).unwrap_or_default();
            format!(
                "read up to its last checkpoint, because the machine has restarted or this is another one: what was \
                 recorded later, for up to {period} and the time that the disk took, is missing"
            )
        }
        Missing::Unreceived | Missing::Journal { .. } if dir.as_os_str() == STDIN => {
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
    }
}

/// Describes what a recording lost and why; `None` if nothing was.
#[must_use]
pub fn lost(lost: &Lost) -> Option<String> {
    let mut what = Vec::new();
    if lost.events > 0 {
        what.push(plural(lost.events, "event"));
    }
    if let Some(at) = lost.stopped_at_ns {
        what.push(format!("all after {}, when the recording stopped", seconds(at)));
    }
    if what.is_empty() && lost.reasons.is_empty() {
        return None;
    }
    if what.is_empty() {
        what.push("perhaps some events".to_owned());
    }
    let what = what.join(", and ");
    let reasons = lost.reasons.join("; ");
    Some(if reasons.is_empty() { what } else { format!("{what}: {reasons}") })
}

/// Describes what a pattern that matched nothing means. `option` is the key of the agent's option, and the name of its flag.
#[must_use]
pub fn unmatched(option: &str, pattern: &str) -> String {
    let what = match option {
        "target" | "include" => "no method of a class that was loaded",
        "fields" => "no field that a recorded method accesses",
        "redact" => {
            "no name of a parameter, field, class or method whose values were recorded; if it is misspelt, the trace \
             has what it should leave out"
        }
        _ => "no recorded method",
    };
    format!("'{pattern}' (--{option}) matches {what}")
}

/// Names the files that look like parts or journals of a trace and are not read, if there are any.
#[must_use]
pub fn foreign_files(trace: &Trace) -> Option<String> {
    let files = trace.foreign_files();
    let (first, further) = files.split_first()?;
    let name = first.file_name().unwrap_or_default().to_string_lossy();
    let is_part = |path: &&PathBuf| {
        path.file_name()
            .and_then(OsStr::to_str)
            .is_some_and(|name| names::main_of_part(name).is_some())
    };
    let kind = match files.iter().filter(is_part).count() {
        0 => "journal",
        count if count == files.len() => "part",
        _ => "file",
    };
    let what = format!("of another recording, named like a {kind} of this one:");
    Some(match further.len() as u64 {
        0 => format!("left out a {kind} {what} {name}"),
        count => format!("left out {} {what} {name} …", plural(count + 1, kind)),
    })
}

/// Returns why no method of a trace has a name, if another program wrote the trace without names.
#[must_use]
pub fn without_names(trace: &Trace) -> Option<String> {
    let has_calls = trace.files().iter().any(|file| file.bytes() > 0);
    let has_none = trace.manifest().is_none() && !trace.has_text(StreamKind::Ids);
    (has_none && trace.methods().is_empty() && has_calls).then(|| {
        "the file is missing, so methods have no names. With ids=, Java-Flow-Agent does not write it: copy the file that \
         ids= named here"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_that_were_not_counted_are_mentioned() {
        assert_eq!(lost(&Lost::default()), None);
        let stopped = Lost {
            events: 1024,
            stopped_at_ns: Some(66_000_000),
            reasons: vec!["disk full".to_owned()],
        };
        assert_eq!(
            lost(&stopped).unwrap(),
            "1,024 events, and all after 66ms, when the recording stopped: disk full"
        );
        let late = Lost { reasons: vec!["still writing".to_owned()], ..Lost::default() };
        assert_eq!(lost(&late).unwrap(), "perhaps some events: still writing");
    }
}
