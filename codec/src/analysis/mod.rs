//! Answers about call trees, each computed in one pass over the events.

mod numbering;
mod report;

pub use report::{Report, ReportRow};
