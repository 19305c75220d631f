//! Independent, simple models of the formats, and helpers. Also compiled by the fuzz targets.

pub(crate) mod limited;
pub(crate) mod marked;
pub(crate) mod naive_journal;
pub(crate) mod naive_times;
pub(crate) mod naive_tree;
pub(crate) mod pieces;
pub(crate) mod program;
pub(crate) mod readers;
