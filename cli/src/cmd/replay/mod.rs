//! `flow replay`: calls in order, indented by depth.
//!
//! ```text
//! events of a thread ─▶ ThreadReplay (selects) ─▶ Pending (pending lines) ─▶ Lines (prints)
//! ```

mod follow;
mod lines;
mod pending;
mod remarks;
mod start;
mod thread;
mod timed;

use std::io::Write;

use flow_codec::read::{OpenFrames, Selection, ThreadFile, Trace};
use flow_codec::{Glob, Offset};

use self::lines::{Lines, Printed};
use self::start::Start;
use self::thread::{ThreadReplay, TimedReplay};
use crate::args::{Format, ReplayArgs};
use crate::failure::{Failure, Status};
use crate::input::pattern::globs;
use crate::input::place::From;
use crate::input::reading::{Ending, Reading, read_records, read_timeline};
use crate::input::source::{Source, file_title};
use crate::input::times::{has_clock, no_clock};
use crate::output::{Out, Progress, plural};

pub(crate) fn run(args: &ReplayArgs, out: &mut Out) -> Result<Status, Failure> {
    if args.collapse && args.source.format != Format::Text {
        return Err(Failure::Usage("--collapse applies to text output only".to_owned()));
    }
    let titles = if args.source.format == Format::Csv { Lines::titles(args) } else { "".into() };
    if args.follow {
        out.write_all(titles.as_bytes())?;
        return follow::run(args, out);
    }
    let mut source = Source::open(&args.source)?;
    source.choose_part(&args.part)?;
    // Not checked with --follow: while the program runs, methods that match may come later.
    globs(&args.method, &source.traces)?;
    source.report_losses();
    let count: usize = source.traces.iter().map(|trace| trace.files.len()).sum();
    if let Some(from) = args.from.as_ref().filter(|from| from.is_number() && count != 1) {
        let (threads, traces) = (plural(count as u64, "thread"), source.traces.len());
        let of = if traces > 1 { format!(" in {traces} traces") } else { String::new() };
        let one = if traces > 1 { "name one trace's directory, or choose" } else { "choose" };
        return Err(Failure::Usage(format!(
            "--from {from} is a position in one thread, and there are {threads}{of}: {one} one with --thread"
        )));
    }
    out.write_all(titles.as_bytes())?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    let mut printed = Printed::default();
    let (mut threads, mut found) = (0, false);
    for trace in &source.traces {
        let needs_clock = args.is_timed() || matches!(args.from, Some(From::Time(_)));
        if needs_clock && !has_clock(trace) {
            return Err(no_clock(trace));
        }
        source.begin(trace, args.source.format, out)?;
        printed.thread = None;
        let (selection, wanted) = selections(args, trace);
        let selections = (&selection, wanted.as_ref());
        let mut lines = Lines::new(args, trace, selections, &mut printed, out);
        for file in &trace.files {
            let title = format!("thread {}", file_title(trace, file));
            let prefix = Lines::prefix(args, &source.name(&trace.dir), file.id);
            threads += 1;
            let mut replay = ThreadReplay::new(args, threads, title, prefix);
            let reading = match &args.from {
                None => whole_thread(args, (trace, file), &mut replay, &mut lines, &mut progress)?,
                Some(from) => match from.find(trace, file, &mut progress) {
                    Ok((Some(start), before)) => {
                        found = true;
                        let after = from_position(
                            args,
                            file,
                            &start,
                            &mut replay,
                            &mut lines,
                            &mut progress,
                        )?;
                        after.following(before)
                    }
                    Ok((None, all)) => {
                        progress.file_done(file.bytes);
                        all
                    }
                    Err(error) => Reading::failed(error),
                },
            };
            status = status.and(reading.report(file, &progress));
            if reading.ending == Ending::Stopped {
                return Ok(status);
            }
        }
    }
    if let Some(from) = args.from.as_ref().filter(|_| !found && status == Status::Done) {
        return Err(Failure::Failed(format!(
            "there is no {from} (flow info shows how many calls there are)"
        )));
    }
    if printed.calls == 0 && !(args.method.is_empty() && args.part.filter.is_all()) {
        progress.message(
            "no call matches; patterns are pkg.Class or pkg.Class#method, with ** across packages",
        );
    }
    Ok(status)
}

/// The calls that are not left out, and those that are shown with all their callees.
fn selections(args: &ReplayArgs, trace: &Trace) -> (Selection, Option<Selection>) {
    let globs: Vec<_> = args.method.iter().map(|pattern| Glob::new(pattern)).collect();
    let wanted = (!globs.is_empty()).then(|| Selection::new(&trace.methods, &globs, &[]));
    (args.part.filter.selection(trace), wanted)
}

/// Replays a whole thread.
fn whole_thread(
    args: &ReplayArgs,
    (trace, file): (&Trace, &ThreadFile),
    replay: &mut ThreadReplay,
    lines: &mut Lines<'_>,
    progress: &mut Progress,
) -> Result<Reading, Failure> {
    let before = args.part.filter.open_frames(trace, file.id);
    replay.entered_before(&before, lines)?;
    let reading = events(args, (file, Offset::default()), replay, lines, progress)?;
    replay.end(reading.ending, &before, lines)?;
    Ok(reading)
}

/// Replays a thread from a position on.
fn from_position(
    args: &ReplayArgs,
    file: &ThreadFile,
    start: &Start,
    replay: &mut ThreadReplay,
    lines: &mut Lines<'_>,
    progress: &mut Progress,
) -> Result<Reading, Failure> {
    replay.start_at(start, args.is_timed(), lines)?;
    let reading = events(args, (file, start.place.offset), replay, lines, progress)?;
    replay.end(reading.ending, &OpenFrames::default(), lines)?;
    Ok(reading)
}

/// Replays from a record on. Times need the timeline; without them, records are read directly, which is faster.
fn events(
    args: &ReplayArgs,
    (file, from): (&ThreadFile, Offset),
    replay: &mut ThreadReplay,
    lines: &mut Lines<'_>,
    progress: &mut Progress,
) -> Result<Reading, Failure> {
    if !args.is_timed() {
        return read_records(file, from, progress, |range, record| {
            replay.record(Offset::new(range.start), record, lines)
        });
    }
    let mut timeline = match file.timeline_from(from) {
        Ok(timeline) => timeline,
        Err(error) => return Ok(Reading::failed(error)),
    };
    replay.keep_time(file, from);
    let mut timed = TimedReplay { replay, lines, stopped: Ok(()) };
    let mut reading = read_timeline(file, &mut timeline, progress, &mut timed);
    timed.stopped?;
    reading.marks = timeline.marks_damage().or(replay.marks_damage());
    Ok(reading)
}
