//! Adapters and naive models for comparison, and helpers.

pub(crate) mod limited;
pub(crate) mod marked;
pub(crate) mod pieces;
pub(crate) mod program;
pub(crate) mod readers;
pub(crate) mod recorder;
