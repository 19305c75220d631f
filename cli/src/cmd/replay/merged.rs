//! `flow replay --merged`: the calls of all threads in one order of time.
//!
//! Each thread has a replay of its own, which receives its events when it is their turn. With `--follow`, that is in several passes, as
//! the trace grows.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use flow_codec::read::{
    EventKind, MergedItem, OpenFrames, Selection, StackSamples, Tail, ThreadFile, TimelineEvent,
    Trace,
};
use flow_codec::{Error, ThreadId};

use super::lines::{Lines, Printed, shown, with_details};
use super::start::Start;
use super::thread::ThreadReplay;
use crate::args::ReplayArgs;
use crate::failure::{Failure, Status};
use crate::output::{Out, Progress, bytes, message};
use flow_query::in_order::InOrder;
use flow_query::process::MergedFollower;
use flow_query::reading::{Ending, Listener as _, Reading};
use flow_query::select::file_title;

/// What the replays of all traces share.
pub(super) struct Shared<'a> {
    pub(super) args: &'a ReplayArgs,
    pub(super) printed: &'a mut Printed,
    pub(super) progress: &'a mut Progress,
    pub(super) out: &'a mut Out,
}

/// A trace, and what is shown of it.
#[derive(Clone, Copy)]
pub(super) struct Replayed<'a> {
    pub(super) trace: &'a Trace,
    /// The name in rows.
    pub(super) name: &'a str,
    /// The start of the titles of threads.
    pub(super) place: &'a str,
    pub(super) selections: (&'a Selection, Option<&'a Selection>),
    pub(super) samples: Option<&'a StackSamples>,
}

/// How a trace was replayed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) status: Status,
    /// Whether a limit ended it.
    pub(super) is_full: bool,
    /// Whether a thread has events at or after the place where it begins.
    pub(super) is_found: bool,
    /// Whether an event was shown in the last pass.
    pub(super) is_any: bool,
}

impl Outcome {
    /// Adds how a thread was read.
    fn add(&mut self, reading: &Reading, file: &ThreadFile, progress: &Progress) {
        self.status = self.status.and(reading.report(file, progress));
    }
}

/// A thread that has begun and not ended.
#[derive(Debug)]
struct OfThread {
    /// Distinguishes the thread from those of other traces.
    number: u64,
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

/// The size of a thread.
type Size = (u64, u64, u64);

/// The replay of a trace.
#[derive(Debug)]
pub(super) struct MergedReplay {
    follower: MergedFollower,
    begun: BTreeMap<ThreadId, OfThread>,
    /// The places at which threads begin of which nothing was shown yet, and how these were read before.
    found: BTreeMap<ThreadId, (Start, Reading)>,
    /// Whether each thread has the place at which it begins, and the sizes of those that do not.
    places: BTreeMap<ThreadId, Option<Size>>,
    /// The thread of the last event.
    last: Option<ThreadId>,
    outcome: Outcome,
}

impl MergedReplay {
    pub(super) fn new(args: &ReplayArgs) -> Self {
        let (status, is_found) = (Status::Done, args.from.is_none());
        Self {
            follower: MergedFollower::default(),
            begun: BTreeMap::new(),
            found: BTreeMap::new(),
            places: BTreeMap::new(),
            last: None,
            outcome: Outcome { status, is_full: false, is_found, is_any: false },
        }
    }

    /// Shows what is new since the last pass. If the trace `is_growing`, only what no later event comes before, and threads do not
    /// end.
    pub(super) fn pass(
        &mut self,
        Shared { args, printed, progress, out }: Shared<'_>,
        replayed: Replayed<'_>,
        is_growing: bool,
    ) -> Result<Outcome, Failure> {
        let Replayed { trace, samples, .. } = replayed;
        let shown = shown(args, trace, replayed.selections, samples);
        let mut lines = Lines::new(args, &shown, printed, out);
        let threads = self.threads(&lines, trace, is_growing, progress);
        self.outcome.is_any = false;
        let open = |file: &ThreadFile, from| {
            Ok(with_details(args, samples, file.timeline_from(from)?, file.id()))
        };
        let mut follower = std::mem::take(&mut self.follower);
        let mut failed = Ok(());
        follower.pass((trace, is_growing), threads, open, |item| {
            let Some(file) = trace.files().get(item.thread()) else {
                return ControlFlow::Continue(());
            };
            if is_growing && matches!(item, MergedItem::End { .. }) {
                return ControlFlow::Continue(());
            }
            let passed = self.item(item, replayed, file, &mut lines, progress);
            passed.unwrap_or_else(|failure| {
                failed = Err(failure);
                ControlFlow::Break(())
            })
        });
        self.follower = follower;
        failed?;
        if self.outcome.is_full {
            self.end_at_limit(trace, &mut lines, progress)?;
        } else if is_growing && !self.outcome.is_any {
            self.pause(&mut lines)?;
        }
        Ok(self.outcome)
    }

    /// The threads that are replayed, each from where it was left, or from the place at which it begins.
    fn threads(
        &mut self,
        lines: &Lines<'_>,
        trace: &Trace,
        is_growing: bool,
        progress: &mut Progress,
    ) -> Vec<usize> {
        let args = lines.args;
        let mut threads = Vec::new();
        for (index, file) in trace.files().iter().enumerate() {
            let is_selected = args.part.threads.include(trace, file.id());
            if !is_selected || !self.has_begun(args, (trace, file), is_growing, progress) {
                continue;
            }
            threads.push(index);
            let removed = self.follower.follow(file);
            let Some(thread) = self.begun.get_mut(&file.id()) else { continue };
            if removed > 0 {
                message(&format!(
                    "thread {}: {} of events were removed before they could be read; it continues with the calls that \
                     were open after them",
                    file_title(trace, file),
                    bytes(removed)
                ));
                thread.replay.calls = InOrder::new(lines.shown);
            }
            if args.is_timed() {
                // As far as they are known now: of calls that are still open, the least duration.
                thread.replay.calls.keep_time(file, self.follower.next(file.id()));
            }
        }
        threads
    }

    /// Returns whether a thread has the place at which it begins, or reports that it does not.
    fn has_begun(
        &mut self,
        args: &ReplayArgs,
        (trace, file): (&Trace, &ThreadFile),
        is_growing: bool,
        progress: &mut Progress,
    ) -> bool {
        let Some(from) = &args.from else { return true };
        let size = file.size();
        match self.places.get(&file.id()) {
            Some(None) => return true,
            Some(Some(known)) if *known == size && is_growing => return false,
            _ => {}
        }
        let reading = match from.find(trace, file, progress) {
            Ok((Some(start), before)) => {
                self.outcome.is_found = true;
                self.places.insert(file.id(), None);
                self.follower.continue_at(file.id(), start.place.offset);
                self.found.insert(file.id(), (start, Reading::default().following(before)));
                return true;
            }
            Ok((None, all)) => all,
            Err(error) => Reading::failed(error),
        };
        self.places.insert(file.id(), Some(size));
        if !is_growing {
            self.outcome.add(&reading, file, progress);
        }
        false
    }

    fn item(
        &mut self,
        item: MergedItem,
        replayed: Replayed<'_>,
        file: &ThreadFile,
        lines: &mut Lines<'_>,
        progress: &mut Progress,
    ) -> Result<ControlFlow<()>, Failure> {
        let id = file.id();
        let item = match item {
            // Nothing happened in the thread since then.
            MergedItem::End { tail, marks, .. } if self.found.contains_key(&id) => {
                let mut reading = self.found.remove(&id).map_or_else(Reading::default, |of| of.1);
                reading.end(tail, marks);
                progress.file_done(file.bytes());
                self.outcome.add(&reading, file, progress);
                return Ok(ControlFlow::Continue(()));
            }
            item => item,
        };
        let number = self.begun.get(&id).map_or(lines.printed.threads + 1, |of| of.number);
        if let MergedItem::Event { event, is_certain, .. } = &item {
            // What is shown are calls, by their entries.
            let is_exit = matches!(event.kind, EventKind::Exit { .. });
            lines.order(number, *is_certain || is_exit);
        }
        if !self.begun.contains_key(&id) {
            // Where a thread begins is shown when something happens in it.
            let thread = self.begin(replayed, (file, number), lines)?;
            self.begun.insert(id, thread);
        }
        if self.last != Some(id) {
            self.pause(lines)?;
            self.last = Some(id);
        }
        let Some(thread) = self.begun.get_mut(&id) else { return Ok(ControlFlow::Continue(())) };
        match item {
            MergedItem::Event { event, is_certain, .. } => {
                self.outcome.is_any = true;
                if !thread.pass(event, is_certain, lines)? {
                    thread.reading.set_ending(Ending::Stopped);
                    self.outcome.is_full = true;
                    return Ok(ControlFlow::Break(()));
                }
            }
            MergedItem::Damage { error, .. } => drop(thread.reading.note(error)),
            MergedItem::End { tail, marks, .. } => {
                let ended = self.begun.remove(&id).map(|thread| thread.end(tail, marks, lines));
                progress.file_done(file.bytes());
                let reading = ended.transpose()?.unwrap_or_default();
                self.outcome.add(&reading, file, progress);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn begin(
        &mut self,
        Replayed { trace, name, place, .. }: Replayed<'_>,
        (file, number): (&ThreadFile, u64),
        lines: &mut Lines<'_>,
    ) -> Result<OfThread, Failure> {
        let args = lines.args;
        lines.printed.threads = number;
        let title = format!("{place}thread {}", file_title(trace, file));
        let prefix = Lines::prefix(args, name, file.id());
        let mut replay = ThreadReplay::new(lines.shown, number, title, prefix);
        if args.is_timed() {
            replay.calls.keep_time(file, self.follower.next(file.id()));
        }
        let (before, reading) = (OpenFrames::default(), Reading::default());
        let mut thread = OfThread { number, replay, before, reading };
        let found = self.found.remove(&file.id());
        thread.begin(args, (trace, file), found, lines)?;
        Ok(thread)
    }

    /// Shows what waits in the thread of the last event.
    fn pause(&mut self, lines: &mut Lines<'_>) -> Result<(), Failure> {
        match self.last.and_then(|last| self.begun.get_mut(&last)) {
            Some(thread) => thread.replay.feed(lines, None, |feed| feed.pause())?,
            None => Ok(()),
        }
    }

    /// Ends the output because a limit has been reached.
    fn end_at_limit(
        &mut self,
        trace: &Trace,
        lines: &mut Lines<'_>,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let found = std::mem::take(&mut self.found);
        let (last, begun) = (self.last, std::mem::take(&mut self.begun));
        let file = |id: ThreadId| trace.files().iter().find(|file| file.id() == id);
        for (id, (_, before)) in found {
            let Some(file) = file(id) else { continue };
            self.outcome.add(&before, file, progress);
        }
        for (id, mut thread) in begun {
            let Some(file) = file(id) else { continue };
            if last == Some(id) {
                thread.replay.end(Ending::Stopped, &thread.before, lines)?;
            }
            self.outcome.add(&thread.reading, file, progress);
        }
        Ok(())
    }
}
