//! Checks that need other programs: JVMs, viewers, browsers and Wine.

pub(crate) mod corpus;
pub(crate) mod exports;
pub(crate) mod html;
pub(crate) mod mcp;
mod samples;
pub(crate) mod windows;
