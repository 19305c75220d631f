//! Notices to `flow record`, which the trace cannot hold because there is none.

use std::fs::OpenOptions;
use std::io::Write;

pub use crate::options::Notice;

use crate::logging::one_line;
use crate::options::NOTICES;

/// Appends a notice to the file, if there is one. Returns whether it will be read.
pub fn notify(notice: Notice, text: &str) -> bool {
    let Some(path) = std::env::var_os(NOTICES).filter(|path| !path.is_empty()) else {
        return false;
    };
    let file = OpenOptions::new().append(true).open(path);
    let line = notice.line(&one_line(text));
    file.is_ok_and(|mut file| file.write_all(line.as_bytes()).is_ok())
}
