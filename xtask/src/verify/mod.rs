//! Checks that need other programs: JVMs, viewers and browsers.

pub(crate) mod corpus;
pub(crate) mod exports;
pub(crate) mod html;
pub(crate) mod mcp;
mod samples;
