//! From flags to the selected threads, tests, methods and times of a trace, and their events.

pub(crate) mod conditions;
pub(crate) mod empty_run;
pub(crate) mod flags;
pub(crate) mod git;
pub(crate) mod library;
pub(crate) mod newest;
pub(crate) mod place;
pub(crate) mod samples;
pub(crate) mod source;
pub(crate) mod sources;
pub(crate) mod stdin;
pub(crate) mod times;
pub(crate) mod unanswered;
pub(crate) mod values;
