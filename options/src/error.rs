//! What is wrong with an option.

use std::fmt;

/// An unusable option: what is wrong, where, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionError(pub(crate) String);

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionError {}
