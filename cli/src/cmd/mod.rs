//! The verbs, one file each.

pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod detach;
pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod export;
pub(crate) mod graph;
pub(crate) mod index;
pub(crate) mod info;
pub(crate) mod man;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod tests;
