//! `flow report --lines`, of recorded lines: how often each line was reached, by source file.

use std::io::Write;

use flow_query::ask::{Coverage, CoveredFile};
use flow_query::rows::ReachedRow;

use crate::args::LinesArgs;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::sources::{self, Sources};
use crate::output::{Out, Progress, escaped, grouped, lines_message, message, plural};

/// The width of counts in text.
const COUNT_WIDTH: usize = 12;

/// Shows the lines of a source whose threads are not selected yet.
pub(crate) fn run(args: &LinesArgs, mut source: Source, out: &mut Out) -> Result<Status, Failure> {
    source.choose_lines(&args.part)?;
    source.report_losses();
    let mut answer = Answer::new::<ReachedRow<'_>>(&source, args.source.format, usize::MAX, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let coverage = Coverage::of(trace, &args.part.filter.filter());
        let (covered, soundness) = coverage.read(&mut progress);
        status = status.and(soundness);
        lines_message(&covered).iter().for_each(|text| message(text));
        let mut texts = Sources::new(&args.sources);
        texts.report_newer_than(trace);
        sources::link(trace.methods(), &args.sources, out);
        answer.begin(trace, out)?;
        for (number, (file, lines)) in covered.files.iter().enumerate() {
            if answer.is_text() {
                text((number, file, lines), &mut texts, out)?;
            } else {
                let row =
                    |(line, count): (&u32, &u64)| ReachedRow { file, line: *line, count: *count };
                answer.rows(lines.lines.iter().map(row), out)?;
            }
        }
    }
    Ok(status)
}

/// `7 of 9 lines reached`.
fn summary(file: &CoveredFile) -> String {
    let (reached, all) = (file.reached() as u64, file.lines.len() as u64);
    format!("{} of {} reached", grouped(reached), plural(all, "line"))
}

fn text(
    (number, file, lines): (usize, &str, &CoveredFile),
    sources: &mut Sources,
    out: &mut Out,
) -> Result<(), Failure> {
    if number > 0 {
        out.write_all(b"\n")?;
    }
    out.heading(&format!("{}  {}", escaped(file), summary(lines)))?;
    out.heading(&format!("{:>COUNT_WIDTH$}  {}", "count", "line"))?;
    let name = escaped(file.rsplit('/').next().unwrap_or(file));
    let last = lines.lines.keys().next_back().map_or(0, |line| line.to_string().len());
    let width = name.chars().count() + 1 + last;
    for (line, count) in &lines.lines {
        // As editors and other tools write it.
        let place = format!("{name}:{line}");
        let row = match sources.line(file, *line) {
            Some(text) => format!("{place:<width$}  {}", escaped(text)),
            None => place,
        };
        writeln!(out, "{:>COUNT_WIDTH$}  {row}", grouped(*count))?;
    }
    Ok(())
}
