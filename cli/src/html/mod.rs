//! A page for a browser that shows a trace of any size.
//!
//! ```text
//! records ─▶ gather (one pass) ─┬▶ timeline  calls of a thread, as boxes ─┐
//!                               ├▶ lane      when a thread was active     ├▶ data ─▶ page ─▶ one file
//!                               ├▶ flame     calls by path: a flame graph │
//!                               └▶ sums      calls, total, self           ─┘
//! ```
//!
//! The width of a box is its duration, in nanoseconds if the trace has a clock, else in numbers of calls.
//!
//! The page does not contain all calls, but those that are wide enough to be seen: every part has a budget, and what
//! exceeds a budget is counted and shown as such. The page is one file that loads nothing. `page/` has the scripts
//! that draw and react.
//!
//! Names come from class files, so they are not trusted. They reach the page as JSON that cannot end the script
//! element, the scripts turn them into text nodes only, and the page's policy forbids all other code.

mod build;
mod chart;
mod data;
mod facts;
mod flame;
mod gather;
mod kinds;
mod lane;
mod marks;
mod names;
mod page;
mod rough;
mod threads;
mod timeline;

pub(crate) use build::page;
pub(crate) use facts::Note;
