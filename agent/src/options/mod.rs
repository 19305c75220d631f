//! Parses `out=DIR,target=com.app.,…` into [`Options`]. Pure, except for reading the `config=` file.
//!
//! Sources, the first one that has a key wins: the agent's option string; environment variables `FLOW_*` (the
//! key in capitals, `-` as `_`); the lines of `config=FILE`. In the option string a comma separates
//! options and `\,` is a comma.

mod kinds;
mod parse;
mod request;
mod sources;
#[cfg(test)]
mod tests;
mod values;

pub use kinds::{CommandLine, Durability, EngineKind, IdSource, OnError, Overload};
pub use parse::{OptionError, Options};
pub use request::{Action, Request};
