//! Formats that add up calls by path.

pub(super) mod collapsed;
pub(super) mod path_format;
pub(super) mod pprof;
pub(super) mod stacks;
pub(super) mod svg;
