//! The verbs, one file or folder each; `agent` and `choose` are shared by those that record,
//! `page_file` by those that write a page, `recorded` by those that take a process.

mod agent;
pub(crate) mod attach;
pub(crate) mod check;
mod choose;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod detach;
pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod graph;
pub(crate) mod grep;
pub(crate) mod index;
pub(crate) mod info;
pub(crate) mod lines;
pub(crate) mod listen;
pub(crate) mod man;
mod page_file;
pub(crate) mod profile;
pub(crate) mod record;
mod recorded;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod shapes;
pub(crate) mod snapshot;
pub(crate) mod test_runs;
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
