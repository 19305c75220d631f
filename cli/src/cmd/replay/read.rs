//! Passes the events of a thread to its replay.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use flow_codec::read::{OpenFrames, Selection, ThreadFile, Trace};
use flow_codec::{Glob, Offset};
use flow_query::dag::{Dag, Walk};

use super::hits;
use super::lines::{Lines, with_details};
use super::start::Start;
use super::thread::ThreadReplay;
use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::input::place::From;
use crate::input::times::{has_clock, no_clock};
use crate::output::Progress;
use flow_query::reading::{
    Listener as _, Reading, open_dag, read_records, read_timeline, stored_shapes,
};
use flow_query::shapes::most_words;

/// The calls that are not left out, and those that are shown with all their callees.
pub(super) fn selections(args: &ReplayArgs, trace: &Trace) -> (Selection, Option<Selection>) {
    let globs: Vec<_> = args.method.iter().map(|pattern| Glob::new(pattern)).collect();
    let wanted = (!globs.is_empty()).then(|| Selection::new(trace.methods(), &globs, &[]));
    (args.part.filter.selection(trace), wanted)
}

/// The selected methods of each trace that is followed, with the number of methods it had then. New methods need new
/// selections.
#[derive(Debug, Default)]
pub(super) struct Selections(BTreeMap<PathBuf, (usize, Selection, Option<Selection>)>);

impl Selections {
    /// The selected methods of a trace as it is now.
    pub(super) fn of(
        &mut self,
        args: &ReplayArgs,
        trace: &Trace,
    ) -> Result<(&Selection, Option<&Selection>), Failure> {
        let methods = trace.methods().len();
        if self.0.get(trace.dir()).is_some_and(|(known, ..)| *known != methods) {
            self.0.remove(trace.dir());
        }
        let (_, selection, wanted) = match self.0.entry(trace.dir().to_path_buf()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                expect_clock(args, trace)?;
                let (selection, wanted) = selections(args, trace);
                place.insert((methods, selection, wanted))
            }
        };
        Ok((selection, wanted.as_ref()))
    }

    /// The selected methods of a trace as it was in the last pass.
    pub(super) fn known(&self, trace: &Trace) -> Option<(&Selection, Option<&Selection>)> {
        let (_, selection, wanted) = self.0.get(trace.dir())?;
        Some((selection, wanted.as_ref()))
    }
}

/// Checks that a trace has times, if what is shown needs them.
pub(super) fn expect_clock(args: &ReplayArgs, trace: &Trace) -> Result<(), Failure> {
    let needs_clock = args.is_timed() && !args.shows_details()
        || (args.merged && !trace.has_numbers())
        || matches!(args.from, Some(From::Time(_)));
    if needs_clock && !has_clock(trace) { Err(no_clock(trace)) } else { Ok(()) }
}

/// Replays a whole thread.
pub(super) fn whole_thread(
    args: &ReplayArgs,
    trace: &Trace,
    file: &ThreadFile,
    replay: &mut ThreadReplay,
    lines: &mut Lines<'_>,
    progress: &mut Progress,
) -> Result<Reading, Failure> {
    let before = args.part.filter.open_frames(trace, file.id());
    replay.entered_before(&before, lines)?;
    let reading = events(args, file, Offset::default(), replay, lines, progress)?;
    replay.end(reading.ending(), &before, lines)?;
    Ok(reading)
}

/// Replays a thread from a position on.
pub(super) fn from_position(
    args: &ReplayArgs,
    file: &ThreadFile,
    start: &Start,
    replay: &mut ThreadReplay,
    lines: &mut Lines<'_>,
    progress: &mut Progress,
) -> Result<Reading, Failure> {
    replay.start_at(start, args.is_timed(), lines)?;
    let reading = events(args, file, start.place.offset, replay, lines, progress)?;
    replay.end(reading.ending(), &OpenFrames::default(), lines)?;
    Ok(reading)
}

/// Returns the shapes of a thread, if a replay needs them: to show calls that did the same as one, or to skip
/// calls without reading them. For the second use only stored shapes are read, because building them takes longer than a short
/// replay. Calls that did the same may have different values and lines, so they are not one with these.
fn shapes_for(
    args: &ReplayArgs,
    file: &ThreadFile,
    lines: &Lines<'_>,
    progress: &mut Progress,
) -> Option<Dag> {
    let skips =
        args.depth.is_some() || lines.shown.wanted.is_some() || !lines.shown.selection.is_all();
    match () {
        () if lines.handed.is_some() => None,
        () if args.collapse && !lines.has_details() => shapes_to_collapse(file, progress),
        () if skips && !args.is_timed() => stored_shapes(file),
        () => None,
    }
}

/// Returns the shapes of a thread, stored or not. `None` if they lack the positions of its events, after damage, which is
/// reported where the events are read; or if there are too many shapes, which is reported.
fn shapes_to_collapse(file: &ThreadFile, progress: &mut Progress) -> Option<Dag> {
    let (built, _, content) = open_dag(file, most_words(), progress).ok()?;
    if built.dag().is_none() {
        progress.message(&format!(
            "{}: its calls repeat too little: those that did the same are collapsed only if they call nothing",
            file.path().display()
        ));
    }
    built.into_whole(&content)
}

/// Replays from a record on. Times and exceptions need the timeline; without them, records are read directly, which is
/// faster.
fn events(
    args: &ReplayArgs,
    file: &ThreadFile,
    from: Offset,
    replay: &mut ThreadReplay,
    lines: &mut Lines<'_>,
    progress: &mut Progress,
) -> Result<Reading, Failure> {
    let with_unwinding = args.shows_unwinding() && file.has_unwound().unwrap_or(false);
    let dag = if with_unwinding { None } else { shapes_for(args, file, lines, progress) };
    let walk = dag.as_ref().map(|dag| match file.parts() {
        None => Walk::new(dag, from),
        Some(parts) => Walk::of_ranges(dag, parts.ranges()),
    });
    if !args.is_timed() && !with_unwinding {
        if let Some((dag, walk)) = dag.as_ref().zip(walk) {
            let reading = replay.feed(lines, None, |feed| feed.shapes(dag, walk))?;
            progress.file_done(file.bytes());
            return reading;
        }
        return replay.feed(lines, None, |feed| {
            read_records(file, from, progress, |range, record| {
                feed.record(Offset::new(range.start), record)
            })
        })?;
    }
    let is_table = args.is_table() && !lines.is_text() && from == Offset::default();
    if is_table && let Some(reading) = hits::pass_rows(file, replay, lines) {
        progress.file_done(file.bytes());
        return reading;
    }
    let mut timeline = match file.timeline_from(from) {
        Ok(timeline) => with_details(args, lines.shown.samples, timeline, file.id()),
        Err(error) => return Ok(Reading::failed(error)),
    };
    if args.is_timed() {
        replay.calls.keep_time(file, from);
    }
    let mut reading =
        replay.feed(lines, walk, |feed| read_timeline(file, &mut timeline, progress, feed))?;
    reading.add_marks(timeline.into_damage().or(replay.calls.take_damage()));
    Ok(reading)
}
