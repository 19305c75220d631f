//! Raw chunks to canonical `.flow` and marks. Bytes in, bytes out: nothing here opens a file.

mod block;
mod canonicalize;
mod condense;
mod container;
mod encoded_marks;
mod event;
mod marked;
mod masks;
mod net_effect;
mod output;
mod pending;
mod resolve;
mod resume;
mod runs;
mod timed;

pub use canonicalize::Canonicalizer;
pub use condense::Condensed;
pub use container::{
    Compression, ContainerWriter, MAX_GROUPED_BYTES, PIECE_BYTES, Packer, PartStart, PartTracker,
};
pub use encoded_marks::{Base, EncodedMarks, Sample, SampleKind};
pub(crate) use event::first_invalid;
pub use event::{EventCounts, count_events};
pub use net_effect::NetEffect;
