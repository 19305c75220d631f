//! `flow check --records` and `--marks`: the records of threads with offsets and bytes, or the marks.

mod marks;
mod records;

use std::io::Write;

use crate::args::{DumpArgs, Format};
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::output::{Labels, Out, Progress, plural};
use flow_query::reading::Ending;
use records::Dump;

pub(crate) fn run(args: &DumpArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    source.choose(&args.threads)?;
    let format = args.source.format;
    if format == Format::Csv && !args.marks {
        writeln!(out, "trace,thread,offset,bytes,event,count,frames,{}", Labels::COLUMNS)?;
    }
    if args.marks {
        return marks::run(&source, args, out);
    }
    let max = args.max.filter(|max| *max > 0).unwrap_or(u64::MAX);
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    let mut printed = 0;
    let mut first = true;
    for trace in &source.traces {
        source.begin(trace, format, out)?;
        let mut dump = Dump {
            format,
            name: source.name(trace.dir()),
            labels: Labels::new(trace.methods(), format, args.verbose),
            frames: 0,
        };
        for file in trace.files() {
            if format == Format::Text {
                if !std::mem::take(&mut first) {
                    out.write_all(b"\n")?;
                }
                dump.head(trace, file, out)?;
            }
            let reading = dump.thread(file, max, &mut printed, &mut progress, out)?;
            status = status.and(reading.report(file, &progress));
            if reading.ending() == Ending::Stopped {
                let text = format!("… stopped after {} (--max {max})", plural(max, "record"));
                out.remark(format, None, &text)?;
                return Ok(status);
            }
        }
        first = true;
    }
    Ok(status)
}
