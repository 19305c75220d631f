//! How a command ends, and its exit status.

use std::fmt;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well: exit status 0.
    Passed,
    /// Something failed, and the output names it: exit status 1.
    Failed,
}

impl Outcome {
    /// Returns the outcome of something in which nothing may fail.
    pub(crate) fn passed_if(passed: bool) -> Self {
        if passed { Self::Passed } else { Self::Failed }
    }
}

/// What a fallible function here returns.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is missing on this machine or misspelt on the command line: exit status 2.
    Usage(String),
    /// Something that should have worked did not: exit status 1.
    Failed(String),
}

impl Failure {
    /// Returns the exit status of the command.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(message) | Self::Failed(message)) = self;
        f.write_str(message)
    }
}

impl std::error::Error for Failure {}

/// Adds to an error what was being done.
pub(crate) trait Context<T> {
    /// Returns the value, or a [`Failure::Failed`] that reads `what: error`.
    ///
    /// # Errors
    ///
    /// If `self` is an error.
    fn context(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure::Failed(format!("{what}: {error}")))
    }
}
