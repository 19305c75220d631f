//! From a chunk to the sink.

pub(super) mod ahead;
pub(super) mod checkpoint;
pub(super) mod ended;
pub(super) mod full;
pub(super) mod idle;
pub(super) mod queue;
pub(super) mod writer;
