//! `trace.json`: what was run, how it was recorded, and how the recording ended.
//!
//! One JSON object. It is written at the start of the recording, and at a clean end replaced atomically by
//! one that also has the `end` object. So a manifest without `end` belongs to a JVM that is still running, or
//! that was killed.
//!
//! ```text
//! {
//!   "format_version": 1,
//!   "id": "9f86d081884c7d65",
//!   "tool": "flow-agent 0.1.0",
//!   "engine": "events",
//!   "event_format": "binary",
//!   "clock": {"kind": "tick", "period_ns": 100000},
//!   "options": {"out": "/tmp/trace", "own": "com.app.**"},
//!   "own": ["com.app.**"],
//!   "pid": 4711, "host": "build-7",
//!   "command": ["java", "-jar", "app.jar"],
//!   "jvm": {"name": "OpenJDK 64-Bit Server VM", "version": "17.0.15+6", "home": "/usr/lib/jvm/17"},
//!   "session": "4700-1700000000000000000",
//!   "start_unix_ns": 1700000000000000000,
//!   "end": {
//!     "at_ns": 1500000000,
//!     "totals": {"threads": 3, "methods": 120, "enters": 5000, "exits": 4990, "bytes": 9000},
//!     "lost": {"events": 0, "reasons": []},
//!     "not_recorded": [{"reason": "native", "count": 1, "methods": ["com.app.A#n()V"]}],
//!     "asked_loaders": [{"class": "com.app.PluginLoader", "requests": 2}]
//!   }
//! }
//! ```
//!
//! Fields that are not always present:
//!
//! | field | present | value |
//! |---|---|---|
//! | `id` | not in older traces | the identity of the recording: a random number, as 16 hexadecimal digits. [Parts](crate::format::container#parts), the [journal](crate::format::journal), and what readers [store](crate::format::of_events) beside the trace have it too |
//! | `order` | with `order=total` | `total`: events have [sequence numbers](crate::format::marks) |
//! | `session` | if one `flow record` started several JVMs | the same for all of them |
//! | `own` | if the application's classes are known | patterns for them, as in [`Glob`](crate::Glob). They say nothing about what was recorded |
//! | `earlier` | if the directory held a trace that is kept | where that trace is since then |
//! | `journal` | with the option of this name | the path of the [journal](crate::format::journal#place) |
//! | `spill` | with `stream` and without `out` | the path of the file from which the JVM sends; it is removed when the collector has everything |
//! | `durability` | with `durability=system` | the time between two [checkpoints](crate::format::journal#checkpoint), and the id of the system's start (`/proc/sys/kernel/random/boot_id`) |
//! | `signal` | in `end`, if the handler of a signal ended the JVM | its name, such as `SIGTERM` |
//! | `lost.stopped_at_ns` | if a fault ended the recording before the program | when; what came after that is missing and not counted |
//! | `asked_loaders` | if the agent asked any loader | see below |
//! | `filters` | if the filter was changed while it was recorded | each change: when, and the options that were in force from then on |
//! | `unmatched` | if patterns that the user gave matched nothing | the key of each such option, and the patterns; after a change of the filter, those of the last filter |
//! | `given_up` | with `keep=last:`, if parts were removed; or if tests were left out | what was in them, in the form of `totals`, of which the trace no longer has it |
//! | `left_out_tests` | with `flow record --keep-tests failed`, if any | how many tests passed whose calls were left out after the recording; see [`test_marks`](crate::format::test_marks#tests-whose-calls-are-left-out) |
//! | `snapshot` | in a snapshot | its name, and when it was taken, in nanoseconds since the start |
//!
//! In `command`, values that look like secrets are `***`; with `command=none` it is empty. `options` are
//! those in force, from all sources, without those that have their default. Readers ignore fields they do not
//! know, and refuse a `format_version` above [`VERSION`].
//!
//! `not_recorded` names the methods that were called but that this engine leaves out by itself, which
//! distinguishes "never recorded" from "missing". For each reason the first 10,000 methods are named; `count`
//! counts all of them. Methods that the user's filter excludes are not listed.
//!
//! | reason | left out because |
//! |---|---|
//! | `native`, `hidden-class` | it has no bytecode that could be rewritten |
//! | `switches-thread` | it begins on one thread and ends on another |
//! | `protected` | the JVM depends on it as it is |
//! | `thread-without-id` | the thread that runs it has no id yet |
//! | `unknown-class-file` | the structure of its class file is not known: damaged, or later than this agent |
//! | `class-refused` | the JVM does not let its class change |
//! | `malformed`, `unknown-frame`, `odd-constructor` | its code is not understood |
//! | `too-large`, `pool-full`, `id-too-large` | with probes it would exceed a limit of the class file format |
//! | `too-large-to-compile`, `not-compilable` | with probes HotSpot would no longer compile it |
//! | `empty-finalizer` | with probes its objects would need finalization |
//! | `without-instructions` | only its instructions are left out, which `instructions=` names: with their probes it would be too large or not be compiled, or another version of it was recorded before |
//! | `without-lines` | only its lines are left out, which `lines=` names: it has no line numbers, or with their probes it would be too large or not be compiled |
//!
//! A class is named as `com.app.A#*`.
//!
//! With the option `calls=off`, calls were not recorded: each entry and the exit that follows it are there for the lines between
//! them, which a thread has reached in this method. With `lines-once=true`, each line was recorded once in each
//! test, and once outside of tests; with `lines-once=run`, once.
//!
//! `asked_loaders` lists class loaders of the program that the agent asked for the class of the probes, by
//! the loaders' class. Each request is one call of `loadClass` that the program alone would not have made,
//! and that is recorded like the program's own calls. Each of the first 1,000 classes has an entry; `*`
//! counts the requests of all others.
//!
//! # Repaired traces
//!
//! `flow check --repair` writes the `end` of a killed recording, with one more field:
//!
//! ```text
//! "repaired": {"tool": "flow 0.1.0", "at_unix_ns": 1700000100000000000}
//! ```
//!
//! In this case the program that repaired the trace counted `totals`, `at_ns` is the last time in
//! `threads.jsonl`, and `lost` has the events that had to be cut off. What else was lost, and which methods
//! the engine left out, is not known.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::TraceId;

/// The format version this build writes, and the newest it reads.
pub const VERSION: u32 = 1;

/// The contents of `trace.json`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// [`VERSION`] of the writer.
    pub format_version: u32,
    /// The identity of the recording; absent in older traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<TraceId>,
    /// Name and version of the writer.
    pub tool: String,
    /// How calls are seen: `events` or `instrument`.
    pub engine: String,
    /// How events are written: `binary` or `jsonl`.
    pub event_format: String,
    /// How times of events were recorded; absent where none were.
    #[serde(rename = "clock", default, skip_serializing_if = "Timing::is_off")]
    pub timing: Timing,
    /// What is known about the order of events of different threads.
    #[serde(default, skip_serializing_if = "Order::is_by_time")]
    pub order: Order,
    /// Patterns for the classes of the application itself, as opposed to libraries; empty where they are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<String>,
    /// The options in force, by key.
    pub options: BTreeMap<String, String>,
    /// Process id of the JVM.
    pub pid: u32,
    /// Name of the host.
    pub host: String,
    /// The command line, as far as the option `command` allows it to be recorded.
    pub command: Vec<String>,
    /// The JVM.
    pub jvm: Jvm,
    /// The same for all JVMs of one `flow record`: they keep each other's traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where the trace is that was in the directory before, as an absolute path; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<PathBuf>,
    /// Where the journal is, as an absolute path; absent where it is in the trace directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<PathBuf>,
    /// Where the file is that is sent to a collector and does not stay, as an absolute path; absent where the trace is
    /// not sent, or stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill: Option<PathBuf>,
    /// The kind of failure that the trace survives; absent if it survives the death of the process only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    /// When the recording began, in nanoseconds since 1970-01-01 UTC.
    pub start_unix_ns: u64,
    /// Set if it is a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
    /// How the recording ended; absent while the JVM runs, and if it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

impl Manifest {
    /// Returns whether calls were recorded. Otherwise each entry, with its exit, only says of which method the line between them
    /// is.
    #[must_use]
    pub fn has_calls(&self) -> bool {
        self.options.get("calls").is_none_or(|calls| calls != "off")
    }

    /// Returns whether this is a value of an option, or one of several.
    #[must_use]
    pub fn is_set(&self, option: &str, value: &str) -> bool {
        self.options.get(option).is_some_and(|all| all.split(';').any(|one| one.trim() == value))
    }
}

/// How a trace survives the death of the system.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Durability {
    /// The time between two checkpoints.
    #[serde(rename = "period_ns", with = "nanoseconds")]
    pub period: Duration,
    /// [`boot_id`] when it was recorded; empty where that was not known.
    pub boot: String,
}

mod nanoseconds {
    use super::{Deserialize, Duration};

    pub(super) fn serialize<S: serde::Serializer>(
        period: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(period.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}

/// Returns the id of this start of the system; `None` where the system does not provide it.
#[doc(hidden)]
#[must_use]
pub fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// How times of events are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Clock", into = "Clock")]
pub enum Timing {
    /// Not at all.
    #[default]
    Off,
    /// A sampler records where each thread is, again and again.
    Sampled {
        /// The time between two samples that was requested; zero where it is unknown.
        period: Duration,
    },
    /// Each event has its own time.
    Exact,
}

/// What is known about the order of events of different threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Each event has a sequence number.
    Total,
    /// What follows from their times; also a kind that this build does not know.
    #[default]
    #[serde(other)]
    Time,
}

impl Order {
    /// Returns whether events have no sequence numbers.
    #[must_use]
    pub(crate) fn is_by_time(&self) -> bool {
        *self == Self::Time
    }
}

impl Timing {
    /// Returns whether no times are recorded.
    #[must_use]
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }

    /// The word that options and the manifest use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Sampled { .. } => "tick",
            Self::Exact => "exact",
        }
    }

    /// The time between two samples, where it is known.
    #[doc(hidden)]
    #[must_use]
    pub fn period(self) -> Option<Duration> {
        match self {
            Self::Sampled { period } if period > Duration::ZERO => Some(period),
            _ => None,
        }
    }
}

/// The object `clock` as it is written.
#[derive(Serialize, Deserialize)]
struct Clock {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    period_ns: Option<u64>,
}

impl From<Clock> for Timing {
    /// A kind that this build does not know is read as sampled with an unknown period.
    fn from(clock: Clock) -> Self {
        match clock.kind.as_str() {
            "off" => Self::Off,
            "exact" => Self::Exact,
            _ => Self::Sampled { period: Duration::from_nanos(clock.period_ns.unwrap_or(0)) },
        }
    }
}

impl From<Timing> for Clock {
    fn from(timing: Timing) -> Self {
        let ns = |period: Duration| u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        Self { kind: timing.name().to_owned(), period_ns: timing.period().map(ns) }
    }
}

/// Which JVM ran.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Jvm {
    /// `java.vm.name`.
    pub name: String,
    /// `java.vm.version`.
    pub version: String,
    /// `java.home`.
    pub home: String,
}

/// How a recording ended, and what it contains.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct End {
    /// When the recording ended, since its start.
    pub at_ns: u64,
    /// The signal whose handler ended the JVM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// What was written.
    pub totals: Totals,
    /// How many samples of stacks were written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub samples: u64,
    /// What was seen and not written.
    pub lost: Lost,
    /// Methods this engine leaves out by itself, by reason.
    pub not_recorded: Vec<NotRecorded>,
    /// Class loaders of the program that the agent asked for the class of the probes, by their class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked_loaders: Vec<AskedLoader>,
    /// Changes of the filter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<FilterChange>,
    /// Patterns of the user that matched nothing, by option.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmatched: Vec<Unmatched>,
    /// What was removed because newer events were kept.
    #[serde(default, skip_serializing_if = "Totals::are_zero")]
    pub given_up: Totals,
    /// How many tests passed whose calls were left out afterwards, and are in `given_up`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out_tests: u64,
    /// The program that wrote the end, where the recorder could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<Repaired>,
}

/// The methods to record were changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FilterChange {
    /// When, since the start of the recording.
    pub at_ns: u64,
    /// The options that choose the methods; those that it does not name had their defaults.
    pub filter: String,
}

/// Patterns of one option that matched nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Unmatched {
    /// The key of the option, such as `redact`.
    pub option: String,
    /// The patterns.
    pub patterns: Vec<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The end was not written by the recorder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repaired {
    /// Name and version of the program that wrote it.
    pub tool: String,
    /// When, in nanoseconds since 1970-01-01 UTC.
    pub at_unix_ns: u64,
}

/// A trace that was taken from a recording which then continued.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// When it was taken, in nanoseconds since the recording began.
    pub at_ns: u64,
}

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Threads with at least one event.
    pub threads: u64,
    /// Methods in `methods.jsonl`, each id once.
    pub methods: u64,
    /// Method entries.
    pub enters: u64,
    /// Method exits.
    pub exits: u64,
    /// Bytes in thread files, without what a journal holds.
    pub bytes: u64,
}

impl Totals {
    fn are_zero(&self) -> bool {
        *self == Self::default()
    }

    /// With these.
    #[must_use]
    pub(crate) fn plus(&self, others: &Self) -> Self {
        Self {
            threads: self.threads.saturating_add(others.threads),
            methods: self.methods.saturating_add(others.methods),
            enters: self.enters.saturating_add(others.enters),
            exits: self.exits.saturating_add(others.exits),
            bytes: self.bytes.saturating_add(others.bytes),
        }
    }

    /// Without these.
    #[doc(hidden)]
    #[must_use]
    pub fn less(&self, given_up: &Self) -> Self {
        Self {
            threads: self.threads.saturating_sub(given_up.threads),
            methods: self.methods.saturating_sub(given_up.methods),
            enters: self.enters.saturating_sub(given_up.enters),
            exits: self.exits.saturating_sub(given_up.exits),
            bytes: self.bytes.saturating_sub(given_up.bytes),
        }
    }
}

/// What was seen and not written.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lost {
    /// Events, as far as they were counted.
    pub events: u64,
    /// When a fault ended the recording, since its start. Later events are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at_ns: Option<u64>,
    /// What went wrong, each reason once.
    pub reasons: Vec<String>,
}

/// Methods that were called and that the engine itself left out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotRecorded {
    /// Why: a word such as `native`.
    pub reason: String,
    /// How many methods.
    pub count: u64,
    /// Their keys, as in [`ids`](super::ids), or those of the first 10,000.
    pub methods: Vec<String>,
}

/// Class loaders of one class, and how often the agent asked them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AskedLoader {
    /// Their class, or `*`.
    pub class: String,
    /// How many calls of `loadClass` the agent has caused.
    pub requests: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_example_is_read() {
        let text: String = include_str!("manifest.rs")
            .lines()
            .skip_while(|line| *line != "//! ```text")
            .skip(1)
            .take_while(|line| *line != "//! ```")
            .map(|line| line.trim_start_matches("//!"))
            .collect();
        let manifest: Manifest = serde_json::from_str(&text).unwrap();
        assert_eq!(manifest.format_version, VERSION);
        assert_eq!(manifest.timing, Timing::Sampled { period: Duration::from_micros(100) });
        assert_eq!(manifest.own, ["com.app.**"]);
        let end = manifest.end.unwrap();
        assert_eq!((end.totals.enters, end.asked_loaders[0].requests), (5000, 2));
    }

    #[test]
    fn a_clock_is_written_as_it_is_read() {
        for (timing, text) in [
            (Timing::Exact, r#"{"kind":"exact"}"#),
            (
                Timing::Sampled { period: Duration::from_millis(1) },
                r#"{"kind":"tick","period_ns":1000000}"#,
            ),
            (Timing::Sampled { period: Duration::ZERO }, r#"{"kind":"tick"}"#),
        ] {
            assert_eq!(serde_json::to_string(&timing).unwrap(), text);
            assert_eq!(serde_json::from_str::<Timing>(text).unwrap(), timing);
        }
        let later: Timing = serde_json::from_str(r#"{"kind":"sundial","period_ns":7}"#).unwrap();
        assert_eq!(later.period(), Some(Duration::from_nanos(7)), "of a later version");
    }

    #[test]
    fn a_running_trace_has_no_end() {
        let text = "{\"format_version\":1,\"tool\":\"t\",\"engine\":\"events\",\
            \"event_format\":\"binary\",\"options\":{},\"pid\":1,\"host\":\"h\",\"command\":[],\
            \"jvm\":{\"name\":\"\",\"version\":\"\",\"home\":\"\"},\"start_unix_ns\":0,\"new\":1}";
        let manifest: Manifest = serde_json::from_str(text).unwrap();
        assert_eq!((manifest.end.as_ref(), manifest.own.len()), (None, 0));
        assert!(!serde_json::to_string(&manifest).unwrap().contains("\"end\""));
        assert!(!serde_json::to_string(&manifest).unwrap().contains("\"own\""));
    }
}
