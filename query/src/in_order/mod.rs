//! The calls of a thread in order, with what is known about each.
//!
//! ```text
//! events of a thread ─▶ Frames (what is shown, how deep) ─▶ Queue (rows that may still change) ─▶ Rows (shows them)
//! stored shapes ─▶ replay_shapes (skips calls) ─▶ the same
//! ```
//!
//! A call is shown where it begins, with its duration. Its end is found by [reading ahead](Lookahead), so no row waits for it:
//! what is shown of a thread is at most two rows behind what was read.

mod detail;
mod frames;
mod line_samples;
mod queue;
mod shapes;

use std::num::NonZeroU64;
use std::ops::{ControlFlow, Range};

use flow_codec::format::flow::Record;
use flow_codec::format::instructions::Step;
use flow_codec::read::{
    EventKind, Lookahead, Methods, Operands, Selection, StackSamples, Stamp, ThreadFile,
    TimelineEvent, Unwound, VisitTimeline,
};
use flow_codec::{Depth, Error, MethodId, Offset};

pub use self::detail::{Detail, DetailKind};
use self::frames::Frames;
pub use self::line_samples::{Inside, LineSamples};
pub use self::queue::OrderedCall;
use self::queue::Queue;
pub use self::shapes::replay_shapes;
use crate::dag::Repeat;
use crate::reading::UNKNOWN_TIMES;

/// What is shown of the calls of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The methods of the trace.
    pub methods: &'a Methods,
    /// Calls that are not left out.
    pub selection: &'a Selection,
    /// Calls that are shown with all their callees, if not all calls are.
    pub wanted: Option<&'a Selection>,
    /// The samples of the trace, if they are shown.
    pub samples: Option<&'a StackSamples>,
    /// How many calls are shown of a stack.
    pub max_depth: usize,
    /// Calls shorter than this are not shown.
    pub min_ns: u64,
    /// Whether consecutive calls of a method are one row.
    pub collapses: bool,
    /// Whether the row of a call has the number of calls in it that are not shown.
    pub counts_below: bool,
    /// Whether a line that follows itself is one row.
    pub joins_lines: bool,
    /// What is shown beside calls.
    pub beside: Beside,
}

/// What is shown beside calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// Where an exception leaves calls.
    Unwinding,
    /// Details, which the timeline may have.
    Details,
}

/// Receives the rows of a thread, in order.
pub trait Rows {
    /// Why a row cannot be shown.
    type Error: From<Error>;

    /// The next call is to be shown. Returns whether it may be: if not, reading stops.
    fn admits_call(&mut self) -> bool;

    /// A row follows.
    ///
    /// # Errors
    /// It cannot be shown.
    fn begin(&mut self) -> Result<(), Self::Error>;

    /// A call of [`Shown::wanted`] follows, which has a number in the thread, a position, and these callers.
    ///
    /// # Errors
    /// It cannot be shown.
    fn root(&mut self, number: u64, at: Offset, callers: &[MethodId]) -> Result<(), Self::Error>;

    /// A call, with `indent` rows around it.
    ///
    /// # Errors
    /// It cannot be shown.
    fn call(&mut self, call: &OrderedCall, indent: usize) -> Result<(), Self::Error>;

    /// What happened in or between calls, with `indent` rows around it.
    ///
    /// # Errors
    /// It cannot be shown.
    fn detail(&mut self, detail: &Detail, indent: usize) -> Result<(), Self::Error>;

    /// An exception leaves a call that has `indent` rows around it, itself included.
    ///
    /// # Errors
    /// It cannot be shown.
    fn unwound(&mut self, unwound: &Unwound, indent: usize) -> Result<(), Self::Error>;

    /// Frames were left that were entered before recording began. Returns whether that is shown here.
    ///
    /// # Errors
    /// It cannot be shown.
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
    /// Their numbers: those that begin later first.
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
    /// Whether a call was not shown because enough were.
    is_full: bool,
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
            is_full: false,
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

    /// Sets how often the next call is repeated, if it is. If calls are collapsed, it is shown as one with those that
    /// follow.
    pub fn expect_repeat(&mut self, repeat: Option<Repeat>) {
        self.repeats.next = repeat;
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

    /// Returns whether a call was not shown because enough were.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The numbers of what was not shown.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Takes the error in the marks, if there is one.
    pub fn marks_damage(&mut self) -> Option<Error> {
        self.times.take().and_then(Lookahead::into_damage)
    }

    /// Passes a call that is not shown because an earlier one did the same.
    fn pass(&mut self, method: MethodId, shown: &Shown<'_>) {
        if self.frames.select(method, shown) {
            self.left_out.deeper += u64::from(self.frames.above_root() >= shown.max_depth);
            self.frames.push(method);
        }
    }

    /// Passes the next record, which begins at `offset`.
    ///
    /// # Errors
    /// A row cannot be shown.
    #[inline]
    pub fn record<R: Rows>(
        &mut self,
        offset: Offset,
        record: Record,
        shown: &Shown<'_>,
        to: &mut R,
    ) -> Result<ControlFlow<()>, R::Error> {
        match record {
            Record::Enter(method) => self.enter(offset, method, shown, to),
            Record::Exit(count) => {
                self.exit(count, shown, to)?;
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    #[inline]
    fn enter<R: Rows>(
        &mut self,
        offset: Offset,
        method: MethodId,
        shown: &Shown<'_>,
        to: &mut R,
    ) -> Result<ControlFlow<()>, R::Error> {
        let number = self.frames.calls;
        self.frames.calls += 1;
        let times = match &mut self.times {
            Some(times) => Some(times.next_call()?.unwrap_or(UNKNOWN_TIMES)),
            None => None,
        };
        if !self.repeats.hidden.is_empty() && self.repeats.hides(number) {
            self.pass(method, shown);
            return Ok(ControlFlow::Continue(()));
        }
        let repeat = self.repeats.next.take();
        if !self.frames.select(method, shown) {
            return Ok(ControlFlow::Continue(()));
        }
        let is_root = self.frames.root.is_none();
        if is_root && shown.wanted.is_some_and(|wanted| !wanted.contains(method)) {
            self.frames.push(method);
            return Ok(ControlFlow::Continue(()));
        }
        let (top, above) = (self.frames.stack.len(), self.frames.above_root());
        let is_deeper = above >= shown.max_depth;
        if is_deeper || times.as_ref().is_some_and(|times| times.duration_ns < shown.min_ns) {
            let left_out = &mut self.left_out;
            *if is_deeper { &mut left_out.deeper } else { &mut left_out.shorter } += 1;
            self.queue.below(1);
        } else {
            // Calls whose callees are not shown are collapsed anyway, and wanted calls have rows of their own.
            let has_rows = above + 1 < shown.max_depth && !(is_root && shown.wanted.is_some());
            let repeat = repeat.filter(|repeat| repeat.calls > 1 && has_rows);
            let mut call = OrderedCall::new(Depth::new(top as u64), method, offset);
            (call.times, call.is_certain) = (times, self.is_certain);
            if repeat.is_some() || !(shown.collapses && self.queue.joins(&call)) {
                if !to.admits_call() {
                    self.is_full = true;
                    return Ok(ControlFlow::Break(()));
                }
                self.show_all(shown, to)?;
                to.begin()?;
                if is_root && shown.wanted.is_some() {
                    to.root(number, offset, &self.frames.stack)?;
                }
                if let Some(Repeat { count, calls, .. }) = repeat {
                    call.same = count;
                    let end = number.saturating_add(calls.saturating_mul(count));
                    self.repeats.hidden.push(number.saturating_add(calls)..end);
                }
                if shown.collapses || shown.counts_below {
                    self.queue.hold(call);
                } else {
                    to.call(&call, indent(top, top - above, shown))?;
                }
            }
        }
        self.frames.root = Some(top - above);
        self.frames.push(method);
        Ok(ControlFlow::Continue(()))
    }

    /// Shows a call, if it is long enough, without the calls that it made. `calls` is how many these are, with itself.
    ///
    /// # Errors
    /// The row cannot be shown.
    pub fn call_alone<R: Rows>(
        &mut self,
        call: &OrderedCall,
        calls: u64,
        shown: &Shown<'_>,
        to: &mut R,
    ) -> Result<ControlFlow<()>, R::Error> {
        if call.times.as_ref().is_some_and(|times| times.duration_ns < shown.min_ns) {
            self.left_out.shorter += 1;
        } else if to.admits_call() {
            to.call(call, 0)?;
        } else {
            self.is_full = true;
            return Ok(ControlFlow::Break(()));
        }
        self.left_out.deeper = self.left_out.deeper.saturating_add(calls.saturating_sub(1));
        Ok(ControlFlow::Continue(()))
    }

    #[inline]
    fn exit<R: Rows>(
        &mut self,
        count: NonZeroU64,
        shown: &Shown<'_>,
        to: &mut R,
    ) -> Result<(), R::Error> {
        let Some((left, unseen)) = self.frames.leaving(count, shown) else { return Ok(()) };
        if self.queue.detail().is_some_and(|detail| left < detail.depth) {
            self.show_detail(shown, to)?;
        }
        if let Some(waits) = self.queue.depth() {
            // Only its own exit and the next can affect a call that waits.
            let open = self.frames.stack.len();
            let matter = left..open.min(waits.as_usize().saturating_add(1));
            for depth in matter.rev().take(2) {
                let calls = self.queue.leave(Depth::new(depth as u64));
                self.show_calls(calls, shown, to)?;
            }
        }
        self.frames.leave(left, shown);
        match unseen {
            0 => Ok(()),
            unseen => self.exit_unseen(unseen, shown, to),
        }
    }

    #[cold]
    fn exit_unseen<R: Rows>(
        &mut self,
        count: u64,
        shown: &Shown<'_>,
        to: &mut R,
    ) -> Result<(), R::Error> {
        let calls = self.queue.take();
        self.show_calls(calls, shown, to)?;
        if !to.unseen(count)? {
            self.left_out.unseen = self.left_out.unseen.saturating_add(count);
        }
        Ok(())
    }

    /// Leaves calls by an exception, and shows that at the end of each.
    #[cold]
    fn unwind<R: Rows>(
        &mut self,
        count: NonZeroU64,
        unwound: &Unwound,
        shown: &Shown<'_>,
        to: &mut R,
    ) -> Result<(), R::Error> {
        let open = self.frames.stack.len();
        let left = open - usize::try_from(count.get()).unwrap_or(usize::MAX).min(open);
        for depth in (left..open).rev() {
            to.unwound(unwound, depth + 1)?;
        }
        self.exit(count, shown, to)
    }

    /// Shows what waits, because no events follow for now.
    ///
    /// # Errors
    /// A row cannot be shown.
    pub fn pause<R: Rows>(&mut self, shown: &Shown<'_>, to: &mut R) -> Result<(), R::Error> {
        self.show_detail(shown, to)?;
        let calls = self.queue.show();
        self.show_calls(calls, shown, to)
    }

    /// Shows all that waits, because nothing can change it any more.
    ///
    /// # Errors
    /// A row cannot be shown.
    #[inline]
    pub fn show_all<R: Rows>(&mut self, shown: &Shown<'_>, to: &mut R) -> Result<(), R::Error> {
        if self.queue.detail().is_some() {
            self.show_detail(shown, to)?;
        }
        if shown.collapses || shown.counts_below {
            let calls = self.queue.take();
            self.show_calls(calls, shown, to)?;
        }
        Ok(())
    }

    #[inline]
    fn show_calls<R: Rows>(
        &self,
        calls: [Option<OrderedCall>; 2],
        shown: &Shown<'_>,
        to: &mut R,
    ) -> Result<(), R::Error> {
        for call in calls.iter().flatten() {
            let depth = call.depth.as_usize();
            to.call(call, indent(depth, self.frames.root.unwrap_or(depth), shown))?;
        }
        Ok(())
    }

    /// Shows the detail that waits, after its call.
    fn show_detail<R: Rows>(&mut self, shown: &Shown<'_>, to: &mut R) -> Result<(), R::Error> {
        let Some(detail) = self.queue.take_detail() else { return Ok(()) };
        let calls = self.queue.show();
        self.show_calls(calls, shown, to)?;
        let root = self.frames.root.unwrap_or(detail.depth);
        let depth = detail.depth.min(root.saturating_add(shown.max_depth));
        to.detail(&detail, indent(depth, root, shown))
    }

    /// Adds a detail of the topmost calls, of which this many are shown.
    fn detail<R: Rows>(
        &mut self,
        depth: usize,
        (offset, time): (Offset, flow_codec::read::When),
        kind: DetailKind,
        shown: &Shown<'_>,
        to: &mut R,
    ) -> Result<(), R::Error> {
        let (method, version) = self.frames.method_at(depth);
        let is_certain = self.is_certain;
        let detail = Detail { depth, offset, time, is_certain, method, version, kind };
        if self.queue.adds(&detail, shown.joins_lines) {
            return Ok(());
        }
        self.show_detail(shown, to)?;
        let is_final = detail.is_final();
        self.queue.put(detail);
        if is_final { self.show_detail(shown, to) } else { Ok(()) }
    }

    /// Passes an event that is no entry and no exit.
    fn other<R: Rows>(
        &mut self,
        event: TimelineEvent,
        shown: &Shown<'_>,
        to: &mut R,
    ) -> Result<(), R::Error> {
        let at = (event.position.offset, event.time);
        let topmost = self.frames.topmost_shown(shown);
        match (event.kind, topmost) {
            (EventKind::Version(version), Some(depth)) => {
                self.frames.versions.push((depth, version));
                Ok(())
            }
            (EventKind::Line(line), Some(depth)) => {
                self.detail(depth, at, DetailKind::Line { line, count: 1 }, shown, to)
            }
            (EventKind::Values(values), Some(depth)) => values.into_iter().try_for_each(|value| {
                let kind = DetailKind::Values { values: vec![value], thrown: None };
                self.detail(depth, at, kind, shown, to)
            }),
            (EventKind::Step(Step::Run(run)), Some(depth)) => {
                let (method, version) = self.frames.method_at(depth);
                let method = method.and_then(|method| shown.methods.get(method));
                let code = method.and_then(|method| method.version(version).code.as_deref());
                let instructions = code.map(|code| code.run(run)).unwrap_or_default();
                instructions.iter().try_for_each(|instruction| {
                    let operands = Operands::default();
                    let kind = DetailKind::Instruction { at: instruction.at, operands };
                    self.detail(depth, at, kind, shown, to)
                })
            }
            (EventKind::Step(operand), Some(depth)) => {
                self.queue.detail().into_iter().for_each(|last| last.operand(depth, operand));
                Ok(())
            }
            (EventKind::Sample(sample), _) => {
                let (Some(root), Some(samples)) = (self.frames.root, shown.samples) else {
                    return Ok(());
                };
                let open = self.frames.stack.len();
                let depth = open.min(root.saturating_add(shown.max_depth));
                let (call, _) = self.frames.method_at(depth);
                let (samples, last_ns) = (LineSamples::new(&sample, samples, call), sample.at_ns);
                self.detail(depth, at, DetailKind::Samples { samples, last_ns }, shown, to)
            }
            (kind, _) if Detail::is_mark(&kind) => {
                self.show_detail(shown, to)?;
                if self.frames.root.is_none() {
                    return Ok(());
                }
                let depth = self.frames.stack.len();
                self.detail(depth, at, DetailKind::Mark(kind), shown, to)
            }
            _ => Ok(()),
        }
    }
}

/// Passes a timeline to the rows of its thread.
#[derive(Debug)]
pub struct Feed<'a, 's, R: Rows> {
    /// The thread.
    pub thread: &'a mut InOrder,
    /// What is shown of it.
    pub shown: &'a Shown<'s>,
    /// Shows the rows.
    pub to: &'a mut R,
    /// Whether the first call is all that is shown.
    pub is_alone: bool,
    /// Why it stopped.
    pub stopped: Result<(), R::Error>,
}

impl<R: Rows> Feed<'_, '_, R> {
    fn continues(&mut self, outcome: Result<ControlFlow<()>, R::Error>) -> bool {
        let flow = outcome.unwrap_or_else(|error| {
            self.stopped = Err(error);
            ControlFlow::Break(())
        });
        flow == ControlFlow::Continue(())
    }
}

impl<R: Rows> VisitTimeline for Feed<'_, '_, R> {
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        let outcome = self.thread.enter(at.position.offset, method, self.shown, self.to);
        self.continues(outcome)
    }

    fn exit(&mut self, count: NonZeroU64, _at: Stamp, unwound: Option<&Unwound>) -> bool {
        let class = unwound.and_then(|unwound| unwound.class.as_deref());
        if let Some((class, detail)) = class.zip(self.thread.queue.detail()) {
            detail.threw(class);
        }
        let outcome = match unwound.filter(|_| self.shown.beside == Beside::Unwinding) {
            Some(unwound) => self.thread.unwind(count, unwound, self.shown, self.to),
            None => self.thread.exit(count, self.shown, self.to),
        };
        let continues = self.continues(outcome.map(|()| ControlFlow::Continue(())));
        continues && !(self.is_alone && self.thread.is_over())
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        if self.shown.beside != Beside::Details {
            return true;
        }
        let outcome = self.thread.other(event, self.shown, self.to);
        self.continues(outcome.map(|()| ControlFlow::Continue(())))
    }
}

impl InOrder {
    /// Returns whether the first of the [wanted](Shown::wanted) calls has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.frames.root.is_none() && self.frames.calls > 0
    }
}

/// The number of rows around what has this many shown calls around it: wanted calls are below the row with their position.
#[inline]
fn indent(depth: usize, root: usize, shown: &Shown<'_>) -> usize {
    if shown.wanted.is_none() { depth } else { depth.saturating_sub(root) + 1 }
}
