//! Samples added up: where the time of a program goes.
//!
//! ```text
//! samples of a log ─▶ Collector ────▶ LeanProfile ─┐
//! samples of a trace ─▶ TraceProfile ▶ LeanProfile ─┴▶ Frames ─▶ analysis::PathTree, as of calls
//! ```
//!
//! A [`LeanProfile`] has what a log holds, by its numbers of threads and methods. [`Frames`] have names, and may be one at
//! different lines of a method. They add up samples of selected threads to the same
//! [tree of paths](crate::analysis::PathTree) as calls, with the same views.
//!
//! # How long a sample lasts
//!
//! A log says when samples were taken, not for how long a stack lasted. So it lasts until the next sample, by one of two
//! [rules](GapRule). The last one lasts as long as the one before.

mod calls;
mod collect;
mod frames;
mod lean;
mod numbered;
mod sampled;

pub(crate) use calls::{write_calls_of_log, write_calls_of_samples};
pub use collect::{Collector, GapRule};
pub use frames::{Frame, FrameGrouping, Frames};
pub use lean::{LeanFrame, LeanNode, LeanPlace, LeanProfile, Numbers, SampleWeight};
pub use sampled::TraceProfile;
