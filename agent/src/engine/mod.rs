//! How calls are seen. An engine turns events of the JVM into recorder calls; the rest of the agent does not
//! know which engine runs.

pub mod events;
pub mod instrument;
mod skip_list;
