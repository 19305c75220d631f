//! How calls are seen. An engine turns what the JVM tells into recorder calls; the rest of the agent
//! does not know which one runs.

pub mod events;
pub mod instrument;
mod skip_list;
