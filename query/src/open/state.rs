//! How a recording ended, if it did.

use std::time::{Duration, UNIX_EPOCH};

use super::lock::is_recording;
use super::missing::is_received;
use crate::text::seconds;
use flow_codec::format::manifest::{End, Manifest};
use flow_codec::read::Trace;

/// The state of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// The recording ended normally.
    Finished {
        /// When, in nanoseconds since the start.
        at_ns: u64,
    },
    /// A signal ended the program, and so the recording, which is whole.
    Terminated {
        /// The name of the signal, such as `SIGTERM`.
        signal: String,
        /// When, in nanoseconds since the start.
        at_ns: u64,
    },
    /// A fault, a limit or the user ended it before the program, which ended at a time that the trace does not have.
    Stopped {
        /// After how many nanoseconds.
        after_ns: u64,
    },
    /// The JVM was killed, and `flow check --repair` wrote the end.
    Repaired {
        /// What wrote it.
        tool: String,
        /// When, in nanoseconds since 1970.
        at_unix_ns: u64,
    },
    /// There is no end, and no JVM that could write one.
    Killed,
    /// A JVM is still writing.
    Recording,
    /// The trace was taken while the JVM recorded.
    Snapshot {
        /// The name of the snapshot.
        name: String,
        /// When, in nanoseconds since the start.
        at_ns: u64,
    },
    /// The trace was received from a JVM up to where the collector, the JVM or the connection ended.
    Unreceived,
    /// There is no end; whether a JVM is still writing cannot be determined.
    Unfinished,
    /// There is no readable manifest.
    Unknown,
}

impl State {
    /// The state of a trace.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        match trace.manifest() {
            None => Self::Unknown,
            Some(Manifest { end: Some(end), .. }) => Self::ended(end),
            Some(Manifest { snapshot: Some(snapshot), .. }) => {
                Self::Snapshot { name: snapshot.name.clone(), at_ns: snapshot.at_ns }
            }
            Some(Manifest { end: None, .. }) => match is_recording(trace.dir()) {
                Some(true) => Self::Recording,
                Some(false) if is_received(trace) => Self::Unreceived,
                Some(false) => Self::Killed,
                None => Self::Unfinished,
            },
        }
    }

    fn ended(end: &End) -> Self {
        match (&end.repaired, end.lost.stopped_at_ns) {
            (Some(repaired), _) => {
                Self::Repaired { tool: repaired.tool.clone(), at_unix_ns: repaired.at_unix_ns }
            }
            (None, Some(after_ns)) => Self::Stopped { after_ns },
            (None, None) => match end.signal.clone() {
                Some(signal) => Self::Terminated { signal, at_ns: end.at_ns },
                None => Self::Finished { at_ns: end.at_ns },
            },
        }
    }

    /// The state in JSON and CSV.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Finished { .. } => "finished",
            Self::Terminated { .. } => "terminated",
            Self::Stopped { .. } => "stopped",
            Self::Repaired { .. } => "repaired",
            Self::Killed => "killed",
            Self::Unreceived => "unreceived",
            Self::Recording => "recording",
            Self::Snapshot { .. } => "snapshot",
            Self::Unfinished => "unfinished",
            Self::Unknown => "unknown",
        }
    }

    /// The state in a sentence.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Finished { at_ns } => format!("finished after {}", seconds(*at_ns)),
            Self::Terminated { signal, at_ns } => {
                format!("ended by {signal} after {}", seconds(*at_ns))
            }
            Self::Stopped { after_ns } => {
                format!("the recording stopped early, after {}", seconds(*after_ns))
            }
            Self::Repaired { tool, at_unix_ns } => {
                let at = UNIX_EPOCH + Duration::from_nanos(*at_unix_ns);
                let at = humantime::format_rfc3339_seconds(at);
                format!("killed; the end was written by {tool} at {at}")
            }
            Self::Killed => "killed: it has no end, and no JVM records here".to_owned(),
            Self::Unreceived => {
                "not received to its end: the collector or the JVM ended before".to_owned()
            }
            Self::Recording => "still being recorded".to_owned(),
            Self::Snapshot { name, at_ns } => {
                format!("the snapshot {name}, taken after {}", seconds(*at_ns))
            }
            Self::Unfinished => "not finished: killed, or still being recorded".to_owned(),
            Self::Unknown => "how it ended is unknown".to_owned(),
        }
    }

    /// How the recording ended, in short.
    #[must_use]
    pub fn ending(&self) -> String {
        match self {
            Self::Stopped { after_ns } => {
                format!("stopped early, after {}", seconds(*after_ns))
            }
            Self::Repaired { tool, .. } => {
                format!("repaired: killed, the end was written by {tool}")
            }
            Self::Finished { .. } | Self::Terminated { .. } => self.text(),
            Self::Recording => "none: recording".to_owned(),
            Self::Snapshot { name, at_ns } => {
                format!("none: the snapshot {name}, taken after {}", seconds(*at_ns))
            }
            Self::Killed => "none: killed".to_owned(),
            Self::Unreceived => "none: the collector or the JVM ended before".to_owned(),
            Self::Unfinished => "none: killed, or still being recorded".to_owned(),
            Self::Unknown => "unknown: there is no readable trace.json".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use flow_codec::format::manifest::Lost;

    use super::*;

    #[test]
    fn the_end_of_the_recording_is_not_that_of_the_program() {
        let lost = Lost { stopped_at_ns: Some(53_000_000), ..Lost::default() };
        let end = End { at_ns: 54_000_000, lost, ..End::default() };
        let state = State::ended(&end);
        assert_eq!(state.text(), "the recording stopped early, after 53ms");
        assert_eq!(state.ending(), "stopped early, after 53ms");
    }

    #[test]
    fn a_signal_that_ended_the_program_is_named() {
        let end = End { signal: Some("SIGINT".to_owned()), at_ns: 54_000_000, ..End::default() };
        let state = State::ended(&end);
        assert_eq!(state.word(), "terminated");
        assert_eq!(state.text(), "ended by SIGINT after 54ms");
    }
}
