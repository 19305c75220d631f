//! When calls began and ended, in the order in which they begin.

use std::collections::VecDeque;
use std::ops::Range;

use super::known::Known;
use super::{Unwound, When};
use crate::format::flow::Record;
use crate::format::marks::Position;
use crate::read::{Bounds, Events, ReadRecords, ThreadFile};
use crate::{Error, Offset, Result};

/// When a call began and ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallTimes {
    /// When it began.
    pub start: When,
    /// How long it was for sure; at most `u64::MAX` where it was not left.
    pub duration: Bounds,
    /// The estimate of that.
    pub duration_ns: u64,
    /// Whether it was left by an exception.
    pub unwound: Option<Unwound>,
}

/// At first, and in the end, this many calls are read ahead.
const FIRST_CALLS: usize = 1 << 10;
const MOST_CALLS: usize = 1 << 20;

/// Reads ahead: the end of a call is known where it begins, however long it is. Memory: 100 bytes for each of a
/// million calls, whatever the thread.
#[derive(Debug)]
pub struct Lookahead {
    file: ThreadFile,
    /// Calls from here on have not been read.
    next: Offset,
    count: usize,
    calls: VecDeque<CallTimes>,
    damage: Option<Error>,
}

impl Lookahead {
    /// Of the calls of a thread from a record on.
    #[must_use]
    pub fn new(file: &ThreadFile, from: Offset) -> Self {
        let (file, calls) = (file.clone(), VecDeque::new());
        Self { file, next: from, count: FIRST_CALLS, calls, damage: None }
    }

    /// The next call; `None` where there is none that could be read.
    ///
    /// # Errors
    /// The events cannot be opened again.
    pub fn next_call(&mut self) -> Result<Option<CallTimes>> {
        if self.calls.is_empty() {
            self.read_ahead()?;
        }
        Ok(self.calls.pop_front())
    }

    /// What is wrong with the marks, as far as they were read.
    #[must_use]
    pub fn into_damage(self) -> Option<Error> {
        self.damage
    }

    fn read_ahead(&mut self) -> Result<()> {
        let mut ahead = Ahead {
            events: self.file.events_from(self.next)?,
            known: Known::open(&self.file, self.next),
            open: Vec::new(),
        };
        while self.calls.len() < self.count {
            let Some((offset, record)) = ahead.next_record() else { break };
            match record {
                Record::Enter(_) => {
                    let start = if offset < ahead.known.quiet_until() {
                        ahead.known.when_quiet(offset)
                    } else {
                        let position = Position::before(offset);
                        while ahead.known.next_mark(|at| at <= position).is_some() {}
                        let start = ahead.known.when(position);
                        ahead.known.record_done(offset);
                        start
                    };
                    ahead.open.push(self.calls.len());
                    let duration = start.bounds.until(Bounds::UNKNOWN);
                    let call = CallTimes { start, duration, duration_ns: 0, unwound: None };
                    self.calls.push_back(call);
                }
                Record::Exit(count) => self.leave(&mut ahead, offset, 0..count.get()),
            }
        }
        self.next = ahead.events.position();
        self.count = (2 * self.count).min(MOST_CALLS);
        // Of later calls only the number of those that are open matters.
        let mut above: u64 = 0;
        while !ahead.open.is_empty() {
            let Some((offset, record)) = ahead.next_record() else { break };
            let Record::Exit(count) = record else {
                above = above.saturating_add(1);
                continue;
            };
            let unseen = above.min(count.get());
            above -= unseen;
            self.leave(&mut ahead, offset, unseen..count.get());
        }
        let end = Position::before(ahead.events.position());
        while let Some(call) = ahead.open.pop() {
            let mut end = ahead.known.when(end);
            end.bounds.by_ns = u64::MAX;
            self.end(call, end, None);
        }
        self.damage = self.damage.take().or(ahead.known.damage);
        Ok(())
    }

    /// Ends calls by exits of a run.
    fn leave(&mut self, ahead: &mut Ahead, offset: Offset, run: Range<u64>) {
        let part_end = ahead.events.part_end();
        if run.start == 0 && part_end.is_none() && offset < ahead.known.quiet_until() {
            let end = ahead.known.when_quiet(offset);
            for _ in run {
                let Some(call) = ahead.open.pop() else { break };
                self.end(call, end, None);
            }
            return;
        }
        for exits in run {
            let Some(call) = ahead.open.pop() else { break };
            let position = Position { offset, exits };
            let (end, unwound) = match part_end {
                // What happened at the end of a part comes after it.
                Some(end) => (ahead.known.when_ended(end), None),
                None => {
                    while ahead.known.next_mark(|at| at <= position).is_some() {}
                    (ahead.known.when(position), ahead.known.unwound(position))
                }
            };
            self.end(call, end, unwound);
        }
    }

    fn end(&mut self, call: usize, end: When, unwound: Option<Unwound>) {
        let Some(call) = self.calls.get_mut(call) else { return };
        call.duration = call.start.bounds.until(end.bounds);
        if let (Some(start), Some(end)) = (call.start.estimate_ns, end.estimate_ns) {
            call.duration_ns = end.saturating_sub(start);
        }
        call.unwound = unwound;
    }
}

/// One way ahead.
struct Ahead {
    events: Events,
    known: Known,
    /// The calls that are open, by their places among those that were read.
    open: Vec<usize>,
}

impl Ahead {
    /// Damage of events is reported by the reader that follows.
    fn next_record(&mut self) -> Option<(Offset, Record)> {
        loop {
            match self.events.next_record() {
                Ok(next) => return next,
                Err(Error::Io { .. }) => return None,
                Err(_) => {}
            }
        }
    }
}
