//! What is inserted into a method, and where.

pub(super) mod accesses;
pub(super) mod catch;
pub(super) mod constructor;
pub(super) mod handlers;
pub(super) mod leaf;
pub(super) mod lines;
pub(super) mod plan;
pub(super) mod snippet;
pub(super) mod steps;
pub(super) mod values;
