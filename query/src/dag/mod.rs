//! Behaviours: the calls of a thread, with equal subtrees stored once.
//!
//! A *shape* is a method, how it was left, and the calls that it made: a list of shapes, each with the number of
//! consecutive calls of it. Calls that did the same, all the way down, have the same shape. Programs repeat
//! themselves: a hundred million calls of javac have 60,000 shapes. So a [`Dag`], a directed acyclic graph of
//! shapes, holds every call of a thread in a thousandth of the memory of its events, and all questions that need
//! no time are quick to answer from it.
//!
//! ```text
//! records, marks ─▶ Builder (equal shapes are one) ─▶ Dag ─▶ sums, occurrences, positions
//!                   one for each part of a thread      ├▶ names, Find (where calls of a shape are), Walk (records)
//!                                                      └▶ Join (several threads and traces) ─▶ Comparison
//! ```
//!
//! It can be [stored](Built::store) next to the thread file for the next reader. It is never needed, and never
//! believed against the events: the file has their length, and a checksum of a sample of them.
//!
//! A thread that does not repeat itself has no [`Dag`]: building it is given up where it needs more than a share of the memory,
//! or more than the caller allows. A question that needs shapes then reports that the thread is missing; sums are read from events.
//!
//! The idea is that of Larus, *Whole program paths* (PLDI 1999), and of Reiss and Renieris, *Encoding program
//! executions* (ICSE 2001). Hamou-Lhadj and Lethbridge, *Compression techniques to simplify the analysis of large
//! execution traces* (IWPC 2002), store equal subtrees of calls once; Knüpfer, *Compressed complete call graphs*
//! (ICPP 2005), answers questions on such a graph without unpacking it.

mod building;
mod joined;
mod memory;
mod search;
mod shape;

pub(crate) use self::building::StoredDag;
pub(crate) use self::joined::PairNumber;
pub use self::joined::{Comparison, Difference, Shift};
pub(crate) use self::search::{Call, Callees, SampledCall};
pub(crate) use self::search::{Matches, Ranges, Repeat};
pub use self::shape::kinds::{Outcome, ShapeId};
pub use self::shape::shapes::Shapes;

pub(crate) use self::shape::strides::Target;
#[doc(hidden)]
pub use self::{
    building::{Built, Gather, Growing, NameCalls},
    joined::{Departure, Join, Joined},
    memory::{limit_memory, most_bytes_while_recording, most_words, words_of},
    search::{Entry, Find, Occurrence, Step, Walk},
    shape::kinds::{Break, Kind, Root},
    shape::names::Behaviour,
    shape::of_thread::Dag,
};

/// The memory that the shapes of a thread may always take, in words of eight bytes: one for each shape and each run, and one
/// more for each shape. What open frames have called may take as much.
pub const MAX_SIZE: usize = 8 << 20;

/// Stored shapes are used for many questions about a thread, instead of its events, if they have at most this part of their bytes.
pub(crate) const REPEATS: u64 = 8;

/// Stored shapes are used for sums, and to open a thread that has an index, if they have at most this part of the bytes of the events that would be read: to decode them and
/// to add them up takes 30 ns a byte, and to add up events 1 ns. For a range, all shapes of the thread are decoded, too.
pub(crate) const REPEATS_OF_SUMS: u64 = 32;
