//! `flow info`: what was run, how it was recorded, how it ended, and its threads.

mod log;
mod marks;
mod print;
mod threads;

use std::io::Write;
use std::thread;

use crate::args::{Format, InfoArgs, ThreadKey};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::state::State;
use crate::output::{Out, Progress, csv_fields, left_out, plural};
use flow_query::open::is_log;
use marks::MarkCounts;
use print::{TraceLine, TraceSums, print};
use threads::{Rows, print_threads, read_threads};

/// Threads shown in text by default.
const DEFAULT_ROWS: u64 = 40;

pub(crate) fn run(args: &InfoArgs, out: &mut Out) -> Result<Status, Failure> {
    if is_log(&args.source.dir) && args.source.format == Format::Text {
        return log::run(args, out);
    }
    let mut source = Source::open(&args.source)?;
    source.choose(&args.threads)?;
    let format = args.source.format;
    if format == Format::Csv {
        writeln!(out, "trace,thread,name,kind,calls,max_frames,bytes,state,cpu_ns")?;
    }
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    let mut begun = false;
    for trace in &source.traces {
        let max = line_limit(args.max, format, DEFAULT_ROWS);
        // In another order, the first ones are known after all were read.
        let most = if args.sort == ThreadKey::Thread { max } else { usize::MAX };
        let mut rows =
            Rows::new(format == Format::Text && !args.all_threads && !args.verbose, most);
        // Beside each other, because one thread makes all rows.
        let marks = thread::scope(|scope| {
            let marks = scope.spawn(|| MarkCounts::read(trace));
            status = status.and(read_threads(args, trace, &mut rows, &mut progress));
            marks.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let sums = TraceSums::new(args, trace, &rows, marks);
        let (threads, left) = rows.sorted(args.sort, max);
        let name = source.name(&trace.dir);
        match format {
            Format::Text => {
                if std::mem::replace(&mut begun, true) {
                    out.write_all(b"\n")?;
                }
                out.heading(&format!("trace {}", trace.dir.display()))?;
                print(args, trace, &sums, out)?;
                print_threads(&threads, out)?;
            }
            Format::Json => {
                let shapes = Some(sums.shapes).filter(|shapes| shapes.threads > 0);
                let line = TraceLine {
                    trace: &name,
                    state: State::of(trace).word(),
                    methods: trace.methods.met(),
                    calls: sums.calls,
                    bytes: sums.bytes,
                    shapes: shapes.map(|shapes| shapes.count),
                    shapes_bytes: shapes.map(|shapes| shapes.bytes),
                    marks: &sums.marks,
                    manifest: trace.manifest.as_ref(),
                    threads: &threads,
                };
                serde_json::to_writer(&mut *out, &line)?;
                out.write_all(b"\n")?;
            }
            Format::Csv => {
                for thread in &threads {
                    let fields = thread.fields();
                    let fields = fields.iter().map(String::as_str);
                    writeln!(out, "{}", csv_fields([name.as_str()].into_iter().chain(fields)))?;
                }
            }
        }
        if left > 0 {
            let text = left_out(&plural(left, "more thread"), max);
            out.remark(format, source.place(&trace.dir).as_deref(), &text)?;
        }
    }
    // The process ends: to free a million threads one by one takes longer than to print them.
    std::mem::forget(source);
    Ok(status)
}
