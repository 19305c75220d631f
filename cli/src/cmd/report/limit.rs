//! How many lines the views of `flow report` print.

use crate::args::ReportArgs;
use crate::cmd::line_limit;

/// Lines shown in text by default.
const DEFAULT_ROWS: u64 = 40;

/// The most lines to show.
pub(super) fn max_lines(args: &ReportArgs) -> usize {
    line_limit(args.max, args.source.format, DEFAULT_ROWS)
}
