//! An independent model of the formats of a trace, for the tests of `flow-codec` and for the end-to-end tests.
//!
//! It is written from the specification in `codec/src/format/` and shares no code with `flow-codec`. It is meant to
//! be obviously right, not fast: everything is in memory, and every byte is read one by one. What flow writes is
//! canonical, so the functions that read whole files panic at anything else. Only [`decode`] and [`parse`], which
//! the tests feed with arbitrary bytes, accept damage.

mod blinky;
mod container;
mod flow;
mod hpl;
mod journal;
mod leb128;
mod marks;
mod raw;
mod samples;
mod stream;
mod thread;

pub use blinky::{Blinky, BlinkyExecution, BlinkyInstruction, BlinkyMethod};
pub use container::{decode_container, part_identity};
pub use flow::{End, Event, Record, Stream, decode, decode_canonical, encode};
pub use hpl::{HplEnd, HplRecord, decode_hpl};
pub use journal::{OpenChunk, Tick, journal_identity, open_chunks, open_lines};
pub use marks::{Mark, decode_marks, sequence_numbers};
pub use raw::{
    CanonicalEvent, Canonicalizer, Detail, RawEvent, canonicalize, canonicalize_marked, parse,
};
pub use samples::{Sample, SampleFrame, decode_samples};
pub use stream::{StreamMessage, decode_messages};
pub use thread::read_thread;
