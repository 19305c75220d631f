//! Replays the records of one thread as lines. All state about earlier records is in one value, so reading
//! may begin and continue at any record.

use std::num::NonZeroU64;
use std::ops::{ControlFlow, Range};

use flow_codec::format::flow::Record;
use flow_codec::format::instructions::Step;
use flow_codec::format::values::{CallValue, Role};
use flow_codec::read::{
    CallTimes, EventKind, Lookahead, OpenFrames, Operands, ShownFrames, StackSample, Stamp,
    ThreadFile, TimelineEvent, Unwound, VisitTimeline,
};
use flow_codec::{Depth, Error, MethodId, Offset};
use flow_query::dag::{Repeat, Walk};

use super::lines::Lines;
use super::pending::{Line, Pending};
use super::remarks::{
    NEAREST, called_by, entered_before, left_out_deeper, left_out_shorter, left_unseen, still_open,
};
use super::sampled::Sampled;
use super::start::Start;
use super::timed::{self, MarkRow};
use crate::args::{Format, ReplayArgs};
use crate::failure::Failure;
use crate::output::{LineSamples, grouped, plural};
use flow_query::reading::Ending;

/// If more frames are open than this, only the outermost and the innermost are named.
const NAMED_FRAMES: usize = 64;

/// The state of one thread's replay.
#[derive(Debug)]
pub(super) struct ThreadReplay {
    /// The text of the thread's heading.
    pub(super) title: String,
    /// Distinguishes it from the other threads.
    number: u64,
    prefix: Vec<u8>,
    max_depth: usize,
    max: u64,
    is_text: bool,
    is_verbose: bool,
    collapses: bool,
    /// Whether it has a line where an exception leaves calls.
    shows_unwinding: bool,
    /// Whether a line stays pending until its call ends.
    holds: bool,
    /// The open frames, without those that are left out.
    stack: Vec<MethodId>,
    /// Open calls of methods with several versions: how many calls are in the stack up to them, and the version if it is not 0.
    versions: Vec<(usize, u16)>,
    /// Which of the open frames are in the stack.
    shown: ShownFrames,
    /// The depth of the call that is being shown with all its callees. Without `--method` everything is
    /// inside such a call.
    root: Option<usize>,
    pending: Pending,
    /// The number of calls so far, shown or not.
    calls: u64,
    /// The number of calls that were too deep.
    deeper: u64,
    /// The number of exits of frames that were entered before recording.
    unseen: u64,
    /// The times of calls, if they are shown.
    times: Option<Lookahead>,
    /// Calls shorter than this are hidden.
    min_ns: u64,
    /// The number of hidden shorter calls.
    shorter: u64,
    /// How often the next call is repeated, if that is known and calls are collapsed.
    repeat: Option<Repeat>,
    /// The calls that are not shown because an earlier one did the same, by their numbers: those that begin later first.
    hidden: Vec<Range<u64>>,
    /// Samples that are still to be shown.
    sampled: Option<Sampled>,
    /// A line that is still to be shown.
    reached: Option<Reached>,
    /// Values that are still to be shown.
    given: Option<Given>,
    /// An instruction that is still to be shown.
    stepped: Option<Stepped>,
    /// Whether it is the replay of one call, whose heading has been printed.
    is_hit: bool,
    /// Whether a call was not shown because enough were.
    is_full: bool,
}

/// A line that a call reached.
#[derive(Debug)]
struct Reached {
    /// How many calls are shown around it.
    depth: usize,
    line: u16,
    /// How many times in a row.
    count: u64,
    first: TimelineEvent,
}

/// An instruction that ran.
#[derive(Debug)]
struct Stepped {
    /// How many calls are shown around it.
    depth: usize,
    at: u16,
    first: TimelineEvent,
    operands: Operands,
}

/// Values of a call that belong together.
#[derive(Debug)]
struct Given {
    /// How many calls are shown around them.
    depth: usize,
    first: TimelineEvent,
    values: Vec<CallValue>,
    /// The class of the exception, if the values are its message.
    thrown: Option<String>,
}

/// What is known about a call whose shape is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside {
    /// Whether it is not left out.
    pub(super) is_shown: bool,
    /// How many calls it made that are not left out.
    pub(super) shown: u64,
    /// Whether it is a call of `--method`, or has one in it.
    pub(super) has_wanted: bool,
    /// The most frames that are open at once in it, including its own.
    pub(super) levels: u64,
}

/// A replay that receives a timeline.
pub(super) struct TimedReplay<'a, 'l> {
    pub(super) replay: &'a mut ThreadReplay,
    pub(super) lines: &'a mut Lines<'l>,
    /// Why it stopped.
    pub(super) stopped: Result<(), Failure>,
}

impl TimedReplay<'_, '_> {
    fn continues(&mut self, outcome: Result<ControlFlow<()>, Failure>) -> bool {
        let flow = outcome.unwrap_or_else(|failure| {
            self.stopped = Err(failure);
            ControlFlow::Break(())
        });
        flow == ControlFlow::Continue(())
    }
}

impl VisitTimeline for TimedReplay<'_, '_> {
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        let outcome = self.replay.enter(at.position.offset, method, self.lines);
        self.continues(outcome)
    }

    fn exit(&mut self, count: NonZeroU64, _at: Stamp, unwound: Option<&Unwound>) -> bool {
        if let Some(class) = unwound.and_then(|unwound| unwound.class.as_deref()) {
            self.replay.threw(class);
        }
        let outcome = match unwound.filter(|_| self.replay.shows_unwinding) {
            Some(unwound) => self.replay.unwind(count, unwound, self.lines),
            None => self.replay.exit(count, self.lines),
        };
        self.continues(outcome.map(|()| ControlFlow::Continue(()))) && !self.replay.is_over()
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        if self.replay.shows_unwinding {
            return true;
        }
        let outcome = match event.kind {
            EventKind::Sample(sample) => self.replay.sample(event, &sample, self.lines),
            EventKind::Line(line) => self.replay.line(event, line, self.lines),
            EventKind::Step(step) => self.replay.step(event, step, self.lines),
            EventKind::Values(ref values) => self.replay.values(&event, values, self.lines),
            EventKind::Version(version) => {
                self.replay.version(version, self.lines);
                Ok(())
            }
            _ => match MarkRow::of(event) {
                Some(mark) => self.replay.mark(&mark, self.lines),
                None => return true,
            },
        };
        self.continues(outcome.map(|()| ControlFlow::Continue(())))
    }
}

impl ThreadReplay {
    /// Begins with no frame open.
    pub(super) fn new(args: &ReplayArgs, number: u64, title: String, prefix: Vec<u8>) -> Self {
        let is_text = args.source.format == Format::Text;
        let limit = |limit: Option<u64>| limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX);
        Self {
            title,
            number,
            prefix,
            max_depth: usize::try_from(limit(args.depth)).unwrap_or(usize::MAX),
            max: limit(args.max),
            is_text,
            is_verbose: args.verbose,
            collapses: is_text && args.collapse,
            shows_unwinding: args.shows_unwinding(),
            holds: is_text
                && (args.collapse || args.depth.is_some() || args.min_duration.is_some()),
            stack: Vec::new(),
            versions: Vec::new(),
            shown: ShownFrames::default(),
            root: args.method.is_empty().then_some(0),
            pending: Pending::default(),
            calls: 0,
            deeper: 0,
            unseen: 0,
            times: None,
            min_ns: args.min_duration.unwrap_or(0),
            shorter: 0,
            repeat: None,
            hidden: Vec::new(),
            sampled: None,
            reached: None,
            given: None,
            stepped: None,
            is_hit: false,
            is_full: false,
        }
    }

    /// Begins before the entry of a call that is shown with all its callees. Its heading has been printed.
    pub(super) fn of_hit(args: &ReplayArgs) -> Self {
        Self { is_hit: true, ..Self::new(args, 0, String::new(), Vec::new()) }
    }

    /// Returns whether the call has ended.
    pub(super) fn is_over(&self) -> bool {
        self.is_hit && self.root.is_none() && self.calls > 0
    }

    /// Returns whether a call was not shown because enough were.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Ends the replay of a call. Returns the numbers of calls that were too deep, and too short.
    pub(super) fn end_hit(&mut self, lines: &mut Lines<'_>) -> Result<(u64, u64), Failure> {
        self.take_samples(lines)?;
        self.take_pending(lines)?;
        Ok((self.deeper, self.shorter))
    }

    /// Adds times, for the records from this one on.
    pub(super) fn keep_time(&mut self, file: &ThreadFile, from: Offset) {
        self.times = Some(Lookahead::new(file, from));
    }

    /// Sets how often the next call is repeated, if it is. If calls are collapsed, it is shown as one with those that
    /// follow.
    pub(super) fn expect_repeat(&mut self, repeat: Option<Repeat>) {
        if self.collapses {
            self.repeat = repeat;
        }
    }

    /// Skips what the call does that was entered last, as far as nothing of it is shown. What is printed is the same as
    /// if all of it were replayed.
    pub(super) fn skip(&mut self, inside: Inside, walk: &mut Walk<'_>) {
        let number = self.calls.saturating_sub(1);
        let is_hidden = self.hidden.last().is_some_and(|hidden| hidden.contains(&number));
        let skipped = match self.root {
            // Calls that do the same after it change nothing more.
            None if !inside.has_wanted => walk.skip_equal(),
            None => 0,
            Some(root) => {
                let frames = self.stack.len().saturating_sub(root);
                let above = frames as u64 - u64::from(inside.is_shown).min(frames as u64);
                let fits = above.saturating_add(inside.levels) <= self.max_depth as u64;
                let is_left_out = inside.shown == 0 && !inside.is_shown;
                // Calls that are too deep are counted, also hidden ones.
                if is_left_out || is_hidden && fits {
                    walk.skip_equal()
                } else if inside.shown == 0 {
                    walk.skip_call()
                } else if frames >= self.max_depth {
                    self.deeper = self.deeper.saturating_add(inside.shown);
                    if !is_hidden {
                        self.pending.below(inside.shown);
                    }
                    walk.skip_call()
                } else {
                    0
                }
            }
        };
        self.calls = self.calls.saturating_add(skipped);
    }

    /// Passes a call of `--method` with its times, without the calls that it made, for JSON or CSV.
    pub(super) fn row(
        &mut self,
        line: &Line,
        calls: u64,
        lines: &mut Lines<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        if line.times.as_ref().is_some_and(|times| times.duration_ns < self.min_ns) {
            self.shorter += 1;
        } else if lines.printed.calls == self.max {
            self.is_full = true;
            return Ok(ControlFlow::Break(()));
        } else {
            lines.printed.calls += 1;
            lines.call(&self.prefix, 0, line)?;
        }
        self.deeper = self.deeper.saturating_add(calls.saturating_sub(1));
        Ok(ControlFlow::Continue(()))
    }

    /// Returns whether an earlier call did the same as the call with this number, or as one that it is in.
    fn is_hidden(&mut self, number: u64) -> bool {
        while let Some(hidden) = self.hidden.last() {
            if number < hidden.end {
                return hidden.contains(&number);
            }
            self.hidden.pop();
        }
        false
    }

    /// Passes a call that is not shown because an earlier one did the same.
    fn pass(&mut self, method: MethodId, lines: &Lines<'_>) {
        if !lines.selection.is_all() {
            let is_shown = lines.selection.contains(method);
            self.shown.enter(is_shown);
            if !is_shown {
                return;
            }
        }
        let top = self.stack.len();
        self.deeper += u64::from(top - self.root.unwrap_or(top).min(top) >= self.max_depth);
        self.stack.push(method);
    }

    /// Takes the error in the marks, if there is one.
    pub(super) fn marks_damage(&mut self) -> Option<Error> {
        self.times.take().and_then(Lookahead::into_damage)
    }

    /// Begins in the middle of the thread, and prints the position.
    pub(super) fn start_at(
        &mut self,
        start: &Start,
        is_timed: bool,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        let Start { place, frames, versions } = start;
        self.calls = place.enters;
        let versions = versions.iter().copied().chain(std::iter::repeat(0));
        for (&method, version) in frames.iter().zip(versions) {
            let is_shown = lines.selection.contains(method);
            self.shown.enter(is_shown);
            if is_shown {
                let is_wanted = lines.wanted.is_some_and(|wanted| wanted.contains(method));
                self.root = self.root.or(is_wanted.then_some(self.stack.len()));
                self.stack.push(method);
                if version != 0 {
                    self.versions.push((self.stack.len(), version));
                }
            }
        }
        if !self.is_text {
            return Ok(());
        }
        self.head(lines)?;
        let (call, event, offset) = (grouped(place.enters), grouped(place.events()), place.offset);
        lines.text(0, &format!("… from call {call}, event {event}, at offset {offset}, in:"))?;
        self.open_frames(is_timed, lines)
    }

    /// Prints the frames that are open, without those that are too deep.
    fn open_frames(&self, is_timed: bool, lines: &mut Lines<'_>) -> Result<(), Failure> {
        let shown = self.stack.len().min(self.max_depth);
        let hidden =
            if shown > NAMED_FRAMES { NAMED_FRAMES / 2..shown - NAMED_FRAMES / 2 } else { 0..0 };
        for (depth, frame) in self.stack.iter().enumerate().take(shown) {
            if depth == hidden.start && !hidden.is_empty() {
                let more = plural(hidden.len() as u64, "more frame");
                text_line(depth, &format!("… {more}"), is_timed, lines)?;
            }
            if !hidden.contains(&depth) {
                let frame = lines.labels.name(*frame);
                text_line(depth, &format!("… {frame}"), is_timed, lines)?;
            }
        }
        Ok(())
    }

    /// Prints the frames that were entered before recording. The calls that follow are not indented below
    /// them, because it is unknown when these frames end.
    pub(super) fn entered_before(
        &mut self,
        open: &OpenFrames,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        const BEFORE: &str = "entered before recording";
        if !self.is_text || open.count() == 0 || lines.wanted.is_some() {
            return Ok(());
        }
        self.head(lines)?;
        let (frames, omitted) = (&open.frames, open.omitted);
        if omitted > 0 {
            lines.text(0, &format!("… {} {BEFORE}", plural(omitted, "frame")))?;
        }
        let outside = usize::try_from(omitted).unwrap_or(usize::MAX);
        let shown = self.max_depth.saturating_sub(outside).min(frames.len());
        let names = lines.labels.frames(frames);
        let (shown, deeper) = names.split_at(shown);
        for (number, frame) in shown.iter().enumerate() {
            lines.text(outside.saturating_add(number), &format!("… {frame}  {BEFORE}"))?;
        }
        if !deeper.is_empty() {
            let (deeper, depth) = (plural(deeper.len() as u64, "deeper frame"), self.max_depth);
            lines.text(0, &format!("… {deeper} {BEFORE} left out (--depth {depth})"))?;
        }
        Ok(())
    }

    /// Replays the next record, which begins at `offset`.
    #[inline]
    pub(super) fn record(
        &mut self,
        offset: Offset,
        record: Record,
        lines: &mut Lines<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        match record {
            Record::Enter(method) => self.enter(offset, method, lines),
            Record::Exit(count) => {
                self.exit(count, lines)?;
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    #[inline]
    pub(super) fn enter(
        &mut self,
        offset: Offset,
        method: MethodId,
        lines: &mut Lines<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let number = self.calls;
        self.calls += 1;
        if !self.hidden.is_empty() && self.is_hidden(number) {
            self.pass(method, lines);
            return Ok(ControlFlow::Continue(()));
        }
        let repeat = self.repeat.take();
        let times = match &mut self.times {
            Some(times) => Some(times.next_call()?.unwrap_or(timed::UNKNOWN)),
            None => None,
        };
        if !lines.selection.is_all() {
            let is_shown = lines.selection.contains(method);
            self.shown.enter(is_shown);
            if !is_shown {
                return Ok(ControlFlow::Continue(()));
            }
        }
        let top = self.stack.len();
        let is_root = self.root.is_none();
        let root = self.root.unwrap_or(top);
        if is_root && lines.wanted.is_some_and(|wanted| !wanted.contains(method)) {
            self.stack.push(method);
            return Ok(ControlFlow::Continue(()));
        }
        let depth = Depth::new(top as u64);
        // Calls whose callees are not shown are collapsed anyway, and calls of --method have lines of their own.
        let has_callees = top - root + 1 < self.max_depth;
        let is_of_method = is_root && lines.wanted.is_some();
        let repeat = repeat.filter(|repeat| repeat.calls > 1 && has_callees && !is_of_method);
        let is_short = times.as_ref().is_some_and(|times| times.duration_ns < self.min_ns);
        if is_short && top - root < self.max_depth {
            self.shorter += 1;
            self.pending.below(1);
        } else if top - root >= self.max_depth {
            self.deeper += 1;
            self.pending.below(1);
        } else if repeat.is_some() || !(self.collapses && self.pending.joins(depth, method)) {
            if lines.printed.calls == self.max {
                self.is_full = true;
                return Ok(ControlFlow::Break(()));
            }
            lines.printed.calls += 1;
            self.take_samples(lines)?;
            self.take_pending(lines)?;
            self.head(lines)?;
            if is_root && self.is_text && !self.is_hit {
                self.say_where(offset, lines)?;
            }
            let mut line = Line { times, ..Line::new(depth, method, offset) };
            if let Some(Repeat { count, calls, .. }) = repeat {
                line.same = count;
                let end = number.saturating_add(calls.saturating_mul(count));
                self.hidden.push(number.saturating_add(calls)..end);
            }
            if self.holds {
                self.pending.hold(line);
            } else {
                lines.call(&self.prefix, indent(top, root, lines), &line)?;
            }
        }
        self.root = Some(root);
        self.stack.push(method);
        while self.versions.last().is_some_and(|(depth, _)| *depth > top) {
            self.versions.pop();
        }
        Ok(ControlFlow::Continue(()))
    }

    #[inline]
    pub(super) fn exit(&mut self, count: NonZeroU64, lines: &mut Lines<'_>) -> Result<(), Failure> {
        let count = if lines.selection.is_all() { Some(count) } else { self.shown.exit(count) };
        let count = count.map_or(0, NonZeroU64::get);
        let open = self.stack.len();
        let left = open - usize::try_from(count).unwrap_or(usize::MAX).min(open);
        if self.sampled.as_ref().is_some_and(|sampled| left < sampled.depth) {
            self.take_samples(lines)?;
        }
        if self.reached.as_ref().is_some_and(|reached| left < reached.depth) {
            self.take_line(lines)?;
        }
        if self.given.as_ref().is_some_and(|given| left < given.depth) {
            self.take_values(lines)?;
        }
        if self.stepped.as_ref().is_some_and(|stepped| left < stepped.depth) {
            self.take_step(lines)?;
        }
        if let Some(held) = self.pending.depth() {
            // Only its own exit and the next can affect the line.
            let matter = left..open.min(held.as_usize().saturating_add(1));
            for depth in matter.rev().take(2) {
                let pending = self.pending.leave(Depth::new(depth as u64));
                self.print(pending, lines)?;
            }
        }
        self.stack.truncate(left);
        if lines.wanted.is_some() && self.root.is_some_and(|root| root >= left) {
            self.root = None;
        }
        match count - (open - left) as u64 {
            0 => Ok(()),
            unseen => self.exit_unseen(unseen, lines),
        }
    }

    /// Leaves calls by an exception, and shows that at the end of each.
    #[cold]
    fn unwind(
        &mut self,
        count: NonZeroU64,
        unwound: &Unwound,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        let open = self.stack.len();
        let left = open - usize::try_from(count.get()).unwrap_or(usize::MAX).min(open);
        let text = format!("left by {}", unwound.class.as_deref().unwrap_or("an exception"));
        for depth in (left..open).rev() {
            self.head(lines)?;
            lines.text(depth + 1, &text)?;
        }
        self.exit(count, lines)
    }

    #[cold]
    fn exit_unseen(&mut self, count: u64, lines: &mut Lines<'_>) -> Result<(), Failure> {
        if !self.is_text {
            self.unseen = self.unseen.saturating_add(count);
            return Ok(());
        }
        self.take_pending(lines)?;
        if lines.wanted.is_some() {
            return Ok(());
        }
        self.head(lines)?;
        lines.text(0, &format!("({})", left_unseen(count)))
    }

    /// Prints the thread's heading, unless it was printed last.
    #[inline]
    fn head(&self, lines: &mut Lines<'_>) -> Result<(), Failure> {
        if self.is_hit { Ok(()) } else { lines.head(self.number, &self.title) }
    }

    /// Prints the position of a call that is shown with all its callees, and its callers.
    fn say_where(&self, offset: Offset, lines: &mut Lines<'_>) -> Result<(), Failure> {
        let depth = self.stack.len();
        // The number of a call is the number of calls before it.
        let number = grouped(self.calls.saturating_sub(1));
        let (offset, nearest) = match self.is_verbose {
            true => (format!(" at offset {offset}"), 0),
            false => (String::new(), depth.saturating_sub(NEAREST)),
        };
        lines.out.heading(&format!("call {number}{offset}, depth {}", grouped(depth as u64)))?;
        let callers = self.stack.get(nearest..).unwrap_or_default();
        for caller in called_by(depth, callers, self.is_verbose, &lines.labels) {
            lines.text(1, &caller)?;
        }
        Ok(())
    }

    /// Prints the pending lines, because no events follow for now.
    pub(super) fn pause(&mut self, lines: &mut Lines<'_>) -> Result<(), Failure> {
        self.take_samples(lines)?;
        let pending = self.pending.show();
        self.print(pending, lines)
    }

    #[inline]
    fn take_pending(&mut self, lines: &mut Lines<'_>) -> Result<(), Failure> {
        if !self.holds {
            return Ok(());
        }
        let pending = self.pending.take();
        self.print(pending, lines)
    }

    #[inline]
    fn print(&self, held: [Option<Line>; 2], lines: &mut Lines<'_>) -> Result<(), Failure> {
        for line in held.iter().flatten() {
            self.print_line(line, lines)?;
        }
        Ok(())
    }

    fn print_line(&self, line: &Line, lines: &mut Lines<'_>) -> Result<(), Failure> {
        self.head(lines)?;
        let root = self.root.unwrap_or(line.depth.as_usize());
        lines.call(&self.prefix, indent(line.depth.as_usize(), root, lines), line)
    }

    /// Notes that the topmost frame, whose call has just begun, is one of this version of its method.
    fn version(&mut self, version: u16, lines: &Lines<'_>) {
        if let Some(depth) = self.topmost_shown(lines) {
            self.versions.push((depth, version));
        }
    }

    /// Returns the method of the innermost of this many calls, and its version.
    fn version_at(&self, depth: usize) -> (Option<MethodId>, u16) {
        let mut from_there = self.versions.iter().rev().skip_while(|(of, _)| *of > depth);
        let known = from_there.next().filter(|(of, _)| *of == depth);
        (self.method_at(depth), known.map_or(0, |(_, version)| *version))
    }

    /// Keeps a line of the topmost frame until it is known whether it is reached once more.
    fn line(
        &mut self,
        event: TimelineEvent,
        line: u16,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        let Some(depth) = self.topmost_shown(lines) else { return Ok(()) };
        if let Some(reached) = &mut self.reached
            && (reached.depth, reached.line) == (depth, line)
            && self.is_text
        {
            reached.count += 1;
            return Ok(());
        }
        self.take_samples(lines)?;
        self.reached = Some(Reached { depth, line, count: 1, first: event });
        Ok(())
    }

    /// Prints the line that was kept.
    #[inline]
    fn take_line(&mut self, lines: &mut Lines<'_>) -> Result<(), Failure> {
        let Some(Reached { depth, line, count, first }) = self.reached.take() else {
            return Ok(());
        };
        let row = MarkRow::of_line(&first, count, lines.line_of(self.version_at(depth), line));
        self.print_row(depth, &row, Some(&row.times), lines)
    }

    /// Prints values of the topmost frame: arguments as one row, once all are known, a result or a message as another one.
    fn values(
        &mut self,
        event: &TimelineEvent,
        values: &[CallValue],
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        let Some(depth) = self.topmost_shown(lines) else { return Ok(()) };
        for value in values {
            let is_given = matches!(value.role, Role::Argument(_) | Role::This);
            match &mut self.given {
                Some(given) if is_given && given.depth == depth => given.values.push(value.clone()),
                _ => {
                    self.take_samples(lines)?;
                    let (first, values) = (event.clone(), vec![value.clone()]);
                    self.given = Some(Given { depth, first, values, thrown: None });
                    // The class of the exception follows its message.
                    if !is_given && value.role != Role::Message {
                        self.take_values(lines)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Prints the values that were kept.
    #[inline]
    fn take_values(&mut self, lines: &mut Lines<'_>) -> Result<(), Failure> {
        let Some(Given { depth, first, values, thrown }) = self.given.take() else {
            return Ok(());
        };
        let texts = lines.value_texts(self.method_at(depth));
        let row = MarkRow::of_values(&first, &values, thrown.as_deref(), &texts);
        self.print_row(depth, &row, None, lines)
    }

    /// Notes that an exception of this class leaves the topmost frame. Its message may still have to be shown.
    fn threw(&mut self, class: &str) {
        let is_message = |given: &&mut Given| {
            matches!(&given.values[..], [CallValue { role: Role::Message, .. }])
        };
        if let Some(given) = self.given.as_mut().filter(is_message) {
            given.thrown = Some(class.to_owned());
        }
    }

    /// Prints the instructions of a run, except for the last one: operands may follow.
    fn step(
        &mut self,
        event: TimelineEvent,
        step: Step,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        let Some(depth) = self.topmost_shown(lines) else { return Ok(()) };
        match step {
            Step::Operand(kind, value) => {
                if let Some(stepped) = self.stepped.as_mut().filter(|last| last.depth == depth) {
                    stepped.operands.add(kind, value);
                }
            }
            Step::Run(at) => {
                let code = lines.code_of(self.version_at(depth));
                for instruction in code.map(|(code, _)| code.run(at)).unwrap_or_default() {
                    self.take_samples(lines)?;
                    let (at, first) = (instruction.at, event.clone());
                    let operands = Operands::default();
                    self.stepped = Some(Stepped { depth, at, first, operands });
                }
            }
        }
        Ok(())
    }

    /// Prints the instruction that was kept.
    #[inline]
    fn take_step(&mut self, lines: &mut Lines<'_>) -> Result<(), Failure> {
        let Some(Stepped { depth, at, first, operands }) = self.stepped.take() else {
            return Ok(());
        };
        let Some((code, line)) = lines.code_of(self.version_at(depth)) else { return Ok(()) };
        let Some(instruction) = code.run(at).first() else { return Ok(()) };
        let line = code.line(at).map_or(String::new(), |(number, _)| line(number));
        let row = MarkRow::of_instruction(&first, &line, instruction, &operands);
        self.print_row(depth, &row, Some(&row.times), lines)
    }

    /// How many calls are shown around what the topmost frame does; `None` if that is not shown.
    fn topmost_shown(&self, lines: &Lines<'_>) -> Option<usize> {
        let deepest = self.root?.saturating_add(self.max_depth);
        let is_shown = lines.selection.is_all() || self.shown.shows_topmost();
        Some(self.stack.len()).filter(|depth| is_shown && *depth <= deepest)
    }

    /// The method of the innermost of this many calls.
    fn method_at(&self, depth: usize) -> Option<MethodId> {
        depth.checked_sub(1).and_then(|top| self.stack.get(top)).copied()
    }

    /// Prints a row of a call, in text below it and after these times.
    fn print_row(
        &mut self,
        depth: usize,
        row: &MarkRow,
        times: Option<&CallTimes>,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        if !self.is_text {
            return lines.mark_row(&self.prefix, Depth::new(depth as u64), row);
        }
        self.take_pending(lines)?;
        self.head(lines)?;
        let indent = indent(depth, self.root.unwrap_or(depth), lines);
        lines.timed_row(indent, &row.text(), times)
    }

    /// Keeps a sample until it is known whether the next one is of the same line.
    fn sample(
        &mut self,
        event: TimelineEvent,
        sample: &StackSample,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        let (Some(root), Some(samples)) = (self.root, lines.samples) else { return Ok(()) };
        let shown = self.stack.len().min(root.saturating_add(self.max_depth));
        let call = shown.checked_sub(1).and_then(|last| self.stack.get(last)).copied();
        let next = Sampled::new(shown, LineSamples::new(sample, samples, call), event, sample);
        if self.sampled.as_mut().is_none_or(|before| !before.add(&next)) {
            self.take_samples(lines)?;
            self.sampled = Some(next);
        }
        Ok(())
    }

    /// Prints the samples that were kept.
    #[inline]
    fn take_samples(&mut self, lines: &mut Lines<'_>) -> Result<(), Failure> {
        self.take_values(lines)?;
        self.take_line(lines)?;
        self.take_step(lines)?;
        let Some(sampled) = self.sampled.take() else { return Ok(()) };
        let shown = sampled.depth;
        let row = MarkRow::of_samples(&sampled, &lines.labels);
        if !self.is_text {
            return lines.mark_row(&self.prefix, Depth::new(shown as u64), &row);
        }
        let pending = self.pending.show();
        self.print(pending, lines)?;
        self.head(lines)?;
        let indent = indent(shown, self.root.unwrap_or(shown), lines);
        let times = sampled.times();
        lines.timed_row(indent, &row.text(), Some(&times))
    }

    /// Prints a mark between calls.
    fn mark(&mut self, mark: &MarkRow, lines: &mut Lines<'_>) -> Result<(), Failure> {
        self.take_samples(lines)?;
        let Some(root) = self.root else { return Ok(()) };
        let open = self.stack.len();
        if !self.is_text {
            return lines.mark_row(&self.prefix, Depth::new(open as u64), mark);
        }
        self.take_pending(lines)?;
        self.head(lines)?;
        let depth = open.min(root.saturating_add(self.max_depth));
        lines.timed_text(indent(depth, root, lines), &mark.text())
    }

    /// Ends the thread with the remaining remarks.
    pub(super) fn end(
        &mut self,
        ending: Ending,
        before: &OpenFrames,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        self.take_samples(lines)?;
        self.take_pending(lines)?;
        let mut notes = Vec::new();
        if !self.is_text && before.count() > 0 {
            notes.push(entered_before(before, &lines.labels));
        }
        if self.unseen > 0 {
            notes.push(left_unseen(self.unseen));
        }
        if !self.is_text {
            lines.printed.deeper += std::mem::take(&mut self.deeper);
            lines.printed.shorter += std::mem::take(&mut self.shorter);
        }
        if self.deeper > 0 {
            notes.push(left_out_deeper(self.deeper, self.max_depth as u64));
        }
        if self.shorter > 0 {
            notes.push(left_out_shorter(self.shorter, self.min_ns));
        }
        match ending {
            Ending::Stopped if lines.printed.calls >= self.max => {
                let max = self.max;
                notes.push(format!("stopped after {} (--max {max})", plural(max, "call")));
            }
            Ending::Whole | Ending::Truncated(_) if self.root.is_some() => {
                notes.extend(still_open(&self.stack, &lines.labels));
            }
            _ => {}
        }
        for note in notes {
            self.head(lines)?;
            lines.remark(&self.title, &format!("… {note}"))?;
        }
        Ok(())
    }
}

/// Prints a line of text between calls.
fn text_line(
    depth: usize,
    text: &str,
    is_timed: bool,
    lines: &mut Lines<'_>,
) -> Result<(), Failure> {
    if is_timed { lines.timed_text(depth, text) } else { lines.text(depth, text) }
}

/// The indentation of a call at this depth: calls shown with all their callees are below the line with their
/// position.
#[inline]
fn indent(depth: usize, root: usize, lines: &Lines<'_>) -> usize {
    if lines.wanted.is_none() { depth } else { depth.saturating_sub(root) + 1 }
}
