//! When the calls of a thread began and ended, in the order in which they begin.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::format::flow::Record;
use crate::format::marks::Position;
use crate::read::{Asides, Bounds, Events, MarksInput, ReadRecords, ThreadFile, Times};
use crate::{Error, Offset, Result};

/// When a call began and ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// When it began for sure.
    pub start: Bounds,
    /// When it is thought to have begun, in nanoseconds; `None` where nothing is known.
    pub start_ns: Option<u64>,
    /// How long it took for sure; at most `u64::MAX` where it was not left.
    pub took: Bounds,
    /// How long it is thought to have taken.
    pub took_ns: u64,
    /// If it was left by an exception, the number of its [class](Spans::class).
    pub thrown: Option<usize>,
}

/// At first so many calls are looked at at once, and in the end so many.
const FIRST_CALLS: usize = 1 << 10;
const MOST_CALLS: usize = 1 << 20;

/// Reads ahead: a call that goes on for long is known to end before it is told. Memory: 100 bytes for each of a
/// million calls, whatever the thread.
#[derive(Debug)]
pub struct Spans {
    file: ThreadFile,
    /// Where calls have not been looked at.
    next: Offset,
    calls: usize,
    spans: VecDeque<Span>,
    classes: Vec<String>,
    numbers: HashMap<String, usize>,
    damage: Option<Error>,
}

impl Spans {
    /// Of the calls of a thread from a record on.
    #[must_use]
    pub fn new(file: &ThreadFile, from: Offset) -> Self {
        Self {
            file: file.clone(),
            next: from,
            calls: FIRST_CALLS,
            spans: VecDeque::new(),
            classes: vec!["?".to_owned()],
            numbers: HashMap::new(),
            damage: None,
        }
    }

    /// The next call; `None` where there is none that could be read.
    ///
    /// # Errors
    /// The events cannot be opened again.
    pub fn next_span(&mut self) -> Result<Option<Span>> {
        if self.spans.is_empty() {
            self.look_ahead()?;
        }
        Ok(self.spans.pop_front())
    }

    /// The class of an exception; `?` where it is not known.
    #[must_use]
    pub fn class(&self, number: usize) -> &str {
        self.classes.get(number).map_or("?", |class| class)
    }

    /// What is wrong with the marks, if anything is.
    #[must_use]
    pub fn into_damage(self) -> Option<Error> {
        self.damage
    }

    fn look_ahead(&mut self) -> Result<()> {
        let mut look = Look {
            events: self.file.events_from(self.next)?,
            times: self.file.marks()?.map(Times::new),
            asides: self.file.asides()?,
            open: Vec::new(),
            damage: None,
        };
        while self.spans.len() < self.calls {
            let Some((offset, record)) = look.next_record() else { break };
            match record {
                Record::Enter(_) => {
                    let (start, start_ns) = look.at(Position::before(offset));
                    look.open.push(self.spans.len());
                    let took = start.until(Bounds::UNKNOWN);
                    self.spans.push_back(Span { start, start_ns, took, took_ns: 0, thrown: None });
                }
                Record::Exit(count) => self.leave(&mut look, offset, 0..count.get()),
            }
        }
        self.next = look.events.position();
        self.calls = (2 * self.calls).min(MOST_CALLS);
        // Of calls behind these only is needed how many are open.
        let mut above: u64 = 0;
        while !look.open.is_empty() {
            let Some((offset, record)) = look.next_record() else { break };
            let Record::Exit(count) = record else {
                above = above.saturating_add(1);
                continue;
            };
            let unseen = above.min(count.get());
            above -= unseen;
            self.leave(&mut look, offset, unseen..count.get());
        }
        let end = Position::before(look.events.position());
        while let Some(call) = look.open.pop() {
            let (until, until_ns) = look.at(end);
            self.end(call, Bounds { by_ns: u64::MAX, ..until }, until_ns);
        }
        self.damage = self.damage.take().or(look.damage);
        Ok(())
    }

    /// Ends calls by exits of a run.
    fn leave(&mut self, look: &mut Look, offset: Offset, run: Range<u64>) {
        let part_end = look.events.part_end();
        for exits in run {
            let Some(call) = look.open.pop() else { break };
            let position = Position { offset, exits };
            let (end, end_ns) = match part_end {
                Some(end) => look.at_end(end),
                None => look.at(position),
            };
            self.end(call, end, end_ns);
            // Whatever happened at the end of a part is behind it.
            if part_end.is_none() {
                self.throw(look, call, position);
            }
        }
    }

    /// Keeps by what exception a call was left, if it was.
    fn throw(&mut self, look: &mut Look, call: usize, position: Position) {
        let Some(class) = look.thrown(position) else { return };
        let number = class.map_or(0, |class| {
            if let Some(number) = self.numbers.get(class) {
                return *number;
            }
            self.classes.push(class.to_owned());
            let number = self.classes.len() - 1;
            self.numbers.insert(class.to_owned(), number);
            number
        });
        if let Some(span) = self.spans.get_mut(call) {
            span.thrown = Some(number);
        }
    }

    fn end(&mut self, call: usize, end: Bounds, end_ns: Option<u64>) {
        let Some(span) = self.spans.get_mut(call) else { return };
        span.took = span.start.until(end);
        if let (Some(start), Some(end)) = (span.start_ns, end_ns) {
            span.took_ns = end.saturating_sub(start);
        }
    }
}

/// One look ahead.
struct Look {
    events: Events,
    times: Option<Times<MarksInput>>,
    asides: Option<Asides<MarksInput>>,
    /// The calls that are open, by their places among those that are looked at.
    open: Vec<usize>,
    damage: Option<Error>,
}

impl Look {
    /// Damage of events is told by whoever reads them.
    fn next_record(&mut self) -> Option<(Offset, Record)> {
        loop {
            match self.events.next_record() {
                Ok(next) => return next,
                Err(Error::Io { .. }) => return None,
                Err(_) => {}
            }
        }
    }

    fn at(&mut self, position: Position) -> (Bounds, Option<u64>) {
        let Some(times) = &mut self.times else { return (Bounds::UNKNOWN, None) };
        times.when(position, &mut self.damage)
    }

    fn at_end(&mut self, position: Position) -> (Bounds, Option<u64>) {
        let Some(times) = &mut self.times else { return (Bounds::UNKNOWN, None) };
        times.when_ended(position, &mut self.damage)
    }

    fn thrown(&mut self, position: Position) -> Option<Option<&str>> {
        let asides = self.asides.as_mut()?;
        // What else is said there is told by others, and damage by the times.
        while let Ok(Some(_)) = asides.next_before(position) {}
        asides.unwound(position)
    }
}
