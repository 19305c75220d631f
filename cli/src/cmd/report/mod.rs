//! `flow report`: calls, total and self of each method; and other tables about calls, as a tree (`graph`), of samples
//! (`profile`), and of lines.

mod browser;
mod edges;
mod exceptions;
mod graph;
mod html;
mod lines;
mod paths;
pub(crate) mod profile;
mod recorded_lines;
mod table;

use flow_query::analysis::Side;

use crate::args::{Counted, ReportArgs};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::logs::is_log;
use crate::input::source::Source;
use crate::output::Out;

/// Lines shown in text by default.
const DEFAULT_ROWS: u64 = 40;

pub(crate) fn run(args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    if !args.can_show_samples() && !args.view.lines {
        args.expect_flags_of_view()?;
    }
    if args.writes_page() {
        return html::run(args, out);
    }
    let may_be_samples = args.can_show_samples() && !args.rows.calls;
    if may_be_samples && is_log(&args.source.dir) {
        return profile::run(&args.profile(Counted::Samples)?, [None, None], out);
    }
    let mut source = Source::open(&args.source)?;
    if may_be_samples && source.has_only_samples() {
        return profile::run(&args.profile(Counted::Samples)?, [Some(source), None], out);
    }
    if args.view.lines {
        let is_of_samples = args.rows.samples || !source.has_lines() && source.has_samples();
        let is_file = args.view.lcov || !args.view.sources.is_empty();
        if is_file || !is_of_samples {
            return recorded_lines::run(&args.lines()?, source, out);
        }
    } else if args.rows.samples {
        return profile::run(&args.profile(Counted::Samples)?, [Some(source), None], out);
    } else if args.can_show_samples() && args.shows_calls_like_samples() {
        return profile::run(&args.profile(Counted::Calls)?, [Some(source), None], out);
    } else if args.rows.tree {
        return graph::run(&args.tree()?, source, out);
    }
    args.expect_flags_of_view()?;
    source.choose_part(&args.part)?;
    args.when.expect_in(&source.traces)?;
    source.report_losses();
    if !args.rows.callers.is_empty() {
        return edges::run(Side::Callers, &args.rows.callers, &source, args, out);
    }
    if !args.rows.callees.is_empty() {
        return edges::run(Side::Callees, &args.rows.callees, &source, args, out);
    }
    if let Some(kind) = args.view.paths {
        return paths::run(kind, &source, args, out);
    }
    if args.view.exceptions {
        return exceptions::run(&source, args, out);
    }
    if args.view.lines {
        return lines::run(&source, args, out);
    }
    table::table(&source, args, out)
}

/// The most lines to show.
fn max_lines(args: &ReportArgs) -> usize {
    line_limit(args.max, args.source.format, DEFAULT_ROWS)
}
