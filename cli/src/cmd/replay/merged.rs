//! `flow replay --merged`: the calls of all threads in one order of time.
//!
//! Each thread has a replay of its own, which receives its events when it is their turn.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use flow_codec::read::{
    EventKind, MergedItem, OpenFrames, Selection, StackSamples, Tail, ThreadFile, TimelineEvent,
    Trace,
};
use flow_codec::{Error, Offset};

use super::lines::{Lines, Printed, shown, with_details};
use super::start::Start;
use super::thread::ThreadReplay;
use crate::args::ReplayArgs;
use crate::failure::{Failure, Status};
use crate::output::{Out, Progress};
use flow_query::reading::{Ending, Listener as _, Reading};
use flow_query::select::file_title;

/// What the replays of all traces share.
pub(super) struct Shared<'a> {
    pub(super) args: &'a ReplayArgs,
    pub(super) printed: &'a mut Printed,
    pub(super) progress: &'a mut Progress,
    /// The number of threads of earlier traces.
    pub(super) threads: u64,
}

/// How a trace was replayed.
pub(super) struct Replayed {
    pub(super) status: Status,
    /// Whether a limit ended it.
    pub(super) is_full: bool,
    /// Whether a thread has events at or after the place where it begins.
    pub(super) is_found: bool,
}

impl Replayed {
    /// Adds how a thread was read.
    fn add(&mut self, reading: &Reading, file: &ThreadFile, progress: &Progress) {
        self.status = self.status.and(reading.report(file, progress));
    }
}

/// A thread that has begun and not ended.
struct OfThread {
    replay: ThreadReplay,
    before: OpenFrames,
    reading: Reading,
}

impl OfThread {
    /// Shows where the thread begins: at the place that was found in it, or where its events begin.
    fn begin(
        &mut self,
        args: &ReplayArgs,
        (trace, file): (&Trace, &ThreadFile),
        found: Option<(Start, Reading)>,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        if let Some((start, before)) = found {
            self.reading = std::mem::take(&mut self.reading).following(before);
            self.replay.start_at(&start, args.is_timed(), lines)?;
        }
        if args.from.is_none() {
            self.before = args.part.filter.open_frames(trace, file.id());
            self.replay.entered_before(&self.before, lines)?;
        }
        Ok(())
    }

    /// Passes on an event of the thread. Returns whether more is to be shown.
    fn pass(
        &mut self,
        event: TimelineEvent,
        is_certain: bool,
        lines: &mut Lines<'_>,
    ) -> Result<bool, Failure> {
        let is_exit = matches!(event.kind, EventKind::Exit { .. });
        self.replay.calls.set_certain(is_certain || is_exit);
        self.replay.feed(lines, None, |feed| event.visit(feed))
    }

    /// Ends the thread where its events end.
    fn end(
        mut self,
        tail: Tail,
        marks: Option<Error>,
        lines: &mut Lines<'_>,
    ) -> Result<Reading, Failure> {
        self.reading.end(tail, marks.or(self.replay.calls.take_damage()));
        self.replay.end(self.reading.ending(), &self.before, lines)?;
        Ok(self.reading)
    }
}

/// Places in threads at which these begin, and how they were read before.
type Places = BTreeMap<usize, (Start, Reading)>;

/// Finds where each thread begins. Returns the threads that have that place, and what was found in them.
fn places(
    args: &ReplayArgs,
    trace: &Trace,
    progress: &mut Progress,
    done: &mut Replayed,
) -> (Vec<(usize, Offset)>, Places) {
    let (mut starts, mut found) = (Vec::new(), Places::new());
    for (thread, file) in trace.files().iter().enumerate() {
        let Some(from) = &args.from else {
            starts.push((thread, Offset::default()));
            continue;
        };
        match from.find(trace, file, progress) {
            Ok((Some(start), before)) => {
                done.is_found = true;
                starts.push((thread, start.place.offset));
                found.insert(thread, (start, Reading::default().following(before)));
            }
            Ok((None, all)) => done.add(&all, file, progress),
            Err(error) => done.add(&Reading::failed(error), file, progress),
        }
    }
    (starts, found)
}

/// Replays a trace.
pub(super) fn run(
    shared: Shared<'_>,
    trace: &Trace,
    name: &str,
    selections: (&Selection, Option<&Selection>),
    samples: Option<&StackSamples>,
    out: &mut Out,
) -> Result<Replayed, Failure> {
    let Shared { args, printed, progress, threads } = shared;
    let shown = shown(args, trace, selections, samples);
    let mut lines = Lines::new(args, &shown, printed, out);
    let new = |thread: usize, file: &ThreadFile, from: Offset| {
        let title = format!("thread {}", file_title(trace, file));
        let prefix = Lines::prefix(args, name, file.id());
        let mut replay = ThreadReplay::new(&shown, threads + 1 + thread as u64, title, prefix);
        if args.is_timed() {
            replay.calls.keep_time(file, from);
        }
        OfThread { replay, before: OpenFrames::default(), reading: Reading::default() }
    };
    let mut begun = BTreeMap::new();
    let mut done = Replayed { status: Status::Done, is_full: false, is_found: args.from.is_none() };
    let (starts, mut found) = places(args, trace, progress, &mut done);
    let mut last = None;
    let merged = trace.merged_from(starts).with_timelines(|file, from| {
        let timeline = file.timeline_from(from)?;
        Ok(with_details(args, samples, timeline, file.id()))
    });
    for item in merged {
        let thread = item.thread();
        let Some(file) = trace.files().get(thread) else { continue };
        let item = match item {
            // Nothing happened in the thread since then.
            MergedItem::End { tail, marks, .. } if found.contains_key(&thread) => {
                let mut reading = found.remove(&thread).map_or_else(Reading::default, |of| of.1);
                reading.end(tail, marks);
                progress.file_done(file.bytes());
                done.add(&reading, file, progress);
                continue;
            }
            item => item,
        };
        if let MergedItem::Event { event, is_certain, .. } = &item {
            // What is shown are calls, by their entries.
            let is_exit = matches!(event.kind, EventKind::Exit { .. });
            lines.order(thread, *is_certain || is_exit);
        }
        if let Entry::Vacant(place) = begun.entry(thread) {
            // Where a thread begins is shown when something happens in it.
            let found = found.remove(&thread);
            let from = found.as_ref().map_or(Offset::default(), |(start, _)| start.place.offset);
            let mut of_thread = new(thread, file, from);
            of_thread.begin(args, (trace, file), found, &mut lines)?;
            place.insert(of_thread);
        }
        if last != Some(thread)
            && let Some(before) = last.replace(thread)
            && let Some(of_thread) = begun.get_mut(&before)
        {
            of_thread.replay.feed(&mut lines, None, |feed| feed.pause())??;
        }
        let Some(of_thread) = begun.get_mut(&thread) else { continue };
        match item {
            MergedItem::Event { event, is_certain, .. } => {
                if !of_thread.pass(event, is_certain, &mut lines)? {
                    of_thread.reading.set_ending(Ending::Stopped);
                    done.is_full = true;
                    break;
                }
            }
            MergedItem::Damage { error, .. } => note(&mut of_thread.reading, error),
            MergedItem::End { tail, marks, .. } => {
                let Some(ended) = begun.remove(&thread) else { continue };
                let reading = ended.end(tail, marks, &mut lines)?;
                progress.file_done(file.bytes());
                done.add(&reading, file, progress);
            }
        }
    }
    // A limit ended the output.
    for (thread, (_, before)) in found {
        let Some(file) = trace.files().get(thread) else { continue };
        done.add(&before, file, progress);
    }
    for (thread, mut of_thread) in begun {
        let Some(file) = trace.files().get(thread) else { continue };
        if last == Some(thread) {
            of_thread.replay.end(Ending::Stopped, &of_thread.before, &mut lines)?;
        }
        done.add(&of_thread.reading, file, progress);
    }
    Ok(done)
}

fn note(reading: &mut Reading, error: Error) {
    let _ = reading.note(error);
}
