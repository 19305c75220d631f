//! Calls: entries and exits of a timeline, paired.

use std::fmt::Debug;

use super::event::{EventKind, Stamp, TimelineEvent, Unwound, When};
use super::merge::Timeline;
use crate::format::marks::Position;
use crate::format::values::CallValue;
use crate::read::Bounds;
use crate::{Depth, MethodId, Result};

/// One call of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Its number in the thread, from 0, including calls that are left out.
    pub number: u64,
    /// The method.
    pub method: MethodId,
    /// Open frames below it, without those that are left out.
    pub depth: Depth,
    /// When it began.
    pub start: When,
    /// When it was left, or the end of what is read, if it was still open.
    pub end: When,
    /// Whether it was open at the end.
    pub is_open: bool,
    /// Whether it was left by an exception.
    pub unwound: Option<Unwound>,
    /// Whether recording was suspended when it was left: how is not known.
    pub is_cut: bool,
    /// Calls made in it, including itself; up to the end if it was not left.
    pub calls: u64,
    /// Its values, if the timeline is one [with values](Timeline::with_values), and accesses that are
    /// [kept](Timeline::calls_with).
    pub values: Vec<CallValue>,
}

impl Call {
    /// The bounds of its duration.
    #[must_use]
    pub fn duration(&self) -> Bounds {
        self.start.bounds.until(self.end.bounds)
    }

    /// The estimated duration in nanoseconds; `None` if no time is known.
    #[must_use]
    #[inline]
    pub fn duration_ns(&self) -> Option<u64> {
        Some(self.end.estimate_ns?.saturating_sub(self.start.estimate_ns?))
    }

    /// For how many nanoseconds the thread ran meanwhile; `None` if that is not known.
    #[must_use]
    #[inline]
    pub fn cpu_ns(&self) -> Option<u64> {
        Some(self.end.cpu_ns?.saturating_sub(self.start.cpu_ns?))
    }
}

/// Chooses accesses to fields and elements that [`Call::values`] has.
pub trait KeepAccesses: Debug {
    /// Returns whether a call of this method keeps an access. `kept` are the values of the call so far. A call may make any
    /// number of accesses, so few should be kept.
    fn keeps(&self, method: MethodId, kept: &[(usize, CallValue)], access: &CallValue) -> bool;
}

/// The calls of a timeline, each where it is left; those open at the end come last, the innermost first. Memory: 64
/// bytes for each open frame.
#[derive(Debug)]
pub struct Calls<'a> {
    timeline: Timeline<'a>,
    stack: CallStack,
    keep: Option<&'a dyn KeepAccesses>,
}

impl<'a> Timeline<'a> {
    /// Turns events into calls, each where it is left.
    #[must_use]
    pub fn calls(self) -> Calls<'a> {
        Calls { timeline: self, stack: CallStack::default(), keep: None }
    }

    /// Turns events into calls, with the accesses to fields and elements that `keep` chooses among their values.
    #[doc(hidden)]
    #[must_use]
    pub fn calls_with(self, keep: &'a dyn KeepAccesses) -> Calls<'a> {
        Calls { keep: Some(keep), ..self.calls() }
    }
}

impl<'a> Calls<'a> {
    /// Returns the number of the outermost open call: the earliest call that was not yet returned.
    #[must_use]
    pub fn outermost(&self) -> Option<u64> {
        self.stack.open.first().map(|(_, number, _)| *number)
    }

    /// Returns the position, time and number of calls of the exit that ended the call which was returned last.
    #[doc(hidden)]
    #[must_use]
    pub const fn left_at(&self) -> Stamp {
        let CallStack { position, end: time, calls, .. } = self.stack;
        Stamp { position, time, calls }
    }

    /// Returns the timeline, which knows how it ended.
    #[must_use]
    pub fn into_timeline(self) -> Timeline<'a> {
        self.timeline
    }
}

impl Iterator for Calls<'_> {
    type Item = Result<Call>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(call) = self.stack.left() {
                return Some(Ok(call));
            }
            if self.stack.is_ended {
                return None;
            }
            match self.timeline.next() {
                Some(Ok(event)) => self.stack.pass(event, self.keep),
                Some(Err(error)) => return Some(Err(error)),
                None => self.stack.end(self.timeline.now()),
            }
        }
    }
}

/// The open calls of a thread, of which the events are passed one by one. Pairs entries and exits.
#[derive(Debug)]
pub struct CallStack {
    open: Vec<(MethodId, u64, When)>,
    /// Values of open frames, each with the number of frames with which it came.
    values: Vec<(usize, CallValue)>,
    /// How the next frames are left, how many, and the number of calls made until then.
    end: When,
    unwound: Option<Unwound>,
    leaving: u64,
    calls: u64,
    /// The position of the last event.
    position: Position,
    is_ended: bool,
    /// Whether recording is suspended.
    is_paused: bool,
}

impl Default for CallStack {
    fn default() -> Self {
        let (open, values, end) = (Vec::new(), Vec::new(), When::UNKNOWN);
        let (unwound, leaving, calls, position) = (None, 0, 0, Position::default());
        let (is_ended, is_paused) = (false, false);
        Self { open, values, end, unwound, leaving, calls, position, is_ended, is_paused }
    }
}

impl CallStack {
    /// Passes the next event. The calls that it leaves must be [taken](Self::left) before the next one. `keep` chooses
    /// accesses to fields and elements.
    #[inline]
    pub fn pass(&mut self, event: TimelineEvent, keep: Option<&dyn KeepAccesses>) {
        let TimelineEvent { position, time, calls, kind, .. } = event;
        (self.leaving, self.unwound) = match kind {
            EventKind::Enter(method) => {
                self.is_paused = false;
                return self.open.push((method, calls, time));
            }
            EventKind::Pause | EventKind::Resume => {
                self.is_paused = kind == EventKind::Pause;
                return;
            }
            EventKind::Exit { count, unwound } => (count.get(), unwound),
            EventKind::RangeEnd { frames } => (frames.get(), None),
            EventKind::Values(values) => return self.add_values(values, keep),
            _ => return,
        };
        (self.end, self.calls, self.position) = (time, calls, position);
    }

    /// Ends all open calls where the events end.
    fn end(&mut self, now: Stamp) {
        (self.end, self.calls) = (now.time, now.calls);
        (self.unwound, self.leaving, self.is_ended) = (None, u64::MAX, true);
    }

    /// Takes the next call that the last event left, the innermost first.
    #[inline]
    pub fn left(&mut self) -> Option<Call> {
        self.leaving = self.leaving.checked_sub(1)?;
        let Some((method, number, start)) = self.open.pop() else {
            self.leaving = 0;
            return None;
        };
        let unwound = if self.leaving == 0 { self.unwound.take() } else { self.unwound.clone() };
        Some(Call {
            number,
            method,
            depth: Depth::new(self.open.len() as u64),
            start,
            end: self.end,
            is_open: self.is_ended,
            is_cut: self.is_paused && unwound.is_none() && !self.is_ended,
            unwound,
            calls: self.calls - number,
            values: self.take_values(self.open.len() + 1),
        })
    }

    /// The methods of the open calls, the outermost first: the callers of the call that was taken last.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = MethodId> {
        self.open.iter().map(|(method, ..)| *method)
    }

    /// Adds values to the topmost frame.
    fn add_values(&mut self, values: Vec<CallValue>, keep: Option<&dyn KeepAccesses>) {
        let frames = self.open.len();
        for value in values {
            let is_kept = || {
                let (method, ..) = self.open.last()?;
                let first = self.values.partition_point(|(of, _)| *of < frames);
                let kept = self.values.get(first..).unwrap_or_default();
                Some(keep?.keeps(*method, kept, &value))
            };
            if !value.role.is_access() || is_kept().unwrap_or(false) {
                self.values.push((frames, value));
            }
        }
    }

    /// Takes the values of the frame that was left.
    #[inline]
    fn take_values(&mut self, frames: usize) -> Vec<CallValue> {
        if self.values.is_empty() {
            return Vec::new();
        }
        let first = self.values.partition_point(|(of, _)| *of < frames);
        self.values.drain(first..).map(|(_, value)| value).collect()
    }
}
