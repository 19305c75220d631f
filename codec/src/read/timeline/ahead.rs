//! When calls began and ended, in the order in which they begin.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::event::{Stamp, Unwound, VisitTimeline, When};
use crate::read::{Bounds, ThreadFile};
use crate::{Error, MethodId, Offset, Result};

/// When a call began and ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallTimes {
    /// When it began.
    pub start: When,
    /// The bounds of its duration; at most `u64::MAX` if it was not left.
    pub duration: Bounds,
    /// The estimate of its duration.
    pub duration_ns: u64,
    /// Whether it was left by an exception.
    pub unwound: Option<Unwound>,
}

impl CallTimes {
    /// A call that began at this time, and of whose end nothing is known.
    #[must_use]
    pub(crate) const fn since(start: When) -> Self {
        let duration = start.bounds.until(Bounds::UNKNOWN);
        Self { start, duration, duration_ns: 0, unwound: None }
    }

    /// The call was left at this time.
    #[inline]
    pub fn end(&mut self, end: When, unwound: Option<Unwound>) {
        self.duration = self.start.bounds.until(end.bounds);
        let ends = self.start.estimate_ns.zip(end.estimate_ns);
        self.duration_ns = ends.map_or(0, |(start, end)| end.saturating_sub(start));
        self.unwound = unwound;
    }
}

/// How many calls are read ahead at the beginning, and at the end.
const FIRST_CALLS: usize = 1 << 10;
const MOST_CALLS: usize = 1 << 20;

/// Reads ahead, so that the end of a call is known where it begins, however long it is. Memory: 100 bytes for
/// each of a million calls, whatever the thread.
#[derive(Debug)]
pub struct Lookahead {
    file: ThreadFile,
    /// Calls from here on have not been read.
    next: Offset,
    /// The last estimate so far; later ones are not earlier.
    latest_ns: u64,
    count: usize,
    calls: VecDeque<CallTimes>,
    damage: Option<Error>,
}

impl Lookahead {
    /// Starts with the calls of a thread from a record on.
    #[must_use]
    pub fn new(file: &ThreadFile, from: Offset) -> Self {
        let (file, calls) = (file.clone(), VecDeque::new());
        Self { file, next: from, latest_ns: 0, count: FIRST_CALLS, calls, damage: None }
    }

    /// Returns the next call; `None` if no more can be read.
    ///
    /// # Errors
    /// The events cannot be opened again.
    pub fn next_call(&mut self) -> Result<Option<CallTimes>> {
        if self.calls.is_empty() {
            self.read_ahead()?;
        }
        Ok(self.calls.pop_front())
    }

    /// The error of the marks, as far as they were read.
    #[must_use]
    pub fn into_damage(self) -> Option<Error> {
        self.damage
    }

    fn read_ahead(&mut self) -> Result<()> {
        let mut timeline = self.file.timeline_from(self.next)?;
        timeline.known.begin_at(self.latest_ns);
        let (calls, open) = (&mut self.calls, Vec::new());
        let mut ahead = Ahead { most: self.count, calls, open, above: 0 };
        // Damage of events is reported by the reader that follows.
        timeline.visit(&mut ahead);
        self.next = timeline.offset();
        self.latest_ns = timeline.known.latest_ns();
        self.count = (2 * self.count).min(MOST_CALLS);
        if !ahead.open.is_empty() {
            timeline.visit(&mut ahead);
        }
        let mut end = timeline.now().time;
        end.bounds.by_ns = u64::MAX;
        ahead.leave(u64::MAX, end, None);
        self.damage = self.damage.take().or(timeline.into_damage());
        Ok(())
    }
}

/// The calls that are read ahead: at first until there are enough, then until all of these were left.
struct Ahead<'a> {
    most: usize,
    calls: &'a mut VecDeque<CallTimes>,
    /// The open calls, by their indexes among those that were read.
    open: Vec<usize>,
    /// Of later calls, only the number of open ones matters.
    above: u64,
}

impl Ahead<'_> {
    fn is_full(&self) -> bool {
        self.calls.len() >= self.most
    }

    /// Ends the topmost of the calls that are open.
    fn leave(&mut self, frames: u64, end: When, unwound: Option<&Unwound>) {
        let frames = usize::try_from(frames).unwrap_or(usize::MAX);
        for place in self.open.drain(self.open.len().saturating_sub(frames)..) {
            let Some(call) = self.calls.get_mut(place) else { return };
            call.end(end, unwound.cloned());
        }
    }
}

impl VisitTimeline for Ahead<'_> {
    #[inline]
    fn enter(&mut self, _method: MethodId, at: Stamp) -> bool {
        if self.is_full() {
            self.above = self.above.saturating_add(1);
            return true;
        }
        self.open.push(self.calls.len());
        self.calls.push_back(CallTimes::since(at.time));
        !self.is_full()
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        let unseen = self.above.min(count.get());
        self.above -= unseen;
        self.leave(count.get() - unseen, at.time, unwound);
        !self.is_full() || !self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::format::marks::{Mark, MarkEncoder, Position};
    use crate::read::Trace;

    #[test]
    fn calls_read_ahead_are_those_of_the_timeline() {
        let mut state: u64 = 3;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) % below
        };
        for _ in 0..300 {
            // Exits of frames that are not read ahead, and marks within and around them: the times before and
            // after a mark overlap.
            let (mut events, mut marks, mut now) = (Vec::new(), Vec::new(), 100);
            let mut encoder = MarkEncoder::with_header();
            for offset in 0..40 {
                let exits = random(2) * random(5);
                events.push(if exits == 0 { 0x80 } else { u8::try_from(exits - 1).unwrap() });
                for exits in 0..exits.max(1) {
                    let position = Position { offset: Offset::new(offset), exits };
                    now += random(50);
                    if random(3) == 0 {
                        let (by_ns, from_ns) = (now + random(90), now);
                        encoder.encode(
                            position,
                            &Mark::Time { by_ns, from_ns, ran_us: None },
                            &mut marks,
                        );
                    }
                }
            }
            encoder.finish(&mut marks);
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("thread-1.flow"), events).unwrap();
            fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
            let file = Trace::open(dir.path()).unwrap().files.remove(0);

            let calls = file.timeline().unwrap().calls();
            let mut calls: Vec<_> = calls.map(|call| call.unwrap()).collect();
            calls.sort_by_key(|call| call.number);
            for count in [1, 3] {
                let mut ahead = Lookahead { count, ..Lookahead::new(&file, Offset::default()) };
                for call in &calls {
                    let read = ahead.next_call().unwrap().unwrap();
                    let found = (read.start, read.duration.from_ns, read.duration_ns);
                    let duration_ns = call.duration_ns().unwrap_or(0);
                    assert_eq!(found, (call.start, call.duration().from_ns, duration_ns));
                }
                assert_eq!(ahead.next_call().unwrap(), None);
            }
        }
    }
}
