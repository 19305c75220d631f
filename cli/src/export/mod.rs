//! Traces in the formats of other tools, one file a format.
//!
//! ```text
//! timeline of a thread ─▶ emit ─▶ Exporter: perfetto chrome speedscope firefox jsonl csv
//! records, marks ─▶ analysis::Graph ─▶ Stacks (weights by path): collapsed svg pprof
//! ```
//!
//! Formats only turn calls into bytes, and append them to a buffer; what reads and what writes is
//! around them. Timelines are written while they are read: memory for the open frames, and for the
//! names of the methods met. The others take what their tree takes.

mod calls;
mod chrome;
mod collapsed;
mod emit;
mod firefox;
mod json;
mod names;
mod perfetto;
mod pprof;
mod proto;
mod scale;
mod speedscope;
mod stacks;
mod svg;

use flow_codec::read::{ThreadFile, Trace};

use crate::args::{Format, Target};
use crate::output::Unit;

pub(crate) use emit::{Emit, Exporter};
pub(crate) use names::Numbers;
pub(crate) use stacks::Stacks;

/// What wrote the file, for formats that have a place for that.
const GENERATOR: &str = concat!("flow ", env!("CARGO_PKG_VERSION"));

/// How a format is written.
pub(crate) enum Writer<'a> {
    /// Call by call.
    Timeline(Box<dyn Exporter + 'a>),
    /// Path by path.
    Paths(&'static dyn Paths),
}

/// A format of calls that are added up by path.
pub(crate) trait Paths {
    /// About how many bytes it would have, before one is made.
    fn size(&self, stacks: &Stacks<'_>, trace: &Trace) -> u64;

    /// The most frames on top of one another that it shows.
    fn frames(&self, stacks: &Stacks<'_>) -> usize {
        stacks.most_frames()
    }

    /// Whether there is such a thing without a call.
    fn can_be_empty(&self) -> bool {
        true
    }

    /// Writes it.
    ///
    /// # Errors
    /// Those of the destination.
    fn write(
        &self,
        stacks: &Stacks<'_>,
        trace: &Trace,
        to: &mut dyn std::io::Write,
    ) -> std::io::Result<()>;
}

/// The writer of a format.
pub(crate) fn writer(target: Target, trace: &Trace, scale: Unit) -> Writer<'_> {
    match target {
        Target::Perfetto => Writer::Timeline(Box::new(perfetto::Perfetto::new(trace, scale))),
        Target::Chrome => Writer::Timeline(Box::new(chrome::Chrome::new(trace, scale))),
        Target::Speedscope => Writer::Timeline(Box::new(speedscope::Speedscope::new(trace, scale))),
        Target::Firefox => Writer::Timeline(Box::new(firefox::Firefox::new(trace, scale))),
        Target::Jsonl => Writer::Timeline(Box::new(calls::Calls::new(trace, Format::Json, scale))),
        Target::Csv => Writer::Timeline(Box::new(calls::Calls::new(trace, Format::Csv, scale))),
        Target::Pprof => Writer::Paths(&pprof::Pprof),
        Target::Collapsed => Writer::Paths(&collapsed::Collapsed),
        Target::Svg => Writer::Paths(&svg::Svg),
    }
}

/// What opens a format, and how much of it.
pub(crate) struct Viewer {
    /// Its name, and what becomes of more.
    pub(crate) says: &'static str,
    /// So many bytes.
    pub(crate) bytes: u64,
    /// So many frames on top of one another.
    pub(crate) frames: usize,
}

const MIB: u64 = 1 << 20;

/// What a format is mostly opened with; `None` where that takes any size. The figures are what makers
/// and users of these viewers report, on the cautious side.
pub(crate) fn viewer(target: Target) -> Option<Viewer> {
    let any_frames = |says, bytes| Some(Viewer { says, bytes, frames: usize::MAX });
    match target {
        Target::Perfetto => any_frames(
            "ui.perfetto.dev opens about 500 MB; with its trace_processor beside it, more",
            512 * MIB,
        ),
        Target::Chrome => any_frames("viewers of this format open about 250 MB", 256 * MIB),
        Target::Speedscope => any_frames("speedscope opens about 500 MB", 512 * MIB),
        Target::Firefox => any_frames("profiler.firefox.com opens about 500 MB", 512 * MIB),
        Target::Pprof => any_frames("pprof opens 2 GB", 2048 * MIB),
        Target::Collapsed => any_frames("readers of stacks as text open about 2 GB", 2048 * MIB),
        // 16 pixels a frame.
        Target::Svg => Some(Viewer {
            says: "browsers show images of about 2,000 frames",
            bytes: 512 * MIB,
            frames: 2000,
        }),
        Target::Jsonl | Target::Csv => None,
    }
}

/// Whether a format is no text.
pub(crate) fn is_binary(target: Target) -> bool {
    matches!(target, Target::Perfetto | Target::Pprof)
}

/// What the recorded program is called.
fn program(trace: &Trace) -> String {
    let command = trace.manifest.as_ref().map(|manifest| manifest.command.join(" "));
    command.filter(|command| !command.is_empty()).unwrap_or_else(|| "JVM".to_owned())
}

/// The process that was recorded; 1 where nobody knows.
fn process(trace: &Trace) -> u32 {
    trace.manifest.as_ref().map_or(1, |manifest| manifest.pid.max(1))
}

/// A thread's name, or what stands for one, and which of it is told, if not all.
fn thread_name(trace: &Trace, file: &ThreadFile) -> String {
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

/// What a moment is called in a timeline.
fn label(what: &emit::Instant<'_>) -> String {
    use emit::Instant;
    let text = match what {
        Instant::Note(text) => return crate::output::neutral(text).into_owned(),
        Instant::Thrown(Some(class)) => format!("exception {class}"),
        Instant::Thrown(None) => "exception".to_owned(),
        Instant::Gap(Some(events)) => {
            format!("{} missing", crate::output::plural(*events, "event"))
        }
        Instant::Gap(None) => "events missing".to_owned(),
        Instant::Paused => "recording paused".to_owned(),
        Instant::Resumed => "recording resumed".to_owned(),
    };
    crate::output::neutral(&text).into_owned()
}

/// Of which kind it is, for formats that tell kinds apart.
fn kind(what: &emit::Instant<'_>) -> &'static str {
    use emit::Instant;
    match what {
        Instant::Note(_) => "note",
        Instant::Thrown(_) => "exception",
        Instant::Gap(_) => "gap",
        Instant::Paused | Instant::Resumed => "recording",
    }
}
