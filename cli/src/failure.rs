//! How a run ends: exit statuses and the errors that end it early.

use std::fmt;
use std::io;

use flow_query::reading::Soundness;

/// How a verb ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// Everything succeeded.
    Done,
    /// Something is missing from the result; the rest is right.
    Partial,
    /// `diff --exit-code` found a difference.
    Differs,
    /// The trace is damaged, or the verb failed.
    Damaged,
    /// The command line is wrong.
    Usage,
    /// The status of the command that `record` ran.
    Command(u8),
}

impl Status {
    /// The exit status of the process.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Done => 0,
            Self::Damaged | Self::Differs => 1,
            Self::Usage => 2,
            Self::Partial => 3,
            Self::Command(code) => code.into(),
        }
    }

    /// The worse of two: damaged, then different, then partial, then done.
    pub(crate) fn and(self, other: impl Into<Self>) -> Self {
        match (self, other.into()) {
            (Self::Done, other) => other,
            (Self::Partial, other) if other != Self::Done => other,
            (Self::Differs, Self::Damaged) => Self::Damaged,
            (status, _) => status,
        }
    }
}

impl From<Soundness> for Status {
    fn from(soundness: Soundness) -> Self {
        match soundness {
            Soundness::Whole => Self::Done,
            Soundness::Partial => Self::Partial,
            Soundness::Damaged => Self::Damaged,
        }
    }
}

/// An error that ends a verb early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The trace cannot be read at all.
    Trace(flow_codec::Error),
    /// Results cannot be written.
    Output(io::Error),
    /// Any other error: what it is, and what to do.
    Failed(String),
    /// The command line is wrong in a way that its parser does not check.
    Usage(String),
    /// `record` cannot start its command: the reason, and the exit status.
    Command(String, u8),
}

impl Failure {
    /// A temporary file cannot be created, written or read.
    pub(crate) fn temporary_file(error: io::Error) -> Self {
        Self::Failed(format!("cannot create a temporary file: {error}"))
    }

    /// Returns the error for a verb or an option that needs Linux.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn needs_linux(what: &str) -> Self {
        Self::Failed(format!(
            "{what} needs Linux; on this system, flow only reads what was recorded there"
        ))
    }

    /// The exit status for it.
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Trace(_) | Self::Output(_) | Self::Failed(_) => Status::Damaged,
            Self::Usage(_) => Status::Usage,
            Self::Command(_, code) => Status::Command(*code),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
            Self::Failed(text) | Self::Usage(text) | Self::Command(text, _) => f.write_str(text),
        }
    }
}

impl From<flow_codec::Error> for Failure {
    fn from(error: flow_codec::Error) -> Self {
        Self::Trace(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::Status::{Damaged, Differs, Done, Partial};

    #[test]
    fn the_worse_status_wins_whatever_the_order() {
        let cases = [(Done, Partial), (Partial, Damaged), (Partial, Differs), (Differs, Damaged)];
        for (a, worse) in cases {
            let b = worse;
            assert_eq!((a.and(b), b.and(a)), (worse, worse));
        }
        assert_eq!(Done.and(Done), Done);
    }
}
