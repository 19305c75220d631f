//! Parses the options of the agent, `out=DIR,target=com.app.,…`, into [`Options`]. Pure, except for reading the `config=`
//! file. The agent and the command line share this crate, so that `flow record` can refuse before a JVM starts what the
//! agent would refuse.
//!
//! Sources, the first one that has a key wins: the agent's option string; environment variables `FLOW_*` (the
//! key in capitals, `-` as `_`); the lines of `config=FILE`. In the option string a comma separates
//! options and `\,` is a comma.

#![forbid(unsafe_code)]

mod error;
pub mod filter;
mod kinds;
mod loader;
pub mod mains;
mod notice;
mod parse;
pub mod presets;
mod related;
mod sources;
#[cfg(test)]
mod tests;
mod tracked;
mod values;

pub use error::OptionError;
pub use kinds::{
    CommandLine, Durability, EngineKind, IdSource, Keep, MinFree, OnError, Overflow, Overload,
    Parts, Sampling, SnapshotOn, StreamAddress, Streaming, default_token_file,
};
pub use notice::{NOTICES, Notice};
pub use parse::{Options, parse_filter};
pub use related::Related;
pub use sources::{KEYS, Key, split};
pub use tracked::Tracked;
pub use values::{parse_bytes, patterns};
