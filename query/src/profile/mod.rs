//! Samples added up: where the time of a program goes.
//!
//! ```text
//! samples of a log ─▶ Collector ────▶ LeanProfile ─┐
//! samples of a trace ─▶ TraceProfile ▶ LeanProfile ─┤
//! calls added up (analysis::PathTree) ─────────────┴▶ Profile ─▶ flat, callers, callees; where; PathTree for exports
//! ```
//!
//! A [`LeanProfile`] has what a log holds, by its numbers of threads and methods. A [`Profile`] has the same by names, for
//! one run or for two: threads with the same name may be one, and so may frames at different lines of a method.
//!
//! # How long a sample lasts
//!
//! A log says when samples were taken, not for how long a stack lasted. So it lasts until the next sample, by one of two
//! [rules](GapRule). The last one lasts as long as the one before.

mod by_name;
mod calls;
mod collect;
mod lean;
mod numbered;
mod paths;
mod sampled;
mod views;

pub use by_name::{
    FrameGrouping, NumbersOfRuns, Profile, ProfileFrame, ProfileRow, ProfileThread, ThreadGrouping,
};
pub use calls::{write_calls_of_log, write_calls_of_samples};
pub use collect::{Collector, GapRule};
pub use lean::{LeanFrame, LeanMethod, LeanNode, LeanPlace, LeanProfile, Numbers, SampleWeight};
pub use paths::ProfilePaths;
pub use sampled::TraceProfile;
