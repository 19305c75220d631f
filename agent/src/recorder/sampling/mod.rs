//! Threads of the agent that sample: positions of threads for times, and stacks.

pub mod sampler;
pub(super) mod stacks;
