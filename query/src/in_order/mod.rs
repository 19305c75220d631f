//! The calls of a thread in order, with what is known about each.
//!
//! ```text
//! events of a thread ─▶ Frames (what is shown, how deep) ─▶ Queue (rows that may still change) ─▶ Rows (shows them)
//! stored shapes (calls are skipped) ─▶ the same
//! ```
//!
//! A call is shown where it begins, with its duration. [Reading ahead](Lookahead) finds where the call ends, so no row waits
//! for it: at most one call and one detail of a thread wait in the queue.

mod detail;
mod frames;
mod interleaved;
mod line_samples;
mod queue;
mod shapes;
mod shown;

use std::num::NonZeroU64;
use std::ops::{ControlFlow, Range};

use flow_codec::format::flow::Record;
use flow_codec::format::instructions::Step;
use flow_codec::read::{
    CallTimes, EventKind, Lookahead, Operands, Stamp, ThreadFile, TimelineEvent, Unwound,
    VisitTimeline, When,
};
use flow_codec::{Depth, Error, MethodId, Offset};

pub use self::detail::{Detail, DetailKind};
use self::frames::Frames;
pub use self::interleaved::{Interleaved, Interleaving, MergedKind, MergedRow};
pub use self::line_samples::{Inside, LineSamples};
pub use self::queue::OrderedCall;
use self::queue::Queue;
pub use self::shown::{Beside, Shown};
use crate::dag::{self, Repeat, Walk};
use crate::reading::UNKNOWN_TIMES;

/// Receives the rows of a thread, in order.
pub trait Rows {
    /// Why a row cannot be shown.
    type Error: From<Error>;

    /// The next call is to be shown. Returns whether it may be: if not, reading stops.
    fn admits_call(&mut self) -> bool;

    /// A row follows.
    ///
    /// # Errors
    /// The row cannot be shown.
    fn begin(&mut self) -> Result<(), Self::Error>;

    /// A call of [`Shown::wanted`] follows, which has a number in the thread, a position, and these callers.
    ///
    /// # Errors
    /// The row cannot be shown.
    fn root(&mut self, number: u64, at: Offset, callers: &[MethodId]) -> Result<(), Self::Error>;

    /// A call, with `indent` rows around it.
    ///
    /// # Errors
    /// The row cannot be shown.
    fn call(&mut self, call: &OrderedCall, indent: usize) -> Result<(), Self::Error>;

    /// Returns whether a call that begins at an offset and is not selected is [passed](Self::hidden) nevertheless.
    fn wants_hidden(&self, _at: Offset) -> bool {
        false
    }

    /// A call that is not selected begins at an offset, with `indent` rows around it.
    ///
    /// # Errors
    /// The row cannot be shown.
    fn hidden(&mut self, _at: Offset, _indent: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// What happened in or between calls, with `indent` rows around it.
    ///
    /// # Errors
    /// The row cannot be shown.
    fn detail(&mut self, detail: &Detail, indent: usize) -> Result<(), Self::Error>;

    /// An exception leaves a call that has `indent` rows around it, itself included.
    ///
    /// # Errors
    /// The row cannot be shown.
    fn unwound(&mut self, unwound: &Unwound, indent: usize) -> Result<(), Self::Error>;

    /// Frames were left that were entered before recording began. Returns whether that is shown here.
    ///
    /// # Errors
    /// The row cannot be shown.
    fn unseen(&mut self, count: u64) -> Result<bool, Self::Error>;
}

/// The numbers of what is not shown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LeftOut {
    /// Calls that were too deep.
    pub deeper: u64,
    /// Calls that were too short.
    pub shorter: u64,
    /// Exits of frames that were entered before recording.
    pub unseen: u64,
}

/// The calls that are not shown because an earlier one did the same.
#[derive(Default, Debug)]
struct Repeats {
    /// How often the next call is repeated, if that is known.
    next: Option<Repeat>,
    /// The numbers of calls: those that begin later first.
    hidden: Vec<Range<u64>>,
}

impl Repeats {
    /// Returns whether an earlier call did the same as the call with this number, or as one that it is in.
    fn hides(&mut self, number: u64) -> bool {
        while let Some(hidden) = self.hidden.last() {
            if number < hidden.end {
                return hidden.contains(&number);
            }
            self.hidden.pop();
        }
        false
    }
}

/// The state of a thread whose calls are shown in order. Reading may begin and continue at any record.
#[derive(Debug)]
pub struct InOrder {
    frames: Frames,
    queue: Queue,
    repeats: Repeats,
    /// The times of calls, if they are shown.
    times: Option<Lookahead>,
    left_out: LeftOut,
    /// Whether all events of other threads that came before the current one certainly happened before it.
    is_certain: bool,
    /// Whether the thread grows: the end of an open call is not known yet.
    is_growing: bool,
    /// Why reading stopped before a call.
    stopped: Option<Stopped>,
}

/// Why reading stopped before a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// Enough were shown.
    Full,
    /// The thread grows, and the call may still become long enough. Reading continues at its entry.
    Undecided,
}

impl InOrder {
    /// Begins with no frame open.
    #[must_use]
    pub fn new(shown: &Shown<'_>) -> Self {
        Self {
            frames: Frames::new(shown.wanted.is_none()),
            queue: Queue::default(),
            repeats: Repeats::default(),
            times: None,
            left_out: LeftOut::default(),
            is_certain: true,
            is_growing: false,
            stopped: None,
        }
    }

    /// Begins in the middle of a thread, after this number of calls, with these frames open, each with the version of its method.
    pub fn begin_in(
        &mut self,
        calls: u64,
        frames: impl Iterator<Item = (MethodId, u16)>,
        shown: &Shown<'_>,
    ) {
        self.frames.calls = calls;
        frames.for_each(|(method, version)| self.frames.begin_in(method, version, shown));
    }

    /// Adds times, for the records from this one on.
    pub fn keep_time(&mut self, file: &ThreadFile, from: Offset) {
        self.times = Some(Lookahead::new(file, from));
    }

    /// Sets whether everything that other threads did before certainly happened before the events that follow.
    pub fn set_certain(&mut self, is_certain: bool) {
        self.is_certain = is_certain;
    }

    /// Begins or continues, and sets whether the thread grows.
    pub fn set_growing(&mut self, is_growing: bool) {
        (self.is_growing, self.stopped) = (is_growing, None);
    }

    /// The open calls that are not left out.
    #[must_use]
    pub fn stack(&self) -> &[MethodId] {
        &self.frames.stack
    }

    /// Returns whether what happens now is shown: all is, unless there are [wanted](Shown::wanted) calls.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.frames.root.is_some()
    }

    /// Why reading stopped before a call, if it did.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// The numbers of what was not shown.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Takes the error in the marks, if there is one.
    pub fn take_damage(&mut self) -> Option<Error> {
        self.times.take().and_then(Lookahead::into_damage)
    }

    /// Passes a call that is not shown because an earlier one did the same.
    fn pass(&mut self, method: MethodId, shown: &Shown<'_>) {
        if self.frames.select(method, shown) {
            self.left_out.deeper += u64::from(self.frames.above_root() >= shown.max_depth);
            self.frames.push(method);
        }
    }

    /// Returns whether the first of the [wanted](Shown::wanted) calls has ended.
    fn is_over(&self) -> bool {
        self.frames.root.is_none() && self.frames.calls > 0
    }
}

/// Passes events to the rows of their thread.
#[derive(Debug)]
pub struct Feed<'a, 's, R: Rows> {
    /// The thread.
    pub thread: &'a mut InOrder,
    /// What is shown of it.
    pub shown: &'a Shown<'s>,
    /// Shows the rows.
    pub to: &'a mut R,
    /// The shapes of the thread, from the same record on: calls that did the same are collapsed. `None`: only those that call
    /// nothing.
    pub walk: Option<Walk<'a>>,
    /// Whether the first call is all that is shown.
    pub is_alone: bool,
    /// Why a timeline stopped.
    pub stopped: Result<(), R::Error>,
}

/// Whether to continue, unless a row cannot be shown.
type Flow<R> = Result<ControlFlow<()>, <R as Rows>::Error>;
type Done<R> = Result<(), <R as Rows>::Error>;

const CONTINUE: ControlFlow<()> = ControlFlow::Continue(());
const BREAK: ControlFlow<()> = ControlFlow::Break(());

impl<R: Rows> Feed<'_, '_, R> {
    /// Passes the next record, which begins at `offset`.
    ///
    /// # Errors
    /// A row cannot be shown.
    #[inline]
    pub fn record(&mut self, offset: Offset, record: Record) -> Flow<R> {
        match record {
            Record::Enter(method) => self.enter_at(offset, method),
            Record::Exit(count) => {
                self.leave(count)?;
                Ok(if self.is_alone && self.thread.is_over() { BREAK } else { CONTINUE })
            }
        }
    }

    #[inline]
    fn enter_at(&mut self, offset: Offset, method: MethodId) -> Flow<R> {
        let Self { thread, shown, .. } = self;
        let number = thread.frames.calls;
        let times = match &mut thread.times {
            Some(times) => Some(times.next_call()?.unwrap_or(UNKNOWN_TIMES)),
            None => None,
        };
        let is_short = times.as_ref().is_some_and(|times| times.duration_ns < shown.min_ns);
        let is_open = |times: &CallTimes| times.duration.by_ns == u64::MAX;
        if is_short && thread.is_growing && times.as_ref().is_some_and(is_open) {
            thread.stopped = Some(Stopped::Undecided);
            return Ok(BREAK);
        }
        thread.frames.calls += 1;
        if !thread.repeats.hidden.is_empty() && thread.repeats.hides(number) {
            thread.pass(method, shown);
            return Ok(CONTINUE);
        }
        let repeat = thread.repeats.next.take();
        if !thread.frames.select(method, shown) {
            return if self.to.wants_hidden(offset) { self.hidden(offset) } else { Ok(CONTINUE) };
        }
        let is_root = thread.frames.root.is_none();
        if is_root && shown.wanted.is_some_and(|wanted| !wanted.contains(method)) {
            thread.frames.push(method);
            return Ok(CONTINUE);
        }
        let (top, above) = (thread.frames.stack.len(), thread.frames.above_root());
        let is_deeper = above >= shown.max_depth;
        if is_deeper || is_short {
            if is_deeper {
                thread.left_out.deeper += 1;
            } else {
                thread.left_out.shorter += 1;
                thread.frames.begin_short();
            }
            thread.queue.below(1);
        } else {
            // Calls whose callees are not shown are collapsed anyway, and wanted calls have rows of their own.
            let has_rows = above + 1 < shown.max_depth && !(is_root && shown.wanted.is_some());
            let repeat = repeat.filter(|repeat| repeat.calls > 1 && has_rows);
            let mut call = OrderedCall::new(Depth::new(top as u64), method, offset);
            (call.times, call.is_certain) = (times, thread.is_certain);
            let joins = repeat.is_none() && shown.collapses;
            let call = if joins { thread.queue.join(call) } else { Some(call) };
            if let Some(call) = call
                && self.show_call(call, repeat, number)? == BREAK
            {
                return Ok(BREAK);
            }
        }
        self.thread.frames.root = Some(top - above);
        self.thread.frames.push(method);
        Ok(CONTINUE)
    }

    /// Passes a call that is not selected.
    #[cold]
    fn hidden(&mut self, offset: Offset) -> Flow<R> {
        self.show_all()?;
        self.to.hidden(offset, self.thread.frames.stack.len())?;
        Ok(CONTINUE)
    }

    /// Shows a call, or lets it wait.
    #[inline]
    fn show_call(&mut self, mut call: OrderedCall, repeat: Option<Repeat>, number: u64) -> Flow<R> {
        if !self.to.admits_call() {
            self.thread.stopped = Some(Stopped::Full);
            return Ok(BREAK);
        }
        self.show_all()?;
        self.to.begin()?;
        let Self { thread, shown, to, .. } = self;
        let root = thread.frames.root;
        if root.is_none() && shown.wanted.is_some() {
            to.root(number, call.offset, &thread.frames.stack)?;
        }
        if let Some(Repeat { count, calls, .. }) = repeat {
            call.same = count;
            let end = number.saturating_add(calls.saturating_mul(count));
            thread.repeats.hidden.push(number.saturating_add(calls)..end);
        }
        if shown.collapses || shown.counts_below {
            thread.queue.hold(call);
        } else {
            let depth = call.depth.as_usize();
            to.call(&call, indent(depth, root.unwrap_or(depth), shown))?;
        }
        Ok(CONTINUE)
    }

    /// Shows a call, if it is long enough, without the calls that it made. `calls` is how many these are, with itself.
    ///
    /// # Errors
    /// The row cannot be shown.
    pub fn call_alone(&mut self, call: &OrderedCall, calls: u64) -> Flow<R> {
        let left_out = &mut self.thread.left_out;
        if call.times.as_ref().is_some_and(|times| times.duration_ns < self.shown.min_ns) {
            left_out.shorter += 1;
        } else if self.to.admits_call() {
            self.to.call(call, 0)?;
        } else {
            self.thread.stopped = Some(Stopped::Full);
            return Ok(BREAK);
        }
        left_out.deeper = left_out.deeper.saturating_add(calls.saturating_sub(1));
        Ok(CONTINUE)
    }

    #[inline]
    fn leave(&mut self, count: NonZeroU64) -> Done<R> {
        let frames = &mut self.thread.frames;
        let Some((left, unseen)) = frames.leaving(count, self.shown) else { return Ok(()) };
        if self.thread.queue.detail().is_some_and(|detail| left < detail.depth) {
            self.show_detail()?;
        }
        if let Some(waits) = self.thread.queue.depth() {
            // Only its own exit and the next can affect a call that waits.
            let open = self.thread.frames.stack.len();
            let matter = left..open.min(waits.as_usize().saturating_add(1));
            for depth in matter.rev().take(2) {
                let calls = self.thread.queue.leave(Depth::new(depth as u64));
                self.show_calls(calls)?;
            }
        }
        self.thread.frames.leave(left, self.shown);
        if unseen == 0 { Ok(()) } else { self.leave_unseen(unseen) }
    }

    #[cold]
    fn leave_unseen(&mut self, count: u64) -> Done<R> {
        let calls = self.thread.queue.take();
        self.show_calls(calls)?;
        if !self.to.unseen(count)? {
            let unseen = &mut self.thread.left_out.unseen;
            *unseen = unseen.saturating_add(count);
        }
        Ok(())
    }

    /// Leaves calls by an exception, and shows that at the end of each.
    #[cold]
    fn unwind(&mut self, count: NonZeroU64, unwound: &Unwound) -> Done<R> {
        let open = self.thread.frames.stack.len();
        let left = open - usize::try_from(count.get()).unwrap_or(usize::MAX).min(open);
        for depth in (left..open).rev() {
            self.to.unwound(unwound, depth + 1)?;
        }
        self.leave(count)
    }

    /// Shows what waits, because no events follow for now.
    ///
    /// # Errors
    /// A row cannot be shown.
    pub fn pause(&mut self) -> Done<R> {
        self.show_detail()?;
        let calls = self.thread.queue.show();
        self.show_calls(calls)
    }

    /// Shows all that waits, because nothing can change it any more.
    ///
    /// # Errors
    /// A row cannot be shown.
    #[inline]
    pub fn show_all(&mut self) -> Done<R> {
        if self.thread.queue.detail().is_some() {
            self.show_detail()?;
        }
        if self.shown.collapses || self.shown.counts_below {
            let calls = self.thread.queue.take();
            self.show_calls(calls)?;
        }
        Ok(())
    }

    #[inline]
    fn show_calls(&mut self, calls: [Option<OrderedCall>; 2]) -> Done<R> {
        for call in calls.iter().flatten() {
            let depth = call.depth.as_usize();
            let root = self.thread.frames.root.unwrap_or(depth);
            self.to.call(call, indent(depth, root, self.shown))?;
        }
        Ok(())
    }

    /// Shows the detail that waits, after its call.
    fn show_detail(&mut self) -> Done<R> {
        let Some(detail) = self.thread.queue.take_detail() else { return Ok(()) };
        let calls = self.thread.queue.show();
        self.show_calls(calls)?;
        let root = self.thread.frames.root.unwrap_or(detail.depth);
        let depth = detail.depth.min(root.saturating_add(self.shown.max_depth));
        self.to.detail(&detail, indent(depth, root, self.shown))
    }

    /// Adds a detail of the topmost calls, of which this many are shown.
    fn detail(
        &mut self,
        depth: usize,
        (offset, time): (Offset, When),
        kind: DetailKind,
    ) -> Done<R> {
        let (method, version) = self.thread.frames.method_at(depth);
        let is_certain = self.thread.is_certain;
        let detail = Detail { depth, offset, time, is_certain, method, version, kind };
        if self.thread.queue.adds(&detail, self.shown.joins_lines) {
            return Ok(());
        }
        self.show_detail()?;
        let is_final = detail.is_final();
        self.thread.queue.put(detail);
        if is_final { self.show_detail() } else { Ok(()) }
    }

    /// Passes an event that is no entry and no exit.
    fn beside(&mut self, event: TimelineEvent) -> Done<R> {
        let at = (event.position.offset, event.time);
        let frames = &mut self.thread.frames;
        match (event.kind, frames.topmost_shown(self.shown)) {
            (EventKind::Version(version), Some(depth)) => {
                frames.versions.push((depth, version));
                Ok(())
            }
            (EventKind::Line(line), Some(depth)) => {
                self.detail(depth, at, DetailKind::Line { line, count: 1 })
            }
            (EventKind::Values(values), Some(depth)) => values.into_iter().try_for_each(|value| {
                self.detail(depth, at, DetailKind::Values { values: vec![value], thrown: None })
            }),
            (EventKind::Step(Step::Run(run)), Some(depth)) => {
                let (method, version) = frames.method_at(depth);
                let method = method.and_then(|method| self.shown.methods.get(method));
                let code = method.and_then(|method| method.version(version).code.as_deref());
                let instructions = code.map(|code| code.run(run)).unwrap_or_default();
                instructions.iter().try_for_each(|instruction| {
                    let operands = Operands::default();
                    let kind = DetailKind::Instruction { at: instruction.at, operands };
                    self.detail(depth, at, kind)
                })
            }
            (EventKind::Step(operand), Some(depth)) => {
                let last = self.thread.queue.detail();
                last.into_iter().for_each(|last| last.operand(depth, operand));
                Ok(())
            }
            (EventKind::Sample(sample), _) => {
                let depth = frames.shown_depth(self.shown);
                let Some((depth, samples)) = depth.zip(self.shown.samples) else { return Ok(()) };
                let (call, _) = frames.method_at(depth);
                let (samples, last_ns) = (LineSamples::new(&sample, samples, call), sample.at_ns());
                self.detail(depth, at, DetailKind::Samples { samples, last_ns })
            }
            (kind, _) if Detail::is_mark(&kind) => {
                let depth = frames.root.map(|_| frames.stack.len());
                self.show_detail()?;
                depth.map_or(Ok(()), |depth| self.detail(depth, at, DetailKind::Mark(kind)))
            }
            _ => Ok(()),
        }
    }

    fn continues(&mut self, outcome: Flow<R>) -> bool {
        let flow = outcome.unwrap_or_else(|error| {
            self.stopped = Err(error);
            BREAK
        });
        flow == CONTINUE
    }
}

impl<R: Rows> VisitTimeline for Feed<'_, '_, R> {
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        if let Some(walk) = &mut self.walk {
            let entry = walk.find_map(|step| match step {
                dag::Step::Enter(entry) => Some(entry),
                dag::Step::Exit(_) => None,
            });
            self.thread.repeats.next = entry.and_then(|entry| walk.repeat(&entry));
        }
        let outcome = self.enter_at(at.position.offset, method);
        self.continues(outcome)
    }

    fn exit(&mut self, count: NonZeroU64, _at: Stamp, unwound: Option<&Unwound>) -> bool {
        let class = unwound.and_then(|unwound| unwound.class.as_deref());
        if let Some((class, detail)) = class.zip(self.thread.queue.detail()) {
            detail.threw(class);
        }
        let outcome = match unwound.filter(|_| self.shown.beside == Beside::Unwinding) {
            Some(unwound) => self.unwind(count, unwound),
            None => self.leave(count),
        };
        let continues = self.continues(outcome.map(|()| CONTINUE));
        continues && !(self.is_alone && self.thread.is_over())
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        if self.shown.beside != Beside::Details {
            return true;
        }
        let outcome = self.beside(event);
        self.continues(outcome.map(|()| CONTINUE))
    }
}

/// The number of rows around what has this many shown calls around it: wanted calls are below the row with their position.
#[inline]
fn indent(depth: usize, root: usize, shown: &Shown<'_>) -> usize {
    if shown.wanted.is_none() { depth } else { depth.saturating_sub(root) + 1 }
}
