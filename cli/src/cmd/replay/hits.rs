//! `flow replay --method` of a trace with times: the calls that match, in order of time across threads. With
//! `--depth 1` they are rows of a table.
//!
//! One pass over the events finds them, or the stored shapes; each is then read again from its entry on. So memory
//! depends on the number of matching calls alone.

use std::num::NonZeroU64;
use std::ops::ControlFlow;

use flow_codec::format::marks::{Mark, Position};
use flow_codec::read::{
    CallTimes, Marks, Selection, StackSamples, Stamp, StoredBytes, ThreadFile, TimelineEvent,
    Trace, Unwound, VisitTimeline,
};
use flow_codec::{Depth, MethodId, Offset};
use flow_query::dag::{Kind, Outcome, Root};
use flow_query::in_order::{Detail, LeftOut, OrderedCall, Shown};
use flow_query::rows::Cell;

use super::lines::{Lines, Printed, with_details};
use super::remarks::{NEAREST, called_by, left_out_deeper, left_out_shorter};
use super::thread::ThreadReplay;
use super::timed::thrown_text;
use crate::args::ReplayArgs;
use crate::failure::{Failure, Status};
use crate::output::{Labels, Out, Progress, Table, bounded_duration, grouped, instant, plural};
use flow_query::reading::{
    CallClock, Ending, Listener as _, Reading, UNKNOWN_TIMES, read_records, read_timeline,
    stored_shapes,
};
use flow_query::select::file_title;

/// If more calls match, they are shown by thread.
const MOST: usize = 1 << 19;

/// A call that matches.
pub(super) struct Hit {
    /// The index of its thread among those of the trace.
    file: usize,
    /// Its entry.
    offset: Offset,
    /// The number of calls of the thread before it.
    number: u64,
    method: MethodId,
    /// When it began and ended; the end of the thread if it is open.
    times: CallTimes,
    /// The calls it made, itself included.
    calls: u64,
    is_open: bool,
    /// Whether there are notes, gaps or the like in it.
    has_marks: bool,
    /// The number of its callers that are shown, and the innermost of them.
    depth: usize,
    callers: Box<[MethodId]>,
}

impl Hit {
    /// The line of a call that called nothing, which need not be read again.
    fn only_line(&self, is_timed: bool) -> Option<OrderedCall> {
        if self.calls != 1 || self.has_marks || self.is_open {
            return None;
        }
        let times = is_timed.then(|| self.times.clone());
        let call = OrderedCall::new(Depth::default(), self.method, self.offset);
        Some(OrderedCall { times, ..call })
    }

    fn start(&self) -> String {
        self.times.start.estimate_ns.map_or("?".to_owned(), instant)
    }
}

/// Finds the calls of a trace that match, in order of time; `None` if there are too many. Errors of their threads are
/// reported.
pub(super) fn find(
    args: &ReplayArgs,
    trace: &Trace,
    (selection, wanted): (&Selection, &Selection),
    progress: &mut Progress,
) -> (Option<Vec<Hit>>, Status) {
    let kept = if args.verbose { usize::MAX } else { NEAREST };
    let mut finder =
        Finder { wanted, kept, hits: Vec::new(), stack: Vec::new(), open: None, file: 0 };
    let mut status = Status::Done;
    for (number, file) in trace.files().iter().enumerate() {
        finder.file = number;
        if selection.is_all() && finder.find_in_shapes(file, false).is_some() {
            progress.file_done(file.bytes());
            if finder.hits.len() > MOST {
                return (None, status);
            }
            continue;
        }
        let reading = match file.timeline().map(|timeline| timeline.select(selection)) {
            Err(error) => Reading::failed(error),
            Ok(mut timeline) => {
                let mut reading = read_timeline(file, &mut timeline, progress, &mut finder);
                let end = timeline.now();
                finder.leave(u64::MAX, end, None, true);
                reading.add_marks(timeline.into_damage());
                reading
            }
        };
        status = status.and(reading.report(file, progress));
        if finder.hits.len() > MOST {
            return (None, status);
        }
    }
    let mut hits = finder.hits;
    hits.sort_by_key(|hit| (hit.times.start.estimate_ns, hit.file, hit.offset));
    (Some(hits), status)
}

/// Prints the calls of a thread that match, without those that they make, in JSON or CSV with times: from stored shapes.
/// `None` if there are none, or if events are needed; then nothing was printed.
pub(super) fn pass_rows(
    file: &ThreadFile,
    replay: &mut ThreadReplay,
    lines: &mut Lines<'_>,
) -> Option<Result<Reading, Failure>> {
    let Shown { wanted, selection, .. } = *lines.shown;
    let wanted = wanted.filter(|_| selection.is_all() && !lines.has_details())?;
    let (hits, stack) = (Vec::new(), Vec::new());
    let mut finder = Finder { wanted, kept: 0, hits, stack, open: None, file: 0 };
    finder.find_in_shapes(file, true)?;
    if finder.hits.len() > MOST {
        return None;
    }
    for hit in &finder.hits {
        let call = OrderedCall::new(Depth::new(hit.depth as u64), hit.method, hit.offset);
        let call = OrderedCall { times: Some(hit.times.clone()), ..call };
        match replay.feed(lines, None, |feed| feed.call_alone(&call, hit.calls)).flatten() {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => {
                return Some(Ok(Reading::ended(Ending::Stopped)));
            }
            Err(failure) => return Some(Err(failure)),
        }
    }
    Some(Ok(Reading::default()))
}

struct Finder<'a> {
    wanted: &'a Selection,
    /// How many callers of a hit are kept.
    kept: usize,
    hits: Vec<Hit>,
    stack: Vec<MethodId>,
    /// The depth of the last hit, if it is still open.
    open: Option<usize>,
    file: usize,
}

impl Finder<'_> {
    fn leave(&mut self, count: u64, at: Stamp, unwound: Option<&Unwound>, is_open: bool) {
        let left =
            self.stack.len() - usize::try_from(count).unwrap_or(usize::MAX).min(self.stack.len());
        self.stack.truncate(left);
        let is_left = self.open.is_some_and(|depth| left <= depth);
        let Some(hit) = self.hits.last_mut().filter(|_| is_left) else {
            return;
        };
        self.open = None;
        (hit.calls, hit.is_open) = (at.calls - hit.number, is_open);
        let mut end = at.time;
        if is_open {
            end.bounds.by_ns = u64::MAX;
        }
        hit.times.end(end, unwound.cloned());
    }

    /// Finds the calls of a thread in its stored shapes. `None` if there are none, or if events are needed: because calls
    /// that match were not left, or by an exception, or because events are missing; if `alone`, also because something
    /// else is shown: exits without entries, or notes in these calls.
    fn find_in_shapes(&mut self, file: &ThreadFile, alone: bool) -> Option<()> {
        if file.parts().is_some() {
            return None;
        }
        let dag = stored_shapes(file)?;
        let (shapes, wanted) = (dag.shapes(), self.wanted);
        let needs_events = |shape| match shapes.kind(shape) {
            Kind::Call(method, outcome) => outcome != Outcome::Returned && wanted.contains(method),
            Kind::Break(_) | Kind::Thread => true,
        };
        let is_open = |root| matches!(root, Root::Open(method) if wanted.contains(method));
        let is_unseen = |root| alone && matches!(root, Root::UnseenExits(_));
        if shapes.iter().any(needs_events)
            || dag.roots().any(|root| is_open(root) || is_unseen(root))
        {
            return None;
        }
        let is_wanted =
            |shape| matches!(shapes.kind(shape), Kind::Call(method, _) if wanted.contains(method));
        let mut notes = Notes::open(file)?;
        let mut clock = CallClock::new(file);
        let mut calls = dag.find(is_wanted).outermost();
        let before = self.hits.len();
        while let Some(call) = calls.next().filter(|_| self.hits.len() <= MOST) {
            let Kind::Call(method, _) = shapes.kind(call.shape) else { continue };
            let depth = usize::try_from(call.depth).unwrap_or(usize::MAX);
            let times = clock.times(&[call]).pop().unwrap_or(UNKNOWN_TIMES);
            self.hits.push(Hit {
                file: self.file,
                offset: call.entry.offset,
                number: call.number,
                method,
                times,
                calls: shapes.calls(call.shape),
                is_open: false,
                has_marks: notes.is_between(call.entry, call.exit),
                depth,
                callers: calls.callers().skip(depth.saturating_sub(self.kept)).collect(),
            });
        }
        let has_notes = || self.hits.iter().skip(before).any(|hit| hit.has_marks);
        if notes.is_damaged || alone && has_notes() {
            // The events are read with them, and damage is reported.
            self.hits.truncate(before);
            return None;
        }
        Some(())
    }
}

/// The positions of marks that are shown among the calls, one ahead.
struct Notes {
    marks: Option<Marks<StoredBytes>>,
    next: Option<Position>,
    is_damaged: bool,
}

impl Notes {
    fn open(file: &ThreadFile) -> Option<Self> {
        let mut notes = Self { marks: file.marks().ok()?, next: None, is_damaged: false };
        notes.advance();
        Some(notes)
    }

    fn advance(&mut self) {
        self.next = None;
        while let Some(marks) = &mut self.marks {
            match marks.next_mark() {
                Ok(Some((
                    _,
                    Mark::Time { .. }
                    | Mark::Instant { .. }
                    | Mark::Order { .. }
                    | Mark::Thrown { .. }
                    | Mark::Line(_)
                    | Mark::Step(_)
                    | Mark::Values(_)
                    | Mark::Unwound { .. },
                ))) => {}
                Ok(Some((position, _))) => {
                    self.next = Some(position);
                    return;
                }
                Ok(None) => return,
                Err(_) => {
                    self.is_damaged = true;
                    return;
                }
            }
        }
    }

    /// Returns whether there is one at or between two positions, which come after those before.
    fn is_between(&mut self, start: Position, end: Position) -> bool {
        while self.next.is_some_and(|next| next < start) {
            self.advance();
        }
        self.next.is_some_and(|next| next <= end)
    }
}

impl VisitTimeline for Finder<'_> {
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        if self.open.is_none() && self.wanted.contains(method) {
            let depth = self.stack.len();
            self.open = Some(depth);
            self.hits.push(Hit {
                file: self.file,
                offset: at.position.offset,
                number: at.calls,
                method,
                times: CallTimes { start: at.time, ..UNKNOWN_TIMES },
                calls: 0,
                is_open: false,
                has_marks: false,
                depth,
                callers: self.stack[depth.saturating_sub(self.kept)..].into(),
            });
        }
        self.stack.push(method);
        self.hits.len() <= MOST
    }

    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        self.leave(count.get(), at, unwound, false);
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        if let Some(hit) = self.hits.last_mut().filter(|_| self.open.is_some()) {
            hit.has_marks |= Detail::is_mark(&event.kind);
        }
        true
    }
}

/// Prints the calls, each with what it called. Returns whether a limit ended the output.
pub(super) fn print(
    hits: &[Hit],
    args: &ReplayArgs,
    trace: &Trace,
    (selection, wanted): (&Selection, &Selection),
    samples: Option<&StackSamples>,
    printed: &mut Printed,
    out: &mut Out,
) -> Result<ControlFlow<()>, Failure> {
    let min_ns = args.min_duration.unwrap_or(0);
    let long: Vec<_> = hits.iter().filter(|hit| hit.times.duration_ns >= min_ns).collect();
    let mut left_out = LeftOut { shorter: (hits.len() - long.len()) as u64, ..LeftOut::default() };
    let flow = if args.depth == Some(1) {
        table(&long, args, trace, &mut left_out, printed, out)?
    } else {
        let shown = super::lines::shown(args, trace, (selection, Some(wanted)), samples);
        let mut lines = Lines::new(args, &shown, printed, out);
        trees(&long, args, trace, &mut left_out, &mut lines)?
    };
    let mut notes: Vec<_> = left_out_deeper(left_out.deeper, args.depth.unwrap_or(0))
        .into_iter()
        .chain(left_out_shorter(left_out.shorter, min_ns))
        .collect();
    if flow == ControlFlow::Break(()) {
        let max = args.max.unwrap_or(0);
        notes.push(format!("stopped after {} (--max {max})", plural(max, "call")));
    }
    for note in notes {
        out.remark(args.source.format, None, &format!("… {note}"))?;
    }
    Ok(flow)
}

fn table(
    hits: &[&Hit],
    args: &ReplayArgs,
    trace: &Trace,
    left_out: &mut LeftOut,
    printed: &mut Printed,
    out: &mut Out,
) -> Result<ControlFlow<()>, Failure> {
    let max = args.max.filter(|max| *max > 0).unwrap_or(u64::MAX);
    let room = usize::try_from(max - printed.calls.min(max)).unwrap_or(usize::MAX);
    let shown = hits.get(..room).unwrap_or(hits);
    printed.calls += shown.len() as u64;
    left_out.deeper = shown.iter().map(|hit| hit.calls.saturating_sub(1)).sum();
    if shown.is_empty() {
        return Ok(ControlFlow::Continue(()));
    }
    let labels = Labels::new(trace.methods(), args.source.format, args.verbose);
    let duration = |hit: &Hit| {
        let open = if hit.is_open { ", still open" } else { "" };
        Cell::number(format!("{}{open}", bounded_duration(hit.times.duration)))
    };
    let thread = |hit: &Hit| trace.files().get(hit.file).map(|file| file_title(trace, file));
    let rows = || shown.iter().copied();
    let mut table = Table::default();
    table.column("start", rows().map(|hit| Cell::number(hit.start())));
    table.column("duration", rows().map(duration));
    table.column("thread", rows().map(|hit| Cell::text(thread(hit).unwrap_or_default())));
    table.column("calls", rows().map(|hit| Cell::Count(hit.calls)));
    let method = |hit: &Hit| {
        Cell::method(labels.name(hit.method) + &thrown_text(&hit.times).unwrap_or_default())
    };
    table.column("method", rows().map(method));
    for (number, hit) in rows().enumerate().filter(|_| args.verbose) {
        for caller in called_by(hit.depth, &hit.callers, true, &labels) {
            table.note(number + 1, caller);
        }
    }
    table.print(out)?;
    Ok(if shown.len() < hits.len() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}

fn trees(
    hits: &[&Hit],
    args: &ReplayArgs,
    trace: &Trace,
    left_out: &mut LeftOut,
    lines: &mut Lines<'_>,
) -> Result<ControlFlow<()>, Failure> {
    for (number, hit) in hits.iter().enumerate() {
        let Some(file) = trace.files().get(hit.file) else { continue };
        if lines.printed.calls >= lines.max {
            return Ok(ControlFlow::Break(()));
        }
        if number > 0 {
            lines.text(0, "")?;
        }
        let heading = heading(hit, trace, file, args.verbose);
        lines.out.heading(&heading)?;
        for caller in called_by(hit.depth, &hit.callers, args.verbose, &lines.labels) {
            lines.text(1, &caller)?;
        }
        let alone = hit.only_line(args.is_timed()).filter(|_| !lines.has_details());
        if let Some(line) = alone {
            lines.printed.calls += 1;
            lines.call(&[], 1, &line)?;
            continue;
        }
        let mut replay = ThreadReplay::of_hit(lines.shown);
        let flow = tree(args, file, hit.offset, &mut replay, lines)?;
        replay.feed(lines, None, |feed| feed.show_all())??;
        let LeftOut { deeper, shorter, .. } = replay.calls.left_out();
        left_out.deeper += deeper;
        left_out.shorter += shorter;
        if flow == ControlFlow::Break(()) {
            return Ok(flow);
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// `at 4.512 s for 27.5 ms in thread 42 exec-3, call 12,345, depth 61`.
fn heading(hit: &Hit, trace: &Trace, file: &ThreadFile, is_verbose: bool) -> String {
    let mut text = format!("at {}", hit.start());
    text += &match bounded_duration(hit.times.duration) {
        duration if hit.is_open => format!(", still open after {duration},"),
        duration => format!(" for {duration}"),
    };
    text += &format!(" in thread {}", file_title(trace, file));
    // Numbers of calls in ranges of a thread are of no use elsewhere.
    if file.parts().is_none() {
        text += &format!(", call {}", grouped(hit.number));
        if is_verbose {
            text += &format!(" at offset {}", hit.offset);
        }
    }
    text += &format!(", depth {}", grouped(hit.depth as u64));
    text + &thrown_text(&hit.times).unwrap_or_default()
}

/// Prints a call and what it called. Errors of its thread have been reported.
fn tree(
    args: &ReplayArgs,
    file: &ThreadFile,
    from: Offset,
    replay: &mut ThreadReplay,
    lines: &mut Lines<'_>,
) -> Result<ControlFlow<()>, Failure> {
    let mut progress = Progress::hidden();
    if !args.is_timed() {
        replay.feed(lines, None, |feed| {
            read_records(file, from, &mut progress, |range, record| {
                feed.record(Offset::new(range.start), record)
            })
        })??;
    } else if let Ok(timeline) = file.timeline_from(from) {
        let mut timeline = with_details(args, lines.shown.samples, timeline, file.id());
        replay.calls.keep_time(file, from);
        replay.feed(lines, None, |feed| read_timeline(file, &mut timeline, &mut progress, feed))?;
    }
    let is_full = replay.calls.stopped().is_some();
    Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}
