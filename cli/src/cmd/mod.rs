//! The verbs, one file or folder each; those that record are in `recording`. Verbs that write a page share `page_file`, and
//! verbs that take a process `recorded`.

pub(crate) mod calls;
pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod export;
pub(crate) mod help;
pub(crate) mod info;
#[cfg(target_os = "linux")]
pub(crate) mod listen;
mod page_file;
mod recorded;
#[cfg(target_os = "linux")]
pub(crate) mod recording;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod test_runs;
#[cfg(target_os = "linux")]
pub(crate) mod top;
pub(crate) mod view;

use crate::args::Format;

/// The most lines to show: as requested, or else `default` in text and all in JSON and CSV. A request of 0 means all.
fn line_limit(max: Option<u64>, format: Format, default: u64) -> usize {
    match max.unwrap_or(if format == Format::Text { default } else { 0 }) {
        0 => usize::MAX,
        max => usize::try_from(max).unwrap_or(usize::MAX),
    }
}
