//! `flow info`: what was run, how it was recorded, how it ended, and its threads.

mod log;
mod marks;
mod print;
mod runs;
mod threads;

use std::io::Write;

use self::print::print;
use self::threads::print_threads;
use crate::args::{Format, InfoArgs};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::output::{Out, Progress, Records, left_out, plural};
use flow_query::ask::Info;
use flow_query::open::is_log;
use flow_query::rows::ThreadRow;
use flow_query::select::Threads;

/// Threads shown in text by default.
const DEFAULT_ROWS: u64 = 40;

pub(crate) fn run(args: &InfoArgs, out: &mut Out) -> Result<Status, Failure> {
    if args.all {
        return runs::run(&args.source, out);
    }
    if is_log(&args.source.dir) && args.source.format == Format::Text {
        return log::run(args, out);
    }
    let mut source = Source::open(&args.source)?;
    source.choose(&args.threads)?;
    let format = args.source.format;
    let max = line_limit(args.max, format, DEFAULT_ROWS);
    let question = Info::of(Threads::of(&args.threads.patterns))
        .sorted_by(args.sort)
        .at_most(max)
        .join_alike(format == Format::Text && !args.all_threads && !args.verbose);
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    let mut records = match format {
        Format::Text => None,
        _ => Some(Records::new::<ThreadRow<'_>>(format, true, out)?),
    };
    for (number, trace) in source.traces.iter().enumerate() {
        let info = question.about(trace, &mut progress);
        status = status.and(info.soundness);
        if let Some(records) = &mut records {
            records.begin(&source.name(trace.dir()));
            match format {
                Format::Csv => {
                    info.threads.iter().try_for_each(|thread| records.row(&thread.row, out))?
                }
                _ => records.row(&info.row(), out)?,
            }
        } else {
            if number > 0 {
                out.write_all(b"\n")?;
            }
            out.heading(&format!("trace {}", trace.dir().display()))?;
            print(args, &info, out)?;
            print_threads(&info.threads, out)?;
        }
        if info.left > 0 {
            let text = left_out(&plural(info.left, "more thread"), max);
            out.remark(format, source.place(trace.dir()).as_deref(), &text)?;
        }
    }
    // The process ends: to free a million threads one by one takes longer than to print them.
    std::mem::forget(source);
    Ok(status)
}
