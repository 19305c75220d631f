//! `flow replay --budget`: the largest calls, as many as there is room for.

use std::io::Write;

use flow_codec::read::{ThreadFile, Trace};
use flow_query::ask::{CallRun, Overview, OverviewLines};
use flow_query::rows::{OverviewRow, RowNames};
use flow_query::select::file_title;

use super::read::selections;
use crate::args::ReplayArgs;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Labels, Out, Progress, escaped, grouped, indent, plural};

/// The least room that a thread gets. Of more threads than have this, the smallest are left out.
const LEAST_ROOM: u64 = 160;

pub(super) fn run(args: &ReplayArgs, budget: u64, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    source.choose_part(&args.part)?;
    source.expect_calls()?;
    let room = Room::of(&source, budget);
    let mut answer = Answer::new::<OverviewRow<'_>>(&source, args.source.format, usize::MAX, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    for trace in source.traces.iter() {
        answer.begin(trace, out)?;
        let labels = Labels::new(trace.methods(), args.source.format, args.verbose);
        let (selection, _) = selections(args, trace);
        let mut left_out = 0_u64;
        for file in trace.files() {
            let most = room.of_thread(file);
            if most == 0 {
                left_out += 1;
                continue;
            }
            let overview = Overview { levels: args.depth.unwrap_or(u64::MAX), most };
            let size = |run: &CallRun| line(run, run.depth, file, &labels).len() as u64 + 1;
            let lines = overview.of_thread(file, &selection, &mut progress, size)?;
            print(&lines, (trace, file), &labels, &mut answer, out)?;
        }
        if left_out > 0 {
            let text = format!("… {} left out (--budget)", plural(left_out, "smaller thread"));
            answer.remark(trace, &text, out)?;
        }
    }
    Ok(source.status)
}

/// How much room each thread has: a share by the size of its events.
struct Room {
    budget: u64,
    bytes: u64,
    /// The size of the smallest thread that has some.
    least: u64,
}

impl Room {
    fn of(source: &Source, budget: u64) -> Self {
        let files = source.traces.iter().flat_map(|trace| trace.files());
        let mut sizes: Vec<_> = files.map(|file| file.bytes()).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.truncate(usize::try_from(budget / LEAST_ROOM).unwrap_or(usize::MAX).max(1));
        let least = sizes.last().copied().unwrap_or(0);
        Self { budget, bytes: sizes.iter().sum(), least }
    }

    fn of_thread(&self, file: &ThreadFile) -> u64 {
        if file.bytes() < self.least {
            return 0;
        }
        let share =
            u128::from(self.budget) * u128::from(file.bytes()) / u128::from(self.bytes.max(1));
        u64::try_from(share).unwrap_or(self.budget).max(LEAST_ROOM)
    }
}

/// Prints the lines of a thread.
fn print(
    lines: &OverviewLines,
    (trace, file): (&Trace, &ThreadFile),
    labels: &Labels<'_>,
    answer: &mut Answer<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    if !answer.is_text() {
        let mut names = RowNames::new(trace.methods());
        let rows = lines.runs.iter().map(|run| overview_row(run, file, &mut names));
        return answer.rows(rows, out);
    }
    out.heading(&format!("thread {}", file_title(trace, file)))?;
    for run in &lines.runs {
        writeln!(out, "{}", line(run, run.depth, file, labels))?;
    }
    if lines.left_out > 0 {
        answer.remark(
            trace,
            &format!("… {} without a line", plural(lines.left_out, "more call")),
            out,
        )?;
    }
    Ok(())
}

/// A row for programs.
pub(in crate::cmd) fn overview_row<'a>(
    run: &CallRun,
    file: &ThreadFile,
    names: &mut RowNames<'a>,
) -> OverviewRow<'a> {
    OverviewRow {
        thread: file.id(),
        call: run.number,
        depth: run.depth,
        method: names.get(run.method),
        count: run.count,
        calls: run.calls,
        left_out: run.left_out,
    }
}

/// A line of text.
pub(in crate::cmd) fn line(
    run: &CallRun,
    depth: u64,
    file: &ThreadFile,
    labels: &Labels<'_>,
) -> String {
    let mut line = String::new();
    indent(usize::try_from(depth).unwrap_or(usize::MAX), &mut line);
    line += &escaped(&labels.name(run.method));
    if run.count > 1 {
        line += &format!("  ×{}", grouped(run.count));
    }
    if run.left_out > 0 {
        let below = plural(run.left_out, "call");
        line += &format!("  … {below} below [{}:{}]", file.id(), run.number);
    }
    line
}
