//! Notices to `flow record`, which the trace cannot hold because there is none.

use std::fs::OpenOptions;
use std::io::Write;

use crate::logging::one_line;

/// The variable with the path of a file to which notices are appended. `flow record` sets it, and reads the file when its
/// command has ended.
const NOTICES: &str = "FLOW_NOTICES";

/// What a notice is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The agent refuses to start; the text is the reason.
    Refused,
    /// A recording without calls was replaced by the earlier trace; the text is the directory.
    NoCalls,
}

impl Notice {
    const fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::NoCalls => "no-calls",
        }
    }
}

/// Appends a notice to the file, if there is one. Returns whether it will be read.
pub fn notify(notice: Notice, text: &str) -> bool {
    let Some(path) = std::env::var_os(NOTICES).filter(|path| !path.is_empty()) else {
        return false;
    };
    let file = OpenOptions::new().append(true).open(path);
    let line = format!("{} {}\n", notice.word(), one_line(text));
    file.is_ok_and(|mut file| file.write_all(line.as_bytes()).is_ok())
}
