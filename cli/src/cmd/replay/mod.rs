//! `flow replay`: calls in order, indented by depth.
//!
//! ```text
//! records of a thread ─▶ Player (what is shown of them) ─▶ Fold (lines held back) ─▶ Lines
//! ```

mod fold;
mod follow;
mod lines;
mod notes;
mod player;

use std::io::Write;

use flow_codec::Offset;
use flow_codec::read::{Selection, ThreadFile, Trace};

use self::lines::{Lines, Printed};
use self::player::Player;
use crate::args::{Format, ReplayArgs};
use crate::failure::{Failure, Status};
use crate::output::{Out, Progress};
use crate::source::{Ending, Reading, Source, read_records, thread_title};

/// Runs the verb.
pub(crate) fn run(args: &ReplayArgs, out: &mut Out) -> Result<Status, Failure> {
    if args.source.format == Format::Csv {
        out.write_all(Lines::titles(args).as_bytes())?;
    }
    if args.follow {
        return follow::run(args, out);
    }
    let mut source = Source::open(&args.source)?;
    source.choose(&args.threads)?;
    source.tell_losses();
    let mut progress = Progress::new(source.bytes(), out.is_terminal());
    let mut status = source.status;
    let mut printed = Printed::default();
    let mut threads = 0;
    for trace in &source.traces {
        source.begin(trace, args.source.format, out)?;
        printed.thread = None;
        let (selection, wanted) = selections(args, trace);
        let selections = (&selection, wanted.as_ref());
        let mut lines = Lines::new(args, trace, selections, &mut printed, out);
        for file in &trace.files {
            let title = format!("thread {}", thread_title(trace, file.id));
            let prefix = Lines::prefix(args, &source.name(&trace.dir), file.id);
            threads += 1;
            let mut player = Player::new(args, threads, title, prefix);
            let reading = replay(trace, file, &mut player, &mut lines, &mut progress)?;
            status = status.and(reading.tell(file, &progress));
            if reading.ending == Ending::Stopped {
                return Ok(status);
            }
        }
    }
    Ok(status)
}

/// What is not left out, and what is shown with all it called, where not everything is.
fn selections(args: &ReplayArgs, trace: &Trace) -> (Selection, Option<Selection>) {
    let wanted =
        (!args.method.is_empty()).then(|| Selection::new(&trace.methods, &args.method, &[]));
    (args.filter.selection(trace), wanted)
}

/// Replays a whole thread.
fn replay(
    trace: &Trace,
    file: &ThreadFile,
    player: &mut Player,
    lines: &mut Lines<'_>,
    progress: &mut Progress,
) -> Result<Reading, Failure> {
    let before = trace.threads.get(file.id).map(|thread| &thread.open);
    if let Some(open) = before {
        player.entered_before(open, lines)?;
    }
    let reading = read_records(file, progress, |range, record| {
        player.record(Offset::new(range.start), record, lines)
    })?;
    player.end(reading.ending, before, lines, progress)?;
    Ok(reading)
}
