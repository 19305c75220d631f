//! `flow report`: calls, total and self of each method; and other tables about calls.

mod browser;
mod edges;
mod exceptions;
mod html;
mod lines;
mod paths;
mod slowest;
mod table;

use flow_query::analysis::Side;

use crate::args::ReportArgs;
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::output::Out;

/// Lines shown in text by default.
const DEFAULT_ROWS: u64 = 40;

pub(crate) fn run(args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    if args.writes_page() {
        return html::run(args, out);
    }
    let mut source = Source::open(&args.source)?;
    source.choose_part(&args.part)?;
    args.when.expect_in(&source.traces)?;
    source.report_losses();
    if !args.callers.is_empty() {
        return edges::run(Side::Callers, &args.callers, &source, args, out);
    }
    if !args.callees.is_empty() {
        return edges::run(Side::Callees, &args.callees, &source, args, out);
    }
    if let Some(kind) = args.paths {
        return paths::run(kind, &source, args, out);
    }
    if let Some(count) = args.slowest {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        return slowest::run(count, &source, args, out);
    }
    if args.exceptions {
        return exceptions::run(&source, args, out);
    }
    if args.lines {
        return lines::run(&source, args, out);
    }
    table::table(&source, args, out)
}

/// The most lines to show.
fn max_lines(args: &ReportArgs) -> usize {
    line_limit(args.max, args.source.format, DEFAULT_ROWS)
}
