//! Traces in the formats of other tools, one file a format.
//!
//! ```text
//! timeline of a thread ─▶ emit ─▶ Exporter: perfetto chrome speedscope firefox otlp jsonl csv hpl
//! timeline of a thread ─▶ emit ─▶ parquet: calls
//! shapes of a thread ─▶ ShapeFact ─▶ parquet: shapes
//! timelines of all threads ─▶ emit ─▶ sequence: mermaid plantuml
//! dag::Comparison (of flow diff) ─▶ sequence: mermaid plantuml
//! timelines with instructions, merged ─▶ Executions ─▶ blinky
//! lines ─▶ ask::Coverage ─▶ coverage: lcov cobertura jacoco
//! records, marks ─▶ analysis::Graph, samples ─▶ profile::Frames ─▶ Stacks (weights by path): collapsed svg pprof
//! ```
//!
//! A format only turns calls into bytes and appends them to a buffer; it neither reads a trace nor writes a file.
//! Timelines are written while they are read, with memory for the open frames and for the names of methods. The
//! other formats need the memory of their tree.

mod blinky;
mod coverage;
mod emit;
mod handed;
mod labels;
mod names;
mod of_presets;
mod parquet;
mod paths;
mod proto;
mod scale;
mod sequence;
mod target;
mod timelines;

pub(crate) use blinky::Blinky;
pub(crate) use coverage::{CoverageFormat, Document, lcov, write as write_coverage};
pub(crate) use emit::{Emit, Exporter, Size};
pub(crate) use labels::short_program;
pub(crate) use names::MethodNumbers;
pub(crate) use of_presets::OfPresets;
pub(crate) use parquet::{MethodSums, Origin, Parquet, ShapesTables};
pub(crate) use paths::{PathFormat, Stacks};
pub(crate) use sequence::{DifferenceDiagram, DrawnThread, MAX_MESSAGES};
pub(crate) use target::{Target, Viewer, Writer, is_binary, viewer, writer};
pub(crate) use timelines::HplSamples;
