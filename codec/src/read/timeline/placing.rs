//! Places samples among the events of a thread.
//!
//! A mark has the position of most samples. Where there is none, the bounds of events decide: a sample comes before the
//! first event that certainly happened after it.

use crate::ThreadId;
use crate::format::marks::Position;
use crate::read::{StackSample, StackSamples};

/// The samples of a thread that are still to be placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placing<'a> {
    /// In order of time.
    rest: &'a [StackSample],
    /// How many of them are at `position`.
    due: usize,
    position: Position,
    /// Whether samples without a mark are placed. In a part of a thread it is unknown which of them are before it.
    by_time: bool,
}

impl<'a> Placing<'a> {
    pub(super) fn new(samples: &'a StackSamples, thread: ThreadId, by_time: bool) -> Self {
        Self { rest: samples.of(thread), due: 0, position: Position::default(), by_time }
    }

    /// The next sample that has a place.
    pub(super) fn next(&mut self) -> Option<(Position, StackSample)> {
        self.due = self.due.checked_sub(1)?;
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some((self.position, *first))
    }

    /// Returns whether a sample without a mark is before an event that happened at this time or later.
    pub(super) fn is_before(&self, from_ns: u64) -> bool {
        self.by_time && self.rest.first().is_some_and(|sample| sample.at_ns < from_ns)
    }

    /// Returns whether a sample has a place, or gets one before events that happened at this time or later.
    #[inline]
    pub(super) fn is_due_before(&self, from_ns: u64) -> bool {
        self.due > 0 || self.is_before(from_ns)
    }

    /// Places the samples that were taken before a time.
    pub(super) fn place_before(&mut self, position: Position, before_ns: u64) {
        let due = self.rest.partition_point(|sample| sample.at_ns < before_ns);
        self.place(position, due);
    }

    /// Places the samples of a mark.
    pub(super) fn place_marked(&mut self, position: Position, first_ns: u64, last_ns: u64) {
        let earlier = self.rest.partition_point(|sample| sample.at_ns < first_ns);
        if !self.by_time {
            self.rest = self.rest.get(earlier..).unwrap_or_default();
        }
        let due = self.rest.partition_point(|sample| sample.at_ns <= last_ns);
        self.place(position, due);
    }

    /// Places these samples, and those after them during which the thread still waited there.
    fn place(&mut self, position: Position, due: usize) {
        let after = self.rest.get(due..).unwrap_or_default();
        let waited = after.iter().take_while(|sample| sample.has_waited).count();
        self.due = if due > 0 { due + waited } else { 0 };
        self.position = position;
    }
}
