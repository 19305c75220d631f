//! Traces in the formats of other tools, one file a format.
//!
//! ```text
//! timeline of a thread ─▶ emit ─▶ Exporter: perfetto chrome speedscope firefox jsonl csv hpl
//! timeline of a thread ─▶ emit ─▶ parquet
//! timelines with instructions, merged ─▶ Executions ─▶ blinky
//! records, marks ─▶ analysis::Graph, samples ─▶ profile::Frames ─▶ Stacks (weights by path): collapsed svg pprof
//! ```
//!
//! A format only turns calls into bytes and appends them to a buffer; it neither reads a trace nor writes a file.
//! Timelines are written while they are read, with memory for the open frames and for the names of methods. The
//! other formats need the memory of their tree.

mod blinky;
mod emit;
mod labels;
mod names;
mod parquet;
mod paths;
mod proto;
mod scale;
mod target;
mod timelines;

use flow_codec::read::Trace;

use crate::output::{Format, Unit};

pub(crate) use blinky::Blinky;
pub(crate) use emit::{Emit, Exporter, Size};
pub(crate) use labels::short_program;
pub(crate) use names::MethodNumbers;
pub(crate) use parquet::Parquet;
pub(crate) use paths::path_format::PathFormat;
pub(crate) use paths::stacks::Stacks;
pub(crate) use target::{Target, Viewer, is_binary, viewer};
pub(crate) use timelines::hpl::HplSamples;

/// The writer of a format.
pub(crate) enum Writer<'a> {
    /// It writes calls one by one.
    Timeline(Box<dyn Exporter + 'a>),
    /// It writes instructions one by one.
    Instructions(Box<Blinky<'a>>),
    /// It writes calls into several files.
    Tables,
    /// It writes sums by path.
    Paths(&'static dyn PathFormat),
}

/// Creates the writer of a format.
pub(crate) fn writer(target: Target, trace: &Trace, scale: Unit) -> Writer<'_> {
    match target {
        Target::Perfetto => {
            Writer::Timeline(Box::new(timelines::perfetto::Perfetto::new(trace, scale)))
        }
        Target::Chrome => Writer::Timeline(Box::new(timelines::chrome::Chrome::new(trace, scale))),
        Target::Speedscope => {
            Writer::Timeline(Box::new(timelines::speedscope::Speedscope::new(trace, scale)))
        }
        Target::Firefox => {
            Writer::Timeline(Box::new(timelines::firefox::Firefox::new(trace, scale)))
        }
        Target::Jsonl => {
            Writer::Timeline(Box::new(timelines::calls::Calls::new(trace, Format::Json, scale)))
        }
        Target::Csv => {
            Writer::Timeline(Box::new(timelines::calls::Calls::new(trace, Format::Csv, scale)))
        }
        Target::Hpl => Writer::Timeline(Box::new(timelines::hpl::Hpl::new(trace, scale))),
        Target::Blinky => Writer::Instructions(Box::new(Blinky::new(trace))),
        Target::Parquet => Writer::Tables,
        Target::Pprof => Writer::Paths(&paths::pprof::Pprof),
        Target::Collapsed => Writer::Paths(&paths::collapsed::Collapsed),
        Target::Svg => Writer::Paths(&paths::svg::Svg),
    }
}
