//! Reads and writes flow traces: everything recorded by one run of a JVM, in one directory.
//!
//! ```text
//! recorder ─▶ write::Canonicalizer ─▶ thread-<id>.flow ─▶ read::Timeline ─▶ calls
//!             format::{ids, methods, threads, manifest} ─▶ read::Trace
//!                                         read::Content ─▶ scan ─▶ index
//! ```
//!
//! The bytes are specified once, in [`mod@format`]. Nothing here knows a JVM, and nothing under
//! `write` opens a file.
//!
//! What these pages show is the API: the specification, and [`read`] with names and ids. Other public items, which have no
//! page, serve flow's own crates and change without notice; above all, those that write traces.
//!
//! # Fields and damage
//!
//! A struct is a record, or it has methods. A record is what a format stores, an event, or another plain value: all of its
//! fields are public, and any values of them go together. Everything else, such as [`read::Trace`], has no public field.
//!
//! What cannot be read at all is an [`Error`]. What is damaged is skipped, and what follows it is read: a reader that returns one
//! record or event after the other returns the error in its place; a reader of a whole file keeps its errors, and
//! returns them as `damage`, or by value as `into_damage`.
//!
//! # Example: what a thread did
//!
//! ```
//! use flow_codec::format::flow::Record;
//! use flow_codec::read::{FlowReader, ReadRecords};
//!
//! // enter 1, enter 2, two exits.
//! let bytes: &[u8] = &[0x81, 0x82, 0x01];
//! let mut reader = FlowReader::new(bytes);
//! let mut entered = Vec::new();
//! while let Some((_, record)) = reader.next_record()? {
//!     if let Record::Enter(method) = record {
//!         entered.push(method.get());
//!     }
//! }
//! assert_eq!(entered, [1, 2]);
//! # Ok::<(), flow_codec::Error>(())
//! ```

#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod convert;
#[doc(hidden)]
pub mod derived;
mod error;
pub mod format;
mod glob;
mod ids;
#[doc(hidden)]
pub mod index;
mod method_map;
mod method_names;
mod name;
#[doc(hidden)]
pub mod parallel;
pub mod read;
#[doc(hidden)]
pub mod scan;
mod store;
#[doc(hidden)]
pub mod write;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use error::{Error, Result};
pub use glob::Glob;
pub use ids::{Depth, MethodId, Offset, ThreadId, TraceId};
pub use method_names::MethodNames;
pub use name::{Name, NameForm, Overloads};

#[doc(hidden)]
pub use self::{
    format::leb128::Undecoded,
    method_map::MethodMap,
    name::{KeptOrigin, MADE_WORDS, Origin, argument_count, stable_key, stable_name, type_name},
};
