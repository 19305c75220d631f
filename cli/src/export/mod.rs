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
mod paths;
mod perfetto;
mod pprof;
mod proto;
mod scale;
mod speedscope;
mod stacks;
mod svg;
mod target;
mod words;

use flow_codec::read::Trace;

use crate::output::{Format, Unit};

pub(crate) use emit::{Emit, Exporter};
pub(crate) use names::Numbers;
pub(crate) use paths::Paths;
pub(crate) use stacks::Stacks;
pub(crate) use target::{Target, Viewer, is_binary, viewer};

/// How a format is written.
pub(crate) enum Writer<'a> {
    /// Call by call.
    Timeline(Box<dyn Exporter + 'a>),
    /// Path by path.
    Paths(&'static dyn Paths),
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
