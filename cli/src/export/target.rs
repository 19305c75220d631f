//! The formats: what writes each, and the limits of the programs that open them.

use clap::ValueEnum;
use flow_codec::read::Trace;

use super::blinky::Blinky;
use super::emit::Exporter;
use super::of_presets::OfPresets;
use super::paths::{Collapsed, OtlpProfile, PathFormat, Pprof, Svg};
use super::sequence::Sequence;
use super::timelines::{Calls, Chrome, Firefox, Hpl, Otlp, Perfetto, Speedscope};
use crate::output::{Format, Unit};

/// A format, by the tool that reads it.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// A timeline for ui.perfetto.dev, which can open the most calls
    Perfetto,
    /// A timeline in the Trace Event format, which many tools read
    Chrome,
    /// A timeline for speedscope.app
    Speedscope,
    /// A timeline for profiler.firefox.com
    Firefox,
    /// Experimental: spans of OpenTelemetry, for collectors and tracing backends
    Otlp,
    /// Calls by path, for pprof
    Pprof,
    /// Experimental: calls by path, as a profile of OpenTelemetry
    OtlpProfile,
    /// Calls by path as lines of text, for flame graph tools
    Collapsed,
    /// A flame graph
    Svg,
    /// A sequence diagram of at most 120 calls, for Mermaid
    Mermaid,
    /// A sequence diagram of at most 120 calls, for PlantUML
    #[value(name = "plantuml")]
    PlantUml,
    /// A JSON object for each call
    Jsonl,
    /// A row for each call
    Csv,
    /// Tables for databases and data frames, in a new directory that --out names
    Parquet,
    /// A log of samples for Honest Profiler, one for each change of a stack
    Hpl,
    /// Lines of text for each instruction that ran, in the format of blinky
    Blinky,
}

impl Target {
    /// Returns whether the output is JSON.
    pub(crate) fn is_json(self) -> bool {
        matches!(self, Self::Chrome | Self::Speedscope | Self::Firefox | Self::Otlp | Self::Jsonl)
    }

    /// Returns whether a row is a call, with its number.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Self::Jsonl | Self::Csv | Self::Parquet)
    }

    /// Returns whether the numbers of calls are needed.
    pub(crate) fn numbers_calls(self, scale: Unit) -> bool {
        match self {
            // A timeline by calls begins with the part that is exported.
            Self::Perfetto => scale != Unit::Calls,
            _ => self.is_table() || self.shows_hand_overs(),
        }
    }

    /// Returns whether the contexts of calls are shown.
    pub(crate) fn shows_contexts(self) -> bool {
        matches!(self, Self::Parquet | Self::Otlp)
    }

    /// Returns whether calls are linked with what they hand to other threads.
    pub(crate) fn shows_hand_overs(self) -> bool {
        matches!(self, Self::Perfetto | Self::Otlp | Self::Mermaid | Self::PlantUml)
    }

    /// Returns whether calls are written one by one, not as sums by path.
    pub(crate) fn is_timeline(self) -> bool {
        !matches!(self, Self::Pprof | Self::OtlpProfile | Self::Collapsed | Self::Svg)
    }
}

/// The writer of a format.
pub(crate) enum Writer<'a> {
    /// Writes calls one by one.
    Timeline(Box<dyn Exporter + 'a>),
    /// Writes instructions one by one.
    Instructions(Box<Blinky<'a>>),
    /// Writes calls into several files.
    Tables,
    /// Writes sums by path.
    Paths(&'static dyn PathFormat),
}

/// Creates the writer of a format.
pub(crate) fn writer<'a>(
    target: Target,
    trace: &'a Trace,
    scale: Unit,
    of_presets: &'a OfPresets,
) -> Writer<'a> {
    let exporter: Box<dyn Exporter> = match target {
        Target::Perfetto => Box::new(Perfetto::new(trace, scale, &of_presets.handed)),
        Target::Chrome => Box::new(Chrome::new(trace, scale)),
        Target::Speedscope => Box::new(Speedscope::new(trace, scale)),
        Target::Firefox => Box::new(Firefox::new(trace, scale)),
        Target::Otlp => Box::new(Otlp::new(trace, of_presets)),
        Target::Mermaid => Box::new(Sequence::mermaid(trace, &of_presets.handed)),
        Target::PlantUml => Box::new(Sequence::plantuml(trace, &of_presets.handed)),
        Target::Jsonl => Box::new(Calls::new(trace, Format::Json, scale)),
        Target::Csv => Box::new(Calls::new(trace, Format::Csv, scale)),
        Target::Hpl => Box::new(Hpl::new(trace, scale)),
        Target::Blinky => return Writer::Instructions(Box::new(Blinky::new(trace))),
        Target::Parquet => return Writer::Tables,
        Target::Pprof => return Writer::Paths(&Pprof),
        Target::OtlpProfile => return Writer::Paths(&OtlpProfile),
        Target::Collapsed => return Writer::Paths(&Collapsed),
        Target::Svg => return Writer::Paths(&Svg),
    };
    Writer::Timeline(exporter)
}

/// A program that opens a format, and how much it can open.
pub(crate) struct Viewer {
    /// The limit in words, with the name of the program.
    pub(crate) limit: &'static str,
    /// The largest file.
    pub(crate) bytes: u64,
    /// The most frames on top of one another.
    pub(crate) frames: usize,
}

const MIB: u64 = 1 << 20;

/// The usual viewer of a format; `None` if there is no limit. The figures are cautious readings of what the
/// makers and users of these viewers report.
pub(crate) fn viewer(target: Target) -> Option<Viewer> {
    let any_frames = |limit, bytes| Some(Viewer { limit, bytes, frames: usize::MAX });
    match target {
        Target::Perfetto => any_frames(
            "ui.perfetto.dev opens about 500 MB, or more if trace_processor runs on your machine",
            512 * MIB,
        ),
        Target::Chrome => any_frames("viewers of this format open about 250 MB", 256 * MIB),
        Target::Speedscope => any_frames("speedscope opens about 500 MB", 512 * MIB),
        Target::Firefox => any_frames("profiler.firefox.com opens about 500 MB", 512 * MIB),
        Target::OtlpProfile => {
            any_frames("collectors take 20 MB in a request by default", 20 * MIB)
        }
        Target::Otlp => any_frames("tracing backends take little of one trace", 64 * MIB),
        Target::Pprof => any_frames("pprof opens 2 GB", 2048 * MIB),
        Target::Collapsed => any_frames("readers of stacks as text open about 2 GB", 2048 * MIB),
        // A frame takes 16 pixels.
        Target::Svg => Some(Viewer {
            limit: "browsers show images of about 2,000 frames",
            bytes: 512 * MIB,
            frames: 2000,
        }),
        // blinky's reader took 6 s for 384 MB, on a virtual machine that was busy.
        Target::Hpl => any_frames("Honest Profiler reads 2 GB in about half a minute", 2048 * MIB),
        Target::Jsonl | Target::Csv | Target::Parquet | Target::Blinky => None,
        // They are never large.
        Target::Mermaid | Target::PlantUml => None,
    }
}

/// Returns whether a format is not text.
pub(crate) fn is_binary(target: Target) -> bool {
    matches!(
        target,
        Target::Perfetto | Target::Pprof | Target::OtlpProfile | Target::Parquet | Target::Hpl
    )
}
