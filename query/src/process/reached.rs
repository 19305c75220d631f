//! How far a thread that grows has been read.

use std::num::NonZeroU64;

use flow_codec::format::manifest::Manifest;
use flow_codec::format::marks::Position;
use flow_codec::read::{EventKind, Tail, ThreadFile, Timeline, TimelineEvent};
use flow_codec::{Error, Offset, Result};

/// The option of a JVM that sends its trace.
const STREAM: &str = "stream";

/// Returns whether a trace is, or may be, sent by another process as it grows.
pub(crate) fn is_received(manifest: &Manifest) -> bool {
    manifest.options.contains_key(STREAM)
}

/// Where to continue. The last run of exits may have become longer by then.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reached {
    /// Of the first record that was not read, or of the last run of exits.
    next: Offset,
    /// How many exits of that run were read.
    exits: u64,
    /// What was [removed](ThreadFile::removed_bytes) at the start of the thread.
    removed: (u64, u64),
    /// The last place of events that take no time, and how many of them were read there.
    instants: (Position, u64),
}

/// The events of a thread that were not read before.
#[derive(Debug)]
pub struct NewEvents<'t> {
    reached: Reached,
    /// What was reached before the last event.
    before: Reached,
    timeline: Timeline<'t>,
    /// The end of the events, up to which marks are due.
    end: u64,
    at: (Position, u64),
}

impl Reached {
    /// The record with which to continue.
    #[must_use]
    pub fn next(self) -> Offset {
        self.next
    }

    /// Continues with the record at an offset.
    pub fn continue_at(&mut self, next: Offset) {
        (self.next, self.exits) = (next, 0);
    }

    /// Follows a thread whose first events may have been removed since: then the others are at other offsets. Returns how
    /// many bytes were removed that were not read.
    pub fn follow(&mut self, file: &ThreadFile) -> u64 {
        self.follow_removed(file.removed_bytes())
    }

    fn follow_removed(&mut self, now: (u64, u64)) -> u64 {
        let (next, (Position { offset, exits }, read)) = (self.next.get(), self.instants);
        let removed = self.move_removed(now);
        let moved = offset.get().saturating_add(self.next.get()).checked_sub(next);
        self.instants = match moved.filter(|_| removed == 0) {
            Some(offset) => (Position { offset: Offset::new(offset), exits }, read),
            None => Default::default(),
        };
        removed
    }

    fn move_removed(&mut self, now: (u64, u64)) -> u64 {
        let before = std::mem::replace(&mut self.removed, now);
        // A thread of which nothing was read is read from its start, with the entries in place of the removed bytes.
        if before == now || self.next == Offset::new(0) {
            return 0;
        }
        let next = self.next.get().saturating_sub(before.1).saturating_add(before.0);
        match next.checked_sub(now.0) {
            Some(rest) => {
                self.next = Offset::new(rest.saturating_add(now.1));
                0
            }
            None => {
                self.continue_at(Offset::new(now.1));
                now.0 - next
            }
        }
    }

    /// Reads the events of a timeline that begins at [`next`](Self::next), without those that were read before. `end` is how
    /// many bytes of events there are: marks may be further.
    #[must_use]
    pub fn new_events(self, timeline: Timeline<'_>, end: u64) -> NewEvents<'_> {
        NewEvents { reached: self, before: self, timeline, end, at: Default::default() }
    }

    /// Returns whether the exits before this position were read, if it is within a run of exits; `true` for other positions.
    fn has_passed_exits(self, before: Position) -> bool {
        let Position { offset, exits } = before;
        exits == 0 || offset < self.next || (offset == self.next && exits <= self.exits)
    }

    /// Passes `count` exits of the run at an offset, after the first `before` of it. Returns how many are new.
    fn pass_exits(&mut self, run: Offset, before: u64, count: NonZeroU64) -> Option<NonZeroU64> {
        let known = if run == self.next { self.exits } else { 0 };
        let passed = before.saturating_add(count.get());
        (self.next, self.exits) = (run, passed.max(known));
        NonZeroU64::new(passed.saturating_sub(known.max(before)))
    }
}

impl NewEvents<'_> {
    /// How far they were read.
    #[must_use]
    pub fn reached(&self) -> Reached {
        self.reached
    }

    /// How far they were read before the last event.
    #[must_use]
    pub(crate) fn before(&self) -> Reached {
        self.before
    }

    /// The last event counts as not read.
    pub fn unread(&mut self) {
        self.reached = self.before;
    }

    /// The error of the marks, if there was one in those that were read.
    #[must_use]
    pub(crate) fn into_damage(self) -> Option<Error> {
        self.timeline.into_damage()
    }

    /// How the events end, once all are read.
    #[must_use]
    pub fn tail(&self) -> Tail {
        self.timeline.tail()
    }

    /// Returns whether an event was not read before.
    fn pass(&mut self, event: &mut TimelineEvent) -> bool {
        let position = event.position;
        match &mut event.kind {
            EventKind::Enter(_) => self.reached.continue_at(self.timeline.offset()),
            EventKind::Exit { count, .. } => {
                let new = self.reached.pass_exits(position.offset, position.exits, *count);
                let Some(new) = new else { return false };
                event.position.exits += count.get() - new.get();
                *count = new;
                return true;
            }
            _ => {
                self.at = (position, if self.at.0 == position { self.at.1 + 1 } else { 1 });
                // The events before the mark are not there yet, or the mark was read before.
                let is_due = position.offset.get() <= self.end;
                if !is_due
                    || !self.reached.has_passed_exits(position)
                    || self.at <= self.reached.instants
                {
                    return false;
                }
                self.reached.instants = self.at;
            }
        }
        true
    }
}

impl Iterator for NewEvents<'_> {
    type Item = Result<TimelineEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.before = self.reached;
            match self.timeline.next()? {
                Ok(mut event) => {
                    if self.pass(&mut event) {
                        return Some(Ok(event));
                    }
                }
                Err(error) => {
                    self.reached.continue_at(self.timeline.offset());
                    return Some(Err(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_removed_moves_the_rest() {
        let mut reached = Reached::default();
        assert_eq!((reached.follow_removed((100, 7)), reached.next()), (0, Offset::new(0)));
        let mut reached = Reached::default();
        reached.pass_exits(Offset::new(700), 0, NonZeroU64::new(2).unwrap());
        // 600 bytes are gone, and 5 stand for them; then 650 and 3.
        for (removed, next) in [((600, 5), 105), ((650, 3), 53)] {
            assert_eq!((reached.follow_removed(removed), reached.next()), (0, Offset::new(next)));
            assert_eq!(reached.follow_removed(removed), 0);
        }
        let run = reached.next();
        assert_eq!(reached.pass_exits(run, 0, NonZeroU64::new(3).unwrap()), NonZeroU64::new(1));
        assert_eq!((reached.follow_removed((710, 4)), reached.next()), (10, Offset::new(4)));
        assert_eq!((reached.follow_removed((900, 6)), reached.next()), (190, Offset::new(6)));
    }

    #[test]
    fn exits_of_a_run_that_grows_are_new_once() {
        let mut reached = Reached::default();
        let mut pass = |run, before, count: u64| {
            let new = reached.pass_exits(Offset::new(run), before, NonZeroU64::new(count).unwrap());
            new.map_or(0, NonZeroU64::get)
        };
        assert_eq!(pass(7, 0, 3), 3);
        // The run has grown.
        assert_eq!(pass(7, 0, 5), 2);
        // The same in two steps, as a mark divides it.
        assert_eq!((pass(7, 0, 2), pass(7, 2, 3), pass(7, 5, 1)), (0, 0, 1));
        assert_eq!(pass(9, 0, 1), 1);
        reached.continue_at(Offset::new(12));
        assert_eq!(reached.next(), Offset::new(12));
    }
}
