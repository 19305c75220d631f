//! Answers questions about traces of [flow](flow_codec): which calls, which tests, what differs.
//!
//! # Example: the slowest calls of a method, with their arguments
//!
//! ```no_run
//! use flow_query::ask::Calls;
//! use flow_query::open::Traces;
//! use flow_query::text::ValueTexts;
//!
//! let mut traces = Traces::open("flow-trace")?;
//! let slowest = Calls::of_method("Orders#total").longest().with_values().at_most(10);
//! for call in slowest.find(&mut traces, &mut ())?.0 {
//!     let methods = traces[call.trace].methods();
//!     let values = ValueTexts::new(methods, Some(call.method)).all(&call.values);
//!     println!("{} ns  {}{values}", call.times.duration_ns, methods.display(call.method));
//! }
//! # Ok::<(), flow_query::Error>(())
//! ```
//!
//! | module | question |
//! |---|---|
//! | [`open`], [`select`] | which traces, and what of them |
//! | [`ask`] | which calls, with which values, how long; in how many ways a method ran; which tests, and what they called; how the calls of two runs differ; which calls ended since the last look at a program that runs |
//! | [`analysis`], [`reading`] | which methods and paths made most calls, or took most time |
//! | [`process`] | the events of all threads in one order, also while they are recorded |
//! | [`rows`](mod@rows), [`text`] | answers as tables and JSON show them; values and counts in words |
//!
//! [`reading`] chooses the quickest way to an answer: stored shapes, several cores, or the events one by one.
//!
//! What these pages show is the API. Other public items, which have no page, serve flow's own crates and change without notice.
//!
//! ```text
//! open::Traces, select::Select ─▶ ask::Calls, … ─▶ answers ─▶ rows
//!                                 reading: events ─▶ analysis (sums in one pass)
//!                                          shapes ─▶ the sums again, in a thousandth of the time
//!                                 process::Router ─▶ processors (ordered events, live)
//! ```
//!
//! # Fields and damage
//!
//! A struct is a record, or it has methods. A record is a [row](mod@rows), another part of an answer, or the options of a question:
//! all of its fields are public, and any values of them go together. Everything else has no public field.
//!
//! What is damaged is skipped, and everything else is read. Each error reaches the [`Listener`](reading::Listener) of a question
//! once, and the [`Soundness`](reading::Soundness) of the answer shows whether something is missing. [`open::Traces`] are opened
//! before there is a question, so they keep what is wrong with them: as [remarks](Remark), and each trace [its
//! damage](flow_codec::read::Trace::damage). A view that follows a program has the damage of each
//! [pass](process::Passed).
//!
//! Nothing here prints, and nothing knows a JVM. Bytes are the business of [`flow_codec`].

#![forbid(unsafe_code)]

mod error;
mod remark;

pub mod analysis;
pub mod ask;
pub mod dag;
#[doc(hidden)]
pub mod in_order;
pub mod open;
pub mod process;
#[doc(hidden)]
pub mod profile;
pub mod reading;
pub mod rows;
pub mod select;
pub mod shapes;
pub mod text;
#[doc(hidden)]
pub mod tree;

pub use self::error::Error;
pub use self::remark::Remark;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
