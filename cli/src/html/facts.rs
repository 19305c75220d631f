//! The head of the page: what was run, and notes about what is missing.

use std::time::{Duration, UNIX_EPOCH};

use flow_codec::format::manifest::Timing;
use flow_codec::read::Trace;
use serde::Serialize;

use super::numbers::cut;
use crate::export::short_program;
use crate::input::times::precision_note;
use crate::output::{SAMPLES_NOTE, Unit, plural, shell_quoted};
use flow_query::open::{State, lost};

/// The most characters of a command or a note.
const TEXT_CHARS: usize = 2000;
/// If there are more notes than this, the others are only counted.
const NOTES: usize = 50;

/// The head of the page.
#[derive(Serialize)]
pub(super) struct Head {
    tool: &'static str,
    /// The directory, quoted for a shell.
    dir: String,
    /// The main class, module or jar; empty if unknown.
    title: String,
    command: String,
    jvm: String,
    process: String,
    started: String,
    recorded: String,
    end: String,
    end_ns: Option<u64>,
    notes: Vec<Note>,
}

/// Something a reader must know.
#[derive(Serialize)]
pub(crate) struct Note {
    level: Level,
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// Recorded calls are missing, or something is wrong.
    Missing,
    /// An explanation of what the page shows.
    Info,
}

/// How much of a trace is not on the page, because there was too much.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeftOut {
    /// Calls on paths that are not shown separately.
    pub(super) calls_by_path: u64,
    /// Notes and tests.
    pub(super) marks: u64,
    pub(super) samples: u64,
    /// Calls whose values are left out.
    pub(super) valued_calls: u64,
    /// Calls whose exceptions are left out.
    pub(super) thrown: u64,
    /// Parts of threads that calls handed over.
    pub(super) parts: u64,
}

impl Note {
    /// A note about something that is missing or wrong.
    pub(crate) fn missing(text: &str) -> Self {
        Self { level: Level::Missing, text: cut(text, TEXT_CHARS) }
    }

    /// An explanation.
    pub(crate) fn info(text: &str) -> Self {
        Self { level: Level::Info, text: cut(text, TEXT_CHARS) }
    }
}

impl Head {
    /// The head for a trace, with further notes.
    pub(super) fn new(trace: &Trace, mut notes: Vec<Note>) -> Self {
        let manifest = trace.manifest();
        let end = manifest.and_then(|manifest| manifest.end.as_ref());
        if let Some(lost) = end.and_then(|end| lost(&end.lost)) {
            notes.push(Note::missing(&format!("lost while recording: {lost}")));
        }
        if trace.journal().is_some_and(|journal| journal.is_restless) {
            let text = "the trace changed while it was read; the newest calls may be missing";
            notes.push(Note::missing(text));
        }
        let open = trace.threads().iter().map(|(_, thread)| thread.open.count());
        let open = open.fold(0, u64::saturating_add);
        if open > 0 {
            let frames = plural(open, "frame");
            notes.push(Note::info(&format!("{frames} entered before recording began")));
        }
        for group in end.iter().flat_map(|end| &end.not_recorded) {
            let methods = plural(group.count, "method");
            let text = format!(
                "{methods} not recorded: {} (flow info --verbose names them)",
                group.reason
            );
            notes.push(Note::info(&text));
        }
        notes.extend(trace.damage().iter().map(|error| Note::missing(&error.to_string())));
        if notes.len() > NOTES {
            let more = plural((notes.len() - NOTES) as u64, "more note");
            notes.truncate(NOTES);
            notes.push(Note::missing(&format!("… and {more}")));
        }
        let text = |text: String| cut(&text, TEXT_CHARS);
        let of = |value: Option<String>| value.map(text).unwrap_or_default();
        Self {
            tool: concat!("flow ", env!("CARGO_PKG_VERSION")),
            dir: text(shell_quoted(&trace.dir().display().to_string())),
            title: of(short_program(trace)),
            command: of(manifest.map(|manifest| manifest.command.join(" "))),
            jvm: of(manifest.map(|manifest| {
                let jvm = &manifest.jvm;
                format!("{} {}", jvm.name, jvm.version)
            })),
            process: of(manifest.map(|manifest| format!("{} on {}", manifest.pid, manifest.host))),
            started: of(manifest.map(|manifest| {
                let start = UNIX_EPOCH + Duration::from_nanos(manifest.start_unix_ns);
                humantime::format_rfc3339_seconds(start).to_string()
            })),
            recorded: of(manifest.map(|manifest| {
                let (tool, engine) = (&manifest.tool, &manifest.engine);
                format!("by {tool}, engine {engine}")
            })),
            end: text(State::of(trace).ending()),
            end_ns: end.map(|end| end.at_ns),
            notes,
        }
    }

    /// Adds a note about the precision of times.
    pub(super) fn timing(&mut self, trace: &Trace, timing: Timing, has_cpu: bool, is_rough: bool) {
        let rough = if is_rough { SAMPLES_NOTE } else { "" };
        let text = precision_note(trace, Unit::Nanos);
        if has_cpu {
            let text = "the methods and flame graphs show CPU time: for how long threads ran; timelines show wall-clock \
                        time, waiting included";
            self.notes.push(Note::info(text));
        }
        match timing {
            Timing::Off => {}
            Timing::Exact => self.notes.push(Note::info(&format!("{text}{rough}"))),
            Timing::Sampled { .. } => {
                let text = format!(
                    "{text}; all that is between two samples is shown in the middle between them{rough}"
                );
                self.notes.push(Note::info(&text));
            }
        }
    }

    /// Adds notes about what there was too much of to keep all of it.
    pub(super) fn left_out(&mut self, left_out: LeftOut) {
        let LeftOut { calls_by_path, marks, samples, valued_calls, thrown, parts } = left_out;
        let texts = [
            (calls_by_path > 0).then(|| {
                let calls = plural(calls_by_path, "call");
                format!(
                    "there are very many paths: {calls} on the smallest of them are not shown separately in the \
                     flame graph, nor among callers and callees"
                )
            }),
            (marks > 0).then(|| {
                let marks = plural(marks, "more mark");
                format!("there are very many notes and tests: {marks} are not in the timelines")
            }),
            (samples > 0).then(|| {
                let samples = plural(samples, "more sample");
                format!(
                    "there are very many samples: {samples} are not in the timelines; flow replay --samples shows all"
                )
            }),
            (valued_calls > 0).then(|| {
                let calls = plural(valued_calls, "call");
                format!(
                    "there are very many values: those of {calls} are not on this page; flow replay --values shows all"
                )
            }),
            (thrown > 0).then(|| {
                let calls = plural(thrown, "call");
                format!(
                    "there are very many exceptions: the classes of those that ended {calls} are not on this page; \
                     flow report --exceptions adds up all"
                )
            }),
            (parts > 0).then(|| {
                let parts = plural(parts, "part");
                format!(
                    "there are too many hand-overs for a page: {parts} of threads are shown only among the calls of their thread; flow replay --request shows all of one call"
                )
            }),
        ];
        self.notes.extend(texts.iter().flatten().map(|text| Note::info(text)));
    }
}
