//! From what a recorder appends to what a trace holds. Bytes in, bytes out: nothing here opens a file.

mod block;
mod condense;
mod event;
mod fold;
mod marked;
mod masks;
mod notes;
mod output;
mod resume;
mod runs;
mod settle;
mod timed;

pub use crate::format::raw::EXIT as RAW_EXIT;
pub use condense::Condensed;
pub(crate) use event::first_invalid;
pub use event::{EventCounts, count_events};
pub use fold::Fold;
pub use marked::{Base, EncodedMarks, Tick};
