//! `flow report`: calls or samples, total and self of each method, as a list or a tree; other tables about calls, and of
//! lines.

mod browser;
mod coroutines;
pub(crate) mod counted;
mod filter;
mod html;
mod limit;
mod lines;
mod marked;
mod never_called;
mod paths;
mod percentiles;
mod recorded_lines;
pub(crate) mod sums;
mod table;
pub(crate) mod tree;

use flow_query::ask::resuming_methods;

use crate::args::ReportArgs;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::output::Out;
use counted::choose;
pub(crate) use filter::NONE_MEETS;
use flow_query::open::is_log;

pub(crate) fn run(args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    if !args.can_show_samples() && !args.view.lines {
        args.expect_flags_of_view(false)?;
    }
    if args.writes_page() {
        return html::run(args, out);
    }
    let may_be_samples = args.can_show_samples() && !args.rows.calls;
    let mut source = Source::open_for(&args.source.dir, may_be_samples)?;
    let has_only_samples = is_log(&args.source.dir) || source.has_only_samples();
    if args.view.lines && !(may_be_samples && has_only_samples) {
        if args.rows.samples || may_be_samples && !source.has_lines() && source.has_samples() {
            args.expect_flags_of_view(false)?;
            source.choose_part(&args.part)?;
            args.when.expect_in(&source.traces)?;
            source.report_losses();
            return lines::run(&source, args, out);
        }
        return recorded_lines::run(&args.lines()?, source, out);
    }
    let of_samples = may_be_samples && (has_only_samples || args.rows.samples);
    args.expect_flags_of_view(of_samples)?;
    choose(&mut source, &args.part, args.rows.threads(), of_samples)?;
    if !of_samples {
        args.when.expect_in(&source.traces)?;
        source.expect_calls()?;
    }
    if args.rows.tree && args.view.coroutines {
        let mut args = args.clone();
        args.part.filter.exclude.extend(source.traces.iter().flat_map(resuming_methods));
        return tree::run(&source, of_samples, &args, out);
    }
    if args.rows.is_tree() {
        return tree::run(&source, of_samples, args, out);
    }
    if let Some(kind) = args.view.paths {
        return paths::run(kind, &source, args, out);
    }
    if args.view.coroutines {
        return coroutines::run(&source, args, out);
    }
    if args.view.percentiles {
        return percentiles::run(&source, args, out);
    }
    if args.view.never_called {
        return never_called::run(&source, args, out);
    }
    if args.view.exceptions {
        return marked::exceptions::run(&source, args, out);
    }
    if let Some(by) = args.view.waits {
        return marked::waits::run(by, source, args, out);
    }
    table::table(&source, of_samples, args, out)
}
