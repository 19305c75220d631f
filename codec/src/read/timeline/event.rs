//! HOT: one event of a timeline, and what receives events.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;
use std::sync::Arc;

use crate::format::instructions::Step;
use crate::format::marks::Position;
use crate::format::test_marks::TestMark;
use crate::format::values::waits::WaitKind;
use crate::format::values::{CallValue, Handled, Value};
use crate::read::{Bounds, StackSample};
use crate::{MethodId, ThreadId};

/// When something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct When {
    /// The bounds.
    pub bounds: Bounds,
    /// The estimate in nanoseconds since the start of the trace; `None` if nothing is known.
    pub estimate_ns: Option<u64>,
    /// For how many nanoseconds the thread had run by then, since its recording began; `None` if that is not known. Limits
    /// of time do not change it.
    pub cpu_ns: Option<u64>,
}

impl When {
    /// No time is known.
    pub const UNKNOWN: Self = Self { bounds: Bounds::UNKNOWN, estimate_ns: None, cpu_ns: None };
}

/// One event of a timeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimelineEvent {
    /// Where it is in the thread. Events that take no time come before the entry or exit at their position.
    pub position: Position,
    /// When it happened.
    pub time: When,
    /// Calls made in the thread before this event, including those that are left out.
    pub calls: u64,
    /// The sequence number of the event among the events of all threads, or that of the first of several exits, which have consecutive
    /// ones; `None` if it has none, or if the timeline leaves out events.
    pub number: Option<u64>,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EventKind {
    /// A method was entered.
    Enter(MethodId),
    /// Frames were left, the topmost first, all in the same way.
    Exit {
        /// How many. Frames entered before recording began count, though their entries are missing.
        count: NonZeroU64,
        /// Whether by an exception.
        unwound: Option<Unwound>,
    },
    /// An exception leaves the topmost frame, and maybe others below.
    Throw(Unwound),
    /// The range that is read ends, and these frames with it.
    RangeEnd {
        /// How many.
        frames: NonZeroU64,
    },
    /// The program left a note.
    Note(String),
    /// A test begins or ends.
    Test(TestMark),
    /// Events are missing.
    Gap {
        /// How many, if known.
        events: Option<NonZeroU64>,
    },
    /// The stack of the thread was sampled, if the timeline is one [with samples](super::Timeline::with_samples).
    Sample(StackSample),
    /// The topmost frame reached this line, if the timeline is one [with lines](super::Timeline::with_lines).
    Line(u16),
    /// Values of the topmost call, if the timeline is one [with values](super::Timeline::with_values): arguments directly after the
    /// entry, result and message directly before the exit, and in between what it reads and writes.
    Values(Vec<CallValue>),
    /// An exception reached a handler of the topmost call, if the timeline is one
    /// [with handlers](super::Timeline::with_handlers).
    Handled(HandledException),
    /// The thread begins to wait, in the topmost call, or no longer waits, if the timeline is one
    /// [with waits](super::Timeline::with_waits).
    Wait(WaitEvent),
    /// The version of the method of the topmost call, which has just begun, if the timeline is one with lines, values or
    /// instructions. Without this event, the version is 0.
    Version(u16),
    /// A step of the topmost call, if the timeline is one [with instructions](super::Timeline::with_instructions).
    Step(Step),
    /// Recording was suspended.
    Pause,
    /// Recording continues.
    Resume,
}

/// An exception that reached a handler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandledException {
    /// The class of the exception, if it is known.
    pub class: Option<Arc<str>>,
    /// What `System.identityHashCode` returns for it.
    pub hash: u32,
    /// The line in which the handler begins, if it is known.
    pub line: Option<u16>,
    /// The class and method on top of its stack trace, if it is known: where it was created.
    pub created_in: Option<String>,
    /// The line there, if it is known.
    pub created_at: Option<u32>,
    /// The message: a text, null or redacted.
    pub message: Value,
}

impl HandledException {
    pub(super) fn new(handled: Handled, class: Option<Arc<str>>, message: Value) -> Self {
        let Handled { line, exception, created_in, created_at } = handled;
        Self { class, hash: exception.hash, line, created_in, created_at, message }
    }
}

/// The begin or the end of a wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitEvent {
    /// What the thread waits for.
    pub on: WaitedFor,
    /// When the wait began.
    pub begin_ns: u64,
    /// When it ended; `None` where it begins.
    pub end_ns: Option<u64>,
}

/// What a thread waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitedFor {
    /// How it waits.
    pub kind: WaitKind,
    /// The class of the object, if it is known.
    pub class: Option<Arc<str>>,
    /// What `System.identityHashCode` returns for the object; `None` without one.
    pub hash: Option<u32>,
    /// The thread that held the object when the wait began, if that is known.
    pub holder: Option<ThreadId>,
}

/// How frames were left by an exception.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unwound {
    /// The class of the exception, if known.
    pub class: Option<Arc<str>>,
}

impl TimelineEvent {
    /// How many entries or exits it is, if it is any.
    pub(super) fn count(&self) -> NonZeroU64 {
        match self.kind {
            EventKind::Exit { count, .. } => count,
            _ => NonZeroU64::MIN,
        }
    }
}

/// Where and when an event happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// The position in the thread.
    pub position: Position,
    /// When it happened.
    pub time: When,
    /// Calls made in the thread before this event, including those that are left out.
    pub calls: u64,
}

/// Receives the events of a [`Timeline`](super::Timeline), in order. Each method returns whether to continue.
pub trait VisitTimeline {
    /// A method was entered.
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool;

    /// Frames were left, the topmost first, all in the same way; or the range that is read ends, and these
    /// frames with it. Fewer may be open here: the others were entered before recording began.
    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool;

    /// Returns whether calls that begin and end among the next events need not be passed. These events have the same
    /// estimate.
    fn skips_instant(&self) -> bool {
        false
    }

    /// Returns whether a call that begins now, and all that follows, need not be passed.
    fn is_over(&self, _now: When) -> bool {
        false
    }

    /// Another event, which takes no time.
    fn other(&mut self, _event: TimelineEvent) -> bool {
        true
    }
}

impl TimelineEvent {
    /// Passes it to a visitor. Returns what the visitor does: whether to continue.
    #[doc(hidden)]
    #[inline(always)]
    pub fn visit(self, visitor: &mut impl VisitTimeline) -> bool {
        let Self { position, time, calls, number, kind } = self;
        let at = Stamp { position, time, calls };
        match kind {
            EventKind::Enter(method) => visitor.enter(method, at),
            EventKind::Exit { count, unwound } => visitor.exit(count, at, unwound.as_ref()),
            EventKind::RangeEnd { frames } => visitor.exit(frames, at, None),
            kind => visitor.other(Self { position, time, calls, number, kind }),
        }
    }
}

/// Why visiting some events ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visited {
    /// There may be more events.
    Some,
    /// There are no more events.
    All,
    /// The visitor stopped it.
    Stopped,
}
