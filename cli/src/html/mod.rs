//! A page for a browser that shows a trace of any size.
//!
//! ```text
//! records ─┬▶ gather (one pass) ─┬▶ timeline  calls of a thread, as boxes ─┐
//!          │                     ├▶ lane      when a thread was active     │
//!          │                     ├▶ flame     calls by path: a flame graph ├▶ data ─▶ page ─▶ one file
//!          │                     ├▶ of_calls  times, values, exceptions    │
//!          │                     └▶ sums      calls, total, self           │
//!          └▶ shapes  all calls, with equal subtrees stored once          ─┘
//! ```
//!
//! The width of a box is its duration, in nanoseconds if the trace has a clock, else in numbers of calls.
//!
//! The charts do not have all calls, but those that are wide enough to be seen. The shapes have all of them, without
//! exact times. Every part has a budget, and what exceeds a budget is counted and shown as such. The page is one file
//! that loads nothing. `page/` has the scripts that draw and react.
//!
//! Names come from class files, so they are not trusted. They reach the page as JSON that cannot end the script
//! element, the scripts turn them into text nodes only, and the page's policy forbids all other code.

mod build;
mod charts;
mod data;
mod diff;
mod facts;
mod marks;
mod names;
mod numbers;
mod of_calls;
mod page;
mod panels;
mod rough;
mod shapes;
mod threads;

pub(crate) use build::page;
pub(crate) use diff::{Compared, ComparedThread, diff_page};
pub(crate) use facts::Note;
