//! `flow replay --follow`: continues while the trace is being recorded.
//!
//! A thread's events are in its file and, after that, in the journal, where they only grow. So reading
//! repeatedly, each time from where the last pass ended, finds every event once and in order. Only the last
//! run of exits may have become longer.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flow_codec::read::{Content, OpenFrames, ThreadFile, Trace};
use flow_codec::{Error, Offset, ThreadId};
use flow_query::in_order::{InOrder, Shown, Stopped};
use flow_query::process::Reached;

use super::ended_tests::EndedTests;
use super::follow_merged::FollowMerged;
use super::lines::{Lines, Printed, shown, with_details};
use super::read::Selections;
use super::start::{no_such_place, of_one_thread};
use super::thread::ThreadReplay;
use crate::args::{ReplayArgs, SourceArgs};
use crate::failure::{Failure, Status};
use crate::input::source::growing::{Follow, Pass, Until, follow};
use crate::input::source::{Source, run_of};
use crate::output::{Out, Progress, bytes, message};
use flow_query::reading::{Ending, Reading};
use flow_query::select::thread_title;

/// Why calls in one order cannot be selected by their duration as they come.
const UNDECIDED: &str = "--min-duration cannot be used with --follow and --merged: whether a call is long enough is known when it \
     has lasted that long, and until then nothing could be shown of any thread; leave out --merged or --follow";

/// Follows all traces of a directory, until their recordings are over.
pub(super) fn run(args: &ReplayArgs, out: &mut Out) -> Result<Status, Failure> {
    // A run that begins later is not followed.
    let source = SourceArgs { dir: run_of(&args.source.dir), ..args.source.clone() };
    let args = &ReplayArgs { source, ..args.clone() };
    let until = Until::recorded(&args.source.dir)?;
    if !args.part.tests.patterns.is_empty() {
        return follow(&args.source.dir, until, &mut EndedTests::new(args), out);
    }
    if args.merged {
        if args.min_duration.is_some() {
            return Err(Failure::Usage(UNDECIDED.to_owned()));
        }
        return follow(&args.source.dir, until, &mut FollowMerged::new(args), out);
    }
    let mut follower = Follower::new(args, Arc::clone(&until.stop));
    follow(&args.source.dir, until, &mut follower, out)
}

/// Follows all traces of a file and those beside it, also those that are not there yet, until `stop` is set or the reader
/// of the output is gone.
pub(crate) fn follow_until(
    args: &ReplayArgs,
    stop: Arc<AtomicBool>,
    out: &mut Out,
) -> Result<Status, Failure> {
    let until = Until::stopped(Arc::clone(&stop));
    if !until.wait_for(&args.source.dir, out)? {
        return Ok(Status::Done);
    }
    follow(&args.source.dir, until, &mut Follower::new(args, stop), out)
}

struct Follower<'a> {
    args: &'a ReplayArgs,
    stop: Arc<AtomicBool>,
    printed: Printed,
    threads: BTreeMap<(PathBuf, ThreadId), Followed>,
    selections: Selections,
}

impl<'a> Follower<'a> {
    fn new(args: &'a ReplayArgs, stop: Arc<AtomicBool>) -> Self {
        Self {
            args,
            stop,
            printed: Printed::new(args),
            threads: BTreeMap::new(),
            selections: Selections::default(),
        }
    }

    fn for_each_thread(
        &mut self,
        source: &Source,
        out: &mut Out,
        mut each: impl FnMut(&mut Followed, &Trace, &ThreadFile, &mut Lines<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for trace in &source.traces {
            let Some(selections) = self.selections.known(trace) else { continue };
            let shown = shown(self.args, trace, selections, None);
            let mut lines = Lines::new(self.args, &shown, &mut self.printed, out);
            for file in trace.files() {
                if let Some(thread) = self.threads.get_mut(&(trace.dir().to_path_buf(), file.id()))
                {
                    each(thread, trace, file, &mut lines)?;
                }
            }
        }
        Ok(())
    }

    fn pause(&mut self, source: &Source, out: &mut Out) -> Result<(), Failure> {
        self.for_each_thread(source, out, |thread, _, _, lines| {
            thread.replay.feed(lines, None, |feed| feed.pause())?
        })
    }
}

impl Follow for Follower<'_> {
    /// Prints the new events of all threads.
    fn pass(
        &mut self,
        source: &mut Source,
        is_growing: bool,
        out: &mut Out,
    ) -> Result<Pass, Failure> {
        self.args.part.filter.filter().expect_own(source.traces.iter())?;
        let source = &*source;
        let mut pass = Pass::Nothing;
        let is_selected = |trace: &_, id| self.args.part.threads.include(trace, id);
        for trace in &source.traces {
            let selections = self.selections.of(self.args, trace)?;
            let shown = shown(self.args, trace, selections, None);
            let mut lines = Lines::new(self.args, &shown, &mut self.printed, out);
            let threads = || trace.files().iter().filter(|file| is_selected(trace, file.id()));
            if let Some(from) = self.args.from.as_ref().filter(|from| from.is_number())
                && (source.traces.len() > 1 || threads().count() > 1)
            {
                return Err(of_one_thread(from, threads().count(), source.traces.len()));
            }
            for file in threads() {
                let number = self.threads.len() as u64;
                let thread =
                    self.threads.entry((trace.dir().to_path_buf(), file.id())).or_insert_with(
                        || Followed::new(self.args, &shown, source, (trace, file), number),
                    );
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(Pass::Enough);
                }
                match thread.pass((trace, file), &mut lines, is_growing, &self.stop)? {
                    Pass::Enough => return Ok(Pass::Enough),
                    Pass::Events | Pass::More => pass = Pass::Events,
                    Pass::Nothing => {}
                }
            }
        }
        if pass == Pass::Nothing {
            self.pause(source, out)?;
        }
        Ok(pass)
    }

    fn end(
        &mut self,
        source: &mut Source,
        unreadable: &[(PathBuf, Error)],
        out: &mut Out,
    ) -> Result<Status, Failure> {
        let source = &*source;
        let mut status = source.report_damage(unreadable);
        let mut is_found = false;
        source.expect_calls()?;
        let (args, progress) = (self.args, Progress::without_results(0));
        // If a limit has been reached in one thread, the ends of the others are not shown.
        let mut endings = self.threads.values().map(|thread| thread.reading.ending());
        let is_stopped = endings.any(|ending| ending == Ending::Stopped);
        self.for_each_thread(source, out, |thread, trace, file, lines| {
            if is_stopped && thread.reading.ending() != Ending::Stopped {
                return Ok(());
            }
            let before = match args.from {
                None => args.part.filter.open_frames(trace, file.id()),
                Some(_) => OpenFrames::default(),
            };
            is_found |= !thread.waits;
            thread.replay.end(thread.reading.ending(), &before, lines)?;
            status = status.and(thread.reading.report(file, &progress));
            Ok(())
        })?;
        self.printed.report_left_out(args, out)?;
        if let Some(from) = args.from.as_ref().filter(|_| !is_found && status == Status::Done) {
            return Err(no_such_place(from));
        }
        Ok(status)
    }
}

/// A thread that is being followed.
struct Followed {
    replay: ThreadReplay,
    reading: Reading,
    /// The start of its title, if there are several traces.
    place: String,
    reached: Reached,
    /// Whether it does not have the position yet at which the replay begins.
    waits: bool,
    /// Its size at the last pass.
    size: Option<(u64, u64, u64)>,
}

impl Followed {
    fn new(
        args: &ReplayArgs,
        shown: &Shown<'_>,
        source: &Source,
        (trace, file): (&Trace, &ThreadFile),
        number: u64,
    ) -> Self {
        let name = source.name(trace.dir());
        let prefix = Lines::prefix(args, &name, file.id());
        Self {
            replay: ThreadReplay::new(shown, number, String::new(), prefix),
            reading: Reading::default(),
            place: if source.several { format!("trace {name}, ") } else { String::new() },
            reached: Reached::default(),
            waits: args.from.is_some(),
            size: None,
        }
    }

    /// Prints the new events.
    fn pass(
        &mut self,
        (trace, file): (&Trace, &ThreadFile),
        lines: &mut Lines<'_>,
        is_growing: bool,
        stop: &AtomicBool,
    ) -> Result<Pass, Failure> {
        let size = file.size();
        let is_due = self.size != Some(size)
            || !is_growing && self.replay.calls.stopped() == Some(Stopped::Undecided);
        if !is_due || self.reading.ending() == Ending::Failed {
            return Ok(Pass::Nothing);
        }
        let title = format!("{}thread {}", self.place, thread_title(trace, file.id()));
        let removed = self.reached.follow(file);
        if removed > 0 {
            message(&format!(
                "{title}: {} of events were removed before they could be read; it continues with the calls that were \
                 open after them",
                bytes(removed)
            ));
            self.replay.calls = InOrder::new(lines.shown);
            self.reached.continue_at(Offset::new(0));
        }
        self.replay.heading.title = title;
        let is_new = self.size.replace(size).is_none();
        if let Some(from) = lines.args.from.as_ref().filter(|_| self.waits) {
            match from.find(trace, file, &mut Progress::without_results(0)) {
                Ok((Some(start), before)) => {
                    self.waits = false;
                    self.reading = std::mem::take(&mut self.reading).following(before);
                    self.replay.start_at(&start, lines.args.is_timed(), lines)?;
                    self.reached.continue_at(start.place.offset);
                }
                Ok((None, _)) => return Ok(Pass::Nothing),
                Err(error) => {
                    let _ = self.reading.note(error);
                    return Ok(Pass::Nothing);
                }
            }
        } else if is_new {
            self.replay
                .entered_before(&lines.args.part.filter.open_frames(trace, file.id()), lines)?;
        }
        if lines.args.is_timed() {
            // As far as they are known now: of calls that are still open, the least duration.
            self.replay.calls.keep_time(file, self.reached.next());
        }
        self.replay.calls.set_growing(is_growing);
        self.read_on(file, lines, stop)
    }

    fn read_on(
        &mut self,
        file: &ThreadFile,
        lines: &mut Lines<'_>,
        stop: &AtomicBool,
    ) -> Result<Pass, Failure> {
        let from = self.reached.next();
        let timeline = file.timeline_from(from);
        let opened = timeline.and_then(|timeline| Ok((timeline, Content::open(file)?.len())));
        let (timeline, end) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let _ = self.reading.note(error);
                return Ok(Pass::Nothing);
            }
        };
        let mut events =
            self.reached.new_events(with_details(lines.args, None, timeline, file.id()), end);
        let (replay, reading) = (&mut self.replay, &mut self.reading);
        let (mut pass, mut is_enough) = (Pass::Nothing, false);
        replay.feed(lines, None, |feed| {
            while let Some(event) = events.next() {
                match event {
                    Ok(event) => {
                        let continues = event.visit(feed);
                        if feed.thread.stopped() == Some(Stopped::Undecided) {
                            events.unread();
                            return;
                        }
                        pass = Pass::Events;
                        is_enough = !continues || stop.load(Ordering::Relaxed);
                        if is_enough {
                            return;
                        }
                    }
                    Err(error) => {
                        if reading.note(error) == ControlFlow::Break(()) {
                            return;
                        }
                    }
                }
            }
            reading.set_ending(events.tail());
        })?;
        self.reached = events.reached();
        if is_enough {
            self.reading.set_ending(Ending::Stopped);
            return Ok(Pass::Enough);
        }
        Ok(pass)
    }
}
