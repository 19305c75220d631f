//! From what a recorder appends to what a trace holds. Bytes in, bytes out: nothing here opens a
//! file.

mod fold;

pub use fold::{EventCounts, Fold, RAW_EXIT, count_events};
