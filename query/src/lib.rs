//! Answers questions about flow traces, which [`flow_codec`] reads.
//!
//! ```text
//! flow_codec::read::{Timeline, Pass} ─▶ analysis (sums in one pass)
//!                     scan ─▶ index ─▶ tree::LazyTree (calls by number)
//!                                   └▶ dag::Dag (behaviours) ─▶ the sums again, in a thousandth of the time
//! Trace::merged ─▶ process::Router ─▶ processors (ordered events, live)
//! samples ─▶ profile::{LeanProfile, Frames} ─▶ analysis::PathTree, as of calls
//! ```
//!
//! [`reading`] chooses the quickest way to an answer: stored shapes, several cores, or the events one by one.
//!
//! [`open`] opens the traces of a run, and [`select`] is what a person may select of them.
//!
//! Nothing here prints, and nothing knows a JVM. Bytes are the business of [`flow_codec`].
//!
//! # Example: which methods made most calls
//!
//! ```no_run
//! use flow_codec::read::Trace;
//! use flow_query::analysis::Report;
//! use flow_query::reading::{Selected, visit_thread};
//!
//! let trace = Trace::open("flow-trace")?;
//! let mut report = Report::default();
//! for thread in &trace.files {
//!     visit_thread(thread, &Selected::all(), &mut (), &mut report);
//!     report.end_thread();
//! }
//! for row in report.rows().iter().take(10) {
//!     println!("{} {}", row.calls, trace.methods.display(row.method));
//! }
//! # Ok::<(), flow_codec::Error>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod remark;

pub mod analysis;
pub mod calls;
pub mod dag;
pub mod in_order;
pub mod open;
pub mod process;
pub mod profile;
pub mod reading;
pub mod rows;
pub mod select;
pub mod shapes;
pub mod text;
pub mod tree;

pub use self::error::Error;
pub use self::remark::Remark;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
